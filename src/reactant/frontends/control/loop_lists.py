"""Lists that the variables of a loop are bound to anew, and whose length is only known at run time: `frontier =
found`."""
from __future__ import annotations

import dataclasses

import numpy as np

from reactant.frontends.arrays.reach import look
from reactant.frontends.arrays.tensor import PYTHON
from reactant.frontends.control.loop_carried import are_alike, is_in_one_place, numeric_kind, with_parts
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import joined
from reactant.frontends.control.trees import ABSENT, Kind, Node, Tree
from reactant.frontends.session.trace import current_trace
from reactant.options import CompileOptions


def as_rows(entry: Tree, after: Tree, kinds: list[Kind | None]) -> tuple[Tree, list[Kind | None]]:
    """A variable that is, or holds, a list before the loop and one of run-time length after an iteration: what it is at
    the start of an iteration, with room for `list_capacity` elements."""
    if not (isinstance(entry, Node) and isinstance(after, Node) and "rows" in (entry.kind, after.kind)):
        return with_parts(entry, after, kinds, as_rows) if are_alike(entry, after) else (entry, kinds)
    key = (after if after.kind == "rows" else entry).key
    before, later = key.rows_of(entry), key.rows_of(after)
    if before is None or later is None:
        return entry, kinds     # `unify` says why
    both = [joined(numeric_kind(a), numeric_kind(b)) for a, b in zip(before.children, later.children, strict=True)]
    if entry.kind == "rows" and (entry.key.most is not None or all(
            k.shape == numeric_kind(a).shape for k, a in zip(both[1:], before.children[1:], strict=True))):
        return entry, kinds
    options = current_trace().options or CompileOptions()
    most = max(options.list_capacity, *(numeric_kind(part).shape[0] for part in before.children[1:]))
    kinds = [Kind(PYTHON, np.dtype(np.int64), (), numeric_kind(before.children[0]).interval),
             *(dataclasses.replace(kind, shape=(most, *kind.shape[1:])) for kind in both[1:])]
    return Node("rows", dataclasses.replace(key, most=most), before.children, entry.original), kinds


def fresh(loop: LoopState) -> frozenset[str]:
    """The variables that are bound anew, and are empty lists before that nobody else knows."""
    entries = {n: loop.entries.get(n, ABSENT) for n in loop.rebound}
    empty = [n for n, entry in entries.items() if entry.kind == "list" and not entry.children]
    if not empty:
        return frozenset()
    heap = look(loop.variables.cells.values())
    return frozenset(n for n in empty if is_in_one_place(loop.entries[n], heap))
