"""How wrong numbers are, as operations of the program that is looked at.

An error is relative to the companion in more precision, at most 1: no bit is right. Where both are NaN, or the same
infinity, there is none. Arrays of one size are rows of one array, so that all operations of a block are measured in few
steps, which compilers take quickly.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.ops import Body
from reactant.ir.types import dtype_of, shape_of

FLOAT64, INT64 = np.dtype(np.float64), np.dtype(np.int64)


class Row(NamedTuple):
    """An array of real numbers, its companion (a float64, and what that leaves, if anything), and what errors are parts
    of, if not the companion; also float64."""

    x: ir.Value
    head: ir.Value
    low: ir.Value | None = None
    scale: ir.Value | None = None


class Measured(NamedTuple):
    """Of each row: the largest error of an element; the largest as a part of the largest element; how many elements are
    not finite, and how many are 0."""

    worst: ir.Value
    of_largest: ir.Value
    infinite: ir.Value
    zero: ir.Value


def vector(numbers: Sequence[ir.Value]) -> ir.Value:
    """Numbers as an array."""
    return ops.concatenate([ops.reshape(each, (1,)) for each in numbers], 0)


def measured(rows: Sequence[Row], size: int) -> Measured:
    """Of arrays of one size and format."""
    stacks = [[r.x for r in rows], [r.head for r in rows]]
    if rows[0].low is not None:
        stacks.append([r.low for r in rows if r.low is not None])
    # what is put together is kept as it is: as a part of something else it takes compilers long
    x, head, *low = ops.optimization_barrier(*(_stacked(each, size) for each in stacks))
    x = ops.convert(x, FLOAT64)
    apart = ops.abs(ops.subtract(head, x) if not low else ops.add(ops.subtract(head, x), low[0]))
    scale = ops.abs(head)
    if any(r.scale is not None for r in rows):
        scale, = ops.optimization_barrier(_stacked([ops.abs(r.head) if r.scale is None else r.scale for r in rows],
                                                   size))
    known = ops.is_finite(apart)
    both_nan = ops.and_(ops.compare(x, x, "NE"), ops.compare(head, head, "NE"))
    same = ops.or_(ops.compare(x, head, "EQ"), both_nan)
    zero, one = ops.splat(0.0, apart), ops.splat(1.0, apart)
    bound = ops.select(same, zero, one)
    errors = ops.select(known, _part(apart, scale), bound)
    found = (ops.select(known, apart, zero), ops.select(ops.is_finite(scale), scale, zero))
    largest, extent = (_over_rows(each, _larger, 0.0) for each in found)
    lost = ops.compare(_over_rows(ops.select(known, zero, bound), _larger, 0.0), 0.0, "GT")
    return Measured(_over_rows(errors, _larger, 0.0),
                    ops.select(lost, ops.splat(1.0, largest), _part(largest, extent)),
                    _count(ops.not_(ops.is_finite(x))), _count(ops.compare(x, 0.0, "EQ")))


def _part(apart: ir.Value, scale: ir.Value) -> ir.Value:
    """At most 1, and 0 of 0."""
    none, one = ops.splat(0.0, apart), ops.splat(1.0, apart)
    return ops.select(ops.compare(apart, 0.0, "EQ"), none, ops.select(
        ops.compare(apart, scale, "LT"), ops.divide(apart, scale), one))


def _stacked(arrays: Sequence[ir.Value], size: int) -> ir.Value:
    return ops.concatenate([ops.reshape(each, (1, size)) for each in arrays], 0)


def _larger(x: ir.Value, y: ir.Value) -> ir.Value:
    return ops.select(ops.compare(x, y, "GT"), x, y)    # no maximum, which would look for NaN


def _over_rows(x: ir.Value, body: Body, start: float) -> ir.Value:
    rows, size = shape_of(x)
    return ops.reshape(x, (rows,)) if size == 1 else ops.reduce(x, ops.constant(start, dtype_of(x)), (1,), body)


def _count(truths: ir.Value) -> ir.Value:
    return ops.convert(_over_rows(ops.convert(truths, INT64), "add", 0), FLOAT64)


def how_many(truths: ir.Value) -> ir.Value:
    """How often something is true, as float64."""
    found = ops.convert(truths, INT64)
    shape = shape_of(found)
    if shape:
        found = ops.reduce(found, ops.constant(0, INT64), tuple(range(len(shape))), "add")
    return ops.convert(found, FLOAT64)


def picked(table: ir.Value, places: Sequence[Sequence[int]]) -> ir.Value:
    """The largest of the numbers of a table at some places, for each of the sequences; the last one is 0."""
    last = shape_of(table)[0] - 1
    width = max([1, *map(len, places)])
    indices = np.array([[*each, *[last] * (width - len(each))] for each in places], np.int64).reshape(-1, 1)
    found = ops.gather(table, ops.constant(indices), offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,),
                       index_vector_dim=1, slice_sizes=(1,))
    return _over_rows(ops.reshape(found, (len(places), width)), _larger, 0.0)
