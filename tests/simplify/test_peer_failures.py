"""What the C++ system optimises into something else, or not at all, on programs that ours has to keep bit for bit.

One row for each of its known failures (docs/peers.md); values are compared with the reference interpreter's of the
program as it was written, signs of zeros included.
"""
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

import reactant
from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import tensor_type

NAN, INF = np.nan, np.inf
SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, NAN, INF, -INF, 3e38, 1e-40, 0.1, -0.3, 7.0], np.float32)
MATRIX = SPECIAL.reshape(3, 4)
ODD = np.random.default_rng(0).standard_normal(200).astype(np.float32)
BITS = [np.array([False, False, True, True]), np.array([False, True, False, True])]


def vector(value, shape=(4,), dtype="float32"):
    return ops.constant(np.full(shape, value, dtype))


def columns(x, *spans):
    """Columns of a matrix side by side."""
    return ops.concatenate([ops.slice(x, (0, a), (3, b)) for a, b in spans], 1)


def product(x, y):
    return ops.dot_general(x, y, contracting_dims=((1,), (0,)))


def at(*start):
    return [ops.constant(k, np.int32) for k in start]


def compared_as(direction, dtype):
    def build(a, b):
        return ops.compare(ops.convert(a, dtype), ops.convert(b, dtype), direction)
    return build


def counted(first, last, iteration, x):
    """`for i in range(first, last): x = iteration(i, x)`"""
    def body(i, v):
        return [ops.add(i, ops.constant(1, "int32")), iteration(i, v)]
    return ops.while_([ops.constant(first, "int32"), x],
                      lambda i, v: ops.compare(i, ops.constant(last, "int32"), "LT"), body)[1]


def grown(x):
    """A loop that carries a concatenation."""
    def iteration(v):
        half = ops.multiply(ops.slice(v, (0,), (1,)), vector(0.5, (1,)))
        return ops.concatenate([ops.slice(v, (1,), (12,)), half], 0)
    return counted(0, 5, lambda i, v: iteration(v), x)


def wrapped(x):
    """A periodic halo in a loop: the rows beside it read what the iteration before wrote."""
    def iteration(v):
        inner = ops.add(ops.slice(v, (0,), (10,)), ops.slice(v, (2,), (12,)))
        return ops.concatenate([ops.slice(inner, (9,), (10,)), inner, ops.slice(inner, (0,), (1,))], 0)
    return counted(0, 4, lambda i, v: iteration(v), x)


def rows_in_place(whole):
    """x[i, a:b] = -x[i - 1, a:b] + x[i, a:b]: iterations need each other, and write `whole` rows or a part of them."""
    width, start = (4, 0) if whole else (2, 1)

    def iteration(i, v):
        left = ops.constant(start, "int32")
        above = ops.dynamic_slice(v, [ops.subtract(i, ops.constant(1, "int32")), left], (1, width))
        here = ops.dynamic_slice(v, [i, left], (1, width))
        return ops.dynamic_update_slice(v, ops.add(ops.negate(above), here), [i, left])
    return lambda x: counted(1, 3, iteration, x)


def mixed_precision(a, b):
    """Converted, reshaped and put together: rules about each of these must not undo one another for ever."""
    wide = [ops.reshape(ops.convert(v, "float32"), (2, 2)) for v in (a, b)]
    joined = ops.concatenate([ops.reshape(ops.add(w, vector(0.5, (2, 2))), (1, 4)) for w in wide], 0)
    return ops.convert(ops.multiply(joined, joined), ml_dtypes.bfloat16)


