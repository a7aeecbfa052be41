"""The libraries of the extra `equality`, loaded when they are first needed."""
from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from reactant.errors import UnsupportedError


@cache
def _loaded(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnsupportedError(f"reactant.improve needs '{name.split('.')[0]}', which is not installed.",
                               hint='pip install "reactant-py[equality]" (in a clone: pip install ".[equality]").',
                               code="extra-not-installed") from None


def mpmath() -> Any:
    """Numbers of as many digits as wanted."""
    return _loaded("mpmath")


def egglog() -> Any:
    """Equality graphs: the bindings of egglog's own language."""
    return _loaded("egglog.bindings")
