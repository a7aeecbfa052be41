"""How many bits the numbers that an index is made of are cut to.

LLVM's vectoriser may assume that such a number does not wrap around, and check that before the loop. From 20 to 22 it
takes an assumption about a wide number for one about a narrow number (llvm-project issue 191382): of a loop that is
said to be parallel, the check is then missing, and x[(unsigned)(2 * i - (i & 3))] becomes vectors of neighbours.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxlib.mlir import ir

Found = dict[ir.Value, frozenset[int]]
_ARITHMETIC = ("arith.addi", "arith.subi", "arith.muli", "arith.shli")
_EXTENDING = ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui")
_NONE: frozenset[int] = frozenset()


def differ(indices: Iterable[ir.Value], found: Found) -> bool:
    """Whether they are made of numbers of several widths. found: widths of values, which is added to."""
    return len(_NONE.union(*(widths(v, found) for v in indices))) > 1


def widths(value: ir.Value, found: Found) -> frozenset[int]:
    """Bits that what a value is made of is cut to, where that may change it."""
    if value not in found:
        found[value] = _NONE        # what a loop carries is made of itself
        found[value] = _cut_here(value).union(*(widths(v, found) for v in _sources(value)))
    return found[value]


def _sources(value: ir.Value) -> Iterator[ir.Value]:
    owner = value.owner
    if isinstance(owner, ir.Block):
        loop = owner.owner
        if loop.name == "scf.for" and (number := list(owner.arguments).index(value)):
            yield loop.operands[2 + number]
            yield owner.operations[len(owner.operations) - 1].operands[number - 1]
    elif owner.name.startswith("arith."):
        yield from owner.operands
    elif owner.name in ("scf.if", "scf.for", "scf.while"):
        for region in owner.regions:
            for block in region:
                yield from block.operations[len(block.operations) - 1].operands


def _cut_here(value: ir.Value) -> frozenset[int]:
    op = value.owner
    if isinstance(op, ir.Block):
        return _NONE
    if op.name == "arith.trunci":
        return frozenset((value.type.width,))
    if op.name in _EXTENDING and isinstance(kind := op.operands[0].type, ir.IntegerType):
        inner = op.operands[0].owner
        return frozenset((kind.width,)) if not isinstance(inner, ir.Block) and inner.name in _ARITHMETIC else _NONE
    if op.name in ("arith.andi", "arith.remui", "arith.remsi"):
        number = _constant(op.operands[1])
        if number is not None:
            last = number if op.name == "arith.andi" else number - 1
            if last > 0 and last & (last + 1) == 0:
                return frozenset((last.bit_length(),))
    return _NONE


def _constant(value: ir.Value) -> int | None:
    op = value.owner
    if isinstance(op, ir.Block) or op.name != "arith.constant":
        return None
    return ir.IntegerAttr(op.attributes["value"]).value
