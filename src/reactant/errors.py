"""Errors a user sees: the fact, the user's line, what to do instead, and a code that `docs/errors.md` explains.

`here()` finds the line; it asks the frontend, which knows how converted code maps back to the user's file. The codes
are rows of `error_codes/*.toml`.
"""
from __future__ import annotations

import contextlib
import linecache
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np


class Span(NamedTuple):
    """A line of the user's source. function, text: its function and what the line says, "" where that is not known."""

    file: str
    line: int
    function: str = ""
    text: str = ""

    @classmethod
    def of(cls, file: str, line: int, function: str = "") -> Span:
        """The line with its text, which is read from the file where that exists."""
        return cls(file, line, function, linecache.getline(file, line).strip())

    @classmethod
    def at(cls, place: tuple[str, int] | None) -> Span | None:
        """The line of a pair (file, line), as `ir.locations.file_and_line` gives it."""
        return None if place is None else cls.of(*place)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def shown(self, indent: str = "  ") -> str:
        """The lines that errors show of it."""
        head = f"{indent}--> {self}" + (f", in {self.function}" if self.function else "")
        return head + (f"\n{indent}    {self.text.strip()}" if self.text.strip() else "")


class Related(NamedTuple):
    """What belongs to an error beside its fact: a text, and the line it is about."""

    text: str
    span: Span | None = None

    def shown(self) -> str:
        """The lines that errors show of it."""
        return f"  note: {self.text}" + ("" if self.span is None else "\n" + self.span.shown("    "))


class Reason(NamedTuple):
    """A row of a table of refusals: the fact, which may have `{name}` in it, what to do instead, and the code."""

    fact: str
    hint: str
    code: str

    def named(self, name: str) -> Reason:
        """The reason with a name filled in."""
        return self._replace(fact=self.fact.format(name=name))

    def error(self) -> UnsupportedError:
        """The error to raise."""
        return UnsupportedError(self.fact, hint=self.hint, code=self.code)

    def __str__(self) -> str:
        return f"{self.fact} {self.hint}".strip()


class _Here:
    """The user's innermost line, to be found when an error is made."""


HERE: Final = _Here()
Place = Span | _Here | None

_frame_finder: list[Callable[[], Span | None]] = []
_elsewhere: list[str] = []


def find_frames_with(finder: Callable[[], Span | None]) -> None:
    """Register the function that finds the user's innermost line."""
    _frame_finder[:] = [finder]


def here() -> Span | None:
    """The user's innermost line; None where there is none, or where errors are about something else."""
    return _frame_finder[0]() if _frame_finder and not _elsewhere else None


@contextlib.contextmanager
def speaking_of(place: str) -> Iterator[None]:
    """Errors are about that, and not about a line: the user's functions have returned."""
    _elsewhere.append(place)
    try:
        yield
    finally:
        _elsewhere.pop()


class ReactantError(Exception):
    """The base of every error that is raised on purpose: a fact, your line, and what to do instead.

    Attributes:
        fact: what happened, a sentence.
        hint: what to do instead, "" where nothing can be said.
        code: the kind of cause, which `reactant errors CODE` explains.
        span: your line (`file`, `line`, `function`, `text`), or None.
        related: notes, and other lines that belong to it.

    Example:
        >>> try:
        ...     reactant.jit(lambda x: np.zeros(int(x.sum())))(np.ones(3))
        ... except reactant.ReactantError as error:
        ...     print(type(error).__name__, error.code)
        ConcreteValueNeeded value-known-only-at-run-time
    """

    # Classes whose errors all have one cause say `code`, and may say `hint`; elsewhere each `raise` does.

    code: str = ""
    hint: str = ""

    def __init__(self, fact: str, *, hint: str | None = None, code: str | None = None, span: Place = None,
                 related: tuple[Related, ...] = ()):
        super().__init__(fact)
        self.fact = fact
        if hint is not None:
            self.hint = hint
        if code is not None:
            self.code = code
        if not self.code:
            raise TypeError(f"{type(self).__name__} without a code: {fact}")
        if isinstance(span, _Here):
            related += tuple(map(Related, _elsewhere[-1:]))
        self.span = here() if isinstance(span, _Here) else span
        self.related = related

    def __str__(self) -> str:
        lines = [self.fact]
        if self.span is not None:
            lines.append(self.span.shown())
        lines += [each.shown() for each in self.related]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join([*lines, f"  code: {self.code}"])

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.args), self.__dict__

    def in_one_line(self) -> str:
        """Fact and hint in one line, for a text in which the line of the user has been told."""
        return f"{self.fact} {self.hint}".strip()

    @property
    def as_reason(self) -> Reason:
        """What it says, without lines."""
        return Reason(self.fact, self.hint, self.code)


def in_one_line(error: BaseException) -> str:
    """What an error says, for a text about something else."""
    return error.in_one_line() if isinstance(error, ReactantError) else str(error)


def _made_again(kind: type[ReactantError], arguments: tuple[Any, ...]) -> ReactantError:
    return kind.__new__(kind, *arguments)


