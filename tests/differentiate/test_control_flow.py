"""Branches and loops in both modes, by the reference interpreter; what is kept for the reverse sweep, by counts."""
import numpy as np
import pytest

from reactant.differentiate.modes.reverse import vjp
from reactant.ir import modules, ops
from reactant.ir.context import building
from tests.differentiate.derivative_checks import check, compiled, module_of

RNG = np.random.default_rng(3)


def counted(trips, inits, body):
    """A loop over i in range(trips)."""
    return ops.while_([ops.constant(0, np.int64), *inits], lambda i, *_: ops.compare(i, trips, "LT"),
                      lambda i, *values: [ops.add(i, 1), *body(i, *values)])[1:]


def branch(x, y, p):
    return ops.if_(ops.compare(p, 0, "GT"), lambda: [ops.multiply(ops.sine(x), y), x],
                   lambda: [ops.exponential(y), ops.multiply(x, x)], [x.type, x.type])


def chosen(x, y, i):
    return ops.case(i, [lambda: [ops.multiply(ops.sine(x), y)], lambda: [ops.exponential(y)],
                        lambda: [ops.multiply(ops.multiply(x, x), y)]], [x.type])


def nested_branch(x, y, p):
    def inner():
        z = ops.multiply(x, y)
        return ops.if_(ops.compare(p, 5, "GT"), lambda: [ops.sine(z)], lambda: [ops.multiply(z, x)], [x.type])
    return ops.if_(ops.compare(p, 0, "GT"), inner, lambda: [ops.multiply(x, y)], [x.type])


def powers(x, w):
    return counted(5, [x], lambda i, v: [ops.sine(ops.multiply(v, w))])


def recurrence(x):
    """y[i+1] = sin(y[i]) x[i], written into an array."""
    def step(i, y):
        part = ops.multiply(ops.sine(ops.dynamic_slice(y, [i], (1,))), ops.dynamic_slice(x, [i], (1,)))
        return [ops.dynamic_update_slice(y, part, [ops.add(i, 1)])]
    return counted(5, [ops.multiply(x, x)], step)


def nested_loops(x, w):
    def outer(i, v):
        return counted(3, [v], lambda j, u: [ops.sine(ops.multiply(ops.multiply(u, w), v))])
    return counted(2, [x], outer)


def branch_in_loop(x, w):
    def step(i, v):
        return ops.if_(ops.compare(i, 2, "LT"), lambda: [ops.multiply(v, w)], lambda: [ops.sine(ops.multiply(v, v))],
                       [v.type])
    return counted(4, [x], step)


def swapping(x, y):
    return counted(3, [x, y], lambda i, a, b: [ops.multiply(b, ops.sine(a)), a])


def counting(x, w):
    """The index as a number, and a sum over iterations."""
    def step(i, total):
        return [ops.add(total, ops.multiply(ops.power(x, ops.splat(2, x)), ops.broadcast_in_dim(
            ops.convert(i, np.float64), (4,), ())))]
    return counted(4, [w], step)


def loop_in_branch(x, y, p):
    return ops.if_(ops.compare(p, 0, "GT"), lambda: counted(3, [x], lambda i, v: [ops.sine(ops.multiply(v, y))]),
                   lambda: [y], [x.type])


def unchanged(x, w):
    return counted(3, [x, w], lambda i, a, b: [ops.multiply(a, ops.sine(b)), b])


def ending_early(x, w):
    """At most 6 iterations, while the sum is below a limit."""
    def going(i, v):
        return ops.and_(ops.compare(i, 6, "LT"), ops.compare(ops.reduce(v, 0, (0,), "add"), 30, "LT"))
    return ops.while_([ops.constant(0, np.int64), x], going,
                      lambda i, v: [ops.add(i, 1), ops.add(v, ops.multiply(ops.multiply(v, v), w))])[1:]


def until_small(x, w):
    """As many iterations as it takes; nothing bounds them."""
    def going(i, v):
        return ops.compare(ops.reduce(ops.multiply(v, v), 0, (0,), "add"), 0.2, "GT")
    return ops.while_([ops.constant(0, np.int64), x], going,
                      lambda i, v: [ops.add(i, 1), ops.multiply(ops.sine(v), ops.tanh(w))])[1:]


