"""Contents of values that depend on no argument, against the reference interpreter."""
import numpy as np
import pytest

from reactant.ir import ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.rewrite.selftest import build_module
from reactant.simplify.facts.evaluation import content_of

VALUES = {
    "mask": lambda: ops.compare(ops.iota((4, 5), np.int32, 0), ops.iota((4, 5), np.int32, 1), "GE"),
    "wave numbers": lambda: ops.remainder(ops.add(ops.iota((7,), np.float32, 0), 3), 7),
    "weights": lambda: ops.divide(ops.constant(1.0, np.float32, (3, 4)), ops.add(ops.broadcast_in_dim(
        ops.iota((4,), np.float32, 0), (3, 4), (1,)), 1)),
    "moved": lambda: ops.reverse(ops.transpose(ops.concatenate([ops.iota((2, 3), np.int32, 1), ops.constant(
        np.arange(3, dtype=np.int32).reshape(1, 3))], 0), (1, 0)), (0,)),
    "picked": lambda: ops.slice(ops.reshape(ops.iota((12,), np.int32, 0), (3, 4)), (0, 1), (3, 4), (2, 1)),
    "function": lambda: ops.sine(ops.multiply(ops.iota((5,), np.float32, 0), 0.5)),
}


@pytest.mark.parametrize("name", VALUES)
def test_contents(name):
    found = []

    def program(a):
        value = VALUES[name]()
        found.append(content_of(value))
        return value
    with building():
        module = build_module(program, np.dtype(np.float32))
        wanted, = evaluate(module, [])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-6)
    assert found[0].dtype == wanted.dtype


def test_what_has_no_content():
    found = []

    def program(a):
        x = a(4)
        found.append(content_of(ops.add(x, 1)))
        found.append(content_of(ops.sine(ops.iota((4,), np.float32, 0)), exact=True))
        found.append(content_of(ops.iota((1 << 17,), np.int32, 0)))
        found.append(content_of(ops.divide(ops.iota((4,), np.int32, 0), 2)))
        return x
    with building():
        build_module(program, np.dtype(np.float32))
    assert found == [None] * 4
