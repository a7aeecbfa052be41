"""What is left of branches that share something, and of loops around branches."""
import numpy as np
import pytest

from reactant.ir import ops
from tests.simplify.test_goals import short, simplified

N = 2_000       # too much for selects


def loop(x, iteration, count=9):
    return ops.while_([ops.constant(0, np.int32), x], lambda i, _: ops.compare(i, count, "LT"),
                      lambda i, v: [ops.add(i, 1), iteration(i, v)])[1]


def if_(p, then, otherwise, like):
    return ops.if_(p, lambda: [then()], lambda: [otherwise()], [like.type])[0]


def condition(a):
    return ops.compare(a(), 0, "LT")


def border(a):
    zero, edge = ops.constant(0, np.int32), ops.constant(0.0, np.float32, (1,))

    def iteration(i, v):
        inner = ops.tanh(ops.slice(v, (2,), (N,)))
        v = ops.dynamic_update_slice(v, inner, [ops.constant(1, np.int32)])
        return ops.dynamic_update_slice(v, edge, [ops.constant(0, np.int32)])
    return loop(ops.dynamic_update_slice(a(N), edge, [zero]), iteration)


def waves(p, x, then=ops.sine, otherwise=ops.cosine):
    return if_(p, lambda: then(x), lambda: otherwise(x), x)


def sines(x):
    return loop(x, lambda i, v: ops.sine(v))


PROGRAMS = {
    "equal loops": (lambda a: [x := a(N), ops.add(sines(x), sines(x))], {"while": 1}),
    "two ifs": (lambda a: [p := condition(a), x := a(N), ops.add(waves(p, x), waves(p, x, ops.tanh, ops.tan))],
                {"if": 1}),
    "equal ifs": (lambda a: [p := condition(a), x := a(N), ops.add(waves(p, x), waves(p, x))], {"if": 1}),
    "head": (lambda a: [p := condition(a), x := a(N), y := a(N), waves(
        p, x, lambda v: ops.power(ops.sine(v), y), lambda v: ops.atan2(ops.sine(v), y))], {"if": 1, "sine": 1}),
    "tail": (lambda a: [p := condition(a), x := a(N), waves(
        p, x, lambda v: ops.tanh(ops.sine(v)), lambda v: ops.tanh(ops.cosine(v)))], {"if": 1, "tanh": 1}),
    "unswitched": (lambda a: [p := condition(a), x := a(N), loop(x, lambda i, v: waves(p, v))], {"if": 1, "while": 2}),
    "first iteration": (lambda a: [x := a(N), loop(x, lambda i, v: waves(ops.compare(i, 0, "EQ"), v))],
                   {"if": 0, "sine": 1}),
    "border": (border, {"while": 1, "dynamic_update_slice": 2}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_branches(name):
    builder, wanted = PROGRAMS[name]
    counts = short(simplified(builder))
    assert {op: counts.get(op, 0) for op in wanted} == wanted, counts
