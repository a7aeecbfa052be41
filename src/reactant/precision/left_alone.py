"""What keeps its float format in a program of limbs: functions by `without_limbs`, lines by the option of that name."""
from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

LINES: dict[str, list[tuple[int, int]]] = {}
"""By files: first and last lines of functions that are left alone."""


def without_limbs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the operations on a function's lines in their own float format, where `floats=` is given.

    Their operands are joined before them, their results split again after them. Functions that it calls are converted
    unless they are left alone too. Single lines are left alone by the option `without_limbs` of `reactant.jit`.

    Args:
        function: any Python function with source lines; it is given back as it is. Usable as a decorator.

    Returns:
        `function`.

    Raises:
        TypeError: for what has no Python code.

    Example:
        >>> @reactant.without_limbs
        ... def rough(x):
        ...     return np.sin(x)
        >>> reactant.jit(lambda x: rough(x) + x, floats={"float64": "float32x2"})(np.zeros(1))
        array([0.])
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise TypeError(f"reactant.without_limbs takes a Python function, not {type(function).__name__}.")
    lines = [line for *_, line in code.co_lines() if line is not None]
    LINES.setdefault(code.co_filename, []).append((min(lines), max(lines)))
    return function


def is_left(place: tuple[str, int] | None, also: Callable[[str, int, str], object] | None = None) -> bool:
    """Whether what comes from a line keeps its format. also: says it of other lines."""
    if place is None:
        return False
    file, line = place
    return any(first <= line <= last for first, last in LINES.get(file, ())) or (
        also is not None and bool(also(file, line, linecache.getline(file, line).rstrip("\n"))))


def told() -> list[tuple[str, list[tuple[int, int]]]]:
    """The lines of functions that are left alone, in one order."""
    return sorted((file, sorted(lines)) for file, lines in LINES.items())
