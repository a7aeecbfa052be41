"""Ops that combine many values into one: by name, what changes nothing, and how two are combined."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

PLAIN = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
"""Those that are one op of StableHLO. The others: "maxnum" and "minnum" (NaN loses), "unsigned maximum" and
"unsigned minimum" of signless integers."""
IDEMPOTENT = ("maximum", "minimum", "and", "or", "maxnum", "minnum", "unsigned maximum", "unsigned minimum")


def identity(kind: str, dtype: np.dtype) -> np.ndarray:
    """What changes nothing when combined."""
    if kind.startswith("unsigned"):
        return np.array(0 if kind.endswith("maximum") else -1, dtype)
    if kind in ("maximum", "minimum", "maxnum", "minnum"):
        low = kind.startswith("max")
        if dtype.kind == "b":
            return np.array(not low)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return np.array(limits.min if low else limits.max, dtype)
        if "num" in kind:
            return np.array(np.nan).astype(dtype)
        return np.array(-np.inf if low else np.inf).astype(dtype)
    if kind == "and":
        return np.array(True) if dtype.kind == "b" else np.array(-1, dtype)
    return np.array(1 if kind == "multiply" else 0).astype(dtype)


def combine(kind: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """Two values combined."""
    if kind in PLAIN:
        return ops.create(f"stablehlo.{kind}", [x.type], [x, y]).result
    build: Callable[..., ir.Value] = ops.maximum if "max" in kind else ops.minimum
    if kind.startswith("unsigned"):
        bits = np.dtype(f"uint{8 * dtype_of(x).itemsize}")
        return ops.bitcast_convert(build(*(ops.bitcast_convert(v, bits) for v in (x, y))), dtype_of(x))
    best = build(x, y)
    return ops.select(ops.compare(x, x, "NE"), y, ops.select(ops.compare(y, y, "NE"), x, best))


def reduced(kind: str, x: ir.Value, dimensions: Iterable[int]) -> ir.Value:
    """A tensor combined along dimensions. What passes NaN over is written as the extreme of all else: a region that
    compares and chooses is no vector code."""
    along, dtype = list(dimensions), dtype_of(x)
    if not kind.endswith("num") or not along:
        return ops.reduce(x, ops.constant(identity(kind, dtype)), along, combiner(kind))
    plain = "maximum" if kind == "maxnum" else "minimum"
    nothing = identity(plain, dtype)
    present, numbers = _told_apart(x, plain) or _tell_apart(x, nothing)
    best = ops.reduce(numbers, ops.constant(nothing), along, plain)
    some = ops.reduce(present, ops.constant(np.array(0, dtype)), along, "maximum")
    return ops.select(ops.compare(some, 0, "EQ"), identity(kind, dtype), best)


def _tell_apart(x: ir.Value, nothing: np.ndarray) -> tuple[ir.Value, ir.Value]:
    """1 for numbers and 0 for NaN, which rules join as they do the numbers; `x` with `nothing` for each NaN."""
    missing = ops.compare(x, x, "NE")
    return ops.select(missing, ops.splat(0, x), ops.splat(1, x)), ops.select(missing, nothing, x)


def _told_apart(x: ir.Value, plain: str) -> tuple[ir.Value, ir.Value] | None:
    """What `reduced` chose between for the tensor that it gave, told apart as above: the next step of a tree combines
    them as they are. None for any other tensor."""
    if (reshape := ops.made_by(x, "reshape")) is not None:
        parts = _told_apart(reshape.operands[0], plain)
        return parts and (ops.reshape(parts[0], shape_of(x)), ops.reshape(parts[1], shape_of(x)))
    chosen = ops.made_by(x, "select")
    asked = ops.made_by(chosen.operands[0], "compare") if chosen is not None else None
    if chosen is None or asked is None or "EQ" not in str(asked.attributes["comparison_direction"]):
        return None
    if not (_filled(asked.operands[1], 0) and _filled(chosen.operands[1], np.nan)
            and _apart(asked.operands[0], chosen.operands[2], plain)):
        return None
    return asked.operands[0], chosen.operands[2]


def _apart(present: ir.Value, numbers: ir.Value, plain: str) -> bool:
    """Whether the two are told apart as `reduced` does."""
    a, b = ops.maker(present), ops.maker(numbers)
    if a is None or b is None or a.name != b.name:
        return False
    if a.name == "stablehlo.reshape":
        return shape_of(a.operands[0]) == shape_of(b.operands[0]) and _apart(a.operands[0], b.operands[0], plain)
    if a.name == "stablehlo.reduce":
        return (a.attributes["dimensions"] == b.attributes["dimensions"] and len(a.results) == len(b.results) == 1
                and (_body(a), _body(b)) == ("stablehlo.maximum", f"stablehlo.{plain}")
                and _apart(a.operands[0], b.operands[0], plain))
    missing = ops.made_by(a.operands[0], "compare") if a.name == "stablehlo.select" else None
    return (missing is not None and a.operands[0] == b.operands[0]
            and "NE" in str(missing.attributes["comparison_direction"])
            and missing.operands[0] == missing.operands[1] == b.operands[2]
            and _filled(a.operands[1], 0) and _filled(a.operands[2], 1)
            and _filled(b.operands[1], identity(plain, dtype_of(numbers))))


def _filled(value: ir.Value, number: Any) -> bool:
    """Whether a tensor is this number everywhere."""
    constant = ops.constant_value(value)
    return constant is not None and bool(np.all((constant == number) | (np.isnan(constant) & np.isnan(number))))


def _body(reduce: ir.Operation) -> str:
    """The op that combines two elements, where that is all of the body."""
    inside = [op.operation.name for op in reduce.regions[0].blocks[0].operations]
    return inside[0] if len(inside) == 2 else ""


def combiner(kind: str) -> Any:
    """The body of a reduce or scatter."""
    return kind if kind in PLAIN else lambda x, y: combine(kind, x, y)
