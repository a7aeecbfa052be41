"""What a float is at least, read from how it is made: x * x + 0.1 is never below 0.1."""
from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir.ops import constant_value, made_by, target_of
from reactant.ir.types import dtype_of, is_float, shape_of, size

UNKNOWN = -math.inf
DEPTH = 24
"""Ops that are looked at one behind the other."""
UNMOVED = "reactant.stop_gradient"
"""The mark on a value whose derivative is not wanted; the value is its operand."""


def least(value: ir.Value, depth: int = DEPTH) -> float:
    """A number that no element of a real value is below; elements may be NaN, and a zero may be -0. -inf: not known."""
    return _Search().of(value, depth)


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
    word = combined_by(op)
    if word is None:
        return UNKNOWN
    value, init = (of(v) for v in op.operands)
    if word == "add":
        return (1.0 if _has_ones(op) else 0.0) + init if value >= 0 and init >= 0 else UNKNOWN
    if word == "maximum" and size(shape_of(op.operands[0])):
        return max(value, init)
    return min(value, init) if word in ("minimum", "maximum") else UNKNOWN


def combined_by(op: ir.Operation) -> str | None:
    """The op that a reduction or scatter of one tensor combines elements by, where it is one op."""
    if len(op.results) != 1:
        return None
    block = op.regions[0].blocks[0]
    body = [child.operation for child in block]
    simple = len(body) == 2 and set(body[0].operands) == set(block.arguments)
    return body[0].name.partition(".")[2] if simple else None


def _has_ones(op: ir.Operation) -> bool:
    """Whether a sum is of exp(x - max(x)), over what the maximum is over or more: it has an exp(0), or is NaN."""
    power = made_by(op.operands[0], "exponential")
    difference = None if power is None else made_by(power.operands[0], "subtract")
    if difference is None or not size(shape_of(op.operands[0])):
        return False
    x, top = difference.operands
    runs: list[int | None] = list(range(len(shape_of(x))))      # along which dimension of `top` each of x runs
    while (spread := made_by(top, "broadcast_in_dim", "reshape", "custom_call")) is not None:
        origins = _origins(spread)
        if origins is None:
            return False
        runs = [None if d is None else origins[d] for d in runs]
        top = spread.operands[0]
    maximum = made_by(top, "reduce")
    if maximum is None or maximum.operands[0] != x or combined_by(maximum) != "maximum":
        return False
    start, over = constant_value(maximum.operands[1]), set(maximum.attributes["dimensions"])
    left = iter(range(len(shape_of(top))))
    wanted = [None if d in over else next(left) for d in range(len(runs))]
    return (start is not None and bool(start == -math.inf) and over <= set(op.attributes["dimensions"])
            and all(n == 1 or run == d for run, d, n in zip(runs, wanted, shape_of(x), strict=True)))


def _origins(op: ir.Operation) -> list[int | None] | None:
    """The operand's dimension along which each dimension of a broadcast or reshape runs; None for all else."""
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    if op.name == "stablehlo.broadcast_in_dim":
        pairs = [(d, o) for o, d in enumerate(op.attributes["broadcast_dimensions"]) if before[o] == after[d]]
    elif op.name == "stablehlo.custom_call" and target_of(op) != UNMOVED:
        return None
    else:
        old, new = ([d for d, n in enumerate(shape) if n != 1] for shape in (before, after))
        if [before[o] for o in old] != [after[d] for d in new]:
            return None
        pairs = list(zip(new, old, strict=True))
    return [dict(pairs).get(d) for d in range(len(after))]


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
