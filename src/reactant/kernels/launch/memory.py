"""The memory behind the arrays of a launch, inside a traced function.

Every array argument is a view of some storage. All views of one storage are one `Memory`: the kernel gets one pointer,
and its writes are seen through every view, as on a GPU. Offsets and strides are found by showing NumPy the chain of
view steps over an array of that layout whose elements are never touched.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.layouts import row_major_strides
from reactant.frontends.arrays.records import Records
from reactant.frontends.arrays.storage_aliasing import roots_of
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, is_tensor, wrap
from reactant.frontends.arrays.view_steps import DynamicSliceStep, Step
from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.kernels.form.record import Buffer, Scalar
from reactant.kernels.launch.arguments import (
    Argument,
    ArrayArgument,
    BytesArgument,
    KernelArgumentError,
    NumberArgument,
    RecordArgument,
    RowsArgument,
    TupleArgument,
)
from reactant.kernels.launch.memories import Memory, RecordMemory, members, to_plain
from reactant.kernels.launch.pointer_rows import JoinedMemory, TableMemory, joined, table_of
from reactant.support.records import dataclass


@dataclass(frozen=True)
class StridedStep(Step):
    """Any view of a memory, by byte offset and strides. It describes; nothing is ever read through it."""

    offset: int
    shape: tuple[int, ...]
    byte_strides: tuple[int, ...]

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return np.asarray(_Address(parent.__array_interface__["data"][0] + self.offset, self.shape, self.byte_strides))


class _Address:
    """Memory at an address, for NumPy to compute offsets with."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...]):
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "strides": strides,
                                    "typestr": "|u1"}


def seen(root: Any, offset: int, count: int, dtype: np.dtype) -> Tensor:
    """`count` elements of `dtype` from a byte of an array on, to be given to a launch inside a traced function: C's
    pointers say nothing of what the memory was made for. Nothing else may read through it."""
    whole = wrap(root)
    step = StridedStep(offset, (count,), (dtype.itemsize,))
    return Tensor(whole.storage, (*whole.steps, step), dtype=dtype, writeable=whole.writeable)


# ---- from Python objects to arguments --------------------------------------------------------------------------

@dataclass
class Binding:
    """The arguments of one launch: descriptions for the compiler, memories and run-time numbers for the program."""

    arguments: tuple[Argument, ...] = ()
    memories: list[Memory | RecordMemory | JoinedMemory | TableMemory] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)
    values: list[ir.Value] = field(default_factory=list)

    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(m.buffer() for m in self.memories)


@dataclass
class Reference:
    """A struct that the kernel gets by its address: an array of no dimensions."""

    array: Tensor


@dataclass
class ByValue:
    """A struct whose numbers are known only at run time: (offset, number)."""

    dtype: np.dtype
    numbers: tuple[tuple[int, Tensor], ...]


class StructChanged(Exception):
    """A launch writes into structs that are known by value only: the leaves."""

    def __init__(self, places: frozenset[int]):
        super().__init__(places)
        self.places = places


_PYTHON = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def bind(given: Sequence[Any], names: Sequence[str], changed: frozenset[int] = frozenset(),
         tables: frozenset[int] = frozenset()) -> Binding:
    """Describe the arguments of a launch; `changed`: the leaves that are structs the kernel gets by address. tables:
    the arguments that are lists of arrays the kernel finds by addresses in memory.

    Raises `KernelArgumentError` for what no kernel takes, `UnsupportedError` for arrays whose memory cannot be told,
    `StructChanged` where structs that change are no part of a traced array.
    """
    binder = _Binder(_dynamic_storages(given), changed)
    called = [names[i] if i < len(names) else f"argument{i}" for i in range(len(given))]
    binder.binding.arguments = tuple(binder.rows(x, name) if i in tables else binder.bound(x, name)
                                     for i, (x, name) in enumerate(zip(given, called, strict=True)))
    binder.refuse_overlap()
    return binder.binding


def _records_of(x: np.ndarray) -> Records:
    """A structured array from outside the program, as its fields are: constants."""
    fields = {n: _records_of(x[n]) if x.dtype[n].names else wrap(x[n]) for n in x.dtype.names or ()}
    return Records(x.dtype, x.shape, fields)


