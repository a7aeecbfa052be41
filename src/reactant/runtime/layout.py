"""Strided views of a device buffer: which elements of the flat buffer a view shows, and how to read and write them.

NumPy decides what is a view and with which strides: its own functions are applied to a *shadow*, an array of the right
shape and dtype over memory that is mapped but never backed; address and strides of what comes out are the layout.
"""
from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reactant.ir import types
from reactant.support.records import dataclass

BIG = 1 << 20
"""Bytes from which an argument is borrowed and a result recycled; below it copying costs less than the bookkeeping.

CPU time of `a * 2 + b`, lent and recycled / copied: 0.5 MiB 131 us / 134 us, 1 MiB 223 / 418, 4 MiB 288 / 1187.
"""
MOST_LOOKED_AT = 1 << 24
"""Elements among which those that lie in one place are looked for."""


def are_distinct(shape: tuple[int, ...], strides: tuple[int, ...], width: int = 1) -> bool | None:
    """Whether elements of that width, so far apart in each dimension, lie in places of their own; None of too many."""
    reach, sizes = width, sorted((abs(step), n) for step, n in zip(strides, shape, strict=True))
    for step, n in sizes:
        if n > 1 and step < reach:
            break
        reach += step * (n - 1)
    else:
        return True
    if types.size(shape) > MOST_LOOKED_AT:
        return None
    places = np.zeros((), np.int64)
    for step, n in sizes:
        places = np.add.outer(places, np.arange(n) * step)
    return bool((np.diff(np.sort(places, axis=None)) >= width).all())


@dataclass(frozen=True)
class Layout:
    """Element (i, j, ...) of a view is element `offset + i * strides[0] + j * strides[1] + ...` of the flat buffer."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def whole(shape: tuple[int, ...]) -> Layout:
        """The C-contiguous layout of all of a buffer."""
        strides, step = [], 1
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
        return Layout(0, tuple(shape), tuple(reversed(strides)))

    @property
    def contiguous(self) -> bool:
        """Whether the elements follow each other in C order."""
        if 0 in self.shape:
            return True
        dense = Layout.whole(self.shape).strides
        return all(extent == 1 or have == want
                   for extent, have, want in zip(self.shape, self.strides, dense, strict=True))


@dataclass(frozen=True)
class Box:
    """A view as slices of the array, in which `dims` says along which dimension of the array each of the view runs,
    None where it has one element."""

    starts: tuple[int, ...]
    limits: tuple[int, ...]
    steps: tuple[int, ...]
    dims: tuple[int | None, ...]


def box_of(layout: Layout, shape: tuple[int, ...]) -> Box | None:
    """The view of an array of this shape as slices; None where it has no elements, goes backwards or across rows."""
    whole, rest = Layout.whole(shape).strides, layout.offset
    if 0 in layout.shape:
        return None
    starts, limits, steps = [], [], [1] * len(shape)
    dims: list[int | None] = []
    for step in whole:
        start, rest = divmod(rest, step)
        starts.append(start)
        limits.append(start + 1)
    for n, stride in zip(layout.shape, layout.strides, strict=True):
        if n == 1:
            dims.append(None)
            continue
        found = next((d for d, step in enumerate(whole) if d not in dims and stride >= step and stride % step == 0
                      and starts[d] + stride // step * (n - 1) < shape[d]), None)
        if found is None:
            return None
        steps[found] = stride // whole[found]
        limits[found] = starts[found] + steps[found] * (n - 1) + 1
        dims.append(found)
    return Box(tuple(starts), tuple(limits), tuple(steps), tuple(dims))


def shadow_of(layout: Layout, buffer_size: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """An array with this layout over unbacked memory, and all of that memory as a flat array, for `layout_in`."""
    nbytes = max(buffer_size * dtype.itemsize, 1)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(-1, nbytes, flags=flags, prot=mmap.PROT_READ)  # the kernel does not count what nobody can write
    # Through ctypes, because NumPy should take it for writeable: it decides which views of it are.
    pretended = (ctypes.c_char * nbytes).from_address(np.frombuffer(memory, np.uint8).ctypes.data)
    pretended.memory = memory
    flat = np.ndarray((buffer_size,), dtype, pretended)
    return strided(flat, layout, writeable=True), flat


def strided(flat: np.ndarray, layout: Layout, *, writeable: bool = False) -> np.ndarray:
    """The NumPy view of `flat` with this layout."""
    step = flat.itemsize
    return np.lib.stride_tricks.as_strided(flat[layout.offset:] if layout.offset else flat, layout.shape,
                                           tuple(stride * step for stride in layout.strides), writeable=writeable)


def layout_in(view: np.ndarray, flat: np.ndarray) -> Layout | None:
    """The layout of `view` over the buffer `flat`; None where it is no view of it or has other elements."""
    if view.size == 0 and view.dtype == flat.dtype:
        return Layout.whole(view.shape)
    if view.dtype != flat.dtype or not np.may_share_memory(view, flat):
        return None
    step = flat.itemsize
    offset, remainder = divmod(view.__array_interface__["data"][0] - flat.__array_interface__["data"][0], step)
    if remainder or any(stride % step for stride in view.strides):
        return None
    return Layout(offset, view.shape, tuple(stride // step for stride in view.strides))


def is_basic(index: Any) -> bool:
    """Whether an index is made of integers, slices, ellipses and None, which give views."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is Ellipsis or isinstance(part, slice)
               or (isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_))) for part in parts)


def is_element(index: Any, ndim: int) -> bool:
    """Whether a basic index names one element."""
    parts = index if isinstance(index, tuple) else (index,)
    return len(parts) >= ndim and all(isinstance(part, (int, np.integer)) for part in parts)


def _indices(offset: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    found = jnp.full(shape, offset, jnp.int64)
    for axis, stride in enumerate(strides):
        found = found + jax.lax.broadcasted_iota(jnp.int64, shape, axis) * stride
    return found


@partial(jax.jit, static_argnums=(2, 3, 4))
def _read(value: Any, offset: Any, shape: tuple[int, ...], strides: tuple[int, ...], contiguous: bool) -> Any:
    flat = value.reshape(-1)
    if contiguous:
        return jax.lax.dynamic_slice(flat, (offset,), (types.size(shape),)).reshape(shape)
    return flat[_indices(offset, shape, strides)]


@partial(jax.jit, static_argnums=(3, 4))
def _write(value: Any, offset: Any, new: Any, strides: tuple[int, ...], contiguous: bool) -> Any:
    flat = value.reshape(-1)
    if contiguous:
        written = jax.lax.dynamic_update_slice(flat, new.reshape(-1), (offset,))
    else:
        written = flat.at[_indices(offset, new.shape, strides)].set(new)
    return written.reshape(value.shape)


def read(value: jax.Array, layout: Layout) -> jax.Array:
    """The elements of a view, as a buffer of its own. 64-bit mode is the caller's business."""
    return _call(_read, value, np.int64(layout.offset), layout.shape, layout.strides, layout.contiguous)


def write(value: jax.Array, layout: Layout, new: jax.Array) -> jax.Array:
    """`value` with the elements of a view replaced by `new`, which has the view's shape and dtype."""
    if layout == Layout.whole(value.shape):
        return new
    return _call(_write, value, np.int64(layout.offset), new, layout.strides, layout.contiguous)


def _call(function: Callable[..., Any], *arguments: Any) -> jax.Array:
    result: jax.Array = function(*arguments)
    return result
