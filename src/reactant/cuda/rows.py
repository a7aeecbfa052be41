"""What a program's runtime writes down (`cuda_programs/runtime/recording.cpp`): its rows, in their order.

Places in the memory that the two processes share are offsets; the host's own addresses are numbers that nobody follows.
"""
from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

DEVICE, MANAGED, HOST, REGISTERED = range(4)
"""Kinds of allocations, as the runtime numbers them."""


@dataclass(frozen=True)
class Allocated:
    """Memory that the program asked for."""

    base: int
    bytes: int
    kind: int


@dataclass(frozen=True)
class Released:
    base: int


@dataclass(frozen=True)
class Launched:
    """A launch. `parameters` are (offset, bytes) in `values`; `site` is the host's instruction behind it; `at` says
    where the row is, so that the program's process can run it."""

    kernel: str
    site: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    cooperative: bool
    parameters: tuple[tuple[int, int], ...]
    values: bytes
    at: int


@dataclass(frozen=True)
class Box:
    """Rows of `width` bytes, `pitch` apart, in slices `slice` apart, from `start`."""

    start: int
    pitch: int
    slice: int
    width: int
    height: int
    depth: int

    @property
    def bytes(self) -> int:
        return self.width * self.height * self.depth

    @property
    def end(self) -> int:
        return self.start + self.width + (self.height - 1) * self.pitch + (self.depth - 1) * self.slice

    @property
    def in_one_piece(self) -> bool:
        return (self.height == 1 or self.pitch == self.width) and \
            (self.depth == 1 or self.slice == self.width * self.height)


@dataclass(frozen=True)
class Copied:
    """A copy within the shared memory. host: where the host's memory is of which `source` is a copy, 0 where the source
    is the device's."""

    target: Box
    source: Box
    host: int


@dataclass(frozen=True)
class Filled:
    target: Box
    value: int
    element: int


@dataclass(frozen=True)
class SymbolWritten:
    """Bytes of a `__constant__` (`constant`) or `__device__` variable that the host writes, staged at `staged`."""

    symbol: str
    offset: int
    bytes: int
    staged: int
    host: int
    constant: bool
    at: int


@dataclass(frozen=True)
class Looked:
    """The host copies this from the device, to its address `host`; the tape's ranges of its rows begin at `range`."""

    source: Box
    host: int
    range: int


RUNS = np.dtype([("offset", "u8"), ("identity", "u8"), ("size", "u4"), ("count", "u4")])
"""Identities of numbers (`cuda_programs/runtime/tape.h`)."""


@dataclass(frozen=True)
class Runs:
    """Which numbers the row that follows is made of: an array of `RUNS`."""

    runs: np.ndarray


@dataclass(frozen=True)
class Touched:
    """The host, or a library of its, works on the device's memory itself."""


Row = Allocated | Released | Launched | Copied | Filled | SymbolWritten | Looked | Runs | Touched
BEGIN = struct.Struct("=II")


def read(content: memoryview) -> Iterator[Row]:
    """The rows of a queue."""
    at = 0
    while at < len(content):
        kind, size = BEGIN.unpack_from(content, at)
        yield READERS[kind](content[at:at + size], at)
        at += size


def _numbers(content: memoryview, form: str) -> tuple[int, ...]:
    return struct.unpack_from("=" + form, content, BEGIN.size)


def _allocated(content: memoryview, at: int) -> Row:
    return Allocated(*_numbers(content, "QQQ"))


def _released(content: memoryview, at: int) -> Row:
    return Released(*_numbers(content, "Q"))


def _launched(content: memoryview, at: int) -> Row:
    site, _, gx, gy, gz, bx, by, bz, shared, cooperative, count, size, name = _numbers(content, "QQ6IQ4I")
    begin = BEGIN.size + struct.calcsize("=QQ6IQ4I")
    table = struct.unpack_from(f"={2 * count}I", content, begin)
    begin += 8 * count
    values, text = bytes(content[begin:begin + size]), bytes(content[begin + size:begin + size + name - 1])
    return Launched(text.decode(), site, (gx, gy, gz), (bx, by, bz), shared, bool(cooperative),
                    tuple(zip(table[::2], table[1::2], strict=True)), values, at)


def _copied(content: memoryview, at: int) -> Row:
    to, to_pitch, to_slice, start, pitch, behind, width, height, depth, host = _numbers(content, "10Q")
    return Copied(Box(to, to_pitch, to_slice, width, height, depth), Box(start, pitch, behind, width, height, depth),
                  host)


def _filled(content: memoryview, at: int) -> Row:
    to, pitch, behind, width, height, depth, value, element = _numbers(content, "6QII")
    return Filled(Box(to, pitch, behind, width, height, depth), value, element)


def _symbol(content: memoryview, at: int) -> Row:
    _, offset, size, staged, host, constant = _numbers(content, "6Q")
    name = bytes(content[BEGIN.size + 48:]).split(b"\0")[0].decode()
    return SymbolWritten(name, offset, size, staged, host, bool(constant), at)


def _looked(content: memoryview, at: int) -> Row:
    start, pitch, behind, width, height, depth, host, number = _numbers(content, "8Q")
    return Looked(Box(start, pitch, behind, width, height, depth), host, number)


def _runs(content: memoryview, at: int) -> Row:
    count, = _numbers(content, "Q")
    return Runs(np.frombuffer(content, RUNS, count, BEGIN.size + 8).copy())


def _touched(content: memoryview, at: int) -> Row:
    return Touched()


READERS = {1: _allocated, 2: _released, 3: _launched, 4: _copied, 5: _filled, 6: _symbol, 7: _looked, 8: _runs,
           9: _touched}
