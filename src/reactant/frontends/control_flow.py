"""Control flow over run-time values: the operators that converted code calls, put in place.

Decisions are in `decisions`, which loops are loops in `loop_choice`; here are what may raise at run time, variables,
and changes of objects.
"""
from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.frontends.arrays.tensor import PYTHON, Tensor, is_tensor
from reactant.frontends.control import (
    container_aliasing,
    element_copies,
    iterators,
    mutation_log,
    program_errors,
    sized_arrays,  # noqa: F401 - says how they are captured
    try_statements,
)
from reactant.frontends.control.branches import StagedRaise
from reactant.frontends.control.decisions import (
    and_,
    asked,
    is_traced,
    predicate_of,
)
from reactant.frontends.control.loop_carried import truth_of
from reactant.frontends.control.snapshots import MaybeBound, capture
from reactant.frontends.control.trees import ABSENT
from reactant.frontends.session import recording
from reactant.frontends.session.abstract import each_key
from reactant.frontends.session.calls import is_undecided, takes_anything
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import Trace, current_trace, is_tracing
from reactant.frontends.source import operators, source_map
from reactant.frontends.source.operators import UNSET, Unusable, ag__
from reactant.frontends.source.source_map import too_deep
from reactant.frontends.texts.failures import failure
from reactant.frontends.values import (  # noqa: F401 - lists compare
    array_lists,
    dynamic_keys,
    dynamic_methods,
    list_comparisons,
    object_columns,
    ragged,
)
from reactant.frontends.values.dynamic_list import RunTimeList
from reactant.frontends.values.list_builder import Grower, shown
from reactant.frontends.values.optional import MaybeNone, changing, known_index
from reactant.frontends.values.tagged_union import Alternative
from reactant.ir import ops

# ---- errors at run time ----------------------------------------------------------------------------------------

def assert_stmt(test: Any, message: Callable[[], Any] | None) -> None:
    test = asked(test)
    if not is_traced(test) and (test or not recording.recording()):
        return operators.assert_stmt(test, message)
    _refuse_handlers()
    error = AssertionError() if message is None else AssertionError(message())
    _record(predicate_of(test) if is_traced(test) else ops.constant(False), failure(error))
    if not is_traced(test):
        raise StagedRaise
    return None


def raised(error: Any) -> Any:
    """In a branch that may not run: record the check and leave the branch."""
    if not recording.recording():
        return error
    _refuse_handlers()
    _record(ops.constant(False), failure(error))
    return StagedRaise()


def _record(ok: ir.Value, error: Callable[..., BaseException]) -> None:
    current_trace().record(ok, error)


def refusals(*kinds: Callable[[], Any]) -> Any:
    """Our own errors, unless the handlers name them, and what is no exception of the program."""
    passing: tuple[type[BaseException], ...] = operators.Interrupted, Retrace
    if too_deep(sys.exc_info()[1]):
        passing += (RecursionError,)
    found = [kind() for kind in kinds]
    named = [k for f in found for k in (f if isinstance(f, tuple) else (f,))]
    if any(isinstance(k, type) and issubclass(k, ReactantError) for k in named):
        return passing
    return ReactantError, *passing


def _refuse_handlers() -> None:
    if current_trace().attempts:
        try_statements.refuse()


# ---- variables -------------------------------------------------------------------------------------------------

def ld(value: Any) -> Any:
    kind = type(value)
    if kind is Unusable:
        raise value.make_error()
    if kind is MaybeBound:
        name, trace = value.name, current_trace()
        for loop in trace.loops:
            if name in loop.demands.unset:      # it may be bound from before the loop
                raise loop.demands.unset[name]
        if value.value is ABSENT:
            raise program_errors.LateRead(name)
        (trace.check if trace.attempts else trace.record)(truth_of(capture(value.defined)), lambda: UnboundLocalError(
            program_errors.unbound(name)))
        return value.value
    return value


def result(returned: Any, value: Any) -> Any:
    if type(value) is Unusable:
        raise value.make_error()
    if value is UNSET or value is None:
        return None
    if is_traced(returned):
        return MaybeNone(and_(returned, lambda: value.ag__defined), value.ag__value) if type(value) is MaybeNone else \
            MaybeNone(returned, value)
    return value if returned else None


# ---- objects ---------------------------------------------------------------------------------------------------

def touching(operator: Callable, position: int, keyed: bool = False) -> Callable:
    """The operator, told to `effects` which object it is about to change; `keyed`: at the place that its third argument
    says."""
    def changes(*arguments: Any, **keywords: Any) -> Any:
        container = arguments[position]
        container_aliasing.about_to_change(container)
        element_copies.begin_change(container)
        mutation_log.touch(container)
        _note_write(container, arguments[2] if keyed else None)
        result = operator(*arguments, **keywords)
        element_copies.end_change(container)
        return result
    return changes


def changing_first(operator: Callable) -> Callable:
    """An operator that changes its first argument."""
    return touching(operator, 0)


def changing_second(operator: Callable) -> Callable:
    """An operator that changes its second argument."""
    return touching(operator, 1)


