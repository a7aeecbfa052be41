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
    """Base of every error this package raises on purpose."""


def unrolled_too_far(error: ReactantError, turns: int) -> ReactantError:
    """`error`, for which a loop runs as Python does, with the word that it did so for as many turns as it may."""
    error.args = (f"{error}\nLoops that need this are unrolled; this one was stopped after {turns} turns "
                  f"(option max_unroll).",)
    return error


class ConcreteValueNeeded(ReactantError, TypeError):
    """A value known only at run time was used where Python needs a number now (a shape, a list index, `int(x)`)."""

    def __init__(self, what: str, advice: str = ""):
        super().__init__(f"{what} needs a value that is known while tracing, but it is only known at run time."
                         f"{' ' + advice if advice else ''}{where()}")


class UnsupportedError(ReactantError, NotImplementedError):
    """Something NumPy or Python can do and compiled code cannot (yet, or ever); says what to do instead."""

    def __init__(self, message: str, at: str | None = None):
        super().__init__(message + (where() if at is None else at))


class UnsupportedAttribute(UnsupportedError, AttributeError):
    """An attribute that the value of the run has, and what stands for it has not: to libraries that ask, there is none,
    but no `except AttributeError` of the program is meant."""


class NotDifferentiable(ReactantError, NotImplementedError):
    """An op on the way from the arguments to the results has no derivative; names the op and the user's line."""


class LeftToJaxWarning(RuntimeWarning):
    """A JAX function runs as `jax.jit` runs it, because a pass or XLA failed on our program: a defect of ours. Given
    once for each function and reason."""


class ListTooLong(ReactantError, MemoryError):
    """More elements than there is room for were appended to a list whose length nothing bounds."""


class LeakError(ReactantError, RuntimeError):
    """A traced value was used outside the call, branch or loop body that made it."""

    def __init__(self, what: str = "A traced value"):
        super().__init__(f"{what} is used outside the compiled call, branch or loop body in which it was made. "
                         f"Return it, or store it into an array that exists outside.{where()}")


class ControlFlowError(ReactantError, TypeError):
    """Branches or loop iterations that cannot be one compiled program: types or shapes differ, names undefined."""

    def __init__(self, message: str):
        super().__init__(message + where())


class ConstantWriteError(ReactantError, ValueError):
    """A write into an array that was made outside the compiled function and is therefore a constant."""

    def __init__(self, what: str = "an array"):
        super().__init__(f"Compiled code writes into {what} that was made outside the function: it is a constant of "
                         f"the compiled program. Pass it as an argument, then the caller sees the write.{where()}")


class OverlapError(ReactantError):
    """Arguments that share memory, of which the function writes one."""


class ShardingError(ReactantError, ValueError):
    """A mesh or a sharding that cannot be, or arrays on several meshes."""


class ClusterError(ReactantError, RuntimeError):
    """Another process of the program died, raised an error or does not answer; or there are none to join. rank, host:
    which one, None where it is none."""

    def __init__(self, message: str, rank: int | None = None, host: str | None = None):
        super().__init__(message)
        self.rank, self.host = rank, host


class CheckpointError(ReactantError, RuntimeError):
    """A checkpoint that could not be written, whose writing leaves earlier ones as they are; or one that does not hold
    what is asked for. rank: the process that failed, None where it is none in particular."""

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
