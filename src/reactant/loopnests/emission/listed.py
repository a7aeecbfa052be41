"""Loops over the places that a mask has left, by a list of them.

A program whose arrays lose elements iteration after iteration carries a mask that only loses elements: `z, c = z[keep],
c[keep]`. What is left is listed when the loop begins, the list is shortened after every iteration, and what changes
nothing where the mask is false runs over the list: an iteration costs what is in the arrays, not what they could hold.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from reactant.loopnests.analysis.graph import Block, Node
from reactant.loopnests.analysis.monoids import identity_of, monoid
from reactant.loopnests.emission.affine import Affine, linear, number
from reactant.loopnests.emission.carried import Listing, Slot
from reactant.loopnests.emission.compactions import emit_moves
from reactant.loopnests.emission.dead_lanes import dead_lanes
from reactant.loopnests.emission.elements import Buffer, Elements, Flat
from reactant.loopnests.emission.emitter import Emitter
from reactant.loopnests.emission.keeping import results_of
from reactant.loopnests.emission.loop_parts import Piece, Target
from reactant.loopnests.emission.nests import Nest
from reactant.loopnests.emission.numbers import BOOL, INDEX, Number
from reactant.loopnests.emission.plan import Planner
from reactant.loopnests.emission.probing import probing
from reactant.loopnests.emission.roots import Plan, Root, Step
from reactant.loopnests.emission.scatter import Updates, counter, update_at

LEAST = 256
"""Elements of a mask from which its places are listed."""
DENSE = 3
"""Loops go through all places where a list has more than one in so many of them: vector code reads what lies side by
side in a third of the time."""


# ---- which masks ------------------------------------------------------------------------------------------------

def shrinks(slot: Slot) -> bool:
    """Whether a loop carries a mask of one dimension that only loses elements."""
    mask = slot.argument
    return mask.dtype == BOOL and len(mask.shape) == 1 and mask.size >= LEAST and not slot.invariant \
        and implies(slot.returned, mask)


def implies(value: Node, mask: Node) -> bool:
    """Whether a mask is certainly false wherever another one is."""
    if value is mask or value.splat is not None and not value.splat:
        return True
    if value.kind == "and":
        return any(implies(o, mask) for o in value.operands)
    if value.kind == "or":
        return all(implies(o, mask) for o in value.operands)
    if value.kind == "select":
        return all(implies(o, mask) for o in value.operands[1:])
    owner = value.operands[0] if value.kind == "result" else value
    return owner.kind in ("if", "case") and all(implies(b.returned[value.index], mask) for b in owner.blocks)


# ---- the lists --------------------------------------------------------------------------------------------------

def begin_lists(compiler: Emitter, node: Node, slots: Sequence[Slot]) -> dict[Slot, Listing]:
    """List the places of a loop's masks before it."""
    found = {}
    for slot in slots:
        if shrinks(slot):
            n = slot.init.size
            found[slot] = listing = Listing(compiler.scratch(INDEX, n), compiler.scratch(INDEX, 1))
            _fill(compiler, listing, slot.init, None)
            listing.dead = dead_lanes(node, slots, slot.argument, implies)
    return found


def enter_lists(compiler: Emitter, lists: dict[Slot, Listing], before: bool) -> None:
    """What was listed holds in a region of the loop."""
    for slot, listing in lists.items():
        for buffer in (listing.places, listing.count):
            buffer.version += 1
            buffer.level = compiler.w.depth
        listing.known = {}
        compiler.lists[slot.condition_argument if before else slot.argument] = listing


def shorten_lists(compiler: Emitter, lists: dict[Slot, Listing]) -> None:
    """After an iteration: take out what the masks have lost."""
    for slot, listing in lists.items():
        if slot.returned is not slot.argument:
            _fill(compiler, listing, slot.returned, listing)


def _fill(compiler: Emitter, listing: Listing, mask: Node, old: Listing | None) -> None:
    """List the places of a mask: of all, or of those in an older list, which this may be."""
    e = compiler.e

    def element(k: Affine) -> tuple[Affine, Number]:
        place = k if old is None else _place(e, old, k)
        return place, Number(INDEX, affine=place)
    end = number(mask.size) if old is None else _count(compiler, old)
    e.store(emit_moves(compiler, mask, listing.places, end, element), listing.count, number(0))
    for buffer in (listing.places, listing.count):
        buffer.version += 1
        buffer.level = compiler.w.depth


