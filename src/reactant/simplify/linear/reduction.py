"""reduce over one value with a body of one op.

A reduction ignores how its elements are arranged along the dimensions it sums, so views in front of it vanish; the
order of summation is the compiler's anyway (`changes="rounding"` where it may differ).
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import is_complex, is_float, shape_of, size
from reactant.rewrite import match, named, once, one_of, rewrite, splat, variables
from reactant.rewrite.pattern import Template
from reactant.simplify.algebra.cleanup import EXACT_BINARY
from reactant.simplify.facts.contents import apply, dense
from reactant.simplify.facts.indexmaps import reshape_groups
from reactant.simplify.selection.indexing import KNOWN_ELEMENTS, known_content

x, y, v, w, d, e, p = variables("x y v w d e p")
low, high, interior = variables("low high interior")
IDEMPOTENT = {"maximum", "minimum", "and", "or"}
BODIES = IDEMPOTENT | {"add", "multiply", "xor"}
PRODUCT_ELEMENTS = 4_096
"""A sum of products of broadcasts becomes a dot_general where the products have at least this many elements."""


def reduced(inner: Any, start: Any = v, dimensions: Any = d, template: str = "t") -> Any:
    """The pattern of a reduce of one value."""
    return one_of(("stablehlo.reduce",), inner, start, dimensions=dimensions, template=template)


def understood(t: Template) -> bool:
    """Whether the body is one op with laws we know (an order of complex numbers has none)."""
    return t.body in BODIES and not (is_complex(t.dtype) and t.body in IDEMPOTENT)


def _combine(body: str, left: object, right: object) -> ir.Value:
    """The reduction's op on two values."""
    return ops.create(f"stablehlo.{body}", [left.type], [left, right]).result


def _kept(rank: int, dimensions: Sequence[int]) -> list[int]:
    return [i for i in range(rank) if i not in dimensions]


@rewrite(reduced(x), example=(lambda a: ops.reduce(a(1, 4), a(), (0,), "add"),
                              lambda a: ops.reduce(a(1, 4, dtype="int32"), a(dtype="int32"), (0,), "maximum"),
                              lambda a: ops.reduce(a(4, 1, dtype="bool"), ops.constant(True), (1,), "and")),
         counter=lambda a: ops.reduce(a(2, 4), a(), (0,), "add"))
def reduce_of_unit_dimensions(x, v, d, t, result_shape):
    """reduce(x, v) along dimensions of extent 1 = op(v, reshape(x))"""
    extents = shape_of(x)
    if any(extents[i] != 1 for i in d) or not understood(t):
        return None
    return _combine(t.body, ops.reshape(x, result_shape), ops.broadcast_in_dim(v, result_shape, ()))


@rewrite(reduced(x), example=lambda a: ops.reduce(a(0, 4), a(), (0,), "add"), dtypes="number",
         counter=lambda a: ops.reduce(a(2, 4), a(), (0,), "add"))
def reduce_of_nothing(x, v, d, t, result_shape):
    """reduce(empty, v) = v"""
    empty = 0 in [shape_of(x)[i] for i in d]
    return ops.broadcast_in_dim(v, result_shape, ()) if empty and understood(t) else None


def _windows(window, shape=(4, 6), **keywords):
    return lambda a: ops.reduce_window(a(*shape), a(), "add", window, **keywords)


@rewrite(one_of(("stablehlo.reduce_window",), x, v, window_dimensions=w, template="t"), dtypes="number",
         changes="rounding",
         example=(_windows((4, 6)), _windows((1, 6), window_strides=(3, 1)), _windows((1, 1), window_strides=(2, 5)),
                  lambda a: ops.reduce_window(a(2, 5, 5, 3, dtype="float32"), -np.inf, "maximum", (1, 5, 5, 1))),
         counter=(_windows((1, 5)), _windows((4, 6), padding=((0, 0), (0, 1))),
                  _windows((1, 6), base_dilations=(2, 1))))
def reduce_window_of_all(x, v, w, t, result_shape):
    """reduce_window(x) = reduce(x) along dimensions that one window spans, where the others have windows of 1"""
    extents, given = shape_of(x), {key: attr.decode(value) for key, value in t.attributes}
    ones, nothing = (1,) * len(w), ((0, 0),) * len(w)
    if not understood(t) or given.get("base_dilations", ones) != ones or 0 in (*extents, *result_shape) \
            or tuple(map(tuple, given.get("padding", nothing))) != nothing:
        return None
    wide = [i for i, n in enumerate(w) if n > 1]
    if any(w[i] != extents[i] or given.get("window_dilations", ones)[i] != 1 for i in wide):
        return None
    strides = [1 if i in wide else n for i, n in enumerate(given.get("window_strides", ones))]
    read = ops.slice(x, (0,) * len(w), extents, strides)
    if not wide:
        return _combine(t.body, read, ops.broadcast_in_dim(v, result_shape, ()))
    return ops.reshape(ops.reduce(read, v, wide, t.body), result_shape)


