"""Machine code of compiled programs, as the compile cache keeps it: the native functions that they call, and in which
order. `recalled_code` makes programs of it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reactant.cache.walk import NotCacheable
from reactant.calling.recalled_code import DENORMALS, wants_denormals
from reactant.native import bounds
from reactant.native.recalled import CannotKeep, Code
from reactant.native.steps import Step, Straight
from reactant.runtime.program import Body

CALLER, THREADS = "reactant.straight", "reactant.threads"
TARGET = b"reactant.native."
"""With what the names of native functions begin in a module."""


def told(body: Body, straight: Straight | None) -> tuple[tuple, tuple, tuple | None]:
    """What is written down: object files, functions, and the calls of a program without XLA.

    Raises `NotCacheable`."""
    if bounds.wanted():
        raise NotCacheable("native code is checked (REACTANT_NATIVE_CHECKS)")
    functions: dict[str, Any] = {}
    names: list[str] = []
    if straight is not None:
        for step in (*straight.steps, *straight.steps_over):
            functions.setdefault(step.function.target, step.function)
        names += [CALLER, THREADS]
    if body.native is not None and straight is None:
        for target in targets_in(body.native):
            from reactant.native.function import of_target
            found = of_target(target)
            if found is None:
                raise NotCacheable(f"it calls native code that is not known ({target})")
            functions.setdefault(target, found)
    if wants_denormals(body) and straight is None:
        names.append(DENORMALS)
    if any(getattr(function, "sites", ()) for function in functions.values()):
        raise NotCacheable("its native code is measured")
    try:
        for function in functions.values():
            function.entry()
        code = Code.of([*names, *functions])
    except CannotKeep as reason:
        raise NotCacheable(f"its machine code cannot be loaded again: {reason}") from reason
    listed = list(functions)
    return (tuple((name, data, exports) for name, (data, exports) in code.files.items()),
            tuple((f.name, f.target, f.arguments, tuple(f.messages), f.workspace, f.threaded)
                  for f in functions.values()),
            None if straight is None else _straight_told(straight, listed))


def targets_in(bytecode: bytes) -> list[str]:
    """The names of the native functions that a module calls, which are in its bytecode as they are."""
    found, at = [], bytecode.find(TARGET)
    while at >= 0:
        end = bytecode.index(b"\0", at)
        found.append(bytecode[at:end].decode())
        at = bytecode.find(TARGET, end)
    return list(dict.fromkeys(found))


def _straight_told(straight: Straight, functions: Sequence[str]) -> tuple:
    def step_told(step: Step) -> tuple:
        return functions.index(step.function.target), step.slots, step.made, step.alone, step.sizes, step.line
    return (tuple(map(step_told, straight.steps)), tuple(map(_kept_told, straight.kept)), straight.results,
            straight.taken, straight.given, straight.turned, straight.over, tuple(map(step_told, straight.steps_over)),
            straight.wanted)


def _kept_told(array: np.ndarray | None) -> Any:
    """An array that a program holds; one number and a shape, where all are the same."""
    if array is None or any(array.strides) or not array.ndim:
        return array
    return array[(slice(1),) * array.ndim].copy(), array.shape
