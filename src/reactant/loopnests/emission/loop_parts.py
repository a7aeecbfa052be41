"""What loops are emitted for: targets, pieces, sums."""
from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from reactant.loopnests.emission.affine import ZERO, Affine
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.keeping import results_of
from reactant.loopnests.emission.numbers import Number
from reactant.loopnests.emission.roots import Root
from reactant.support.records import dataclass


@dataclass
class Target:
    """Where a root's elements go: buffers for arrays; `start` is added to the place of an update."""

    buffers: list[Buffer]
    start: Affine = ZERO
    shape: tuple[int, ...] = ()


@dataclass
class Piece:
    """A part of a loop's range, ends not included. Facts hold where an end is an expression."""

    low: Affine
    high: Affine
    range: tuple[int, int]
    known_low: Affine | None = None
    known_high: Affine | None = None


@dataclass
class Sum:
    """A reduction while it is written: `inner`, the first of the trailing dimensions that are carried in registers."""

    root: Root
    target: Target | None
    inner: int
    through_memory: bool
    identity: list[Any] | None
    reduced: tuple[int, ...]
    init: list[Number] = field(default_factory=list)

    @property
    def dtypes(self) -> list[np.dtype]:
        return [n.dtype for n in results_of(self.root.node)]
