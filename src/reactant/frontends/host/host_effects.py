"""Python's `random`, clocks, files, streams and filters of warnings in compiled code. What Python would do once, while
the function is traced, is done by the program, is exact as it is, or raises.

A generator or a `StringIO` that the function makes itself runs as Python where each of its calls is traced once and
comes once: outside of branches and loops decided at run time. Loops that need it are unrolled.
"""
from __future__ import annotations

import _csv
import _io
import _random
import builtins
import datetime
import inspect
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from reactant.errors import ConcreteValueNeeded, Reason, UnsupportedError
from reactant.frontends.arrays.implements import has_tensors
from reactant.frontends.numpy.refused import FILES
from reactant.frontends.session import calls
from reactant.frontends.session.trace import Trace, current_trace, is_tracing
from reactant.frontends.texts import printing

RANDOM = Reason("{name} draws from a state that the compiled program has not, so it would repeat the same numbers.",
                "Use rng = np.random.default_rng(seed) inside the function, with the seed as an argument, and call "
                "its methods.", "random-generator")
CLOCK = Reason("{name} would be asked once, while the function is compiled, not when it runs.",
               "Ask before and after the call.", "outside-world")
STAGED_ONCE = Reason("{name} in a branch or loop that run-time values decide would happen once, while it is traced.",
               "Append to a list, or print.", "outside-world")

_NEEDING_VALUES = (
    (json, ("dump", "dumps"), "Return the values and write them after the call."),
    (subprocess, ("run", "call", "check_call", "check_output", "Popen"), "Return the values, run it after the call."),
    (os, ("system", "popen", "putenv"), "Return the values and run it after the call."),
    (builtins, ("memoryview", "bytes", "bytearray"), "Return the array and take its bytes after the call."))
"""What takes values apart."""

_made: weakref.WeakKeyDictionary[Any, weakref.ref[Trace]] = weakref.WeakKeyDictionary()
"""Which trace has made an object."""


def _runs_as_python(x: Any) -> bool:
    """Whether a trace has made it, and each call comes once in it and in the program."""
    trace = current_trace()
    return x in _made and _made[x]() is trace and trace.region.parent is None


def _noted(x: Any) -> Any:
    _made[x] = weakref.ref(current_trace())
    return x


def _refuse(original: Callable, reason: Reason, name: str) -> None:
    @calls.replace(original)
    def refuse(*args: Any, **keywords: Any) -> Any:
        if is_tracing():
            raise reason.named(name).error()
        return original(*args, **keywords)


def _needing_values(original: Callable, name: str, advice: str) -> None:
    """What takes values apart, where some are known only at run time."""
    @calls.replace(original)
    def refuse(*args: Any, **keywords: Any) -> Any:
        if is_tracing() and (has_tensors(args, keywords) or printing.in_texts((args, keywords))):
            raise ConcreteValueNeeded(name, advice, code="outside-world")
        return original(*args, **keywords)


# ---- random and clocks -------------------------------------------------------------------------------------------

def _generator(*seed: Any) -> random.Random:
    made = random.Random(*seed)
    return _noted(made) if is_tracing() and seed and seed[0] is not None else made


def _drawing(original: Callable, name: str) -> Callable:
    def draw(generator: Any, *args: Any, **keywords: Any) -> Any:
        if is_tracing() and not _runs_as_python(generator):
            raise RANDOM.named(f"random.{name}").error()
        return original(generator, *args, **keywords)
    return draw


def _drawn(function: Any, args: tuple, keywords: dict) -> Any:
    """A method in C of a generator."""
    return _drawing(lambda _, *a, **k: function(*a, **k), function.__name__)(function.__self__, *args, **keywords)


# ---- files and streams -------------------------------------------------------------------------------------------

def _opening(original: Callable, name: str) -> Callable:
    def opened(file: Any, mode: str = "r", *args: Any, **keywords: Any) -> Any:
        if is_tracing() and any(c in mode for c in "wax+"):
            raise FILES.named(name).error()
        return original(file, mode, *args, **keywords)
    return opened


def _text_buffer(*args: Any, **keywords: Any) -> io.StringIO:
    made = io.StringIO(*args, **keywords)
    return _noted(made) if is_tracing() else made


