"""Functions that are not converted: which keep what they are given, take it apart, or belong to a library."""
from __future__ import annotations

import collections
import sys
from types import (
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

_CONTAINERS = (list, dict, set, frozenset, tuple, collections.deque)
_KEEPING = frozenset("""_contextvars _ctypes _queue _signal _thread _weakref asyncio atexit concurrent contextvars
    ctypes gc logging multiprocessing queue sched shelve signal socket sqlite3 sys threading unittest
    weakref""".split())
"""Modules of Python's library that keep what they are given, where no variable of the program leads to."""


def may_keep(function: Any) -> bool:
    """Whether it is code that keeps what it is given where nothing of the program's leads to."""
    if isinstance(getattr(function, "__self__", None), _CONTAINERS):
        return False
    root = module_of(function).split(".")[0]
    return root in _KEEPING or type(function) is not FunctionType and root not in sys.stdlib_module_names \
        and root not in ("numpy", "jax", "jaxlib", "reactant", "scipy")


def module_of(function: Any) -> str:
    if type(function).__name__ == "fortran":        # f2py says no module
        return "fortran"
    owner = getattr(function, "__self__", None)
    found = getattr(function, "__module__", None) or getattr(owner, "__name__", None) or type(
        function if owner is None else owner).__module__
    return found if isinstance(found, str) else ""


def is_library(function: Any) -> bool:
    """Whether it is C code of an installed library, and not of Python itself or NumPy."""
    if isinstance(function, (FunctionType, MethodType)):
        return False
    root = module_of(function).split(".")[0]
    return bool(root) and root not in sys.stdlib_module_names and root not in ("numpy", "jax", "jaxlib", "reactant")


_HOLDING = frozenset("""_collections _contextvars _functools _heapq _operator _queue _thread abc builtins collections
    concurrent contextlib copy dataclasses enum functools heapq itertools logging operator queue threading types typing
    unittest weakref""".split())
"""Modules of Python's library that never look at what they are given, or only through its own methods."""


def takes_apart(function: Any) -> bool:
    """Whether it is code of Python's library that wants numbers: what it raises of a traced value says nothing of the
    program."""
    owner = getattr(function, "__self__", None)
    bound = owner is not None and not isinstance(owner, (type, ModuleType))
    root = (type(owner).__module__ if bound else module_of(function)).split(".")[0]
    return root in sys.stdlib_module_names and root not in _HOLDING


def full_name(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return f"{module_of(function)}.{name.removeprefix('function ')}"
