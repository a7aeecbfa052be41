"""What a loop keeps for the reverse sweep: shapes of the buffers, by hand-made bodies."""
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.differentiate.modes.reverse import vjp
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_and_dtype
from tests.differentiate.derivative_checks import check, module_of
from tests.differentiate.test_control_flow import counted

X, W = np.linspace(0.3, 1.1, 4), np.linspace(0.5, 0.9, 4)
M = np.random.default_rng(0).standard_normal((4, 4)) * 0.3


def times(value, number):
    return ops.multiply(value, ops.splat(number, value))


def linear(x, w):
    return counted(5, [x], lambda i, v: [times(v, 2.0)])


def squares(x, w):
    return counted(5, [x], lambda i, v: [ops.multiply(v, v)])


def chain(x, w):
    """A long chain of cheap steps from one state: the state is kept, not the steps."""
    def iteration(i, v):
        a = ops.sine(v)
        b = ops.multiply(a, ops.cosine(a))
        return [ops.multiply(ops.add(b, v), ops.exponential(ops.negate(b)))]
    return counted(5, [x], iteration)


def narrow(x, w):
    """An array of which only one number matters: the number is kept."""
    def iteration(i, v):
        s = ops.sine(ops.reduce(v, 0, (0,), "add"))
        return [ops.multiply(ops.broadcast_in_dim(ops.multiply(s, s), (4,), ()), w)]
    return counted(5, [x], iteration)


def recurrent(x, m):
    """tanh(m v): the state before and after the product is the same buffer, one iteration apart."""
    return counted(5, [x], lambda i, v: [ops.tanh(ops.dot_general(m, v, contracting_dims=([1], [0])))])


def by_counter(x, w):
    """What is made of the counter is made again."""
    def iteration(i, v):
        angle = ops.sine(ops.convert(i, np.float64))
        return [ops.add(v, ops.multiply(w, ops.broadcast_in_dim(ops.multiply(angle, angle), (4,), ())))]
    return counted(5, [x], iteration)


def two_states(x, w):
    return counted(5, [x, w], lambda i, a, b: [ops.multiply(a, ops.sine(b)), ops.multiply(b, ops.cosine(a))])


KEPT = {"linear": (linear, W, []), "squares": (squares, W, [(5, 4)]), "chain": (chain, W, [(5, 4)]),
        "narrow": (narrow, W, [(5,)]), "recurrent": (recurrent, M, [(6, 4)]), "by_counter": (by_counter, W, []),
        "two_states": (two_states, W, [(5, 4), (5, 4)])}


def buffers(module, rows=(5, 6)):
    """Shapes of what loops carry with a row for each iteration."""
    with building():
        return sorted(tuple(r.type.shape) for op in modules.walk(module) if op.name == "stablehlo.while"
                      for r in op.results if r.type.shape and r.type.shape[0] in rows)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept(name):
    function, other, expected = KEPT[name]
    module = module_of(function, [X, other])
    assert buffers(vjp(module, [0, 1], [0])) == expected
    check(module, [X, other])


def test_inner_loops_are_kept_whole_when_small_and_run_again_when_large(monkeypatch):
    def outer(x, w):
        return counted(5, [x], lambda i, v: counted(7, [v], lambda j, u: [ops.sine(ops.multiply(u, v))]))
    module = module_of(outer, [X, W])
    kept = buffers(vjp(module, [0], [0]), rows=(5, 6, 7))
    assert (5, 7, 4) in kept
    monkeypatch.setattr("reactant.differentiate.modes.loops.LARGE", 100)
    again = buffers(vjp(module, [0], [0]), rows=(5, 6, 7))
    assert (5, 7, 4) not in again and (7, 4) in again
    check(module, [X, W])


def test_constant_parts_of_a_loop_cost_nothing():
    """A carried value that no active value depends on has no adjoint and no buffer."""
    def function(x, w):
        return counted(5, [x, w], lambda i, a, b: [times(a, 0.5), ops.sine(b)])
    made = vjp(module_of(function, [X, W]), [0], [0])
    assert buffers(made) == []
    with building():
        assert modules.counts(made)["stablehlo.cosine"] == 0


def stopping(x, w):
    """Up to nine iterations: some rows are never written."""
    def going(i, v):
        return ops.and_(ops.compare(i, 9, "LT"), ops.compare(ops.reduce(v, 0, (0,), "add"), 1.2, "GT"))
    return ops.while_([ops.constant(0, np.int64), x], going,
                      lambda i, v: [ops.add(i, 1), ops.multiply(ops.sine(v), w)])[1]


@pytest.mark.parametrize("function, other", [(squares, W), (narrow, W), (recurrent, M), (two_states, W), (stopping, W)],
                         ids=lambda x: getattr(x, "__name__", ""))
def test_no_row_is_read_before_it_is_written(function, other):
    with building():
        made = vjp(module_of(function, [X, other]), [0], [0])
        arguments = [X, other, np.ones(4)]
        expected = evaluate(made, arguments)
        marked = [op for op in modules.walk(made) if modules.UNSET in op.attributes]
        assert marked
        for op in marked:
            shape, dtype = shape_and_dtype(op.result.type)
            with op.location, ir.InsertionPoint(op):
                op.result.replace_all_uses_with(ops.constant(np.nan, dtype, shape))
        for mine, wanted in zip(evaluate(made, arguments), expected, strict=True):
            np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("border, shape", [(1, (40,)), (4, (32,))])
def test_nearly_all_of_a_carried_array_is_kept_as_it_is(border, shape):
    """Of an array whose inner part alone matters, all is kept where that is little more."""
    def stencil(x, w):
        def iteration(i, v):
            inner = ops.slice(v, (border,), (40 - border,))
            return [ops.dynamic_update_slice(v, ops.multiply(inner, inner), [ops.constant(border, np.int64)])]
        return counted(5, [x], iteration)
    x = np.linspace(0.3, 1.1, 40)
    assert buffers(vjp(module_of(stencil, [x, x]), [0], [0])) == [(5, *shape)]
