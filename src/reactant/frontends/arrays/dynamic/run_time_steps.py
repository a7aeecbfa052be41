"""Slices whose step is known at run time, and we know to be positive: `s[i * i::i] = False` in a loop over i.

Reading one gathers as many elements as there can be. Writing one value to all is a loop over the elements there are,
as in C: a mask, or a scatter, would work on all elements of the dimension.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded
from reactant.frontends.arrays import layouts
from reactant.frontends.arrays.dynamic import bounded_slices
from reactant.frontends.arrays.dynamic.bounded import (
    Bounded,
    Number,
    Range,
    as_number,
    guarded_copy,
    is_partial,
    minus,
    plus,
)
from reactant.frontends.arrays.dynamic.bounded_slices import clipped, known_bounds
from reactant.frontends.arrays.tensor import Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.session.dispatch import means
from reactant.ir import ops
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Strided:
    """The elements `start + k * step`, k < `count` <= `most`, of a dimension of `whole`."""

    whole: Tensor
    dimension: int
    start: ir.Value
    step: ir.Value
    count: ir.Value
    most: int

    def place(self, k: ir.Value) -> ir.Value:
        return ops.add(self.start, ops.multiply(k, self.step))


@means("get_by_run_time_bounds")
def get_slices(tensor: Tensor, items: list) -> Any:
    """`tensor[items]` with run-time bounds or steps."""
    return get(tensor, items) if is_strided(items) else bounded_slices.get(tensor, items)


@means("put_by_run_time_bounds")
def put_slices(tensor: Tensor, items: list, value: Any) -> None:
    """`tensor[items] = value` with run-time bounds or steps."""
    (put if is_strided(items) else bounded_slices.put)(tensor, items, value)


def is_strided(items: list) -> bool:
    """Whether the step of a slice among them is a run-time number."""
    return any(map(_has_run_time_step, items))


@means("progression_as_slice")
def as_slice(tensor: Tensor, items: list) -> list:
    """The items with a slice in the place of `np.arange` with such a step, where that is the only one beside slices and
    certainly within the dimension."""
    at = next(n for n, i in enumerate(items) if getattr(i, "progression", None) is not None)
    start, stop, step = items[at].progression
    last = known_bounds(stop) if is_tensor(stop) else (stop, stop)
    if not all(isinstance(i, slice) for n, i in enumerate(items) if n != at) or last is None \
            or last[1] > tensor.shape[at]:
        return items
    return [*items[:at], slice(start, stop, step), *items[at + 1:]]


def _has_run_time_step(item: object) -> bool:
    return isinstance(item, slice) and is_tensor(item.step)


def _found(tensor: Tensor, items: list) -> Strided:
    at, *others = [n for n, i in enumerate(items) if _has_run_time_step(i)]
    part: slice = items[at]
    known = known_bounds(part.step)
    if others or known is None or known[0] < 1:
        raise ConcreteValueNeeded("The step of a slice")    # so that a loop over known indices is unrolled
    whole = tensor[tuple(slice(None) if n == at else i for n, i in enumerate(items))]
    dimension = sum(i is None or isinstance(i, slice) for i in items[:at])
    if is_partial(whole) or any(i is Ellipsis for i in items[:at]):
        raise ConcreteValueNeeded("The step of a slice")
    n = whole.shape[dimension]
    start, stop = clipped(part.start, n, 0), clipped(part.stop, n, n)
    step = ops.convert(part.step.value(), np.int64)
    return Strided(whole, dimension, as_number(start), step, _steps(minus(stop, start), step), -(-n // known[0]))


def _steps(length: Number, step: ir.Value) -> ir.Value:
    """How many steps reach a length, which may be negative."""
    up = as_number(plus(length, ops.subtract(step, 1)))
    return ops.maximum(ops.divide(up, step), 0)


def get(tensor: Tensor, items: list) -> Bounded:
    """`tensor[items]`: a copy, not to be written."""
    found = _found(tensor, items)
    whole, d = found.whole, found.dimension
    numbers = ops.iota((found.most,), np.int64, 0)
    start, step = (ops.broadcast_in_dim(x, (found.most,), []) for x in (found.start, found.step))
    places = ops.clamp(0, ops.add(start, ops.multiply(numbers, step)), max(whole.shape[d] - 1, 0))
    frame = np.take(whole, Tensor.of_value(places), axis=d)
    extents: list[Range | None] = [None] * whole.ndim
    extents[d] = Range(0, found.count)
    return Bounded(guarded_copy(frame, whole), extents)


def put(tensor: Tensor, items: list, value: Any) -> None:
    """`tensor[items] = value`, the same value for all of the dimension."""
    found = _found(tensor, items)
    whole, d = found.whole, found.dimension
    if is_partial(value):
        raise ConcreteValueNeeded("The step of a slice")
    source, row = wrap(value), tuple(1 if k == d else n for k, n in enumerate(whole.shape))
    if whole.ndim - d <= source.ndim and source.shape[source.ndim - (whole.ndim - d)] != 1:
        raise ConcreteValueNeeded("The step of a slice")
    update = layouts.broadcast(cast(source.value(), whole.dtype), row)
    whole.assign(_written(found, whole.value(), update))


def _written(found: Strided, value: ir.Value, update: ir.Value) -> ir.Value:
    zero = ops.constant(0, np.int64)

    def body(k: ir.Value, held: ir.Value) -> list[ir.Value]:
        starts = [zero] * found.whole.ndim
        starts[found.dimension] = found.place(k)
        return [ops.add(k, 1), ops.dynamic_update_slice(held, update, starts)]
    return ops.while_([zero, value], lambda k, held: ops.compare(k, found.count, "LT"), body)[1]
