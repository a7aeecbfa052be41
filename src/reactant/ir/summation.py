"""Sums of few terms in NumPy's order.

NumPy adds a run of 8 to 128 neighbours in eight partial sums, which it adds in pairs, and what is left over one by one
(NumPy 2.4, `loops_utils.h.src`). What 8, 16 or 32 equal numbers add up to is exact in this order only.
"""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import ops

LANES, MOST = 8, 128
"""Partial sums, and the longest run that NumPy does not halve first."""


def joined(lanes: Sequence[ir.Value], rest: Sequence[ir.Value]) -> ir.Value:
    """The sum of eight partial sums and of what is left over."""
    while len(lanes) > 1:
        lanes = [ops.add(x, y) for x, y in zip(lanes[::2], lanes[1::2], strict=True)]
    total = lanes[0]
    for term in rest:
        total = ops.add(total, term)
    return total


def total(terms: Sequence[ir.Value]) -> ir.Value:
    """The sum of at least eight terms."""
    lanes, whole = list(terms[:LANES]), len(terms) // LANES * LANES
    for number, term in enumerate(terms[LANES:whole]):
        lanes[number % LANES] = ops.add(lanes[number % LANES], term)
    return joined(lanes, terms[whole:])
