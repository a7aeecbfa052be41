"""The operators that converted code calls, under the name `ag__`.

Here each does what plain Python does. `install` replaces some of them: `calls` follows calls into other functions, and
the tracing frontends stage control flow and item access where run-time values are involved.
"""
from __future__ import annotations

import builtins
import contextlib
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CellType, FunctionType
from typing import Any

from reactant.errors import ControlFlowError
from reactant.frontends.source.jumps import RETURNED, VALUE
from reactant.support.session import SESSION

INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "MatMult": operator.imatmul,
    "Div": operator.itruediv, "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow,
    "LShift": operator.ilshift, "RShift": operator.irshift, "BitOr": operator.ior, "BitXor": operator.ixor,
    "BitAnd": operator.iand,
}
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "MatMult": operator.matmul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift,
    "RShift": operator.rshift, "BitOr": operator.or_, "BitXor": operator.xor, "BitAnd": operator.and_,
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge,
}


CHANGING = frozenset((
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "clear", "sort",
    "reverse", "rotate", "update", "setdefault", "add", "discard", "intersection_update", "difference_update",
    "symmetric_difference_update"))
"""Methods of lists, deques, dicts and sets that change them."""


class Unset:
    """The result of a function before any `return` was reached."""

    def __repr__(self) -> str:
        return "<no return value yet>"


UNSET = Unset()

Left = tuple[tuple[str, ...] | None, tuple[str, ...] | None]
"""Of the two sides of an `if`: what may be read on a path that leaves a loop or the function; None where it goes on."""


class Unusable:
    """What a variable holds when control flow left it without a value that code may use; reading it raises."""

    def __init__(self, make_error: Callable[[], Exception]) -> None:
        self.make_error = make_error


def cells_of(*functions: FunctionType | None) -> dict[str, CellType]:
    """The variables that the functions share with the code around them."""
    found: dict[str, CellType] = {}
    for function in functions:
        if function is not None:
            found.update(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return found


def if_stmt(test: Any, then: FunctionType, orelse: FunctionType | None, live: tuple[str, ...],
            dead: tuple[str, ...], left: Left = (None, None)) -> None:
    if test:
        then()
    elif orelse is not None:
        orelse()


def while_stmt(test: FunctionType, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...],
               dead: tuple[str, ...], rebound: tuple[str, ...], appended: tuple[str, ...] = (),
               read: tuple[str, ...] = ()) -> None:
    cells = cells_of(body)
    stops = [cells[f] for f in flags]
    while test():
        body()
        if any(c.cell_contents for c in stops):
            return


def for_stmt(iterable: Iterable, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...],
             dead: tuple[str, ...], rebound: tuple[str, ...], appended: tuple[str, ...] = (),
             read: tuple[str, ...] = (), left: tuple[str, ...] | None = None) -> None:
    cells = cells_of(body)
    stops = [cells[f] for f in flags]
    for item in ag__.iterate(iterable):
        body(item)
        if any(c.cell_contents for c in stops):
            return


