"""Loops over whole arrays whose elements do not need each other: strips of elements, each through all the turns."""
from __future__ import annotations

from typing import Any


def emit_strips(compiler: Any, node: Any, slots: Any, destinations: Any) -> bool:
    """Write the loop in strips where that is right; False where it is not."""
    return False