def _count(compiler: Emitter, listing: Listing) -> Affine:
    found = compiler.a.as_index(compiler.e.load(listing.count, number(0), INDEX))
    compiler.w.facts.ranges[found.terms[0][0]] = (0, listing.places.size)
    return found


def _place(e: Elements, listing: Listing, k: Affine) -> Affine:
    found = e.a.as_index(e.load(listing.places, k, INDEX))
    e.w.facts.ranges[found.terms[0][0]] = (0, listing.places.size - 1)
    return found


# ---- what may run over a list -----------------------------------------------------------------------------------

def shape_of(step: Step, mask: Node) -> tuple[int, ...] | None:
    """What the loops of a step run over, a mask's places first; None where they do not."""
    first = step.roots[0].node
    if step.kind == "op":
        shape = first.operands[2].shape if first.kind == "scatter" and len(first.operands) == 3 else ()
    elif step.kind != "nest":
        return None
    elif all(r.flat for r in step.roots) and math.prod(step.shape) == mask.size:
        shape = mask.shape
    else:
        shape = step.shape if all(r.shape == step.shape for r in step.roots) else ()
    return shape if shape and shape[0] == mask.size else None


class Lists:
    """Finds the steps of a plan that change nothing where a mask is false."""

    def __init__(self, planner: Planner, plan: Plan, mask: Node, dead: Collection[Node] = (),
                 known: dict[Node, Number] | None = None) -> None:
        self.planner, self.plan, self.mask, self.dead = planner, plan, mask, dead
        self.known = {} if known is None else known
        self.rests: dict[Root, Any] = {}

    def note(self) -> None:
        """Mark the steps."""
        found = [step for step in self.plan.steps if step.listed is None and self.changes_nothing(step)]
        readers: dict[Node, list[tuple[Step, Root]]] = {}
        for step in self.plan.steps:
            for root in step.roots:
                for node in dict.fromkeys(n for n, _ in root.reads):
                    readers.setdefault(node, []).append((step, root))
        while True:
            good = [step for step in found if all(
                other in found and self._reads_in_place(other, reader, root.node)
                for root in step.roots
                if root.kind == "map" and root not in self.rests and root.node not in self.dead
                for other, reader in readers.get(root.node, ()))]
            if len(good) == len(found):
                break
            found = good
        nests = [step for step in found if any(r.kind == "map" for r in step.roots)]
        alike = all(r.kind == "map" for step in nests for r in step.roots)
        for step in found:
            step.listed, step.dense = self.mask, alike and step in nests
            for root in step.roots:
                root.rests = self.rests.get(root)

    def changes_nothing(self, step: Step) -> bool:
        """Whether a step does nothing at a place where the mask is false."""
        shape = shape_of(step, self.mask)
        if shape is None:
            return False
        reads: dict[str, Node] = {}

        def told(node: Node, at: Any, made: Number) -> None:
            place = at.place if isinstance(at, Flat) else linear(at, node.shape)
            if node.size == math.prod(shape) and place == linear(index, shape):
                reads.update({part.name or "": node for part in made.parts or (made,)})
        elements = self.planner.prober(told)
        index = probing(elements.w, shape)
        elements.bind(self.mask, index[:1], Number(BOOL, value=False))
        for node, value in self.known.items():
            if node.size == math.prod(shape):
                elements.bind(node, _at(node, index, shape), value)
        return all([self._root_rests(root, elements, index, shape, reads) for root in step.roots])

    def _root_rests(self, root: Root, elements: Elements, index: tuple[Affine, ...], shape: tuple[int, ...],
                    reads: dict[str, Node]) -> bool:
        node = root.node
        if root.kind == "op":
            return update_at(elements, node, index) is None
        if root.kind == "reduce":
            return _adds_nothing(node, elements, index, shape)
        if root.kind != "map" or node.size != math.prod(shape):
            return False
        value = elements.compute(node, _at(node, index, shape))
        elements.bind(node, _at(node, index, shape), value)
        if node in self.dead or node not in self.plan.reads_at_end:
            if value.value is not None and node not in self.dead:
                self.known[node] = value
            return True
        if value.value is not None:
            self.known[node] = self.rests[root] = value
            return True
        found = {reads.get(part.name or "?") for part in value.parts or (value,)}
        (source,) = found if len(found) == 1 else (None,)
        if source is None or source.block is self.plan.block and source.kind != "argument":
            return False
        self.rests[root] = source
        return True

    def _reads_in_place(self, step: Step, root: Root, value: Node) -> bool:
        """Whether a root reads of a value what is at its own place alone."""
        shape = shape_of(step, self.mask)
        if shape is None or root.kind == "op" and value is root.node.operands[0]:
            return False
        places = []
        elements = self.planner.prober(lambda node, at, made: places.append((node, at)))
        index = probing(elements.w, shape)
        if root.kind == "op":
            update_at(elements, root.node, index)
        else:
            for node in (root.node.operands[:1] if root.kind == "reduce" else (root.node,)):
                (elements.at if root.kind == "reduce" else elements.compute)(node, _at(node, index, shape))
        own = linear(index, shape)
        return all((at.place if isinstance(at, Flat) else linear(at, node.shape)) == own
                   for node, at in places if node is value)


