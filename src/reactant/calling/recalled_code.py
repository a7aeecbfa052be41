"""Machine code of compiled programs in the compile cache: the native functions that they call, and in which order."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reactant.cache.walk import NotCacheable
from reactant.native import bounds, built_in, denormals, objects
from reactant.native.recalled import CannotKeep, Code, RecalledFunction
from reactant.native.steps import Over, Step, Straight
from reactant.runtime.pool import empty
from reactant.runtime.program import Body

CALLER, THREADS, DENORMALS = "reactant.straight", "reactant.threads", "reactant.denormals"
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


def loaded(code: tuple, functions: tuple, straight: tuple | None) -> Straight | None:
    """Have machine code ready, and XLA know it; the calls of a program without XLA, if it is one.

    Raises `ValueError` where it cannot be loaded here."""
    if code:
        if not objects.usable():
            raise ValueError("object files are not loaded on this system")
        try:
            Code({name: (data, exports) for name, data, exports in code}).load()
        except objects.UnknownObject as error:
            raise ValueError(str(error)) from error
    made = [RecalledFunction(*each) for each in functions]
    if straight is None:
        for function in made:
            function.register()
        return None
    steps, kept, results, taken, given, turned, over, steps_over, wanted = straight
    if (call := built_in.caller()) is None:
        raise ValueError("NumPy's arrays are not as they have always been")

    def step_of(told: tuple) -> Step:
        number, slots, each, alone, sizes, line = told
        return Step(made[number], slots, each, alone, sizes, line)
    found = Straight([step_of(each) for each in steps], [_kept_of(each) for each in kept], results, call, empty, taken)
    found.given, found.turned = given, turned
    if wanted or over:
        found.write_over(tuple(Over(*(each.result, each.argument, each.made)) for each in over),
                         [step_of(each) for each in steps_over], wanted)
    return found


def _kept_of(told: Any) -> np.ndarray | None:
    return np.broadcast_to(told[0], told[1]) if type(told) is tuple else told


def wants_denormals(body: Body) -> bool:
    """Whether XLA's program begins with the call that keeps denormal numbers."""
    return body.prelude is not None


def register_denormals() -> None:
    """Make that call known to XLA."""
    if objects.known(DENORMALS) is not None:
        denormals.target()
