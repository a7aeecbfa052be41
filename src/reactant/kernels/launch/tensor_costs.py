"""An estimate of the time of a tensor program: what XLA computes, moves and launches after the optimiser.

Every operation counts its elements (in units of 8 bytes) towards one kind of work, and each kind has a rate.
Elementwise work is fused and costs little; where rows are short (`NARROW`), the loops that XLA makes of them cost
several times as much. What is moved to other places (transposed, gathered, joined) is memory traffic. Loops that native
code takes (`loopnests`) cost what they compute; the others pay for every operation of every iteration.

The rates were fitted, with those of native code (`costs`), to the better path of one half of the programs of
`benchmarks/kernel_choice.py` (91 sizes of them; two cores, jax 0.10.2), pulled to what single operations were measured
at. Of 120 sizes of all of them that were measured later, half of the estimates are within a factor 1.9.
"""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.ir.induction import trips
from reactant.ir.types import dtype_of, nbytes, shape_of, size
from reactant.kernels.launch.dry_run import DIVERGENT, UNKNOWN_ITERATIONS
from reactant.loopnests.emission.supported import compiles, product_extents

RATES = {
    "elementwise": 0.0098, "broadcast": 0.0062, "convert": 0.02, "slice": 0.017, "joined": 0.046, "reverse": 0.05,
    "division": 0.044, "function": 0.23, "reduce": 0.03, "transpose": 0.34, "gather": 0.31, "gather moved": 0.2,
    "scatter": 0.7, "quotient": 3.1, "quotient by constant": 0.47,
    "update": 0.36, "window": 1.0, "sort": 20.0, "dot": 0.013, "narrow dot": 0.15, "dot moved": 0.36, "line": 6.7,
    "elementwise narrow": 0.072, "broadcast narrow": 0.0085, "slice narrow": 0.25, "joined narrow": 0.31,
    "division narrow": 0.098, "reduce narrow": 0.044,
    "elementwise native": 0.0035, "broadcast native": 0.0034, "convert native": 0.0064, "slice native": 0.005,
    "joined native": 0.24, "reverse native": 0.1, "division native": 0.047, "function native": 0.18,
    "reduce native": 0.026, "transpose native": 0.11, "gather native": 0.14, "gather moved native": 0.05,
    "scatter native": 0.34,
    "update native": 0.4, "op native": 0.37, "iteration native": 7.4,
    "iteration scalar": 0.5, "op scalar": 0.1, "division scalar": 2.0, "function scalar": 8.0,
    "op loop": 200.0, "iteration loop": 1_000.0,
    "result": 0.042, "op": 1_600.0, "fused op": 290.0, "launch": 1_400.0,
}
"""Nanoseconds for one of each kind; "result": a byte of the results. Kinds end in " native" in loops that native code
takes, in " scalar" where these compute single numbers, in " loop" in others (work that is not listed there costs what
it does outside)."""
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


def tensor_seconds(module: ir.Module, iterations: float | None = None) -> float:
    """An estimate for a module's main; `iterations` of loops that data decide, until the last thread is done."""
    return seconds_of(tensor_work(module, iterations))


def seconds_of(work: dict[str, float]) -> float:
    """What work of kinds of `RATES` takes; in loops that have no rate of their own, what it takes elsewhere."""
    return 1e-9 * sum(RATES.get(kind, RATES.get(kind.rsplit(" ", 1)[0], 0)) * count for kind, count in work.items())


def tensor_work(module: ir.Module, iterations: float | None = None) -> dict[str, float]:
    """How much of each kind (of `RATES`) a module's main is."""
    work: dict[str, float] = defaultdict(float, launch=1)
    block = modules.function(module).regions[0].blocks[0]
    _Counting(work, UNKNOWN_ITERATIONS * DIVERGENT if iterations is None else iterations).block(block, 1, "")
    end = block.operations[-1]
    work["result"] += sum(map(nbytes, end.operation.operands))
    return work


def work_in_a_loop(module: ir.Module, iterations: float | None = None) -> dict[str, float]:
    """The same where the module's main is part of a loop, whose results stay where they are: nothing of its own where
    native code takes all of it."""
    work: dict[str, float] = defaultdict(float)
    block = modules.function(module).regions[0].blocks[0]
    native = all(compiles(op.operation) for op in list(block.operations)[:-1])
    most = UNKNOWN_ITERATIONS * DIVERGENT if iterations is None else iterations
    _Counting(work, most).block(block, 1, " native" if native else "")
    return work


