"""Which values are best moved: the fewest bytes between what reads beyond a block and the arrays that are there.

When no value in between is moved, all that is read beyond blocks is asked of arguments. Nine populations of a lattice
that are computed from one another and shifted one way each would have all nine shifted both ways. So a plan without
moves becomes a graph, whose nodes are the values of which more than a block is needed, each as heavy as what it would
take to move that; and the lightest nodes that part the readers from the arguments are moved instead.

The cut is found as a maximum flow (Ford and Fulkerson 1956), by `scipy.sparse.csgraph.maximum_flow`.
"""
from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.blocks import Demand
from reactant.communication.plan import Box, Plan
from reactant.ir.types import dtype_of

SOURCE, READERS = 0, 1
MOST = 2**62
"""Stands for a weight that is never worth it."""


def weight(plan: Plan, value: ir.Value) -> int:
    """The bytes that all devices get when a value is moved."""
    return sum(_section_weight(plan, value, box, demand) for box, demand in plan.of(value).sections)


def direct_weight(plan: Plan, value: ir.Value) -> int:
    """The same where no more is needed of its readers than what devices own."""
    return sum(_section_weight(plan, value, box, demand) for box, demand in plan.of(value).direct)


def _section_weight(plan: Plan, value: ir.Value, box: Box, demand: Demand) -> int:
    owned = plan.owned(value)
    sizes = {d: (s.high - s.low) * s.some for d, s in demand.spans.items()}
    kept = {d: np.maximum(np.minimum(s.high, owned.spans[d].high) - np.maximum(s.low, owned.spans[d].low), 0)
            for d, s in demand.spans.items()}
    everything, own = np.ones(plan.mesh.devices, np.int64), np.ones(plan.mesh.devices, np.int64)
    for d in demand.spans:
        everything, own = everything * sizes[d], own * kept[d]
    others = int(np.prod([hi - lo for d, (lo, hi) in enumerate(box) if d not in demand.spans], dtype=np.int64))
    return int(((everything - own) * demand.where).sum()) * others * dtype_of(value).itemsize


WORTH_IT = 0.9
"""Of the bytes that a plan moves, how many another one may move that takes more exchanges."""
TRIED = 4
"""How often the lightest values are looked for anew, when some are moved."""


def best_plan(planned: Callable[[Collection[ir.Value]], Plan]) -> Plan:
    """The plan that moves the fewest bytes, of `planned` with some values that are moved: none, all that are read
    beyond their blocks, or the lightest."""
    best = planned(())
    fewest, first = moved_bytes(best), best
    for moved in (frozenset(), frozenset(v for v, result in first.excess if result is None)):
        plan = planned(moved) if moved else first
        for _ in range(TRIED):
            found = moved_bytes(plan)
            if found < WORTH_IT * fewest:
                best, fewest = plan, found
            more = frozenset(best_moved(plan))
            if not more:
                break
            moved |= more
            plan = planned(moved)
    return best


def best_moved(plan: Plan) -> list[ir.Value]:
    """The values to be moved, from a plan that moves as few as it can; nothing where that is best already."""
    if not plan.excess:
        return []
    graph = Graph(plan)
    for value, result in dict.fromkeys(plan.excess):
        graph.reads(value, None if result is None or plan.of(result).moved else result)
    for value in list(graph.number):
        if plan.of(value).moved:
            graph.given(value)
    return [v for v in graph.lightest() if not plan.of(v).moved]


def moved_bytes(plan: Plan) -> int:
    """The bytes that all devices get in a plan."""
    return sum(weight(plan, v) for v, placed in plan.placed.items() if placed.moved)


class Graph:
    """Values of which more is needed than devices own, and who needs it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.number: dict[ir.Value, int] = {}
        self.edges: list[tuple[int, int, int]] = []

    def node(self, value: ir.Value) -> int:
        """The number of a value's first node, what goes into it. Two more are what is read of it for what devices own
        of other values, and for more of them."""
        value = self.plan.axes.resolved(value)
        if value not in self.number:
            self.number[value] = node = 2 + 3 * len(self.number)
            direct, total = direct_weight(self.plan, value), weight(self.plan, value)
            self.edges += [(node, node + 1, direct + 1), (node, node + 2, max(total - direct, 0) + 1)]
        return self.number[value]

    def given(self, value: ir.Value) -> None:
        """This is there as devices own it; anything else of it is moved."""
        self.edges.append((SOURCE, self.node(value), MOST))

    def reads(self, value: ir.Value, result: ir.Value | None) -> None:
        """What is needed of a value is needed for this result; None: for what devices own."""
        if result is None:
            self.edges.append((self.node(value) + 1, READERS, MOST))
        else:
            self.edges.append((self.node(value) + 2, self.node(result), MOST))

    def lightest(self) -> list[ir.Value]:
        """The values to be moved."""
        # not at the top: loading SciPy takes longer than most programs do
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order, maximum_flow

        if not self.edges:
            return []
        size = 2 + 3 * len(self.number)
        joined = {(a, b): w for a, b, w in self.edges}
        finite = sum(w for w in joined.values() if w < MOST)
        scale = max(finite // (2**29), 1)
        rows, columns = np.array(list(joined), np.int32).T
        weights = [min(-(-w // scale), 2**30) for w in joined.values()]
        capacity = csr_array((np.array(weights, np.int32), (rows, columns)), (size, size))
        left = capacity - maximum_flow(capacity, SOURCE, READERS).flow
        left.data[left.data < 0] = 0
        left.eliminate_zeros()
        # of the cuts that are equally light the one nearest to the arguments
        reached = set(breadth_first_order(left, SOURCE, return_predecessors=False).tolist())
        return [v for v, k in self.number.items() if k in reached and not {k + 1, k + 2} <= reached]
