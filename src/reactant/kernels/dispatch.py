"""What a launch becomes: a tensor program, or native code called from the program, and why.

`auto` takes the tensor program where there is one, unless the cost model says that native code is faster here.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxlib.mlir import ir

from reactant import native
from reactant.errors import UnsupportedError
from reactant.ir.context import building
from reactant.kernels.ingest import ingest
from reactant.kernels.pointers import resolve_pointers
from reactant.kernels.record import Buffer, KernelRecord
from reactant.kernels.structured import structure

PATHS = ("auto", "tensor", "native")


@dataclass(frozen=True)
class Lowering:
    """One launch as operations: `emit` takes the values of the record's parameters, in order, and gives the new
    contents of its written buffers, in order.

    path: "tensor" or "native". reasons: why not the other one, line by line.
    """

    name: str
    path: str
    emit: Callable[[list[ir.Value]], list[ir.Value]]
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = {"tensor": "raised to a tensor program", "native": "compiled for the CPU"}[self.path]
        return "\n".join([f"{self.name}: {what}", *(f"  {reason}" for reason in self.reasons)])


def structured_form(record: KernelRecord) -> ir.Module:
    """The kernel of a record in the structured form (`form`)."""
    with building():
        return structure(resolve_pointers(ingest(record)))


def lower(record: KernelRecord, path: str = "auto", check: bool = False) -> Lowering:
    """The lowering of a record. Raises `UnsupportedError` where the asked path cannot take it, with the reasons."""
    if path == "tensor":
        raise UnsupportedError(f"The kernel '{record.name}' cannot be lowered by {path!r}{' with checks' * check}.")
    return _native(record, structured_form(record), ())


def _native(record: KernelRecord, module: ir.Module, reasons: tuple[str, ...]) -> Lowering:
    with building():
        roles = ["inout" if isinstance(p, Buffer) and p.written else "in" for p in record.parameters]
        compiled = native.compile_kernel(module, "kernel", roles=roles)
    return Lowering(record.name, "native", lambda values: compiled.custom_call(values), reasons)
