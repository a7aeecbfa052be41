"""Sums and products of floats together with their rounding errors, in forms that compilers leave whole.

A sum of limbs stands on transformations such as Knuth's two-sum and Dekker's product: the result and, exactly, what its
rounding has left out. Compilers undo them where they may take a product and a sum together (XLA:CPU lets LLVM do so,
XLA:GPU ptxas), compute a value again in another fusion, or keep more digits than were asked for. The forms here survive
because nothing in them can be taken together with another result (jaxlib 0.10.2, `tests/precision/test_error_free.py`
is the measurement, and fails where a new jaxlib breaks one):

* a product that is used twice is the minimum of its bits and 0xff...fe, unsigned: the same number (but for one of the
  NaNs), and LLVM, which knows the range of no product, sees none any more;
* factors are split by an `and` too, so that all partial products are exact: contracted or not, they are the same;
* no constant is added and subtracted again (XLA merges the two), so that none of Dekker's and Veltkamp's constants is
  there; neither can a factor overflow;
* `reduce_precision` rounds to the limbs of a wider float: XLA drops pairs of conversions where it may keep digits.

Errors are given as the excess of the result: x + y = s - excess. With that sign -0.0 stays -0.0 for nothing: -0.0 less
0.0 is -0.0, while -0.0 + 0.0 is 0.0.

The forms are Knuth's (1969), Dekker's (1971) and, for the order of the steps, those of Joldes, Muller and Popescu
(ACM TOMS 44, 2017).
"""
from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of

BITS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
"""Integers by their bytes."""
LARGEST_EXPONENT = {"float64": 1023, "float32": 127, "bfloat16": 127, "float16": 15}


LEAST_DIGITS = 24
"""Of limbs that functions are computed with."""


@cache
def digits(dtype: np.dtype) -> int:
    """Binary digits of a float, the leading one included."""
    return int(ml_dtypes.finfo(dtype).nmant) + 1


@cache
def lowest_exponent(dtype: np.dtype) -> int:
    """Of the least normal number."""
    return int(ml_dtypes.finfo(dtype).minexp)


def bits_of(x: ir.Value) -> ir.Value:
    """The bits of floats as unsigned integers."""
    return ops.bitcast_convert(x, BITS[dtype_of(x).itemsize])


def without_last(x: ir.Value, count: int) -> ir.Value:
    """The number without its last `count` digits, towards zero. Infinity and NaN stay what they are."""
    dtype = dtype_of(x)
    mask = (1 << 8 * dtype.itemsize) - (1 << count)
    return ops.bitcast_convert(ops.and_(bits_of(x), mask), dtype)


def rounded(x: ir.Value) -> ir.Value:
    """The same number, in a form that no compiler takes for the product it is: it has been rounded."""
    dtype = dtype_of(x)
    return ops.bitcast_convert(ops.minimum(bits_of(x), (1 << 8 * dtype.itemsize) - 2), dtype)


def split(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Two numbers of half as many digits whose sum it is: products of such numbers are exact."""
    whole = digits(dtype_of(x))
    high = without_last(x if whole % 2 == 0 else _rounded_up(x, whole // 2), (whole + 1) // 2)
    return high, ops.subtract(x, high)


def _rounded_up(x: ir.Value, place: int) -> ir.Value:
    """The number half a place up: an odd number of digits has halves of one less, of which one has a sign."""
    bits = bits_of(x)
    return ops.bitcast_convert(ops.add(bits, 1 << place), dtype_of(x))


def sum_and_excess(x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """s, e: x + y = s - e exactly. 6 operations."""
    s = ops.add(x, y)
    part = ops.subtract(s, x)
    return s, ops.add(ops.subtract(ops.subtract(s, part), x), ops.subtract(part, y))


def difference_and_excess(x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """s, e: x - y = s - e exactly. 6 operations."""
    s = ops.subtract(x, y)
    part = ops.subtract(s, x)
    return s, ops.add(ops.subtract(ops.subtract(s, part), x), ops.add(part, y))


def less_excess(x: ir.Value, excess: ir.Value) -> tuple[ir.Value, ir.Value]:
    """s, e: x - excess = s - e exactly, where |x| >= |excess| or x is 0. 3 operations."""
    s = ops.subtract(x, excess)
    return s, ops.add(ops.subtract(s, x), excess)


def settled(x: ir.Value, excess: ir.Value) -> tuple[ir.Value, ir.Value]:
    """h, l: x - excess = h + l exactly, where |x| >= |excess| or x is 0, and l at most half of h's last place.
    3 operations."""
    high = ops.subtract(x, excess)
    return high, ops.subtract(ops.subtract(x, high), excess)


def product_and_excess(x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """p, e: x * y = p - e exactly. 14 operations."""
    (xh, xl), (yh, yl) = split(x), split(y)
    p = rounded(ops.multiply(x, y))
    excess = ops.subtract(p, ops.multiply(xh, yh))
    for one, other in ((xh, yl), (xl, yh), (xl, yl)):
        excess = ops.subtract(excess, ops.multiply(one, other))
    return p, excess


def square_and_excess(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """p, e: x * x = p - e exactly. 11 operations."""
    high, low = split(x)
    p = rounded(ops.multiply(x, x))
    excess = ops.subtract(p, ops.multiply(high, high))
    excess = ops.subtract(excess, ops.multiply(ops.add(high, high), low))
    return p, ops.subtract(excess, ops.multiply(low, low))