def changing_item(operator: Callable) -> Callable:
    """An operator that changes its second argument, at the index or name that its third is."""
    return touching(operator, 1, keyed=True)


def _note_write(container: Any, key: Any = None) -> None:
    """On which line something from outside is written, for errors."""
    trace = Trace.current()
    if trace is not None and id(container) in trace.outer_writes:
        trace.outer_writes[id(container)][key if type(key) in (str, int) else None] = source_map.user_frame()


def generator(elements: Iterable) -> Iterable:
    iterators.note(elements)
    return elements


def calling(operator: Callable) -> Callable:
    """`call_bound`, told to `effects` which object it may change."""
    def calls(function: Any, owner: Any, /, *arguments: Any, **keywords: Any) -> Any:
        iterators.called(function, owner)
        changing = container_aliasing.about_to_call(function, owner)
        if changing:
            element_copies.begin_change(owner)
        mutation_log.touch(owner)
        _note_write(owner)
        result = operator(function, owner, *arguments, **keywords)
        if changing:
            element_copies.end_change(owner)
        return result
    return calls


def with_iterators(operator: Callable) -> Callable:
    """`call`, told to `iterators` which ones it may use up, and which it makes."""
    def call(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        trace = Trace.current()
        if trace is None or not (recording.recording() or trace.lost or trace.outer_iterators):
            return operator(function, *arguments, **keywords)
        if not takes_anything(function):
            iterators.use(*arguments)
        result = operator(function, *arguments, **keywords)
        iterators.note(result)
        return result
    return call


_PLACES = "{} indices must be integers or slices, not {{}}"


def get_item(inner: Callable) -> Callable:
    def get_item(container: Any, index: Any) -> Any:
        if (each := each_key(index, container)) is not None:
            return each(lambda key: ag__.get_item(container, key))
        index = known_index(index)
        if is_tensor(index) and type(container) in (list, tuple) and is_tracing() and not index.is_concrete():
            index.require_integer(_PLACES.format(type(container).__name__))
            if dynamic_methods.are_numbered(container):
                return dynamic_methods.get(container, index)
            if ragged.fit(container, index):
                return ragged.get(container, index)
            if object_columns.fit(container, index):
                return object_columns.get(container, index)
            return _with_growing(container, index) if any(type(x) is Grower for x in container) else \
                array_lists.get(container, index)
        if dynamic_keys.fit(container, index):
            return dynamic_keys.get(container, index)
        if isinstance(container, defaultdict) and is_tracing() and index not in container:
            mutation_log.touch(container)
        if is_tensor(container) and container.kind == PYTHON:
            raise TypeError(f"'{container.__class__.__name__}' object is not subscriptable")
        return inner(container, index)
    return get_item


def _with_growing(container: list | tuple, index: Tensor) -> Any:
    """`container[index]`, where elements grow in a loop: what is taken is what they hold now."""
    found = array_lists.get(list(map(shown, container)), index)
    if not is_tensor(found):
        container_aliasing.may_be(found, tuple(container), found)
    return found


def grows(items: Any, target: Any) -> bool:
    return type(items) is RunTimeList and type(target) is list


def set_item(inner: Callable) -> Callable:
    def set_item(value: Any, container: Any, index: Any) -> None:
        if is_undecided(container):
            return changing(container, lambda held: ag__.set_item(value, held, index))
        if (each := each_key(index, container)) is not None:
            return each(lambda key: ag__.set_item(value, container, key))
        index = known_index(index)
        if is_tensor(index) and type(container) is list and is_tracing() and not index.is_concrete():
            index.require_integer(_PLACES.format("list"))
            return array_lists.put(value, container, index)
        if dynamic_keys.fit(container, index):
            return dynamic_keys.put(value, container, index)
        return inner(value, container, index)
    return set_item


def del_item(inner: Callable) -> Callable:
    def del_item(container: Any, index: Any) -> None:
        if is_undecided(container):
            return changing(container, lambda held: ag__.del_item(held, index))
        if (each := each_key(index, container)) is not None:
            return each(lambda key: ag__.del_item(container, key))
        return inner(container, index)
    return del_item


def inplace(inner: Callable) -> Callable:
    def inplace(kind: str, left: Any, right: Any) -> Any:
        if type(left) is MaybeNone:
            return changing(left, lambda held: ag__.inplace(kind, held, right))
        return inner(kind, left, right)
    return inplace


def get_attr(inner: Callable) -> Callable:
    def get_attr(owner: Any, attribute: str) -> Any:
        if type(getattr(type(owner), attribute, None)) is cached_property:
            mutation_log.touch(owner)        # it is kept there
        if attribute == "__class__":
            return ag__.call(type, owner)
        if attribute == "__array__" and (is_tensor(owner) or getattr(type(owner), "partial", False)):
            return partial(np.asarray, owner)       # what an array gives is itself
        if type(owner) is Alternative and attribute.startswith("__"):
            return owner.ag__each(lambda value: ag__.get_attr(value, attribute))
        value = inner(owner, attribute)
        return ld(value) if type(value) in (Unusable, MaybeBound) else value
    return get_attr