def _written(function: Any, stream: Any, args: tuple) -> Any:
    """What a method of a stream writes: the program does it. How many characters that are is not told."""
    if isinstance(stream, io.StringIO) and stream in _made:
        if _runs_as_python(stream):
            return function(*args)
        raise STAGED_ONCE.named(f"StringIO.{function.__name__}").error()
    texts = [list(text) if function.__name__ == "writelines" else text for text in args]
    if stream is sys.stdout or stream is sys.stderr:      # which may be another one when the program runs
        channel, method = "stdout" if stream is sys.stdout else "stderr", function.__name__
        printing.said(lambda *a: getattr(getattr(sys, channel), method)(*a), tuple(texts), {})
    else:
        printing.said(function, tuple(texts), {})
    return None


def _csv_row(function: Any, args: tuple, keywords: dict) -> Any:
    if is_tracing():
        raise FILES.named("csv.writer").error()
    return function(*args, **keywords)


# ---- warnings ----------------------------------------------------------------------------------------------------

class _Recording(warnings.catch_warnings):
    """One that says nothing of what was recorded."""

    def __enter__(self) -> Any:
        return _Recorded() if super().__enter__() is not None else None


class _Recorded(list):
    """What has been warned of, which nobody has seen."""

    def _refuse(self, *_: Any) -> Any:
        raise UnsupportedError("What is warned of while the program runs is recorded nowhere.",
                               hint="Look for NaN and infinity with np.isfinite.", code="floating-point-warnings")
    __len__ = __bool__ = __iter__ = __getitem__ = __contains__ = __eq__ = _refuse  # type: ignore[assignment]


def _filtering(original: Callable) -> None:
    """`original` of the module `warnings`, which may make errors of what compiled code does not warn of."""
    signature = inspect.signature(original)

    @calls.replace(original)
    def filtered(*args: Any, **keywords: Any) -> Any:
        if not is_tracing():
            return original(*args, **keywords)
        given = signature.bind(*args, **keywords).arguments
        if given.get("action") == "error" and any(
                issubclass(w, given.get("category", Warning)) for w in (RuntimeWarning, UserWarning)):
            raise UnsupportedError(f"warnings.{original.__name__}: compiled code warns of nothing while it computes, "
                                   "so no warning becomes an error.",
                                   hint="Check the results with np.isfinite instead.", code="floating-point-warnings")
        return (_Recording if given.get("record") else original)(*args, **keywords)


def install() -> None:
    """Put the functions in place."""
    for kind in (random.Random, random.SystemRandom):
        for name, method in vars(kind).items():
            if type(method) is FunctionType and not name.startswith("_"):
                calls.replace(method)(_drawing(method, name))
        calls.KINDS[kind] = _drawn
    calls.KINDS[_random.Random] = _drawn
    calls.replace(random.Random)(_generator)
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
        for clock in (name, f"{name}_ns"):
            if hasattr(time, clock):
                _refuse(getattr(time, clock), CLOCK, f"time.{clock}")
    for owner, names in ((datetime.datetime, ("now", "utcnow", "today")), (datetime.date, ("today",))):
        for name in names:
            _refuse(getattr(owner, name), CLOCK, f"datetime.{owner.__name__}.{name}")
    _refuse(os.urandom, RANDOM, "os.urandom")
    for module, functions, advice in _NEEDING_VALUES:
        for name in functions:
            _needing_values(getattr(module, name), f"{module.__name__}.{name}", advice)
    calls.replace(builtins.open)(_opening(builtins.open, "open"))
    calls.replace(pathlib.Path.open)(_opening(pathlib.Path.open, "Path.open"))
    for name in ("write_text", "write_bytes"):
        _refuse(getattr(pathlib.Path, name), FILES, f"Path.{name}")
    calls.replace(io.StringIO)(_text_buffer)
    calls.KINDS[type(_csv.writer(io.StringIO()))] = _csv_row
    for original in (warnings.simplefilter, warnings.filterwarnings, warnings.catch_warnings):
        _filtering(original)


def call_bound(inner: Callable) -> Callable:
    """What is written to streams is written when the program runs."""
    def call_bound(function: Any, owner: Any, /, *args: Any, **keywords: Any) -> Any:
        if isinstance(owner, _io._TextIOBase) and function.__name__ in ("write", "writelines") and is_tracing():
            return _written(function, owner, args)
        return inner(function, owner, *args, **keywords)
    return call_bound
