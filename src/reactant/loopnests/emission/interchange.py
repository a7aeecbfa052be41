"""Recurrences along one dimension of arrays that are walked across it: the other dimensions' loops go outside.

    for k in range(1, n):  x[:, k] -= f * x[:, k - 1]

touches memory in steps of a whole row in every iteration. Where the iterations of different columns do not need each
other, the loop over columns (here: rows of memory) is written outside and the iterations inside, so that memory is read
in a row. """
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reactant.ir.types import size
from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.emission.affine import ZERO, Affine, here, number, symbol
from reactant.loopnests.emission.carried import Slot
from reactant.loopnests.emission.demand import planned
from reactant.loopnests.emission.elements import Buffer, Flat
from reactant.loopnests.emission.emitter import Emitter
from reactant.loopnests.emission.keeping import is_root
from reactant.loopnests.emission.plan import Planner, windows_apart
from reactant.loopnests.emission.roots import Plan, Root
from reactant.loopnests.emission.slots import place_slots
from reactant.loopnests.emission.time_tiling import _depends, scalars_alone, write_while
from reactant.loopnests.emission.writer import parallel_end

LANES = 8
"""Columns that make their iterations together: each is a chain of operations that wait for one another."""
WORK = 100
"""Operations of one column, at least."""
LEAST_STRIDE = 4
"""Elements between neighbours from which it pays to change the loops' order."""


def emit_columns(compiler: Emitter, node: Node, slots: Sequence[Slot], destinations: dict[Node, Buffer]) -> bool:
    """Write the loop with its iterations inside where that is right and pays; False where it is not."""
    found = Columns(compiler, node, slots)
    if not found.recognised():
        return False
    found.emit(destinations)
    return True


