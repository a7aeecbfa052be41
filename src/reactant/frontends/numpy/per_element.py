"""Python functions that NumPy calls for each element or each row: loops over the calls, which become batches where they
are independent. As in NumPy, what the first call gives tells the dtypes and shapes of the results."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.creation import as_tensor
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.session import calls
from reactant.frontends.session.calls import following
from reactant.frontends.source.operators import ag__
from reactant.ir.types import Shape

_PYTHON = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def called_at_each(shape: Shape, call: Callable[[tuple], Any], dtypes: list[np.dtype] | None = None,
                   tried: Callable[[tuple], Any] | None = None) -> Any:
    """One array (a tuple of arrays, where `call` gives tuples) of what `call(index)` gives at each index of `shape`;
    `tried` is called for the dtypes and shapes."""
    first = (tried or call)((0,) * len(shape))
    several = isinstance(first, tuple)
    parts = [as_tensor(p) for p in (first if several else (first,))]
    found = [Tensor.of_known(np.zeros((*shape, *p.shape), d))
             for p, d in zip(parts, dtypes or [p.dtype for p in parts], strict=True)]

    def body(index: tuple) -> None:
        made = call(index)
        for target, part in zip(found, made if several else (made,), strict=True):
            target[index] = part

    ag__.for_stmt(calls.REPLACEMENTS[np.ndindex](*shape), body, (), (), (), ())
    return tuple(found) if several else found[0]


def call_vectorized(function: np.vectorize, arguments: tuple, keywords: dict) -> Any:
    """`np.vectorize(f)(*arguments)`: the elements are Python numbers; with a signature, arrays of its core dimensions.

    Raises `ValueError` for empty arrays without otypes.
    """
    names = [*range(len(arguments)), *keywords]
    values = dict(zip(names, (*arguments, *keywords.values()), strict=True))
    mapped = [n for n in names if n not in function.excluded]
    ranks = dict(zip(mapped, _core_ranks(function.signature, len(mapped)), strict=True))
    arrays = {n: as_tensor(values[n]) for n in mapped}
    shape = np.broadcast_shapes(*(a.shape[:a.ndim - ranks[n]] for n, a in arrays.items()))
    spread = {n: np.broadcast_to(a, (*shape, *a.shape[a.ndim - ranks[n]:])) for n, a in arrays.items()}

    def call(index: tuple, element: Callable = _element if function.signature is None else Tensor.__getitem__) -> Any:
        now = {n: element(spread[n], index) if n in spread else value for n, value in values.items()}
        return calls.call(function.pyfunc, *(now[k] for k in range(len(arguments))), **{n: now[n] for n in keywords})

    dtypes = [np.dtype(d) for d in function.otypes] if function.otypes else None
    if 0 in shape:
        if dtypes is None or function.signature is not None:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        made = tuple(Tensor.of_known(np.zeros(shape, d)) for d in dtypes)
        return made if len(made) > 1 else made[0]
    return called_at_each(shape, call, dtypes, lambda index: call(index, Tensor.__getitem__))  # with NumPy's scalars


def _core_ranks(signature: str | None, count: int) -> list[int]:
    """How many trailing dimensions of each argument one call takes."""
    if signature is None:
        return [0] * count
    ranks = [len(re.findall(r"\w+", core)) for core in re.findall(r"\(([^)]*)\)", signature.split("->")[0])]
    if len(ranks) != count:
        raise UnsupportedError(f"np.vectorize with {count} arrays and the signature {signature!r}, which has "
                               f"{len(ranks)}.", hint="Give as many arrays as the signature has.",
                               code="argument-not-supported")
    return ranks


def _element(array: Tensor, index: tuple) -> Any:
    """A Python number, as NumPy hands elements to vectorized functions."""
    return calls.REPLACEMENTS[_PYTHON[array.dtype.kind]](array[index])


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable, axis: int, arr: object, *args: object, **kwargs: object) -> Tensor:
    a = as_tensor(arr)
    axis = axis_in(axis, a.ndim)
    moved = np.moveaxis(a, axis, -1)
    lead: Shape = moved.shape[:-1]
    if 0 in lead:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    function = following(func1d)
    made = called_at_each(lead, lambda index: as_tensor(function(moved[index], *args, **kwargs)))
    inner = made.ndim - len(lead)
    return np.moveaxis(made, tuple(range(len(lead), len(lead) + inner)), tuple(range(axis, axis + inner)))
