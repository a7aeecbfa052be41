"""Functions under `numba.njit`: what runs on values of a trace is the Python function below, as without the decorator.

Numba's integers wrap around at 64 bits where Python's grow; traced ones are checked as Python's are.
"""
from __future__ import annotations

import sys
from typing import Any

from reactant.frontends.session import calls

_registered: list[Any] = []


def register_loaded() -> None:
    """Let calls know Numba's functions, once Numba is loaded."""
    registry, special = (sys.modules.get(f"numba.{name}") for name in ("core.registry", "misc.special"))
    if registry is None or special is None or _registered:
        return
    _registered.append(registry)
    calls.UNWRAPPED[registry.CPUDispatcher] = "py_func"
    calls.replace(special.prange)(lambda *bounds: calls.call(range, *bounds))

