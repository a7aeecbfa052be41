"""What the reverse sweep has found of the cotangent of each value.

Cotangents of parts, of slices, wait until somebody asks for the whole: parts beside each other are then joined, where a
sum of them among zeros would cost the whole once for each (x[0], x[1], ... of n rows: n sums of n rows). What is put in
place waits for a whole to be put into.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from jaxlib.mlir import ir

from reactant.differentiate.declare import Into, Part, zeros
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size

Layers = list[list[tuple[int, int, Any]]]
"""Intervals of a dimension, with what lies in them: those of a layer are apart, layers are added."""


class Adjoints(dict[ir.Value, ir.Value]):
    """Cotangents by the value they belong to."""

    def __init__(self, *known: Any) -> None:
        super().__init__(*known)
        self._parts: dict[ir.Value, list[Part]] = {}
        self._puts: dict[ir.Value, list[Into]] = {}

    def add(self, value: ir.Value, contribution: ir.Value | Into | Part) -> None:
        """Add to the cotangent of a value."""
        if isinstance(contribution, Part):
            self._parts.setdefault(value, []).append(contribution)
        elif isinstance(contribution, Into):
            self._puts.setdefault(value, []).append(contribution)
        else:
            before = super().get(value)
            self[value] = contribution if before is None else ops.add(before, contribution)

    def settle(self, values: Iterable[ir.Value]) -> None:
        """Make the wholes of what waits here: regions that read them cannot make them for those outside."""
        for value in values:
            if value in self._parts:
                whole = joined(shape_of(value), self._parts.pop(value))
                self[value] = ops.add(super().__getitem__(value), whole) if super().__contains__(value) else whole
            if value in self._puts:
                whole = super().__getitem__(value) if super().__contains__(value) else zeros(value)
                for each in self._puts.pop(value):
                    whole = each.put(whole)
                self[value] = whole

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or value in self._parts or value in self._puts

    def __getitem__(self, value: ir.Value) -> ir.Value:
        self.settle((value,))
        return super().__getitem__(value)

    def get(self, value: ir.Value, default: Any = None) -> Any:
        self.settle((value,))
        return super().get(value, default)


def joined(shape: Sequence[int], parts: Sequence[Part]) -> ir.Value:
    """The sum of parts of an array, each among zeros."""
    total: dict[tuple[Any, ...], Part] = {}
    for part in parts:
        same = total.get(part.window)
        total[part.window] = part if same is None else Part(part.starts, ops.add(same.value, part.value))
    windows = list(total.values())
    tree = _layers(windows, 0)
    if 2 * _sums(tree, len(shape)) <= len(windows):
        return _built(tree, shape, 0)
    whole = None
    for part in windows:
        high = [n - a - k for n, a, k in zip(shape, part.starts, shape_of(part.value), strict=True)]
        among_zeros = ops.pad(part.value, 0, part.starts, high)
        whole = among_zeros if whole is None else ops.add(whole, among_zeros)
    assert whole is not None
    return whole


def _layers(parts: Sequence[Part], dimension: int) -> Any:
    """Parts by their intervals in a dimension, each with the layers of the next one; a part behind the last."""
    if dimension == len(parts[0].starts):
        return parts[0]
    layers: Layers = []

    def interval(part: Part) -> tuple[int, int]:
        start = part.starts[dimension]
        return start, start + shape_of(part.value)[dimension]

    for (start, limit), group in groupby(sorted(parts, key=interval), interval):
        free = next((each for each in layers if each[-1][1] <= start), None)
        if free is None:
            layers.append(free := [])
        free.append((start, limit, _layers(list(group), dimension + 1)))
    return layers


def _sums(tree: Any, depth: int) -> int:
    """How many arrays are added, at all depths."""
    if not depth:
        return 1
    return sum(max(_sums(inner, depth - 1) for _, _, inner in layer) for layer in tree)


def _built(tree: Any, shape: Sequence[int], dimension: int) -> ir.Value:
    """The sum of layers. `shape`: of the array, with the extents of the part in the dimensions before this one."""
    if isinstance(tree, Part):
        return tree.value
    pieces = _in_order(tree, shape, dimension)
    if pieces is not None:
        return ops.reshape(ops.concatenate(pieces, 0) if len(pieces) > 1 else pieces[0], shape)
    total = None
    for layer in tree:
        pieces, at = [], 0
        for start, limit, inner in layer:
            made = _built(inner, (*shape[:dimension], limit - start, *shape[dimension + 1:]), dimension + 1)
            pieces += [*_zeros(made, dimension, start - at), made]
            at = limit
        pieces += _zeros(pieces[-1], dimension, shape[dimension] - at)
        row = pieces[0] if len(pieces) == 1 else ops.concatenate(pieces, dimension)
        total = row if total is None else ops.add(total, row)
    assert total is not None
    return total


def _in_order(tree: Any, shape: Sequence[int], dimension: int) -> list[ir.Value] | None:
    """What lies in memory one after the other, flat, where that is all of it: rows, the elements of a row."""
    if isinstance(tree, Part):
        return [ops.reshape(tree.value, (size(shape),))]
    if len(tree) > 1 or size(shape[:dimension]) > 1:
        return None
    pieces, at, row = [], 0, size(shape[dimension + 1:])
    for start, limit, inner in tree[0]:
        found = _in_order(inner, (*shape[:dimension], limit - start, *shape[dimension + 1:]), dimension + 1)
        if found is None:
            return None
        pieces += [*_zeros(found[0], 0, (start - at) * row), *found]
        at = limit
    return [*pieces, *_zeros(pieces[0], 0, (shape[dimension] - at) * row)]


def _zeros(like: ir.Value, dimension: int, extent: int) -> list[ir.Value]:
    """What lies between two pieces, if anything does."""
    shape = shape_of(like)
    return [ops.constant(0, dtype_of(like), (*shape[:dimension], extent, *shape[dimension + 1:]))] if extent else []
