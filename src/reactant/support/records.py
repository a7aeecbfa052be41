"""`dataclass` as in the standard library, but the methods are written when the first object is made.

Writing them takes 0.3 ms a class, and a process that compiles one program makes objects of one in five of ours. What
is asked of a class before (`dataclasses.fields`, a default) is not there yet: such a class takes the standard one.
"""
from __future__ import annotations

import dataclasses
import reprlib
import threading
from typing import TYPE_CHECKING, Any

_options: dict[type, dict[str, Any]] = {}
"""Of the classes whose methods are not written yet."""

_LOCK = threading.RLock()

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass`, later."""
        return _later(cls, options) if cls is not None else lambda cls: _later(cls, options)


def _later(cls: type, options: dict[str, Any]) -> type:
    if options.get("slots") or "__init__" in vars(cls):     # it will be another class, or be made without us
        _write_bases(cls)
        return dataclasses.dataclass(cls, **options)

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        _write(cls)
        cls.__init__(self, *args, **kwargs)     # type: ignore[misc]

    _options[cls] = options
    cls.__init__ = first        # type: ignore[misc]
    return cls


def _write_bases(cls: type) -> None:
    for base in cls.__mro__[:0:-1]:
        _write(base)


def _write(cls: type) -> None:
    """Write the methods of a class, `__init__` last: until it is there, other threads wait here."""
    with _LOCK:
        options = _options.pop(cls, None)
        if options is None:
            return
        _write_bases(cls)
        dataclasses.dataclass(cls, **{**options, "init": False, "repr": False, "eq": False})
        _compare_later(cls, options.get("eq", True), options.get("frozen", False))
        cls.__init__ = _initialiser(cls)        # type: ignore[misc]


def _compare_later(cls: type, eq: bool, frozen: bool) -> None:
    """Give a class what the standard one has for `repr`, `==` and `hash`; the latter two are written when they are
    first asked for."""
    held = vars(cls)
    if "__repr__" not in held:
        names = [f.name for f in dataclasses.fields(cls) if f.repr]     # type: ignore[arg-type]

        @reprlib.recursive_repr()
        def shown(self: Any) -> str:
            return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"
        cls.__repr__ = shown        # type: ignore[method-assign, assignment]
    hashed = "__hash__" in held and not (held["__hash__"] is None and "__eq__" in held)
    if not eq:
        return
    if "__eq__" not in held:
        def equal(self: Any, other: Any) -> Any:
            _write_comparisons(cls)
            return cls.__eq__(self, other)      # type: ignore[call-arg]
        cls.__eq__ = equal          # type: ignore[method-assign, assignment]
    if not hashed and frozen:
        def digest(self: Any) -> int:
            _write_comparisons(cls)
            return cls.__hash__(self)           # type: ignore[call-arg]
        cls.__hash__ = digest       # type: ignore[method-assign, assignment]
    elif not hashed:
        cls.__hash__ = None         # type: ignore[assignment]


def _write_comparisons(cls: type) -> None:
    """Write `==` and `hash` of a class where they are still to be written."""
    fields = dataclasses.fields(cls)        # type: ignore[arg-type]
    compared = [f.name for f in fields if f.compare]
    hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
    known: dict[str, Any] = {"__name__": cls.__module__}        # whose functions they are
    exec(f"""
def equal(self, other):
    if other.__class__ is self.__class__:
        return {_parts("self", compared)} == {_parts("other", compared)}
    return NotImplemented
def digest(self):
    return hash({_parts("self", hashed)})
""", known)
    for name, made in (("__eq__", known["equal"]), ("__hash__", known["digest"])):
        if getattr(vars(cls).get(name), "__name__", "") == made.__name__:
            setattr(cls, name, made)


def _parts(of: str, names: list[str]) -> str:
    return f"({''.join(f'{of}.{name}, ' for name in names)})"


def _initialiser(cls: type) -> Any:
    """What the standard one would be, which would write all other methods once more with it."""
    known: dict[str, Any] = {"__name__": cls.__module__, "_put_": object.__setattr__, "_missing_": object()}
    parameters, lines = ["self"], []
    fields = [f for f in dataclasses.fields(cls) if f.init]     # type: ignore[arg-type]
    if any(f.kw_only for f in fields) or len(fields) != len(dataclasses.fields(cls)) or hasattr(cls, "__post_init__"):
        heir = type(cls.__name__, (cls,), {"__qualname__": cls.__qualname__, "__module__": cls.__module__})
        frozen = cls.__dataclass_params__.frozen        # type: ignore[attr-defined]
        return dataclasses.dataclass(heir, repr=False, eq=False, frozen=frozen).__init__    # type: ignore[misc]
    for f in fields:
        given = f.name
        if f.default is not dataclasses.MISSING:
            known[f"_default_{f.name}"] = f.default
            given = f"{f.name}=_default_{f.name}"
        elif f.default_factory is not dataclasses.MISSING:
            known[f"_make_{f.name}"] = f.default_factory
            given = f"{f.name}=_missing_"
            lines.append(f"if {f.name} is _missing_: {f.name} = _make_{f.name}()")
        parameters.append(given)
        lines.append(f"_put_(self, {f.name!r}, {f.name})")
    text = "\n    ".join([f"def __init__({', '.join(parameters)}):", *(lines or ["pass"])])
    exec(text, known)
    made = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made