@rewrite(reduced(x), example=lambda a: ops.reduce(a(3, 1, 4), a(), (0, 1), "add"), dtypes="number", changes="rounding",
         counter=lambda a: ops.reduce(a(3, 1, 4), a(), (0,), "add"))
def reduce_drops_unit_dimensions(x, v, d, t):
    """reduce(x, dimensions of extent 1 and others) = reduce(reshape(x), the others)"""
    extents = shape_of(x)
    units = [i for i in d if extents[i] == 1]
    if not units or len(units) == len(d) or not understood(t):
        return None
    remaining = _kept(len(extents), units)
    return ops.reduce(ops.reshape(x, [extents[i] for i in remaining]), v,
                      [remaining.index(i) for i in d if i not in units], t.body)


@rewrite(reduced(match.transpose(x, permutation=p)), dtypes="number", changes="rounding",
         example=(lambda a: ops.reduce(ops.transpose(a(2, 3, 4), (2, 0, 1)), a(), (0,), "add"),
                  lambda a: ops.reduce(ops.transpose(a(2, 3, 4), (2, 1, 0)), a(), (1,), "add")))
def reduce_of_transpose(x, p, v, d, t):
    """reduce(transpose(x, p), d) = transpose(reduce(x, p[d]))"""
    if not understood(t):
        return None
    order = [p[i] for i in _kept(len(p), d)]
    total = ops.reduce(x, v, [p[i] for i in d], t.body)
    kept = sorted(order)
    return ops.transpose(total, [kept.index(i) for i in order])


@rewrite(reduced(named("b", match.reshape(x))), dtypes="number", changes="rounding",
         example=(lambda a: ops.reduce(ops.reshape(a(2, 3, 4), (6, 4)), a(), (0,), "add"),
                  lambda a: ops.reduce(ops.reshape(a(12), (3, 4)), a(), (0, 1), "add"),
                  lambda a: ops.reduce(ops.reshape(a(2, 6), (2, 1, 3, 2)), a(), (2, 3), "multiply")),
         counter=lambda a: ops.reduce(ops.reshape(a(12), (3, 4)), a(), (0,), "add"))
def reduce_of_reshape(b, x, v, d, t, result_shape):
    """reduce(reshape(x)) = reshape(reduce(x)) where reshaped dimensions are reduced together or not at all"""
    inner, outer = shape_of(x), shape_of(b)
    if not understood(t) or 0 in inner or 0 in outer:
        return None
    dimensions: list[int] = []
    for old, new in reshape_groups(inner, outer):
        wanted = [n in d for n in new if outer[n] != 1]
        if wanted and all(wanted):
            dimensions.extend(old)
        elif any(wanted) or any(outer[n] == 1 and n in d for n in new) and not all(inner[o] == 1 for o in old) \
                and not wanted:
            return None
    if not dimensions and any(outer[n] != 1 for n in d):
        return None
    if not dimensions:
        return None
    return ops.reshape(ops.reduce(x, v, dimensions, t.body), result_shape)


@rewrite(reduced(match.reverse(x, dimensions=e)), dtypes="number", changes="rounding",
         example=lambda a: ops.reduce(ops.reverse(a(2, 3), (0, 1)), a(), (0,), "add"))
def reduce_of_reverse(x, e, v, d, t):
    """reduce(reverse(x)) = reverse(reduce(x)), along the dimensions that remain"""
    if not understood(t):
        return None
    kept = _kept(len(shape_of(x)), d)
    return ops.reverse(ops.reduce(x, v, d, t.body), [kept.index(i) for i in e if i in kept])


@rewrite(reduced(named("b", match.broadcast_in_dim(x, broadcast_dimensions=e))), dtypes="real", changes="rounding",
         example=(lambda a: ops.reduce(ops.broadcast_in_dim(a(3), (2, 3), (1,)), a(), (0,), "add"),
                  lambda a: ops.reduce(ops.broadcast_in_dim(a(3, dtype="float32"), (2, 3), (1,)), a(dtype="float32"),
                                       (0,), "maximum"),
                  lambda a: ops.reduce(ops.broadcast_in_dim(a(3), (2, 3, 4), (1,)), a(), (0, 1), "add")),
         counter=(lambda a: ops.reduce(ops.broadcast_in_dim(a(3), (2, 3), (1,)), a(), (1,), "add"),
                  lambda a: ops.reduce(ops.broadcast_in_dim(a(3), (2, 3), (1,)), a(), (0,), "multiply")))
