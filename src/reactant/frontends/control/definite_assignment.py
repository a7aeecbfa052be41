"""Variables that a loop binds first: the loop begins with zeros for them, and with whether an iteration has bound
them."""
from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from reactant.frontends.arrays.tensor import ARRAY, Tensor, python_number
from reactant.frontends.control import branches
from reactant.frontends.control.loop_carried import Carried, if_defined, may_be_elsewhere, numeric_kind, truth_of
from reactant.frontends.control.loop_optional import nothing_like
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import Made, MaybeBound, value_of, with_leaves
from reactant.frontends.control.trees import Held, Kind, Known, Node, Tree
from reactant.frontends.source.operators import UNSET
from reactant.ir import ops


def unbound_like(loop: LoopState, name: str, after: Tree) -> tuple[Tree, list[Kind | None]]:
    """The tree, and its kinds, of a variable that no iteration has bound yet and that iterations read: `after` when one
    has."""
    made = Node("maybe", name, [Known(False), nothing_like(loop, _parts(after)[1])], None)
    return made, [numeric_kind(leaf) for leaf in made.leaves()]


def begin(loop: LoopState, name: str, carried: Carried, after: Tree) -> None:
    """Carry a variable that is bound in the body and that no iteration reads before that."""
    defined, after = _parts(after)
    carried.entry, carried.late, carried.kinds = after, defined, []
    for leaf in after.leaves():
        kind = numeric_kind(leaf)
        carried.kinds.append(kind)
        if kind is None:
            carried.slots.append(None)
            continue
        with ir.InsertionPoint(loop.outer):
            init = truth_of(loop.entries[name]) if name in loop.flags else ops.constant(0, kind.dtype, kind.shape)
        slot = loop.slot(init)
        carried.slots.append(slot)
        with ir.InsertionPoint(loop.block):
            slot.after = if_defined(defined, value_of(leaf, kind), slot.body)
    if isinstance(defined, Held):
        with ir.InsertionPoint(loop.outer):
            carried.bound = loop.slot(ops.constant(False))
        with ir.InsertionPoint(loop.block):
            carried.bound.after = ops.or_(carried.bound.body, truth_of(defined))


def _parts(after: Tree) -> tuple[Tree, Tree]:
    """Whether an iteration binds it, and to what."""
    return (after.children[0], after.children[1]) if after.kind == "maybe" \
        else (Known(True), after)


def end(loop: LoopState, name: str, carried: Carried, made: Made, meeting: Any) -> Any:
    """What the variable is after the loop; `made`: containers that the last iteration has left."""
    values = [leaf.object if slot is None else loop.arrays.after(name, leaf, slot.result)
              if kind.kind == ARRAY else Tensor.of_value(slot.result, kind.kind)
              for leaf, kind, slot in zip(carried.entry.leaves(), carried.kinds, carried.slots, strict=True)]
    value = with_leaves(carried.entry, iter(values), made=made if carried.bound is None else None)
    may_be_elsewhere(value, carried.entry, meeting)
    if loop.entries[name].is_(UNSET) or name in loop.flags:
        return value
    bound = loop.ran if carried.bound is None else carried.bound.result
    if name in loop.demands.unset and bound is not True:
        return branches.staged_if(bound, lambda: value, lambda: loop.before[name])
    return value if bound is True else MaybeBound(name, python_number(bound), value)
