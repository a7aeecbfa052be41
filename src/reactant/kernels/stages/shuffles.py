"""Shuffles of numbers of 64 bits, which GPU code makes of two of 32, as one shuffle of the number."""
from __future__ import annotations

from typing import NamedTuple

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules

HALF = 32


class Half(NamedTuple):
    """One half of a number, and the shuffle that handed it on."""

    shuffle: ir.Operation
    number: ir.Value
    high: bool


def join_shuffles(module: ir.Module) -> ir.Module:
    """Where both halves of an i64 (or of an f64's bits) go through the same shuffle and are put together again, the
    number itself goes through it. Changes and returns the module."""
    for op in list(modules.walk(module)):
        if op.name in ("arith.addi", "arith.ori") and str(op.results[0].type) == "i64":
            halves = [_half(v) for v in op.operands]
            if halves[0] is not None and halves[1] is not None:
                _join(op, *sorted((halves[0], halves[1]), key=lambda half: half.high))
    return module


def _half(value: ir.Value) -> Half | None:
    """What an operand of a sum is the shuffled half of, in its place."""
    wide, moved = value, False
    scaled = _operation(wide, "arith.muli", "arith.shli")
    if scaled is not None:
        if _constant(scaled.operands[1]) != (1 << HALF if scaled.name == "arith.muli" else HALF):
            return None
        wide, moved = scaled.operands[0], True
    extended = _operation(wide, "arith.extui")
    shuffle = None if extended is None else _operation(extended.operands[0], "gpu.shuffle")
    cut = None if shuffle is None else _operation(shuffle.operands[0], "arith.trunci")
    if shuffle is None or cut is None or extended is None or extended.operands[0] != shuffle.results[0] \
            or str(cut.results[0].type) != f"i{HALF}":
        return None
    number = cut.operands[0]
    shifted = _operation(number, "arith.shrui", "arith.shrsi")
    high = shifted is not None and _constant(shifted.operands[1]) == HALF
    if high and shifted is not None:
        number = shifted.operands[0]
    return Half(shuffle, number, high) if high == moved and str(number.type) == "i64" else None


def _join(op: ir.Operation, low: Half, high: Half) -> None:
    if low.high == high.high or low.number != high.number or low.shuffle.block != high.shuffle.block \
            or low.shuffle.attributes["mode"] != high.shuffle.attributes["mode"] \
            or list(low.shuffle.operands)[1:] != list(high.shuffle.operands)[1:]:
        return
    later = next(o for o in reversed([o.operation for o in low.shuffle.block.operations])
                 if o in (low.shuffle, high.shuffle))
    bits = _operation(low.number, "arith.bitcast")
    if bits is not None and str(bits.operands[0].type) != "f64":
        bits = None
    number = low.number if bits is None else bits.operands[0]
    with ir.InsertionPoint(later), later.location:
        made = ir.Operation.create("gpu.shuffle", [number.type, later.results[1].type],
                                   [number, *list(later.operands)[1:]], {"mode": later.attributes["mode"]})
        whole = made.results[0]
        if bits is not None:
            whole = ir.Operation.create("arith.bitcast", [op.results[0].type], [whole]).results[0]
    op.results[0].replace_all_uses_with(whole)
    later.results[1].replace_all_uses_with(made.results[1])      # what asks the earlier one may stand before `made`


def _operation(value: ir.Value, *names: str) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) or owner.operation.name not in names else owner.operation


def _constant(value: ir.Value) -> int | None:
    made = _operation(value, "arith.constant")
    return None if made is None else int(attr.decode(made.attributes["value"]))
