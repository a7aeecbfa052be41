"""Estimated bytes and launches of one run of a module as a compiler that fuses runs it, from shapes alone.

What only rearranges elements or computes them one by one is made where it is read and never stored, unless something
else needs it in memory: the function's results, loops and conditionals, products, sorts, calls of libraries. A sum is
stored, what it adds up is not. A launch is one thing that is stored; it reads each array once, and only the part it
needs. Loops count with their trip count where it is known (else once), conditionals with their dearest branch.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.cost import FREE, MOVES
from reactant.ir.induction import trips
from reactant.ir.types import shape_and_dtype, size
from reactant.support.records import dataclass

ALIASES = {"stablehlo.reshape", "stablehlo.bitcast_convert"}
"""Ops whose result is their operand under another name."""
FUSED = (ops.ELEMENTWISE | MOVES | FREE | {"chlo.square", "chlo.is_inf", "stablehlo.map"}) - {
    "stablehlo.dynamic_update_slice", "stablehlo.tuple", "stablehlo.get_tuple_element", "stablehlo.return",
    "func.return", "stablehlo.optimization_barrier", "stablehlo.copy"}
"""Ops that are computed where their results are read."""
READERS = {"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.dynamic_update_slice"}
"""Ops that are stored, and compute what they read as they read it."""
PARTS = {"stablehlo.slice", "stablehlo.dynamic_slice", "stablehlo.gather"}
"""Ops that read no more of their first operand than they give."""
ENDS = {"stablehlo.return", "func.return", "sdy.return"}
BRANCHES = {"stablehlo.if", "stablehlo.case"}
CONTROL = BRANCHES | {"stablehlo.while", "sdy.manual_computation"}


@dataclass(frozen=True)
class Traffic:
    bytes: float = 0.0
    launches: float = 0.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.bytes + other.bytes, self.launches + other.launches)

    def times(self, count: float) -> Traffic:
        return Traffic(self.bytes * count, self.launches * count)


def estimate(module: ir.Module) -> dict[str, float]:
    """`{"bytes": ..., "launches": ...}` of one run of `@main`."""
    functions = modules.functions(module)
    total = _of_region(functions["main"].regions[0], functions)
    return {"bytes": total.bytes, "launches": total.launches}


def of_iteration(loop: ir.Operation, functions: Mapping[str, ir.Operation]) -> Traffic:
    """One iteration of a `stablehlo.while`: its body, with the loops within and the module's functions that it
    calls."""
    return _of_region(loop.regions[1], functions)


def _of_region(region: ir.Region, functions: Mapping[str, ir.Operation]) -> Traffic:
    total = Traffic()
    for block in region.blocks:
        body = _Body(block)
        for op in body.ops:
            total = total + (_of_control(op, functions) or body.traffic(op))
    return total


def _of_control(op: ir.Operation, functions: Mapping[str, ir.Operation]) -> Traffic | None:
    """The traffic of a loop, a conditional or a call; None of anything else."""
    if op.name == "stablehlo.while":
        iteration = _of_region(op.regions[0], functions) + _of_region(op.regions[1], functions)
        count = trips(op)
        return iteration.times(count.most if count is not None and count.exact else 1)
    if op.name == "sdy.manual_computation":     # what one device does
        return _of_region(op.regions[0], functions)
    if op.name in BRANCHES:
        return max((_of_region(r, functions) for r in op.regions), key=lambda t: t.bytes, default=Traffic())
    if op.name == "func.call":
        callee = functions.get(op.attributes["callee"].value)
        return Traffic() if callee is None else _of_region(callee.regions[0], functions)
    return None


def kept(module: ir.Module) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """Ops that could be computed where they are read and are stored all the same, each with the one that needs it in
    memory: the function's end, a loop, a product, a call."""
    for function in modules.functions(module).values():
        yield from _kept(function.regions[0])


def _kept(region: ir.Region) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    for block in region.blocks:
        body = _Body(block)
        for op in body.ops:
            if op.name in FUSED:
                continue
            for value in dict.fromkeys(map(body.origin, body._needed_in_memory(op))):
                if value in body.place and body.ops[body.place[value]].name in FUSED:
                    yield body.ops[body.place[value]], op
            if op.name in CONTROL:
                for inner in op.regions:
                    yield from _kept(inner)


