"""Decisions: `if`, conditional expressions, `and`, `or`, `not`, `is` and `in`, over values known at run time."""
from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded, ControlFlowError
from reactant.frontends.arrays.storage_aliasing import ChosenStorage, are_one_array
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number
from reactant.frontends.control import container_aliasing, objects
from reactant.frontends.control.branches import StagedRaise, staged_if
from reactant.frontends.control.loop_carried import truth_of
from reactant.frontends.control.snapshots import capture, is_record
from reactant.frontends.session import calls, recording
from reactant.frontends.session.abstract import Abstract, each_key
from reactant.frontends.session.calls import holding, is_undecided
from reactant.frontends.session.trace import is_tracing
from reactant.frontends.source import operators
from reactant.frontends.source.operators import ag__
from reactant.ir import ops


def is_traced(value: Any) -> bool:
    """Whether the truth of `value` is known only at run time."""
    if not is_tensor(value) or value.is_concrete() or value.size != 1:
        return False        # arrays of other sizes raise as NumPy's do
    return ops.constant_value(value.value()) is None


def asked(value: Any) -> Any:
    """What decides in a test: of lists that are no lists while tracing, whether there is something in them; of what
    may be None, whether it is there and true; of objects, what their class says."""
    return value.ag__truth() if issubclass(type(value), Abstract) else _said_by_class(value)


def truth_where_reached(value: Any) -> Any:
    """The truth of a value in code that is reached where there is one."""
    return _truth(condition(value))


def _truth(decision: Any) -> Any:
    return decision if is_traced(decision) else bool(decision)


def _said_by_class(value: Any) -> Any:
    """The truth of an object of a user's class, where that says one; anything else as it is."""
    kind = type(value)
    if kind in objects.PLAIN:
        return value
    if (method := objects.method_of(kind, "__bool__")) is not None:
        said = objects.call(method, value)
        if type(said) is bool or is_tensor(said) and said.kind == PYTHON and said.dtype.kind == "b":
            return said
        name = f"{said.__class__.__module__}.{said.__class__.__name__}".removeprefix("builtins.")
        raise TypeError(f"__bool__ should return bool, returned {name}")
    if hasattr(kind, "__bool__") or (method := objects.method_of(kind, "__len__")) is None:
        return value
    return ag__.NotEq(objects.call(method, value), 0)


def of_object(known: Callable) -> Callable:
    """`bool`, of objects what their class says."""
    return lambda *x: known(*map(_said_by_class, x))


def said_of(value: Any) -> Any:
    """The truth of an element, for `any` and `all`."""
    return value if is_tensor(value) else _truth(asked(value))


def predicate_of(value: Tensor) -> ir.Value:
    return truth_of(capture(value))


def if_stmt(test: Any, then: FunctionType, orelse: FunctionType | None, live: tuple[str, ...],
            dead: tuple[str, ...], left: operators.Left = (None, None)) -> None:
    test = asked(test)
    if not is_traced(test):
        return operators.if_stmt(test, then, orelse, live, dead)
    try:
        staged_if(predicate_of(test), then, orelse, live, dead, (then, orelse), left)
    except StagedRaise:
        if recording.recording():
            raise
        # Both branches raise, outside of any other decision: what follows is traced, and never used.


