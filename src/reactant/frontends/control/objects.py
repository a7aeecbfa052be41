"""Operators on objects of the user's classes: `a + b`, `-a`, `a < b`, `a in b`, `len(a)`, `with a:` run the methods of
the classes as converted code, like any other call.

Numbers and arrays take the short way at the top of each operator; the rest follows Python's own protocol.
"""
from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator
from types import FunctionType, TracebackType
from typing import Any

import numpy as np

from reactant.errors import ControlFlowError, ReactantError, UnsupportedError
from reactant.frontends.control import sequences
from reactant.frontends.session import calls, protocols
from reactant.frontends.session.calls import call, convertible
from reactant.frontends.source import conversion, operators
from reactant.frontends.source.liveness import arguments_of
from reactant.frontends.source.operators import ag__
from reactant.support.session import SESSION

PLAIN: set[type] = {int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset, range, slice, type,
                    type(None), np.ndarray, *np.sctypeDict.values()}
"""Types whose operators are Python's, NumPy's or ours."""

ARRAYS: set[type] = {np.ndarray}
"""Arrays: NumPy's operators take objects element by element."""


def method_of(kind: type, name: str) -> FunctionType | None:
    """What the class has under an operator's name, if that is the user's Python."""
    method = None if kind in PLAIN else getattr(kind, name, None)
    return method if type(method) is FunctionType and (convertible(method) or is_generated(method)) else None


def is_generated(method: Any) -> bool:
    """Whether a method is a comparison that `dataclasses` has written, of which there is no source."""
    return type(method) is FunctionType and "__create_fn__" in method.__code__.co_qualname \
        and method.__name__ in _ORDERS


# ---- one operand -----------------------------------------------------------------------------------------------

def _on_first(name: str, native: Callable) -> Callable:
    """The operator or builtin, or what the class of its first operand has instead."""
    def operate(*operands: Any, **keywords: Any) -> Any:
        if operands and (method := method_of(type(operands[0]), name)) is not None:
            return call(method, *operands, **keywords)
        return native(*operands, **keywords)
    return operate


UNARY = {"USub": _on_first("__neg__", operator.neg), "UAdd": _on_first("__pos__", operator.pos),
         "Invert": _on_first("__invert__", operator.invert)}
BUILTINS = {abs: "__abs__", len: "__len__", bool: "__bool__", float: "__float__", int: "__int__",
            complex: "__complex__", round: "__round__"}


def _next(known: Callable) -> Callable:
    def following(iterator: Any, *default: Any) -> Any:
        if not protocols.is_iterator(iterator):
            return known(iterator, *default)
        return call(protocols.next_or, iterator, *default) if default else call(type(iterator).__next__, iterator)
    return following


def _iter(known: Callable) -> Callable:
    def begun(x: Any, *sentinel: Any) -> Any:
        return known(x, *sentinel) if sentinel or not protocols.iterates(x) else protocols.begin(x)
    return begun


def _reversed(known: Callable) -> Callable:
    def backwards(x: Any) -> Any:
        if (method := method_of(type(x), "__reversed__")) is not None:
            return call(method, x)
        return call(protocols.Backwards, x) if protocols.is_reversed_by_index(x) else known(x)
    return backwards


# ---- two operands ----------------------------------------------------------------------------------------------

def _protocol(left: Any, right: Any, name: str, mirrored: str) -> Any:
    """What Python does: the method of the left operand's class, then the right one's; NotImplemented where neither
    takes it."""
    a, b = type(left), type(right)
    candidates = [(a, name, left, right), (b, mirrored, right, left)]
    if a is b and name != mirrored and name not in _ORDERS:
        candidates.pop()
    elif a is not b and issubclass(b, a) and getattr(b, mirrored, None) is not getattr(a, mirrored, None):
        candidates.reverse()
    for kind, attribute, one, other in candidates:
        numeric = kind in ARRAYS or issubclass(kind, np.generic)
        if numeric and not _leaves_it(other, one):
            raise UnsupportedError("An array cannot be combined with an object here: NumPy would make an array of "
                                   "objects.",
                                   hint="Put the object first, or set __array_ufunc__ = None in its class.",
                                   code="not-an-array")
        method = None if numeric else getattr(kind, attribute, None)
        if method is not None:
            follow = _of_fields if is_generated(method) else call if convertible(method) else _direct
            result = follow(method, one, other)
            if result is not NotImplemented:
                return result
    return NotImplemented


