"""Products of matrices by error-free slicing (Ozaki, Ogita, Oishi and Rump, Numerical Algorithms 59, 2012).

Rows and columns are scaled by powers of two and cut into slices of a few binary digits each, so few that products of
slices are summed exactly by the hardware's own product of matrices, in whatever order. The products of slices are then
added up as limbs, the small ones first. Limbs of 16 bits are cut into integers of 8, whose sums have 32.
"""
from __future__ import annotations

import math

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision import entries, exponential, trees, wide
from reactant.precision.error_free import digits
from reactant.precision.values import WideComplex
from reactant.precision.wide import Wide

BLOCK = 1024
"""Summands that are taken together: more would make slices thinner."""
LITTLE = 1 << 14
"""Products up to which they are all formed."""


def product(x: Wide | WideComplex, y: Wide | WideComplex) -> Wide | WideComplex:
    """`matrix_product` of numbers that may be complex."""
    if isinstance(x, Wide) and isinstance(y, Wide):
        return matrix_product(x, y)
    found = matrix_product(_parts(x, 1), _parts(y, 2))
    (m, n), parts = (x.shape[1], y.shape[2]), []
    for row, column in ((0, 0), (m, n), (0, n), (m, 0)):        # re re, im im, re im, im re
        stop = (x.shape[0], row + m, column + n)
        parts.append(found.each(lambda limb: ops.slice(limb, (0, row, column), stop))  # noqa: B023
                     if row < found.shape[1] and column < found.shape[2] else None)
    re, both, im, other = parts
    assert re is not None
    return WideComplex(re - both if both is not None else re,
                       im + other if im is not None and other is not None else im or other or re.of(0.0))


def _parts(x: Wide | WideComplex, dimension: int) -> Wide:
    """The imaginary part beside the real one: one product makes all products of parts."""
    if isinstance(x, Wide):
        return x
    others = iter(x.im.limbs)
    return x.re.each(lambda limb: ops.concatenate([limb, next(others)], dimension))


def matrix_product(a: Wide, b: Wide) -> Wide:
    """a: (batch, m, k), b: (batch, k, n); gives (batch, m, n)."""
    batch, m, k = a.shape
    n = b.shape[2]
    if not batch * m * n * k:
        return wide.constant(0.0, a.dtype, (batch, m, n), a.count)
    if m * n == 1 or k <= 4 or batch * m * n * k <= LITTLE:
        return _all_products(a, b)
    if a.dtype == np.float16:
        return _in_float32(a, b)
    if k > BLOCK and digits(a.dtype) > 11:
        return _in_blocks(a, b)
    return _sliced(a, b)


def _all_products(a: Wide, b: Wide) -> Wide:
    batch, m, k = a.shape
    n = b.shape[2]
    shape = (k, batch, m, n)
    left = a.each(lambda limb: ops.broadcast_in_dim(limb, shape, (1, 2, 0)))
    right = b.each(lambda limb: ops.broadcast_in_dim(limb, shape, (1, 0, 3)))
    return trees.total(trees.computed_once(left * right))


def _in_float32(a: Wide, b: Wide) -> Wide:
    """Products of float16 limbs are exact in float32, in which hardware adds them up. The least come first."""
    total: ir.Value | None = None
    for level in range(a.count, -1, -1):
        for i in range(level + 1):
            if i < a.count and level - i < b.count:
                term = ops.dot_general(a.limbs[i], b.limbs[level - i], contracting_dims=((2,), (1,)),
                                       batching_dims=((0,), (0,)), dtype=np.float32)
                total = term if total is None else ops.add(total, term)
    assert total is not None
    return entries.split(total, a.dtype, a.count)