def if_exp(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    test = asked(test)
    if not is_traced(test):
        return then() if test else orelse()
    return staged_if(predicate_of(test), then, orelse)


class _Noted:
    """The operands of an `and` or `or` after the first one; it keeps what they are together."""

    def __init__(self, decisive: bool, others: tuple[Callable[[], Any], ...]) -> None:
        self.decisive, self.others = decisive, others
        self.value: Any = None

    def __call__(self) -> Any:
        self.value = _until(self.decisive, self.others[0](), *self.others[1:])
        return self.value

    def settled(self, first: Any, whole: Any) -> Any:
        """What all operands are together: known where `and False`, `or True` follows a truth decided at run time."""
        truths = is_tensor(whole) and whole.dtype.kind == first.dtype.kind == "b"
        if truths and type(self.value) in (bool, np.bool_) and self.value == self.decisive:
            return self.decisive if whole.kind == PYTHON else np.bool_(self.decisive)
        return whole


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    return _until(False, first, *others)


def or_(first: Any, *others: Callable[..., Any]) -> Any:
    return _until(True, first, *others)


def _until(decisive: bool, first: Any, *others: Callable[[], Any]) -> Any:
    """The first operand whose truth is `decisive`, or the last one."""
    for position, other in enumerate(others):
        test = asked(first)
        if test is not first and (issubclass(type(first), Abstract) and first.ag__sides() or is_traced(test)):
            known, rest = first, _Noted(decisive, (other, *others[position + 1:]))
            if decisive and issubclass(type(first), Abstract):
                known = first.ag__if_true()
            with holding(first):
                return if_exp(test, *((lambda: known, rest) if decisive else (rest, lambda: known)))  # noqa: B023
        if is_traced(first):
            known, rest = first, _Noted(decisive, (other, *others[position + 1:]))
            sides = (lambda: known, rest) if decisive else (rest, lambda: known)  # noqa: B023
            with holding(first):
                return rest.settled(known, staged_if(predicate_of(first), *sides))
        if bool(test) is decisive:
            return first
        first = other()
    return first


def not_(value: Any) -> Any:
    value = asked(value)
    if not is_traced(value):
        return not value
    return python_number(ops.not_(predicate_of(value)))


def condition(value: Any) -> Any:
    """What an operand of `and` or `or` says in a test."""
    value = asked(value)
    if value is None or isinstance(value, (str, list, tuple, dict, set)):
        return bool(value)
    return python_number(predicate_of(value)) if is_traced(value) and value.dtype.kind != "b" else value


def truth(value: Any) -> bool:
    """A decision that Python itself takes."""
    value = asked(value)
    if is_traced(value):
        raise undecided()
    return bool(value)


def undecided() -> ConcreteValueNeeded:
    """The error where Python would have to take a decision."""
    return ConcreteValueNeeded("A condition in a comprehension (or beside `:=` or `yield`)",
                               "Write a `for` loop with `if` and `append`, or select with a mask: x[x > 0].")


def same(left: Any, right: Any) -> Any:
    """`left is right`."""
    for one, other in ((left, right), (right, left)):
        if getattr(type(one), "ag__one_of_several", False):
            return one.ag__same(other)
    if left is right or not is_tracing():
        return left is right
    for one, other in ((left, right), (right, left)):
        if issubclass(type(one), Abstract) and (found := one.ag__same(other)) is not None:
            return found if type(found) is bool else _python_bool(found)
    if is_tensor(left) and is_tensor(right) and left.kind == right.kind == ARRAY:
        found = are_one_array(left, right)
        return found if type(found) is bool else python_number(found)
    if (found := container_aliasing.same_views(left, right)) is not None:
        return found
    if container_aliasing.are_linked(left, right) or container_aliasing.are_linked(right, left) \
            or any(getattr(type(x), "ag__shows_one_of", False) for x in (left, right)):
        container_aliasing.demand_numbers(map(container_aliasing.kind_of, (left, right)))
        raise ControlFlowError("Which of several lists, dicts or objects this is (`is`) is known only at run time.",
                               hint="Keep a truth or a number that says which one it is, and compare that.",
                               code="identity-at-run-time")
    if container_aliasing.may_be_one_tuple(left, right):
        raise ControlFlowError("Which of several tuples this is (`is`) is known only at run time.",
                               hint="Compare what they hold (==), or keep a number that says which one it is, and "
                                    "compare that.", code="identity-at-run-time")
    return False


@calls.replace(id)
def _identity(x: Any, /) -> int:
    """`id(x)`, of what is one object whatever is decided at run time."""
    chosen = is_tensor(x) and type(x.storage) is ChosenStorage
    if is_tracing() and (chosen or getattr(type(x), "ag__shows_one_of", False)
                         or container_aliasing.view_of(x) is not None
                         or container_aliasing.is_linked(x) or container_aliasing.may_be_one_tuple(x, x)):
        container_aliasing.demand_numbers([container_aliasing.kind_of(x)])
        raise ControlFlowError("Which object this is (`id`) is known only at run time.",
                               hint="Compare by `is`, or keep a number that says which one it is.",
                               code="identity-at-run-time")
    return id(x)


def is_(value: Any, known: bool) -> Any:
    """A truth of Python's known only at run time is one of the two; NumPy's truths are neither."""
    if not (is_tensor(value) and value.kind == PYTHON and value.dtype.kind == "b"):
        return value is known
    return value if known else not_(value)


_HASHED: tuple[type, ...] = (set, frozenset, dict, type({}.keys()))


def contains(item: Any, container: Any) -> Any:
    if is_tensor(container):
        return _python_bool(np.any(container == item))
    if type(container) is range and is_tensor(item):
        return _in_range(item, container)
    if (each := each_key(item)) is not None:
        return each(lambda x: contains(x, container))
    if is_undecided(item):
        return item.ag__each(lambda x: contains(x, container))
    if is_undecided(container):
        return container.ag__each(lambda x: contains(item, x))
    if isinstance(container, (list, tuple)) and (
            ag__.involves_tracing((item, container), {}) or any(map(is_undecided, container))) \
            or isinstance(container, _HASHED) and ag__.involves_tracing((item,), {}) \
            or isinstance(container, (list, tuple, *_HASHED)) and is_record(item) and is_tracing():
        found: Any = False
        for element in container:
            found = or_(found, lambda e=element: True if e is item else _python_bool(ag__.Eq(e, item)))
        return found
    found = container.ag__has(item) if issubclass(type(container), Abstract) else NotImplemented
    return objects.contains(item, container) if found is NotImplemented else found


def _in_range(item: Tensor, container: range) -> Any:
    if len(container) == 0:
        return False
    low, high = min(container[0], container[-1]), max(container[0], container[-1])
    return and_(item >= low, lambda: item <= high, lambda: (item - low) % abs(container.step) == 0)


def _python_bool(value: Any) -> Any:
    return python_number(predicate_of(value)) if is_traced(value) else bool(value)