class _Body:
    """The ops of a block, and which of their results are in memory."""

    def __init__(self, block: ir.Block):
        self.ops = [op.operation for op in block.operations]
        self.place = {value: i for i, op in enumerate(self.ops) for value in op.results}
        self.stored: set[ir.Value] = set()
        for op in self.ops:
            if op.name not in FUSED:
                self.stored.update(op.results)
                self.stored.update(self.origin(v) for v in self._needed_in_memory(op) if v in self.place)

    def _needed_in_memory(self, op: ir.Operation) -> list[ir.Value]:
        if op.name == "stablehlo.dynamic_update_slice":
            return [op.operands[0]]
        if op.name in READERS:
            return []
        inner = [value for within in modules.walk(op) for value in within.operands]
        return [*op.operands, *inner]

    def origin(self, value: ir.Value) -> ir.Value:
        """What a value is another name of."""
        while value in self.place and self.ops[self.place[value]].name in ALIASES:
            value = self.ops[self.place[value]].operands[0]
        return value

    def traffic(self, op: ir.Operation) -> Traffic:
        """Of one op that is no control flow: nothing where it is not stored."""
        if op.name in ENDS or op.name in ALIASES or op.name == "stablehlo.constant":
            return Traffic()
        if op.name in FUSED:
            stored = any(value in self.stored for value in op.results)
            return Traffic(_nbytes(op.results) + self._read(op.results, True), 1) if stored else Traffic()
        if op.name in FREE:
            return Traffic()
        if op.name == "stablehlo.dynamic_update_slice":
            return Traffic(_nbytes([op.operands[1]]) + self._read([op.operands[1]]), 1)
        if op.name == "stablehlo.scatter":
            return Traffic(3 * _nbytes(op.operands[len(op.operands) - len(op.results):]), 1)
        if op.name in READERS:
            return Traffic(_nbytes(op.results) + self._read(op.operands), 1)
        return Traffic(_nbytes(op.results) + _nbytes(dict.fromkeys(map(self.origin, op.operands))), 1)

    def _read(self, values: Iterable[ir.Value], make: bool = False) -> float:
        """Bytes that reading values takes, each array once: where a value is not in memory (or is to be made), what it
        is made of."""
        needed: dict[int, float] = {}
        leaves: dict[ir.Value, float] = defaultdict(float)

        def want(value: ir.Value, part: float, partly: bool = False, make: bool = False) -> None:
            value = value if make else self.origin(value)
            if value in self.place and (make or value not in self.stored):
                place = self.place[value]
                needed[place] = min(1.0, needed.get(place, 0.0) + part) if partly else max(needed.get(place, 0.0), part)
            elif not _is_made_anywhere(value):
                leaves[value] = min(1.0, leaves[value] + part) if partly else max(leaves[value], part)

        for value in values:
            want(value, 1.0, make=make)
        while needed:
            place = max(needed)     # after all that read it
            op, part = self.ops[place], needed.pop(place)
            for index, value in enumerate(op.operands):
                want(value, _wanted(op, index, part), op.name in PARTS and index == 0)
        return sum(part * _nbytes([value]) for value, part in leaves.items())


def _wanted(op: ir.Operation, index: int, part: float) -> float:
    """The part of an operand that a part of the result needs."""
    if op.name in PARTS and index == 0 or op.name == "stablehlo.broadcast_in_dim":
        return min(1.0, part * _elements(op.results[0]) / max(1, _elements(op.operands[0])))
    return part


def _is_made_anywhere(value: ir.Value) -> bool:
    """Whether a value outside the block needs no memory: one number everywhere, or a count."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    content = ops.constant_value(value)
    if content is not None:
        return content.size <= 1 or not any(content.strides)
    return bool(owner.name == "stablehlo.iota")


def _elements(value: ir.Value) -> int:
    return size(shape_and_dtype(value.type)[0])


def _nbytes(values: Iterable[ir.Value]) -> float:
    total = 0.0
    for value in values:
        if isinstance(value.type, ir.RankedTensorType):
            shape, dtype = shape_and_dtype(value.type)
            total += size(shape) * dtype.itemsize
    return total
