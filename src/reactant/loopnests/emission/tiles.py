"""Chains of nests over the rows of big arrays: all of a chain for some rows, then for the next.

    a = f(x);  b = g(a[i - 1], a[i + 1]);  y = h(b, x[i + 1])

What one nest leaves for the next is still in the nearest cache when that reads it, and threads start and stop once for
the whole chain. Tiles overlap: rows of `a` and `b` that two tiles need are computed in both, the same numbers to the
same place. So tiles do not need each other. Nothing that the chain reads from before is written over.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.emission.affine import Affine, number, symbol
from reactant.loopnests.emission.buffers import Buffers
from reactant.loopnests.emission.elements import Buffer, buffer_type
from reactant.loopnests.emission.loop_parts import Piece, Target
from reactant.loopnests.emission.nests import Nest
from reactant.loopnests.emission.roots import Plan, Root, Step
from reactant.support.records import dataclass

TILE_BYTES = 640 * 1024
"""Memory of one tile: about what the second cache of a core holds beside what streams through it."""
LEAST_BYTES = 3 << 20
"""Memory that a chain goes through from which tiles pay: less stays in the caches anyway."""
LEAST_ROWS = 64
FEWEST, MOST = 8, 64
"""Rows of a tile."""
FAR = 16 << 20
"""Bytes of memory from which what is read of it is taken to be in no cache: a buffer with a row for every iteration."""
AHEAD, LINE = 16384, 64
"""Bytes that such memory is asked for before it is read, and bytes that come at once. The processor's own guesses start
anew in every tile: a reverse sweep over such rows waited for memory in 40 % of its time."""
OVERLAP = 3
"""A tile has at least this many times the rows that it computes for its neighbours as well."""


@dataclass
class Link:
    """A step of a chain, and how many rows before and after a tile it computes as well."""

    step: Step
    before: int = 0
    after: int = 0

    @property
    def rows(self) -> int:
        return self.step.shape[0]


class TileNest(Nest):
    """The part of a nest that belongs to one tile."""

    def __init__(self, compiler: Buffers, step: Step, targets: dict[Root, Target]) -> None:
        super().__init__(compiler.e, step.shape, step.roots, targets, compiler.scratch, parallel=False)
        self.flat, self.shape = False, tuple(step.shape)
        self.first = self.last = number(0)
        self.asked: set[Buffer] = set()

    def loop(self, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]],
             accumulators: dict[Any, list[Any]], parallel: bool) -> dict[Any, list[Any]]:
        if d == 0:
            low, high = piece.low.constant, piece.high.constant
            piece = Piece(self.e.clamped(self.first, low, high), self.e.clamped(self.last, low, high), piece.range)
        if d == 0 or d != len(self.shape) - 1 or self.e.on_load is not None:
            return super().loop(d, piece, index, pieces, accumulators, parallel)
        loads: dict[tuple[Buffer, Affine], int] = {}

        def loaded(buffer: Buffer, place: Affine) -> None:
            if buffer.size * buffer.dtype.itemsize >= FAR:
                rest = place - place.constant
                loads[buffer, rest] = max(place.constant, loads.get((buffer, rest), place.constant))
        self.e.on_load = loaded
        try:
            made = super().loop(d, piece, index, pieces, accumulators, parallel)
        finally:
            self.e.on_load = None
        for (buffer, rest), last in loads.items():
            if buffer not in self.asked and self._ask(buffer, rest + last, piece, index[-1]):
                self.asked.add(buffer)
        return made

    def _ask(self, buffer: Buffer, place: Affine, piece: Piece, row: Affine) -> bool:
        """Ask for what the innermost loop, which is written, reads from memory far away a few rows later. Whether it
        reads row after row, so that this can be told."""
        counters = [(s, c) for s, c in place.terms if s not in self.w.level]
        if row.fixed is not None or len(row.terms) != 1 or len(counters) != 1 or counters[0][1] != 1:
            return False
        apart = place.coefficient(row.terms[0][0])
        if apart * buffer.dtype.itemsize < LINE:
            return False
        counter = self.w.fresh("p")
        low, high = self.w.affine(piece.low), self.w.affine(piece.high)
        step = self.w.index(max(LINE // buffer.dtype.itemsize, 1))
        self.w.loop(f"scf.for {counter} = {low} to {high} step {step} {{", (counter,))
        rows = max(AHEAD // (apart * buffer.dtype.itemsize), 1)
        at = self.w.affine(place.without(counters[0][0]) + symbol(counter) + apart * rows)
        self.w.line(f"memref.prefetch {buffer.name}[{at}], read, locality<3>, data : {buffer.type}")
        self.w.finish()
        return True

    def offsets(self) -> dict[Node, tuple[int, int] | None] | None:
        """How far from its own row the nest reads each value in memory, at least and at most, or None where that cannot
        be told; None for all where the nest is cut at run-time places."""
        found: dict[Node, tuple[int, int] | None] = {}
        reads: list[tuple[Node, Any]] = []
        pieces = self.pieces()
        if any(p.low.terms or p.high.terms for p in pieces[0]):
            return None
        self.e.on_read = lambda node, index: reads.append((node, index))
        try:
            for box in product(*pieces):
                reads.clear()
                with self.w.trial(), self.e.remembering():
                    names = []
                    for piece in box:
                        self.w.open()
                        names.append(self._counter(piece))
                    self._values(tuple(names))
                    for node, index in reads:
                        far = (index[0] - names[0]).fixed if isinstance(index, tuple) and index else None
                        if far is None:
                            found[node] = None
                        elif (known := found.get(node, (far, far))) is not None:
                            found[node] = (min(known[0], far), max(known[1], far))
        finally:
            self.e.on_read = None
        return found


def chain_at(compiler: Buffers, plan: Plan, position: int) -> list[Link]:
    """The chain that begins with a step of a plan; empty where there is none that pays."""
    steps = []
    for step in plan.steps[position:]:
        if step.kind != "nest" or len(step.shape) < 2 or step.shape[0] < LEAST_ROWS or step.listed is not None or \
                any(r.kind != "map" or r.node.shape != step.shape for r in step.roots):
            break
        steps.append(step)
    if not compiler.parallel or len(steps) < 2 or _bytes(steps) < LEAST_BYTES:
        return []
    links = _linked(compiler, plan, steps)
    inside = {root.node for link in links for root in link.step.roots}
    reads = {node for link in links for root in link.step.roots for node, _ in root.reads}
    if len(links) < 2 or not reads & inside:
        return []
    height = tile_rows(links)
    return links if all((link.before + link.after) * OVERLAP <= height for link in links) else []


def _arrays(steps: Sequence[Step]) -> set[Node]:
    """The arrays that steps read and make."""
    return {n for step in steps for root in step.roots for n in (root.node, *(r for r, _ in root.reads)) if n.shape}


def _bytes(steps: Sequence[Step]) -> int:
    rows = steps[0].shape[0]
    return sum(min(n.size, 2 * rows * step_width(steps)) * n.dtype.itemsize for n in _arrays(steps))


def step_width(steps: Sequence[Step]) -> int:
    """Elements of the longest row."""
    longest = 0
    for step in steps:
        width = 1
        for extent in step.shape[1:]:
            width *= extent
        longest = max(longest, width)
    return longest


def tile_rows(links: Sequence[Link]) -> int:
    """Rows of a tile."""
    steps = [link.step for link in links]
    row = step_width(steps) * sum(n.dtype.itemsize for n in _arrays(steps))
    return max(FEWEST, min(MOST, TILE_BYTES // row // 4 * 4))


def _linked(compiler: Buffers, plan: Plan, steps: Sequence[Step]) -> list[Link]:
    """The first of some steps that can be in one chain, with the rows that each has to compute for the others."""
    w, e = compiler.w, compiler.e
    made: dict[Node, Link] = {}
    links: list[Link] = []
    reads: list[dict[Node, tuple[int, int]]] = []
    try:
        with w.trial(), e.remembering():
            for step in steps:
                targets = {r: Target([_stand_in(compiler, r.node)], shape=r.node.shape) for r in step.roots}
                if step not in plan.offsets:
                    plan.offsets[step] = TileNest(compiler, step, targets).offsets()
                if (found := plan.offsets[step]) is None:
                    break
                inside = {node: far for node, far in found.items() if node in made and far is not None}
                if len(inside) < sum(node in made for node in found):
                    break
                links.append(Link(step))
                reads.append(inside)
                for root, target in targets.items():
                    e.storage[root.node] = target.buffers[0]
                    made[root.node] = links[-1]
    finally:
        for node in made:
            del e.storage[node]
    for link, own in zip(reversed(links), reversed(reads), strict=True):
        for node, (low, high) in own.items():
            made[node].before = max(made[node].before, link.before - low)
            made[node].after = max(made[node].after, link.after + high)
    return links


def _stand_in(compiler: Buffers, node: Node) -> Buffer:
    return Buffer(compiler.w.define(compiler.w.fresh("s")), node.dtype, node.size, level=compiler.w.depth)


def emit_chain(compiler: Buffers, links: Sequence[Link], destinations: dict[Node, Buffer]) -> None:
    """Write a chain. The frame is at its last step."""
    w, e = compiler.w, compiler.e
    read = {e.storage[n] for link in links for root in link.step.roots for n, _ in root.reads if n in e.storage}
    read.update([b for buffer in read for b in buffer.backing])
    local = _local(compiler, links)
    targets = {root: Target([compiler.apart(root.node, read, destinations)], shape=root.node.shape)
               for link in links for root in link.step.roots if root.node not in local}
    height = tile_rows(links)
    counter = w.fresh("i")
    tiles = -(-max(link.rows for link in links) // height)
    w.loop(f"scf.parallel ({counter}) = ({w.index(0)}) to ({w.index(tiles)}) step ({w.index(1)}) {{", (counter,))
    w.facts.ranges[counter] = (0, tiles - 1)
    first = symbol(counter).times(height)
    for link in links:
        for root in link.step.roots:
            if root.node in local:
                targets[root] = Target([_tile_buffer(compiler, link, root.node, first, height)], shape=root.node.shape)
    asked: set[Buffer] = set()
    with e.remembering():
        for link in links:
            own = {root: targets[root] for root in link.step.roots}
            nest = TileNest(compiler, link.step, own)
            nest.asked = asked
            nest.first, nest.last = first - link.before, first + (height + link.after)
            nest.emit()
            for root, target in own.items():
                e.storage[root.node] = target.buffers[0]
    w.finish("scf.reduce }")
    for root, target in targets.items():
        if root.node in local:
            del e.storage[root.node]
        target.buffers[0].version += 1
        target.buffers[0].level = w.depth


def _local(compiler: Buffers, links: Sequence[Link]) -> set[Node]:
    """The values that only the chain reads: a tile has its own rows of them."""
    plan = compiler.frames[-1].plan
    inside = [link.step for link in links]
    outside = set(plan.reads_at_end)
    for step in plan.steps:
        if step not in inside:
            outside.update(n for root in step.roots for n, _ in root.reads)
    return {root.node for step in inside for root in step.roots} - outside


def _tile_buffer(compiler: Buffers, link: Link, node: Node, first: Affine, height: int) -> Buffer:
    """Memory for the rows of a value that one tile computes."""
    w, width = compiler.w, node.size // link.rows
    count = (height + link.before + link.after) * width
    name = w.define(w.fresh("m"))
    w.line(f"{name} = memref.alloca() : {buffer_type(node.dtype, count)}")
    return Buffer(name, node.dtype, count, level=w.depth, offset=(first - link.before).times(-width))
