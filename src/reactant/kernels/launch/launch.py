"""What one launch does inside a traced function.

`kernel[grid, block](*arrays)` inside a compiled function reads the arrays' memories, puts in what the kernel became
(`dispatch`), and writes the memories it changed, as any in-place NumPy operation would.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reactant.errors import ConstantWriteError
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import SCALAR, Tensor
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source import source_map
from reactant.ir import ops
from reactant.kernels.form.record import Dim3, KernelRecord
from reactant.kernels.launch import dispatch
from reactant.kernels.launch.arguments import structs
from reactant.kernels.launch.building import WayIn, build, changed_structs
from reactant.kernels.launch.memories import Memory
from reactant.kernels.launch.memory import Binding, StructChanged, bind
from reactant.support.records import dataclass
from reactant.support.session import SESSION


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched, and how it is to be lowered."""

    grid: Dim3
    block: Dim3
    dynamic_shared: int = 0
    lower: str = "auto"
    check: bool = False
    guarded: bool = False
    """Of integers that constants would have been checked with, the program gets some: it checks accesses."""
    tune: bool = False
    """Outside compiled functions it is measured in several ways, and the fastest is remembered."""
    rewrite: Callable[[KernelRecord], KernelRecord] | None = None
    """What is done to the record, whose arguments and results stay as they are, before it is lowered."""


def launch_in_trace(way_in: WayIn, launch: Launch, given: Sequence[Any], alone: bool = False) -> Any:
    """Put a launch into the program being traced; gives what the function returns (C functions only). `alone`: the
    program is nothing but this launch, and `StructChanged` goes to who makes it."""
    with source_map.location():
        try:
            binding = bound(way_in, launch, given)
        except StructChanged:
            if alone:
                raise
            raise ConstantWriteError(f"a struct that the kernel '{way_in.name}' writes into (pass the array that it is "
                                     f"an element of to the compiled function)") from None
        result = with_result(way_in, binding)
        held = [m.read() for m in binding.memories]
        record, lowering = lowered(way_in, launch, binding)
        if SESSION.followed is not None:
            SESSION.followed.update(getattr(way_in, "followed", ()))
        if lowering.chosen is not None:
            lowering = lowering.chosen(tuple(dispatch.is_argument(v) for v in held), dispatch.in_a_loop())
        current_trace().remarks.append(str(lowering))
        values = [*held, *binding.values]
        written = [m for m, b in zip(binding.memories, record.buffers, strict=True) if b.written]
        for memory in written:
            try:
                memory.require_writeable()
            except ConstantWriteError:
                if memory.name not in {v.name for v in getattr(way_in, "variables", ())}:
                    raise
                raise ConstantWriteError(
                    f"the variable '{memory.name}' of the kernel '{way_in.name}' (to give it an array instead: "
                    f"{way_in.name}[grid, block](..., {memory.name}={memory.name}))") from None
        for memory, value in zip(written, lowering.emit(values), strict=True):
            memory.write(value)
        return None if result is None else Tensor.of_value(ops.reshape(result.tensor.value(), ()), SCALAR)


def bound(way_in: WayIn, launch: Launch, given: Sequence[Any]) -> Binding:
    """The arguments of a launch. To Numba structs are memory, which kernels may change; where they don't, the numbers
    in it are better known."""
    names = parameter_names(way_in)
    tables: frozenset[int] = way_in.pointer_tables
    binding = bind(given, names, tables=tables)
    if way_in.frontend != "numba" or not structs(binding.arguments):
        return binding
    key = (way_in, launch, binding.arguments, binding.buffers(), tuple(binding.scalars))
    changed = _changed.get(key)
    if changed is None:
        changed = _changed.setdefault(key, changed_structs(way_in, *key[2:], launch.grid, launch.block,
                                                           launch.dynamic_shared))
    return bind(given, names, changed, tables) if changed else binding


_changed: dict[tuple, frozenset[int]] = {}


def parameter_names(way_in: WayIn) -> tuple[str, ...]:
    return tuple(getattr(way_in, "names", ()))


def with_result(way_in: WayIn, binding: Binding) -> Memory | None:
    """Memory for what the function returns, as the last buffer."""
    dtype = getattr(way_in, "result", None)
    if dtype is None:
        return None
    tensor = Tensor(Storage((1,), dtype, data=np.zeros(1, dtype)))
    memory = Memory(tensor, "result", (0,), (1,), np.dtype(dtype))
    binding.memories.append(memory)
    return memory


_lowered: dict[tuple, tuple[KernelRecord, dispatch.Lowering]] = {}


def lowered(way_in: WayIn, launch: Launch, binding: Binding) -> tuple[KernelRecord, dispatch.Lowering]:
    """The record of a launch and what it becomes; compiled once for each description of arguments."""
    differentiated = SESSION.differentiating > 0 or current_trace().spread     # native code needs whole arrays
    place = dispatch.place_of(getattr(current_trace().options, "target", None))
    key = (way_in, launch, binding.arguments, binding.buffers(), tuple(binding.scalars), differentiated, place)
    found = _lowered.get(key)
    if found is None:
        record = record_of(way_in, launch, binding)
        found = _lowered.setdefault(key, (record, dispatch.lower(record, launch.lower, launch.check, differentiated,
                                                                place, launch.guarded)))
    return found


def record_of(way_in: WayIn, launch: Launch, binding: Binding) -> KernelRecord:
    """The record of a launch."""
    made = build(way_in, binding.arguments, binding.buffers(), tuple(binding.scalars), launch.grid, launch.block,
                 launch.dynamic_shared, launch.check)
    return made if launch.rewrite is None else launch.rewrite(made)
