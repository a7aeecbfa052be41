"""Follow calls: `ag__.call` and the other operators that end in a user's Python function.

A call goes, in this order, to the replacement registered for the callable; into a converted copy of a Python function,
method, partial, class or callable object; or to the callable itself (C functions, libraries that run as they are).
"""
from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    TracebackType,
)
from typing import Any

from reactant.errors import ConcreteValueNeeded, UnsupportedAttribute, UnsupportedError
from reactant.frontends.session.dispatch import meaning
from reactant.frontends.session.foreign_functions import full_name, is_library, may_keep, takes_apart
from reactant.frontends.source.conversion import convert, followed, is_converted, is_converted_always, is_user_file
from reactant.frontends.source.jax_recognition import computes_with_jax, of_jax
from reactant.frontends.source.operators import ag__
from reactant.support import foreign
from reactant.support.attributes import note_all
from reactant.support.session import SESSION, Called, note_set

REPLACEMENTS: dict[Any, Callable] = {}
"""What to call instead: NumPy functions, builtins, `math`... by the callable itself."""

KINDS: dict[type, Callable[[Any, tuple, dict], Any]] = {}
"""How objects of a type are called, and the bound methods of such objects: `handler(function, arguments, keywords)`."""

LOOKS: list[Callable[[Any, tuple, dict], None]] = []
"""What looks at each call of a Python function, and may refuse it."""

UNWRAPPED: dict[type, str] = {}
"""Types of compiled forms of Python functions: the attribute with the function, which runs on traced values."""


class _Arrivals:
    """Modules that are imported while tracing (imports in functions, lazy packages): who has replacements for them
    is asked again."""

    def __init__(self) -> None:
        self.modules = 0
        self.listeners: list[Callable[[], None]] = []

    def ask(self) -> None:
        self.modules = len(sys.modules)
        for listener in self.listeners:
            listener()


ARRIVALS = _Arrivals()

SETTERS: dict[tuple[type, str], Callable[[Any, str, Any], None]] = {}
"""What setting an attribute of a type does: `setter(owner, attribute, value)`."""

OURS: set[type] = set()
"""Types whose methods are not converted, and change none of their arguments."""


def stood_for(x: Any) -> type | None:
    """The type that the user would see of a value, where what there is of it while tracing is of a type of ours."""
    kind = type(x)
    return getattr(x, "stands_for", x.__class__) if kind in OURS or getattr(kind, "partial", False) else None


def is_undecided(x: Any) -> bool:
    """Whether a value stands for an object, or for None, as decided at run time."""
    return hasattr(type(x), "ag__each")


def require_attribute(x: Any, name: str) -> None:
    """Raise what Python raises where such a value has no attribute of this name, whatever ours has."""
    meant = stood_for(x)
    if meant is not None and not hasattr(meant, name) and name not in ADDED:
        module = "" if meant.__module__ == "builtins" else f"{meant.__module__}."
        raise AttributeError(f"'{module}{meant.__name__}' object has no attribute '{name}'", name=name, obj=meant)


ADDED: set[str] = set()
"""Attributes that traced arrays have besides those of NumPy's, of arrays of other libraries."""

_LRU_CACHE = type(functools.lru_cache(lambda: None))


def replace(*originals: Any) -> Callable[[Callable], Callable]:
    """Decorator: calls of `originals` in converted code call the decorated function instead."""
    def register(replacement: Callable) -> Callable:
        foreign.note()
        for original in originals:
            REPLACEMENTS[original] = replacement
        return replacement
    return register


