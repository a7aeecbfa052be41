"""An estimate of the time of a tensor program: what XLA computes, moves and launches after the optimiser.

Every operation counts its elements (in units of 8 bytes) towards one kind of work, and each kind has a rate.
Elementwise work is fused and costs little; where rows are short (`NARROW`), the loops that XLA makes of them cost
several times as much. What is moved to other places (transposed, gathered, joined) is memory traffic. Loops that native
code takes (`loopnests`) cost what they compute; the others pay for every operation of every turn.

The rates were fitted to the times of 69 launches of 0.1 ms and more (`benchmarks/kernels.py`, kernels of the CUDA
samples, Rodinia and Parboil; two cores, jax 0.10.2): half of the estimates are within a factor 1.6, nine in ten
within 3.
"""
from __future__ import annotations

from collections import defaultdict

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.ir.induction import trips
from reactant.ir.types import dtype_of, shape_of, size
from reactant.loopnests.supported import compiles, product_extents

RATES = {
    "elementwise": 0.01, "broadcast": 0.007, "convert": 0.02, "slice": 0.02, "joined": 0.045, "reverse": 0.05,
    "division": 0.05, "function": 0.24, "reduce": 0.03, "transpose": 0.33, "gather": 0.27, "scatter": 0.8,
    "update": 0.37, "window": 1.0, "sort": 20.0, "dot": 0.013, "narrow dot": 0.25, "dot moved": 0.43, "line": 6.0,
    "elementwise narrow": 0.1, "broadcast narrow": 0.014, "slice narrow": 0.1, "joined narrow": 0.39,
    "division narrow": 0.12, "reduce narrow": 0.075,
    "elementwise native": 0.003, "broadcast native": 0.0034, "convert native": 0.006, "slice native": 0.005,
    "joined native": 0.07, "reverse native": 0.1, "division native": 0.05, "function native": 0.19,
    "reduce native": 0.027, "transpose native": 0.11, "gather native": 0.02, "scatter native": 0.34,
    "update native": 0.4, "op native": 0.6, "turn native": 12.0,
    "op loop": 200.0, "turn loop": 1000.0,
    "result": 0.09, "op": 3000.0, "fused op": 250.0, "launch": 10_000.0,
}
"""Nanoseconds for one of each kind; "result": a byte of the results. Kinds end in " native" in loops that native code
takes, in " loop" in others (there, work that is not listed costs what it does outside)."""
KINDS = {
    "slice": "slice", "dynamic_slice": "slice", "pad": "joined", "concatenate": "joined", "transpose": "transpose",
    "gather": "gather", "reverse": "reverse", "sort": "sort", "broadcast_in_dim": "broadcast", "convert": "convert",
    "divide": "division", "remainder": "division", "sqrt": "division", "rsqrt": "division",
    **dict.fromkeys(("exponential", "log", "power", "sine", "cosine", "tanh", "atan2", "log_plus_one", "tan", "cbrt",
                     "exponential_minus_one", "logistic", "erf"), "function")}
"""Of operations that make one array; what is not here is elementwise."""
FREE = {"constant", "reshape", "iota", "return", "bitcast_convert"}
NARROW = 64
"""Numbers of a row up to which rows are short."""
COLUMN = 4
"""Numbers of a row up to which every one is a cache line of its own in a larger array."""
LARGE = 1 << 10
"""Elements from which a fused operation is likely to be computed in more than one fusion."""
UNKNOWN_TURNS = 64
DIVERGENT = 2
"""Turns of the longest thread over those of the average one."""


def tensor_seconds(module: ir.Module) -> float:
    """An estimate for a module's main."""
    work: dict[str, float] = defaultdict(float, launch=1)
    block = modules.function(module).regions[0].blocks[0]
    _add_block(block, work, 1, "")
    end = block.operations[-1]
    work["result"] += sum(size(shape_of(v)) * dtype_of(v).itemsize for v in end.operation.operands)
    return 1e-9 * sum(RATES.get(kind, RATES.get(kind.split(" ")[0], 0)) * count for kind, count in work.items())


def _add_block(block: ir.Block, work: dict[str, float], turns: float, where: str) -> None:
    for each in block.operations:
        op = each.operation
        name = op.name.removeprefix("stablehlo.")
        if name == "while":
            inside = " native" if compiles(op) else " loop"
            more = turns * _turns_of(op)
            work["turn" + inside] += more
            for region in op.regions:
                _add_block(region.blocks[0], work, more, inside)
        elif name in ("if", "case"):
            dearest: dict[str, float] = {}
            for region in op.regions:
                side: dict[str, float] = defaultdict(float)
                _add_block(region.blocks[0], side, turns, where)
                dearest = max(dearest, side, key=lambda s: sum(s.values()))
            for kind, count in dearest.items():
                work[kind] += count
        elif name not in FREE and len(op.results) and isinstance(op.results[0].type, ir.RankedTensorType):
            if where or not _is_fused(name):
                work["op" + where] += turns
            elif size(shape_of(op.results[0])) > LARGE:
                work["fused op"] += 1
            for kind, count in _work_of(op, name, where):
                work[kind if kind == "line" else kind + where] += turns * count


def _work_of(op: ir.Operation, name: str, where: str) -> list[tuple[str, float]]:
    """(kind, how much) of one operation."""
    result = op.results[0]
    shape, unit = shape_of(result), dtype_of(result).itemsize / 8
    if name == "reduce":
        taken = shape_of(op.operands[0])
        return [("reduce narrow" if not where and taken and taken[-1] <= NARROW else "reduce", size(taken) * unit)]
    if name == "reduce_window":
        return [("window", size(shape_of(op.operands[0])))]
    if name == "scatter":
        return [("scatter", size(shape_of(op.operands[-1])))]
    if name == "dot_general":
        batch, rows, columns, depth = product_extents(op)
        narrow = min(rows, columns) <= 8 or depth <= 8
        moved = size(shape) + sum(size(shape_of(v)) for v in op.operands)
        return [("narrow dot" if narrow else "dot", batch * rows * columns * depth * unit), ("dot moved", moved * unit)]
    part = shape_of(op.operands[1]) if name == "dynamic_update_slice" else shape
    if name in ("dynamic_slice", "dynamic_update_slice") and part and size(part) > NARROW and part[-1] <= COLUMN \
            and shape_of(op.operands[0])[-1] > NARROW:
        return [("line", size(part))]
    if name == "dynamic_update_slice":
        return [("update", size(part) * unit)]
    kind = KINDS.get(name, "elementwise")
    if kind == "transpose" and all(use.owner.operation.name == "stablehlo.reduce" for use in result.uses):
        return []       # a reduction along another dimension
    if not where and len(shape) > 1 and shape[-1] <= NARROW and f"{kind} narrow" in RATES:
        kind += " narrow"
    return [(kind, size(shape) * (1 if kind in ("gather", "sort") else unit))]


def _is_fused(name: str) -> bool:
    """Whether an operation is no launch of its own."""
    return KINDS.get(name, "elementwise") in _FUSED and name not in _ALONE


_ALONE = ("reduce", "scatter", "dot_general", "reduce_window", "dynamic_update_slice")
_FUSED = ("elementwise", "broadcast", "convert", "slice", "division", "function", "reverse")


def _turns_of(loop: ir.Operation) -> float:
    """Turns of a loop; where data decide, it goes on until the last of many threads is done."""
    known = trips(loop)
    return UNKNOWN_TURNS * DIVERGENT if known is None else known.most
