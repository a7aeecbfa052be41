"""The libraries of extras, loaded when they are first needed."""
from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from reactant.errors import UnsupportedError


@cache
def loaded(name: str, extra: str = "equality") -> Any:
    """A module of an extra. Raises `UnsupportedError` where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnsupportedError(f"reactant.improve needs '{name.split('.')[0]}', which is not installed.",
                               hint=f'pip install "reactant-py[{extra}]" (in a clone: pip install ".[{extra}]").',
                               code="extra-not-installed", span=None) from None


def mpmath() -> Any:
    """Numbers of as many digits as wanted."""
    return loaded("mpmath")


def egglog() -> Any:
    """Equality graphs: the bindings of egglog's own language."""
    return loaded("egglog.bindings")