def _dynamic_storages(given: Sequence[Any]) -> set[int]:
    """Storages that are given more than once: their run-time slices are offsets, not windows."""
    seen: list[int] = []

    def visit(x: Any) -> None:
        if isinstance(x, (tuple, list)) and not is_tensor(x):
            for item in x:
                visit(item)
        elif is_tensor(x):
            seen.append(id(x.storage))
    for x in given:
        visit(x)
    return {s for s in seen if seen.count(s) > 1}


class _Binder:
    def __init__(self, shared: set[int], changed: frozenset[int]):
        self.binding = Binding()
        self.shared = shared
        self.changed, self._leaves = changed, 0
        self._memories: dict[Any, int] = {}

    def bound(self, x: Any, name: str) -> Argument:
        if isinstance(x, (tuple, list)) and not is_tensor(x):
            items = tuple(self.bound(item, f"{name}.{i}") for i, item in enumerate(x))
            return TupleArgument(items, type(x) if hasattr(x, "_fields") else tuple)
        self._leaves += 1
        if isinstance(x, Reference):
            return replace(self.array(x.array, name), element=True)
        if self._leaves - 1 in self.changed:
            return self.changing(x, name)
        if isinstance(x, np.ndarray) and x.dtype.names and not is_tensor(x):
            x = _records_of(x)
        if isinstance(x, Records):
            return self.records(x, name) if x.shape else self.struct(x, name)
        if isinstance(x, np.void):
            return BytesArgument(x.dtype, x.tobytes())
        if isinstance(x, ByValue):
            held = ((at, self.number(number, f"{name}.{at}")) for at, number in x.numbers)
            return RecordArgument(x.dtype, tuple((at, n) for at, n in held if isinstance(n, NumberArgument)))
        if getattr(type(x), "partial", False):
            raise KernelArgumentError(f"The argument '{name}' has a length that only run-time values decide.",
                                      hint=f"Pass a slice whose length is known ({name}[i:i + 8]), or the whole "
                                           "array and the index as a number.")
        if x is None or isinstance(x, (str, bytes, dict)):
            raise KernelArgumentError(f"The argument '{name}' is a {type(x).__name__}.",
                                      hint="Kernels take arrays and numbers.")
        if not is_tensor(x) and isinstance(x, np.generic):
            return NumberArgument(x.dtype, x)
        if not is_tensor(x) and isinstance(x, (bool, int, float, complex)):
            dtype = next(np.dtype(d) for kind, d in _PYTHON.items() if isinstance(x, kind))
            return NumberArgument(dtype, x, python=True)
        tensor = wrap(x)
        return self.array(tensor, name) if tensor.kind == ARRAY else self.number(tensor, name)

    def rows(self, x: Any, name: str) -> Argument:
        """Arrays, or the rows of one, whose addresses the kernel finds in memory."""
        inner = _Binder(self.shared, frozenset())
        items = list(x) if isinstance(x, (tuple, list)) and not is_tensor(x) else None
        if items is None:
            whole = wrap(x) if isinstance(x, np.ndarray) or is_tensor(x) else None
            if whole is None or whole.ndim < 2 or not len(whole):
                return self.bound(x, name)
            of = inner.array(whole, name)
            found = [replace(of, offset=of.offset + i * of.strides[0], shape=of.shape[1:], strides=of.strides[1:])
                     for i in range(of.shape[0])]
        elif not all(isinstance(i, np.ndarray) or is_tensor(i) and wrap(i).kind == ARRAY for i in items) or not items:
            return self.bound(x, name)
        else:
            found = [inner.array(wrap(item), f"{name}.{i}") for i, item in enumerate(items)]
        inner.refuse_overlap()
        if inner.binding.scalars or any(r.gaps or not r.contiguous for r in found):
            raise UnsupportedError(f"An array in the list '{name}' is not contiguous in memory, or a part of one that "
                                   f"only run-time values decide.", code="kernel-argument",
                                   hint=f"Give copies: [np.ascontiguousarray(x) for x in {name}].")
        parts = [m for m in inner.binding.memories if isinstance(m, Memory)]
        memory = joined(parts, self._unique(name))
        self.binding.memories.append(memory)
        table = table_of(parts, found, memory.name, self._unique(f"{name}.rows"))
        self.binding.memories.append(table)
        return RowsArgument(len(self.binding.memories) - 1, tuple(found))

    def records(self, x: Records, name: str) -> ArrayArgument:
        """A structured array: a view of the memory of the whole one."""
        whole = x.whole
        if x.place is None or whole.place is None:
            raise KernelArgumentError(f"The argument '{name}' is a part of a structured array that only run-time "
                                      f"values decide.", hint="Pass the whole array and the index as a number.",
                                      code="kernel-memory-access")
        if whole not in self._memories:
            self._memories[whole] = len(self.binding.memories)
            self.binding.memories.append(RecordMemory(whole, self._unique(name)))
        start, own = (a.__array_interface__["data"][0] for a in (whole.place, x.place))
        return ArrayArgument(self._memories[whole], own - start if x.size else 0, x.place.shape, x.place.strides,
                             x.dtype)

    def changing(self, x: Any, name: str) -> Argument:
        """An element of a structured array into which the kernel writes."""
        if isinstance(x, Records) and x.part is not None and x.place is not None:
            return replace(self.records(x, name), element=True)
        if isinstance(x, Records) and x.part is not None and x.part[0].place is not None:
            return self.element(*x.part, name)
        if isinstance(x, Records):
            raise UnsupportedError(f"The kernel writes into the struct '{name}', which is a copy in compiled code.",
                                   hint="Pass the structured array that it is an element of to the compiled "
                                        "function, and a[i] to the kernel.", code="kernel-memory-access")
        raise StructChanged(self.changed)

    def element(self, whole: Records, index: tuple, name: str) -> Argument:
        """The one at a run-time index."""
        of, place = self.records(whole, name), whole.place
        assert place is not None
        total = ops.constant(0, np.int64)
        for number, extent, stride in zip(index, place.shape, place.strides, strict=True):
            at = ops.convert(wrap(number).value(), np.int64)
            at = ops.select(ops.compare(at, 0, "LT"), ops.add(at, extent), at)
            at = ops.minimum(ops.maximum(at, 0), extent - 1)
            total = ops.add(total, ops.multiply(at, stride))
        scalar = len(self.binding.scalars)
        self._scalar(total, f"{name}.offset")
        return replace(of, shape=(), strides=(), moving=scalar, element=True)

    def struct(self, x: Records, name: str) -> Argument:
        """An element of a structured array, by value."""
        found: list[tuple[int, NumberArgument]] = []
        for member, tensor in members(x):
            for k in range(member.count):
                one = tensor if not tensor.shape else tensor.reshape(-1)[k]
                number = self.bound(one, f"{name}.{member.name}")
                assert isinstance(number, NumberArgument)
                kind = member.dtype
                half = np.dtype(f"f{kind.itemsize // 2}") if kind.kind == "c" else kind
                for part in range(2 if kind.kind == "c" else 1):
                    value = number.value if half is kind or number.value is None else \
                        (number.value.real, number.value.imag)[part]
                    scalar = None if number.scalar is None else number.scalar + part
                    found.append((member.offset + k * kind.itemsize + part * half.itemsize,
                                  NumberArgument(half, value, scalar)))
        return RecordArgument(x.dtype, tuple(found))

    def number(self, tensor: Tensor, name: str) -> Argument:
        python = tensor.kind == PYTHON
        if tensor.is_concrete():
            return NumberArgument(tensor.dtype, tensor.numpy().reshape(())[()], python=python)
        place = len(self.binding.scalars)
        self._scalar(tensor.value(), name)
        return NumberArgument(tensor.dtype, scalar=place, python=python)

    def _scalar(self, value: ir.Value, name: str) -> None:
        dtype = dtype_of(value)
        if dtype.kind == "c":
            self._scalar(ops.real(value), f"{name}.real")
            self._scalar(ops.imag(value), f"{name}.imag")
            return
        value = to_plain(value)
        self.binding.scalars.append(Scalar(self._unique(name), dtype_of(value)))
        self.binding.values.append(value)

    def array(self, tensor: Tensor, name: str) -> ArrayArgument:
        base, rest, moving = self._base_of(tensor)
        key = (tensor.storage, base.steps)
        if key not in self._memories:
            self._memories[key] = len(self.binding.memories)
            self.binding.memories.append(_memory(base, self._unique(name)))
        place = self._memories[key]
        memory = self.binding.memories[place]
        assert isinstance(memory, Memory)
        memory.writeable = memory.writeable and bool(tensor.writeable)
        offset, shape, strides, starts = _seen(memory, base, rest)
        scalar = None
        if moving:
            scalar = len(self.binding.scalars)
            total = starts[0]
            for start in starts[1:]:
                total = ops.add(total, start)
            self._scalar(total, f"{name}.offset")
        return ArrayArgument(place, offset, shape, strides, tensor.dtype, bool(tensor.writeable), scalar, memory.gaps)

    def _base_of(self, tensor: Tensor) -> tuple[Tensor, tuple, bool]:
        """(the tensor that is the memory, the steps from it to the argument, whether they depend on run time)."""
        steps = tensor.steps
        last = max((i for i, s in enumerate(steps) if isinstance(s, DynamicSliceStep)), default=-1)
        if last >= 0 and id(tensor.storage) not in self.shared:
            return Tensor(tensor.storage, steps[:last + 1], writeable=tensor.writeable), steps[last + 1:], False
        return Tensor(tensor.storage, ()), steps, last >= 0

    def _unique(self, name: str) -> str:
        taken = {m.name for m in self.binding.memories} | {s.name for s in self.binding.scalars}
        return name if name not in taken else next(n for i in range(2, 999) if (n := f"{name}.{i}") not in taken)

    def refuse_overlap(self) -> None:
        """Two memories that may be the same array in a way only run-time values decide cannot be two pointers."""
        memories = self.binding.memories
        for i, first in enumerate(memories):
            for second in memories[i + 1:]:
                if any(roots_of(a) & roots_of(b) for a in first.storages for b in second.storages):
                    raise UnsupportedError(f"The arguments '{first.name}' and '{second.name}' of the kernel may be "
                                           "the same array, which only run-time values decide.",
                                           hint="Pass a copy of the one that the kernel only reads.",
                                           code="kernel-arguments-alias")