def call(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
    trace = SESSION.trace
    if trace is not None and trace.attempts:
        if not trace.entering:
            return ag__.call_in_attempt(call, function, *arguments, **keywords)
        trace.entering = False
    kind = type(function)
    if trace is not None and trace.undecided and ag__.for_each_of(function, arguments, keywords):
        return ag__.of_each(function, arguments, keywords)
    if kind is FunctionType:
        replacement = _replacement_of(function)
        if replacement is not None:
            with holding(arguments, keywords):
                return replacement(*arguments, **keywords)
        return _call_function(function, arguments, keywords)
    if kind is MethodType:
        if type(function.__self__) in OURS:
            return function(*arguments, **keywords)
        return call(function.__func__, function.__self__, *arguments, **keywords)
    if kind is BuiltinFunctionType or kind is MethodWrapperType:
        return _noted(function, arguments, _call_builtin(function, arguments, keywords))
    if kind is functools.partial:
        return call(function.func, *function.args, *arguments, **{**function.keywords, **keywords})
    if isinstance(function, type):
        return _noted(function, arguments, _call_class(function, arguments, keywords))
    if getattr(kind, "is_its_function", False):
        return function(*arguments, **keywords)
    if kind is _LRU_CACHE:
        return _call_cached(function, arguments, keywords)
    replacement = _replacement_of(function)
    if replacement is not None:
        with holding(arguments, keywords):
            return replacement(*arguments, **keywords)
    if kind in UNWRAPPED and involves_any(arguments, keywords):
        return call(getattr(function, UNWRAPPED[kind]), *arguments, **keywords)
    handler = KINDS.get(kind)
    if handler is not None:
        ag__.foreign_call(arguments, keywords)
        _look_into(arguments, keywords)
        with holding(function, arguments, keywords):
            return handler(function, arguments, keywords)
    if of_jax(function) and ag__.involves_tracing(arguments, keywords):
        return _call_jax(function, arguments, keywords)
    method = inspect.getattr_static(kind, "__call__", None)
    if type(method) is FunctionType and is_user_file(method.__code__.co_filename):
        return call(method, function, *arguments, **keywords)
    return call_as_it_is(function, arguments, keywords)


def involves_any(arguments: tuple, keywords: dict) -> bool:
    """Whether values of a trace are among arguments, or in them."""
    return ag__.involves_tracing(arguments, keywords) or any(map(_holds_tracing, (*arguments, *keywords.values())))


def _noted(function: Any, arguments: tuple, result: Any) -> Any:
    if SESSION.followed is not None:
        note_set(function, arguments, result)
    return result


def _call_cached(function: Any, arguments: tuple, keywords: dict) -> Any:
    """A cache must not keep values of one trace for another: what depends on run-time values has one of the trace."""
    if ag__.involves_tracing(arguments, keywords):
        return call(function.__wrapped__, *arguments, **keywords)
    trace = SESSION.trace
    if trace is None or not any(_holds_tracing(x) for x in arguments):
        return function(*arguments, **keywords)
    key = function, arguments, tuple(keywords.items())
    region, result = trace.cached.get(key, (None, None))
    if region is None or region.closed:
        result = call(function.__wrapped__, *arguments, **keywords)
        trace.cached[key] = trace.region, result
    return result


def _holds_tracing(x: Any, levels: int = 3) -> bool:
    """Whether a run-time value is in an object, or in one that it has."""
    held = getattr(x, "__dict__", None)
    return isinstance(held, dict) and not isinstance(x, (type, ModuleType, FunctionType)) and (
        ag__.involves_tracing((held,), {}) or levels > 0 and any(_holds_tracing(v, levels - 1) for v in held.values()))


def call_as_it_is(function: Any, arguments: tuple, keywords: dict, runs: Callable | None = None) -> Any:
    """Code that is not converted. runs: what runs in its place."""
    if SESSION.followed is not None:
        SESSION.followed.add(Called(function))
    ag__.foreign_call(arguments, keywords)
    _look_into(arguments, keywords)
    try:
        with holding(function, arguments, keywords):
            if may_keep(function):
                note_escaped(arguments, keywords)
            return (runs or function)(*arguments, **keywords)
    except Exception as error:
        if (ours := _in_our_words(error, function, arguments, keywords)) is not None:
            raise ours from error
        raise


class holding:
    """While code runs that is not followed: what it is given."""

    __slots__ = ("count", "trace", "values")

    def __init__(self, *values: Any):
        self.values, self.trace = values, SESSION.trace

    def __enter__(self) -> None:
        if self.trace is not None:
            self.count = len(self.trace.pending)
            self.trace.pending += self.values

    def __exit__(self, *raised: object) -> None:
        if self.trace is not None:
            del self.trace.pending[self.count:]


def note_escaped(*values: Any) -> None:
    """Code that is not followed may have kept these, where nothing finds them."""
    if SESSION.trace is not None:
        SESSION.trace.escaped += values


def looked_into(x: Any) -> Any:
    _look_into(x)
    return x


def _look_into(*given: Any) -> None:
    """Code that is not converted may look at all attributes of the objects that it is given."""
    if SESSION.trace is None or not SESSION.trace.noting:
        return
    waiting, seen = list(given), set()
    while waiting:
        x = waiting.pop()
        if type(x) in OURS or id(x) in seen or isinstance(x, _WITHOUT_OBJECTS):
            continue
        seen.add(id(x))
        note_all(x)
        waiting += gc.get_referents(x)


_WITHOUT_OBJECTS = (str, int, float, complex, type, ModuleType, FunctionType, TracebackType, FrameType)


def _in_our_words(error: Exception, function: Any, arguments: tuple, keywords: dict) -> Exception | None:
    """What C code of a library means that complains of arrays that are not NumPy's."""
    if isinstance(error.__cause__, ConcreteValueNeeded):        # NumPy's, where it stores one in an array
        return error.__cause__
    if isinstance(error, ConcreteValueNeeded):
        if is_library(function) and error.fact.startswith("Making a NumPy array"):
            return ConcreteValueNeeded(f"{full_name(function)}, which is compiled code of a library,",
                                       "Call it outside of the compiled function, or write it with NumPy.",
                                       code="library-code")
        return None
    for argument in arguments:
        if hasattr(type(argument), "given_to"):     # what stands for a list
            return argument.given_to(full_name(function))
    traced = ag__.involves_tracing(arguments, keywords) or any(
        hasattr(type(a), "partial") or hasattr(type(a), "ag__stands_for") for a in arguments)
    ours = type(error).__module__.startswith("reactant.") or not traced
    if not ours and takes_apart(function):
        return ConcreteValueNeeded(full_name(function), "Call it outside of the compiled function.",
                                   code="library-code")
    if ours or not is_library(function):
        return None
    return UnsupportedError(f"{full_name(function)} is compiled code of a library, which cannot take values known "
                            f"only at run time ({type(error).__name__}: {error}).",
                            hint="Call it outside of the compiled function, or write it with NumPy.",
                            code="library-code")


def _not_converted(function: FunctionType, /, *arguments: Any, **keywords: Any) -> Any:
    return call_as_it_is(function, arguments, keywords, followed(function))


def convertible(function: Any) -> bool:
    """Whether `function` is a Python function whose calls are converted."""
    return type(function) is FunctionType and (
        is_user_file(function.__code__.co_filename) or is_converted_always(function.__code__))


def own_array(x: Any) -> Any:
    """What the `__array__` of a user's class gives; else the object itself."""
    method = getattr(type(x), "__array__", None)
    return call(method, x) if type(method) is FunctionType and convertible(method) else x


def takes_anything(function: Any) -> bool:
    """Whether what stands for other objects can be given to it: its code, or that of its class, is converted."""
    inner = function.__func__ if type(function) is MethodType else function
    if isinstance(inner, type):
        return inner.__init__ is dict.__init__ or convertible(inner.__init__) or convertible(inner.__new__)  # type: ignore[misc]  # looked at, not called
    return type(inner) is functools.partial or convertible(inner)


def following(function: Any) -> Any:
    """A callable that library code may call back: it calls `function` as converted code would."""
    if not callable(function):
        return function
    return functools.partial(call, function)


def _replacement_of(function: Any) -> Callable | None:
    try:
        found = REPLACEMENTS.get(function)
    except TypeError:  # not hashable
        return None
    if found is None and len(sys.modules) != ARRIVALS.modules:
        ARRIVALS.ask()
        return REPLACEMENTS.get(function)
    return found


def _call_function(function: FunctionType, arguments: tuple, keywords: dict) -> Any:
    for look in LOOKS:
        look(function, arguments, keywords)
    if ag__.involves_tracing(arguments, keywords) and computes_with_jax(function):
        return _call_jax(function, arguments, keywords)
    return _call_converted(function, arguments, keywords)


def _call_jax(function: Any, arguments: tuple, keywords: dict) -> Any:
    return meaning.call_of_jax(function, arguments, keywords)


def enter(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
    """Call the function that is being compiled: what it loads is no longer asked."""
    if type(function) is FunctionType and _replacement_of(function) is None:
        return _call_converted(function, arguments, keywords)
    return call(function, *arguments, **keywords)


def _call_converted(function: FunctionType, arguments: tuple, keywords: dict) -> Any:
    code = function.__code__
    if code.co_name == "wrapper" and code is SINGLEDISPATCH and arguments:
        return call(function.dispatch(call(type, arguments[0])), *arguments, **keywords)
    if code is _GENERATOR_CONTEXT:
        return contextlib.contextmanager(functools.partial(call, function.__wrapped__))(*arguments, **keywords)
    trace = SESSION.trace
    converted: Callable[..., Any] = convert(function, catching=trace is not None and bool(trace.attempts))
    if converted is function and not is_converted(code):
        converted = functools.partial(_not_converted, function)
    if trace is None:
        return converted(*arguments, **keywords)
    trace.followed[id(function)] = function
    if code.co_flags & inspect.CO_GENERATOR and (converted is not function or is_converted(code)):
        return ag__.begun(function, arguments, keywords, converted(*arguments, **keywords))
    computed = len(trace.pending)
    trace.begun.append(trace.noted)
    trace.active.append(function)
    try:
        return converted(*arguments, **keywords)
    finally:
        trace.begun.pop()
        trace.active.pop()
        del trace.pending[computed:]


_GENERATOR_CONTEXT = contextlib.contextmanager(lambda: iter(())).__code__
SINGLEDISPATCH = functools.singledispatch(lambda x: x).__code__


@functools.cache
def _is_record(kind: type) -> bool:
    """Whether it is what pybind11 binds functions to."""
    return kind.__module__ == "pybind11_builtins" or kind.__name__ == "PyCapsule"


def _call_builtin(function: Any, arguments: tuple, keywords: dict) -> Any:
    owner = function.__self__
    if owner is None or type(owner) is ModuleType or isinstance(owner, type) or _is_record(type(owner)):
        replacement = _replacement_of(function)
        if replacement is None:
            return call_as_it_is(function, arguments, keywords)
        with holding(arguments, keywords):
            return replacement(*arguments, **keywords)
    return ag__.call_bound(function, owner, *arguments, **keywords)


def _call_class(cls: type, arguments: tuple, keywords: dict) -> Any:
    replacement = _replacement_of(cls)
    if replacement is not None:
        with holding(arguments, keywords):
            return replacement(*arguments, **keywords)
    if type(cls).__call__ is not type.__call__ or not (convertible(cls.__init__) or convertible(cls.__new__)  # type: ignore[misc]  # looked at, not called
                                                       or convertible(getattr(cls, "__post_init__", None))):
        foreign = (is_library(cls) or takes_apart(cls)) and not issubclass(cls, BaseException)
        if foreign:
            return call_as_it_is(cls, arguments, keywords)
        _look_into(arguments, keywords)
        with holding(arguments, keywords):
            return cls(*arguments, **keywords)
    # What type.__call__ does.
    if cls.__new__ is object.__new__:
        made: Any = object.__new__(cls)
    else:
        made = call(cls.__new__, cls, *arguments, **keywords)
    if not isinstance(made, cls):
        return made
    initialise = type(made).__init__
    after = getattr(type(made), "__post_init__", None)
    if type(initialise) is not FunctionType:
        initialise(made, *arguments, **keywords)
    elif initialise.__code__.co_filename == "<string>" and convertible(after):
        # A dataclass: its generated __init__ has no source, and calls self.__post_init__, which has.
        if not hasattr(made, "__dict__"):
            object.__setattr__(made, "__class__", _beginning(type(made)))
            initialise(made, *arguments, **keywords)
            return made
        made.__dict__["__post_init__"] = functools.partial(call, after, made)
        try:
            initialise(made, *arguments, **keywords)
        finally:
            del made.__dict__["__post_init__"]
    else:
        call(initialise, made, *arguments, **keywords)
    return made


class _Unannounced:
    """A base whose subclasses no other base hears of."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        pass


@functools.cache
def _beginning(cls: type) -> type:
    """What an object with slots is an instance of until its `__post_init__` is called."""
    def post_init(self: Any, *arguments: Any) -> None:
        object.__setattr__(self, "__class__", cls)
        call(cls.__post_init__, self, *arguments)       # type: ignore[attr-defined]
    return type(cls.__name__, (_Unannounced, cls), {"__slots__": (), "__post_init__": post_init})


# ---- attributes, items, iteration ------------------------------------------------------------------------------

def get_attr(owner: Any, attribute: str) -> Any:
    require_attribute(owner, attribute)
    found = getattr(type(owner), attribute, None)
    if attribute.startswith("__"):
        note_all(getattr(owner, "__dict__", None))      # Python's own, that know all of them
    if type(found) is property and convertible(found.fget):
        return call(found.fget, owner)
    if type(found) is functools.cached_property and convertible(found.func):
        kept = getattr(owner, "__dict__", {})
        if attribute not in kept:
            kept[attribute] = call(found.func, owner)
        return kept[attribute]
    return getattr(owner, attribute)


def set_attr(value: Any, owner: Any, attribute: str) -> None:
    require_attribute(owner, attribute)
    found = getattr(type(owner), attribute, None)
    if type(found) is property and convertible(found.fset):
        call(found.fset, owner, value)
    elif (setter := SETTERS.get((type(owner), attribute))) is not None:
        setter(owner, attribute, value)
    else:
        setattr(owner, attribute, value)


def _special(x: Any, name: str) -> Any:
    """A method of the user's that Python calls for an operator, bound as it is there: a static one to nothing."""
    for cls in type(x).__mro__:
        if (found := vars(cls).get(name)) is not None:
            bound = found.__get__(x, type(x)) if hasattr(found, "__get__") else found
            return bound if convertible(bound.__func__ if type(bound) is MethodType else bound) else None
    return None


def get_item(container: Any, index: Any) -> Any:
    if (method := _special(container, "__getitem__")) is not None:
        return call(method, index)
    return container[index]


def set_item(value: Any, container: Any, index: Any) -> None:
    if (method := _special(container, "__setitem__")) is not None:
        call(method, index, value)
    else:
        container[index] = value


def del_item(container: Any, index: Any) -> None:
    if (method := _special(container, "__delitem__")) is not None:
        call(method, index)
    else:
        del container[index]


def iterate(iterable: Any) -> Iterable:
    if (ours := getattr(type(iterable), "ag__iterate", None)) is not None:
        return ours(iterable)
    if (method := _special(iterable, "__iter__")) is not None:
        return call(method)
    return iterable


def call_bound(function: Any, owner: Any, /, *arguments: Any, **keywords: Any) -> Any:
    if isinstance(owner, list) and function.__name__ == "sort" and keywords.get("key") is not None:
        keywords["key"] = following(keywords["key"])
    handler = KINDS.get(type(owner))
    if handler is not None:
        return handler(function, arguments, keywords)
    try:
        with holding(function, arguments, keywords):
            if may_keep(function):
                note_escaped(arguments, keywords)
            return function(*arguments, **keywords)
    except Exception as error:
        foreign = is_library(function) or takes_apart(function)
        if foreign and (ours := _in_our_words(error, function, arguments, keywords)) is not None:
            raise ours from error
        raise


# ---- builtins that call back -----------------------------------------------------------------------------------

def _first_argument(original: Callable) -> None:
    @replace(original)
    def with_following(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        return original(following(function), *arguments, **keywords)


for _original in (map, filter, functools.reduce, itertools.starmap, itertools.takewhile, itertools.dropwhile,
                  itertools.filterfalse):
    _first_argument(_original)


def _key_argument(original: Callable) -> None:
    @replace(original)
    def with_following(*arguments: Any, **keywords: Any) -> Any:
        if keywords.get("key") is not None:
            keywords["key"] = following(keywords["key"])
        return original(*arguments, **keywords)


for _ordering in (sorted, min, max, itertools.groupby):
    _key_argument(_ordering)


@replace(getattr)
def _getattr(owner: Any, attribute: str, /, *default: Any) -> Any:
    try:
        return ag__.get_attr(owner, attribute)
    except AttributeError as error:
        if not default or isinstance(error, UnsupportedAttribute):
            raise
        return default[0]


@replace(setattr)
def _setattr(owner: Any, attribute: str, value: Any, /) -> None:
    ag__.set_attr(value, owner, attribute)


@replace(itertools.accumulate)
def _accumulate(iterable: Iterable, func: Any = None, *, initial: Any = None) -> Any:
    return itertools.accumulate(iterable, func and following(func), initial=initial)
