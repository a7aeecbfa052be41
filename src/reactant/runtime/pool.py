"""Result buffers that were dropped, kept for later calls to write into.

Fresh memory costs a page fault for every 4 KiB, which takes longer than most memory-bound programs: a new buffer of
288 MB costs 50 ms to touch for the first time, writing to it again 8 ms. So a buffer whose NumPy array has died comes
here, and a later call with a result of the same shape and dtype donates it. New buffers are advised to use huge pages
before anything touches them.

The pool is one per process. It holds at most `REACTANT_POOL_BYTES` bytes (environment; default an eighth of the
machine's memory; 0 turns recycling off) and drops the least recently used beyond. `release_memory()` empties it.
Of the process's memory nothing else is changed but limits of `malloc` (`reactant.runtime.heap`).

The temporaries inside a program are XLA's own: `malloc` and `free` at each call. glibc reuses them up to 32 MiB; above,
it maps fresh pages every time, and no program can change that for itself. For programs with bigger temporaries (see
`Executable.memory_analysis()`) start the process with
the environment variable `GLIBC_TUNABLES` naming, with colons between them, `glibc.malloc.hugetlb=1`,
`glibc.malloc.arena_max=1`, `glibc.malloc.mmap_threshold=1073741824`, `glibc.malloc.trim_threshold=4294967296`
(244 MB of temporaries: 152 ms a call instead of 492; `hugetlb=1` alone: 276).
"""
from __future__ import annotations

import collections
import math
import os
import threading
from collections.abc import Callable, Sequence

import jax
import numpy as np

from reactant.runtime.buffers import Lease, aligned_memory
from reactant.runtime.program import Array
from reactant.runtime.uninitialised import fresh_buffer

_Key = tuple[tuple[int, ...], np.dtype]


def _default_limit() -> int:
    named = os.environ.get("REACTANT_POOL_BYTES")
    if named is not None:
        try:
            return int(named)
        except ValueError:
            raise ValueError(f"REACTANT_POOL_BYTES is {named!r}; it must be a whole number of bytes.") from None
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    except (ValueError, OSError):  # pragma: no cover - systems that do not tell
        return 1 << 30


class Pool:
    """Free CPU buffers by shape and dtype, at most `limit` bytes of them, oldest dropped first.

    `give_back` runs in finalisers, so at any point of any thread, even inside another method of the pool: it only
    appends to a deque, and takes the lock when that is free.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._returned: collections.deque[jax.Array] = collections.deque()
        self._free: collections.OrderedDict[int, jax.Array] = collections.OrderedDict()  # by age, keyed by id
        self._by_key: dict[_Key, list[int]] = {}
        self._held = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of the free buffers."""
        with self._lock:
            self._collect()
            return self._held

    def give_back(self, buffer: jax.Array) -> None:
        """Take the buffer of a result nobody looks at any more."""
        self._returned.append(buffer)
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._collect()
            finally:
                self._lock.release()

    def take(self, array: Array) -> jax.Array:
        """A buffer to donate: recycled if there is one, else new, uninitialised and advised to use huge pages."""
        with self._lock:
            self._collect()
            stack = self._by_key.get((array.shape, array.dtype))
            if stack:
                buffer = self._free.pop(stack.pop())
                self._held -= buffer.nbytes
                return buffer
        return fresh_buffer(array)

    def release(self) -> int:
        """Drop every free buffer; the bytes there were."""
        with self._lock:
            self._collect()
            dropped, self._held = self._held, 0
            self._free.clear()
            self._by_key.clear()
        return dropped

    def _collect(self) -> None:
        """Shelve what was given back and enforce the limit. The lock is held."""
        while True:
            try:
                buffer = self._returned.popleft()
            except IndexError:
                break
            if buffer.is_deleted() or buffer.nbytes > self.limit:
                continue
            self._free[id(buffer)] = buffer
            self._by_key.setdefault((buffer.shape, buffer.dtype), []).append(id(buffer))
            self._held += buffer.nbytes
        while self._held > self.limit:
            oldest, buffer = self._free.popitem(last=False)
            self._by_key[buffer.shape, buffer.dtype].remove(oldest)
            self._held -= buffer.nbytes


