"""Bounds of integers in a control-flow graph: of the counters of loops with a constant number of iterations, of places
in the launch, and of sums and products of them."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.kernels.form.bases import constant_of
from reactant.kernels.form.build import NAMES, NEGATED
from reactant.kernels.form.rebuild import Edge, edges, terminator_of

Bounds = tuple[int, int]
DEPTH = 12
"""Operations of which one integer is made."""


def counters_of(blocks: list[ir.Block]) -> dict[ir.Value, Bounds]:
    """What each parameter of a block that counts from a constant, by a constant, up to a constant, can be."""
    incoming: dict[ir.Value, list[tuple[ir.Operation, Edge, ir.Value]]] = {}
    for block in blocks:
        end = terminator_of(block)
        for edge in edges(blocks, end):
            for parameter, value in zip(blocks[edge.target].arguments, edge.values, strict=True):
                if isinstance(parameter.type, (ir.IntegerType, ir.IndexType)):
                    incoming.setdefault(parameter, []).append((end, edge, value))
    found = {parameter: _counter(parameter, ways) for parameter, ways in incoming.items()}
    return {parameter: bounds for parameter, bounds in found.items() if bounds is not None}


def _counter(parameter: ir.Value, ways: list[tuple[ir.Operation, Edge, ir.Value]]) -> Bounds | None:
    starts = [constant for _, _, v in ways if (constant := constant_of(v)) is not None]
    again = [way for way in ways if constant_of(way[2]) is None]
    if starts and not again:
        return min(starts), max(starts)                   # a loop of two iterations, and what branches choose
    if not starts or len(again) != 1:
        return None
    end, edge, following = again[0]
    step = _step(parameter, following)
    test = end.operands[0].owner if end.name == "cf.cond_br" else None
    if not step or test is None or isinstance(test, ir.Block) or test.name != "arith.cmpi":
        return None
    limit = constant_of(test.operands[1])
    compared = test.operands[0]
    if limit is None or compared not in (parameter, following):
        return None
    predicate = NAMES[ir.IntegerAttr(test.attributes["predicate"]).value]
    predicate = predicate if edge.case == 1 else NEGATED[predicate]
    low, high = min(starts), max(starts)
    if predicate.startswith("u") and (limit < 0 or low < 0):
        return None
    ahead = 0 if compared == following else step           # of the value that is compared, when the loop goes on
    if predicate == "ne" and low == high and (limit - low) % step == 0 and (limit - low) // step > 0:
        last = limit - step + ahead
        return min(low, last), max(low, last)
    if step > 0 and predicate[1:] in ("lt", "le"):
        return low, max(high, limit - (predicate[1:] == "lt") + ahead)
    if step < 0 and predicate[1:] in ("gt", "ge") and predicate.startswith("s"):
        return min(low, limit + (predicate[1:] == "gt") + ahead), high
    return None


def _step(parameter: ir.Value, following: ir.Value) -> int | None:
    """What an iteration adds, where it cannot wrap."""
    owner = following.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.addi" or owner.operands[0] != parameter:
        return None
    exact = isinstance(parameter.type, ir.IndexType) or "nsw" in str(owner.attributes["overflowFlags"])
    return constant_of(owner.operands[1]) if exact else None


def bounds_of(value: ir.Value, counters: dict[ir.Value, Bounds], block: tuple[int, ...] = (),
              grid: tuple[int, ...] = (), depth: int = DEPTH) -> Bounds | None:
    """What an integer can be."""
    constant = constant_of(value)
    if constant is not None:
        return constant, constant
    if value in counters:
        return counters[value]
    owner = value.owner
    if isinstance(owner, ir.Block) or not depth:
        return None
    if owner.name in ("gpu.thread_id", "gpu.block_id"):
        sizes = block if owner.name == "gpu.thread_id" else grid
        axis = "xyz".index(str(owner.attributes["dimension"])[-2])
        return (0, sizes[axis] - 1) if sizes else None
    parts = [bounds_of(v, counters, block, grid, depth - 1) for v in owner.operands]
    if None in parts:
        return None
    known = [part for part in parts if part is not None]
    if owner.name in ("arith.index_cast", "arith.extsi") or owner.name == "arith.extui" and known[0][0] >= 0:
        return known[0]
    if owner.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    (a, b), (c, d) = known
    ends = {"arith.addi": (a + c, b + d), "arith.subi": (a - d, b - c),
            "arith.muli": (min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d))}[owner.name]
    width = 64 if isinstance(value.type, ir.IndexType) else value.type.width
    return ends if -1 << (width - 1) <= ends[0] and ends[1] < 1 << (width - 1) else None