def _in_blocks(a: Wide, b: Wide) -> Wide:
    batch, m, k = a.shape
    n = b.shape[2]
    blocks = -(-k // BLOCK)
    pad = blocks * BLOCK - k
    a = a.each(lambda v: ops.pad(v, 0.0, (0, 0, 0), (0, 0, pad)))
    b = b.each(lambda v: ops.pad(v, 0.0, (0, 0, 0), (0, pad, 0)))
    a = a.each(lambda v: ops.transpose(ops.reshape(v, (batch, m, blocks, BLOCK)), (2, 0, 1, 3)))
    b = b.each(lambda v: ops.transpose(ops.reshape(v, (batch, blocks, BLOCK, n)), (1, 0, 2, 3)))
    found = matrix_product(a.each(lambda v: ops.reshape(v, (blocks * batch, m, BLOCK))),
                           b.each(lambda v: ops.reshape(v, (blocks * batch, BLOCK, n))))
    return trees.total(found.each(lambda v: ops.reshape(v, (blocks, batch, m, n))))


def _sliced(a: Wide, b: Wide) -> Wide:
    dtype, k = a.dtype, a.shape[2]
    in_integers = digits(dtype) <= 11
    room = 31 if in_integers else digits(dtype)
    width = min((room - math.ceil(math.log2(k))) // 2, 7 if in_integers else room)
    count = math.ceil((digits(dtype) * a.count + 5) / width)
    (left, up), (right, over) = _slices(a, 2, width, count), _slices(b, 1, width, count)
    total: Wide | None = None
    for level in range(count, -1, -1):      # the smallest products first
        for i in range(min(level, count - 1) + 1):
            if level - i < count:
                term = _times(left[i], right[level - i], dtype, a.count, in_integers)
                term = term.times_power(2.0**(-width * (level + 2)))
                total = term if total is None else wide.add(total.first(a.count), term)
    assert total is not None
    shape = (a.shape[0], a.shape[1], b.shape[2])
    exponent = ops.add(ops.broadcast_in_dim(up, shape, (0, 1)), ops.broadcast_in_dim(over, shape, (0, 2)))
    with wide.finite():
        found = exponential.scaled(total.first(a.count), exponent)
    plain = ops.dot_general(a.head, b.head, contracting_dims=((2,), (1,)), batching_dims=((0,), (0,)))
    return wide.guarded(found, plain)


def _times(left: ir.Value, right: ir.Value, dtype: np.dtype, count: int, in_integers: bool) -> Wide:
    """An exact product of slices."""
    made = ops.dot_general(left, right, contracting_dims=((2,), (1,)), batching_dims=((0,), (0,)),
                           dtype=np.int32 if in_integers else dtype)
    return entries.from_integer(made, dtype, count) if in_integers else Wide([made])


def _slices(x: Wide, summed: int, width: int, count: int) -> tuple[list[ir.Value], ir.Value]:
    """Whole numbers of `width` digits, and the exponents of rows: x = 2^exponent sum_i q_i 2^(-width (i + 1))."""
    dtype = x.dtype
    sizes = ops.reduce(ops.abs(x.head), 0.0, (summed,), "maximum")
    sizes = ops.select(ops.and_(ops.is_finite(sizes), ops.compare(sizes, 0.0, "GT")), sizes, 1.0)
    exponent = ops.add(exponential.exponent_of(sizes), 1)
    kept = tuple(d for d in range(3) if d != summed)
    moved = ops.broadcast_in_dim(ops.negate(exponent), x.shape, kept)
    found = []
    with wide.finite():
        rest = exponential.scaled(x, moved)
        for i in range(count):
            grown = ops.multiply(rest.head, 2.0**(width * (i + 1)))
            q = ops.round_nearest_even(grown)
            found.append(ops.convert(q, np.int8) if digits(dtype) <= 11 else q)
            lower = ops.subtract(rest.head, ops.multiply(q, 2.0**(-width * (i + 1))))
            rest = wide.renormalised([lower, *rest.limbs[1:]], x.count) if x.count > 2 else \
                Wide(wide.sum_and_error(lower, rest.limbs[1]))
    return found, exponent


