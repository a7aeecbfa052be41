"""Writing the program of one device: parts of arrays, numbers that differ from device to device, collectives.

All devices run the same program. What differs (where a device's block begins) is a *table*: a constant with a number
for each device, of which the program takes its own.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.sharding import MeshShape
from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of, tensor_type
from reactant.support.records import dataclass


def anything(dtype: np.dtype) -> Any:
    """What is where nobody looks; tests put in what they would see."""
    return 0


@dataclass(eq=False)
class Part:
    """A device's part of an array: `value` begins, in each dimension, at the element that `starts` says for each
    device; None where it is the whole dimension. It may go beyond the array: nobody looks at what is there."""

    value: ir.Value
    starts: tuple[np.ndarray | None, ...]


class Writer:
    """Writes ops for all devices of a mesh at the current insertion point; tables go to the top of the program."""

    def __init__(self, mesh: MeshShape, top: ir.Operation) -> None:
        self.mesh, self.top = mesh, top
        self.tables: dict[bytes, ir.Value] = {}
        self.channel = 0
        with ir.InsertionPoint(top):
            number = creation.create("stablehlo.partition_id", [tensor_type((), np.dtype(np.uint32))], []).result
            self.device = ops.convert(number, np.int64)

    def table(self, values: np.ndarray) -> ir.Value:
        """This device's number of `values`, int64 of shape ()."""
        values = np.asarray(values, np.int64)
        if (values == values[0]).all():
            return ops.constant(int(values[0]), np.int64)
        key = values.tobytes()
        if key not in self.tables:
            with ir.InsertionPoint(self.top):
                own = ops.dynamic_slice(ops.constant(values), [self.device], [1])
                self.tables[key] = ops.reshape(own, ())
        return self.tables[key]

    def places(self, starts: np.ndarray, length: int) -> ir.Value:
        """The elements that a part of `length` has in one dimension, int64."""
        own = ops.broadcast_in_dim(self.table(starts), (length,), ())
        return ops.add(ops.iota((length,), np.int64, 0), own)

    def window(self, x: ir.Value, dimension: int, offsets: np.ndarray, length: int, active: np.ndarray) -> ir.Value:
        """Elements [offset, offset + length) of one dimension of `x`; of what is not there, anything. What devices get
        that are not `active` does not matter."""
        extent, shape = shape_of(x)[dimension], shape_of(x)
        wanted = offsets[active]
        if not wanted.size or not extent:
            return self.nothing(shape[:dimension] + (length,) + shape[dimension + 1:], dtype_of(x))
        low, high = int(wanted.min()), int(wanted.max())
        if low == high:
            begin, end = min(max(low, 0), extent), max(min(low + length, extent), 0)
            if end <= begin:
                return self.nothing(shape[:dimension] + (length,) + shape[dimension + 1:], dtype_of(x))
            x = cut(x, dimension, begin, end)
            return padded(x, dimension, begin - low, low + length - end)
        before, behind = max(-low, 0), max(high + length - extent, 0)
        x = padded(x, dimension, before, behind)
        zero = ops.constant(0, np.int64)
        starts = [self.table(np.where(active, offsets, low) + before) if d == dimension else zero
                  for d in range(len(shape))]
        return ops.dynamic_slice(x, starts, shape[:dimension] + (length,) + shape[dimension + 1:])

    def nothing(self, shape: Sequence[int], dtype: np.dtype) -> ir.Value:
        """An array that nobody reads."""
        return ops.constant(anything(dtype), dtype, tuple(shape))

    # ---- collectives ---------------------------------------------------------------------------------------------

    def _handle(self) -> ir.Attribute:
        self.channel += 1
        return attr.parse(f"#stablehlo.channel_handle<handle = {self.channel}, type = 1>")

    def groups(self, axes: Sequence[str]) -> np.ndarray:
        """The devices that differ along some axes only: (groups, devices of each in the order of the axes)."""
        numbers = np.arange(self.mesh.devices).reshape(self.mesh.sizes)
        own = [self.mesh.names.index(a) for a in axes]
        others = [d for d in range(numbers.ndim) if d not in own]
        return numbers.transpose(*others, *own).reshape(-1, self.mesh.size(tuple(axes)))

    def permute(self, x: ir.Value, pairs: Sequence[tuple[int, int]]) -> ir.Value:
        """What the source of each (source, target) has, on the target; zeros where nothing comes."""
        return creation.create(
            "stablehlo.collective_permute", [x.type], [x],
            {"source_target_pairs": attr.integer_matrix(tuple(pairs)), "channel_handle": self._handle()}).result

    def gather(self, x: ir.Value, dimension: int, axes: Sequence[str]) -> ir.Value:
        """The parts of all devices along some axes, one after the other."""
        shape, dtype = shape_and_dtype(x.type)
        if dimension and set(shape[:dimension]) == {1}:     # XLA:CPU (0.10.2) cannot transform what lies otherwise
            found = self.gather(ops.reshape(x, shape[dimension:]), 0, axes)
            return ops.reshape(found, shape[:dimension] + shape_of(found))
        shape = tuple(n * self.mesh.size(tuple(axes)) if d == dimension else n for d, n in enumerate(shape))
        return creation.create(
            "stablehlo.all_gather", [tensor_type(shape, dtype)], [x],
            {"all_gather_dim": attr.integer(dimension), "channel_handle": self._handle(),
             "use_global_device_ids": attr.parse("unit"),
             "replica_groups": attr.integer_matrix(tuple(map(tuple, self.groups(axes).tolist())))}).result

    def transposed(self, x: ir.Value, axes: Sequence[str], split: int, joined: int) -> ir.Value:
        """`all_to_all`: devices along some axes get one part each of dimension `split`, of all parts of `joined`."""
        shape, count = list(shape_of(x)), self.mesh.size(tuple(axes))
        shape[split] //= count
        shape[joined] *= count
        return creation.create(
            "stablehlo.all_to_all", [tensor_type(tuple(shape), dtype_of(x))], [x],
            {"split_dimension": attr.integer(split), "concat_dimension": attr.integer(joined),
             "split_count": attr.integer(count), "channel_handle": self._handle(),
             "replica_groups": attr.integer_matrix(tuple(map(tuple, self.groups(axes).tolist())))}).result

    def combined(self, x: ir.Value, name: str, axes: Sequence[str]) -> ir.Value:
        """`all_reduce` by the op of StableHLO called `name`."""
        op = creation.create(
            "stablehlo.all_reduce", [x.type], [x],
            {"channel_handle": self._handle(), "use_global_device_ids": attr.parse("unit"),
             "replica_groups": attr.integer_matrix(tuple(map(tuple, self.groups(axes).tolist())))}, 1)
        scalar = tensor_type((), dtype_of(x))
        ops.fill_region(op.regions[0], [scalar, scalar], lambda a, b: [
            creation.create(f"stablehlo.{name}", [scalar], [a, b]).result])
        return op.results[0]

    def united(self, x: ir.Value, own: ir.Value, axes: Sequence[str]) -> ir.Value:
        """What devices have of an array, each element of which one of them has (`own`): as bits, of which the others
        add none."""
        dtype = dtype_of(x)
        if dtype.kind == "c":
            return ops.complex(*(self.united(part, own, axes) for part in (ops.real(x), ops.imag(x))))
        bits = np.dtype(f"u{dtype.itemsize}")
        given = ops.convert(x, bits) if dtype.kind == "b" else ops.bitcast_convert(x, bits)
        found = self.combined(ops.select(own, given, ops.constant(0, bits, shape_of(x))), "add", axes)
        return ops.convert(found, bool) if dtype.kind == "b" else ops.bitcast_convert(found, dtype)


def between(place: ir.Value, low: ir.Value | int, high: ir.Value | int) -> ir.Value:
    """Which elements of a vector of places lie in [low, high), numbers or values of shape ()."""
    low, high = (ops.broadcast_in_dim(x, shape_of(place), ()) if isinstance(x, ir.Value) else x for x in (low, high))
    return ops.and_(ops.compare(place, low, "GE"), ops.compare(place, high, "LT"))


def cut(x: ir.Value, dimension: int, begin: int, end: int) -> ir.Value:
    """Elements [begin, end) of one dimension."""
    shape = shape_of(x)
    if (begin, end) == (0, shape[dimension]):
        return x
    return ops.slice(x, [begin if d == dimension else 0 for d in range(len(shape))],
                     [end if d == dimension else n for d, n in enumerate(shape)])


def padded(x: ir.Value, dimension: int, low: int, high: int) -> ir.Value:
    """Room before and behind one dimension, in which is anything."""
    if not low and not high:
        return x
    rank = len(shape_of(x))
    filler = ops.constant(anything(dtype_of(x)), dtype_of(x), ())
    return ops.pad(x, filler, [low if d == dimension else 0 for d in range(rank)],
                   [high if d == dimension else 0 for d in range(rank)], [0] * rank)
