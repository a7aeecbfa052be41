"""From what a caller passes to what a compiled program takes: checks, conversions, borrowed views, aligned copies."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from reactant.runtime import buffers
from reactant.runtime.forms import Forms
from reactant.runtime.pool import SCRATCH
from reactant.runtime.program import ALIGNMENT, AT_RUN_TIME, Array, Program, padding

HANDED_OVER = 100 << 10
"""Bytes from which XLA:CPU has another thread copy an argument that is not aligned, and waits for it (jaxlib 0.10.2).

us a call, aligned / 16 bytes past that: `a[0] + 1` on 102392 bytes 6 / 7, on 102400 bytes 6 / 33 to 54, with a copy of
our own 6 / 10; `a @ b` on 256 x 256 float64 13 / 78. NumPy's arrays are aligned by chance: one in four."""


def native(dtype: np.dtype) -> bool:
    """Whether NumPy itself knows the dtype (bfloat16, int4 and the like come from ml_dtypes)."""
    return dtype.kind in "biufc" and dtype.isbuiltin == 1


def converted(arguments: Sequence[Any], inputs: Sequence[Array], name: str, *, to_host: bool = False) -> list[Any]:
    """`arguments` as arrays of exactly the dtypes and shapes of `inputs`, in native byte order.

    Python scalars take the dtype; arrays must have it. `jax.Array`s stay where they are unless `to_host`. Raises
    `TypeError` naming the argument that does not fit.
    """
    if len(arguments) != len(inputs):
        raise TypeError(f"{name} takes {len(inputs)} arguments, {len(arguments)} were given.")
    return [_converted(np.asarray(argument) if to_host and isinstance(argument, jax.Array) else argument,
                       array, index, name)
            for index, (argument, array) in enumerate(zip(arguments, inputs, strict=True))]


def contiguous(arguments: Sequence[Any], inputs: Sequence[Array], name: str) -> list[np.ndarray]:
    """`arguments` as C-contiguous, aligned arrays of NumPy's, otherwise as `converted`."""
    if len(arguments) == len(inputs) and all(map(_fits, arguments, inputs)):
        return list(arguments)
    found = converted(arguments, inputs, name, to_host=True)
    return [np.require(a, requirements="CA").reshape(array.shape) for a, array in zip(found, inputs, strict=True)]


def _is(argument: Any, array: Array) -> bool:
    """Whether an argument is an array of NumPy's of this shape and dtype."""
    return type(argument) is np.ndarray and argument.shape == array.shape and (
        argument.dtype is array.dtype or argument.dtype == array.dtype)


def _fits(argument: Any, array: Array) -> bool:
    return _is(argument, array) and bool((flags := argument.flags).c_contiguous and flags.aligned)


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


def lend(given: list[Any], inputs: Sequence[Array], big: Sequence[int], forms: Forms,
         scratch: list[np.ndarray]) -> tuple[Program, list[np.ndarray]]:
    """Replace the big arguments in `given` by memory XLA reads in place.

    Returns the program to run and the parameter of run-time offsets, if it has one. Aligned copies, where an argument
    needs one, come from the scratch memory and are appended to `scratch`.
    """
    arrays = [given[index] if type(given[index]) is np.ndarray else np.asarray(given[index]) for index in big]
    have = tuple(buffers.offset_of(argument, inputs[index].dtype.itemsize)
                 for argument, index in zip(arrays, big, strict=True))
    program, wanted = forms.choose(have)
    told = []
    for argument, index, offset, want in zip(arrays, big, have, wanted, strict=True):
        array, start = inputs[index], 0 if want == AT_RUN_TIME else want
        view = None
        if offset is not None and (want == offset or want == AT_RUN_TIME):
            start = offset
            view = argument if want == 0 else buffers.borrowed_view(argument, array, offset, padding(array, want))
        if view is None:
            start = 0 if want == AT_RUN_TIME else want
            view = _aligned_copy(argument, array, start, padding(array, want), scratch)
        given[index] = view
        if want == AT_RUN_TIME:
            told.append(start)
    return program, [np.array(told, np.int64)] if told else []


def set_right(given: list[Any], inputs: Sequence[Array], which: Sequence[int], scratch: list[np.ndarray]) -> None:
    """Replace arguments that XLA would have copied elsewhere by copies of our own, which are appended to `scratch`.
    What is not of the right shape and dtype is left for others to refuse."""
    for index in which:
        argument, array = given[index], inputs[index]
        if _is(argument, array) and (argument.__array_interface__["data"][0] % ALIGNMENT
                                     or not argument.flags.c_contiguous):
            given[index] = _aligned_copy(argument, array, 0, 0, scratch)


def _aligned_copy(argument: np.ndarray, array: Array, start: int, extra: int, scratch: list[np.ndarray]) -> np.ndarray:
    """`argument` copied into aligned memory from element `start` on; flat, with `extra` elements more, if any."""
    memory = SCRATCH.take((array.size + extra) * array.dtype.itemsize)
    scratch.append(memory)
    flat = memory.view(array.dtype)
    np.copyto(flat[start:start + array.size].reshape(array.shape), argument)
    return flat if extra else flat.reshape(array.shape)