class Columns:
    """One loop, looked at and written."""

    def __init__(self, compiler: Emitter, node: Node, slots: Sequence[Slot]) -> None:
        self.c, self.node, self.slots = compiler, node, slots
        self.w, self.e, self.a = compiler.w, compiler.e, compiler.a
        self.condition, self.body = node.blocks
        self.arrays = [s for s in slots if s.init.shape and not s.invariant]
        self.scalars = [s for s in slots if not s.init.shape]
        self.plan: Plan | None = None
        self.shape: tuple[int, ...] = ()

    # ---- when

    def recognised(self) -> bool:
        """Whether the iterations of different columns do not need each other, and columns are far apart in memory."""
        carried = {s.argument for s in self.arrays}
        chains = [_chain(s) for s in self.arrays]
        if not self.arrays or any(c is None for c in chains) \
                or any(_depends(s.returned, carried, self.body) for s in self.scalars) \
                or _depends(self.condition.returned[0], {s.condition_argument for s in self.arrays}, self.condition) \
                or any(is_root(n) for n in self.condition.nodes) \
                or any(is_root(n) and n.kind != "dynamic_update_slice" for n in self.body.nodes):
            return False
        for s in self.slots:
            if s.invariant and s.init.shape:
                buffer = self.e.storage.get(s.init)
                if buffer is None:
                    return False
                self.e.storage[s.argument] = self.e.storage[s.condition_argument] = buffer
                self.e.storage[s.result] = buffer
        versions = {n: k for k, chain in enumerate(chains) for n in chain or ()}
        planner = Planner(self.body, (), self.c.ranges.get,
                          lambda n: n in self.e.storage or n in self.e.bound, self.c.names)
        plan = planned(planner)
        roots = [r for step in plan.steps for r in step.roots]
        self.shape = max((r.shape for r in roots if r.kind == "update"), key=size, default=())
        if not all(r.shape == self.shape and r.kind in ("update", "map") for r in roots) or size(self.shape) < 16:
            return False
        self.plan = plan
        return self._apart(roots, versions) and self._strided(roots) and self._newest(plan, versions)

    def _newest(self, plan: Plan, versions: dict[Node, int]) -> bool:
        """Whether nothing reads an older version of an array at a place that has been overwritten since."""
        order = {n: k for k, n in enumerate(self.body.nodes)}
        written: list[Root] = []
        for step in plan.steps:
            for root in step.roots:
                for node, at in root.reads:
                    if at is not None and node in versions and any(
                            versions[u.node] == versions[node] and order[u.node] > order.get(node, -1)
                            and not windows_apart(self.c.names, u, root, at) for u in written):
                        return False
            written += [r for r in step.roots if r.kind == "update"]
        return True

    def _apart(self, roots: Sequence[Root], versions: dict[Node, int]) -> bool:
        """Whether every access to a carried array is at one place of its dimensions that the columns are counted by."""
        index = here(self.shape)
        own = {f"%d{k}" for k in range(len(self.shape))}
        made = {r.node for r in roots if r.kind == "map"}
        where: dict[int, tuple[Affine | None, ...]] = {}

        def agrees(array: int, places: tuple[Affine, ...]) -> bool:
            pattern = tuple(p if any(s in own for s, _ in p.terms) else None for p in places)
            if {s for p in pattern if p is not None for s, _ in p.terms} != {i.terms[0][0] for i in index if i.terms}:
                return False
            if any(p is not None and sum(s in own for s, _ in p.terms) != 1 for p in pattern):
                return False
            return where.setdefault(array, pattern) == pattern
        for root in roots:
            if root.kind == "update":
                assert root.starts is not None
                if not agrees(versions[root.node], tuple(i + s for i, s in zip(index, root.starts, strict=True))):
                    return False
            for node, at in root.reads:
                if node in versions and at is not None:
                    if isinstance(at, Flat) or not agrees(versions[node], at):
                        return False
                elif node in made and at is not None and at != index:
                    return False
        return True

    def _strided(self, roots: Sequence[Root]) -> bool:
        """Whether neighbouring columns are far apart where the loop writes."""
        last = max((k for k, n in enumerate(self.shape) if n > 1), default=0)
        return all(r.place is not None and abs(r.place.coefficient(f"%d{last}")) >= LEAST_STRIDE
                   for r in roots if r.kind == "update")

    # ---- how

    def emit(self, destinations: dict[Node, Buffer]) -> None:
        """Write the loops."""
        place_slots(self.c, self.node, self.slots, destinations)
        for s in self.arrays:
            assert s.buffer is not None
            self.e.storage[s.argument] = s.buffer
            for version in _chain(s) or ():
                self.e.storage[version] = s.buffer
        with self.e.remembering():
            self._outer(0, ())
        for s in self.arrays:
            assert s.buffer is not None
            s.buffer.version += 1
            s.buffer.level = self.w.depth
            self.e.storage[s.result] = s.buffer
        scalars_alone(self.c, self.node, self.scalars)

    def _outer(self, d: int, index: tuple[Affine, ...]) -> None:
        if d == len(self.shape):
            self._iterations(index)
            return
        extent = self.shape[d]
        if extent == 1:
            self._outer(d + 1, (*index, ZERO))
            return
        w, counter = self.w, self.w.fresh("i")
        lanes = LANES if all(n == 1 for n in self.shape[d + 1:]) and extent >= 2 * LANES else 1
        whole = extent - extent % lanes
        low, high, step = w.index(0), w.index(whole), w.index(lanes)
        parallel = self.c.parallel and not any(i.terms for i in index)
        w.loop(f"scf.parallel ({counter}) = ({low}) to ({high}) step ({step}) {{" if parallel else
               f"scf.for {counter} = {low} to {high} step {step} {{", (counter,))
        w.facts.ranges[counter] = (0, whole - lanes)
        rest = (ZERO,) * (len(self.shape) - d - 1)
        with self.e.remembering():
            if lanes > 1:
                self._iterations((*index, symbol(counter), *rest), d, lanes)
            else:
                self._outer(d + 1, (*index, symbol(counter)))
        w.finish(parallel_end(size(self.shape) / max(extent // lanes, 1) * WORK) if parallel else "}")
        for last in range(whole, extent):
            with self.e.remembering():
                self._outer(d + 1, (*index, number(last)))

    def _iterations(self, index: tuple[Affine, ...], d: int = 0, lanes: int = 1) -> None:
        """All iterations of one column, or of some neighbours in dimension `d`, whose chains of operations overlap."""
        w, e, a, c = self.w, self.e, self.a, self.c
        types = [t for s in self.scalars for t in c.types(s.init.dtype)]
        starts = [a.name(n) for s in self.scalars for n in c.numbers(s.init)]
        w.open()
        names = [w.define(w.fresh("b")) for _ in types]
        with e.remembering():
            rest = iter(names)
            for s in self.scalars:
                c.bind(s.condition_argument, c.from_names(s.init.dtype, rest))
            test = a.name(e.at(self.condition.returned[0], ()))
        before = w.close()
        w.open()
        inside = [w.define(w.fresh("b")) for _ in types]
        with e.remembering():
            rest = iter(inside)
            for s in self.scalars:
                c.bind(s.argument, c.from_names(s.init.dtype, rest))
                c.bound_counter(s)
            self._new_versions()
            self._iteration(index, d, lanes)
            yields = [a.name(n) for s in self.scalars for n in c.numbers(s.returned)]
            w.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}" if types else "scf.yield")
        after = w.close()
        self._new_versions()
        write_while(w, list(zip(names, starts, inside, types, strict=True)), before, test, after)

    def _iteration(self, index: tuple[Affine, ...], d: int, lanes: int) -> None:
        """One iteration of these columns."""
        assert self.plan is not None
        if lanes > 1:
            w, lane = self.w, self.w.fresh("l")
            w.loop(f"scf.for {lane} = {w.index(0)} to {w.index(lanes)} step {w.index(1)} {{", (lane,))
            w.facts.ranges[lane] = (0, lanes - 1)
            index = (*index[:d], index[d] + symbol(lane), *index[d + 1:])
        with self.e.remembering():
            for step in self.plan.steps:
                self._values(step.roots, index)
        if lanes > 1:
            self.w.finish()
            self._new_versions()

    def _new_versions(self) -> None:
        for s in self.arrays:
            if s.buffer is not None:
                s.buffer.version += 1
                s.buffer.level = self.w.depth

    def _values(self, roots: Sequence[Root], index: tuple[Affine, ...]) -> None:
        """One step of the body at one column."""
        values = [self.e.compute(r.node, index) if r.kind == "map" else self.e.at(r.node.operands[1], index)
                  for r in roots]
        for root, value in zip(roots, values, strict=True):
            if root.kind == "map":
                self.e.bind(root.node, index, value)
                continue
            node = root.node
            starts = self.e.starts(node, node.operands[0], node.operands[1].shape, 2)
            place: Any = tuple(i + s for i, s in zip(index, starts, strict=True))
            buffer = self.e.storage[node]
            self.e.store(value, buffer, self.e.place(place, node.shape))
            self.e.bind(node, place, value)
            buffer.version += 1
            buffer.level = self.w.depth


def _chain(slot: Slot) -> list[Node] | None:
    """The versions of a carried array in one iteration, from the argument to what is returned; None where it is not
    only updated."""
    found, node = [], slot.returned
    while node is not slot.argument:
        if node.kind != "dynamic_update_slice" or not node.operands[1].size:
            return None
        found.append(node)
        node = node.operands[0]
    return [slot.argument, *reversed(found)]

