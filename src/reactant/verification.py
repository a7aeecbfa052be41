"""`verify`: the plain function beside the compiled one, on the same arguments."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import jax
import numpy as np

from reactant.api import as_jitted
from reactant.calling.jitted import BoundJitted
from reactant.calling.signature import is_plain_object
from reactant.errors import in_one_line
from reactant.support.attributes import attributes
from reactant.support.records import dataclass


@dataclass
class Difference:
    """One place where the compiled run differs. `path` is where: `result[0]`, `argument 1 ('x')`."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass
class Deviation:
    """How far two arrays are apart where they agree: the largest difference, as a part of the largest element."""

    path: str
    index: tuple[int, ...]
    size: float
    ulps: float
    """The same in units of the last place of the largest element."""
    is_rounding: bool

    def __str__(self) -> str:
        at = f" at {list(self.index)}" if self.index else ""
        kind = "rounding only" if self.is_rounding else "within the tolerance"
        return f"{kind}, at most {self.size:.2g} of an array's scale: {self.path}{at}"


@dataclass
class Verification:
    """What `reactant.verify` found; true when nothing differs, and printed as a text.

    Attributes:
        name: the function's name.
        compared: how many values were compared; an array is one.
        differences: a list of `path` and `reason` of each that differs.
        raised: the exception that both runs ended with, or "".
        largest: of the arrays that agree but not to the last bit, where the largest difference is, and its size; else
            None.

    Example:
        >>> found = reactant.verify(lambda x: x + 1.0, np.zeros(3))
        >>> bool(found), found.compared, found.differences
        (True, 2, [])
    """

    name: str
    compared: int = 0
    differences: list[Difference] = field(default_factory=list)
    raised: str = ""
    """The exception that both runs ended with."""
    largest: Deviation | None = None
    """Of the arrays that agree, where they are not the same to the last bit; None where all are."""

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if not self.differences:
            ended = f"; both raise {self.raised}" if self.raised else ""
            apart = f"; {self.largest}" if self.largest is not None else ""
            return f"{self.name}: compiled and plain agree ({self.compared} values compared{ended}{apart})."
        lines = [f"{self.name}: {len(self.differences)} of {self.compared} values differ"]
        return "\n".join([*lines, *(f"  {d}" for d in self.differences)])

    __repr__ = __str__

    def note(self, path: str, apart: Apart) -> None:
        """Keep the largest deviation."""
        if apart.ulps and (self.largest is None or apart.ulps > self.largest.ulps):
            self.largest = Deviation(path, apart.worst, apart.size, apart.ulps, apart.ulps <= apart.few)


ROUNDING, ROUNDING_OF_HALVES = 64, 8
"""Differences of so many units in the last place of an array's largest element are rounding: sums of other orders,
transforms and products of matrices leave as much where the result is near zero."""


def verify(function: Callable, /, *args: Any, rtol: float = 1e-9, atol: float = 0.0, **kwargs: Any) -> Verification:
    """The plain function compared with the compiled one, on copies of the arguments.

    Everything that the caller can see is compared: results, contents of arguments, and the exception if one is raised.
    Floats agree where they differ by at most `rtol` of the element (raised to 8 units in the last place of smaller
    dtypes), by `atol`, or by 64 units in the last place of the array's largest element (8 of 16-bit floats): near zero,
    that is what rounding leaves of sums and products of the others. NaN equals NaN, and infinities are the same ones,
    whatever the tolerances. All else is compared exactly, dtypes, shapes and types included.

    Args:
        function: a NumPy or JAX function, or a `reactant.jit` of one.
        args: its arguments, which stay as they are.
        rtol: relative difference of an element that is admitted.
        atol: absolute difference that is admitted.
        kwargs: arguments by name.

    Returns:
        A `Verification`, which is true when nothing differs, and prints what does, or which element differs most. That
        the compiled function raises, where the plain one does not, is a difference like another.

    Example:
        >>> def standardise(x):
        ...     x -= x.mean()
        ...     x /= x.std()
        >>> reactant.verify(standardise, np.array([1.0, 2.0, 4.0]))
        standardise: compiled and plain agree (2 values compared...).
    """
    compiled = as_jitted(function)
    if isinstance(compiled, BoundJitted):
        args, kwargs = compiled.arguments(args, kwargs)
        compiled = compiled.base
    plain = getattr(compiled, "jitted", compiled.function)      # a JAX function is compared with jax.jit of it
    found = Verification(getattr(plain, "__name__", "function"))
    mine, theirs = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
    (result, error), (other, other_error) = _run(plain, *mine), _run(compiled, *theirs)
    if error is not None or other_error is not None:
        found.compared += 1
        if type(error) is not type(other_error):
            found.differences.append(Difference("exception", f"plain: {_said(error)}; compiled: {_said(other_error)}"))
            return found
        found.raised = _said(error)
    _compare(result, other, "result", rtol, atol, found)
    for number, (a, b) in enumerate(zip(mine[0], theirs[0], strict=True)):
        _compare(a, b, f"argument {number}", rtol, atol, found)
    for name in mine[1]:
        _compare(mine[1][name], theirs[1][name], f"argument '{name}'", rtol, atol, found)
    return found


def agreement(a: Any, b: Any, *, rtol: float = 1e-12, atol: float = 0.0) -> Verification:
    """How far two results of one function agree; tolerances as those of `verify`."""
    found = Verification("results")
    _compare(a, b, "result", rtol, atol, found)
    return found


def _run(function: Callable, args: tuple, kwargs: dict) -> tuple[Any, BaseException | None]:
    try:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs), None
    except Exception as error:
        return None, error


