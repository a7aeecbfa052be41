"""Exceptions that depend on run-time values, on their way to a handler of the program.

An `Attempt` stands for a `try` with handlers that is being traced. What may be raised in it gets a number; the state
holds which one was raised, 0 for none: a known number, or a run-time one that control flow merges and carries like any
other attribute of an object. `source.try_statements` puts the calls of these operators into converted code.
"""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ControlFlowError, ReactantError
from reactant.frontends.arrays.tensor import is_tensor, python_number
from reactant.frontends.control import mutation_log
from reactant.frontends.control.branches import StagedRaise, staged_if
from reactant.frontends.session import recording
from reactant.frontends.session.trace import Failure, Trace, current_trace
from reactant.frontends.source.operators import UNSET, Interrupted, Unusable, ag__, handlers_out_of_reach
from reactant.frontends.source.source_map import too_deep
from reactant.frontends.texts.failures import failure
from reactant.ir import ops

MOST = 2**31
"""Above the number of any exception."""


class State:
    """Which exception was raised: the part of an attempt that branches and loops change."""

    __slots__ = ("ag__depth", "code")

    def __init__(self) -> None:
        self.code: Any = 0
        self.ag__depth = recording.depth()


class Attempt:
    """A `try` whose handlers take exceptions of `kinds` (thunks, as Python evaluates them only when needed)."""

    def __init__(self, kinds: tuple[Callable[[], Any], ...]):
        self.kinds = kinds
        self.state = State()
        self.errors: list[Callable[[], BaseException]] = []

    def interrupted(self) -> bool:
        """Whether it is known only at run time if something was raised before."""
        return is_tensor(self.state.code)

    def handles(self, error: BaseException) -> bool:
        return any(isinstance(error, kind()) for kind in self.kinds)

    def takes(self, error: Callable[[], BaseException], around: list[Attempt]) -> bool:
        """Whether a handler of this attempt, or of one around it, waits for a run-time check of NumPy or Python."""
        made = error()
        return not isinstance(made, ReactantError) and any(a.handles(made) for a in around)

    def unless_raised(self, ok: ir.Value) -> ir.Value:
        """A check that does not matter once something was raised."""
        return ops.or_(ok, ops.not_(_nothing_raised(self))) if self.interrupted() else ok

    def number_of(self, error: Callable[[], BaseException]) -> int:
        made = error()
        for position, known in enumerate(self.errors):
            other = known()
            if type(other) is type(made) and _same_arguments(other.args, made.args):
                return position + 1
        self.errors.append(Failure(error))      # what it tells is known where it stands alone
        return len(self.errors)

    def raised(self, error: Callable[[], BaseException], ok: ir.Value | None = None) -> None:
        """`error` is raised unless `ok` (None: surely), or unless something was raised before."""
        if ok is not None and (known := ops.constant_value(ok)) is not None and not known.any():
            ok = None
        self.put(self.number_of(error), ok)

    def put(self, number: int, ok: ir.Value | None) -> None:
        before = self.state.code
        mutation_log.touch(self.state)
        if ok is None and not is_tensor(before):
            self.state.code = before or number
            return
        old = before.value() if is_tensor(before) else ops.constant(before, "int64")
        new = ops.select(ops.compare(old, 0, "EQ"), number, old) if is_tensor(before) else \
            ops.constant(before or number, "int64")
        self.state.code = python_number(new if ok is None else ops.select(ok, old, new), (0, MOST))

    def is_one_of(self, numbers: set[int]) -> Any:
        """Whether one of these exceptions was raised."""
        code = self.state.code
        if not is_tensor(code):
            return code in numbers
        value, found = code.value(), None
        for number in sorted(numbers):
            equal = ops.compare(value, number, "EQ")
            found = equal if found is None else ops.or_(found, equal)
        return False if found is None else python_number(found)

    def taken_by(self, position: int) -> set[int]:
        """The exceptions that this handler takes."""
        left = set(range(1, len(self.errors) + 1))
        for p in range(position + 1):
            kind = self.kinds[p]()
            mine = {n for n in left if isinstance(self.errors[n - 1](), kind)}
            left -= mine
        return mine

    def left(self) -> set[int]:
        """The exceptions that no handler takes."""
        return {n for n in range(1, len(self.errors) + 1) if not self.handles(self.errors[n - 1]())}


def _same_arguments(a: tuple, b: tuple) -> bool:
    return len(a) == len(b) and all(x is y or type(x) is type(y) and isinstance(x, (str, int, float)) and x == y
                                    for x, y in zip(a, b, strict=True))


# ---- operators of converted code -------------------------------------------------------------------------------

def attempt(*kinds: Callable[[], Any]) -> Attempt | None:
    return Attempt(kinds) if Trace.current() is not None else None


def attempt_around() -> Attempt | None:
    """The innermost attempt that is being traced."""
    trace = Trace.current()
    return trace.attempts[-1] if trace is not None and trace.attempts else None


@contextlib.contextmanager
def catching(inner: Attempt | None = None) -> Iterator[None]:
    """Around the body of a `try` with handlers."""
    trace = Trace.current()
    if trace is None:
        yield
        return
    trace.attempts.append(inner or Closed(()))
    try:
        yield
    finally:
        trace.attempts.pop()


class Closed(Attempt):
    """A `try` that was not rewritten: exceptions that depend on run-time values cannot get to its handlers."""

    def put(self, number: int, ok: ir.Value | None) -> None:
        refuse()

    def handles(self, error: BaseException) -> bool:
        return False


def refuse() -> None:
    raise handlers_out_of_reach()


def pending(inside: Attempt | None) -> Any:
    """Whether something was raised."""
    if inside is None:
        return False
    code = inside.state.code
    return code != 0


