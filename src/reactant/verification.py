"""`verify`: the plain function beside the compiled one, on the same arguments."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import jax
import numpy as np

from reactant.api import BoundJitted, as_jitted
from reactant.attributes import attributes
from reactant.records import dataclass
from reactant.signature import is_plain_object


@dataclass
class Difference:
    """One place where the compiled run differs. `path` is where: `result[0]`, `argument 1 ('x')`."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass
class Verification:
    """What `verify` found; true when nothing differs."""

    name: str
    compared: int = 0
    differences: list[Difference] = field(default_factory=list)
    raised: str = ""
    """The exception that both runs ended with."""

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if not self.differences:
            ended = f"; both raise {self.raised}" if self.raised else ""
            return f"{self.name}: compiled and plain agree ({self.compared} values compared{ended})."
        lines = [f"{self.name}: {len(self.differences)} of {self.compared} values differ"]
        return "\n".join([*lines, *(f"  {d}" for d in self.differences)])

    __repr__ = __str__


def verify(function: Callable, /, *args: Any, rtol: float = 1e-9, atol: float = 0.0, **kwargs: Any) -> Verification:
    """Run `function` plainly and compiled on copies of the arguments and compare everything the caller can see:
    results, contents of arguments, and the exception if one is raised.

    Floats are compared with `rtol` and `atol` (`rtol` is raised to 8 units in the last place of smaller dtypes), NaN
    equals NaN; everything else exactly, dtypes, shapes and types included.
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


def _run(function: Callable, args: tuple, kwargs: dict) -> tuple[Any, BaseException | None]:
    try:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs), None
    except Exception as error:
        return None, error


def _said(error: BaseException | None) -> str:
    return "no exception" if error is None else f"{type(error).__name__}: {error}"


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
    difference = reason(a, b, rtol, atol)
    if difference:
        found.differences.append(Difference(path, difference))


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
    if any(getattr(x, "is_deleted", bool)() for x in (a, b)):      # donated
        return ""
    if isinstance(a, jax.Array) and jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
        a, b = jax.random.key_data(a), jax.random.key_data(b)
    if hasattr(b, "block_until_ready"):
        a, b = np.asarray(a), np.asarray(b)
    if type(a) is not type(b):
        return f"plain gives {type(a).__name__}, compiled {type(b).__name__}"
    if not isinstance(a, (np.ndarray, np.generic, float, complex)):
        return "" if a is b or a == b else f"plain gives {a!r}, compiled {b!r}"
    a, b = np.asarray(a), np.asarray(b)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"plain gives {a.dtype}{list(a.shape)}, compiled {b.dtype}{list(b.shape)}"
    if a.dtype.kind not in "fc":
        wrong = a != b
    else:
        rtol = max(rtol, 8 * float(np.finfo(a.dtype).eps))
        with np.errstate(all="ignore"):
            wrong = ~np.isclose(b, a, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    text = (f"{int(wrong.sum())} of {a.size} elements differ, first at {list(where)}: plain {a[where]!r}, "
            f"compiled {b[where]!r}")
    if a.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            text += f", largest difference {np.nanmax(np.abs(a - b)):.3g}"
    return text