def _direct(method: Callable, one: Any, other: Any) -> Any:
    return method(one, other)


def _of_fields(method: FunctionType, one: Any, other: Any) -> Any:
    """A comparison of dataclasses: of their fields, as tuples."""
    if type(one) is not type(other):
        return NotImplemented
    kind = next(kind for kind, (stem, *_) in _COMPARISONS.items() if method.__name__ == f"__{stem}__")
    return COMPARE[kind](compared_fields(one), compared_fields(other))


def compared_fields(x: Any) -> tuple:
    """What two objects of a dataclass are compared by."""
    return tuple(getattr(x, each.name) for each in dataclasses.fields(x) if each.compare)


def orders(items: list) -> list:
    """What items are ordered by: dataclasses by their fields."""
    kinds = set(map(type, items))
    return list(map(compared_fields, items)) if len(kinds) == 1 and is_generated(kinds.pop().__lt__) else items


def _leaves_it(other: Any, array: Any) -> bool:
    """Whether NumPy's operators leave the work to the object."""
    of_numpy = issubclass(array.__class__, (np.generic, np.ndarray))
    if getattr(array, "shape", ()) == () and not (of_numpy and _becomes_array(other)):
        return True
    ufunc = getattr(type(other), "__array_ufunc__", other)
    return ufunc is None or (ufunc is other and getattr(other, "__array_priority__", 0.0) > 0.0)


def _becomes_array(x: Any) -> bool:
    """Whether NumPy's numbers make an array of an object."""
    return hasattr(type(x), "__array__") or hasattr(type(x), "__len__") and hasattr(type(x), "__getitem__")


_SYMBOLS = {"Add": ("add", "+"), "Sub": ("sub", "-"), "Mult": ("mul", "*"), "MatMult": ("matmul", "@"),
            "Div": ("truediv", "/"), "FloorDiv": ("floordiv", "//"), "Mod": ("mod", "%"),
            "Pow": ("pow", "** or pow()"), "LShift": ("lshift", "<<"), "RShift": ("rshift", ">>"),
            "BitOr": ("or", "|"), "BitXor": ("xor", "^"), "BitAnd": ("and", "&")}
_COMPARISONS = {"Eq": ("eq", "eq", "=="), "NotEq": ("ne", "ne", "!="), "Lt": ("lt", "gt", "<"),
                "LtE": ("le", "ge", "<="), "Gt": ("gt", "lt", ">"), "GtE": ("ge", "le", ">=")}
_REPEATED = (list, tuple)
_ORDERS = {f"__{name}__" for name, *_ in _COMPARISONS.values()}


def _binary(stem: str, symbol: str) -> Callable[[Any, Any], Any]:
    name, mirrored = f"__{stem}__", f"__r{stem}__"
    native = getattr(operator, name)

    def operate(left: Any, right: Any) -> Any:
        a, b = type(left), type(right)
        if a in PLAIN and b in PLAIN or method_of(a, name) is method_of(b, mirrored) is None:
            if stem == "mul" and (a in _REPEATED or b in _REPEATED) \
                    and (found := sequences.repeated(left, right)) is not None:
                return found
            try:
                return native(left, right)
            except TypeError as error:
                raise _named(error, left, right) from None
        result = _protocol(left, right, name, mirrored)
        if result is NotImplemented:
            raise TypeError(f"unsupported operand type(s) for {symbol}: '{a.__name__}' and '{b.__name__}'")
        return result
    return operate


