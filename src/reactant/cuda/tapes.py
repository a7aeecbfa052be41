"""How the numbers of a call's host code come from one another: the tape that `cuda_programs/runtime/tape.cpp` wrote.

A number's identity is 0 (a constant), a leaf (a byte of a range: an argument, or what the device gave the host) or a
node of the tape, which has up to three numbers that it comes from and the partial derivatives by them.
"""
from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reactant.errors import NotDifferentiable

LEAF = 1 << 63
NODES = np.dtype([("origin", "u8", 3), ("partial", "f8", 3)])
COMPLAINTS = np.dtype([("line", "u8"), ("what", "u8"), ("range", "u8")])
READS_BITS, GIVES_AWAY, UNKNOWN_FUNCTION = 1, 2, 3
MOST = 50_000_000
"""Steps of all sweeps together."""


def is_leaf(identity: int) -> bool:
    return bool(identity & LEAF)


def range_of(identity: int) -> int:
    return identity >> 40 & 0x7FFFFF


def byte_of(identity: int) -> int:
    return identity & (1 << 40) - 1


@dataclass(frozen=True)
class Terms:
    """Derivatives of some numbers by the leaves of one range: d numbers[rows[k]] / d leaf at byte bytes[k]."""

    range: int
    rows: np.ndarray
    bytes: np.ndarray
    weights: np.ndarray


class Tape:
    """The nodes of a call, in the order in which they were computed."""

    def __init__(self, nodes: bytes):
        table = np.frombuffer(nodes, NODES)
        self.origins, self.partials = table["origin"].tolist(), table["partial"].tolist()
        self._steps = 0

    def terms(self, identities: Sequence[int]) -> list[Terms]:
        """The derivatives of numbers by leaves, by reverse sweeps: each visits what its number comes from, once."""
        found: dict[int, tuple[list[int], list[int], list[float]]] = {}
        for row, identity in enumerate(identities):
            for leaf, weight in self._leaves(int(identity)).items():
                rows, places, weights = found.setdefault(range_of(leaf), ([], [], []))
                rows.append(row)
                places.append(byte_of(leaf))
                weights.append(weight)
        return [Terms(number, np.array(rows), np.array(places), np.array(weights, np.float64))
                for number, (rows, places, weights) in sorted(found.items())]

    def _leaves(self, identity: int) -> dict[int, float]:
        leaves: dict[int, float] = {}
        if identity == 0:
            return leaves
        if is_leaf(identity):
            return {identity: 1.0}
        weights = {identity: 1.0}
        waiting = [-identity]
        while waiting:
            node = -heapq.heappop(waiting)
            weight = weights.pop(node)
            self._steps += 1
            if self._steps > MOST:
                raise NotDifferentiable("The host code computes too much between launches for its derivative to be "
                                        "swept.", hint="Compute it in a kernel.")
            for origin, partial in zip(self.origins[node - 1], self.partials[node - 1], strict=True):
                if origin == 0:
                    continue
                if is_leaf(origin):
                    leaves[origin] = leaves.get(origin, 0.0) + weight * partial
                elif origin in weights:
                    weights[origin] += weight * partial
                else:
                    weights[origin] = weight * partial
                    heapq.heappush(waiting, -origin)
        return leaves