def so_many(x, w, n):
    """A trip count that is an argument, and a carried array that no derivative needs."""
    def iteration(i, v, seen):
        return [ops.add(i, 1), ops.sine(ops.multiply(v, w)),
                ops.dynamic_update_slice(seen, ops.reshape(ops.reduce(v, 0, (0,), "add"), (1,)), [i])]
    return ops.while_([ops.constant(0, np.int64), x, ops.constant(0.0, np.float64, (500,))],
                      lambda i, *_: ops.compare(i, n, "LT"), iteration)[1:]


def nested_until(x, w):
    """A loop without a bound in one without a bound."""
    def outer(v):
        return [ops.multiply(until_small(ops.multiply(v, 1.5), w)[0], 0.6)]
    return ops.while_([x], lambda v: ops.compare(ops.reduce(v, 0, (0,), "add"), 0.4, "GT"), outer)


def dear_branch(x, w, p):
    """A product in a branch in a loop: kept, not computed again."""
    def iteration(i, v):
        def product():
            a = ops.dot_general(v, ops.broadcast_in_dim(w, (4, 4), (0,)), contracting_dims=([0], [0]))
            return [ops.multiply(ops.sine(a), a)]
        return ops.if_(ops.compare(ops.add(i, p), 2, "LT"), product, lambda: [ops.multiply(v, v)], [v.type])
    return counted(4, [x], iteration)


def no_iteration(x, w):
    return counted(0, [x], lambda i, v: [ops.multiply(v, w)])


X, Y = RNG.uniform(0.3, 1.5, 4), RNG.uniform(0.3, 1.5, 4)
CASES = {
    "if_true": (branch, X, Y, np.array(1)), "if_false": (branch, X, Y, np.array(-1)),
    **{f"case_{n}": (chosen, X, Y, np.array(n, np.int32)) for n in (-1, 0, 1, 2, 7)},
    **{f"nested_if_{n}": (nested_branch, X, Y, np.array(n)) for n in (-1, 1, 7)},
    "powers": (powers, X, Y), "recurrence": (recurrence, RNG.uniform(0.3, 1.5, 6)), "nested": (nested_loops, X, Y),
    "branch_in_loop": (branch_in_loop, X, Y), "swapping": (swapping, X, Y), "counting": (counting, X, Y),
    "loop_in_branch": (loop_in_branch, X, Y, np.array(1)), "unchanged": (unchanged, X, Y),
         "no_iteration": (no_iteration, X, Y),
    "ending_early": (ending_early, X, Y), "until_small": (until_small, X, Y), "nested_until": (nested_until, X, Y),
    **{f"so_many_{n}": (so_many, X, Y, np.array(n)) for n in (0, 1, 2, 63, 64, 65, 200)},
    "dear_branch": (dear_branch, X, Y, np.array(0)),
}


LONG = {"so_many_63", "so_many_64", "so_many_65", "so_many_200", "nested_until"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_control_flow(name):
    function, *arguments = CASES[name]
    if name in LONG:
        check(module_of(function, arguments), arguments, evaluate=compiled, order=1)
    else:
        check(module_of(function, arguments), arguments)


def buffers(module):
    """Shapes of what each loop carries: counters, the user's values, buffers."""
    with building():
        loops = [op for op in modules.walk(module) if op.name == "stablehlo.while"]
        return [sorted(tuple(r.type.shape) for r in op.results) for op in loops]


def test_a_recurrence_keeps_elements_not_arrays():
    x = np.ones(6)
    made = buffers(vjp(module_of(recurrence, [x]), [0], [0]))
    assert made[0] == [(), (5, 1), (6,)]           # the counter, one element an iteration, the array itself


def test_a_linear_loop_keeps_nothing():
    def scaled(x):
        return counted(5, [x], lambda i, v: [ops.multiply(v, 2.0)])
    made = buffers(vjp(module_of(scaled, [X]), [0], [0]))
    assert made[0] == [(), (4,)]