HALF = np.array([0.5, -1.25, 3, 100], ml_dtypes.bfloat16)
PROGRAMS = {
    # An invalid module there: a part that is repeated becomes a broadcast, and the broadcast is dropped.
    "last column twice": (lambda x: columns(x, (0, 3), (3, 4), (3, 4)), MATRIX),
    "last entry twice": (lambda x: ops.concatenate([ops.slice(x, (a,), (12,)) for a in (0, 11, 11)], 0), SPECIAL),
    # Equality of two converted predicates became "and".
    **{f"{direction} of predicates as {dtype}": (compared_as(direction, dtype), *BITS)
       for direction in ("EQ", "NE", "LT", "GE") for dtype in ("int32", "uint8", "float32")},
    # 0 * x is NaN for NaN and infinities.
    "zeros times matrix": (lambda x: product(vector(0, (2, 3)), x), MATRIX),
    "matrix times zeros": (lambda x: product(x, vector(0, (4, 2))), MATRIX),
    "zero times vector": (lambda x: ops.multiply(x, vector(0, (12,))), SPECIAL),
    "difference with itself": (lambda x: ops.subtract(x, x), SPECIAL),
    "equal to itself": (lambda x: ops.compare(x, x, "EQ"), SPECIAL),
    "quotient by itself": (lambda x: ops.divide(x, x), SPECIAL),
    # -0.0 + 0.0 is 0.0.
    "zeros padded, added": (lambda x, y: ops.add(ops.pad(x, 0.0, (4,), (4,)), y), SPECIAL[:4], SPECIAL),
    "negative zeros padded, added": (lambda x, y: ops.add(ops.pad(x, -0.0, (4,), (4,)), y), SPECIAL[:4], SPECIAL),
    "two padded, added": (lambda x, y: ops.add(ops.pad(x, 0.0, (4,), (0,)), ops.pad(y, 0.0, (0,), (4,))),
                          SPECIAL[:4], SPECIAL[4:8]),
    "padded, multiplied": (lambda x, y: ops.multiply(ops.pad(x, 0.0, (4,), (4,)), y), SPECIAL[:4], SPECIAL),
    "zero added": (lambda x: ops.add(x, vector(0.0, (12,))), SPECIAL),
    "subtracted from zero": (lambda x: ops.subtract(vector(0.0, (12,)), x), SPECIAL),
    # An update is no product with a mask of zeros and ones.
    "update over NaN": (lambda x, y: ops.dynamic_update_slice(x, y, at(1, 1)), MATRIX, np.ones((2, 2), np.float32)),
    "update with NaN": (lambda x, y: ops.dynamic_update_slice(y, x, at(0, 0)), MATRIX, np.ones((4, 5), np.float32)),
    # Converted back, a product of converted numbers is another number.
    "product in more bits": (lambda x, y: ops.convert(ops.multiply(ops.convert(x, "int32"), ops.convert(y, "int32")),
                                                      "float32"),
                             np.array([100, -128, 7, 3], np.int8), np.array([100, -128, 9, 5], np.int8)),
    "product with a wider constant": (
        lambda x: ops.convert(ops.multiply(ops.convert(x, "float32"), vector(1.001, (4,))), ml_dtypes.bfloat16), HALF),
    "chain with a wider constant": (
        lambda x: ops.convert(ops.multiply(ops.multiply(ops.convert(x, "float32"), vector(3e38)), vector(1e-38)),
                              ml_dtypes.bfloat16), HALF),
    # "Not valid in general."
    "joined, joined and updated": (
        lambda x, y: ops.dynamic_update_slice(ops.concatenate([ops.concatenate([x, y], 0), x], 0), y, at(2)),
        SPECIAL[:4], SPECIAL[4:8]),
    "loop that carries a concatenation": (grown, SPECIAL),
    "loop that carries a halo": (wrapped, ODD[:12]),
    "loop over rows": (rows_in_place(True), MATRIX), "loop over parts of rows": (rows_in_place(False), MATRIX),
    # Other roundings, unless asked for.
    "constants added in turn": (lambda x: ops.add(ops.add(x, vector(0.1, (200,))), vector(0.2, (200,))), ODD),
    "constants multiplied in turn": (lambda x: ops.multiply(ops.multiply(x, vector(0.1, (200,))), vector(3, (200,))),
                                     ODD),
    "sums of three": (lambda x: ops.subtract(ops.add(x, ops.reverse(x, (0,))), ops.reverse(x, (0,))), ODD),
    "divided by three": (lambda x: ops.divide(x, vector(3.0, (200,))), ODD),
    "divided by a root": (lambda x: ops.divide(x, ops.sqrt(ops.multiply(x, x))), ODD),
    "divided twice": (lambda x: ops.divide(ops.divide(x, vector(3.0, (200,))), vector(7.0, (200,))), ODD),
    "factored out": (lambda x: ops.add(ops.multiply(x, vector(0.1, (200,))), ops.multiply(x, vector(0.7, (200,)))),
                     ODD),
    # log(x * x) is not 2 log(x) for negative x, nor where x * x is no longer finite; sqrt(x * x) is not x.
    "logarithm of a square": (lambda x: ops.log(ops.multiply(x, x)), SPECIAL),
    "root of a square": (lambda x: ops.sqrt(ops.multiply(x, x)), SPECIAL),
    "exponential of a logarithm": (lambda x: ops.exponential(ops.log(x)), SPECIAL),
    # Types that do not fit after a slice went through a broadcast; a slice of an update at the wrong place.
    "slice of a broadcast": (lambda x: ops.slice(ops.broadcast_in_dim(x, (5, 3, 4), (1, 2)),
                                                 (1, 1, 0), (4, 2, 3), (2, 1, 2)), MATRIX),
    "slice of a widening broadcast": (lambda x: ops.slice(ops.broadcast_in_dim(x, (4, 6), (0, 1)), (1, 2), (3, 5)),
                                      SPECIAL[:6].reshape(1, 6)),
    "slice within an update": (lambda x, y: ops.slice(ops.dynamic_update_slice(x, y, at(0, 1)), (1, 2), (2, 3)),
                               MATRIX, MATRIX[:, :3] + 1),
    "slice across an update": (lambda x, y: ops.slice(ops.dynamic_update_slice(x, y, at(0, 1)), (0, 0), (2, 3)),
                               MATRIX, MATRIX[:2, 1:3] * 2),
    # Never settles there.
    "mixed precision": (mixed_precision, HALF, HALF * 2),
}


