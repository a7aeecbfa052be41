"""Versions of a kernel that are compiled side by side, so that the program can find out which is the fastest here."""
from __future__ import annotations

import math

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Factors:
    """How many threads of a block, and how many blocks, become one: along x, y and z."""

    threads: tuple[int, int, int] = (1, 1, 1)
    blocks: tuple[int, int, int] = (1, 1, 1)

    @property
    def of_threads(self) -> int:
        return math.prod(self.threads)

    @property
    def of_blocks(self) -> int:
        return math.prod(self.blocks)


@dataclass(frozen=True)
class Version:
    """How one is made: `how` threads become code, by how many lanes, and of how many of the program's threads each does
    the work. `how`: "" as without versions, "vectors", "groups" (LLVM makes vectors of a loop over a group) or "threads"
    (plain loops over blocks and threads)."""

    label: str = ""
    how: str = ""
    lanes: int = 0
    vectorized: bool = True
    factors: Factors = Factors()


OWN = Version()
"""The one that a kernel has where nothing else is asked for."""


class NotAnother(Exception):
    """A version that cannot be made of a kernel, or is what others are."""


OTHERS = (
    Version("vectors8", "vectors", 8), Version("vectors32", "vectors", 32), Version("threads", "threads"),
    Version("scalar", "threads", vectorized=False), Version("groups8", "groups", 8), Version("groups16", "groups", 16),
    Version("groups32", "groups", 32),
    Version("threads2x", factors=Factors(threads=(2, 1, 1))), Version("threads2y", factors=Factors(threads=(1, 2, 1))),
    Version("threads4x", factors=Factors(threads=(4, 1, 1))), Version("threads4y", factors=Factors(threads=(1, 4, 1))),
    Version("blocks2x", factors=Factors(blocks=(2, 1, 1))), Version("blocks2y", factors=Factors(blocks=(1, 2, 1))),
    Version("blocks4x", factors=Factors(blocks=(4, 1, 1))))
