"""The memory of a program's device: bytes that it shares with this process, and device arrays while those are newer."""
from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Any

import numpy as np

from reactant.cuda.rows import DEVICE, Box
from reactant.runtime.array import DeviceArray, array


@dataclass(eq=False)
class Memory:
    """One allocation.

    Attributes:
        base: where it begins in the shared bytes.
        bytes: its size.
        kind: of whose memory it is (`rows.DEVICE`...); the host may change what is not the device's at any time that
            it runs.
        array: the device array of its content, where there is one that is current.
        at_home: whether the shared bytes are current.
    """

    base: int
    bytes: int
    kind: int
    array: DeviceArray | None = None
    at_home: bool = True

    def on_device(self, shared: np.ndarray, dtype: np.dtype, device: Any) -> DeviceArray:
        """The content as a device array, which programs may write into; of `dtype` unless it is there already."""
        if self.array is None:
            self.array = array(self.shown(shared, dtype), device=device)
        return self.array

    def shown(self, shared: np.ndarray, dtype: np.dtype) -> np.ndarray:
        return shared[self.base:self.base + self.bytes // dtype.itemsize * dtype.itemsize].view(dtype)

    def bring_home(self, shared: np.ndarray) -> None:
        """Make the shared bytes current."""
        if not self.at_home and self.array is not None:
            content = np.asarray(self.array).view(np.uint8)
            shared[self.base:self.base + len(content)] = content
        self.at_home = True

    def changed_at_home(self) -> None:
        self.at_home, self.array = True, None

    def changed_on_device(self) -> None:
        self.at_home = False


class Memories:
    """All allocations of a program that runs."""

    def __init__(self, shared: np.ndarray):
        self.shared = shared
        self._bases: list[int] = []
        self._by_base: dict[int, Memory] = {}

    def __iter__(self) -> Any:
        return iter(self._by_base.values())

    def add(self, base: int, size: int, kind: int) -> None:
        bisect.insort(self._bases, base)
        self._by_base[base] = Memory(base, size, kind)

    def remove(self, base: int) -> None:
        if base in self._by_base:
            del self._bases[bisect.bisect_left(self._bases, base)]
            del self._by_base[base]

    def find(self, place: int) -> Memory | None:
        """The allocation that a place in the shared bytes belongs to; its end does, too, where no other begins."""
        k = bisect.bisect_right(self._bases, place) - 1
        if k < 0:
            return None
        found = self._by_base[self._bases[k]]
        return found if place <= found.base + found.bytes else None

    def of_box(self, box: Box) -> Memory | None:
        found = self.find(box.start)
        return found if found is not None and box.end <= found.base + found.bytes else None

    def host_ran(self) -> None:
        """What is the host's, too, may have other content now."""
        for memory in self:
            if memory.kind != DEVICE:
                memory.changed_at_home()

    def host_runs(self) -> None:
        """The host is to see what the device wrote."""
        for memory in self:
            if memory.kind != DEVICE:
                memory.bring_home(self.shared)

    def bring_home(self) -> None:
        for memory in self:
            memory.bring_home(self.shared)

    def changed_at_home(self) -> None:
        for memory in self:
            memory.changed_at_home()


# ---- copies and fills of bytes ----

def rows_of(shared: np.ndarray, box: Box) -> np.ndarray:
    """The bytes of a box, as slices x rows x bytes."""
    return np.lib.stride_tricks.as_strided(shared[box.start:], (box.depth, box.height, box.width),
                                           (box.slice, box.pitch, 1))


def copy(shared: np.ndarray, target: Box, source: Box) -> None:
    """As cudaMemcpy between two places."""
    if target.start < source.end and source.start < target.end:
        rows_of(shared, target)[...] = rows_of(shared, source).copy()
    else:
        rows_of(shared, target)[...] = rows_of(shared, source)


def fill(shared: np.ndarray, target: Box, value: int, element: int) -> None:
    """As cudaMemset, and the driver's of wider elements."""
    pattern = np.frombuffer(value.to_bytes(4, "little")[:element], np.uint8)
    rows_of(shared, target)[...] = np.resize(pattern, target.width)
