"""What objects hold (in their `__dict__`, and in slots of their classes), and what their classes are."""
from __future__ import annotations

import functools
from inspect import isabstract
from types import CodeType, FunctionType
from typing import Any

HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE, of `type.__flags__`: the class was made by a class statement."""


@functools.cache
def is_of_python(cls: type) -> bool:
    """Whether an instance has no content that only C code sees."""
    while isabstract(cls) or isinstance(getattr(cls, "__del__", None), FunctionType):
        # Its base holds the same content, and may be made and dropped without its finalizer.
        cls = cls.__base__ or object
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


def attributes(x: Any, noted: bool = True) -> dict[str, Any]:
    """The attributes of an object, those in slots included. noted: whether what is done with them may depend on what
    they are, so that all of them count as loaded (`Noted`)."""
    held = getattr(x, "__dict__", {})
    if noted:
        note_all(held)
    return {**held, **{s: getattr(x, s) for s in slots(x) if hasattr(x, s)}}


class Noted(str):
    """The name of an attribute in a `__dict__`, which knows whether anybody has asked for it by name: dicts compare
    the name that is asked for with theirs. It goes along into copies of the dict."""

    __slots__ = ("loaded",)

    def __new__(cls, name: str) -> Noted:
        made = super().__new__(cls, name)
        made.loaded = False
        return made

    def __eq__(self, other: object) -> bool:
        same = str.__eq__(self, other)      # type: ignore[operator]
        if same is True:
            self.loaded = True
        return same

    __hash__ = str.__hash__


def note_all(held: Any) -> None:
    """All names of a `__dict__` count as loaded."""
    if type(held) is dict:
        for name in held:
            if type(name) is Noted:
                name.loaded = True


_OF_ALL = frozenset("__dict__ vars dir copy deepcopy asdict astuple replace getmembers __getstate__ __reduce__ "
                    "__reduce_ex__".split())
"""Names in code that looks at all attributes at once."""
_OF_BEGINNING = frozenset("__init__ __new__ __init_subclass__ __class_getitem__ __set_name__".split())


@functools.cache
def asks_by_name(cls: type) -> bool:
    """Whether the methods that Python itself calls (of operators, texts, iteration) ask for attributes by their names;
    the others are seen when they are called."""
    found = [x for kind in cls.__mro__ if kind.__flags__ & HEAP_TYPE for name, x in vars(kind).items()
             if name.startswith("__") and name not in _OF_BEGINNING and isinstance(x, FunctionType)]
    return not any(_asks_for_all(x.__code__) for x in found)


def _asks_for_all(code: CodeType) -> bool:
    return not _OF_ALL.isdisjoint(code.co_names) or any(
        _asks_for_all(x) for x in code.co_consts if isinstance(x, CodeType))