def reduce_of_broadcast(b, x, e, v, d, t, result_shape, result_dtype):
    """sum of n copies of x = n x; maximum, minimum of copies of x = x"""
    extents, outer = shape_of(x), shape_of(b)
    idle = [i for i in d if i not in e or extents[e.index(i)] == 1]
    if t.body not in {*IDEMPOTENT, "add"} or not understood(t) or not idle or 0 in outer \
            or all(outer[i] == 1 for i in idle):
        return None
    count = math.prod(outer[i] for i in idle)
    if t.body == "add" and (result_dtype.kind == "b" or not _exactly(count, result_dtype)):
        return None
    narrow = [1 if i in idle else n for i, n in enumerate(outer)]
    smaller = ops.broadcast_in_dim(x, narrow, e)
    if t.body == "add":
        smaller = ops.multiply(smaller, ops.constant(count, result_dtype, tuple(narrow)))
    return ops.reduce(smaller, v, d, t.body)


@rewrite(reduced(named("b", match.broadcast_in_dim(x, broadcast_dimensions=e))), dtypes="number", changes="rounding",
         example=lambda a: ops.reduce(ops.broadcast_in_dim(a(3), (7, 3), (1,)), ops.constant(1, a.dtype), (0,),
                                      "multiply"),
         counter=lambda a: ops.reduce(ops.broadcast_in_dim(a(3), (7, 3), (1,)), a(), (0,), "multiply"))
def product_of_copies(b, x, e, v, d, t):
    """product of n copies of x = x^n by squarings"""
    extents, outer = shape_of(x), shape_of(b)
    idle = [i for i in d if i not in e or extents[e.index(i)] == 1]
    count = math.prod(outer[i] for i in idle)
    if t.body != "multiply" or not is_neutral("multiply", v) or count < 2 or 0 in outer:
        return None
    narrow = [1 if i in idle else n for i, n in enumerate(outer)]
    base = ops.broadcast_in_dim(x, narrow, e)
    power = base
    for bit in bin(count)[3:]:      # no step is greater, or smaller, than the result
        power = ops.multiply(power, power)
        power = ops.multiply(power, base) if bit == "1" else power
    return ops.reduce(power, v, d, t.body)


@rewrite(reduced(named("b", splat("c"))), dtypes="real", changes="rounding",
         example=(lambda a: ops.reduce(ops.constant(3, a.dtype, (5, 2)), ops.constant(1, a.dtype), (0,), "multiply"),
                  lambda a: ops.reduce(ops.constant(0.5, "float32", (9,)), ops.constant(1, "float32"), (0,),
                                       "multiply")),
         counter=lambda a: ops.reduce(ops.constant(3, a.dtype, (5, 2)), a(), (0,), "multiply"))
def product_of_copies_of_constant(b, c, v, d, t, result_shape, result_dtype):
    """product of n copies of a constant c = c^n"""
    count = math.prod(shape_of(b)[i] for i in d)
    if t.body != "multiply" or not is_neutral("multiply", v) or not count:
        return None
    return ops.constant(power_of(c, count), result_dtype, result_shape)


@rewrite(reduced(named("b", x), splat("c")), changes="rounding",
         example=(lambda a: ops.reduce(ops.constant(3, "float16", (5, 2)), ops.constant(1, "float16"), (0,), "add"),
                  lambda a: ops.reduce(ops.constant(-0.0, "float32", (5,)), ops.constant(-0.0, "float32"), (0,), "add"),
                  lambda a: ops.reduce(ops.constant(False, bool, (9,)), ops.constant(False), (0,), "or"),
                  lambda a: ops.reduce(ops.iota((4, 3), "int8", 0), ops.constant(5, "int8"), (0, 1), "multiply"),
                  lambda a: ops.reduce(ops.constant(np.array([1.5, np.nan, -np.inf])), ops.constant(0.0), (0,),
                                       "maximum")),
         counter=(lambda a: ops.reduce(a(4, 3), ops.constant(0, a.dtype), (0,), "maximum"),
                  lambda a: ops.reduce(ops.constant(3, a.dtype, (5, 2)), a(), (0,), "maximum")))