def _named(error: TypeError, *operands: Any) -> TypeError:
    """The error with the types that traced values stand for."""
    text = str(error)
    for x in operands:
        if f"'{type(x).__name__}'" in text and type(x) in ARRAYS and type(x) is not np.ndarray:
            meant = type(np.zeros((), x.dtype).item()) if x.shape else x.__class__
            return TypeError(text.replace(f"'{type(x).__name__}'", f"'{meant.__name__}'"))
    return error


def _comparison(kind: str, stem: str, mirror: str, symbol: str) -> Callable[[Any, Any], Any]:
    name, mirrored = f"__{stem}__", f"__{mirror}__"
    native = getattr(operator, name)

    def operate(left: Any, right: Any) -> Any:
        a, b = type(left), type(right)
        if a in PLAIN and b in PLAIN or method_of(a, name) is method_of(b, mirrored) is None:
            # `!=` of a class that says what `==` is
            if stem == "ne" and a not in PLAIN and method_of(a, "__eq__") and a.__ne__ is object.__ne__:
                equal = _protocol(left, right, "__eq__", "__eq__")
                return left is not right if equal is NotImplemented else ag__.not_(equal)
            hook = getattr(a, "ag__compared", None) or getattr(b, "ag__compared", None)
            if hook is not None:
                return hook(kind, left, right)
            if sequences.depends(left, right):
                return sequences.compared(kind, left, right)
            if stem in ("eq", "ne") and getattr(a, "__eq__", None) is getattr(b, "__eq__", None) is object.__eq__:
                return ag__.same(left, right) if stem == "eq" else ag__.not_(ag__.same(left, right))
            return native(left, right)
        result = _protocol(left, right, name, mirrored)
        if result is not NotImplemented:
            return result
        if stem in ("eq", "ne"):
            return (left is right) == (stem == "eq")
        raise TypeError(f"'{symbol}' not supported between instances of '{a.__name__}' and '{b.__name__}'")
    return operate


BINARY = {kind: _binary(stem, symbol) for kind, (stem, symbol) in _SYMBOLS.items()}
COMPARE = {kind: _comparison(kind, *names) for kind, names in _COMPARISONS.items()}


def inplace(kind: str, left: Any, right: Any) -> Any:
    """`left kind= right`."""
    a, b = type(left), type(right)
    if a in PLAIN and b in PLAIN:
        return operators.INPLACE[kind](left, right)
    stem, symbol = _SYMBOLS[kind]
    if (method := method_of(a, f"__i{stem}__")) is not None:
        result = call(method, left, right)
        if result is not NotImplemented:
            return result
    elif hasattr(a, f"__i{stem}__") or method_of(a, f"__{stem}__") is method_of(b, f"__r{stem}__") is None:
        return operators.INPLACE[kind](left, right)
    result = _protocol(left, right, f"__{stem}__", f"__r{stem}__")
    if result is NotImplemented:
        raise TypeError(f"unsupported operand type(s) for {symbol.split()[0]}=: '{a.__name__}' and '{b.__name__}'")
    return result


def contains(item: Any, container: Any) -> Any:
    if (method := method_of(type(container), "__contains__")) is not None:
        return calls.REPLACEMENTS.get(bool, bool)(call(method, container, item))
    if not hasattr(type(container), "__contains__") and protocols.iterates(container):
        return call(any, ag__.generated(container, lambda x: ag__.or_(x is item, lambda: ag__.Eq(x, item)), None))
    return item in container


def _sum(items: Any, /, start: Any = 0) -> Any:
    if isinstance(items, Iterator):
        items = list(items)
    if type(items) in (list, tuple) and not all(type(i) in PLAIN for i in items):
        return functools.reduce(BINARY["Add"], items, start)
    if type(items) in calls.OURS and hasattr(items, "total"):       # a list of run-time length
        return items.total(start)
    if getattr(type(items), "partial", False) and len(items.shape) == 1:     # an array of run-time size
        return BINARY["Add"](start, call(np.sum, items, dtype=np.int64 if items.dtype == bool else items.dtype))
    return builtins.sum(items, start)