class Scratch:
    """Aligned memory for copies of arguments XLA cannot read in place, kept between calls, within the same limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._free: list[np.ndarray] = []
        self._held = 0

    def take(self, nbytes: int) -> np.ndarray:
        """Aligned bytes of undefined contents: exactly `nbytes`, nobody else's until `give_back`."""
        with self._lock:
            for position in range(len(self._free) - 1, -1, -1):
                if self._free[position].nbytes == nbytes:
                    self._held -= nbytes
                    return self._free.pop(position)
        return aligned_memory(nbytes)

    def give_back(self, memory: Sequence[np.ndarray]) -> None:
        """Keep memory for later calls; nothing may read it any more."""
        with self._lock:
            for piece in memory:
                self._free.append(piece)
                self._held += piece.nbytes
            while self._held > self.limit:
                self._held -= self._free.pop(0).nbytes

    def release(self) -> int:
        """Drop all of it; the bytes there were."""
        with self._lock:
            dropped, self._held = self._held, 0
            self._free.clear()
        return dropped


class Memories:
    """Memory of results that nobody looks at any more, by bytes, at most `limit` bytes, for later ones.

    `give_back` runs in finalisers, as `Pool.give_back` does.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._returned: collections.deque[np.ndarray] = collections.deque()
        self._free: collections.OrderedDict[int, np.ndarray] = collections.OrderedDict()  # by age, keyed by id
        self._held = 0

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A new array of undefined contents; its memory comes back when its last view is gone."""
        nbytes = math.prod(shape) * dtype.itemsize
        memory = self._take(nbytes)
        interface = {"data": (memory.ctypes.data, False), "shape": shape, "typestr": dtype.str, "version": 3}
        return np.asarray(Lease(memory, interface, self.give_back))

    def _take(self, nbytes: int) -> np.ndarray:
        with self._lock:
            self._collect()
            for key, memory in reversed(self._free.items()):
                if memory.nbytes == nbytes:
                    self._held -= nbytes
                    return self._free.pop(key)
        return aligned_memory(nbytes)

    def give_back(self, memory: np.ndarray) -> None:
        """Keep the memory of an array that is gone."""
        self._returned.append(memory)
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._collect()
            finally:
                self._lock.release()

    def release(self) -> int:
        """Drop all of it; the bytes there were."""
        with self._lock:
            self._collect()
            dropped, self._held = self._held, 0
            self._free.clear()
        return dropped

    def _collect(self) -> None:
        """Shelve what was given back and enforce the limit. The lock is held."""
        while self._returned:
            try:
                memory = self._returned.popleft()
            except IndexError:
                break
            self._free[id(memory)] = memory
            self._held += memory.nbytes
        while self._held > self.limit:
            self._held -= self._free.popitem(last=False)[1].nbytes


POOL = Pool(_default_limit())
MEMORIES = Memories(POOL.limit)
LEAST_RECYCLED = 4 << 20
"""Bytes from which the memory of a result is kept by us: malloc keeps what is smaller."""


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A new array of NumPy's of undefined contents, C-contiguous; big ones in memory of earlier results."""
    if math.prod(shape) * dtype.itemsize < LEAST_RECYCLED:
        return np.empty(shape, dtype)
    return MEMORIES.array(shape, dtype)


SCRATCH = Scratch(POOL.limit // 4)
OTHERS: list[Callable[[], int]] = []
"""What else keeps memory: functions that give it back and say how much it was."""


def release_memory() -> int:
    """Give the memory kept for later results back to the system; returns the number of bytes.

    Arrays the program still holds are untouched, and so is the memory of device arrays.
    """
    return POOL.release() + MEMORIES.release() + SCRATCH.release() + sum(release() for release in OTHERS)
