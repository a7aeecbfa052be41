"""Run a function plainly and traced, and compare everything a caller can see."""
from __future__ import annotations

import contextlib
import copy
import importlib.util
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

import reactant
from reactant.calling import signature
from reactant.support.time_limits import limited


def module_of(path: Path, text: str, known: bool = False) -> ModuleType:
    """The module with that text, in a file: functions without one have no source. `known` by its name: dataclasses look
    for theirs."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if known:
        sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def flat(tree: Any) -> list[np.ndarray]:
    """What nested lists and tuples hold, as arrays."""
    return [leaf for each in tree for leaf in flat(each)] if isinstance(tree, list | tuple) else [np.asarray(tree)]


def assert_same(plain: Any, compiled: Any, rtol: float = 1e-12, atol: float = 0.0, path: str = "result") -> None:
    """Structure, shape, dtype and content agree (NaN equal to NaN; integers and bool exactly)."""
    left, right = jax.tree_util.tree_flatten(_open(plain)), jax.tree_util.tree_flatten(_open(compiled))
    assert left[1] == right[1], f"{path}: {left[1]} against {right[1]}"
    for number, (a, b) in enumerate(zip(left[0], right[0], strict=True)):
        if isinstance(a, (np.ndarray, np.generic)) or isinstance(b, (np.ndarray, np.generic)):
            a, b = np.asarray(a), np.asarray(b)
            assert a.shape == b.shape, f"{path}[{number}]: shape {a.shape} against {b.shape}"
            assert a.dtype == b.dtype, f"{path}[{number}]: dtype {a.dtype} against {b.dtype}"
            if a.dtype.kind in "fc":
                loose = {2: 5e-3, 4: 5e-6, 8: rtol}[a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1)]
                np.testing.assert_allclose(b, a, rtol=max(loose, rtol), atol=atol, equal_nan=True,
                                           err_msg=f"{path}[{number}]")
            else:
                np.testing.assert_array_equal(b, a, err_msg=f"{path}[{number}]")
        else:
            assert type(a) is type(b), f"{path}[{number}]: {a!r} against {b!r}"
            close = isinstance(a, (float, complex)) and np.isclose(b, a, rtol=rtol, atol=atol, equal_nan=True)
            assert close or a == b, f"{path}[{number}]: {a!r} against {b!r}"


def _open(x: Any) -> Any:
    """Plain objects (dataclasses too) as dictionaries of their attributes, at any depth of lists, tuples and dicts."""
    if type(x) in (list, tuple):
        return type(x)(_open(v) for v in x)
    if type(x) is dict:
        return {k: _open(v) for k, v in x.items()}
    if signature.is_plain_object(x):
        return {"type": type(x).__name__, **_open(signature.attributes(x))}
    return x


def check(f: Callable, *args: Any, rtol: float = 1e-12, atol: float = 0.0, **options: Any) -> Any:
    """`f(*args)` plain and through `reactant.jit`: results and the contents of mutated arguments agree.
    Exceptions must be of the same type. Returns the compiled result."""
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)     # newer NumPys deprecate what older ones offer
            plain = f(*mine)
    except Exception as error:
        try:
            got = reactant.jit(f, **options)(*theirs)
        except type(error):
            return None
        raise AssertionError(f"NumPy raises {error!r}; compiled code returned {got!r}") from error
    compiled = reactant.jit(f, **options)(*theirs)
    assert_same(plain, compiled, rtol, atol)
    assert_same(mine, theirs, rtol, atol, "arguments")
    return compiled


class Endless(Exception):
    """Python does not come to an end."""


def ending(seconds: int = 5) -> contextlib.AbstractContextManager[None]:
    """`Endless` is raised in what takes longer (and runs as Python)."""
    return limited(seconds, Endless)
