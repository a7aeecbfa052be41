"""Errors a user sees: what happened, on which of the user's lines, and what to do.

`where()` names the line; it asks the frontend, which knows how converted code maps back to the user's file.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import numpy as np

_frame_finder: list[Callable[[], tuple[str, int, str, str] | None]] = []


def find_frames_with(finder: Callable[[], tuple[str, int, str, str] | None]) -> None:
    """Register the function that finds the user's innermost frame: (file, line, function, source text)."""
    _frame_finder[:] = [finder]


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


_elsewhere: list[str] = []


@contextlib.contextmanager
def speaking_of(place: str) -> Iterator[None]:
    """Errors are about that, and not about a line: the user's functions have returned."""
    _elsewhere.append(place)
    try:
        yield
    finally:
        _elsewhere.pop()


def where() -> str:
    """`\\n  in file.py:12, in step: <source>` for the user's innermost line, or nothing when there is none."""
    if _elsewhere:
        return f"\n  {_elsewhere[-1]}"
    frame = _frame_finder[0]() if _frame_finder else None
    if frame is None:
        return ""
    file, line, function, text = frame
    return f"\n  at {file}:{line}, in {function}" + (f"\n    {text.strip()}" if text and text.strip() else "")


class ReactantError(Exception):
    """The base of every error that is raised on purpose: a fact, your line, and what to do instead.

    Example:
        >>> try:
        ...     reactant.jit(lambda x: np.zeros(int(x.sum())))(np.ones(3))
        ... except reactant.ReactantError as error:
        ...     print(type(error).__name__)
        ConcreteValueNeeded
    """


def unrolled_too_far(error: ReactantError, turns: int) -> ReactantError:
    """`error`, for which a loop runs as Python does, with the word that it did so for as many turns as it may."""
    error.args = (f"{error}\nLoops that need this are unrolled; this one was stopped after {turns} turns "
                  f"(option max_unroll).",)
    return error


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

    def __init__(self, what: str, advice: str = ""):
        super().__init__(f"{what} needs a value that is known while tracing, but it is only known at run time."
                         f"{' ' + advice if advice else ''}{where()}")


class UnsupportedError(ReactantError, NotImplementedError):
    """Something that NumPy or Python can do and compiled code cannot; also a `NotImplementedError`.

    The text says what to write instead.

    Example:
        >>> reactant.jit(lambda x: np.array2string(x))(np.ones(2))
        Traceback (most recent call last):
        reactant.errors.UnsupportedError: np.array2string makes text from values, ... Format what it returns...
    """

    def __init__(self, message: str, at: str | None = None):
        super().__init__(message + (where() if at is None else at))


class UnsupportedAttribute(UnsupportedError, AttributeError):
    """An attribute that the value of the run has, and what stands for it has not: to libraries that ask, there is none,
    but no `except AttributeError` of the program is meant."""


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

    def __init__(self, what: str = "A traced value"):
        super().__init__(f"{what} is used outside the compiled call, branch or loop body in which it was made. "
                         f"Return it, or store it into an array that exists outside.{where()}")


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

    def __init__(self, message: str):
        super().__init__(message + where())


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

    def __init__(self, what: str = "an array"):
        super().__init__(f"Compiled code writes into {what} that was made outside the function: it is a constant of "
                         f"the compiled program. Pass it as an argument, then the caller sees the write.{where()}")


class OverlapError(ReactantError):
    """Arguments that share memory, of which the function writes one."""


class ShardingError(ReactantError, ValueError):
    """A mesh or a sharding that cannot be, or arrays on several meshes; also a `ValueError`.

    Example:
        >>> reactant.mesh(x=10_000)
        Traceback (most recent call last):
        reactant.errors.ShardingError: A mesh of 10000 needs 10000 devices; ...
    """


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

    def __init__(self, message: str, rank: int | None = None, host: str | None = None):
        super().__init__(message)
        self.rank, self.host = rank, host


class CheckpointError(ReactantError, RuntimeError):
    """A checkpoint that could not be written, or does not hold what is asked for; also a `RuntimeError`.

    Earlier checkpoints stay as they are.

    Attributes:
        rank: the process that failed, or None where it is none in particular.

    Example:
        >>> reactant.Checkpoints("run2").restore()
        Traceback (most recent call last):
        reactant.errors.CheckpointError: There is no checkpoint in ...; there are none.
    """

    def __init__(self, message: str, rank: int | None = None):
        super().__init__(message)
        self.rank = rank


class StateChangeError(ConstantWriteError):
    """Something outside the compiled function that it gives a new value, which would happen once."""

    def __init__(self, name: str, at: str | None = None):
        ReactantError.__init__(self, f"Compiled code gives '{name}', which was made outside the function, a new value: "
                               f"that would happen once, while it is compiled, not at each call. Pass what holds it as "
                               f"an argument, or return the new value.{where() if at is None else at}")


def require_plain(x: np.ndarray) -> None:
    """Refuse arrays of a class whose operations may be others than those of arrays: masked arrays, matrices."""
    if type(x) is not np.ndarray and not isinstance(x, np.memmap):
        raise UnsupportedError(f"Arrays of type {type(x).__name__} (a subclass of ndarray) cannot be compiled. "
                               "Pass np.asarray(x).")
