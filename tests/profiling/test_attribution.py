"""Rows out of what was recorded."""
import numpy as np
import pytest

import reactant
from reactant.native import clocks
from reactant.native.clocks import Counted
from reactant.profiling import attribution
from reactant.profiling.attribution import merged, of_thunks, together
from reactant.profiling.hlo_costs import Described
from reactant.profiling.native_parts import parts
from reactant.profiling.records import Loop, Operation, Work
from reactant.profiling.thunks import Event


def test_thunks_of_known_and_unknown_programs():
    known = {(1, "dot"): Described("dot", "dot", "dot", {"a.py:1": 1.0}, Work(flops=10)),
             (1, "w"): Described("w", "while", "while", {"a.py:2": 1.0}, Work(), inside=["dot"], body=["dot"])}
    events = [Event("w", "m", 1, 0, 0.0, 100.0, "t"), *(Event("dot", "m", 1, 0, 10.0 * k, 10.0 * k + 5, "t")
                                                        for k in range(4)), Event("x", "n", 2, 0, 200.0, 300.0, "t")]
    operations, loops = of_thunks(events, known, {}, {}, 1e9)
    found = {op.name: op for op in operations}
    assert found["dot"].count == 4 and found["dot"].work.flops == 40 and found["dot"].seconds == pytest.approx(20e-9)
    assert found["w"].seconds == pytest.approx(80e-9) and found["x"].seconds == pytest.approx(100e-9)
    assert loops == [Loop("a.py:2", "XLA", 1, 4, pytest.approx(100e-9))]


def test_parts_of_native_code_are_the_whole():
    with clocks.marked():
        compiled = reactant.jit(lambda x: np.exp(x[1:] + x[:-1]).sum(), native="always").lower(np.ones(5000)).compile()
    function = compiled.executable.straight.steps[0].function
    root, *inner = [clocks.site(number) for number in function.sites]
    counted = {root.number: Counted(900, 1), **{site.number: Counted(600 // len(inner), 1) for site in inner}}
    operations, _ = parts(function, counted, 1e9, 1e-6, 1.0, "a.py:1", Work())
    assert sum(op.seconds for op in operations) == pytest.approx(1e-6)
    rest, = [op for op in operations if "small steps" in op.name]
    assert rest.seconds == pytest.approx(0.4e-6)
    operations, _ = parts(function, counted, 1e8, 1e-6, 1.0, "a.py:1", Work())      # two clocks
    assert sum(op.seconds for op in operations) == pytest.approx(1e-6)
    operations, _ = parts(function, {}, 1e9, 1e-6, 2.0, "a.py:1", Work(bytes=8))
    assert [(op.seconds, op.work.bytes, op.lines) for op in operations] == [(1e-6, 16, {"a.py:1": 1.0})]


@pytest.mark.parametrize("name, shapes, flops", [
    ("gemm", [(3, 4), (4, 5), (0,), (0,), (3, 5)], 2 * 60),
    ("gemm", [(7, 3, 4), (7, 4, 5), (0,), (0,), (7, 3, 5)], 7 * 2 * 60),
    ("gemv", [(3, 4), (4,), (3,)], 2 * 12),
    ("syrk", [(3, 4), (0,), (3, 3)], 3 * 3 * 4),
    ("sort", [(3, 4), (3, 4), (3, 4)], 0),
])
def test_products(name, shapes, flops):
    class Function:
        arguments = ()
    Function.name = name
    assert attribution.work_of_call(Function, 8.0, shapes) .flops == pytest.approx(flops)


def test_merged_and_together():
    ops = [Operation("a", "XLA", "x", 1.0, 2, {"f:1": 1.0}, Work(flops=4))] * 2 + [Operation("b", "XLA", "x", 9.0, 1)]
    found = merged(ops, 2)
    assert [(op.name, op.seconds, op.count, op.work.flops) for op in found] == [("b", 4.5, 0.5, 0), ("a", 1.0, 2, 4)]
    assert together([Loop("f:1", "XLA", 1, 10, 2.0)] * 2, 2) == [Loop("f:1", "XLA", 1, 10, 2.0)]
