"""Which elements of a dimension devices own, and which of them they need: intervals, one for each device of a mesh.

A *grid* divides a dimension of an array in blocks, one for each place along some axes of the mesh. A slice of the array
has the same grid, moved: what two arrays have at the same place of one grid is on the same device, and nothing has to
move for `x[1:] - x[:-1]` but the borders of blocks. So the blocks of a grid may begin before the array or end behind
it.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reactant.communication.sharding import MeshShape
from reactant.support.records import dataclass


class Grid:
    """Blocks [begin, end) of a dimension, in elements of it, of each device of the mesh."""

    __slots__ = ("axes", "begin", "end", "first", "last", "_owned")

    def __init__(self, axes: tuple[str, ...], begin: np.ndarray, end: np.ndarray, first: np.ndarray, last: np.ndarray):
        self.axes, self.begin, self.end, self.first, self.last = axes, begin, end, first, last
        self._owned: dict[int, Span] = {}       # asked for again and again

    @classmethod
    def at_rest(cls, mesh: MeshShape, axes: Sequence[str], extent: int) -> Grid:
        """The grid of arguments and results: equal blocks from element 0 on, the last of which may be padded."""
        places, count = positions(mesh, tuple(axes)), mesh.size(axes)
        block = -(-extent // count)
        return cls(tuple(axes), places * block, places * block + block, places == 0, places == count - 1)

    @property
    def block(self) -> int:
        """Elements of the greatest block."""
        return int((self.end - self.begin).max())

    def moved(self, by: int) -> Grid:
        """The same blocks of an array whose element 0 lies `by` elements before this one's."""
        return self if not by else Grid(self.axes, self.begin + by, self.end + by, self.first, self.last)

    def mapped(self, begin: np.ndarray, end: np.ndarray) -> Grid:
        """Blocks of the same devices with other borders."""
        return Grid(self.axes, begin, end, self.first, self.last)

    def mirrored(self, extent: int) -> Grid:
        """The blocks of an array in reverse."""
        return Grid(self.axes, extent - self.end, extent - self.begin, self.last, self.first)

    @property
    def descends(self) -> bool:
        """Whether the first element is on the last device."""
        return int(np.argmax(self.first)) > int(np.argmax(self.last))

    def owned(self, extent: int) -> Span:
        """What each device owns of an array: every element is owned once for each place along the other axes."""
        if extent not in self._owned:
            begin, end = (np.minimum(np.maximum(place, 0), extent) for place in (self.begin, self.end))
            low = np.where(self.first, 0, begin)
            self._owned[extent] = Span(low, np.maximum(np.where(self.last, extent, end), low))
        return self._owned[extent]

    def __repr__(self) -> str:
        return f"<grid of {'+'.join(self.axes)} at {self.begin[0]}, {self.block} each>"


def positions(mesh: MeshShape, axes: tuple[str, ...]) -> np.ndarray:
    """The place of each device along some axes, the first of which changes slowest."""
    numbers = np.arange(mesh.devices).reshape(mesh.sizes)
    found = np.zeros(mesh.devices, np.int64)
    for axis in axes:
        k = mesh.names.index(axis)
        along = np.broadcast_to(np.arange(mesh.sizes[k]).reshape([-1 if d == k else 1 for d in range(numbers.ndim)]),
                                mesh.sizes)
        found = found * mesh.sizes[k] + along.ravel()
    return found


@dataclass(eq=False)
class Span:
    """Elements [low, high) of a dimension for each device; nothing where low >= high."""

    low: np.ndarray
    high: np.ndarray

    @property
    def some(self) -> np.ndarray:
        """Which devices have any."""
        return self.high > self.low

    def moved(self, by: int) -> Span:
        return Span(self.low + by, self.high + by)

    def within(self, low: int, high: int) -> Span:
        """What lies in [low, high)."""
        return Span(np.maximum(self.low, low), np.minimum(self.high, high))

    def only(self, where: np.ndarray) -> Span:
        """Nothing on the other devices."""
        return Span(np.where(where, self.low, 0), np.where(where, self.high, 0))

    def hull(self, other: Span) -> Span:
        """The least interval around both."""
        mine, theirs = self.some, other.some
        return Span(np.where(mine, np.where(theirs, np.minimum(self.low, other.low), self.low), other.low),
                    np.where(mine, np.where(theirs, np.maximum(self.high, other.high), self.high), other.high))

    def alike(self, place: np.ndarray) -> Span:
        """The least spans around these that are the same for devices at the same place."""
        some, limits = self.some, np.iinfo(np.int64)
        low, high = np.full(place.max() + 1, limits.max), np.full(place.max() + 1, limits.min)
        np.minimum.at(low, place[some], self.low[some])
        np.maximum.at(high, place[some], self.high[some])
        none = low > high
        low[none] = high[none] = 0
        return Span(low[place], high[place])

    def leaves(self, extent: int) -> bool:
        """Whether some device has elements outside of [0, extent)."""
        return bool((self.some & ((self.low < 0) | (self.high > extent))).any())

    def covers(self, other: Span) -> bool:
        """Whether all of another one is in this one."""
        return bool((~other.some | (self.low <= other.low) & (self.high >= other.high)).all())


@dataclass(eq=False)
class Demand:
    """What devices need of a value: which devices, and of each divided dimension which elements. Where a dimension is
    cyclic, elements before the first and behind the last are those at the other end."""

    where: np.ndarray
    spans: dict[int, Span]
    cyclic: frozenset[int] = frozenset()

    def within(self, other: Demand) -> bool:
        """Whether another demand has all of this one."""
        return all(other.spans[d].covers(s.only(self.where)) for d, s in self.spans.items())

    def joined(self, other: Demand) -> Demand:
        """What satisfies both."""
        spans = {d: s.only(self.where).hull(other.spans[d].only(other.where)) for d, s in self.spans.items()}
        return Demand(self.where | other.where, spans, self.cyclic | other.cyclic)