def module_of(build, arguments):
    module = modules.parse("module {}")
    with ir.InsertionPoint(module.body):
        made = func.FuncOp("main", ([tensor_type(a.shape, a.dtype) for a in arguments], []))
        block = made.add_entry_block()
        with ir.InsertionPoint(block):
            result = build(*block.arguments)
            func.ReturnOp([result])
        made.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([v.type for v in block.arguments], [result.type]))
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    build, *arguments = PROGRAMS[name]
    with building():
        module = module_of(build, arguments)
        modules.verify(module)
        (before,) = evaluate(module, arguments)
        pipelines.run(module, "simplify", verify=True)
        (after,) = evaluate(module, arguments)
    assert before.dtype == after.dtype
    np.testing.assert_array_equal(after, before)
    if before.dtype.kind == "f":
        number = ~np.isnan(before)
        np.testing.assert_array_equal(np.signbit(after[number]), np.signbit(before[number]))


JAX_PROGRAMS = {
    "last column twice": (lambda x: jnp.concatenate([x[:, :3], x[:, 3:4], x[:, 3:4]], 1), MATRIX),
    "diagonal times infinities": (lambda x: jnp.diag(jnp.arange(3.0)) @ x, MATRIX),
    "mean of squares": (lambda x: jnp.log(x * x).sum(), ODD),
    "periodic gather": (lambda x: x[(jnp.arange(6) + 4) % 5 - 3], ODD[:7]),
    "backward gather": (lambda x: x[::-2][jnp.array([-1, 0, 3, -4, 99])], ODD[:9]),
    "in place, reading behind": (lambda x: lax.fori_loop(1, 12, lambda i, v: v.at[i].add(v[i - 1] * 0.5), x), ODD[:12]),
    "in place, reading ahead": (lambda x: lax.fori_loop(0, 11, lambda i, v: v.at[i].add(v[i + 1] * 0.5), x), ODD[:12]),
}


@pytest.mark.parametrize("name", JAX_PROGRAMS)
def test_jax_program(name):
    function, *arguments = JAX_PROGRAMS[name]
    arguments = [jnp.asarray(a) for a in arguments]
    np.testing.assert_allclose(reactant.jit(function, frontend="jax")(*arguments), function(*arguments), rtol=2e-6)
