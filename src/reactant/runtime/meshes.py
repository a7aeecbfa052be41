"""Meshes of devices, and how arrays lie on them: `reactant.mesh(x=4, y=2).sharding("x", "y")`.

A sharding is `jax.sharding.NamedSharding`, of any mesh of jax's. Where a dimension does not divide, arrays of ours rest
*padded*: each device holds a block of the same size, of which the last ones are longer than the array. What lies there
nobody sees.
"""
from __future__ import annotations

import functools
import math
import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from reactant.errors import ShardingError

Axes = str | None | Sequence[str]
"""What divides a dimension: an axis of a mesh, several of them (the one that changes slowest first), or nothing."""


class Mesh:
    """A mesh of devices with named axes; made by `reactant.mesh`.

    Attributes:
        jax: the `jax.sharding.Mesh`, for functions of jax that take one.

    Example:
        >>> mesh = reactant.mesh(x=1, y=1)
        >>> mesh, mesh.shape, mesh.size
        (reactant.mesh(x=1, y=1), {'x': 1, 'y': 1}, 1)
    """

    __slots__ = ("jax",)

    def __init__(self, mesh: jax.sharding.Mesh) -> None:
        self.jax = mesh

    @property
    def shape(self) -> dict[str, int]:
        """The number of devices of each axis, a dict by name."""
        return dict(self.jax.shape)

    @property
    def size(self) -> int:
        """The number of devices."""
        return int(self.jax.size)

    @property
    def devices(self) -> np.ndarray:
        """jax's devices, an array with a dimension for each axis."""
        found: np.ndarray = self.jax.devices
        return found

    def sharding(self, *axes: Axes) -> NamedSharding:
        """A division of an array over the mesh.

        Args:
            axes: for each dimension of the array the name of an axis, several names (the one that changes slowest
                first), or None; dimensions that are not mentioned are not divided.

        Returns:
            A `jax.sharding.NamedSharding`.

        Raises:
            ShardingError: where the mesh has no such axis, or one is named twice.

        Example:
            >>> mesh = reactant.mesh(x=1, y=1)
            >>> tuple(mesh.sharding("x", "y").spec)             # rows over x, columns over y
            ('x', 'y')
            >>> tuple(mesh.sharding(None, ("x", "y")).spec)     # columns over all devices
            (None, ('x', 'y'))
        """
        return named(self.jax, axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self.jax == other.jax

    def __hash__(self) -> int:
        return hash(self.jax)

    def __repr__(self) -> str:
        return f"reactant.mesh({', '.join(f'{name}={size}' for name, size in self.shape.items())})"


def mesh(*, devices: Sequence[Any] | None = None, **sizes: int) -> Mesh:
    """A mesh of devices with named axes.

    Args:
        devices: of jax's or of `reactant.devices()`; the first ones of the default platform when None.
        sizes: how many devices each axis has, by name: `x=4, y=2`.

    Returns:
        A `Mesh`; `mesh.sharding("x", "y")` says how an array is divided over it.

    Raises:
        ShardingError: where there are fewer devices than that; the text says how a CPU counts as several.
        TypeError: for sizes that are no positive ints, and for no axis.

    Example:
        >>> mesh = reactant.mesh(x=1)
        >>> reactant.array(np.zeros((6, 4)), sharding=mesh.sharding("x")).shape
        (6, 4)
    """
    if not sizes:
        raise TypeError("reactant.mesh takes the sizes of its axes by name: reactant.mesh(x=4, y=2).")
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise TypeError(f"reactant.mesh: {name}={size!r} is no number of devices.")
    count = math.prod(sizes.values())
    there = [getattr(device, "jax", device) for device in (jax.devices() if devices is None else devices)]
    if count > len(there):
        shape = " x ".join(map(str, sizes.values()))
        what = f"{len(there)} device" + "s" * (len(there) != 1)
        raise ShardingError(f"A mesh of {shape} needs {count} devices; there {'is' if len(there) == 1 else 'are'} "
                            f"{what}{'' if devices is None else ' among those given'}.{_more(there, count)}",
                            hint="Ask for fewer devices, or start with more.", code="mesh-devices")
    chosen = np.empty(count, object)
    chosen[:] = there[:count]
    return Mesh(jax.sharding.Mesh(chosen.reshape(tuple(sizes.values())), tuple(sizes)))


def _more(there: Sequence[Any], count: int) -> str:
    if any(getattr(device, "platform", "cpu") != "cpu" for device in there):
        return ""
    return (f" A CPU counts as {count} where the environment says XLA_FLAGS=--xla_force_host_platform_device_count="
            f"{count} before jax starts.")


def mesh_of(given: Any) -> jax.sharding.Mesh:
    """jax's mesh of one of ours or jax's. Raises `TypeError` for anything else."""
    if isinstance(given, Mesh):
        return given.jax
    if isinstance(given, jax.sharding.Mesh):
        return given
    raise TypeError(f"A mesh is made by reactant.mesh(x=4, y=2) or is a jax.sharding.Mesh, not "
                    f"{type(given).__name__}.")


def outside(on: jax.sharding.Mesh) -> jax.sharding.Mesh:
    """The mesh as it is outside of manual regions, where programs begin and end."""
    if jax.sharding.AxisType.Manual in on.axis_types:
        return jax.sharding.Mesh(on.devices, on.axis_names)
    return on


def named(on: jax.sharding.Mesh, axes: Sequence[Axes]) -> NamedSharding:
    """The sharding of a mesh that these axes say."""
    known, used = on.axis_names, []
    for each in axes:
        used += [each] if isinstance(each, str) else list(each or ())
    for name in used:
        if name not in known:
            raise ShardingError(f"The mesh has no axis {name!r}; it has {', '.join(map(repr, known))}.",
                                hint="Name one of its axes.", code="sharding-axes")
        if used.count(name) > 1:
            raise ShardingError(f"The axis {name!r} divides two dimensions: each axis can divide one.",
                                hint="Name each axis once.", code="sharding-axes")
    return NamedSharding(on, PartitionSpec(*(a if a is None or isinstance(a, str) else tuple(a) for a in axes)))


@functools.lru_cache(maxsize=4096)
def axes_of(sharding: NamedSharding, rank: int) -> tuple[tuple[str, ...], ...]:
    """For each dimension of an array of this rank the axes that divide it. Raises `ShardingError` for a sharding of
    more dimensions."""
    spec = list(sharding.spec)
    while len(spec) > rank and spec[-1] in (None, ()):
        spec.pop()
    if len(spec) > rank:
        raise ShardingError(f"A sharding of {len(spec)} dimensions, {shown(sharding)}, is none for an array of "
                            f"{rank}.", hint="Name an axis or None for each dimension.", code="sharding-mismatch")
    found = [_axes(each) for each in spec]
    return (*found, *((),) * (rank - len(found)))


def _axes(entry: Any) -> tuple[str, ...]:
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return (entry,) if isinstance(entry, str) else tuple(entry)


@functools.lru_cache(maxsize=4096)
def canonical(sharding: NamedSharding, rank: int) -> NamedSharding:
    """The same sharding of an array of this rank, in the form that is equal for equal ones."""
    return NamedSharding(sharding.mesh, spec_of(axes_of(sharding, rank)))


@functools.lru_cache(maxsize=4096)
def with_rank(sharding: NamedSharding, rank: int) -> NamedSharding:
    """The same sharding with an entry for each dimension."""
    axes = axes_of(sharding, rank)
    return NamedSharding(sharding.mesh, PartitionSpec(*(a[0] if len(a) == 1 else a or None for a in axes)))


def spec_of(axes: Sequence[tuple[str, ...]]) -> PartitionSpec:
    """jax's form of which axes divide each dimension, as short as can be."""
    last = max((i + 1 for i, a in enumerate(axes) if a), default=0)
    return PartitionSpec(*(a[0] if len(a) == 1 else a or None for a in axes[:last]))


def replicated(on: jax.sharding.Mesh) -> NamedSharding:
    """All of an array on each device."""
    return NamedSharding(on, PartitionSpec())


def shown(sharding: NamedSharding) -> str:
    """A sharding as it is written."""
    parts = [repr(a[0] if len(a) == 1 else a or None) for a in map(_axes, sharding.spec)]
    return f"mesh.sharding({', '.join(parts)})"


def spread(array: Any) -> NamedSharding | None:
    """The sharding of a `jax.Array` on a mesh of several devices; None for others (and for those being traced)."""
    if isinstance(array, jax.core.Tracer):
        return None
    sharding = array.sharding
    return sharding if type(sharding) is NamedSharding and sharding.num_devices > 1 else None


def require_sharding(given: Any, shape: Sequence[int], what: str) -> NamedSharding:
    """A sharding that the user gave for an array of this shape. Raises `TypeError` and `ShardingError` for others."""
    if not isinstance(given, NamedSharding):
        raise TypeError(f"{what}: a sharding is mesh.sharding(\"x\", ...) of a reactant.mesh, or a "
                        f"jax.sharding.NamedSharding, not {type(given).__name__}.")
    axes_of(given, len(shape))
    return given


def blocks(sharding: NamedSharding, rank: int) -> tuple[int, ...]:
    """Into how many blocks each dimension is divided."""
    sizes = sharding.mesh.shape
    return tuple(math.prod(sizes[a] for a in axes) for axes in axes_of(sharding, rank))


def padded(sharding: NamedSharding, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape that an array of this shape has at rest."""
    return tuple(-(-n // k) * k for n, k in zip(shape, blocks(sharding, len(shape)), strict=True))


IN_FLIGHT = 16
"""Programs of several CPU devices that are started before one is waited for. Devices of one machine share its threads:
where collective operations of many programs wait for each other, none may get the threads that it needs (jax 0.10.2
hangs, with its own `jax.jit`, too)."""


class Launches:
    """Counts what is started on several CPU devices."""

    def __init__(self) -> None:
        self._count = 0
        self.started = 0        # since the beginning
        self._lock = threading.Lock()

    def note(self, results: Any) -> None:
        """Something has been started, and these will be its results."""
        with self._lock:
            self._count += 1
            self.started += 1
            wait = self._count >= IN_FLIGHT
            if wait:
                self._count = 0
        if wait:
            jax.block_until_ready(results)


LAUNCHES = Launches()
