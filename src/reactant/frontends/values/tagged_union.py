"""Texts, functions, types and members of enumerations of which one is taken at run time: `kind = "up" if x > 0 else
"down"`.

An `Alternative` is a run-time number and the objects that it may mean, by their numbers in the trace
(`control.numbered`). What is done with it is done with each of them, in a chain of `if`s: calls, attributes, use as an
index. Comparisons ask the number. Loops carry the number, results and texts are made from it when the program has run.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from reactant.errors import ControlFlowError
from reactant.frontends.arrays.tensor import PYTHON, TRACED_TEXT, Tensor, is_tensor, python_number
from reactant.frontends.control import container_aliasing
from reactant.frontends.control.branches import failing_at_run_time, staged_if
from reactant.frontends.control.numbered import is_by_number, translated
from reactant.frontends.control.snapshots import REBUILT, SNAPSHOTS, capture
from reactant.frontends.control.trees import Node
from reactant.frontends.session import calls
from reactant.frontends.session.abstract import Abstract
from reactant.frontends.session.calls import KINDS, is_undecided
from reactant.frontends.session.trace import Trace, current_trace
from reactant.frontends.source import operators
from reactant.frontends.source.operators import ag__
from reactant.frontends.values import object_columns
from reactant.ir import ops


def meaning(number: Any, possible: tuple[int, ...]) -> Any:
    """The object of a number; where it is known only at run time, what stands for it."""
    trace = current_trace()
    if not is_tensor(number) or number.is_concrete():
        return trace.alternatives[int(number)]
    if len(possible) == 1:
        return trace.alternatives[possible[0]]
    if trace.by_number:
        objects = [trace.alternatives[each] for each in possible]
        if all(map(is_by_number, objects)) and object_columns.are_alike(objects):
            return object_columns.stand_in(objects, translated({n: k for k, n in enumerate(possible)}, number))
    return Alternative(number, possible)


class Alternative(Abstract):
    """The object that has the run-time `number`, one of those with the numbers `possible`. All names but these are the
    object's."""

    __slots__ = ("ag__known", "ag__number", "ag__possible")

    def __init__(self, number: Tensor, possible: tuple[int, ...]):
        self.ag__number, self.ag__possible = number, possible
        self.ag__known = current_trace().alternatives

    ag__one_of_several = True

    def ag__truth(self) -> Any:
        return self.ag__has_elements()

    def ag__same(self, other: Any) -> Any:
        if type(other) is Alternative:
            return other.ag__each(lambda x: ag__.same(self, x))
        return self.ag__each(lambda x: ag__.same(x, other)) if self.ag__are_containers() else \
            self.ag__is_one(lambda x: x is other)

    def ag__is_none(self) -> Any:
        return self.ag__is_one(lambda x: x is None)

    def ag__objects(self) -> dict[int, Any]:
        return {number: self.ag__known[number] for number in self.ag__possible}

    def ag__each(self, use: Callable[[Any], Any]) -> Any:
        """What `use` makes of the object."""

        def among(left: list[tuple[int, Any]]) -> Any:
            (number, value), *rest = left
            used = failing_at_run_time(lambda: use(value), TypeError, AttributeError, LookupError)
            return staged_if(self.ag__has(number), used, lambda: among(rest)) if rest else used()
        return among(list(self.ag__objects().items()))

    def ag__has(self, number: int) -> Any:
        return ops.compare(self.ag__number.value(), number, "EQ")

    def ag__is_one(self, test: Callable[[Any], Any]) -> Any:
        """Whether it is one of those for which `test` holds, which is asked of each now."""
        found, fitting = None, [number for number, value in self.ag__objects().items() if test(value)]
        if len(fitting) in (0, len(self.ag__possible)):
            return bool(fitting)
        for number in fitting:
            found = self.ag__has(number) if found is None else ops.or_(found, self.ag__has(number))
        return python_number(found)

    def ag__are_containers(self) -> bool:
        """Whether these can be changed."""
        return any(map(is_by_number, self.ag__objects().values()))

    def ag__content(self) -> Any:
        """What a container holds now; another one, which is not changed with it."""
        trace = current_trace()
        kinds, trace.by_number = trace.by_number, frozenset()
        try:
            return self.ag__each(lambda value: value)
        finally:
            trace.by_number = kinds

    def ag__has_elements(self) -> Any:
        """Its truth."""
        if self.ag__are_containers():
            return self.ag__each(lambda value: ag__.not_(ag__.not_(value)))
        return self.ag__is_one(bool)

    def __eq__(self, other: object) -> Any:
        if type(other) is Alternative:
            return other.ag__each(lambda value: self == value)
        if self.ag__are_containers() or is_tensor(other):
            return self.ag__each(lambda value: ag__.Eq(value, other))
        return self.ag__is_one(lambda value: value is other or value == other)

    def __ne__(self, other: object) -> Any:
        return ag__.not_(self == other)

    def __hash__(self) -> int:
        raise _refusal("is put into a set or a dict, or looked up in one")

    def __bool__(self) -> bool:
        raise _refusal("is asked for its truth")

    def __iter__(self) -> Any:
        if self.ag__are_containers():
            return iter(self.ag__content())
        raise _refusal("is looped over")

    def __contains__(self, item: object) -> bool:
        raise _refusal("is searched")

    def __format__(self, spec: str) -> str:
        return self.ag__text(lambda value: format(value, spec))

    def __str__(self) -> str:
        return self.ag__text(str)

    def __repr__(self) -> str:
        return self.ag__text(repr)

    def ag__text(self, write: Callable[[Any], str]) -> str:
        """A mark that stands for it in texts; `print` writes it when the program runs."""
        if self.ag__are_containers():
            return write(self.ag__content())
        written = {number: write(value) for number, value in self.ag__objects().items()}
        described = TRACED_TEXT + " or ".join(written.values()).replace(">", ")")
        trace = Trace.current()
        if trace is None or self.ag__number.storage.region.closed:
            return f"{described}>"
        trace.texts.append((Tensor.of_value(self.ag__number.value(), PYTHON), written.__getitem__))
        return f"{described} #{len(trace.texts) - 1}>"

    def __getitem__(self, index: Any) -> Any:
        return self.ag__each(lambda value: ag__.get_item(value, index))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if any(callable(getattr(type(x), name, None)) for x in self.ag__objects().values()):
            return Method(self, name)
        return self.ag__each(lambda value: ag__.get_attr(value, name))


