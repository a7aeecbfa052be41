"""Arrays on several devices, made of what there is, shard by shard, and without their padding again."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import NamedSharding

from reactant.errors import HERE, ShardingError, waiting
from reactant.runtime.jax_internals import X64
from reactant.runtime.layout import Box
from reactant.runtime.meshes import axes_of, padded, replicated, spec_of

Shape = tuple[int, ...]


def from_host(host: np.ndarray, sharding: NamedSharding) -> jax.Array:
    """A buffer of `host`, which nobody will change, at rest."""
    whole = padded(sharding, host.shape)
    with X64():
        if whole == host.shape and sharding.is_fully_addressable:
            return jax.device_put(host, sharding)
        return jax.make_array_from_callback(whole, sharding, lambda index: _filled(host[_within(index, host.shape)],
                                                                                  _extents(index, whole)))


def from_device(array: jax.Array, sharding: NamedSharding) -> jax.Array:
    """A buffer of `array`, wherever it is, at rest; it may be `array` itself."""
    whole = padded(sharding, array.shape)
    if array.is_fully_addressable and not sharding.is_fully_addressable:
        return from_host(np.asarray(array), sharding)
    with X64():
        if whole == array.shape:
            return jax.device_put(array, sharding)
        if array.sharding.device_set != sharding.device_set:
            array = jax.device_put(array, replicated(sharding.mesh))
        return _padding(whole, sharding)(array)


def from_callback(callback: Callable[[tuple[slice, ...]], Any], dtype: Any, shape: Shape,
                  sharding: NamedSharding) -> jax.Array:
    """A buffer of what the callback says of each part, of which it is told the slices. dtype: of the first part, where
    it is None. Each part of this process's devices is asked for once; two of them are in host memory at most.

    Raises `ShardingError` for a part of another shape or dtype.
    """
    whole = padded(sharding, shape)
    asked: dict[tuple, list[tuple[jax.Device, Shape]]] = {}
    for device, index in sharding.addressable_devices_indices_map(whole).items():
        key = tuple((s.start, s.stop) for s in _within(index, shape))
        asked.setdefault(key, []).append((device, _extents(index, whole)))
    kind = None if dtype is None else np.dtype(dtype)
    made: list[jax.Array] = []
    sent: list[jax.Array] = []
    with X64():
        for key, places in asked.items():
            part = _asked(callback, key, dtype)
            if part.dtype != (kind := kind or part.dtype):
                raise ShardingError(f"reactant.array: the callback gave {part.dtype} for one part and {kind} for "
                                    "another.", hint="Say dtype=.", code="sharding-mismatch")
            own = np.array(part, kind.newbyteorder("="))        # what the callback gave may change
            del part
            jax.block_until_ready(sent)
            sent = [jax.device_put(_filled(own, extents), device) for device, extents in places]
            made += sent
        return jax.make_array_from_single_device_arrays(whole, sharding, made, dtype=kind and kind.newbyteorder("="))


def _asked(callback: Callable[[tuple[slice, ...]], Any], key: tuple[tuple[int, int], ...], dtype: Any) -> np.ndarray:
    """The part that a callback gives."""
    found = np.asarray(callback(tuple(slice(*ends) for ends in key)), dtype)
    wanted = tuple(high - low for low, high in key)
    if found.shape != wanted:
        raise ShardingError(f"reactant.array: the callback gave an array of shape {found.shape} for the part "
                            f"[{', '.join(f'{low}:{high}' for low, high in key)}], which has the shape {wanted}.",
                            hint="Return what the index asks for: data[index].", code="sharding-mismatch")
    return found


def without_padding(buffer: jax.Array, shape: Shape) -> jax.Array:
    """The array that rests in a buffer, as jax holds it: what does not divide is on each device."""
    with X64():
        return _head(buffer, shape)


def part_of(buffer: jax.Array, box: Box, shape: Shape, sharding: NamedSharding) -> jax.Array:
    """A view of the array that rests in a buffer, at rest as that is divided. shape: of the view."""
    axes = axes_of(sharding, buffer.ndim)
    place = NamedSharding(sharding.mesh, spec_of(tuple(() if d is None else axes[d] for d in box.dims)))
    with X64():
        return _part(box, shape, padded(place, shape), place)(buffer)


def host_of(buffer: jax.Array, shape: Shape | None) -> np.ndarray:
    """The array that rests in a buffer, for NumPy. shape: None where it is all of the buffer."""
    if 0 in (buffer.shape if shape is None else shape):      # jax fails where one device has something
        return np.empty(buffer.shape if shape is None else shape, buffer.dtype)
    if not is_here(buffer):
        raise ShardingError(f"Parts of this {buffer.dtype.name}{list(buffer.shape if shape is None else shape)} "
                            "array are in other processes.",
                            hint="x.gather(), called by all of them, is all of it as an ndarray; reactant.jit "
                                 "computes with it where it is: reactant.jit(np.sum)(x).",
                            code="parts-in-other-processes", span=HERE)
    with waiting():
        host = np.asarray(buffer)
    if shape is None:
        return host
    found = np.ascontiguousarray(host[tuple(slice(n) for n in shape)]).reshape(shape)
    found.flags.writeable = False
    return found


def is_here(buffer: jax.Array) -> bool:
    """Whether this process has all elements."""
    return bool(buffer.is_fully_addressable or buffer.is_fully_replicated)


def gathered(buffer: jax.Array, shape: Shape | None) -> np.ndarray:
    """As `host_of`, of an array that is in several processes, all of which have to call this."""
    if not is_here(buffer):
        with X64():
            buffer = _everywhere(replicated(buffer.sharding.mesh))(buffer)
    return host_of(buffer, shape)


def held(buffer: jax.Array, shape: Shape, every: bool = False) -> list[tuple[tuple[slice, ...], jax.Array]]:
    """The parts that this process has, with their places in the array of this shape that rests in a buffer. Of parts
    that several devices have, those of the first of them all, unless `every`."""
    found = []
    for shard in buffer.addressable_shards:
        within = _within(shard.index, shape)
        if (every or shard.replica_id == 0) and all(s.start < s.stop for s in within):
            found.append((within, shard.data))
    return found


def told(buffer: jax.Array, shape: Shape) -> str:
    """Where the elements are, of an array that is in several processes."""
    boxes = {str(index): index for index, _ in held(buffer, shape, every=True)}
    here = ", ".join(f"[{', '.join(f'{s.start}:{s.stop}' for s in index)}]" for index in boxes.values())
    several = len({device.process_index for device in buffer.sharding.device_set})
    return f"in {several} processes, here {here or 'nothing'}"


def _within(index: Sequence[slice], shape: Shape) -> tuple[slice, ...]:
    """The part of the array in a part of the buffer."""
    return tuple(slice(min(s.start or 0, n), n if s.stop is None else min(s.stop, n))
                 for s, n in zip(index, shape, strict=True))


def _extents(index: Sequence[slice], shape: Shape) -> Shape:
    return tuple((n if s.stop is None else s.stop) - (s.start or 0) for s, n in zip(index, shape, strict=True))


def _filled(part: np.ndarray, shape: Shape) -> np.ndarray:
    """The part with padding behind it."""
    if part.shape == shape:
        return part
    made = np.zeros(shape, part.dtype)
    made[tuple(map(slice, part.shape))] = part
    return made


@functools.lru_cache(maxsize=64)
def _everywhere(place: NamedSharding) -> Callable[[Any], jax.Array]:
    return jax.jit(lambda buffer: buffer, out_shardings=place)


@functools.partial(jax.jit, static_argnums=1)
def _head(buffer: Any, shape: Shape) -> Any:
    return lax.slice(buffer, (0,) * len(shape), shape)


@functools.lru_cache(maxsize=1024)
def _part(box: Box, shape: Shape, rests: Shape, place: NamedSharding) -> Callable[[Any], jax.Array]:
    ordered = [d for d in box.dims if d is not None]

    def part(buffer: Any) -> Any:
        found = lax.slice(buffer, box.starts, box.limits, box.steps)
        found = lax.transpose(found, (*ordered, *(d for d in range(found.ndim) if d not in ordered))).reshape(shape)
        missing = [(0, n - m, 0) for n, m in zip(rests, shape, strict=True)]
        return lax.pad(found, np.zeros((), found.dtype), missing)
    return jax.jit(part, out_shardings=place)


@functools.lru_cache(maxsize=1024)
def _padding(shape: Shape, sharding: NamedSharding) -> Callable[[Any], jax.Array]:
    def pad(array: Any) -> Any:
        missing = [(0, n - m, 0) for n, m in zip(shape, array.shape, strict=True)]
        return lax.pad(array, np.zeros((), array.dtype), missing)
    return jax.jit(pad, out_shardings=sharding)
