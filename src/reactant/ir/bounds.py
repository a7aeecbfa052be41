"""What a float is at least, read from how it is made: x * x + 0.1 is never below 0.1."""
from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir.ops import constant_value
from reactant.ir.types import dtype_of, is_float, shape_of, size

UNKNOWN = -math.inf
DEPTH = 24
"""Ops that are looked at one behind the other."""


def least(value: ir.Value) -> float:
    """A number that no element of a real value is below; elements may be NaN, and a zero may be -0. -inf: not known."""
    return _Search().of(value, DEPTH)


class _Search:
    def __init__(self) -> None:
        self.known: dict[ir.Value, float] = {}

    def of(self, value: ir.Value, depth: int) -> float:
        if value not in self.known:
            self.known[value] = self._found(value, depth)
        return self.known[value]

    def _found(self, value: ir.Value, depth: int) -> float:
        dtype = dtype_of(value)
        if isinstance(value.owner, ir.Block) or not depth:
            return UNKNOWN
        op = value.owner.operation
        word = op.name.partition(".")[2]
        if word == "constant":
            return _least_of(constant_value(value))
        if not is_float(dtype):
            return 0.0 if dtype.kind in "ub" or word == "iota" else UNKNOWN
        if word in KEPT:
            return self._kept(op, depth)
        rule = RULES.get(word)
        return UNKNOWN if rule is None else _rounded(rule(op, lambda v: self.of(v, depth - 1)), dtype)

    def _kept(self, op: ir.Operation, depth: int) -> float:
        """Of an op whose results are elements of its operands."""
        numbers = KEPT[op.name.partition(".")[2]]
        values = list(op.operands) if numbers is None else [op.operands[n] for n in numbers]
        return min((self.of(v, depth - 1) for v in values if size(shape_of(v))), default=UNKNOWN)


KEPT: dict[str, tuple[int, ...] | None] = {
    "broadcast_in_dim": None, "reshape": None, "transpose": None, "reverse": None, "concatenate": None,
    "slice": None, "dynamic_slice": (0,), "pad": (0, 1), "select": (1, 2), "dynamic_update_slice": (0, 1),
    "minimum": None, "optimization_barrier": None}
"""Ops whose elements are elements of these operands (None: of all)."""


def _least_of(known: np.ndarray | None) -> float:
    if known is None or not known.size or known.dtype.kind == "c":
        return UNKNOWN
    numbers = np.asarray(known, np.float64)
    return float(np.min(numbers, initial=math.inf, where=~np.isnan(numbers)))


def _rounded(bound: float, dtype: np.dtype) -> float:
    """A bound of a rounded result; below the smallest normal number it may have become zero."""
    limits = ml_dtypes.finfo(dtype)
    bound -= 2 * float(limits.eps) * abs(bound) if math.isfinite(bound) else 0.0
    return bound if abs(bound) >= float(limits.tiny) else min(bound, 0.0)


Of = Callable[[ir.Value], float]


def _product(op: ir.Operation, of: Of) -> float:
    left, right = op.operands
    low, high = of(left), of(right)
    if low >= 0 and high >= 0:
        return low * high if low and high else 0.0
    return 0.0 if left == right else UNKNOWN


def _quotient(op: ir.Operation, of: Of) -> float:
    """Of positive numbers: x / -0 is negative."""
    return 0.0 if of(op.operands[0]) >= 0 and of(op.operands[1]) > 0 else UNKNOWN


def _power(op: ir.Operation, of: Of) -> float:
    known, base = constant_value(op.operands[1]), of(op.operands[0])
    exponent = None if known is None or not known.size else np.asarray(known, np.float64)
    if base > 0 and exponent is not None and (exponent >= 0).all():
        with np.errstate(all="ignore"):
            return (1 - 1e-6) * float(np.power(base, exponent).min())       # what computes powers may be less exact
    even = exponent is not None and bool((exponent % 2 == 0).all())
    return 0.0 if even or base > 0 else UNKNOWN


def _clamped(op: ir.Operation, of: Of) -> float:
    low, middle, high = map(of, op.operands)
    return min(max(low, middle), high)


def _reduced(op: ir.Operation, of: Of) -> float:
    """Sums of what is not negative, and extremes."""
    if len(op.operands) != 2:
        return UNKNOWN
    body = [child.operation for child in op.regions[0].blocks[0]]
    if len(body) != 2 or set(body[0].operands) != set(op.regions[0].blocks[0].arguments):
        return UNKNOWN
    word, (value, init) = body[0].name.partition(".")[2], (of(v) for v in op.operands)
    if word == "add":
        return 0.0 if value >= 0 and init >= 0 else UNKNOWN
    if word == "maximum" and size(shape_of(op.operands[0])):
        return max(value, init)
    return min(value, init) if word in ("minimum", "maximum") else UNKNOWN


RULES: dict[str, Callable[[ir.Operation, Of], float]] = {
    "convert": lambda op, of: of(op.operands[0]),
    "abs": lambda op, of: 0.0 if dtype_of(op.operands[0]).kind == "c" else max(of(op.operands[0]), 0.0),
    "exponential": lambda op, of: 0.0,
    "logistic": lambda op, of: 0.0,
    "cosh": lambda op, of: 1.0,
    "sqrt": lambda op, of: math.sqrt(max(of(op.operands[0]), 0.0)),
    "multiply": _product,
    "divide": _quotient,
    "power": _power,
    "clamp": _clamped,
    "reduce": _reduced,
    "add": lambda op, of: of(op.operands[0]) + of(op.operands[1]),
    "maximum": lambda op, of: max(map(of, op.operands)),
}