def resume(inside: Attempt | None) -> None:
    """From here on nothing was raised (what follows runs only then)."""
    if inside is not None and (is_tensor(inside.state.code) or inside.state.code):
        mutation_log.touch(inside.state)
        inside.state.code = 0


def raise_(inside: Attempt | None, error: Any, cause: Any) -> None:
    """A `raise` statement in an attempt, or in a function that one may call."""
    if not recording.recording():
        if cause is not None:
            raise error from cause
        raise error
    if inside is None:
        current_trace().record(ops.constant(False), failure(error))
        raise StagedRaise
    made = error() if isinstance(error, type) else error
    inside.raised(lambda: made)


def interruption(inside: Attempt | None) -> Any:
    """The exceptions that end a statement and nothing else. What Python raises in a branch or loop body, it raises at
    run time: where that branch is taken."""
    error = sys.exc_info()[1]
    if inside is None or not recording.recording() or not isinstance(error, Exception) or _is_ours(error):
        return Interrupted
    if not isinstance(error, (IndexError, ValueError, ArithmeticError)) and not any(
            a.handles(error) for a in current_trace().attempts):
        return Interrupted
    kind, arguments = type(error), error.args
    inside.raised(lambda: kind(*arguments))
    return kind


def _is_ours(error: Exception) -> bool:
    """Whether it is no exception of the program: what is refused."""
    return isinstance(error, ReactantError) or too_deep(error)


def kept(inside: Attempt | None, new: Any, old: Any) -> Any:
    """A variable after its update, which did not happen where that raised."""
    if inside is None or not inside.interrupted() or new is old:
        return new
    return staged_if(_nothing_raised(inside), lambda: new, lambda: old)


@contextlib.contextmanager
def shielded(inside: Attempt | None) -> Iterator[None]:
    """Around a `finally`, which runs whether or not something was raised."""
    if inside is None:
        yield
        return
    before = inside.state.code
    resume(inside)
    yield
    after = inside.state.code
    if not is_tensor(after) and after == 0:
        mutation_log.touch(inside.state)
        inside.state.code = before
    elif is_tensor(before) or before:
        raise ControlFlowError("An exception may be raised in a `finally` while another one is on its way to its "
                               "handler, both known only at run time.", hint="Use `if` instead of `try`.",
                               code="exception-at-run-time")


def matches(inside: Attempt, position: int) -> Any:
    """Whether the handler takes what was raised; asked only where something was, and no handler before took it."""
    mine = inside.taken_by(position)
    rest = set(range(1, len(inside.errors) + 1)).difference(*(inside.taken_by(p) for p in range(position)))
    return mine == rest or inside.is_one_of(mine)


def exception(inside: Attempt, position: int) -> Any:
    """What the handler calls its exception."""
    numbers = sorted(inside.taken_by(position))
    if not is_tensor(inside.state.code):
        numbers = [inside.state.code]
    if len(numbers) == 1:
        return inside.errors[numbers[0] - 1]()
    return Unusable(lambda: ControlFlowError("Which exception this is, of several that the handler takes, is known "
                                             "only at run time.", hint="Write a handler for each.",
                                             code="exception-at-run-time"))


def unhandled(inside: Attempt) -> None:
    """No handler took what was raised."""
    _raise_outside(inside, inside.left())


def raise_again(inside: Attempt, position: int) -> None:
    """`raise` alone in a handler."""
    _raise_outside(inside, inside.taken_by(position))


def _raise_outside(inside: Attempt, numbers: set[int]) -> None:
    if not recording.recording():
        raise inside.errors[inside.state.code - 1]()
    outer = attempt_around()
    for number in sorted(numbers):
        found = inside.is_one_of({number})
        if found is False:
            continue
        error = inside.errors[number - 1]
        ok = ops.constant(False) if found is True else ops.not_(found.value())
        if outer is not None:
            outer.raised(error, ok)
        else:
            current_trace().record(ok, error)
    if outer is None:
        raise StagedRaise


# ---- checks and calls ------------------------------------------------------------------------------------------

def _nothing_raised(inside: Attempt) -> ir.Value:
    return ops.compare(inside.state.code.value(), 0, "EQ")


def unless_interrupted(operator: Callable) -> Callable:
    """The operator, which does nothing where something was raised earlier in its statement."""
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        trace = Trace.current()
        if trace is None or not trace.attempts or not trace.attempts[-1].interrupted():
            return operator(*arguments, **keywords)
        inside = trace.attempts[-1]

        def go_on() -> Any:
            resume(inside)
            return operator(*arguments, **keywords)

        return staged_if(_nothing_raised(inside), go_on, lambda: UNSET)
    return guarded


def after_a_look(set_item: Callable) -> Callable:
    """The operator, after a look at the place: where there is none, that raises, and nothing is written."""
    def guarded(value: Any, container: Any, index: Any) -> None:
        trace = Trace.current()
        if trace is not None and trace.attempts and is_tensor(container):
            kinds = {i.dtype.kind for i in (index if isinstance(index, tuple) else (index,)) if is_tensor(i)}
            if kinds and "b" not in kinds:
                ag__.get_item(container, index)
        return set_item(value, container, index)
    return guarded


def call_in_attempt(call: Callable, /, *arguments: Any, **keywords: Any) -> Any:
    """A call, after which nothing of the statement runs where the function has surely raised."""
    def entered() -> Any:
        current_trace().entering = True
        return call(*arguments, **keywords)

    result = unless_interrupted(entered)()
    code = current_trace().attempts[-1].state.code
    if type(code) is int and code:
        raise Interrupted
    return result
