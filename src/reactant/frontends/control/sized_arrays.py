"""Arrays of run-time size (`Bounded`) as variables of branches and loops: their frame and their extents are carried."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import value_facts
from reactant.frontends.arrays.dynamic.bounded import Bounded, Extent, Mask, Number, Range
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number, wrap
from reactant.frontends.control.loop_carried import Slot, numeric_kind
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import REBUILT, SNAPSHOTS, capture, kind_of
from reactant.frontends.control.trees import Kind, Known, Node, Tree
from reactant.support.records import dataclass

PARTS: dict[type | None, int] = {None: 0, Range: 2, Mask: 1}
"""How many numbers or arrays say what part of a dimension it is."""


@dataclass(frozen=True)
class SizedKey:
    """What kind of extent each dimension has."""

    extents: tuple[type | None, ...]

    def made(self, children: list[Any]) -> Bounded:
        frame, *rest = children
        parts = iter(rest)
        return Bounded(frame if is_tensor(frame) else wrap(frame),
                       [_extent(kind, [next(parts) for _ in range(PARTS[kind])]) for kind in self.extents])

    def joint(self, a: Tree, b: Tree) -> tuple[Node, Node] | None:
        """Two trees, one of them such an array, as arrays with the same kinds of extents; None where they are none."""
        if any(isinstance(tree, Node) and tree.kind != "sized" for tree in (a, b)):
            return None
        keys = [tree.key.extents if isinstance(tree, Node) else (None,) * len(self.extents) for tree in (a, b)]
        if len(keys[0]) != len(keys[1]):
            return None
        both = {frozenset(pair) - {None} for pair in zip(*keys, strict=True)}
        if any(len(kinds) > 1 for kinds in both):
            return None
        key = SizedKey(tuple(x or y for x, y in zip(*keys, strict=True)))
        first, second = key.of(a), key.of(b)
        return None if first is None or second is None else (first, second)

    def of(self, tree: Tree) -> Node | None:
        """A tree with extents of these kinds, where it has none yet: all of a dimension."""
        frame, *rest = tree.children if isinstance(tree, Node) else [tree]
        kind = numeric_kind(frame)
        if kind is None or kind.kind != ARRAY or len(kind.shape) != len(self.extents):
            return None
        has = tree.key.extents if isinstance(tree, Node) else (None,) * len(self.extents)
        parts, children = iter(rest), [frame]
        for n, wanted, given in zip(kind.shape, self.extents, has, strict=True):
            children += _whole(wanted, n) if given is None else [next(parts) for _ in range(PARTS[given])]
        return Node("sized", self, children, tree.original if isinstance(tree, Node) else None)

    def kinds(self, node: Node) -> Iterator[Kind | None]:
        """What a loop carries of such a node."""
        shape = kind_of(node.children[0]).shape       # type: ignore[union-attr]
        ends = [n for n, extent in zip(shape, self.extents, strict=True) for _ in range(PARTS[extent])]
        for child, end in zip(node.children, [0, *ends], strict=True):
            kind = numeric_kind(child)
            yield Kind(PYTHON, kind.dtype, (), (0, end)) if kind is not None and kind.kind == PYTHON else kind


def _extent(kind: type | None, parts: list[Any]) -> Extent | None:
    if kind is None:
        return None
    return Mask(wrap(parts[0]).value()) if kind is Mask else Range(*(p.value() if is_tensor(p) else p for p in parts))


def _whole(kind: type | None, n: int) -> list[Tree]:
    if kind is None:
        return []
    return [Known(np.broadcast_to(True, (n,)))] if kind is Mask else [Known(0), Known(n)]


def node_of(array: Bounded) -> Tree:
    """The tree of an array."""
    if array.region.closed:
        return Known(array)
    children = [capture(array.frame)]
    for n, extent in zip(array.frame.shape, array.extents, strict=True):
        if isinstance(extent, Mask):
            children.append(capture(Tensor.of_value(extent.value)))
        elif extent is not None:
            children += [capture(_number(end, n)) for end in (extent.start, extent.stop)]
    return Node("sized", SizedKey(tuple(None if e is None else type(e) for e in array.extents)), children, array)


SNAPSHOTS[Bounded] = lambda value, inside: node_of(value)
REBUILT["sized"] = lambda node, children: node.key.made(children)


def _number(end: Number, n: int) -> Any:
    return end if isinstance(end, int) else python_number(end, (0, n))


class Extents:
    """The slots of a loop for extents. Arrays that have the same ones before it and after each iteration share them:
    what combines such arrays need not move elements into place."""

    def __init__(self) -> None:
        self.apart: set[tuple[str, int]] = set()
        self.shared: list[Slot] = []

    def slot(self, loop: LoopState, name: str, position: int, init: ir.Value) -> Slot:
        """The slot of a part of a variable."""
        if not position or loop.carried[name].entry.kind != "sized" or (name, position) in self.apart:
            return loop.slot(init)
        found = next((slot for slot in self.shared if value_facts.same(slot.init, init)), None)
        if found is None:
            self.shared.append(found := loop.slot(init))
        return found

    def become(self, name: str, position: int, slot: Slot, after: ir.Value) -> bool:
        """Set what a slot is after an iteration. False where another variable shares it and becomes something else."""
        if slot.after is None:
            slot.after = after
        elif not value_facts.same(slot.after, after):
            self.apart.add((name, position))
            return False
        return True
