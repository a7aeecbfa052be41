"""The buffer behind device arrays, with its padding where it is on a mesh and a size does not divide."""
from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array, Device
from jax.sharding import NamedSharding, Sharding

from reactant.errors import ReactantError
from reactant.ir import types
from reactant.runtime import meshes, shards
from reactant.runtime.jax_internals import X64


class DeletedArrayError(ReactantError, RuntimeError):
    """The buffer of a device array was donated to a computation or deleted."""

    code = "deleted-array"


class Storage:
    """The buffer that an array and the views of it share; assignment puts another one in its place."""

    __slots__ = ("rests", "value")

    def __init__(self, value: Array, rests: tuple[int, ...] | None = None) -> None:
        self.value = value
        self.rests = rests      # the shape, where the buffer has padding

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape if self.rests is None else self.rests

    def elements(self) -> Array:
        """All of the elements, and nothing else."""
        value = self.current()
        return value if self.rests is None else shards.without_padding(value, self.rests)

    def put(self, elements: Array) -> None:
        """Make these the elements; they stay where the array is."""
        place = meshes.spread(self.value)
        self.value = elements if place is None else shards.from_device(elements, place)

    def current(self) -> Array:
        return require_there(self.value)


def require_there(value: Array) -> Array:
    """A buffer, which has not been deleted."""
    if value.is_deleted():
        raise DeletedArrayError(f"This device array ({value.dtype.name}{list(value.shape)}) has no buffer any "
                                "more: it was donated to a computation or deleted.",
                                hint="Copy it before the donating call, or do not donate it.")
    return value


def whole_on(device: Any) -> Any:
    """The same place for an array that is not divided."""
    return meshes.replicated(device.mesh) if isinstance(device, NamedSharding) else device


def computes(device: Any) -> bool:
    """Whether a device computes for arrays outside of compiled code."""
    return not isinstance(device, Sharding) and device.platform != "cpu"


def require_held(dtype: np.dtype) -> None:
    if not types.supported(dtype.newbyteorder("=")):
        raise TypeError(f"A device array cannot hold {dtype}: convert it first, to a boolean, integer, floating "
                        "point or complex dtype of at most 64 bits a part.")


def buffer_of(host: np.ndarray, device: Device | None) -> Array:
    """`host`, which nobody else will change, as a buffer."""
    require_held(host.dtype)
    with X64():
        return jax.device_put(np.asarray(host, host.dtype.newbyteorder("=")), device)
