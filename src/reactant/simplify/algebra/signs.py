"""Comparisons, extremes and magnitudes of floats that are decided by how the float is made: exp(x) is not below 0.

`ir.bounds.least` gives what no element is below; elements may be NaN, so only what holds of NaN too is decided. Where
the bound is 0 a zero may be -0, which max(x, 0) and |x| would change.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.bounds import KEPT, least
from reactant.ir.types import dtype_of, is_float
from reactant.rewrite import match, rewrite, splat, variables

x, d = variables("x d")
DEPTH = 4
"""Ops that are looked at one behind the other."""
BELOW = {"LT": False, "LE": False, "EQ": False, "NE": True}
"""What comparisons with a number give that x is above, or NaN."""
NOT_ABOVE = {"LT": False}
"""... that x is not below."""


def _square(a):
    return ops.multiply(w := a(4), w)


@rewrite(match.compare(x, splat("c"), comparison_direction=d), dtypes="float",
         example=(lambda a: ops.compare(_square(a), 0, "LT"), lambda a: ops.compare(ops.exponential(a(4)), -1, "EQ"),
                  lambda a: ops.compare(ops.add(ops.abs(a(4)), 1), 0.5, "NE"),
                  lambda a: ops.compare(ops.sqrt(a(4)), -0.5, "LE")),
         counter=(lambda a: ops.compare(_square(a), 0, "LE"), lambda a: ops.compare(_square(a), 0, "GE"),
                  lambda a: ops.compare(ops.exponential(a(4)), -1, "GT"), lambda a: ops.compare(a(4), 0, "LT")))
def compare_decided_by_bound(x, c, d, result_shape):
    """x < c, x <= c, x == c are false and x != c is true where no element of x is that small, NaN or not"""
    if d not in BELOW:
        return None
    bound, number = least(x, DEPTH), float(c)
    table = BELOW if bound > number else NOT_ABOVE if bound == number else {}
    return ops.constant(table[d], bool, result_shape) if d in table else None


@rewrite(match.maximum(x, splat("c")), dtypes="float",
         example=(lambda a: ops.maximum(ops.exponential(a(4)), 0), lambda a: ops.maximum(_square(a), -0.5),
                  lambda a: ops.maximum(ops.add(ops.abs(a(4)), 1), 0.5)),
         counter=(lambda a: ops.maximum(ops.sqrt(a(4)), 0), lambda a: ops.maximum(_square(a), 0.5),
                  lambda a: ops.maximum(a(4), 0)))
def maximum_of_bounded(x, c):
    """max(x, c) = x where no element of x is below c, nor x = -0 and c = 0"""
    bound, number = least(x, DEPTH), float(c)
    return x if bound > number or bound == number and (number != 0 or has_no_negative_zero(x)) else None


@rewrite(match.abs(x), dtypes="float",
         example=(lambda a: ops.abs(ops.add(_square(a), 0.5)), lambda a: ops.abs(ops.logistic(a(4))),
                  lambda a: ops.abs(ops.reshape(ops.multiply(_square(a), ops.exponential(a(4))), (2, 2)))),
         counter=(lambda a: ops.abs(ops.sqrt(a(4))), lambda a: ops.abs(a(4))))
def abs_of_bounded(x):
    """|x| = x where no element of x is below 0 or is -0"""
    return x if least(x, DEPTH) >= 0 and has_no_negative_zero(x) else None


def has_no_negative_zero(value: ir.Value, depth: int = DEPTH) -> bool:
    """Whether no element of a value whose elements are not below 0 is -0, as far as can be told."""
    made = ops.maker(value)
    if not is_float(dtype_of(value)):
        return True
    if made is None or not depth:
        return False
    word, operands = made.name.removeprefix("stablehlo."), list(made.operands)
    if word in NEVER or word == "multiply" and operands[0] == operands[1] or least(value, depth) > 0:
        return True
    if word == "constant":
        known = ops.constant_value(value)
        return not (np.signbit(known) & (known == 0)).any()
    if word in KEPT:
        kept = KEPT[word]
        operands = operands if kept is None else [operands[n] for n in kept]
    elif word == "add":
        return any(least(v, depth) >= 0 and has_no_negative_zero(v, depth - 1) for v in operands)
    elif word not in ("multiply", "convert", "sqrt"):
        return False
    return all(least(v, depth) >= 0 and has_no_negative_zero(v, depth - 1) for v in operands)


NEVER = frozenset({"exponential", "logistic", "abs", "cosh"})
"""Ops none of whose results is -0."""
