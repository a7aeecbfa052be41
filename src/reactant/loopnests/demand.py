"""Which elements of kept values nobody needs: those at which a mask is false, where all that read them choose something
else. A window with run-time ends (`v[a:b]`) is such a mask, and what is made of it is computed in the window alone.

    e = np.exp(v[a:b] - v[a:b].max()); out[a:b] = e / e.sum()
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reactant.loopnests.affine import Affine, linear
from reactant.loopnests.elements import Elements, Flat
from reactant.loopnests.graph import Node
from reactant.loopnests.numbers import BOOL, Arithmetic, Number
from reactant.loopnests.writer import NAME, Writer

if TYPE_CHECKING:
    from reactant.loopnests.plan import Plan, Planner, Root

MOST_MASKS = 4
"""Masks that are tried for a value."""
ELEMENT_BY_ELEMENT = {"scatter": 2, "reduce_window": 0}
"""Ops that are no nests and go through the elements of an operand once (scans: `supported`)."""


def note_needed(planner: Planner, plan: Plan) -> None:
    """Find the masks of a plan's kept values, the last first: who reads a value may itself be needed in part."""
    readers: dict[Node, list[Root]] = {}
    made_in: dict[Node, int] = {}
    for place, step in enumerate(plan.steps):
        for root in step.roots:
            made_in |= dict.fromkeys([root.node, *root.node.results], place)
            for node in dict.fromkeys(n for n, _ in root.reads):
                readers.setdefault(node, []).append(root)
    for place, step in reversed(list(enumerate(plan.steps))):
        for root in reversed(step.roots):
            if (root.kind == "map" or root.node.kind == "reduce_window") and root.node not in plan.reads_at_end:
                later = {n for n, made in made_in.items() if made >= place}
                root.needed = _mask(planner, root.node, readers.get(root.node, ()), later)


def _mask(planner: Planner, value: Node, readers: Sequence[Root], later: set[Node]) -> Node | None:
    """A mask such that no element is needed where it is false, made of nothing that is only made later."""
    if not any(r.bounds or r.needed is not None or r.node.kind in ELEMENT_BY_ELEMENT for r in readers):
        return None
    for mask in list(_masks(planner, value, readers[0]))[:MOST_MASKS]:
        if not _made_of(mask, value) and later.isdisjoint(planner.reads_of([mask])) and all(
                r.needed is mask and _in_place(r, value) or _ignores(planner, r, value, mask) for r in readers):
            return mask
    return None


def _masks(planner: Planner, value: Node, reader: Root) -> Iterable[Node]:
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
    stack, seen = [mask], set()
    while stack:
        node = stack.pop()
        if node is value:
            return True
        if node not in seen and node.block is value.block:
            seen.add(node)
            stack += node.operands
            stack += [used for inner in node.blocks for used in inner.uses()]
    return False


def _in_place(reader: Root, value: Node) -> bool:
    """Whether a root reads of a value only what is at its own place."""
    from reactant.loopnests.plan import here
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
        from reactant.loopnests.plan import here
        planner, reader = self.planner, self.reader
        writer = Writer(planner.names)
        writer.facts.ranges = planner.names.ranges
        elements = Elements(Arithmetic(writer))

        def read(node: Node, index: Any) -> Number:
            made = planner.unknown(node, index, writer, elements.a)
            if node is self.value:
                at = index.place if isinstance(index, Flat) else linear(index, node.shape)
                self.names.setdefault(at, set()).update(n.name or "" for n in made.parts or (made,))
            return made
        elements.kept = planner.is_kept
        elements.read = read  # type: ignore[method-assign]
        kind = reader.node.kind
        shape = reader.node.operands[ELEMENT_BY_ELEMENT[kind]].shape if kind in ELEMENT_BY_ELEMENT else reader.shape
        for k, extent in enumerate(shape):
            writer.define(f"%d{k}", 0)
            writer.facts.ranges[f"%d{k}"] = (0, max(extent - 1, 0))
        if place is not None:
            elements.bind(mask, Flat(place), Number(BOOL, value=False))
        made = _scattered(elements, reader.node, here(shape)) if kind == "scatter" else \
            _computed(elements, reader, here(shape))
        return made is not None and place is not None and self.names[place].isdisjoint(_behind(writer, made))


def _computed(elements: Elements, root: Root, index: Any) -> list[Number]:
    """What a root computes at an index."""
    from reactant.loopnests.keeping import results_of
    node = root.node
    if root.kind == "map":
        return [elements.compute(node, index if root.shape == node.shape else Flat(linear(index, root.shape)))]
    operands = node.operands[1:2] if root.kind == "update" else node.operands[:len(results_of(node))]
    return [elements.at(o, index) for o in operands]


def _scattered(elements: Elements, node: Node, index: Any) -> list[Number] | None:
    """Nothing where an update changes nothing, else None."""
    from reactant.loopnests.scatter import update_at
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
