"""Structs in memory as rows of pieces of one size, the last dimension."""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.kernels.form.record import Field
from reactant.kernels.launch.arguments import members_of, plain


def fields_of(dtype: np.dtype) -> tuple[Field, ...]:
    """The members of a struct, as records have them; none where they are of one type."""
    if dtype.names is None or plain(dtype)[0].kind == "f":
        return ()
    found = []
    for member in members_of(dtype):
        one, count = plain(member.dtype)
        found.append(replace(member, dtype=one, count=count * member.count))
    return tuple(found)


def taken(rows: ir.Value, unit: np.dtype, offset: int, dtype: np.dtype, count: int) -> ir.Value:
    """Numbers of every row (the last dimension) of pieces, as a dimension of their own."""
    shape = shape_of(rows)
    start, pieces = offset // unit.itemsize, dtype.itemsize * count // unit.itemsize
    found = ops.slice(rows, [*([0] * (len(shape) - 1)), start], [*shape[:-1], start + pieces], [1] * len(shape))
    if dtype.itemsize == unit.itemsize:
        return found if dtype == unit else ops.bitcast_convert(found, dtype)
    return ops.bitcast_convert(ops.reshape(found, (*shape[:-1], count, pieces // count)), dtype)


def as_pieces(value: ir.Value, unit: np.dtype, outer: tuple[int, ...]) -> ir.Value:
    """The inverse of `taken`: bits are taken where they are given back, so that the two cancel."""
    value = ops.reshape(value, (*outer, math.prod(shape_of(value)[len(outer):])))
    if dtype_of(value) != unit:
        value = ops.bitcast_convert(value, unit)
    return ops.reshape(value, (*outer, math.prod(shape_of(value)[len(outer):])))