# ---- with ------------------------------------------------------------------------------------------------------

class _Context:
    """A context manager; entering and leaving that of a user's class are calls, and it is left whatever was raised."""

    def __init__(self, manager: Any, call: Callable) -> None:
        self.manager, self.call, self.before = manager, call, _pending()

    def __enter__(self) -> Any:
        self.before = _pending()
        return self.call(type(self.manager).__enter__, self.manager)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> Any:
        if isinstance(error, ReactantError):
            return False                # no exception of the program
        ours = kind is not None and kind.__module__.startswith("reactant.")     # a side of an `if` that raises
        unsure = any(a is not b for a, b in zip(_pending(), self.before, strict=True))
        if (ours or kind is None and unsure) and self.asks():
            raise ControlFlowError("It is only known at run time whether an exception is raised inside this `with`, "
                                   "and "
                                   f"__exit__ of {type(self.manager).__name__} asks for it, or may end it.",
                                   hint="Use `try` with `except` instead.", code="exception-at-run-time")
        with ag__.shielded(ag__.attempt_around()):
            return self.call(type(self.manager).__exit__, self.manager, kind, error, trace)

    def asks(self) -> bool:
        """Whether leaving depends on the exception; outside of a `try` it only matters whether that goes on."""
        used, ends = _of_exceptions(type(self.manager).__exit__)
        return ends or used and ag__.attempt_around() is not None


def _pending() -> tuple:
    """What tells of exceptions known only at run time: what is raised in a `try`, or the last check."""
    trace, attempt = SESSION.trace, ag__.attempt_around()
    if trace is None or attempt is None:
        return tuple(trace.checks[-1:][0][:1] if trace is not None and trace.checks else (None,))
    return (attempt.state.code,)


@functools.cache
def _of_exceptions(method: Any) -> tuple[bool, bool]:
    """Whether a method `__exit__` uses what it is told of an exception, and whether it may end it."""
    if not convertible(method):
        return False, False
    node = conversion.function_node(method)
    told = set(arguments_of(node.args)[1:])
    used = any(isinstance(n, ast.Name) and n.id in told for n in ast.walk(node))
    returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
    return used, any(not isinstance(value, ast.Constant) or bool(value.value) for value in returned)


def _plainly(method: Callable, *arguments: Any) -> Any:
    return method(*arguments)


def context(manager: Any) -> Any:
    """The context manager of a `with` statement."""
    if SESSION.trace is not None:
        SESSION.trace.pending.append(manager)     # until the function ends
    kind = type(manager)
    whole = method_of(kind, "__enter__") is not None and method_of(kind, "__exit__") is not None
    if not whole and ag__.attempt_around() is None:
        return manager
    return _Context(manager, call if whole else _plainly)


def install(tensor: type) -> None:
    """Put the operators in place, behind those that are there. Done once, by the overlay."""
    PLAIN.add(tensor)
    ARRAYS.add(tensor)
    for function, name in BUILTINS.items():
        calls.REPLACEMENTS[function] = _on_first(name, calls.REPLACEMENTS.get(function, function))
    for function, made in ((next, _next), (iter, _iter), (reversed, _reversed)):
        calls.REPLACEMENTS[function] = made(calls.REPLACEMENTS.get(function, function))
    calls.REPLACEMENTS[sum] = _sum
    for kind, (stem, _) in _SYMBOLS.items():
        calls.REPLACEMENTS[getattr(operator, f"__{stem}__")] = BINARY[kind]
    for kind, (stem, *_) in _COMPARISONS.items():
        calls.REPLACEMENTS[getattr(operator, f"__{stem}__")] = COMPARE[kind]
    for made in getattr(functools, "_convert", {}).values():    # by `functools.total_ordering`
        for _, function in made:
            conversion.convert_always(function)
