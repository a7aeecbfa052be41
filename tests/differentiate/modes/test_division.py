"""Loops divided into what is computed now and what is computed when tangents are there."""
import numpy as np
import pytest

import reactant
from reactant.differentiate.modes.division import divided
from reactant.differentiate.modes.forward import jvp
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from tests.differentiate.derivative_checks import module_of
from tests.differentiate.test_control_flow import counted

X, W = np.linspace(0.3, 1.1, 4), np.linspace(0.5, 0.9, 4)


def plain(x, w):
    return counted(5, [x], lambda i, v: [ops.sine(ops.multiply(v, w))])


def nested(x, w):
    return counted(3, [x], lambda i, v: counted(4, [v], lambda j, u: [ops.sine(ops.multiply(u, v))]))


def branching(x, w):
    """A branch in a loop: the value of one iteration decides about the next."""
    def iteration(i, v):
        large = ops.compare(ops.reduce(v, 0, (0,), "add"), 1.5, "GT")
        return ops.if_(large, lambda: [ops.sine(ops.multiply(v, w))], lambda: [ops.multiply(v, ops.splat(1.4, v))],
                       [v.type])
    return counted(6, [x], iteration)


def stopping(x, w):
    """Few iterations, known at run time only, of at most 9."""
    def going(i, v):
        return ops.and_(ops.compare(i, 9, "LT"), ops.compare(ops.reduce(v, 0, (0,), "add"), 1.2, "GT"))
    return ops.while_([ops.constant(0, np.int64), x], going,
                      lambda i, v: [ops.add(i, 1), ops.multiply(ops.sine(v), w)])[1]


def endless(x, w):
    """No bound: the loop stays whole."""
    return ops.while_([x], lambda v: ops.compare(ops.reduce(v, 0, (0,), "add"), 1.2, "GT"),
                      lambda v: [ops.multiply(ops.sine(v), w)])[0]


def linear(x, w):
    return counted(5, [x], lambda i, v: [ops.multiply(v, w)])


def late_loops(module, extra):
    """The loops that depend on the last arguments."""
    block = modules.function(module).regions[0].blocks[0]
    late, found = set(list(block.arguments)[len(block.arguments) - extra:]), []
    for op in list(block.operations)[:-1]:
        if any(v in late for v in [*op.operands, *modules.captured(op.operation)]):
            late.update(op.results)
            if op.operation.name == "stablehlo.while":
                found.append(op.operation)
    return found


@pytest.mark.parametrize("function", [plain, nested, branching, stopping, endless, linear], ids=lambda f: f.__name__)
def test_divided_programs_compute_the_same(function):
    with building():
        whole = jvp(module_of(function, [X, W]), [0, 1], [0])
        made = divided(whole, 2)
        for seed in (0, 1):
            given = [X, W, *np.random.default_rng(seed).standard_normal((2, 4))]
            for mine, expected in zip(evaluate(made, given), evaluate(whole, given), strict=True):
                np.testing.assert_allclose(mine, expected, rtol=1e-14)


@pytest.mark.parametrize("function", [plain, stopping, linear], ids=lambda f: f.__name__)
def test_loops_of_tangents_carry_no_values(function):
    with building():
        made = divided(jvp(module_of(function, [X, W]), [0, 1], [0]), 2)
        loops = late_loops(made, 2)
        assert len(loops) == 1
        assert len(loops[0].results) == 2                       # the iteration, and the tangent


def test_products_are_not_done_again():
    def recurrent(x, m):
        return counted(5, [x], lambda i, v: [ops.tanh(ops.dot_general(m, v, contracting_dims=([1], [0])))])
    with building():
        made = divided(jvp(module_of(recurrent, [X, np.eye(4)]), [0], [0]), 1)
        loops = late_loops(made, 1)
        assert modules.counts(made)["stablehlo.dot_general"] == 2
        assert not [op for loop in loops for op in modules.walk(loop) if op.name == "stablehlo.tanh"]


@pytest.mark.slow
def test_linearize_of_loops():
    def function(x):
        for _ in range(20):
            x = np.sin(x) * x
            if np.sum(x) < 0.01:
                break
        return x
    x, t = np.linspace(0.2, 0.9, 5), np.ones(5)
    value, push = reactant.linearize(function, x)
    expected, moved = reactant.jvp(function, (x,), (t,))
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    for k in (1.0, -2.0):
        np.testing.assert_allclose(push(k * t), k * moved, rtol=1e-12)
