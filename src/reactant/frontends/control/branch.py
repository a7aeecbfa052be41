"""What tracing one branch or loop body left behind."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from jaxlib.mlir import ir

from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import content_after, roots_of, view_of
from reactant.frontends.control.mutation_log import Change
from reactant.frontends.control.trees import ABSENT, Held, Node, Tree
from reactant.frontends.session.trace import Region
from reactant.support.records import dataclass

Check = tuple[ir.Value, Callable[..., BaseException]]


@dataclass
class Branch:
    """What tracing one branch or loop body left behind."""

    block: ir.Block
    states: dict[str, Tree] = field(default_factory=dict)     # variables that are bound to another object now
    objects: list[tuple[Change, Tree]] = field(default_factory=list)
    written: dict[Storage, ir.Value] = field(default_factory=dict)
    preexisting: Callable[[Storage], bool] = lambda storage: True
    checks: list[Check] = field(default_factory=list)
    outcome: Tree = ABSENT
    raised: bool = False
    region: Region | None = None

    def after(self, tree: Tree) -> Tree:
        """A value from before the branch, with the content its arrays have at the branch's end."""
        if isinstance(tree, Node):
            changed = self.changed(tree)
            return changed or Node(tree.kind, tree.key, [self.after(c) for c in tree.children], tree.original)
        if not isinstance(tree, Held) or not roots_of(tree.tensor.storage) & self.written.keys():
            return tree
        with ir.InsertionPoint(self.block):
            base = content_after(tree.tensor.storage, self.written)
            return Held(tree.tensor, base, view_of(base, tree.tensor))

    def changed(self, tree: Tree, inside: tuple[int, ...] = ()) -> Tree | None:
        """A list, dict or object that the branch changed in place, or that holds one, as it is at the branch's end."""
        if not isinstance(tree, Node) or tree.kind == "alternative" or id(tree.original) in inside:
            return None
        inside = (*inside, id(tree.original))
        end = next((after for change, after in self.objects if change.container is tree.original), None)
        if end is None:
            parts = [self.changed(c, inside) for c in tree.children]
            if tree.kind == "maybe" or not any(parts):
                return None
            return Node(tree.kind, tree.key, [p or self.after(c) for p, c in zip(parts, tree.children, strict=True)],
                        tree.original)
        kept = list(_entries(tree, end))
        key = (tree.key[0], len(kept) if tree.kind == "list" else tuple(name for name, _ in kept))
        return Node(tree.kind, key, [self.changed(child, inside) or child for _, child in kept], tree.original)


def _entries(tree: Node, end: Node) -> Iterator[tuple[Any, Tree]]:
    """The elements, keys or attributes of a changed object, as `capture` names them, with their values at the end."""
    if tree.kind == "list":
        yield from enumerate(end.children)
        return
    wanted = "key" if tree.kind == "dict" else "attribute"
    for (kind, name), child in zip(end.key[1], end.children, strict=True):
        if kind == wanted:
            yield name, child
