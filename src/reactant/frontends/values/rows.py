"""Lists as rows: the structure of their elements, how many there may be, and queues, whose rows are a ring."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ListTooLong
from reactant.frontends.arrays.tensor import ARRAY, PYTHON
from reactant.frontends.control.snapshots import (
    ROWS,
    Mismatch,
    joined,
    kind_of,
)
from reactant.frontends.control.trees import Kind, Known, Node, Stacked, Tree
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import shape_of
from reactant.support.records import dataclass


@dataclass(frozen=True, eq=False)
class RowsKey:
    """The structure of a list's elements. most: there may be no more of them."""

    tree: Tree
    stands_for: type
    most: int | None = None

    def rows_of(self, node: Node) -> Node | None:
        """A list as rows of such elements; None where it holds others."""
        if node.kind == "rows":
            return node if node.key.stands_for is self.stands_for and self.tree.alike(node.key.tree) else None
        if node.kind != "list" or self.stands_for is not list or not all(self.tree.alike(c) for c in node.children):
            return None
        elements = [list(child.leaves()) for child in node.children]
        found: list[Tree] = [Known(len(elements))]
        for position in range(len(list(self.tree.leaves()))):
            parts = [parts[position] for parts in elements]
            try:
                kinds = [kind_of(part) for part in parts]
                if any(kind is None or kind.kind == ARRAY for kind in kinds):
                    return None
                kind = reduce(joined, kinds) if kinds else Kind(PYTHON, np.dtype(bool))
            except Mismatch:
                return None
            found.append(Stacked(parts, Kind(ROWS[kind.kind], kind.dtype, (len(parts), *kind.shape))))
        return Node("rows", self, found, node.original)


def too_long(capacity: int) -> Callable[[], ListTooLong]:
    """The error of a program that then runs again with more room: what it says is kept until it has had enough."""
    current_trace().may_repeat = True
    return lambda: ListTooLong(f"A list gets longer than the {capacity} elements that compiled code has set aside "
                               "for it.", hint=f"Give it room: reactant.jit(f, list_capacity={16 * capacity}).")


def ring_place(head: ir.Value, position: ir.Value, capacity: int) -> ir.Value:
    """Where the element at a position stands in a ring."""
    beyond = ops.add(head, position)
    return ops.select(ops.compare(beyond, capacity, "GE"), ops.subtract(beyond, capacity), beyond)


def straightened(rows: ir.Value, head: ir.Value | None) -> ir.Value:
    """A ring as an array that begins with its first element."""
    if head is None:
        return rows
    shape = list(shape_of(rows))
    zeros = [ops.constant(0, np.int64) for _ in shape[1:]]
    return ops.dynamic_slice(ops.concatenate([rows, rows], 0), [head, *zeros], shape)