def fold_reduce(b, x, c, d, t, result_shape, result_dtype):
    """reduce(constant, constant) = constant; likewise of what is made of iota"""
    if not understood(t) or result_dtype.kind == "b" and t.body in ("add", "multiply") or not size(shape_of(b)) \
            or size(result_shape) > KNOWN_ELEMENTS:
        return None
    known = known_content(x, 4)
    if known is None:
        return None
    wide = np.dtype(np.complex128 if is_complex(result_dtype) else np.float64) \
        if is_float(result_dtype) or is_complex(result_dtype) else result_dtype
    combine = functools.partial(apply, EXACT_BINARY[t.body])
    rows = np.moveaxis(known, d, range(len(d))).astype(wide).reshape(-1, *result_shape)
    while len(rows) > 1:
        half = len(rows) // 2
        rows = np.concatenate([combine(rows[:half], rows[half:2 * half]), rows[2 * half:]])
    return dense(combine(rows[0], c.astype(wide)), result_dtype)


def power_of(c: np.generic, count: int) -> np.generic:
    """c^count, as the dtype rounds or wraps it."""
    if c.dtype.kind in "iu":
        wrapped = pow(int(c), count, 1 << 8 * c.dtype.itemsize)
        return np.array(wrapped, np.uint64).astype(c.dtype)[()]
    with np.errstate(all="ignore"):
        return np.power(np.longdouble(float(c)), np.longdouble(count)).astype(c.dtype)


def _exactly(count: int, dtype: np.dtype) -> bool:
    """Whether a count is a number of the dtype (integers wrap around, so any will do for them)."""
    if dtype.kind in "iu":
        return count <= np.iinfo(dtype).max
    part = np.dtype(np.float32 if dtype == np.complex64 else np.float64) if is_complex(dtype) else dtype
    return float(part.type(count)) == count


@rewrite(reduced(named("b", once(reduced(x, dimensions=e, template="u", start=w)))), dtypes="number",
         changes="rounding",
         example=(lambda a: ops.reduce(ops.reduce(a(2, 3, 4), ops.constant(0, a.dtype), (1,), "add"), a(), (1,), "add"),
                  lambda a: ops.reduce(ops.reduce(a(2, 3, 4, dtype="int32"), v := a(dtype="int32"), (0,), "maximum"), v,
                                       (1,), "maximum")),
         counter=lambda a: ops.reduce(ops.reduce(a(2, 3, 4), a(), (1,), "add"), a(), (1,), "add"))
def reduce_of_reduce(b, x, w, e, u, v, d, t):
    """reduce(reduce(x, e), d) = reduce(x, d and e) with one op"""
    if t.body != u.body or not understood(t):
        return None
    if not (t.body in IDEMPOTENT and v == w) and not is_neutral(t.body, w):
        return None
    kept = _kept(len(shape_of(x)), e)
    return ops.reduce(x, v, [*e, *(kept[i] for i in d)], t.body)


def is_neutral(body: str, value: ir.Value) -> bool:
    """Whether a start value leaves every sum (up to the sign of zero) or product unchanged."""
    number = ops.constant_value(value)
    return number is not None and number.ndim == 0 and {
        "add": number == 0, "multiply": number == 1, "xor": number == 0}.get(body, False)


@rewrite(reduced(match.negate(x)), dtypes="float",
         example=lambda a: ops.reduce(ops.negate(a(3, 4)), a(), (0,), "maximum"),
         counter=lambda a: ops.reduce(ops.negate(a(3, 4)), a(), (0,), "add"))
def extreme_of_negate(x, v, d, t):
    """max(-x) = -min(x)"""
    mirrored = {"maximum": "minimum", "minimum": "maximum"}.get(t.body)
    return None if mirrored is None else ops.negate(ops.reduce(x, ops.negate(v), d, mirrored))


@rewrite(reduced(match.pad(x, v, edge_padding_low=low, edge_padding_high=high, interior_padding=interior)),
         dtypes="number", changes="rounding",
         example=(lambda a: ops.reduce(ops.pad(a(3, 4), z := ops.constant(0, a.dtype), (1, 0), (2, 0)), z, (0,), "add"),
                  lambda a: ops.reduce(ops.pad(a(3, dtype="float32"), z := a(dtype="float32"), (1,), (2,), (1,)), z,
                                       (0,), "maximum")),
         counter=(lambda a: ops.reduce(ops.pad(a(3), a(), (1,), (2,)), a(), (0,), "add"),
                  lambda a: ops.reduce(ops.pad(a(3, 4), z := ops.constant(0, a.dtype), (0, 1), (0, 0)), z, (0,),
                                       "add")))
