"""How times, bounds and limits of a profile come about."""
import pytest

from reactant.profiling.machine import Rates
from reactant.profiling.records import Loop, Measured, Operation, Work, limit_of

RATES = Rates("box", doubles=1e10, singles=2e10, special=1e9, bandwidth=((1e4, 1e11), (1e8, 1e10)), call=1e-6)


@pytest.mark.parametrize("seconds, count, work, limit", [
    (1.0, 1, Work(bytes=8e9, footprint=1e8), "memory"),
    (1.0, 1, Work(bytes=8e9, footprint=1e4), "neither"),        # out of a cache: ten times as fast
    (1.0, 1, Work(flops=9e9, doubles=9e9), "compute"),
    (1.0, 1, Work(special=5e8), "compute"),
    (1.0, 1e6, Work(flops=1e6), "latency"),
    (1.0, 10, Work(flops=1e6), "neither"),
    (1.0, 10, Work(), ""),
    (0.0, 0, Work(flops=1e6), ""),
])
def test_what_limits(seconds, count, work, limit):
    assert limit_of(seconds, count, work, RATES) == limit
    assert Operation("x", "XLA", "", seconds, count, {}, work).limit(RATES) == limit


def test_collective_operations_wait_for_devices():
    op = Operation("all-reduce.1", "XLA", "all-reduce", 0.6, 8, {"f.py:1": 1.0}, Work(bytes=8e9), exchanges=True)
    other = Operation("dot", "XLA", "dot", 0.4, 8, {"f.py:1": 0.5, "f.py:2": 0.5}, Work(flops=8e9))
    found = Measured("f", 4, 1.0, 1.0, [op, other], [], RATES)
    assert op.limit(RATES) == "exchange"
    assert {line.place: found.limit(line) for line in found.lines} == {"f.py:1": "exchange", "f.py:2": "compute"}


def test_bounds_are_those_of_the_roofline():
    work = Work(flops=3e9, doubles=1e9, special=1e8, bytes=1e9, footprint=1e8)
    assert work.memory_seconds(RATES) == pytest.approx(0.1)
    assert work.compute_seconds(RATES) == pytest.approx(0.1 + 0.1 + 0.1)
    assert work.bound(RATES) == pytest.approx(0.3)
    assert work.times(3).flops == 9e9 and work.times(3).footprint == 1e8
    assert RATES.bandwidth_at(1e6) == pytest.approx(10 ** 10.5), "between sizes, the line between their logarithms"
    assert [RATES.bandwidth_at(1), RATES.bandwidth_at(1e12)] == pytest.approx([1e11, 1e10])


def test_lines_share_what_operations_take_and_nothing_is_lost():
    operations = [Operation("a", "XLA", "add", 0.5, 1, {"f.py:1": 0.25, "f.py:2": 0.75}, Work(flops=8)),
                  Operation("b", "native", "exp", 0.25, 2, {"f.py:2": 1.0}), Operation("c", "XLA", "copy", 0.125, 1),
                  Operation("compiling f: XLA", "stage", "XLA", 0.0625, 1)]
    found = Measured("f", 4, 1.0, 0.8, operations, [Loop("f.py:1", "XLA", 2, 10, 0.5)], RATES, 0.0625, 0.0)
    lines = {line.place: line for line in found.lines}
    assert {place: line.seconds for place, line in lines.items()} == {"f.py:2": 0.625, "f.py:1": 0.125, "": 0.125}
    assert lines["f.py:2"].work.flops == 6 and lines["f.py:2"].operations == ["a", "b"]
    assert sum(line.seconds for line in found.lines) + found.compiling + found.outside + found.between == found.seconds
    assert found.overhead == pytest.approx(0.25) and found.unattributed == pytest.approx(0.125 + 0.0625 + 0.0625)
    assert found.loops[0].each == 0.05 and Loop("", "XLA", 0, 0, 0.0).each == 0
