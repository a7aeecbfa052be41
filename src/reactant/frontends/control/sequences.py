"""Comparisons of tuples, lists and dicts whose elements are known at run time only: one by one, as Python compares
them. Lists and tuples that are repeated as often as decided at run time."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactant.frontends.arrays.tensor import ARRAY, PYTHON, is_tensor, python_number
from reactant.frontends.session import calls
from reactant.frontends.source import conversion
from reactant.frontends.source.operators import ARITHMETIC, ag__
from reactant.ir import ops
from reactant.support.attributes import HEAP_TYPE

ORDERS = {"Lt": False, "Gt": False, "LtE": True, "GtE": True}
"""Orders, and what they say of equal sequences."""


def depends(left: Any, right: Any) -> bool:
    """Whether it is known only at run time how two sequences, or two dicts, compare."""
    if isinstance(left, dict) and isinstance(right, dict):
        return type(left).__eq__ is type(right).__eq__ is dict.__eq__ and (_has_tensors(left) or _has_tensors(right))
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in (tuple, list)) \
        and (_has_tensors(left) or _has_tensors(right))


def _has_tensors(held: tuple | list | dict) -> bool:
    """Whether there are traced values, or objects of a user's class, which may hold some."""
    return any(is_tensor(x) or isinstance(x, (tuple, list, dict)) and _has_tensors(x) or type(x).__flags__ & HEAP_TYPE
               for x in (held.values() if isinstance(held, dict) else held))


def compared(kind: str, left: Any, right: Any) -> Any:
    """`left kind right` of tuples, lists, or dicts."""
    if isinstance(left, dict):
        if kind not in ("Eq", "NotEq"):
            return ARITHMETIC[kind](left, right)        # raises
        if left.keys() != right.keys():
            return kind == "NotEq"
        left, right = list(left.values()), [right[key] for key in left]
    if kind == "Eq":
        return _equal(left, right)
    return ag__.not_(_equal(left, right)) if kind == "NotEq" else _ordered(kind, left, right)


def _equal(left: tuple | list, right: tuple | list) -> Any:
    found: Any = len(left) == len(right)
    for a, b in zip(left, right, strict=False):
        if found is False:
            break
        found = _chosen(found, lambda a=a, b=b: _same(a, b), False)     # type: ignore[misc]
    return found


def _ordered(kind: str, left: tuple | list, right: tuple | list) -> Any:
    found: Any = ORDERS[kind] if len(left) == len(right) else _truth(getattr(ag__, kind)(len(left), len(right)))
    for a, b in reversed(list(zip(left, right, strict=False))):
        rest = found
        found = _chosen(_same(a, b), lambda rest=rest: rest,            # type: ignore[misc]
                        lambda a=a, b=b: _truth(getattr(ag__, kind)(a, b)))     # type: ignore[misc]
    return found


def _same(a: Any, b: Any) -> Any:
    return True if a is b else _truth(ag__.Eq(a, b))


def _truth(value: Any) -> Any:
    if not is_tensor(value) or value.is_concrete() or value.size != 1:
        return bool(value)          # raises for arrays
    return ag__.not_(ag__.not_(value)) if value.dtype.kind != "b" or value.shape else python_number(value.value())


def _chosen(test: Any, then: Callable[[], Any], otherwise: Any) -> Any:
    """`then() if test else otherwise()` for truths."""
    other = otherwise if callable(otherwise) else lambda: otherwise
    if not is_tensor(test):
        return then() if test else other()
    values = [v.value() if is_tensor(v) else ops.constant(bool(v)) for v in (then(), other())]
    return python_number(ops.select(test.value(), *values))


def repeated(left: Any, right: Any) -> Any:
    """`items * times`, where it is known only at run time how many times; None for other products."""
    items, times = (left, right) if is_tensor(right) else (right, left)
    if type(items) not in (list, tuple) or not is_tensor(times) or times.kind == ARRAY or times.is_concrete():
        return None
    if times.dtype.kind not in "iu" and not (times.dtype.kind == "b" and times.kind == PYTHON):
        raise TypeError(f"can't multiply sequence by non-int of type '{times.__class__.__name__}'")
    made = calls.call(_times, list(items), times + 0)
    return made if type(items) is list else calls.call(tuple, made)


def _times(items: list, times: int) -> list:
    return [item for _ in range(times) for item in items]


conversion.convert_always(_times)
