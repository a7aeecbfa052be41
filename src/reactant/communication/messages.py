"""Which elements go from which device to which: the plan of an exchange, before any op is written."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reactant.communication.blocks import Grid, Span, positions
from reactant.communication.sharding import MeshShape
from reactant.support.records import dataclass

FEW = 2
"""Rounds up to which one device tells each other one itself."""
FROM_ONE = -1
"""The `hop` of what all along some axes get from one device."""


@dataclass(eq=False)
class Round:
    """Messages that go the same way: every device gets one at most, from the device `hop` places before it.

    first, target, length (of each device that gets one): which element comes first, where it goes, how many they are.
    `target` counts as `first` does, but may lie outside the array where a dimension is cyclic.
    """

    hop: int
    first: np.ndarray
    target: np.ndarray
    length: np.ndarray
    source: np.ndarray

    @property
    def most(self) -> int:
        """Elements of the longest message."""
        return int(self.length.max())

    @property
    def gets(self) -> np.ndarray:
        """Which devices get one."""
        return self.length > 0

    def pairs(self) -> list[tuple[int, int]]:
        """(source, target) of each message."""
        return [(int(self.source[d]), int(d)) for d in np.flatnonzero(self.gets)]

    def at_source(self, values: np.ndarray) -> np.ndarray:
        """Numbers known for those who get a message, for those who send it."""
        found = np.zeros_like(values)
        found[self.source[self.gets]] = values[self.gets]
        return found

    def sends(self) -> np.ndarray:
        """Which devices send one."""
        found = np.zeros(len(self.length), bool)
        found[self.source[self.gets]] = True
        return found


def rounds(mesh: MeshShape, grid: Grid, extent: int, needed: Span, cyclic: bool, held: Span) -> list[Round]:
    """What has to be sent so that devices have what they need of a dimension, of which each holds `held`: at least what
    it owns. What moves within one device (around the end of a cyclic dimension) are rounds of hop 0."""
    owned = grid.owned(extent)
    place, count = positions(mesh, grid.axes), mesh.size(grid.axes)
    rest = positions(mesh, tuple(a for a in mesh.names if a not in grid.axes))
    device = np.empty((int(rest.max()) + 1, count), np.int64)
    device[rest, place] = np.arange(mesh.devices)
    for row in device:      # by what they own: an array in reverse begins on the last one
        row[:] = row[np.lexsort((owned.high[row], owned.low[row]))]
    found: dict[tuple[int, int], Round] = {}
    for target in np.flatnonzero(needed.some):
        seen: dict[int, int] = {}
        row = device[rest[target]]
        for first, length, by in _missing(needed, held, extent, cyclic, int(target)):
            low, high = owned.low[row], owned.high[row]
            for p in range(int(np.searchsorted(high, first, "right")), count):
                begin, end = max(first, int(low[p])), min(first + length, int(high[p]))
                if low[p] >= first + length:
                    break
                if end <= begin:
                    continue
                hop = int(place[target] - place[row[p]]) % count
                number = seen[hop] = seen.get(hop, -1) + 1
                iteration = found.get((hop, number))
                if iteration is None:
                    iteration = found[hop, number] = Round(hop, *(np.zeros(mesh.devices, np.int64) for _ in range(4)))
                iteration.first[target], iteration.target[target] = begin, begin + by
                iteration.length[target], iteration.source[target] = end - begin, row[p]
    return [found[key] for key in sorted(found)]


def told_to_all(found: list[Round]) -> Round | None:
    """One round in place of many where devices want the same elements, all from one device: in as many steps as it
    takes when all who have them send them on. (None where it is otherwise, or few rounds do.)"""
    if sum(r.hop > 0 for r in found) <= FEW or any(r.hop == 0 for r in found):
        return None
    gets = np.logical_or.reduce([r.gets for r in found])
    whole = Round(FROM_ONE, *(sum(np.where(r.gets, getattr(r, name), 0) for r in found)      # type: ignore[arg-type]
                              for name in ("first", "target", "length", "source")))
    alike = all((values[gets] == values[gets][0]).all() for values in (whole.first, whole.target, whole.length))
    once = sum(r.gets.astype(int) for r in found)[gets]
    return whole if alike and (once == 1).all() else None


def steps(mesh: MeshShape, axes: tuple[str, ...], each: Round) -> list[tuple[list[tuple[int, int]], np.ndarray]]:
    """(source, target) pairs of the steps in which a device's elements come to all along some axes, and who gets them
    in each: those who have them double."""
    place, count = positions(mesh, axes), mesh.size(axes)
    rest = positions(mesh, tuple(a for a in mesh.names if a not in axes))
    sources = {int(rest[d]): int(each.source[d]) for d in np.flatnonzero(each.gets)}
    rank = np.array([(place[d] - place[sources[int(rest[d])]]) % count if int(rest[d]) in sources else -1
                     for d in range(mesh.devices)])
    device = {(int(rest[d]), int(rank[d])): d for d in range(mesh.devices)}
    found, have = [], 1
    while have < count:
        gets = (rank >= have) & (rank < 2 * have)
        found.append(([(device[int(rest[d]), int(rank[d]) - have], int(d)) for d in np.flatnonzero(gets)], gets))
        have *= 2
    return found


def _missing(needed: Span, held: Span, extent: int, cyclic: bool, device: int) -> Iterator[tuple[int, int, int]]:
    """(first element, how many, by how much they are moved) of what a device needs and does not hold in place."""
    low, high = int(needed.low[device]), int(needed.high[device])
    if not extent:
        return
    for iteration in range(low // extent, -(-high // extent)) if cyclic else (0,):
        begin, end = max(low - iteration * extent, 0), min(high - iteration * extent, extent)
        if iteration == 0 and held.some[device]:
            own = (max(begin, int(held.low[device])), min(end, int(held.high[device])))
            pieces = [(begin, min(end, own[0])), (max(begin, own[1]), end)] if own[0] < own[1] else [(begin, end)]
        else:
            pieces = [(begin, end)]
        for first, last in pieces:
            if last > first:
                yield first, last - first, iteration * extent
