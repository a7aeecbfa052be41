"""NumPy memory as XLA buffers and XLA buffers as NumPy arrays, without copying, on CPU.

Ownership rules, which make it safe:

- A *borrowed* view keeps the array it looks into alive for as long as XLA holds the view, and is only made for the
  length of a call that blocks: the caller cannot change the array while a program reads it.
- An *owned* result is the only array over its XLA buffer. When the last NumPy view of it is gone the buffer goes to the
  pool (`reactant.runtime.pool`), which donates it to a later call.
"""
from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reactant.runtime.program import ALIGNMENT, Array

PAGE = mmap.PAGESIZE
HUGE_PAGE = 2 << 20


class Lease:
    """Exclusive hold of a result's memory: the base of the NumPy array over it, and at its end the giver back."""

    __slots__ = ("__array_interface__", "_give_back", "buffer")

    def __init__(self, buffer: Any, interface: dict[str, Any], give_back: Callable[[Any], None]) -> None:
        self.buffer = buffer
        self._give_back = give_back
        self.__array_interface__ = interface

    def __del__(self) -> None:
        self._give_back(self.buffer)


def leased(memory: Any, address: int, shape: tuple[int, ...], dtype: np.dtype,
           give_back: Callable[[Any], None]) -> np.ndarray:
    """A writable ndarray over memory of no other owner, which is given back when the last view of it is gone."""
    interface = {"data": (address, False), "shape": shape, "typestr": dtype.str, "version": 3}
    return np.asarray(Lease(memory, interface, give_back))


def owned_array(buffer: jax.Array, array: Array, give_back: Callable[[jax.Array], None]) -> np.ndarray:
    """A writable ndarray over the memory of `buffer`, which must be finished, on CPU, and of no other owner."""
    return leased(buffer, buffer.unsafe_buffer_pointer(), array.shape, array.dtype, give_back)


@cache
def _memory_type(nbytes: int) -> Any:
    """A ctypes array type of `nbytes`; its instances carry the owner of the memory as an attribute."""
    return type("BorrowedMemory", (ctypes.c_char * nbytes,), {})


def offset_of(given: np.ndarray, itemsize: int) -> int | None:
    """Elements by which C-contiguous `given` starts past a multiple of 64 bytes; None where no flat view holds it."""
    if not given.flags.c_contiguous:
        return None
    offset, remainder = divmod(given.__array_interface__["data"][0] % ALIGNMENT, itemsize)
    return None if remainder else offset


def borrowed_view(given: np.ndarray, array: Array, offset: int, extra: int) -> np.ndarray | None:
    """The flat aligned buffer that starts `offset` elements before C-contiguous `given` and has `extra` more than it.

    Both ends lie on pages that the array itself touches, so that nothing unmapped is ever addressed; `None` where the
    end would cross into another page (never for `extra == offset`, when the buffer ends with the array).
    """
    address = given.__array_interface__["data"][0]
    start = address - offset * array.dtype.itemsize
    extent = (array.size + extra) * array.dtype.itemsize
    if (start + extent - 1) // PAGE > (address + array.nbytes - 1) // PAGE:
        return None
    memory = _memory_type(extent).from_address(start)
    memory.owner = given
    return np.ndarray((array.size + extra,), array.dtype, memory)


def copied(given: Any, dtype: Any = None) -> jax.Array:
    """`jnp.asarray` with memory of its own for what is NumPy's, made when this is back: JAX takes aligned memory as it
    is, and copies what is big and not aligned in another thread, after `jnp.array` has returned."""
    if not isinstance(given, np.ndarray):
        return jnp.asarray(given, dtype)
    return jax.block_until_ready(jnp.array(given, dtype))


def aligned_memory(nbytes: int) -> np.ndarray:
    """Zeroed bytes XLA takes without a copy: a mapping of their own, advised to use huge pages, which begins with one.

    Private, since shared memory (Python's default) has no huge pages unless the system is set so: to fill 16 MB takes
    2.5 ms in pages of 4 KiB, 1.7 in huge ones."""
    huge = nbytes >= HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE")
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    memory = mmap.mmap(-1, max(nbytes, 1) + HUGE_PAGE * huge, **private)
    if not huge:
        return np.ndarray((nbytes,), np.uint8, memory)
    memory.madvise(mmap.MADV_HUGEPAGE)
    start = np.ndarray((1,), np.uint8, memory).ctypes.data
    return np.ndarray((nbytes,), np.uint8, memory, -start % HUGE_PAGE)


def advise_huge_pages(buffer: jax.Array) -> None:
    """Ask for huge pages under an XLA buffer before it is first written; a no-op where the system has none."""
    libc = _libc()
    if libc is None:
        return
    address = buffer.unsafe_buffer_pointer()
    first = -(-address // PAGE) * PAGE
    length = (address + buffer.nbytes - first) // PAGE * PAGE
    if length >= HUGE_PAGE:
        libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(length), mmap.MADV_HUGEPAGE)


@cache
def _libc() -> Any:
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    return ctypes.CDLL(None)
