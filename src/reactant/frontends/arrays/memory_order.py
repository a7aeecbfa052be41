"""`order=`: how a new array lies in memory, or in which order elements are read."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reactant.frontends.arrays import layouts
from reactant.ir.types import Shape

ANY, NEW = "CFAK", "CF"
"""The orders that most functions take, and those that make arrays of nothing."""


def letter(order: Any, default: str = "C", permitted: str = ANY) -> str:
    """The order that NumPy takes `order` for: None is the default, and small letters and bytes do."""
    if order is None:
        return default
    if not isinstance(order, (str, bytes)):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    text = order if isinstance(order, str) else order.decode()
    found = text.upper()
    if len(found) != 1 or found not in ANY:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{text}')")
    if found not in permitted:
        raise ValueError("only 'C' or 'F' order is permitted" if permitted == NEW else
                         f"order '{found}' is not permitted for reshaping")
    return found


def strides(order: str, shape: Shape, like: Sequence[Any]) -> Shape | None:
    """Strides of a new array; None: row-major. `like`: the arrays it is made from, for "A", and one for "K"."""
    if order == "K":
        return layouts.kept_order(like[0].shape, like[0].strides_)
    return layouts.column_major_strides(shape) if order == "F" or order == "A" and _in_columns(like) else None


def _in_columns(arrays: Sequence[Any]) -> bool:
    """Whether arrays lie in columns: all, and one of them not in rows as well."""
    return all(a.flags.f_contiguous for a in arrays) and any(not a.flags.c_contiguous for a in arrays)


def rearranged(results: Any, order: str, arrays: Sequence[Any]) -> Any:
    """New arrays, made from others, as they lie where NumPy is asked for an order."""
    chosen = "F" if order == "F" or order == "A" and _in_columns(arrays) else "C"
    return tuple(r.copy(chosen) for r in results) if type(results) is tuple else results.copy(chosen)