def reduce_of_pad(x, v, low, high, interior, d, t):
    """reduce(pad(x, v), v) = reduce(x, v) where v adds nothing"""
    if not understood(t) or not (t.body in IDEMPOTENT or is_neutral(t.body, v)) or min((*low, *high)) < 0:
        return None
    if any(i not in d and (low[i] or high[i] or interior[i]) for i in range(len(low))):
        return None
    return ops.reduce(x, v, d, t.body)


def _diagonal(a: Any, start: int, dimensions: tuple[int, ...], shape: tuple[int, int] = (5, 7), count: int = 4):
    length = start + (count - 1) * (shape[1] + 1) + 1
    line = ops.pad(a(count), 0, (start,), (size(shape) - length,), (shape[1],))
    return ops.reduce(ops.reshape(line, shape), 0, dimensions, "add")


@rewrite(reduced(named("b", match.reshape(match.pad(x, w, edge_padding_low=low, edge_padding_high=high,
                                                    interior_padding=interior)))), dtypes="number", changes="rounding",
         example=(lambda a: _diagonal(a, 2, (0,)), lambda a: _diagonal(a, 9, (1,))),
         counter=(lambda a: _diagonal(a, 2, (0, 1)), lambda a: _diagonal(a, 5, (1,)),
                  lambda a: ops.reduce(ops.reshape(ops.pad(a(4), 1, (0,), (2,), (6,)), (4, 6)), 0, (1,), "add")))
def sum_along_diagonal(b, x, w, low, high, interior, v, d, t, result_shape):
    """sum of the rows (columns) of a matrix that has x on a diagonal, written as pad(x), and zeros = x between zeros"""
    s = shape_of(b)
    if t.body != "add" or len(s) != 2 or len(d) != 1 or len(interior) != 1 or interior[0] != s[1] \
            or min(low[0], high[0]) < 0 or not (is_neutral("add", v) and is_neutral("add", w)):
        return None
    start = divmod(low[0], s[1])
    count, = shape_of(x)
    if not count or start[1] + count > s[1]:
        return None
    kept = 1 - d[0]
    return _combine("add", ops.broadcast_in_dim(v, result_shape, ()),
                    ops.pad(x, 0, (start[kept],), (s[kept] - start[kept] - count,)))


@rewrite(reduced(once(match.multiply(match.broadcast_in_dim(x, broadcast_dimensions=p),
                                     match.broadcast_in_dim(y, broadcast_dimensions=e)))),
         dtypes="inexact", changes="rounding",
         example=(lambda a: ops.reduce(ops.multiply(ops.broadcast_in_dim(a(20, 15), (20, 15, 14), (0, 1)),
                                                    ops.broadcast_in_dim(a(15, 14), (20, 15, 14), (1, 2))),
                                       ops.constant(0, a.dtype), (1,), "add"),
                  lambda a: ops.reduce(ops.multiply(ops.broadcast_in_dim(a(20, 15), (20, 14, 15), (0, 2)),
                                                    ops.broadcast_in_dim(a(14, 15), (20, 14, 15), (1, 2))),
                                       ops.constant(0, a.dtype), (2,), "add")),
         counter=lambda a: ops.reduce(ops.multiply(ops.broadcast_in_dim(a(2, 3), (2, 3, 4), (0, 1)),
                                                   ops.broadcast_in_dim(a(3, 4), (2, 3, 4), (1, 2))),
                                      ops.constant(0, a.dtype), (1,), "add"))
def sum_of_products_is_dot_general(x, p, y, e, v, d, t, result_shape):
    """sum over k of broadcast(x)[i, k] broadcast(y)[k, j] = dot_general(x, y): the products are never stored"""
    if t.body != "add" or not is_neutral("add", v):
        return None
    inner = dict(zip(p, shape_of(x), strict=True)), dict(zip(e, shape_of(y), strict=True))
    extents = {i: n for side in inner for i, n in side.items()}
    rank = len(result_shape) + len(d)
    both = [i for i in range(rank) if i in inner[0] and i in inner[1]]
    if len(extents) < rank or any(inner[0][i] != inner[1][i] for i in both) or any(i not in both for i in d):
        return None
    free = [[i for i in side if i not in both] for side in inner]
    kept = _kept(rank, d)
    if not free[0] or not free[1] or size(list(extents.values())) < PRODUCT_ELEMENTS \
            or [extents[i] for i in kept] != list(result_shape):
        return None
    batch = [i for i in both if i not in d]
    product = ops.dot_general(x, y, contracting_dims=([p.index(i) for i in d], [e.index(i) for i in d]),
                              batching_dims=([p.index(i) for i in batch], [e.index(i) for i in batch]))
    order = [*batch, *sorted(free[0], key=p.index), *sorted(free[1], key=e.index)]
    return ops.transpose(product, [order.index(i) for i in kept])
