"""What a launch becomes: a tensor program, or native code called from the program, and why.

`auto` takes the tensor program where there is one, unless the cost model says that native code is faster here.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.kernels.record import KernelRecord

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


def lower(record: KernelRecord, path: str = "auto", check: bool = False) -> Lowering:
    """The lowering of a record. Raises `UnsupportedError` where the asked path cannot take it, with the reasons."""
    raise UnsupportedError(f"The kernel '{record.name}' cannot be lowered by {path!r}{' with checks' * check}.")
