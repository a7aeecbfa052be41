"""Result buffers that were dropped, kept for later calls to write into.

Fresh memory costs a page fault for every 4 KiB, which takes longer than most memory-bound programs: a new buffer of
288 MB costs 50 ms to touch for the first time, writing to it again 8 ms. So a buffer whose NumPy array has died comes
here, and a later call with a result of the same shape and dtype donates it. New buffers are advised to use huge pages
before anything touches them.

The pool is one per process. It holds at most `REACTANT_POOL_BYTES` bytes (environment; default an eighth of the
machine's memory; 0 iterations recycling off) and drops the least recently used beyond. `release_memory()` empties it.
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
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import jax
import numpy as np

from reactant.runtime.buffers import aligned_memory, leased
from reactant.runtime.program import Array
from reactant.runtime.uninitialised import fresh_buffer

T = TypeVar("T", jax.Array, np.ndarray)


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


class Kept(Generic[T]):
    """Memory that nobody looks at any more, at most `limit` bytes of it, oldest dropped first.

    Subclasses say what it is told apart by.

    `give_back` runs in finalisers, so at any point of any thread, even inside another method: it only appends to a
    deque, and takes the lock when that is free.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._returned: collections.deque[T] = collections.deque()
        self._free: collections.OrderedDict[int, T] = collections.OrderedDict()  # by age, keyed by id
        self._by_key: dict[Hashable, list[int]] = {}
        self._held = 0

    def key(self, memory: T) -> Hashable:
        """What a piece of memory has to have in common with what is asked for."""
        raise NotImplementedError

    def is_lost(self, memory: T) -> bool:
        """Whether there is nothing to be kept."""
        return False

    @property
    def held_bytes(self) -> int:
        """Bytes of what is free."""
        with self._lock:
            self._collect()
            return self._held

    def give_back(self, memory: T) -> None:
        """Take what nobody looks at any more."""
        self._returned.append(memory)
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._collect()
            finally:
                self._lock.release()

    def found(self, key: Hashable) -> T | None:
        """What was given back last, of this key."""
        with self._lock:
            self._collect()
            stack = self._by_key.get(key)
            if not stack:
                return None
            memory = self._free.pop(stack.pop())
            self._held -= memory.nbytes
            return memory

    def release(self) -> int:
        """Drop all that is free; the bytes there were."""
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
                memory = self._returned.popleft()
            except IndexError:
                break
            if self.is_lost(memory) or memory.nbytes > self.limit:
                continue
            self._free[id(memory)] = memory
            self._by_key.setdefault(self.key(memory), []).append(id(memory))
            self._held += memory.nbytes
        while self._held > self.limit:
            oldest, memory = self._free.popitem(last=False)
            self._by_key[self.key(memory)].remove(oldest)
            self._held -= memory.nbytes


class Pool(Kept[jax.Array]):
    """Free CPU buffers of XLA's by shape and dtype."""

    def key(self, memory: jax.Array) -> Hashable:
        return memory.shape, memory.dtype

    def is_lost(self, memory: jax.Array) -> bool:
        return memory.is_deleted()

    def take(self, array: Array) -> jax.Array:
        """A buffer to donate: recycled if there is one, else new, uninitialised and advised to use huge pages."""
        buffer = self.found((array.shape, array.dtype))
        return fresh_buffer(array) if buffer is None else buffer


class Memories(Kept[np.ndarray]):
    """Memory of NumPy arrays that were results, by bytes."""

    def key(self, memory: np.ndarray) -> Hashable:
        return memory.nbytes

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A new array of undefined contents; its memory comes back when its last view is gone."""
        nbytes = math.prod(shape) * dtype.itemsize
        memory = self.found(nbytes)
        if memory is None:
            memory = aligned_memory(nbytes)
        return leased(memory, memory.ctypes.data, shape, dtype, self.give_back)


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
