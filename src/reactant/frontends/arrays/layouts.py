"""Shapes and strides: how elements lie in memory, and how shapes become one."""
from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import ops
from reactant.ir.types import Shape, shape_of

PROBE = np.empty(1, np.int8)
"""Never read: one-byte items make byte strides equal element strides."""


def row_major_strides(shape: Shape) -> Shape:
    """Element strides of a C-contiguous array."""
    return _row_major_strides(tuple(shape))


@lru_cache(maxsize=4096)
def _row_major_strides(shape: Shape) -> Shape:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def column_major_strides(shape: Shape) -> Shape:
    return tuple(reversed(row_major_strides(tuple(reversed(shape)))))


def kept_order(shape: Shape, strides: Shape) -> Shape | None:
    """Strides of a new array whose dimensions lie in memory in the order of these (`order="K"`); None: row-major."""
    if not is_permuted(shape, strides):
        return None
    compact, step = [0] * len(shape), 1
    for d in reversed(np.argsort([-abs(s) for s in strides], kind="stable").tolist()):
        compact[d] = step
        step *= max(shape[d], 1)
    return tuple(compact) if is_permuted(shape, tuple(compact)) else None


def reshaped_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    """Strides of a reshape that needs no copy, or None where NumPy would copy."""
    if 0 in shape or 0 in new_shape:
        return row_major_strides(new_shape)
    probe = np.lib.stride_tricks.as_strided(PROBE, shape, strides)
    try:
        return probe.reshape(new_shape, copy=False).strides
    except ValueError:
        return None


def reshaped(value: ir.Value, shape: Shape) -> ir.Value:
    """`ops.reshape`; what `value` is a reshape of, where that has the shape: rows are read and written as they lie."""
    made = value.owner
    if type(made) is stablehlo.ReshapeOp and shape_of(before := made.operands[0]) == shape:
        return before
    return ops.reshape(value, shape)


def broadcast(value: ir.Value, shape: Shape) -> ir.Value:
    """NumPy's broadcasting of `value` to `shape` (trailing dimensions aligned, unit dimensions repeated)."""
    old = shape_of(value)
    shape = tuple(shape)
    if old == shape:
        return value
    if not broadcasts_to(old, shape):
        raise ValueError(f"could not broadcast input array from shape {shape_text(old)} into shape {shape_text(shape)}")
    lead = len(shape) - len(old)
    kept = [d for d, n in enumerate(old) if n == shape[lead + d]]
    squeezed = value if len(kept) == len(old) else reshaped(value, tuple([old[d] for d in kept]))
    return ops.broadcast_in_dim(squeezed, shape, [lead + d for d in kept])


def is_permuted(shape: Shape, strides: Shape) -> bool:
    """Whether the layout is not row-major (so that NumPy's order="K" results would not be either)."""
    usual = row_major_strides(shape)
    return strides != usual and any(n > 1 and s != c for n, s, c in zip(shape, strides, usual, strict=True))


def shape_text(shape: Shape) -> str:
    """A shape as NumPy's messages write it."""
    return "(" + ",".join("newaxis" if n == -1 else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


@lru_cache(maxsize=4096)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's function, which takes microseconds, for shapes that are tuples of plain integers; with the message that
    NumPy's operators have."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError("operands could not be broadcast together with shapes "
                         + "".join(f"{shape_text(s)} " for s in shapes)) from None


def broadcasts_to(shape: Shape, wanted: Shape) -> bool:
    """Whether an array of one shape can be broadcast to another."""
    extra = len(wanted) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[extra:], strict=True))
