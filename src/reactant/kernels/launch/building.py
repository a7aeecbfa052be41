"""From a way in, arguments and a launch to a `KernelRecord`."""
from __future__ import annotations

import re
from dataclasses import replace
from typing import Protocol

from reactant.errors import ReactantError
from reactant.ir.context import building as ir_building
from reactant.kernels.form.bases import changed_arguments
from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.record import Buffer, Dim3, KernelRecord, Scalar
from reactant.kernels.launch.arguments import (
    Argument,
    ArrayArgument,
    BytesArgument,
    Operands,
    RecordArgument,
    leaves,
    plain,
    replaced,
    structs,
)
from reactant.kernels.llvm_ir import cleanup
from reactant.kernels.stages.ingest import ingest

MAX_THREADS = 1024
"""Threads of a block, on every GPU there is."""
MAX_SHARED = 227 * 1024
"""Bytes of shared memory that one block may have on the largest GPUs."""


class LaunchError(ReactantError, ValueError):
    """A grid, a block or a shared-memory size that no GPU can launch."""

    code = "kernel-launch"
    hint = "Choose a grid and blocks within the limits of GPUs: kernel[blocks, threads](...)."


class WayIn(Protocol):
    """A kernel as one of the ways in has it."""

    name: str
    frontend: str
    source: str
    line: int

    @property
    def pointer_tables(self) -> frozenset[int]:
        """The parameters that are pointers to pointers."""

    def prepare(self, arguments: tuple[Argument, ...], operands: Operands) -> tuple[str, ...]:
        """Fill in the call of the kernel for these arguments; returns its LLVM modules."""

    def takes_integer(self, path: tuple[int, ...], value: int | None) -> bool:
        """Whether an argument, or an item of a tuple (`path`), may be this integer where it is known only at run time:
        what a constant would be refused for. None: a record."""


def require_launchable(name: str, grid: Dim3, block: Dim3, dynamic_shared: int) -> None:
    """Raises `LaunchError` for what a GPU refuses."""
    threads = block[0] * block[1] * block[2]
    if min(grid) < 1 or min(block) < 1:
        raise LaunchError(f"The kernel '{name}' is launched with grid {grid} and block {block}: sizes are 1 or more.")
    if threads > MAX_THREADS or block[2] > 64:
        raise LaunchError(f"The kernel '{name}' is launched with blocks of {block[0]}x{block[1]}x{block[2]} = "
                          f"{threads} threads; a block has at most {MAX_THREADS}, and at most 64 in z.")
    if grid[0] > 2**31 - 1 or grid[1] > 65535 or grid[2] > 65535:
        raise LaunchError(f"The kernel '{name}' is launched with grid {grid}; the limits are (2147483647, 65535, "
                          "65535).")
    if not 0 <= dynamic_shared <= MAX_SHARED:
        raise LaunchError(f"The kernel '{name}' is launched with {dynamic_shared} bytes of dynamic shared memory; a "
                          f"block has at most {MAX_SHARED}.")


def build(way_in: WayIn, arguments: tuple[Argument, ...], buffers: tuple[Buffer, ...], scalars: tuple[Scalar, ...],
          grid: Dim3, block: Dim3, dynamic_shared: int = 0, check: bool = False) -> KernelRecord:
    """The record of a launch; `check` keeps its assertions.

    Raises `LaunchError`, `KernelArgumentError`, `UnsupportedError`."""
    require_launchable(way_in.name, grid, block, dynamic_shared)
    wrapper = cleanup.Wrapper("")
    operands = Operands(wrapper, buffers, scalars)
    texts = way_in.prepare(arguments, operands)
    entry = "kernel." + re.sub(r"\W", "_", way_in.name)
    text = cleanup.clean(texts, wrapper, entry, grid, block, dynamic_shared, check)
    written = cleanup.written_parameters(text, entry)
    buffers = tuple(replace(b, written=w) for b, w in zip(buffers, written, strict=False))
    made = KernelRecord(way_in.name, entry, text, (*buffers, *scalars), grid, block, dynamic_shared,
                        way_in.frontend, way_in.source, way_in.line)
    return _with_rows_written(made) if any(b.table is not None for b in buffers) else made


def _with_rows_written(record: KernelRecord) -> KernelRecord:
    """LLVM does not see which memory the pointers in a table point into."""
    with ir_building():
        module = ingest(record)
        changed = changed_arguments(module, kernel_of(module))
    rows = {b.table.memory for b in record.buffers if b.table is not None}
    return replace(record, parameters=tuple(
        replace(p, written=p.name in changed) if isinstance(p, Buffer) and p.name in rows else p
        for p in record.parameters))


def changed_structs(way_in: WayIn, arguments: tuple[Argument, ...], buffers: tuple[Buffer, ...],
                    scalars: tuple[Scalar, ...], grid: Dim3, block: Dim3, dynamic_shared: int = 0) -> frozenset[int]:
    """Which leaves are structs that the kernel would write into if it were given their addresses."""
    places = structs(arguments)
    given, memories = list(leaves(arguments)), list(buffers)
    for k in places:
        struct = given[k]
        assert isinstance(struct, (BytesArgument, RecordArgument))
        unit, count = plain(struct.dtype)
        given[k] = ArrayArgument(len(memories), 0, (), (), struct.dtype, element=True)
        memories.append(Buffer(f"struct.{k}", unit, (count,)))
    made = build(way_in, replaced(arguments, iter(given)), tuple(memories), scalars, grid, block, dynamic_shared)
    written = [b.written for b in made.buffers[len(buffers):]]
    return frozenset(k for k, changes in zip(places, written, strict=True) if changes)
