"""How the elements of arrays are spread over the devices of a mesh: what the partitioner is told, and what it tells.

Sharded dimensions are divided into blocks of equal size, the last of which may be padded: element i of a dimension of
1021 that an axis of 8 divides is element i % 128 of block i // 128. What is in the padding, nobody may rely on.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from reactant.support.records import dataclass


@dataclass(frozen=True)
class MeshShape:
    """Names and sizes of a mesh's axes; devices are numbered as `jax.sharding.Mesh.devices.ravel()` lists them."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def devices(self) -> int:
        """How many devices there are."""
        return math.prod(self.sizes)

    def size(self, axes: str | Sequence[str]) -> int:
        """How many devices the axes have together."""
        axes = (axes,) if isinstance(axes, str) else axes
        return math.prod(self.sizes[self.names.index(a)] for a in axes)

    def dividing(self, sharding: Sharding) -> Sharding:
        """A sharding without the axes that have one device only."""
        return Sharding(tuple(tuple(a for a in axes if self.size(a) > 1) for axes in sharding.axes))

    def coordinates(self) -> Iterator[dict[str, int]]:
        """Where each device is, in the order of their numbers."""
        for device in range(self.devices):
            found, rest = {}, device
            for name, size in zip(reversed(self.names), reversed(self.sizes), strict=True):
                rest, found[name] = divmod(rest, size)
            yield found

    def ordered(self, axes: Iterable[str]) -> tuple[str, ...]:
        """Axes in the order of the mesh."""
        return tuple(sorted(set(axes), key=self.names.index))

    def number(self, coordinates: dict[str, int]) -> int:
        """The number of the device at these coordinates."""
        found = 0
        for name, size in zip(self.names, self.sizes, strict=True):
            found = found * size + coordinates[name]
        return found

    def __str__(self) -> str:
        return ",".join(f"{name}={size}" for name, size in zip(self.names, self.sizes, strict=True))


@dataclass(frozen=True)
class Sharding:
    """For each dimension of an array the axes of a mesh that divide it, the one that changes slowest first."""

    axes: tuple[tuple[str, ...], ...]

    @classmethod
    def replicated(cls, rank: int) -> Sharding:
        """Everything on every device."""
        return cls(((),) * rank)

    @cached_property
    def used(self) -> frozenset[str]:
        """The axes that divide some dimension."""
        return frozenset(axis for axes in self.axes for axis in axes)

    @property
    def is_replicated(self) -> bool:
        """Whether no axis divides anything."""
        return not any(self.axes)

    def parts(self, mesh: MeshShape) -> tuple[int, ...]:
        """How many blocks each dimension has."""
        return tuple(mesh.size(axes) for axes in self.axes)

    def block(self, mesh: MeshShape, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one device's part of an array of this shape."""
        return tuple(-(-n // k) for n, k in zip(shape, self.parts(mesh), strict=True))

    def padded(self, mesh: MeshShape, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape that an array of this shape has at rest: all blocks of it."""
        return tuple(n * k for n, k in zip(self.block(mesh, shape), self.parts(mesh), strict=True))

    def __str__(self) -> str:
        return "[" + ", ".join("+".join(axes) or "-" for axes in self.axes) + "]"
