"""Which elements of kept values nobody needs: those at which a mask is false, where all that read them choose something
else. A window with run-time ends (`v[a:b]`) is such a mask, and what is made of it is computed in the window alone.

    e = np.exp(v[a:b] - v[a:b].max()); out[a:b] = e / e.sum()
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from reactant.loopnests.analysis.graph import Node, behind
from reactant.loopnests.emission.affine import Affine, here, linear
from reactant.loopnests.emission.elements import Elements, Flat
from reactant.loopnests.emission.numbers import BOOL, Number
from reactant.loopnests.emission.plan import Planner, readers_of
from reactant.loopnests.emission.probing import computed, probing
from reactant.loopnests.emission.roots import Plan, Root
from reactant.loopnests.emission.scatter import update_at
from reactant.loopnests.emission.writer import NAME, Writer

MOST_MASKS = 4
"""Masks that are tried for a value."""
ELEMENT_BY_ELEMENT = {"scatter": 2, "reduce_window": 0}
"""Ops that are no nests and go through the elements of an operand once (scans: `supported`)."""


def planned(planner: Planner) -> Plan:
    """The plan of a block, with what is needed of its kept values."""
    plan = planner.plan()
    note_needed(planner, plan, readers_of(plan.steps))
    return plan


def note_needed(planner: Planner, plan: Plan, readers: Mapping[Node, Sequence[tuple[int, Root]]]) -> None:
    """Find the masks of a plan's kept values, the last first: who reads a value (in which step) may itself be needed in
    part."""
    made_in = {node: place for place, step in enumerate(plan.steps) for root in step.roots
               for node in (root.node, *root.node.results)}
    for place, step in reversed(list(enumerate(plan.steps))):
        for root in reversed(step.roots):
            if (root.kind == "map" or root.node.kind == "reduce_window") and root.node not in plan.reads_at_end:
                own = [reader for _, reader in readers.get(root.node, ())]
                root.needed = next((mask for mask in _masks(planner, root.node, own) if all(
                    made_in.get(n, -1) < place for n in planner.reads_of([mask]))), None)


def _masks(planner: Planner, value: Node, readers: Sequence[Root]) -> Iterator[Node]:
    """Masks such that no element of a value is needed where one is false."""
    if any(r.bounds or r.needed is not None or r.node.kind in ELEMENT_BY_ELEMENT for r in readers):
        for mask in islice(_conditions(planner, value, readers[0]), MOST_MASKS):
            if not _made_of(mask, value) and all(
                    r.needed is mask and _in_place(r, value) or _ignores(planner, r, value, mask) for r in readers):
                yield mask


def _conditions(planner: Planner, value: Node, reader: Root) -> Iterator[Node]:
    """Conditions over a value's elements from which a reader is computed, those next to it first."""
    if reader.needed is not None and reader.needed.size == value.size:
        yield reader.needed
    stack, seen = list(reader.node.operands), set()
    while stack:
        node = stack.pop(0)
        if node in seen or node.block is not planner.block:
            continue
        seen.add(node)
        if node.dtype == BOOL and node.size == value.size and node.kind == "and":
            yield node
        if not planner.is_kept(node):
            stack += node.operands


def _made_of(mask: Node, value: Node) -> bool:
    """Whether a mask is computed from a value, which it would have to be read for."""
    def inputs(node: Node) -> Iterable[Node]:
        return (*node.operands, *(used for inner in node.blocks for used in inner.uses()))
    return value in behind([mask], lambda n: n.block is value.block, inputs)


def _in_place(reader: Root, value: Node) -> bool:
    """Whether a root reads of a value only what is at its own place."""
    own = linear(here(reader.shape), reader.shape)
    return all(i is not None and (i.place if isinstance(i, Flat) else linear(i, value.shape)) == own
               for n, i in reader.reads if n is value)


def _ignores(planner: Planner, reader: Root, value: Node, mask: Node) -> bool:
    """Whether what a root computes does not depend on those elements of a value at which the mask is false."""
    op = reader.node.kind in ELEMENT_BY_ELEMENT
    if reader.kind not in ("map", "reduce", "update") and not op \
            or not op and any(n is value and i is None for n, i in reader.reads):
        return False
    probe = _Probe(planner, reader, value)
    probe.run(mask, None)
    return all(probe.run(mask, place) for place in list(probe.names))


class _Probe:
    """Computes what a root makes of an element, to be thrown away."""

    def __init__(self, planner: Planner, reader: Root, value: Node) -> None:
        self.planner, self.reader, self.value = planner, reader, value
        self.names: dict[Affine, set[str]] = {}
        """The elements of the value that are read, by their places."""

    def run(self, mask: Node, place: Affine | None) -> bool:
        """Whether the result does not depend on the element at a place where the mask is false."""
        reader, kind = self.reader, self.reader.node.kind
        elements = self.planner.prober(self._told)
        shape = reader.node.operands[ELEMENT_BY_ELEMENT[kind]].shape if kind in ELEMENT_BY_ELEMENT else reader.shape
        index = probing(elements.w, shape)
        if place is not None:
            elements.bind(mask, Flat(place), Number(BOOL, value=False))
        made = _scattered(elements, reader.node, index) if kind == "scatter" else computed(elements, reader, index)
        return made is not None and place is not None and self.names[place].isdisjoint(_behind(elements.w, made))

    def _told(self, node: Node, index: Any, made: Number) -> None:
        if node is self.value:
            at = index.place if isinstance(index, Flat) else linear(index, node.shape)
            self.names.setdefault(at, set()).update(n.name or "" for n in made.parts or (made,))


def _scattered(elements: Elements, node: Node, index: Any) -> list[Number] | None:
    """Nothing where an update changes nothing, else None."""
    return [] if update_at(elements, node, index) is None else None


def _behind(writer: Writer, numbers: Iterable[Number]) -> set[str]:
    """The names of what numbers are made of."""
    stack = [name for n in numbers for part in n.parts or (n,)
             for name in ((part.name,) if part.name is not None else
                          [s for s, _ in part.affine.terms] if part.affine is not None else ())]
    found: set[str] = set()
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            if name in writer.tried:
                stack += NAME.findall(writer.tried[name][0])
    return found