def _said(error: BaseException | None) -> str:
    return "no exception" if error is None else f"{type(error).__name__}: {in_one_line(error)}"


def _compare(a: Any, b: Any, path: str, rtol: float, atol: float, found: Verification) -> None:
    parts = list(_parts(a))
    if parts:
        others = dict(_parts(b))
        if type(a) is not type(b) or [k for k, _ in parts] != list(others):
            found.compared += 1
            found.differences.append(Difference(path, f"structure differs: {_brief(a)} against {_brief(b)}"))
            return
        for key, value in parts:
            _compare(value, others[key], f"{path}{key}", rtol, atol, found)
        return
    found.compared += 1
    difference, apart = _compared(a, b, rtol, atol)
    if difference:
        found.differences.append(Difference(path, difference))
    elif apart is not None:
        found.note(path, apart)


def _parts(x: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(x, (list, tuple)):
        names = getattr(x, "_fields", None)
        yield from ((f".{names[i]}" if names else f"[{i}]", v) for i, v in enumerate(x))
    elif isinstance(x, dict):
        yield from ((f"[{k!r}]", v) for k, v in x.items())
    elif is_plain_object(x):
        yield from ((f".{k}", v) for k, v in attributes(x).items())


def _brief(x: Any) -> str:
    return f"{type(x).__name__} of {len(x)}" if hasattr(x, "__len__") else type(x).__name__


def reason(a: Any, b: Any, rtol: float, atol: float) -> str:
    """Why two leaves differ, or nothing."""
    return _compared(a, b, rtol, atol)[0]


def _compared(a: Any, b: Any, rtol: float, atol: float) -> tuple[str, Apart | None]:
    """Why two leaves differ, or nothing, and how far floats are apart."""
    if any(getattr(x, "is_deleted", bool)() for x in (a, b)):      # donated
        return "", None
    if isinstance(a, jax.Array) and jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
        a, b = jax.random.key_data(a), jax.random.key_data(b)
    if hasattr(b, "block_until_ready"):
        a, b = np.asarray(a), np.asarray(b)
    if type(a) is not type(b):
        return f"plain gives {type(a).__name__}, compiled {type(b).__name__}", None
    if not isinstance(a, (np.ndarray, np.generic, float, complex)):
        return "" if a is b or a == b else f"plain gives {a!r}, compiled {b!r}", None
    a, b = np.asarray(a), np.asarray(b)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"plain gives {a.dtype}{list(a.shape)}, compiled {b.dtype}{list(b.shape)}", None
    if a.dtype.names:
        fields = ((name, *_compared(a[name], b[name], rtol, atol)) for name in a.dtype.names)
        return next(((f"field '{name}': {text}", None) for name, text, _ in fields if text), ("", None))
    apart = Apart(a, b, rtol, atol) if jax.dtypes.issubdtype(a.dtype, np.inexact) else None
    wrong = a != b if apart is None else apart.wrong
    if not wrong.any():
        return "", apart
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    text = (f"{int(wrong.sum())} of {a.size} elements differ, first at {list(where)}: plain {a[where]!r}, "
            f"compiled {b[where]!r}")
    return text if apart is None else text + apart.described(), apart


class Apart:
    """Two arrays of floats of one shape and dtype, and which elements of them differ."""

    def __init__(self, a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> None:
        eps = float(jax.numpy.finfo(a.dtype).eps)
        self.few = ROUNDING if eps < 1e-4 else ROUNDING_OF_HALVES
        if a.dtype.itemsize < (16 if a.dtype.kind == "c" else 8):       # halves: their differences overflow
            a, b = (x.astype(complex if a.dtype.kind == "c" else float) for x in (a, b))
        with np.errstate(all="ignore"):
            finite = np.isfinite(a) & np.isfinite(b)
            self.strange = ~finite & ~_same(a, b)
            self.by = np.where(finite, np.abs(a - b), 0)
            self.scale = float(np.max(np.abs(a), initial=0, where=finite))
            self.rounding = eps * self.scale
            allowed = atol + np.maximum(max(rtol, 8 * eps) * np.where(finite, np.abs(a), 0), self.few * self.rounding)
            self.wrong = self.strange | (self.by > allowed)

    @property
    def worst(self) -> tuple[int, ...]:
        """Where the largest difference is; () of a single number."""
        return tuple(int(i) for i in np.unravel_index(np.argmax(self.by), self.by.shape)) if self.by.size else ()

    @property
    def largest(self) -> float:
        """The largest difference of finite elements."""
        return float(np.max(self.by, initial=0))

    @property
    def size(self) -> float:
        """The largest difference over the largest element."""
        return self.largest / self.scale if self.scale else float(self.largest > 0)

    @property
    def ulps(self) -> float:
        """It in units of the last place of the largest element."""
        return self.largest / self.rounding if self.rounding else float("inf") if self.largest else 0.0

    def described(self) -> str:
        """The size of what differs."""
        text = ""
        if self.largest:
            at = f" at {list(self.worst)}" if self.worst else ""
            text = f", largest difference {self.largest:.3g}{at}, {self.size:.2g} of the array's scale"
        if count := int(self.strange.sum()):
            text += f"; {count} infinite or no numbers in one of the two"
        return text


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Elements that are the same infinities and NaN in the same parts."""
    if a.dtype.kind == "c":
        return _same(a.real, b.real) & _same(a.imag, b.imag)
    return (a == b) | np.isnan(a) & np.isnan(b) | np.isfinite(a) & np.isfinite(b)