def _at(node: Node, index: tuple[Affine, ...], shape: tuple[int, ...]) -> Any:
    return index if node.shape == shape else Flat(linear(index, shape))


def _adds_nothing(node: Node, elements: Elements, index: tuple[Affine, ...], shape: tuple[int, ...]) -> bool:
    """Whether a reduction to one number stays as it is by an element."""
    kind = monoid(node)
    nothing = None if kind is None or len(results_of(node)) != 1 or results_of(node)[0].shape else \
        identity_of(kind, node.dtype)
    start = node.operands[1].splat
    if nothing is None or node.dtype.kind == "c" or start is None or kind == "add" and np.signbit(start) and not start:
        return False
    value = elements.at(node.operands[0], _at(node.operands[0], index, shape)).value
    return value is not None and bool(value == nothing)


# ---- loops over a list ------------------------------------------------------------------------------------------

class OverList(Nest):
    """A nest whose first dimension goes through the places of a list."""

    mask: Node
    listing: Listing
    count: Affine

    def over(self, compiler: Emitter, step: Step) -> None:
        """Take the list of a step's mask."""
        assert step.listed is not None
        self.mask, self.listing = step.listed, list_of(compiler, step)
        self.count = _count(compiler, self.listing)

    def pieces(self, outer: tuple[Affine, ...] = ()) -> list[list[Piece]]:
        inner = [[Piece(number(0), number(n), (0, n - 1))] for n in self.shape[1:]]
        return [[Piece(number(0), self.count, (0, self.shape[0] - 1))], *inner]

    def nothing_to_do(self, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]]) -> bool:
        return False

    def counter_at(self, piece: Piece, name: str) -> Affine:
        made = super().counter_at(piece, name)
        if piece.high is not self.count:
            return made
        place = _place(self.e, self.listing, made)
        self.e.bind(self.mask, (place,), Number(BOOL, value=True))
        return place


class ListedNest(OverList):
    """A nest of loops."""

    def __init__(self, compiler: Emitter, step: Step, targets: dict[Root, Target]) -> None:
        assert step.listed is not None
        shape = shape_of(step, step.listed)
        assert shape is not None
        super().__init__(compiler.e, shape, step.roots, targets, compiler.scratch, False)
        self.flat, self.shape = False, shape
        self.sums = [self._sum(r) for r in step.roots if r.kind == "reduce"]
        self.over(compiler, step)


class ListedUpdates(OverList, Updates):
    """The updates of a scatter."""

    def __init__(self, compiler: Emitter, step: Step, buffer: Buffer) -> None:
        super().__init__(compiler, step.roots[0].node, buffer)
        self.over(compiler, step)