def _in_place(kind: str) -> Callable[[Alternative, Any], Any]:
    def apply(self: Alternative, other: Any) -> Any:
        if kind == "Add" and all(container_aliasing.type_of(x) is list for x in self.ag__objects().values()):
            Method(self, "extend").call((other,), {})
            return self
        return self.ag__each(lambda value: ag__.inplace(kind, value, other))
    return apply


def _on_each(kind: str, mirrored: bool) -> Callable[..., Any]:
    def apply(self: Alternative, *other: Any) -> Any:
        return self.ag__each(lambda value: getattr(ag__, kind)(*((*other, value) if mirrored else (value, *other))))
    return apply


for _kind, _function in operators.INPLACE.items():
    setattr(Alternative, f"__{_function.__name__}__", _in_place(_kind))
for _kind, _function in operators.ARITHMETIC.items():       # members of `IntEnum` and `Flag` are numbers, too
    if _kind not in ("Eq", "NotEq"):
        setattr(Alternative, f"__{_function.__name__.strip('_')}__", _on_each(_kind, False))
    if _kind in operators.INPLACE:
        setattr(Alternative, f"__r{_function.__name__.strip('_')}__", _on_each(_kind, True))


CHANGING: list[Callable[[Alternative, str, tuple, dict], Any]] = []
"""Who is asked before a method is called on each of the objects; NotImplemented where that is right."""


class Method:
    """A method of the object that an `Alternative` stands for."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Alternative, name: str):
        self.owner, self.name = owner, name

    def call(self, arguments: tuple, keywords: dict) -> Any:
        for changing in CHANGING:
            if (found := changing(self.owner, self.name, arguments, keywords)) is not NotImplemented:
                return found
        return self.owner.ag__each(lambda value: calls.call(ag__.get_attr(value, self.name), *arguments, **keywords))


def _refusal(what: str) -> ControlFlowError:
    return ControlFlowError(f"A value that is one of several texts, functions or other objects {what}: which one it "
                            "is, is known only at run time.",
                            hint="Decide with `if` on the numbers that it was chosen by.",
                            code="one-of-several-objects")


# ---- calls -----------------------------------------------------------------------------------------------------

SPEAKING = (print, warnings.warn, str, repr, format)
"""Functions that take what stands for an object."""


def for_each_of(function: Any, arguments: tuple, keywords: dict) -> bool:
    """Whether an argument stands for an object, and the function cannot take that: it is not converted."""
    undecided = {type(x) for x in (*arguments, *keywords.values()) if is_undecided(x)}
    if not undecided or type(function) is Alternative:
        return False
    if getattr(function, "__code__", None) is calls.SINGLEDISPATCH:
        return bool(arguments) and is_undecided(arguments[0])
    if calls.takes_anything(function) or function in SPEAKING or Alternative not in undecided and _looks(function):
        return False
    return not (isinstance(function, type) and issubclass(function, BaseException)) and not (
        getattr(function, "__module__", None) or "").startswith("logging")


_LAZY = (enumerate, zip, iter, reversed, map, filter, range, next)


def _looks(function: Any) -> bool:
    """Whether a function looks at what may be None itself, or keeps it: NumPy's and methods, but those of dicts and
    sets, to which None is a key like others."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (dict, set, frozenset)):
        return False
    return function in _LAZY or owner is not None and type(owner) is not ModuleType or type(function) is np.ufunc \
        or (getattr(function, "__module__", None) or "").partition(".")[0] in ("numpy", "jax")


def of_each(function: Any, arguments: tuple, keywords: dict) -> Any:
    """The call with each of the objects."""
    at = next((k for k, x in enumerate(arguments) if is_undecided(x)), None)
    if at is not None:
        before, argument, after = arguments[:at], arguments[at], arguments[at + 1:]
        return argument.ag__each(lambda x: of_each(function, (*before, x, *after), keywords))
    name = next((name for name, x in keywords.items() if is_undecided(x)), None)
    if name is not None:
        return keywords[name].ag__each(lambda x: of_each(function, arguments, {**keywords, name: x}))
    return calls.call(function, *arguments, **keywords)


def _called(function: Alternative, arguments: tuple, keywords: dict) -> Any:
    return function.ag__each(lambda value: calls.call(value, *arguments, **keywords))


def _snapshot(value: Alternative, inside: tuple[int, ...]) -> Node:
    return Node("alternative", value.ag__possible, [capture(value.ag__number)], value)


SNAPSHOTS[Alternative] = _snapshot
REBUILT["alternative"] = lambda node, children: meaning(children[0], node.key)
KINDS[Alternative] = _called
KINDS[Method] = Method.call
