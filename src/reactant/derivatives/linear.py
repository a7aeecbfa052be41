"""Products with Jacobians as part of a trace: requests for tangents and cotangents."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.calling import signature as sig
from reactant.derivatives.answers import require_real
from reactant.derivatives.entry import argument, require_floats
from reactant.derivatives.gradients import gradients_like
from reactant.derivatives.outline import Outlined, Slot, as_floating, as_tensor, filled, leaves_of, outline
from reactant.differentiate import requests
from reactant.errors import ReactantError
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor, is_tensor
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of

_links = itertools.count()


def prepared(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], has_aux: bool = False) -> Outlined:
    """The function outlined, its chosen arguments checked."""
    for which in chosen:
        require_floats(which, argument(which, args, kwargs))
    made = outline(function, args, kwargs, chosen)
    if has_aux:
        made.part_aux()
    return made


def directions(args: tuple, numbers: Sequence[int], tangents: Sequence[Any]) -> list[ir.Value]:
    """Tangent leaves as values, checked against the arguments."""
    found = []
    for n, tree in zip(numbers, tangents, strict=True):
        wanted, given = leaves_of(args[n]), leaves_of(tree, args[n])
        if len(wanted) != len(given):
            raise ReactantError(f"The tangent of argument {n} has {len(given)} leaves, the argument {len(wanted)}.",
                                hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                                code="tangents-do-not-fit")
        for x, t in zip(wanted, given, strict=True):
            if not as_floating(x):
                continue
            tensor = as_tensor(x)
            assert tensor is not None, "checked to be floats"
            value = tensor.value()
            found.append(value_like(t, value, f"A tangent of argument {n}", "the argument") if t is not None
                         else ops.constant(0, dtype_of(value), shape_of(value)))
    return found


def value_like(given: Any, like_: ir.Value, what: str, other: str, *, pairs: bool = False) -> ir.Value:
    """A leaf the user gave, of the shape and dtype of a value. pairs: a cotangent, of which the real part is all that
    counts where it pairs with real numbers."""
    shape, dtype = shape_and_dtype(like_.type)
    if not pairs:
        require_real(given, dtype, what, other)
    tensor = given if is_tensor(given) else None
    value = tensor.value() if tensor is not None else None
    if np.shape(given) != shape:
        raise ReactantError(f"{what} has shape {np.shape(given)}, {other} {shape}.",
                            hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                            code="tangents-do-not-fit")
    return ops.constant(np.asarray(given, dtype)) if value is None else _converted(value, dtype)


def _converted(value: ir.Value, dtype: np.dtype) -> ir.Value:
    if dtype_of(value).kind == "c" and dtype.kind != "c":
        value = ops.real(value)
    return value if dtype_of(value) == dtype else ops.convert(value, dtype)


def tangent_tree(tree: Any, moved: dict[int, ir.Value], types: Sequence[ir.Type]) -> Any:
    """A tree of slots with the tangents in them; 0.0 for what is no float."""
    def leaf(x: Any) -> Any:
        if type(x) is Slot:
            value = moved.get(x.index)
            if value is None:
                value = ops.constant(0.0, np.float64, shape_and_dtype(types[x.index])[0])
            return Tensor.of_value(value, x.kind if x.kind == ARRAY else SCALAR)
        return 0.0 if isinstance(x, (bool, int, float, complex)) else x
    return sig.map_tree(tree, leaf)


def _pushed(made: Outlined, tangents: Sequence[ir.Value]) -> tuple[list[ir.Value], Any]:
    varying = made.varying(made.outputs())
    results, moved = made.request(requests.FORWARD, varying, tangents)
    return results, tangent_tree(made.outputs(), dict(zip(varying, moved, strict=True)), made.types)


def _cotangents(made: Outlined, varying: Sequence[int], given: Any) -> list[ir.Value]:
    """One cotangent for each varying result, from a tree like the outputs."""
    wanted, leaves = leaves_of(made.outputs()), leaves_of(given, made.outputs())
    if len(leaves) != len(wanted):
        raise ReactantError(f"The cotangent has {len(leaves)} leaves, the outputs of '{made.name}' have "
                            f"{len(wanted)}.",
                            hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                            code="tangents-do-not-fit")
    found: dict[int, ir.Value] = {}
    for slot, g in zip(wanted, leaves, strict=True):
        if type(slot) is not Slot or slot.index not in varying:
            continue
        shape, dtype = shape_and_dtype(made.types[slot.index])
        zero = ops.constant(0, dtype, shape)
        value = zero if g is None else value_like(g, zero, "A cotangent", "its output", pairs=True)
        found[slot.index] = value if slot.index not in found else ops.add(found[slot.index], value)
    return [found[i] for i in varying]


def jvp_traced(function: Any, primals: tuple, tangents: Sequence[Any], kwargs: dict, has_aux: bool) -> tuple:
    """(outputs, tangents), and aux."""
    numbers = [n for n, t in enumerate(tangents) if t is not None]
    made = prepared(function, primals, kwargs, numbers, has_aux)
    given = directions(primals, numbers, [tangents[n] for n in numbers])
    results, moved = _pushed(made, given)
    made.take_effect(results)
    found = filled(made.outputs(), results), moved
    return (*found, filled(made.aux, results)) if has_aux else found


def primal_of(made: Outlined) -> tuple[list[ir.Value], int]:
    """The function's results, and the link by which a request for its derivative finds their op."""
    link = next(_links)
    results, _ = made.request(requests.PRIMAL, (), link=link)
    made.take_effect(results)
    return results, link


def linear_traced(function: Any, primals: tuple, kwargs: dict, numbers: Sequence[int], has_aux: bool) -> Any:
    """((outputs, aux), pull, push) of a function at `primals`."""
    made = prepared(function, primals, kwargs, numbers, has_aux)
    varying = made.varying(made.outputs())
    results, link = primal_of(made)

    def pull(cotangents: Any) -> tuple:
        _, found = made.request(requests.REVERSE, varying, _cotangents(made, varying, cotangents), link=link)
        left = iter(found)
        return tuple(gradients_like(primals[n], left) for n in numbers)

    def push(*tangents: Any) -> Any:
        return _pushed(made, directions(primals, numbers, tangents))[1]

    return filled((made.outputs(), made.aux), results), pull, push
