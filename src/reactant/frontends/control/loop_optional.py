"""Variables of a loop that are None before it or after an iteration, and else have a value: carried as whether, and
which. Texts and other objects of which one is taken at run time: carried as a number. Arrays that get a run-time size:
with their extents."""
from __future__ import annotations

from types import FunctionType

from jaxlib.mlir import ir

from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control import numbered
from reactant.frontends.control.demands import Peel
from reactant.frontends.control.joins import (
    Broken,
    Keep,
    as_alternative,
    as_slice,
    has_numbers,
    is_choosable,
    is_none,
    is_optional,
    is_slice,
    unify,
    widened,
)
from reactant.frontends.control.loop_carried import are_alike, mismatch, numeric_kind, with_parts
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import capture
from reactant.frontends.control.trees import Kind, Known, Node, Tree
from reactant.frontends.session.retracing import Retrace
from reactant.ir import ops


def carried_as(loop: LoopState, name: str, entry: Tree, after: Tree, kinds: list[Kind | None]) -> tuple[Tree, list]:
    """The tree to begin with, and its kinds, where a variable has another one after an iteration. (Where each iteration
    gives it a value, a `for` runs the first one on its own.)"""
    if is_slice(entry) and is_slice(after):
        if isinstance(entry, Node) or isinstance(unify(entry, after), Keep):
            return entry, kinds
        made = as_slice(entry)
        return made, [numeric_kind(leaf) for leaf in made.leaves()]
    if are_alike(entry, after):
        return with_parts(entry, after, kinds, lambda child, end, own: carried_as(loop, name, child, end, own))
    if (content := numbered.content_of_one(entry)) is not None and not is_choosable(after):
        tree = capture(content)     # iterations put new ones in its place
        return tree, [numeric_kind(leaf) for leaf in tree.leaves()]
    if (sized := as_sized(entry, after)) is not None:
        return sized, list(sized.key.kinds(sized))
    if is_choosable(entry) and is_choosable(after) and _settles(after):
        return _chosen(entry, after, kinds)
    if is_optional(after) and not is_optional(entry) and not is_none(entry) and has_numbers(entry):
        made = Node("optional", (), [Known(True), entry], None)
        return made, [numeric_kind(leaf) for leaf in made.leaves()]
    if not is_none(entry) or is_none(after) or not has_numbers(after):
        return entry, kinds
    value = after.children[1] if is_optional(after) else after
    if value is after and type(loop.count) is int and loop.start == 0:
        raise Retrace(Peel(mismatch(loop, name, Broken("None and a value"))))
    made = Node("optional", (), [Known(False), nothing_like(loop, value)], None)
    return made, [numeric_kind(leaf) for leaf in made.leaves()]


def _settles(after: Tree) -> bool:
    """Whether it is no function that each iteration makes anew."""
    return not isinstance(after, Known) or not isinstance(after.value, FunctionType)


def _chosen(entry: Tree, after: Tree, kinds: list[Kind | None]) -> tuple[Tree, list]:
    """An object that iterations choose: carried with all the numbers that it may have."""
    before, end = as_alternative(entry), as_alternative(after)
    made = widened(before, end)
    if made.key == before.key or len(made.key) > numbered.most(made.key):
        return entry, kinds
    return made, [numeric_kind(leaf) for leaf in made.leaves()]


def nothing_like(loop: LoopState, tree: Tree) -> Tree:
    """Zeros in the place of numbers and arrays, made before the loop; nothing reads them."""
    if isinstance(tree, Node):
        return Node(tree.kind, tree.key, [nothing_like(loop, c) for c in tree.children], tree.original)
    kind = numeric_kind(tree)
    if kind is None:
        return tree
    with ir.InsertionPoint(loop.outer):
        made = Tensor.of_value(ops.constant(0, kind.dtype, kind.shape), kind.kind)
    loop.demands.stand_ins.add(made.storage)
    return capture(made)


def as_sized(entry: Tree, after: Tree) -> Node | None:
    """An array before a loop that is of run-time size after an iteration, or in more dimensions: what it is at the
    start of an iteration."""
    node = next((tree for tree in (after, entry) if tree.kind == "sized"), None)
    joint = None if node is None else node.key.joint(entry, after)      # type: ignore[union-attr]
    if joint is None or entry.kind == "sized" and entry.key == joint[0].key:  # type: ignore[union-attr]
        return None
    return joint[0]     # type: ignore[no-any-return]
