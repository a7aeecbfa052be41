"""What several processes print, as one: the first one's standard output, and the errors of all with their numbers."""
from __future__ import annotations

import os
import re

NOISE = re.compile(rb"((?:\[Gloo\] Rank \d+ is connected to \d+ peer ranks. "
                   rb"Expected number of connected peer ranks is : \d+)+)(\n*)")
BEGIN = b"[Gloo] Rank "
"""What XLA's library for CPUs prints when processes first meet, for several devices at the same time."""


class Printed:
    """One stream of a process, on its way to a file descriptor. number: what each line begins with; None for the
    stream that goes as it comes. seen: false where nobody wants it."""

    def __init__(self, to: int, number: int | None, seen: bool = True) -> None:
        self._to, self._mark, self._seen = to, None if number is None else f"[{number}] ".encode(), seen
        self._rest = b""
        self._owed = 0      # ends of lines of noise

    def add(self, data: bytes) -> None:
        """Print what came."""
        if not self._seen:
            return
        if self._mark is None:
            data = self._rest + data
            while self._owed and data.startswith(b"\n"):
                self._owed, data = self._owed - 1, data[1:]
            data = NOISE.sub(self._without, data)
            line = data.rpartition(b"\n")[2]       # what begins like noise waits for its end
            self._rest = line if line and (line.startswith(BEGIN) or BEGIN.startswith(line)) else b""
            self._write(data.removesuffix(self._rest))
            return
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._write(b"".join(self._mark + line + b"\n" for line in whole))

    def end(self) -> None:
        """Print the last line, which nothing ended."""
        if self._rest:
            self._write(self._rest if self._mark is None else self._mark + self._rest + b"\n")

    def _without(self, noise: re.Match[bytes]) -> bytes:
        missing = noise[1].count(BEGIN) - len(noise[2])
        self._owed += max(0, missing)
        return b"\n" * max(0, -missing)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._to, data):]
