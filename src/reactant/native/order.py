"""In which order loops run over the threads of a block: along rows of what they access.

On a GPU neighbours in x access neighbouring numbers; kernels in Python often have x along the first dimension of
arrays.
"""
from __future__ import annotations

from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.native.place import Launch

Strides: TypeAlias = "dict[tuple[ir.Value, int], int | None]"
_SAME = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
_LOOPS = ("scf.for", "scf.while")
IN_A_LOOP = 8
"""Iterations that a loop is taken to make."""
VECTOR = 8
"""Threads that a row should have."""


def loop_order(launch: Launch) -> tuple[int, int, int]:
    """Dimensions of the block, the innermost loop first: x, unless more accesses go along rows in another one."""
    strides: Strides = {}
    gains = [0.0, 0.0, 0.0]

    def visit(op: ir.Operation, weight: float) -> None:
        for region in op.regions:
            for block in region:
                for each in block.operations:
                    inner = each.operation
                    if inner.name in ("memref.load", "memref.store"):
                        index = list(inner.operands)[1 if inner.name == "memref.load" else 2:]
                        if len(index) == 1:
                            for d in range(3):
                                gains[d] += weight * _gain(stride_of(index[0], d, strides))
                    visit(inner, weight * (IN_A_LOOP if inner.name in _LOOPS else 1))
    visit(launch.op, 1.0)
    wide = [d for d in range(3) if launch.block[d] > 1]
    best = max(wide, key=lambda d: (gains[d] * min(launch.block[d], VECTOR), -d), default=0)
    if wide and gains[best] * min(launch.block[best], VECTOR) <= gains[wide[0]] * min(launch.block[wide[0]], VECTOR):
        best = wide[0]
    rest = [d for d in range(3) if d != best]
    return best, rest[0], rest[1]


def _gain(stride: int | None) -> float:
    """What it is worth that neighbours access numbers so far apart."""
    return 0.0 if stride is None else 1.0 if abs(stride) == 1 else 0.5 if stride == 0 else 0.0


def stride_of(value: ir.Value, d: int, known: Strides | None = None, exact: bool = False) -> int | None:
    """How much a number grows from a thread to the next in dimension d; None where that is not the same everywhere.
    exact: also where sums of small integers would wrap."""
    known = {} if known is None else known
    key = value, d
    if key not in known:
        known[key] = _stride_of(value, d, known, exact)
    return known[key]


def _stride_of(value: ir.Value, d: int, known: Strides, exact: bool) -> int | None:
    if isinstance(value.owner, ir.Block):
        return 0
    op = value.owner.operation
    if op.name == "gpu.thread_id":
        return int(attr.enumerator(op.attributes["dimension"]) == "xyz"[d])
    if op.name in ("arith.constant", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim"):
        return 0
    if op.regions or not op.name.startswith("arith."):
        return None
    parts = [stride_of(v, d, known, exact) for v in op.operands]
    if None in parts:
        return None
    numbers = [p for p in parts if p is not None]
    if not any(numbers):
        return 0
    if exact and not _is_exact(op):
        return None
    if op.name in _SAME:
        return numbers[0]
    if op.name in ("arith.addi", "arith.subi"):
        return numbers[0] + (numbers[1] if op.name == "arith.addi" else -numbers[1])
    if op.name == "arith.muli":
        for factor, number in ((op.operands[0], numbers[1]), (op.operands[1], numbers[0])):
            owner = factor.owner
            if not isinstance(owner, ir.Block) and owner.operation.name == "arith.constant":
                return number * int(ir.IntegerAttr(owner.operation.attributes["value"]).value)
    return None


def _is_exact(op: ir.Operation) -> bool:
    """Whether a result cannot wrap: it is said not to, or is a number of the launch in another type."""
    if "overflowFlags" in op.attributes:
        return "nsw" in str(op.attributes["overflowFlags"])
    source = op.operands[0].owner
    return op.name in ("arith.index_cast", "arith.extsi") and not isinstance(source, ir.Block) \
        and (op.name == "arith.extsi" or source.operation.name == "gpu.thread_id")
