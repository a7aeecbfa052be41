"""Known elements of a list as rows, so that a run-time index picks one."""
from __future__ import annotations

from functools import reduce

import numpy as np

from reactant.frontends.arrays.creation import side_by_side
from reactant.frontends.arrays.layouts import is_permuted
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import Picked, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor
from reactant.frontends.control.snapshots import (
    Mismatch,
    capture,
    joined,
    kind_of,
    value_of,
)
from reactant.frontends.control.trees import Held, Kind, Known, Tree
from reactant.frontends.session.dispatch import means
from reactant.frontends.values.dynamic_list import RunTimeList
from reactant.ir import ops
from reactant.ir.types import shape_of, size

MOST_STACKED = 1 << 20
"""Bytes of arrays in a list up to which they are copied side by side, in each call, so that a loop can pick from them:
twenty layers of a network are rather unrolled."""


@means("rows_of")
def of_items(items: list | tuple, widest: bool = False, arrays: bool = False) -> RunTimeList | None:
    """Known elements as rows, so that a run-time index picks one; None where they do not have one structure, or hold
    other objects. `widest`: numbers of several types become the widest of them. `arrays`: also arrays, of one shape and
    dtype; what is picked is guarded, since others see them."""
    trees = [capture(x) for x in items]
    if not trees or not _is_flat(trees[0]) or not all(trees[0].alike(tree) for tree in trees):
        return None
    kinds: list[Kind | None] = []
    rows: list[Storage | None] = []
    seen: set[Storage] = set()
    for parts in zip(*(tree.leaves() for tree in trees), strict=True):
        try:
            found = [kind_of(part) for part in parts]
            kind = reduce(joined, found) if None not in found else None
        except Mismatch:
            return None
        if kind is None or not widest and any((k.kind, k.dtype) != (kind.kind, kind.dtype) for k in found):
            return None
        if kind.kind == ARRAY:
            if not arrays or len(items) * size(kind.shape) * kind.dtype.itemsize > MOST_STACKED or any(
                    not isinstance(part, Held) or is_permuted(kind.shape, part.tensor.strides_) for part in parts):
                return None
            seen |= {root for part in parts for root in roots_of(part.tensor.storage)}
        if all(isinstance(part, Known) for part in parts):
            whole = ops.constant(np.array([part.value for part in parts], kind.dtype))
        else:
            whole = side_by_side([value_of(part, kind) for part in parts], 0, (1, *kind.shape))
        kinds.append(kind)
        rows.append(Storage(shape_of(whole), kind.dtype, whole))
    guarded = (lambda value: Tensor(Picked("an element", seen, value))) if seen else None
    return RunTimeList([], trees[0], kinds, rows, ops.constant(len(items), np.int64), guarded, len(items),
                       capacity=len(items))


def _is_flat(tree: Tree) -> bool:
    """Whether it is a number, or tuples of such."""
    return tree.kind in ("", "tuple") and all(map(_is_flat, tree.children))