def _memory(base: Tensor, name: str) -> Memory:
    layout = base.storage.layout if not base.steps else None
    order = tuple(range(base.ndim))
    gaps = False
    if layout is not None and layout != row_major_strides(base.shape):
        order = tuple(int(i) for i in np.argsort([-abs(s) for s in layout], kind="stable"))
        compact = row_major_strides(tuple(base.shape[i] for i in order))
        if any(layout[d] != c and base.shape[d] > 1 for d, c in zip(order, compact, strict=True)):
            order, gaps = tuple(range(base.ndim)), True
    return Memory(base, name, order, tuple(base.shape[i] for i in order), np.dtype(base.storage.dtype), gaps)


def _seen(memory: Memory, base: Tensor, steps: tuple) -> tuple[int, tuple[int, ...], tuple[int, ...], list[ir.Value]]:
    """Byte offset, shape and byte strides of the view that `steps` make of a memory; run-time offsets in bytes."""
    strides = [0] * base.ndim
    for d, s in zip(memory.order, row_major_strides(memory.shape), strict=True):
        strides[d] = s * memory.dtype.itemsize
    view = start = np.lib.stride_tricks.as_strided(np.empty(1, memory.dtype), base.shape, strides)
    moved: list[ir.Value] = []
    for step in steps:
        if isinstance(step, DynamicSliceStep):
            for index, stride in zip(step.starts, view.strides, strict=True):
                value = ops.constant(index, np.int64) if isinstance(index, int) else index
                moved.append(ops.multiply(value, ops.constant(stride, np.int64)))
            view = np.lib.stride_tricks.as_strided(view, step.shape, view.strides)
        else:
            view = step.numpy(view)
    offset = view.__array_interface__["data"][0] - start.__array_interface__["data"][0] if view.size else 0
    return offset, view.shape, view.strides, moved