class _Counting:
    """Adds up the work of blocks."""

    def __init__(self, work: dict[str, float], iterations: float) -> None:
        self.work, self.iterations = work, iterations

    def block(self, block: ir.Block, iterations: float, where: str) -> None:
        for each in block.operations:
            self.operation(each.operation, iterations, where)

    def operation(self, op: ir.Operation, iterations: float, where: str) -> None:
        work, name = self.work, op.name.removeprefix("stablehlo.")
        if name == "while":
            inside = " loop" if not compiles(op) else " scalar" if _is_scalar(op) else " native"
            more = iterations * self.iterations_of(op)
            work["iteration" + inside] += more
            for region in op.regions:
                self.block(region.blocks[0], more, inside)
        elif name in ("if", "case"):
            dearest: dict[str, float] = {}
            for region in op.regions:
                side: dict[str, float] = defaultdict(float)
                _Counting(side, self.iterations).block(region.blocks[0], iterations, where)
                dearest = max(dearest, side, key=lambda s: sum(s.values()))
            for kind, count in dearest.items():
                work[kind] += count
        elif name not in FREE and len(op.results) and isinstance(op.results[0].type, ir.RankedTensorType):
            if where or not _is_fused(name):
                work["op" + where] += iterations
            elif size(shape_of(op.results[0])) > LARGE:
                work["fused op"] += 1
            for kind, count in _work_of(op, name, where):
                work[kind if kind == "line" else kind + where] += iterations * count

    def iterations_of(self, loop: ir.Operation) -> float:
        """Iterations of a loop; where data decide, it goes on until the last of many threads is done."""
        known = trips(loop)
        return self.iterations if known is None else known.most


def _is_scalar(loop: ir.Operation) -> bool:
    """Whether every iteration of a loop computes single numbers, and changes single elements of what it carries."""
    varying: set[ir.Value] = set()

    def single(op: ir.Operation) -> bool:
        name = op.name.removeprefix("stablehlo.")
        if not any(v in varying for v in op.operands) and not op.regions or name in FREE:
            return True
        varying.update(op.results)
        if name in ("while", "if", "case"):
            return all(blocks(op))
        part = {"dynamic_update_slice": 1, "scatter": len(op.operands) - 1}.get(name)
        return all(size(shape_of(v)) <= 1 for v in (op.results if part is None else [op.operands[part]]))

    def blocks(op: ir.Operation) -> Iterator[bool]:
        for region in op.regions:
            varying.update(region.blocks[0].arguments)
            yield from (single(inner.operation) for inner in region.blocks[0].operations if inner.operation.results)
    return all(blocks(loop))


def _work_of(op: ir.Operation, name: str, where: str) -> list[tuple[str, float]]:
    """(kind, how much) of one operation."""
    result = op.results[0]
    shape, unit = shape_of(result), dtype_of(result).itemsize / 8
    if name == "reduce":
        taken = shape_of(op.operands[0])
        return [("reduce narrow" if not where and taken and taken[-1] <= NARROW else "reduce", size(taken) * unit)]
    if name == "reduce_window":
        return [("window", size(shape_of(op.operands[0])))]
    if name == "gather":
        row = math.prod(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
        return [("gather", size(shape) / max(row, 1)), *([("gather moved", size(shape) * unit)] if row > 1 else [])]
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
    if name == "sort":
        return [("sort", size(shape) * math.log2(max(2, shape[ir.IntegerAttr(op.attributes["dimension"]).value])))]
    kind = KINDS.get(name, "elementwise")
    if kind == "division" and dtype_of(result).kind in "iu":
        kind, unit = "quotient by constant" if _is_constant(op.operands[1]) else "quotient", 1
    if kind == "transpose" and all(use.owner.operation.name == "stablehlo.reduce" for use in result.uses):
        return []       # a reduction along another dimension
    if not where and len(shape) > 1 and shape[-1] <= NARROW and f"{kind} narrow" in RATES:
        kind += " narrow"
    if kind.endswith(" narrow") or kind in ("transpose", "joined"):
        unit = 1        # number by number, whatever their size
    return [(kind, size(shape) * unit)]


def _is_constant(value: ir.Value) -> bool:
    while not isinstance(value.owner, ir.Block) and value.owner.name in ("stablehlo.broadcast_in_dim",
                                                                         "stablehlo.reshape"):
        value = value.owner.operands[0]
    return not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.constant"


def _is_fused(name: str) -> bool:
    """Whether an operation is no launch of its own."""
    return KINDS.get(name, "elementwise") in _FUSED and name not in _ALONE


_ALONE = ("reduce", "scatter", "dot_general", "reduce_window", "dynamic_update_slice")
_FUSED = ("elementwise", "broadcast", "convert", "slice", "division", "function", "reverse")
