"""Polynomials and tables of wide numbers, each part with as many limbs as its share of the result needs."""
from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of
from reactant.precision import numerals, wide
from reactant.precision.error_free import digits, rounded
from reactant.precision.wide import Wide


def wanted_bits(dtype: np.dtype, count: int) -> int:
    """Bits of a result of so many limbs that are meant to be right; a little more than the limbs have themselves."""
    return digits(dtype) * count + 1


def size_of(number: Fraction) -> float:
    """The binary logarithm of the size of a number."""
    return math.log2(abs(number.numerator)) - math.log2(number.denominator) if number else -math.inf


def limbs_for(bits: float, dtype: np.dtype, count: int) -> int:
    """How many limbs hold so many bits with some to spare for roundings."""
    return min(max(math.ceil((bits + 1.5) / digits(dtype)), 1), count)


def polynomial(coefficients: Sequence[Fraction], t: Wide, bound: float, count: int, scale: float | None = None,
               bits: float | None = None) -> Wide:
    """c0 + c1 t + c2 t^2 + ... by Horner's rule, for |t| <= bound, in `count` limbs.

    Each step has the limbs that what is left of the wanted bits needs. scale: binary logarithm of the size to which
    the error is to be small (that of c0 where None). bits: how many are wanted. Coefficients too small to matter are
    left out.
    """
    dtype = t.dtype
    bits = wanted_bits(dtype, count) if bits is None else bits
    scale = size_of(coefficients[0]) if scale is None else scale
    slope = math.log2(bound)
    needs = [bits + size_of(c) + k * slope - scale for k, c in enumerate(coefficients)]
    last = max((k for k, need in enumerate(needs) if need > 0), default=0)
    # the value of the polynomial from c_k on, to which t^k is still to come
    limbs = [limbs_for(max(needs[k:last + 1]), dtype, count) for k in range(last + 1)]
    total = t.of(coefficients[last], limbs[last])
    for k in range(last - 1, -1, -1):
        total = _step(total, t, coefficients[k], limbs[k + 1], limbs[k])
    return total.first(count)


def _step(total: Wide, t: Wide, c: Fraction, inner: int, count: int) -> Wide:
    """c + t * total."""
    if inner == 1:
        product = Wide([ops.multiply(total.head, t.head)])
        if count > 1:
            product = Wide([rounded(product.head)])
    else:
        product = wide.multiply(total.first(inner), t.first(inner))
    if not c:
        return product.first(count)
    constant = t.of(c, count)
    if count == 1:
        return Wide([ops.add(product.head, constant.head)])
    if count == 2:
        alone = Wide(constant.limbs[:1]) if not float(numerals.limbs_of(c, t.dtype, 2)[1]) else constant
        return wide.ordered_sum(alone, product)
    return constant + product.first(count)


def looked_up(index: ir.Value, table: Sequence[Fraction], dtype: np.dtype, count: int) -> Wide:
    """The numbers at places of a table. index: int32, of any shape."""
    shape = shape_of(index)
    places = ops.reshape(index, (*shape, 1))
    return Wide([ops.gather(ops.constant(part, dtype), places, offset_dims=(), collapsed_slice_dims=(0,),
                            start_index_map=(0,), index_vector_dim=len(shape), slice_sizes=(1,))
                 for part in numerals.arrays_of(list(table), dtype, count)])


def piecewise(x: Wide, step: Fraction, pieces: Sequence[Sequence[Fraction]], count: int, slack: float = 0.0) -> Wide:
    """A function by its Taylor series at multiples of a step: pieces[j] are the coefficients at j step, of which the
    first is the value. x: from 0 to the last piece, of as many limbs as its digits need. slack: bits more.

    The value is f(c) + h q(h) with h = x - c; q has the limbs that it needs next to the larger of f(c) and h q(h).
    """
    dtype = x.dtype
    place = ops.round_nearest_even(ops.multiply(x.head, float(1 / step)))
    h = wide.renormalised([ops.subtract(x.head, ops.multiply(place, float(step))), *x.limbs[1:]], x.count)
    index = ops.convert(ops.minimum(ops.maximum(place, 0.0), float(len(pieces) - 1)), np.int32)
    slope = size_of(step / 2)
    bits = wanted_bits(dtype, count) + slack
    degree = max(len(piece) for piece in pieces)
    needs = []
    for k in range(1, degree):
        sizes = [size_of(piece[k]) + (k - 1) * slope - (size_of(piece[1]) if not piece[0] or
                                                        size_of(piece[1]) + slope > size_of(piece[0])
                                                        else size_of(piece[0]) - slope)
                 for piece in pieces if k < len(piece)]
        needs.append(bits + max(sizes))
    last = max(k for k, need in enumerate(needs) if need > 0)
    limbs = [limbs_for(max(needs[k:last + 1]), dtype, count) for k in range(last + 1)]

    def gathered(k: int, limbs_: int) -> Wide:
        return looked_up(index, tuple(piece[k] if k < len(piece) else Fraction(0) for piece in pieces), dtype, limbs_)

    total = gathered(last + 1, limbs[last])
    for k in range(last - 1, -1, -1):
        if limbs[k + 1] == 1:
            product = Wide([ops.multiply(total.head, h.head)])
            product = product if limbs[k] == 1 else product.each(rounded)
        else:
            product = wide.multiply(total.first(limbs[k + 1]), h.first(limbs[k + 1]))
        constant = gathered(k + 1, limbs[k])
        total = Wide([ops.add(constant.head, product.head)]) if limbs[k] == 1 else wide.add(constant, product)
    return gathered(0, count) + total.first(count) * h.first(count)