def emit_listed(compiler: Emitter, step: Step, targets: dict[Root, Target]) -> dict[Node, list[Number]]:
    """Write the nest of a step over its list, or over all places where these are not many more. (All steps of an
    iteration that keep arrays do the same: what one leaves out another one does not read.)"""
    nest = ListedNest(compiler, step, targets)
    if not step.dense:
        return nest.emit()
    w, e = compiler.w, compiler.e
    few = compiler.a.compare("LT", Number(INDEX, affine=nest.count.times(DENSE)), Number(INDEX, affine=number(
        nest.mask.size)))
    written = []
    for each in (nest, Nest(e, step.shape, step.roots, targets, compiler.scratch, compiler.parallel)):
        w.open()
        each.emit()
        written.append(w.close())
    w.scopes[-1].lines += [f"scf.if {compiler.a.name(few)} {{", *written[0], "} else {", *written[1], "}"]
    for target in targets.values():
        for buffer in target.buffers:
            buffer.level = w.depth
    return {}


def rested(compiler: Emitter, root: Root, step: Step, buffer: Buffer) -> Buffer:
    """The buffer for a value of a step that runs over a list, with what the value is elsewhere: the one that it should
    go to if that can be."""
    e = compiler.e
    if isinstance(root.rests, Number):
        if step.listed is not None and e.storage.get(step.listed) is buffer and root.rests.value is False:
            return buffer
    elif e.storage.get(root.rests) is buffer:
        return buffer
    if any(e.storage.get(node) is buffer for each in step.roots for node, _ in each.reads):
        buffer = compiler.scratch(buffer.dtype, buffer.size)
    if isinstance(root.rests, Number):
        with e.remembering():
            place = counter(compiler, number(0), number(buffer.size), (0, buffer.size - 1))
            e.store(root.rests, buffer, place)
            compiler.w.finish()
    else:
        compiler.copy(root.rests, buffer)
    buffer.version += 1
    buffer.level = compiler.w.depth
    return buffer


def note_lists(compiler: Emitter, planner: Planner, plan: Plan) -> None:
    """Mark the steps of a plan that run over lists."""
    for mask in list(compiler.lists):
        if _is_in_use(plan.block, mask):
            lists = Lists(planner, plan, mask, compiler.lists[mask].dead, compiler.lists[mask].known)
            lists.note()
            for part in [n for n, value in lists.known.items() if value.value is False and n.shape == mask.shape
                         and n.block is plan.block]:
                _note_part(planner, plan, part, mask)
                compiler.lists.pop(part, None)


def _note_part(planner: Planner, plan: Plan, part: Node, mask: Node) -> None:
    """Let scatters, and what is asked beside them, run over the places at which a mask of a block is true, if they do
    nothing elsewhere: a list of these is made of the greater one."""
    lists = Lists(planner, plan, part)
    scatters = [s for s in plan.steps if s.listed is mask and s.kind == "op" and lists.changes_nothing(s)]
    step = next(s for s in plan.steps if any(r.node is part for r in s.roots))
    if not scatters or step.listed is not mask:
        return
    carried = {root.rests for root in step.roots if isinstance(root.rests, Node)}
    later = [r for r in step.roots if r.kind == "reduce" and carried.isdisjoint(n for n, _ in r.reads)
             and lists.changes_nothing(Step([r], step.shape))]
    for each in scatters:
        each.listed, each.listed_of = part, mask
    if later:
        step.roots = [r for r in step.roots if r not in later]
        plan.steps.insert(plan.steps.index(step) + 1, Step(later, step.shape, part, mask))


def list_of(compiler: Emitter, step: Step) -> Listing:
    """The list of a step's mask, which is made where it is used first."""
    mask = step.listed
    assert mask is not None
    if mask not in compiler.lists:
        assert step.listed_of is not None
        made = compiler.lists[mask] = Listing(compiler.scratch(INDEX, mask.size), compiler.scratch(INDEX, 1))
        compiler.held |= {made.places, made.count}
        _fill(compiler, made, mask, compiler.lists[step.listed_of])
    return compiler.lists[mask]


def _is_in_use(block: Block, mask: Node) -> bool:
    return mask.block is not None and block.inside(mask.block)
