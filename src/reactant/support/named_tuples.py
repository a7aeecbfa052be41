"""Named tuples, also those that hold attributes beside their items (the results of SciPy's tests)."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def is_named_tuple(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(x, "_fields")


def beside(x: tuple) -> dict[str, Any]:
    """The attributes of a tuple."""
    return getattr(x, "__dict__", {})


def make(kind: type, items: Iterable[Any], names: Sequence[str] = (), attributes: Iterable[Any] = ()) -> Any:
    """A tuple of a class. As copies are made: its constructor may want other arguments, and has run."""
    made: Any = tuple.__new__(kind, items)
    if names:
        made.__dict__.update(zip(names, attributes, strict=True))
    return made


def like(x: Any, parts: Sequence[Any]) -> Any:
    """A tuple like `x` of other items and attributes."""
    return make(type(x), parts[:len(x)], tuple(beside(x)), parts[len(x):])


def parts(x: tuple) -> list[Any]:
    """Items and attributes."""
    return [*x, *beside(x).values()]
