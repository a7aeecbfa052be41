"""Ops that combine many values into one: by name, what changes nothing, and how two are combined."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of

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
    nothing, missing = identity(plain, dtype), ops.compare(x, x, "NE")
    best = ops.reduce(ops.select(missing, nothing, x), ops.constant(nothing), along, plain)
    return ops.select(ops.reduce(missing, True, along, "and"), identity(kind, dtype), best)


def combiner(kind: str) -> Any:
    """The body of a reduce or scatter."""
    return kind if kind in PLAIN else lambda x, y: combine(kind, x, y)
