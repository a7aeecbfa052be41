"""What objects hold (in their `__dict__`, and in slots of their classes), and what their classes are."""
from __future__ import annotations

import functools
from typing import Any

HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE, of `type.__flags__`: the class was made by a class statement."""


@functools.cache
def is_of_python(cls: type) -> bool:
    """Whether an instance has no content that only C code sees."""
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True


def slots(x: Any) -> list[str]:
    """The names of an object's attributes that are slots of its class."""
    return slots_of(type(x))


def slots_of(kind: type) -> list[str]:
    """The names of the slots of a class."""
    found = []
    for cls in kind.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        found += [_mangled(s, cls) for s in ([slots] if isinstance(slots, str) else slots)]
    return [s for s in found if s not in ("__dict__", "__weakref__")]


def _mangled(name: str, cls: type) -> str:
    """The name that a slot has in its class."""
    private = name.startswith("__") and not name.endswith("__")
    return f"_{cls.__name__.lstrip('_')}{name}" if private else name


def attributes(x: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots included."""
    return {**getattr(x, "__dict__", {}), **{s: getattr(x, s) for s in slots(x) if hasattr(x, s)}}