def unrolled_too_far(error: ReactantError, iterations: int) -> ReactantError:
    """`error`, for which a loop runs as Python does, with the word that it did so for as many iterations as it may."""
    error.related += Related(f"Loops that need this are unrolled; this one was stopped after {iterations} iterations "
                             f"(option max_unroll)."),
    return error


RUN_TIME_ERRORS: dict[str, type[Exception]] = {}
"""What the message of a failed check inside native code starts with -> the exception it is to the user."""


_blamed_on: list[Callable[[Exception], Exception | None]] = []


def blame_with(finder: Callable[[Exception], Exception | None]) -> None:
    """Register the function that finds, for an error of the running program, what happened to another process."""
    _blamed_on[:] = [finder]


def translated(error: Exception) -> Exception:
    """An error of the running program as the user should see it; the error itself where it is not one of ours."""
    if _blamed_on and (found := _blamed_on[0](error)) is not None:
        return found
    text = str(error)
    for mark, kind in RUN_TIME_ERRORS.items():
        if mark in text:
            message = text.split(mark, 1)[1].splitlines()[0]
            return kind(message[:1].upper() + message[1:])
    return error


RAISED_BY_PROGRAMS = (RuntimeError, ValueError)
"""What jax makes of a failing program: JaxRuntimeError, or, where its C++ calls it directly, ValueError."""


@contextlib.contextmanager
def waiting() -> Iterator[None]:
    """For what waits for a running program: its errors as the user should see them."""
    try:
        yield
    except RAISED_BY_PROGRAMS as error:
        if (known := translated(error)) is error:
            raise
        raise known from None


class ConcreteValueNeeded(ReactantError, TypeError):
    """A run-time value was used where Python needs a number now: a shape, a list index, `int(x)`; also a `TypeError`.

    Make the argument that it is computed from static (`static_argnames`), or bound it by a constant, `min(n, 1000)`.

    Example:
        >>> from functools import partial
        >>> @partial(reactant.jit, static_argnames="spacing")       # without it, this error
        ... def grid(spacing):
        ...     return np.arange(int(1.0 / spacing))
        >>> grid(0.5)
        array([0, 1])
        >>> reactant.jit(lambda spacing: np.arange(int(1.0 / spacing)))(0.5)
        Traceback (most recent call last):
        reactant.errors.ConcreteValueNeeded: ...
    """

    code = "value-known-only-at-run-time"

    def __init__(self, what: str, hint: str = "", *, code: str | None = None, span: Place = HERE,
                 related: tuple[Related, ...] = ()):
        super().__init__(f"{what} needs a value that is known while tracing, but it is only known at run time.",
                         hint=hint, code=code, span=span, related=related)


class UnsupportedError(ReactantError, NotImplementedError):
    """Something that NumPy or Python can do and compiled code cannot; also a `NotImplementedError`.

    The text says what to write instead.

    Example:
        >>> reactant.jit(lambda x: np.array2string(x))(np.ones(2))
        Traceback (most recent call last):
        reactant.errors.UnsupportedError: np.array2string makes text from values, ... Format what it returns...
    """

    def __init__(self, fact: str, *, code: str, hint: str | None = None, span: Place = HERE,
                 related: tuple[Related, ...] = ()):
        super().__init__(fact, hint=hint, code=code, span=span, related=related)


def in_kernel(fact: str, *, hint: str, code: str, span: Span | None) -> UnsupportedError:
    """The error about a line of a kernel, with the line that launches it."""
    launch = here()
    if span is None or launch is None:
        return UnsupportedError(fact, hint=hint, code=code, span=span or launch)
    return UnsupportedError(fact, hint=hint, code=code, span=span, related=(Related("launched here", launch),))


class UnsupportedAttribute(UnsupportedError, AttributeError):
    """An attribute that the run-time value has, and its proxy has not: to libraries that ask, there is none, but no
    `except AttributeError` of the program is meant."""


class NotDifferentiable(ReactantError, NotImplementedError):
    """An operation between the arguments and the results has no derivative; also a `NotImplementedError`.

    The text names the operation and the line.

    Example:
        >>> rounded = reactant.custom_derivative(lambda x: np.round(x), vjp=lambda x, y, g: (g,))
        >>> reactant.grad(rounded)(1.2)
        np.float64(1.0)
        >>> reactant.jvp(rounded, (1.2,), (1.0,))           # there is no rule for forward mode
        Traceback (most recent call last):
        reactant.errors.NotDifferentiable: ...
    """

    code = "not-differentiable"


class LeftToJaxWarning(RuntimeWarning):
    """A warning: a JAX function runs as `jax.jit` runs it, since a pass or XLA failed on our program.

    A defect of ours. Given once for each function and reason.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", reactant.LeftToJaxWarning)       # to find such functions
        >>> warnings.resetwarnings()
    """


class ListTooLong(ReactantError, MemoryError):
    """More elements than there is room for were appended to a list whose length nothing bounds."""

    code = "list-too-long"


