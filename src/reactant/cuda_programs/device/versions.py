"""Versions of a kernel that are compiled side by side, so that the program can find out which is the fastest here."""
from __future__ import annotations

import math
from collections.abc import Iterator

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
    the work. `how`: "" as without versions, "vectors" (groups in step) or "threads" (plain loops over all threads,
    of which LLVM makes vectors unless they are not `vectorized`)."""

    label: str = ""
    how: str = ""
    lanes: int = 0
    vectorized: bool = True
    factors: Factors = Factors()


OWN = Version()
"""The one that a kernel has where nothing else is asked for."""


class NotAnother(Exception):
    """A version that cannot be made of a kernel, or is what others are."""


def _others() -> Iterator[Version]:
    yield Version("vectors8", "vectors", 8)
    yield Version("vectors32", "vectors", 32)
    yield Version("threads", "threads")
    yield Version("scalar", "threads", vectorized=False)
    for n in (2, 4):
        yield Version(f"threads{n}x", factors=Factors(threads=(n, 1, 1)))
        yield Version(f"threads{n}y", factors=Factors(threads=(1, n, 1)))
        yield Version(f"blocks{n}x", factors=Factors(blocks=(n, 1, 1)))
        yield Version(f"blocks{n}y", factors=Factors(blocks=(1, n, 1)))


OTHERS = {version.label: version for version in _others()}
"""By their labels, which REACTANT_CUDA_TUNE and the files of choices have."""
USUAL = ("vectors8", "vectors32", "threads", "scalar", "threads2y", "blocks2x", "blocks4x")
"""Those of `reactant nvcc --tune`: the ones that are the fastest of some kernel on CPUs."""
