"""Windows of arrays that are known when the program is compiled, and what a part of a value is."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.types import shape_of

LONGEST_CHAIN = 64
"""How many ops behind one another are looked through."""

Window = tuple[tuple[int, ...], tuple[int, ...]]
"""First and one past last place of each dimension."""

Part = tuple[ir.Value, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""A value with the starts, limits and strides of a slice of it."""


# ---- windows -------------------------------------------------------------------------------------------------------

def known_starts(starts: Sequence[ir.Value], shape: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...] | None:
    """Constant starts after clamping; None where one is known only at run time (and matters)."""
    found = []
    for start, whole, extent in zip(starts, shape, sizes, strict=True):
        if whole == extent:
            found.append(0)
            continue
        known = ops.constant_value(start)
        if known is None:
            return None
        found.append(min(max(int(known), 0), whole - extent))
    return tuple(found)


def update_window(update: ir.Value) -> Window | None:
    """The window that a dynamic_update_slice with constant starts writes; None for anything else."""
    owner = creation.owner(update)
    return None if type(owner) is not stablehlo.DynamicUpdateSliceOp else window_of(owner)


def window_of(owner: ir.OpView) -> Window | None:
    """The window that an update writes, where its starts are constants: then it stays where it is, and is kept."""
    found: Window | None = getattr(owner, "window", None)
    if found is None:
        array, content, *starts = owner.operands
        window = shape_of(content)
        low = known_starts(starts, shape_of(array), window)
        if low is not None:
            found = low, tuple([a + k for a, k in zip(low, window, strict=True)])
            owner.window = found
    return found


def disjoint(one: Window, other: Window) -> bool:
    for a, b, c, d in zip(*one, *other, strict=True):
        if b <= c or d <= a:
            return True
    return False


def covers(one: Window, other: Window) -> bool:
    """Whether `other` lies inside `one`."""
    for a, b, c, d in zip(*one, *other, strict=True):
        if c < a or b < d:
            return False
    return True


# ---- parts ---------------------------------------------------------------------------------------------------------

def part(value: ir.Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None
         ) -> ir.Value:
    """slice(value), of the array furthest up in which that is a slice: through slices, and through updates and
    concatenations that it does not meet, or of which it takes only the new content. Rules which find that one by one
    would each be asked about each slice."""
    return ops.slice(*source(value, starts, limits, strides))


def source(value: ir.Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None
           ) -> Part:
    """The array furthest up of which `part` is a slice, and which."""
    found = (value, tuple(starts), tuple(limits), tuple(strides or (1,) * len(starts)))
    for _ in range(LONGEST_CHAIN):
        further = _inside(*found)
        if further is None:
            break
        found = further
    return found


def _inside(value: ir.Value, starts: tuple[int, ...], limits: tuple[int, ...], strides: tuple[int, ...]
            ) -> Part | None:
    """What a slice of a value is a slice of, and where; None where it is one of the value only."""
    made = creation.owner(value)
    kind = type(made)
    if kind is stablehlo.DynamicUpdateSliceOp:
        window = window_of(made)
        if window is None:
            return None
        array, content = made.operands[0], made.operands[1]
        if covers(window, (starts, limits)):
            return content, minus(starts, window[0]), minus(limits, window[0]), strides
        return (array, starts, limits, strides) if disjoint(window, (starts, limits)) else None
    if kind is stablehlo.SliceOp:
        below, steps = attr.decode(made.attributes["start_indices"]), attr.decode(made.attributes["strides"])
        # nothing may start one step behind the end: that lies outside of the array
        low = tuple([a + k * s if z > k else a for a, k, z, s in zip(below, starts, limits, steps, strict=True)])
        high = tuple([a + (z - k - 1) // t * t * s + 1 if z > k else a
                      for a, s, k, z, t in zip(low, steps, starts, limits, strides, strict=True)])
        return made.operands[0], low, high, tuple([s * t for s, t in zip(steps, strides, strict=True)])
    if kind is stablehlo.ConcatenateOp:
        d, offset = attr.decode(made.attributes["dimension"]), 0
        for each in made.operands:
            end = offset + shape_of(each)[d]
            if offset <= starts[d] and limits[d] <= end and starts[d] < end:
                moved = [offset if k == d else 0 for k in range(len(starts))]
                return each, minus(starts, moved), minus(limits, moved), strides
            offset = end
    return None


def minus(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """Differences of two lists of places."""
    return tuple([a - b for a, b in zip(one, other, strict=True)])