class LeakError(ReactantError, RuntimeError):
    """A traced value was used outside the call, branch or loop that made it; also a `RuntimeError`.

    Return the value, or store it into an array that exists outside.

    Example:
        >>> kept = []
        >>> @reactant.jit
        ... def leak(x):
        ...     kept.append(x + 1.0)
        >>> leak(np.ones(2))
        >>> kept[0] * 2.0
        Traceback (most recent call last):
        reactant.errors.LeakError: ...
    """

    code = "leaked-value"
    hint = "Return it, or store it into an array that exists outside."

    def __init__(self, what: str = "A traced value"):
        super().__init__(f"{what} is used outside the compiled call, branch or loop body in which it was made.",
                         span=HERE)


class ControlFlowError(ReactantError, TypeError):
    """Branches or loop iterations that cannot be one program; also a `TypeError`.

    Types or shapes of a name differ, or it is bound in one of them alone.

    Example:
        >>> @reactant.jit
        ... def positive(x):
        ...     if x.sum() > 0:
        ...         y = x
        ...     else:
        ...         y = x[1:]
        ...     return y
        >>> positive(np.ones(3))
        Traceback (most recent call last):
        reactant.errors.ControlFlowError: 'y' has no single type after an `if` that is decided at run time: ...
    """

    def __init__(self, fact: str, *, code: str, hint: str | None = None, span: Place = HERE,
                 related: tuple[Related, ...] = ()):
        super().__init__(fact, hint=hint, code=code, span=span, related=related)


class ConstantWriteError(ReactantError, ValueError):
    """A write into an array from outside the compiled function, a constant of its program; also a `ValueError`.

    Pass the array as an argument: then the caller sees the write.

    Example:
        >>> table = np.zeros(2)
        >>> def remember(x):
        ...     table[:] = x
        >>> reactant.jit(remember)(np.ones(2))
        Traceback (most recent call last):
        reactant.errors.ConstantWriteError: Compiled code writes into an array that was made outside the function: ...
    """

    code = "write-into-constant"
    hint = "Pass it as an argument, then the caller sees the write."

    def __init__(self, what: str = "an array", *, hint: str | None = None):
        super().__init__(f"Compiled code writes into {what} that was made outside the function: it is a constant of "
                         f"the compiled program.", hint=hint, span=HERE)


class OverlapError(ReactantError):
    """Arguments that share memory, of which the function writes one."""

    code = "overlapping-arguments"


class ShardingError(ReactantError, ValueError):
    """A mesh or a sharding that cannot be, or arrays on several meshes; also a `ValueError`.

    Example:
        >>> reactant.mesh(x=10_000)
        Traceback (most recent call last):
        reactant.errors.ShardingError: A mesh of 10000 needs 10000 devices; ...
    """

    code = "sharding-mismatch"


class ClusterError(ReactantError, RuntimeError):
    """Another process of the program died, raised an error or does not answer; or there is none; also a `RuntimeError`.

    Attributes:
        rank: which process, or None.
        host: its machine, or None.

    Example:
        >>> try:
        ...     reactant.cluster().check()
        ... except reactant.ClusterError as error:
        ...     print(f"process {error.rank} on {error.host} is lost")
    """

    code = "cluster-lost"

    def __init__(self, fact: str, rank: int | None = None, host: str | None = None, *, hint: str | None = None,
                 code: str | None = None):
        super().__init__(fact, hint=hint, code=code)
        self.rank, self.host = rank, host


class CheckpointError(ReactantError, RuntimeError):
    """A checkpoint that could not be written, or does not hold what is asked for; also a `RuntimeError`.

    Earlier checkpoints stay as they are.

    Attributes:
        rank: the process that failed, or None where it is none in particular.

    Example:
        >>> reactant.Checkpoints("run2").restore()
        Traceback (most recent call last):
        reactant.errors.CheckpointError: There is no checkpoint in ...; there are none...
    """

    code = "checkpoint-not-written"

    def __init__(self, fact: str, rank: int | None = None, *, hint: str | None = None, code: str | None = None):
        super().__init__(fact, hint=hint, code=code)
        self.rank = rank


class StateChangeError(ConstantWriteError):
    """Something outside the compiled function that it gives a new value, which would happen once."""

    code = "outer-state-change"
    hint = "Pass what holds it as an argument, or return the new value."

    def __init__(self, name: str, *, span: Place = HERE):
        ReactantError.__init__(self, f"Compiled code gives '{name}', which was made outside the function, a new value: "
                               f"that would happen once, while it is compiled, not at each call.", span=span)


def require_plain(x: np.ndarray) -> None:
    """Refuse arrays of a class whose operations may be others than those of arrays: masked arrays, matrices."""
    if type(x) is not np.ndarray and not isinstance(x, np.memmap):
        raise UnsupportedError(f"Arrays of type {type(x).__name__} (a subclass of ndarray) cannot be compiled.",
                               hint="Pass np.asarray(x).", code="array-subclass")
