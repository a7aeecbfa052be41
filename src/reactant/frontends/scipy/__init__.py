"""SciPy's compiled code that NumPy programs lean on: special functions, Fourier transforms, filters of
images and signals, linear algebra, distances, distributions.

SciPy's Python code is converted like the user's own; here stands what it calls in C. SciPy is never imported for it:
`register_loaded()` looks at what the program has imported, before a trace and when modules were loaded in it.
"""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from reactant.frontends.arrays.implements import has_tensors
from reactant.frontends.session import calls
from reactant.frontends.session.trace import is_tracing, located

_TABLES = {"scipy.fft": "transforms.FUNCTIONS", "scipy.ndimage._nd_image": "filters.FUNCTIONS",
           "scipy.linalg": "linalg.FUNCTIONS", "scipy.signal": "signal.FUNCTIONS",
           "scipy.spatial._distance_pybind": "distances.FUNCTIONS",
           "scipy.spatial._distance_wrap": "distances.WRAPPED",
           "scipy.stats._distn_infrastructure": "stats.FUNCTIONS", "scipy.stats._stats_py": "stats.RANKS",
           "scipy.special._logsumexp": "special.LOGARITHMS",
           **{f"{package}array_api_compat.numpy.linalg": "linalg.ARRAY_API"
              for package in ("", "scipy._lib.", "sklearn.externals.")},
           "scipy._lib._util": "stats.ELEMENTWISE", "scipy._lib.array_api_extra._lib._funcs": "stats.ELEMENTWISE"}
"""Of SciPy's modules: the table of a module here, which is loaded when that one is there."""
_registered: set[str] = set()


def register_loaded() -> None:
    """Replace the functions of the SciPy modules that are loaded. Cheap when there is nothing new."""
    for name, table in _TABLES.items():
        module = sys.modules.get(name)
        if module is not None and name not in _registered:
            _registered.add(name)
            ours, _, attribute = table.partition(".")
            _register(module, getattr(importlib.import_module(f"{__name__}.{ours}"), attribute))


def _register(module: ModuleType, table: dict[str, Callable]) -> None:
    for name, ours in table.items():
        owner, _, attribute = name.rpartition(".")
        theirs = getattr(getattr(module, owner) if owner else module, attribute, None)
        if theirs is not None:
            calls.replace(theirs)(_choosing(theirs, located(ours)))


def _choosing(theirs: Callable, ours: Callable) -> Callable:
    def choose(*args: Any, **kwargs: Any) -> Any:
        return (ours if is_tracing() and has_tensors(args, kwargs) else theirs)(*args, **kwargs)
    return choose


calls.ARRIVALS.listeners.append(register_loaded)
