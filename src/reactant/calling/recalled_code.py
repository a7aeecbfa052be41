"""Machine code of programs out of the compile cache: the native functions that they call, and in which order."""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.native import built_in, objects
from reactant.native.recalled import Code, RecalledFunction
from reactant.native.steps import Over, Step, Straight
from reactant.runtime.pool import empty
from reactant.runtime.program import Body

DENORMALS = "reactant.denormals"


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
        from reactant.native import denormals
        denormals.target()
