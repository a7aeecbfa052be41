"""What reductions and scatters combine with, where that is one op, and what changes nothing in it."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from reactant.ir.types import is_float
from reactant.loopnests.analysis.graph import Node


def identity_of(kind: str, dtype: np.dtype) -> Any:
    """The start of a reduction that changes nothing; None where there is none."""
    if dtype.kind == "c":
        return (0.0 if kind == "add" else None)
    if kind == "add":
        return -0.0 if is_float(dtype) else 0 if dtype.kind != "b" else None
    if kind == "multiply":
        return 1.0 if is_float(dtype) else 1 if dtype.kind != "b" else None
    if kind in ("maximum", "minimum"):
        if is_float(dtype):
            return -math.inf if kind == "maximum" else math.inf
        if dtype.kind == "b":
            return kind == "minimum"
        limits = np.iinfo(dtype)
        return limits.min if kind == "maximum" else limits.max
    if kind in ("and", "or", "xor"):
        return (kind == "and") if dtype.kind == "b" else (-1 if dtype.kind == "i" else None) if kind == "and" else 0
    return None


def monoid(node: Node) -> str | None:
    """The op that a reduction's region applies to both its arguments, where it is that op alone."""
    body = node.blocks[0]
    if len(body.nodes) != 1 or len(body.returned) != 1 or body.returned[0] is not body.nodes[0]:
        return None
    only = body.nodes[0]
    return only.kind if set(only.operands) == set(body.arguments) and len(only.operands) == 2 else None
