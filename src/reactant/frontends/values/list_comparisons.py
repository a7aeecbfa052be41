"""Comparisons of lists whose length is known only at run time, with each other and with known lists."""
from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import ARRAY, Tensor, python_number
from reactant.frontends.control.sequences import ORDERS
from reactant.frontends.control.snapshots import padded
from reactant.frontends.control.trees import Known, Tree
from reactant.frontends.source.operators import ARITHMETIC, ag__
from reactant.frontends.values.dynamic_list import RunTimeList
from reactant.frontends.values.items_as_rows import of_items
from reactant.frontends.values.list_changes import Changes, those_before
from reactant.ir import ops

ORDERED = {"Lt": ("<", "LT"), "LtE": ("<=", "LE"), "Gt": (">", "GT"), "GtE": (">=", "GE")}


def compared(kind: str, left: Any, right: Any) -> Any:
    """`left kind right`, one of which is a list of run-time length."""
    if any(not isinstance(x, Changes) and hasattr(type(x), "__array_ufunc__") for x in (left, right)):
        return ARITHMETIC[kind](left, right)        # NumPy makes an array of the list
    types = [getattr(type(x), "stands_for", type(x)) if not isinstance(x, Changes) else x.stands_for
             for x in (left, right)]
    if types[0] is not types[1] or types[0] not in (list, tuple, deque):
        if kind in ORDERED:
            raise TypeError(f"'{ORDERED[kind][0]}' not supported between instances of '{types[0].__name__}' and "
                            f"'{types[1].__name__}'")
        return kind == "NotEq"
    if left is right:
        return ORDERS.get(kind, kind == "Eq")
    first, second = _viewed(left), _viewed(right)
    if type(first) is not RunTimeList and type(second) is not RunTimeList:      # nothing has been appended yet
        return getattr(ag__, kind)(first, second)
    equal, place, (first, second), (n, m) = _met(first, second)
    if kind in ("Eq", "NotEq"):
        found = python_number(ops.and_(equal, ops.compare(n, m, "EQ")))
        return found if kind == "Eq" else ag__.not_(found)
    by_length = python_number(ops.compare(n, m, ORDERED[kind][1]))
    if place is None:
        return by_length
    return ag__.if_exp(python_number(equal), lambda: by_length,
                       lambda: getattr(ag__, kind)(_element(first, place), _element(second, place)))


Changes.ag__compared = staticmethod(compared)      # type: ignore[attr-defined]


def _viewed(x: Any) -> Any:
    """A list as it is now: in rows, or known."""
    if isinstance(x, Changes):
        return x.view()
    return list(x)


def _element(x: RunTimeList, place: ir.Value) -> Any:
    return x.at(python_number(place, (0, max(x.room - 1, 0))))


def _met(first: Any, second: Any) -> tuple[ir.Value, ir.Value | None, list[Any], list[ir.Value]]:
    """Whether two lists agree as far as both go, where else they first do not, both in rows, and their lengths."""
    if not _has_any(first) or not _has_any(second):
        return ops.constant(True), None, [first, second], [_length(first), _length(second)]
    both: list[Any] = [x if type(x) is RunTimeList else of_items(x, widest=True) for x in (first, second)]
    if None in both or not all(_is_comparable(x.tree) for x in both) or not both[0].tree.alike(both[1].tree):
        raise UnsupportedError("A list of run-time length is compared whose elements are no numbers or texts, or "
                               "tuples of such, of one structure.", hint="Compare their elements in a loop.",
                               code="list-of-run-time-length")
    room = min(x.room for x in both)
    lengths = [_length(x) for x in both]
    differ = ops.not_(_agreeing(both[0], both[1], room))
    differ = ops.and_(differ, those_before(ops.minimum(*lengths), room))
    place = np.argmax(Tensor.of_value(differ)).value()
    return ops.not_(ops.reduce(differ, False, [0], "or")), place, both, lengths


def _has_any(x: Any) -> bool:
    return bool(x) if type(x) is list else x.room > 0


def _length(x: Any) -> ir.Value:
    return ops.constant(len(x), np.int64) if type(x) is list else x.content()[1]


def _is_comparable(tree: Tree) -> bool:
    return tree.kind in ("", "tuple", "list", "alternative") and all(map(_is_comparable, tree.children))


def _agreeing(first: RunTimeList, second: RunTimeList, room: int) -> ir.Value:
    """For each of the first places, whether the elements there are equal."""
    found = ops.constant(True, np.bool_, (room,))
    for a, b, one, other, kind, partner in zip(first.tree.leaves(), second.tree.leaves(), first.content()[0],
                                               second.content()[0], first.kinds, second.kinds, strict=True):
        if kind is None or partner is None:
            if kind is not partner:
                return ops.constant(False, np.bool_, (room,))
            assert isinstance(a, Known) and isinstance(b, Known)
            found = ops.and_(found, ops.constant(bool(a.value == b.value), np.bool_, (room,)))
        elif ARRAY in (kind.kind, partner.kind):
            raise UnsupportedError("Arrays in a list of run-time length are compared.", hint="Compare numbers.",
                                   code="list-of-run-time-length")
        else:
            equal = Tensor.of_value(padded(one, room)) == Tensor.of_value(padded(other, room))
            found = ops.and_(found, equal.value())
    return found