def if_exp(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    return then() if test else orelse()


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    for other in others:
        if not first:
            return first
        first = other()
    return first


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    for other in others:
        if first:
            return first
        first = other()
    return first


def condition(value: Any) -> Any:
    """An operand of `and` or `or` in a test."""
    return value


def chain(left: Any, kind: str, right: Any, *steps: Any) -> Any:
    """`left kind right`, and then each further comparison while the ones before hold."""
    first = COMPARE[kind](left, right)
    if not steps:
        return first
    return ag__.and_(first, lambda: chain(right, steps[0], steps[1](), *steps[2:]))


def contains(item: Any, container: Any) -> Any:
    return item in container


def same(left: Any, right: Any) -> Any:
    """`left is right`."""
    return left is right


def is_(value: Any, known: bool) -> Any:
    """`value is True`, `value is False`."""
    return value is known


def is_none(value: Any) -> Any:
    """`value is None`."""
    return value is None


def truth(value: Any) -> bool:
    """A decision that Python itself has to take: the test of a comprehension, of a loop that yields..."""
    return bool(value)


def decided(value: Any) -> Any:
    """An operand of an `and` or `or` that Python itself evaluates."""
    return value


def formatted(value: Any, conversion: int) -> Any:
    """The value of `{value!r:spec}` in an f-string, which the specification is given to."""
    return value if conversion < 0 else {"r": repr, "s": str, "a": ascii}[chr(conversion)](value)


def iterate(iterable: Iterable) -> Iterable:
    return iterable


def generated(iterable: Iterable, element: Callable, test: Callable | None, nested: bool = False,
              rows: bool = False) -> Iterable:
    """A generator expression; `nested`: an element is itself generated; `rows`: it is the list of what that gives."""
    found = (list(element(x)) if rows else element(x) for x in ag__.iterate(iterable) if test is None or test(x))
    return itertools.chain.from_iterable(found) if nested else found


def generator(elements: Iterable) -> Iterable:
    """A generator expression that stays one."""
    return elements


def listed(elements: Iterable, hashed: bool = False, in_order: bool = True) -> Any:
    """A list comprehension; `hashed`: of what a dict or set is made of."""
    return list(elements)


def get_item(container: Any, index: Any) -> Any:
    return container[index]


def get_method(container: Any, name: str, *indices: Any) -> Any:
    """`container[index][index].name`, of a method that changes a list, dict or set, about to be called."""
    for index in indices:
        container = ag__.get_item(container, index)
    return ag__.get_attr(container, name)


def set_item(value: Any, container: Any, index: Any) -> None:
    container[index] = value


def del_item(container: Any, index: Any) -> None:
    del container[index]


def set_attr(value: Any, owner: Any, attribute: str) -> None:
    setattr(owner, attribute, value)


def inplace(kind: str, left: Any, right: Any) -> Any:
    """`left kind= right`."""
    return INPLACE[kind](left, right)


def call(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
    return function(*arguments, **keywords)


def begun(function: FunctionType, arguments: tuple, keywords: dict, generator: Iterator) -> Iterator:
    """The generator that the call of a function gives."""
    return generator


def call_bound(function: Any, owner: Any, /, *arguments: Any, **keywords: Any) -> Any:
    """A call of `owner.method`, a method written in C; `function` is the bound method."""
    return function(*arguments, **keywords)


def involves_tracing(arguments: tuple, keywords: dict) -> bool:
    """Whether a run-time value is among the arguments, at any depth."""
    return False


def for_each_of(function: Any, arguments: tuple, keywords: dict) -> bool:
    """Whether the function is called with each object that an argument may be."""
    return False


def of_each(function: Any, arguments: tuple, keywords: dict) -> Any:
    """These calls."""


def assert_stmt(test: Any, message: Callable[[], Any] | None) -> None:
    if not test:
        raise AssertionError(*(() if message is None else (message(),)))


def raised(error: Any) -> Any:
    """The exception of a `raise` statement, about to be raised."""
    return error


def let_through() -> None:
    """At the start of a `finally` that would discard what was raised before it: raise errors that are ours."""
    error, frame = sys.exc_info()[1], sys._getframe(1)
    if error is not None and type(error).__module__.startswith("reactant."):
        trace = error.__traceback__
        while trace is not None and trace.tb_frame is not frame:
            trace = trace.tb_next
        if trace is not None:       # raised inside, and not what somebody outside handles
            raise error


def ld(value: Any) -> Any:
    """A variable being read."""
    if type(value) is Unusable:
        raise value.make_error()
    return value


def hold(value: Any) -> Any:
    """A value that is used when other parts of its expression have been computed."""
    if (trace := SESSION.trace) is not None:
        trace.pending.append(value)
    return value


def let_go(count: int, value: Any) -> Any:
    """The last one of these parts: so many values before it are used now."""
    if (trace := SESSION.trace) is not None:
        del trace.pending[-count:]
    return value


def unset() -> Unset:
    return UNSET


def result(returned: Any, value: Any) -> Any:
    """The value of a function that may have returned early."""
    return value if returned and value is not UNSET else None


def grows(items: Any, target: Any) -> bool:
    """Whether it is known only at run time how many items there are, which a list is about to be extended by."""
    return False


def touch(variables: FunctionType, names: tuple[str, ...]) -> None:
    """Variables of another scope, which are cells of the function `variables` or globals, are about to be assigned."""


def handlers_out_of_reach() -> ControlFlowError:
    """The error where an exception is raised that no handler of the program can get."""
    return ControlFlowError(
        "This exception depends on a value known only at run time, and is raised inside a `try` whose handlers "
        "compiled code cannot reach from here (a generator, or a function that was defined in another one than its "
        "`try`). Compiled code raises after the call, where no handler can catch it.",
        hint="Use `if` instead of `try`.", code="exception-at-run-time")


class Interrupted(BaseException):
    """Ends a statement of converted code in which something was surely raised."""


@contextlib.contextmanager
def catching(attempt: Any = None) -> Iterator[None]:
    """Around the body of a `try` with handlers."""
    yield


def attempt(*kinds: Callable[[], Any]) -> Any:
    """A `try` whose handlers take exceptions of these kinds begins (see `attempts`)."""


def attempt_around() -> Any:
    """The `try` with handlers that is being run."""


def pending(attempt: Any) -> Any:
    """Whether an exception that depends on run-time values is on its way to a handler."""
    return False


def resume(attempt: Any) -> None:
    """Nothing was raised."""


def raise_(attempt: Any, error: Any, cause: Any) -> None:
    if cause is not None:
        raise error from cause
    raise error


def kept(attempt: Any, new: Any, old: Any) -> Any:
    """A variable after `new` was computed, which may have raised."""
    return new


@contextlib.contextmanager
def shielded(attempt: Any) -> Iterator[None]:
    """Around a `finally`."""
    yield


def matches(attempt: Any, position: int) -> Any:
    """Whether this handler takes what was raised."""
    return False


def exception(attempt: Any, position: int) -> Any:
    """What was raised."""


def unhandled(attempt: Any) -> None:
    """No handler took it."""


def interruption(attempt: Any) -> Any:
    """The exceptions that end a statement and nothing else, of the one that is on its way."""
    return Interrupted


def call_in_attempt(operator: Callable, /, *arguments: Any, **keywords: Any) -> Any:
    """A call inside a `try` with handlers."""
    return operator(*arguments, **keywords)


def raise_again(attempt: Any, position: int) -> None:
    """`raise` alone in a handler."""


def made(result: Any) -> Any:
    """The result of an arithmetic operator or a comparison."""
    return result


def refusals(*kinds: Callable[[], Any]) -> Any:
    """The exceptions that handlers of `kinds` must not see."""
    return ()


def context(manager: Any) -> Any:
    """The context manager of a `with` statement."""
    return manager


def looked_into(x: Any) -> Any:
    """A value, of which all attributes are about to be looked at."""
    return x


def foreign_call(arguments: tuple, keywords: dict) -> None:
    """Code that is not converted is about to receive these arguments, and may change them."""


# ---- the parts of `match` ---------------------------------------------------------------------------------------

_THEMSELVES = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern is about the object itself, as is that of their subclasses."""


def fits_sequence(subject: Any, count: int, more: bool) -> Any:
    """Whether the subject is a sequence of `count` elements, or `more` than so many."""
    def is_long() -> Any:
        return COMPARE["GtE" if more else "Eq"](ag__.call(len, subject), count)
    return ag__.and_(ag__.call(isinstance, subject, Sequence),
                     lambda: ag__.not_(ag__.call(isinstance, subject, (str, bytes, bytearray))), is_long)


def rest_of_sequence(subject: Any, before: int, behind: int) -> list:
    return ag__.call(list, ag__.get_item(subject, ag__.slice(before, -behind or None)))


def fits_mapping(subject: Any, *keys: Any) -> Any:
    return ag__.and_(ag__.call(isinstance, subject, Mapping), *(lambda k=k: ag__.contains(k, subject) for k in keys))


def rest_of_mapping(subject: Any, *keys: Any) -> dict:
    rest = ag__.call(dict, subject)
    for key in keys:
        ag__.del_item(rest, key)
    return rest


def fits_class(subject: Any, kind: Any, count: int, *names: str) -> Any:
    """Whether the subject is of the class, and has what `count` positions and the names ask for."""
    if not isinstance(kind, type):
        raise TypeError("called match pattern must be a class")

    def has(place: int | str) -> Callable[[], Any]:
        def there() -> Any:
            attribute = _attribute_at(kind, place, count)
            known = attribute is None or isinstance(getattr(kind, attribute, None), property)   # which runs once
            return known or ag__.call(hasattr, subject, attribute)
        return there
    return ag__.and_(ag__.call(isinstance, subject, kind), *map(has, (*range(count), *names)))


def part_of_class(subject: Any, kind: type, place: int) -> Any:
    attribute = _attribute_at(kind, place)
    return subject if attribute is None else ag__.get_attr(subject, attribute)


def _attribute_at(kind: type, place: int | str, count: int = 0) -> str | None:
    """The attribute that a positional pattern is about; None where that is the object itself."""
    if isinstance(place, str):
        return place
    names: Sequence[str] = getattr(kind, "__match_args__", ())
    itself = not hasattr(kind, "__match_args__") and issubclass(kind, _THEMSELVES)
    allowed = 1 if itself else len(names)
    if count > allowed:
        raise TypeError(f"{kind.__name__}() accepts {allowed} positional sub-pattern{'s' * (allowed != 1)} "
                        f"({count} given)")
    return None if itself else names[place]


class Operators:
    """The namespace; its attributes are replaced by `install`."""

    ag__internal = True     # nothing of the user's is found there

    def __init__(self) -> None:
        self.if_stmt, self.while_stmt, self.for_stmt, self.if_exp = if_stmt, while_stmt, for_stmt, if_exp
        self.and_, self.or_, self.not_, self.chain, self.contains = and_, or_, operator.not_, chain, contains
        self.is_, self.is_none, self.same = is_, is_none, same
        self.truth, self.decided, self.condition, self.iterate = truth, decided, condition, iterate
        self.generated, self.generator, self.listed = generated, generator, listed
        self.formatted = formatted
        self.get_item, self.set_item, self.del_item, self.inplace = get_item, set_item, del_item, inplace
        self.get_attr, self.set_attr, self.del_attr = getattr, set_attr, delattr
        self.get_method, self.looked_into = get_method, looked_into
        self.new_dict, self.new_set = dict, set
        self.for_each_of, self.of_each, self.begun = for_each_of, of_each, begun
        self.call, self.call_bound, self.involves_tracing = call, call_bound, involves_tracing
        self.assert_stmt, self.raised, self.let_through = assert_stmt, raised, let_through
        self.grows, self.touch, self.catching, self.foreign_call = grows, touch, catching, foreign_call
        self.made, self.refusals, self.context = made, refusals, context
        vars(self).update(ARITHMETIC)
        self.attempt, self.attempt_around, self.pending, self.resume = attempt, attempt_around, pending, resume
        self.interruption, self.call_in_attempt = interruption, call_in_attempt
        self.raise_, self.kept, self.shielded, self.matches = raise_, kept, shielded, matches
        self.exception, self.unhandled, self.raise_again = exception, unhandled, raise_again
        self.fits_sequence, self.rest_of_sequence = fits_sequence, rest_of_sequence
        self.fits_mapping, self.rest_of_mapping = fits_mapping, rest_of_mapping
        self.fits_class, self.part_of_class = fits_class, part_of_class
        self.ld, self.unset, self.result, self.slice = ld, unset, result, builtins.slice
        self.hold, self.let_go = hold, let_go


ag__ = Operators()

COMPARE: dict[str, Callable[..., Any]] = {
    **{kind: lambda a, b, kind=kind: getattr(ag__, kind)(a, b) for kind in ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")},
    "Is": lambda a, b: ag__.same(a, b), "IsNot": lambda a, b: ag__.not_(ag__.same(a, b)),
    "In": lambda a, b: ag__.contains(a, b), "NotIn": lambda a, b: ag__.not_(ag__.contains(a, b)),
}


def install(**hooks: Callable) -> dict[str, Callable]:
    """Replace operators by name; returns those that were there, for `install(**before)`."""
    unknown = [n for n in hooks if not hasattr(ag__, n)]
    if unknown:
        raise TypeError(f"no operator named {', '.join(sorted(unknown))}; there are {', '.join(sorted(vars(ag__)))}")
    before = {n: getattr(ag__, n) for n in hooks}
    for n, function in hooks.items():
        setattr(ag__, n, function)
    return before


__all__ = ["CHANGING", "COMPARE", "INPLACE", "RETURNED", "UNSET", "VALUE", "Operators", "Unset", "Unusable", "ag__",
           "cells_of", "install"]
