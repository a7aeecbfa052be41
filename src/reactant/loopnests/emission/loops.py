"""Writes one nest of loops: several values over one range of indices, cut where comparisons of indices change.

Loops are split at the places where a mask, a padding or a concatenation changes, so that what is left inside has no
branches and reads memory in a row. Where an update would store what is there already, the part is left out.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any

from reactant.ir.types import real_dtype, size
from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.analysis.monoids import identity_of, monoid
from reactant.loopnests.emission.affine import ZERO, Affine, linear, number, symbol
from reactant.loopnests.emission.elements import Buffer, Elements, Flat
from reactant.loopnests.emission.keeping import results_of
from reactant.loopnests.emission.loop_parts import Piece, Sum, Target
from reactant.loopnests.emission.numbers import Number
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.writer import parallel_end, type_of

PARALLEL_WORK = 1 << 19
"""Operations from which a nest is worth two threads: 15 us of one. us a call on two cores that have nothing else to do,
of one thread and of two, n x n float64: a @ x for n = 256 15 and 39, n = 400 36 and 46, n = 600 58 and 57, n = 1000 118
and 90; sin(a) cos(a) for n = 128 42 and 28. On busy cores two threads gain later."""
SERIAL = 8
"""How much more work a reduction that leaves early does on one thread: several do not know what one has found."""
CHUNK = 1 << 13
"""Elements that a chunk of a whole reduction has at least."""
MOST_CHUNKS = 16
MOST_PIECES = 12
"""Pieces that a loop is split into at most,"""
MOST_MOVING = 3
"""and how many of its places are known at run time only."""
REASSOCIATED = " fastmath<reassoc>"


SHORT, DEAR = 7, 20.0
"""Iterations up to which an innermost loop is no vector, and the expense of a function such as exp (300 iterations of a
hidden Markov model, 20 sequences of 4 states: 0.82 ms, 0.36 with vectors over the sequences)."""


class Loops:
    """Writes the loops of one step, element by element (`nests.Nest` has other ways, too)."""

    def __init__(self, elements: Elements, shape: tuple[int, ...], roots: Sequence[Root],
                 targets: dict[Root, Target], scratch: Any, parallel: bool = True) -> None:
        self.e, self.w, self.a = elements, elements.w, elements.a
        self.scratch, self.parallel = scratch, parallel
        self.roots, self.targets = list(roots), targets
        self.flat = bool(roots) and all(r.flat for r in roots)
        self.shape = (size(shape),) if self.flat else tuple(shape)
        self.sums = [self._sum(r) for r in roots if r.kind == "reduce"]
        self.together: list[tuple[Affine, ...]] | None = None
        """The outer indices that are written at once (`row_sums`)."""
        self.work: float = size(shape) * sum(r.expense + 1 for r in roots)
        self.cut_inside: set[int] = set()
        """Dimensions that are cut at other places for each index of those before them."""

    def _sum(self, root: Root) -> Sum:
        rank = len(self.shape)
        whole = not root.node.results[0].shape
        reduced = tuple(range(rank)) if whole else root.reduced
        inner = rank
        while inner and (inner - 1 in reduced or self.shape[inner - 1] == 1):
            inner -= 1
        rest = [d for d in reduced if d < inner and self.shape[d] > 1]
        kind = monoid(root.node)
        dtypes = [n.dtype for n in results_of(root.node)]
        identity = None
        if kind is not None and len(dtypes) == 1 and (found := identity_of(kind, dtypes[0])) is not None:
            identity = [found]
        if rest and identity is None:
            inner = rank  # nothing to start partial results from: every element goes through memory
        return Sum(root, self.targets.get(root), inner, bool(rest), identity, reduced)

    # ---- pieces

    def index_of(self, root: Root, index: tuple[Affine, ...]) -> Any:
        """The nest's index as one of what a root computes."""
        shape = root.node.shape if root.kind == "map" else root.shape
        return index if shape == self.shape else Flat(linear(index, self.shape))

    def pieces(self, outer: tuple[Affine, ...] = ()) -> list[list[Piece]]:
        """How each dimension is cut, from the first one on whose counter is not among `outer`."""
        first = len(outer)
        cuts: list[dict[Affine, None]] = [{} for _ in self.shape]
        for _ in range(3):
            found = self._breaks(outer, [self._cut(d, cuts[d]) for d in range(first, len(self.shape))])
            before = [len(c) for c in cuts]
            for d, places in found.items():
                cuts[d].update(dict.fromkeys(places))
            if before == [len(c) for c in cuts]:
                break
        return [self._cut(d, c) if d >= first else [] for d, c in enumerate(cuts)]

    def _breaks(self, outer: tuple[Affine, ...], pieces: list[list[Piece]]) -> dict[int, list[Affine]]:
        """Where comparisons of indices change, found by writing every box of pieces on trial."""
        found: dict[int, list[Affine]] = {}
        if math.prod(len(p) for p in pieces) > 64:
            return found
        breaks = self.a.breaks
        for box in product(*pieces):
            self.a.breaks = {}
            with self.w.trial(), self.e.remembering():
                names = list(outer)
                for piece in box:
                    self.w.open()
                    names.append(self._counter(piece))
                dimension_of = {n.terms[0][0]: d for d, n in enumerate(names) if n.terms and d >= len(outer)}
                self._values(tuple(names))
                places = [where for difference in self.a.breaks
                          if (where := self._solved(difference, dimension_of)) is not None]
            for d, place in places:
                if (known := self.w.here(place)) is not None:
                    found.setdefault(d, []).append(known)
        self.a.breaks = breaks
        return found

    def _solved(self, difference: Affine, dimension_of: dict[str, int]) -> tuple[int, Affine] | None:
        """The dimension and the place from where on difference >= 0 changes."""
        own = [(dimension_of[s], s, c) for s, c in difference.terms if s in dimension_of]
        if not own:
            return None
        d, name, factor = max(own)
        rest = difference.without(name)
        inside = self.w.depth - len(dimension_of) + 1
        if any(s in dimension_of for s, _ in rest.terms):
            return None
        if any(self.w.level[s] >= inside for s, _ in rest.terms):
            if d and all(self.w.level[s] < self.w.level[name] for s, _ in rest.terms):
                self.cut_inside.add(d)
            return None
        if abs(factor) == 1:
            return (d, rest.times(-1)) if factor == 1 else (d, rest + 1)
        if rest.terms:
            return None
        return (d, number(-(rest.constant // factor))) if factor > 0 else (d, number(rest.constant // -factor + 1))

    def _cut(self, d: int, cuts: dict[Affine, None]) -> list[Piece]:
        extent = self.shape[d]
        fixed = sorted({c.constant for c in cuts if c.fixed is not None and 0 < c.constant < extent})
        if len(fixed) >= MOST_PIECES:
            fixed = []
        ends = [0, *fixed, extent]
        moving = self._in_order([c for c in cuts if c.terms])
        pieces: list[Piece] = []
        for low, high in zip(ends[:-1], ends[1:], strict=True):
            pieces += self._cut_by(moving, low, high)
        return pieces

    def _in_order(self, places: list[Affine]) -> list[Affine]:
        """Run-time places to cut at, each at most the next: those of which that is certain, `MOST_MOVING` at most."""
        made: list[Affine] = []
        for place in places:
            after = [self.w.facts.at_least(place - each) for each in made]
            at = after.index(False) if False in after else len(made)
            if len(made) < MOST_MOVING and all(self.w.facts.at_least(each - place) for each in made[at:]):
                made.insert(at, place)
        return made

    def _cut_by(self, moving: list[Affine], low: int, high: int) -> list[Piece]:
        """One fixed part, cut at places known at run time."""
        inside = []
        for cut in moving:
            least, most = self.w.facts.range(cut)
            if most > low and least < high:
                inside.append(cut)
        ends = [number(low), *inside, number(high)]
        made = []
        for k, (a, b) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
            first = self.w.facts.range(a)[0] if k else low
            last = self.w.facts.range(b)[1] if k + 2 < len(ends) else high
            made.append(Piece(a, b, (max(low, first), max(min(high, last) - 1, max(low, first))),
                              a if k else None, b - 1 if k + 2 < len(ends) else None))
        for piece in made:
            if piece.low.terms or piece.high.terms:
                piece.low, piece.high = (self._limited(e, low, high) for e in (piece.low, piece.high))
        return made

    def _limited(self, expression: Affine, low: int, high: int) -> Affine:
        return self.e.clamped(expression, low, high)

    def _counter(self, piece: Piece, name: str | None = None) -> Affine:
        """The counter of a piece's loop, in the innermost scope, with what is known of it."""
        if name is None and piece.range[0] == piece.range[1] and not piece.low.terms and not piece.high.terms:
            return number(piece.range[0])
        return self.counter_at(piece, self.w.define(name or self.w.fresh("i")))

    # ---- values

    def _values(self, index: tuple[Affine, ...]) -> list[tuple[Root, list[Number]]]:
        """The numbers of all roots at one index."""
        made = []
        for root in self.roots:
            node = root.node
            here = self.index_of(root, index)
            if root.kind == "map":
                value = self.e.compute(node, here)
                self.e.bind(node, here, value)
                if not self.unneeded(root, here):
                    made.append((root, [value]))
            elif root.kind == "update":
                made.append((root, [self.e.at(node.operands[1], here)]))
            else:
                count = len(results_of(node))
                made.append((root, [self.e.at(o, here) for o in node.operands[:count]]))
        return made

    def unneeded(self, root: Root, index: Any) -> bool:
        """Whether nobody needs a value's element."""
        mask, shape = root.needed, root.node.shape
        if mask is None:
            return False
        return self.e.at(mask, index if mask.shape == shape else Flat(self.e.place(index, shape))).value is False

    def _place(self, root: Root, index: tuple[Affine, ...]) -> Affine:
        target = self.targets[root]
        if root.kind == "update":
            return linear(index, target.shape) + target.start
        here = self.index_of(root, index)
        return self.e.place(here, root.node.shape if root.kind == "map" else root.shape)

    # ---- loops

    def emit(self) -> dict[Node, list[Number]]:
        """Write the nest; the results of whole reductions come back as numbers."""
        pieces = self.pieces()
        if self.cut_inside:     # into windows, which are taken to lie side by side: segments of what they are cut from
            self.work /= math.prod(self.shape[:min(self.cut_inside)])
        whole: dict[Node, list[Number]] = {}
        for s in self.sums:
            node = s.root.node
            s.init = [self.e.at(o, ()) for o in node.operands[len(results_of(node)):]]
        self._prepare_memory()
        with self.e.remembering():
            # the numbers that reductions started from are not carried: chunks start from nothing
            carried = [s for s in self.sums if s.inner == 0 and not s.through_memory]
            if carried and self._in_chunks(pieces, carried):
                accumulated = self._chunks(pieces, carried)
            else:
                accumulated = self._dimension(0, (), pieces, {s.root: list(s.init) for s in carried},
                                              self._parallel_outside())
        for s in carried:
            whole[s.root.node] = accumulated[s.root]
            if s.target is not None:
                for value, buffer in zip(accumulated[s.root], s.target.buffers, strict=True):
                    self.e.store(value, buffer, ZERO)
        for target in self.targets.values():
            for buffer in target.buffers:
                buffer.version += 1
                buffer.level = self.w.depth
        return whole

    def _prepare_memory(self) -> None:
        """Fill the results of reductions that are summed in memory with their starts."""
        for s in self.sums:
            if s.through_memory and s.target is not None:
                for buffer, init in zip(s.target.buffers, s.init, strict=True):
                    self._fill(buffer, init)

    def _fill(self, buffer: Buffer, value: Number) -> None:
        counter = self.w.fresh("i")
        zero, end, one = (self.w.index(k) for k in (0, buffer.size, 1))
        self.w.loop(f"scf.for {counter} = {zero} to {end} step {one} {{", (counter,))
        self.e.store(value, buffer, symbol(counter))
        self.w.finish()

    @property
    def _outermost(self) -> int:
        """The first dimension with more than one index."""
        return next((d for d, n in enumerate(self.shape) if n > 1), 0)

    def _parallel_outside(self) -> bool:
        """Whether the iterations of the outermost loop that has any do not need each other."""
        first = self._outermost
        reduced_first = any(first in s.reduced for s in self.sums)
        return self.parallel and self.work >= PARALLEL_WORK and not reduced_first

    def _dimension(self, d: int, index: tuple[Affine, ...], pieces: list[list[Piece]],
                   accumulators: dict[Any, list[Number]], parallel: bool) -> dict[Any, list[Number]]:
        """Write the loops from dimension d on; what is carried through them goes in and comes out."""
        if d == len(self.shape):
            return self.body(index, accumulators)
        if d in self.cut_inside:
            pieces = self.pieces(index)
        if not d and self.by_columns(pieces):
            return accumulators
        starting = [s for s in self.sums if s.inner == d and (d or s.through_memory)]
        inside = dict(accumulators)
        for s in starting:
            inside[s.root] = list(s.init) if s.identity is None or not s.through_memory else \
                [self.a.constant(v, t) for v, t in zip(s.identity, s.dtypes, strict=True)]
        for piece in pieces[d]:
            inside = self.loop(d, piece, index, pieces, inside, parallel)
        for s in starting:
            self.deliver(s, index, inside.pop(s.root))
        return inside

    def by_columns(self, pieces: list[list[Piece]]) -> bool:
        """Write the whole nest in another way, where there is one; whether that was done."""
        return False

    def by_rows(self, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]],
                parallel: bool) -> Piece | None:
        """Write several rows of a piece at once, where that is done; what remains of it."""
        return piece

    def leaves_early(self, d: int, length: int) -> bool:
        """Whether a loop of so many iterations over a dimension may leave at the element that decides it."""
        return False

    def by_steps(self, d: int, piece: Piece, index: tuple[Affine, ...]) -> Piece:
        """Look step by step for the element that decides; the step that has it."""
        return piece

    def deliver(self, s: Sum, index: tuple[Affine, ...], values: list[Number]) -> None:
        """Put what an inner reduction came to where it belongs."""
        assert s.target is not None
        reduced = set(s.reduced)
        place = linear(tuple(i for d, i in enumerate(index) if d not in reduced)
                       + (ZERO,) * sum(d not in reduced for d in range(len(index), len(self.shape))),
                       s.root.node.results[0].shape)
        if s.through_memory:
            before = [self.accumulated(b, place) for b in s.target.buffers]
            values = self.e.combined(s.root.node.blocks[0], before, values)
        for buffer, value in zip(s.target.buffers, values, strict=True):
            self.e.store(value, buffer, place)

    def accumulated(self, buffer: Buffer, place: Affine) -> Number:
        """What has been summed so far: read again at every iteration."""
        at = self.w.affine(place + buffer.offset)
        if buffer.dtype.kind == "c":
            part = real_dtype(buffer.dtype)
            halves = []
            for k in (0, 1):
                where = self.w.affine((place + buffer.offset).times(2) + k)
                name = self.w.define(self.w.fresh("m"))
                self.w.line(f"{name} = memref.load {buffer.name}[{where}] : {buffer.type}")
                halves.append(Number(part, name))
            return self.a.pair(halves[0], halves[1], buffer.dtype)
        name = self.w.define(self.w.fresh("m"))
        self.w.line(f"{name} = memref.load {buffer.name}[{at}] : {buffer.type}")
        if buffer.dtype.kind == "b":
            return Number(buffer.dtype, self.w.pure(f"arith.trunci {name} : i8 to i1", (name,)))
        return Number(buffer.dtype, name)

    def loop(self, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]],
             accumulators: dict[Any, list[Number]], parallel: bool) -> dict[Any, list[Number]]:
        """Write one loop over a piece of a dimension."""
        if self.nothing_to_do(d, piece, index, pieces):
            return accumulators
        counter = None
        if piece.range[0] == piece.range[1] and not piece.low.terms and not piece.high.terms:
            with self.e.remembering():
                return self._dimension(d + 1, (*index, number(piece.range[0])), pieces, accumulators, parallel)
        share = (piece.range[1] - piece.range[0] + 1) / self.shape[d]
        on_threads = parallel and not accumulators and self.work * share >= PARALLEL_WORK
        if not accumulators:
            rest = self.by_rows(d, piece, index, pieces, on_threads)
            if rest is None:
                return accumulators
            piece, on_threads = rest, on_threads and rest is piece
        if accumulators and self.leaves_early(d, piece.range[1] - piece.range[0] + 1):
            piece = self.by_steps(d, piece, index)
        low, high, one = self.w.affine(piece.low), self.w.affine(piece.high), self.w.index(1)
        counter = self.w.fresh("i")
        flat = self._flattened(accumulators)
        if on_threads:
            self.w.loop(f"scf.parallel ({counter}) = ({low}) to ({high}) step ({one}) {{", (counter,))
            with self.e.remembering():
                self._dimension(d + 1, (*index, self.counter_at(piece, counter)), pieces, {}, False)
            self.w.finish("scf.reduce }")
            return accumulators
        self.w.loop("", (counter,))
        names = [self.w.define(self.w.fresh("a")) for _ in flat]
        with self.e.remembering():
            inner = self._dimension(d + 1, (*index, self.counter_at(piece, counter)), pieces,
                                    self._unflattened(accumulators, names), parallel and self.shape[d] == 1)
            yields = [self.a.name(n) for n in self._flattened(inner)]
        types = [type_of(n.dtype) for n in flat]
        if flat:
            self.w.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}")
        lines = self.w.close()
        result = self.w.fresh("r")
        head = f"scf.for {counter} = {low} to {high} step {one}"
        if flat:
            starts = ", ".join(f"{n} = {self.a.name(s)}" for n, s in zip(names, flat, strict=True))
            head = f"{result}:{len(flat)} = {head} iter_args({starts}) -> ({', '.join(types)})"
        lines[0] = head + " {"
        self.w.scopes[-1].lines.extend(lines)
        self.w.line(self._closing(d))
        outs = [self.w.define(f"{result}#{k}") for k in range(len(flat))]
        return self._unflattened(accumulators, outs)

    def _closing(self, d: int) -> str:
        """The end of a loop, with what LLVM may know of it."""
        if self._written_out(d):
            return f"}} {{native.unroll = {self.shape[d]} : i64}}"
        innermost = d + 1 if d + 1 < len(self.shape) and self._written_out(d + 1) else d
        return "} {native.independent}" if self._independent(innermost) else "}"

    def _written_out(self, d: int) -> bool:
        """Whether an innermost loop is too short for vectors, and dear: LLVM makes vectors of the loop around it
        instead."""
        return 0 < d == len(self.shape) - 1 and 1 < self.shape[d] <= SHORT <= self.shape[d - 1] \
            and any(r.expense >= DEAR for r in self.roots) and all(r.kind == "map" for r in self.roots)

    def _independent(self, d: int) -> bool:
        """Whether the iterations of an innermost loop do not meet in memory. What is read elsewhere than at its own
        place is never written over (`Buffers.may_overwrite`); sums are carried in registers."""
        return all(n == 1 for n in self.shape[d + 1:]) and not any(s.through_memory for s in self.sums)

    def counter_at(self, piece: Piece, name: str) -> Affine:
        self.w.facts.ranges[name] = piece.range
        self.w.facts.know(name, piece.known_low, piece.known_high)
        return symbol(name)

    def nothing_to_do(self, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]]) -> bool:
        """Whether everything in a piece would be stored where it is already."""
        if any(s.inner > d and not s.through_memory for s in self.sums):    # what they came to is stored inside
            return False
        if not all(r.kind in ("map", "update") and (r.needed is not None or self._may_be_there(r))
                   or r in self._neutral for r in self.roots):
            return False
        for box in product(*pieces[d + 1:]):
            with self.w.trial(), self.e.remembering():
                names = list(index)
                for each in (piece, *box):
                    self.w.open()
                    names.append(self._counter(each))
                if not self._rests(tuple(names)):
                    return False
        return True

    def _rests(self, index: tuple[Affine, ...]) -> bool:
        """Whether what happens at an index changes nothing."""
        for at in self._indices(index):
            for root, values in self._values(at):
                if root in self._neutral:
                    if values[0].value is None or values[0].value != self._neutral[root]:
                        return False
                elif not self.e.is_there(values[0], self.targets[root].buffers[0], self._place(root, at)):
                    return False
        return True

    def _may_be_there(self, root: Root) -> bool:
        """Whether a root may be made of what lies where it goes: quick to deny."""
        return id(self.targets[root].buffers[0]) in self._stored

    @cached_property
    def _stored(self) -> set[int]:
        """Identities of the buffers that hold values."""
        return set(map(id, self.e.storage.values()))

    def _indices(self, index: tuple[Affine, ...]) -> list[tuple[Affine, ...]]:
        """An index, or those of all rows (and columns) that are written together."""
        if self.together is None:
            return [index]
        return [(*outer, *index[len(outer):]) for outer in self.together]

    def body(self, index: tuple[Affine, ...], accumulators: dict[Any, list[Number]]) -> dict[Any, list[Number]]:
        """Write what happens at one index."""
        after = dict(accumulators)
        if self.together is not None:
            for k, each in enumerate(self._indices(index)):
                for root, found in self._values(each):
                    after[k, root] = self.e.combined(root.node.blocks[0], after[k, root], found, REASSOCIATED)
            return after
        for root, found in self._values(index):
            if root.kind in ("map", "update"):
                target = self.targets.get(root)
                if target is not None:
                    place = self._place(root, index)
                    if not self.e.is_there(found[0], target.buffers[0], place):
                        self.e.store(found[0], target.buffers[0], place)
                continue
            s = next(s for s in self.sums if s.root is root)
            if root in after:
                after[root] = self.e.combined(root.node.blocks[0], after[root], found, REASSOCIATED)
            else:
                self.deliver(s, index, found)
        return after

    def _flattened(self, accumulators: dict[Any, list[Number]]) -> list[Number]:
        found = []
        for values in accumulators.values():
            for value in values:
                found += list(self.a.halves(value)) if value.dtype.kind == "c" else [value]
        return found

    def _unflattened(self, like: dict[Any, list[Number]], names: Sequence[str]) -> dict[Any, list[Number]]:
        rest = iter(names)

        def one(n: Number) -> Number:
            if n.dtype.kind == "c":
                part = real_dtype(n.dtype)
                return self.a.pair(Number(part, next(rest)), Number(part, next(rest)), n.dtype)
            return Number(n.dtype, next(rest))
        return {root: [one(n) for n in values] for root, values in like.items()}

    # ---- whole reductions in chunks

    @cached_property
    def _neutral(self) -> dict[Root, Any]:
        """For sums that start from a number which is not -0.0, what may be left out of them."""
        found = {}
        for s in self.sums:
            kind = monoid(s.root.node)
            if s.identity is not None and len(s.init) == 1 and s.init[0].value is not None \
                    and not (kind == "add" and math.copysign(1.0, float(s.init[0].value)) < 0):
                found[s.root] = s.identity[0]
        return found

    def _in_chunks(self, pieces: list[list[Piece]], carried: list[Sum]) -> bool:
        """Whether whole reductions are summed in chunks: several threads, and shorter chains of additions."""
        return (len(carried) == len(self.sums) and all(s.identity is not None for s in carried)
                and self._chunk_count() > 1
                and (self._together or not self._leaving)
                and all(not p.low.terms and not p.high.terms for p in pieces[self._outermost]))

    @property
    def _together(self) -> bool:
        """Whether chunks are summed by several threads."""
        return self.parallel and self.work >= PARALLEL_WORK * (SERIAL if self._leaving else 1)

    @cached_property
    def _leaving(self) -> bool:
        """Whether all is decided by one element."""
        return self.leaves_early(self._outermost, self.shape[self._outermost])

    def _chunk_count(self) -> int:
        return min(MOST_CHUNKS, size(self.shape) // CHUNK, self.shape[self._outermost])

    def _chunks(self, pieces: list[list[Piece]], carried: list[Sum]) -> dict[Root, list[Number]]:
        count, d = self._chunk_count(), self._outermost
        before = (ZERO,) * d
        sums = {s.root: list(s.init) for s in carried}
        for piece in pieces[d]:
            low, high = piece.low.constant, piece.high.constant
            own = min(count, high - low)
            if own <= 1:
                sums = self.loop(d, piece, before, pieces, sums, False)
                continue
            buffers = {s.root: [self.scratch(t, own) for t in s.dtypes] for s in carried}
            length = -(-(high - low) // own)
            own = -(-(high - low) // length)
            counter = self.w.fresh("i")
            zero, end, one = (self.w.index(k) for k in (0, own, 1))
            together = self._together
            head = f"scf.parallel ({counter}) = ({zero}) to ({end}) step ({one})" if together else \
                f"scf.for {counter} = {zero} to {end} step {one}"
            self.w.loop(head + " {", (counter,))
            self.w.facts.ranges[counter] = (0, own - 1)
            first = symbol(counter).times(length) + low
            last = self.e.clamped(first + length, low, high)
            chunk = Piece(first, last, piece.range)
            with self.e.remembering():
                starts = {s.root: [self.a.constant(v, t) for v, t in zip(s.identity or [], s.dtypes, strict=True)]
                          for s in carried}
                found = self.loop(d, chunk, before, pieces, starts, False)
                for root, values in found.items():
                    for value, buffer in zip(values, buffers[root], strict=True):
                        self.e.store(value, buffer, symbol(counter))
            self.w.finish(parallel_end(self.work / own) if together else "}")
            for root in sums:
                for k in range(own):
                    parts = [self.accumulated(b, number(k)) for b in buffers[root]]
                    sums[root] = self.e.combined(root.node.blocks[0], sums[root], parts)
        return sums
