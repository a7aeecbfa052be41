"""What the rules of `custom_derivative` give, taken apart, and whether directions are real."""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.derivatives.outline import leaves_of
from reactant.errors import ReactantError


def tangent_leaves(name: str, answer: Any, result: Any, shapes: list[tuple[int, ...] | None]) -> list[Any]:
    """The tangent of each leaf of the result, from what a `jvp` rule gives. shapes: of these leaves; None for what is
    no array."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise ReactantError(f"The jvp rule of '{name}' (custom_derivative) returns (outputs, tangents of the "
                            "outputs).", hint="Rules are described in docs/derivatives.md.", code="derivative-rule")
    outputs, tangents = leaves_of(answer[0], result), leaves_of(answer[1], result)
    for found, what in ((outputs, "outputs"), (tangents, "tangents")):
        if len(found) != len(shapes):
            raise ReactantError(f"The jvp rule of '{name}' (custom_derivative) gives {len(found)} {what} for "
                                f"{len(shapes)} outputs.", hint="Rules are described in docs/derivatives.md.",
                                code="derivative-rule")
    for output, shape in zip(outputs, shapes, strict=True):
        if shape is not None and np.shape(output) != shape:
            raise ReactantError(f"An output of the jvp rule of '{name}' (custom_derivative) has shape "
                                f"{np.shape(output)}, that of the function {shape}.",
                                hint="Rules are described in docs/derivatives.md.", code="derivative-rule")
    return tangents


def cotangent_leaves(name: str, answer: Any, args: tuple) -> list[Any]:
    """The cotangent of each leaf of the arguments, from what a `vjp` rule gives."""
    if not (isinstance(answer, tuple) and len(answer) == len(args)):
        raise ReactantError(f"The vjp rule of '{name}' (custom_derivative) returns a tuple of {len(args)} "
                            "cotangents, one for each argument.", hint="Rules are described in docs/derivatives.md.",
                            code="derivative-rule")
    found: list[Any] = []
    for number, (arg, g) in enumerate(zip(args, answer, strict=True)):
        wanted = leaves_of(arg)
        given = [None] * len(wanted) if g is None else leaves_of(g, arg)
        if len(given) != len(wanted):
            raise ReactantError(f"The vjp rule of '{name}' (custom_derivative) gives {len(given)} cotangents for "
                                f"argument {number}, which has {len(wanted)} parts.",
                                hint="Rules are described in docs/derivatives.md.", code="derivative-rule")
        found += given
    return found


def require_real(given: Any, dtype: Any, what: str, other: str) -> None:
    """Raises `TypeError` where a direction of real numbers is complex."""
    if np.dtype(dtype).kind != "c" and not isinstance(given, str) and np.iscomplexobj(given):
        raise TypeError(f"{what} is complex, {other} {np.dtype(dtype)}. Take its real part, or pass the argument as "
                        f"complex.")
