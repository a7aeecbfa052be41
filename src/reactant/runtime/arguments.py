"""From what a caller passes to what a compiled program takes: checks, conversions, borrowed views, aligned copies."""
from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import context
from reactant.runtime import buffers
from reactant.runtime.pool import SCRATCH
from reactant.runtime.program import ALIGNMENT, Array, padding

FUSES_SLICES = frozenset(
    "stablehlo." + name for name in """
    abs add and atan2 bitcast_convert broadcast_in_dim cbrt ceil clamp compare complex concatenate convert cosine
    count_leading_zeros divide dynamic_slice dynamic_update_slice exponential exponential_minus_one floor gather imag
    is_finite log log_plus_one logistic maximum minimum multiply negate not or pad popcnt power real reduce_precision
    remainder reshape reverse round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic
    shift_right_logical sign sine slice sqrt subtract tan tanh transpose xor
    """.split())
"""Operations into which XLA:CPU fuses the slice that reads a borrowed argument, so that it costs nothing.

Other consumers (reductions, dots, sorts, FFTs, loops) would make XLA materialise the slice in fresh memory.
"""


@dataclass(frozen=True)
class Facts:
    """What the runtime wants to know of a module. sliceable[i]: every use of argument i fuses slices."""

    sliceable: tuple[bool, ...]
    operations: collections.Counter[str]


def facts_of(module: ir.Module) -> Facts:
    """Read the facts off `module`."""
    counts: collections.Counter[str] = collections.Counter()

    def count(operation: ir.Operation) -> ir.WalkResult:
        counts[operation.name] += 1
        return ir.WalkResult.ADVANCE

    with context.building():
        module.operation.walk(count)
        main = next(op for op in module.body.operations if op.operation.name == "func.func"
                    and op.sym_name.value == "main")
        sliceable = tuple(_sliceable(value) for value in main.entry_block.arguments)
    return Facts(sliceable, counts)


def _sliceable(value: ir.Value) -> bool:
    return all(use.owner.operation.name in FUSES_SLICES or use.owner.operation.name == "func.return"
               for use in value.uses)


def native(dtype: np.dtype) -> bool:
    """Whether NumPy itself knows the dtype (bfloat16, int4 and the like come from ml_dtypes)."""
    return dtype.kind in "biufc" and dtype.isbuiltin == 1


def converted(arguments: Sequence[Any], inputs: Sequence[Array], name: str) -> list[Any]:
    """`arguments` as arrays of exactly the dtypes and shapes of `inputs`, in native byte order.

    Python scalars take the dtype; arrays must have it. Raises `TypeError` naming the argument that does not fit.
    """
    if len(arguments) != len(inputs):
        raise TypeError(f"{name} takes {len(inputs)} arguments, {len(arguments)} were given.")
    return [_converted(argument, array, index, name)
            for index, (argument, array) in enumerate(zip(arguments, inputs, strict=True))]


def _converted(argument: Any, array: Array, index: int, name: str) -> Any:
    if isinstance(argument, (bool, int, float, complex)) and not isinstance(argument, np.generic):
        argument = np.asarray(argument, array.dtype)
    elif not isinstance(argument, (np.ndarray, jax.Array)):
        argument = np.asarray(argument)
    if argument.shape != array.shape or argument.dtype != array.dtype:
        if argument.shape == array.shape and argument.dtype.newbyteorder("=") == array.dtype:
            return argument.astype(array.dtype)
        raise TypeError(f"Argument {index} of {name} is {argument.dtype.name}{list(argument.shape)}; "
                        f"it was compiled for {array}.")
    if not isinstance(argument, jax.Array) and not argument.dtype.isnative:
        return argument.astype(array.dtype)
    return argument


def lend(given: list[Any], inputs: Sequence[Array], big: Sequence[int], borrowed: Sequence[int],
         scratch: list[np.ndarray]) -> list[np.ndarray]:
    """Replace the big arguments in `given` by memory XLA reads in place; returns the offsets parameter (or nothing).

    Aligned copies, where one is needed, come from the scratch memory and are appended to `scratch`.
    """
    offsets = []
    for index in big:
        argument = given[index]
        if isinstance(argument, jax.Array):
            argument = np.asarray(argument)
        if index in borrowed:
            view = buffers.borrowed_view(argument, inputs[index]) if argument.flags.c_contiguous else None
            if view is None:
                view = _aligned_copy(argument, inputs[index], padding(inputs[index]), scratch), 0
            given[index], offset = view
            offsets.append(offset)
        elif argument.flags.c_contiguous and argument.__array_interface__["data"][0] % ALIGNMENT == 0:
            given[index] = argument
        else:
            given[index] = _aligned_copy(argument, inputs[index], 0, scratch).reshape(inputs[index].shape)
    return [np.array(offsets, np.int64)] if borrowed else []


def _aligned_copy(argument: np.ndarray, array: Array, extra: int, scratch: list[np.ndarray]) -> np.ndarray:
    """`argument` copied flat to the start of aligned memory of `extra` elements more than it has."""
    memory = SCRATCH.take((array.size + extra) * array.dtype.itemsize)
    scratch.append(memory)
    flat = memory.view(array.dtype)
    np.copyto(flat[:array.size].reshape(array.shape), argument)
    return flat
