"""Large programs in parts that XLA compiles one by one, so that what is dear and read several times is computed once.

XLA:CPU fuses a producer into each of its consumers, and computes it anew for each place that they read it at. Of a
stencil of a stencil of a stencil it writes code that grows with every step: a gradient of 19,000 operations, 87 GPU
kernels of an ocean model as tensors, was given up after some minutes, and after five with a kernel for each operation
(without fusion); as here it took 124 s of processor time. Each value that would be computed at several places becomes
the result of a function of its own, which XLA keeps apart (`inlineable`) and compiles as one fusion. What costs little,
or is read at one place only, is part of the function that reads it.
"""
from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field

from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import shape_of, size
from reactant.support.records import dataclass

CONCERNED = (b"slice", b"pad", b"reverse", b"concatenate")
"""One of them is in the bytecode of a module that `kept` may change."""
SHORTEST = 16_000
"""Bytes that the bytecode of such a module has at least."""
GENERATORS = frozenset({"stablehlo.constant", "stablehlo.iota"})
SAME_PLACE = ops.ELEMENTWISE | {"stablehlo.reshape", "stablehlo.optimization_barrier"}
"""Ops that read their operands at the place that they compute. (A barrier is gone before XLA fuses.)"""
MOVING = frozenset(f"stablehlo.{name}" for name in (
    "slice", "pad", "reverse", "transpose", "concatenate", "broadcast_in_dim", "dynamic_slice"))
ELSEWHERE = MOVING - {"stablehlo.broadcast_in_dim", "stablehlo.transpose"}
RARE = 16
"""Operations of one that reads elsewhere, beyond which few values are read at several places: the ocean's adjoint has
14, a transformer's gradient 17, which takes a tenth longer to compile in parts and is no faster."""
FREE = GENERATORS | {"stablehlo.reshape", "stablehlo.optimization_barrier", "stablehlo.broadcast_in_dim",
                     "stablehlo.slice", "stablehlo.transpose", "stablehlo.reverse"}
"""Ops that compute nothing."""
DEAR = frozenset(f"stablehlo.{name}" for name in (
    "divide", "sqrt", "rsqrt", "cbrt", "power", "exponential", "exponential_minus_one", "log", "log_plus_one", "sine",
    "cosine", "tan", "tanh", "atan2", "logistic", "remainder"))
WEIGHT_OF_DEAR = 8
LITTLE = 6
"""What may be computed several times, in operations on a number."""
LARGEST = 400
"""Operations of one function: what LLVM compiles in a moment."""
LEAST = 2000
"""Operations of a block from which it is worth it: XLA compiles less in seconds, whatever it writes."""
NUMBERS = 16
"""Elements up to which a value is a number to a program, which XLA computes at once."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it whose large blocks are made of such functions."""
    if modules.size(module) < LEAST or not any(map(_is_large, _blocks(module))):
        return module
    made = modules.clone(module)
    numbers = itertools.count()
    for block in [block for block in _blocks(made) if _is_large(block)]:
        for part in Parts(block).found():
            _put_apart(made.body, next(numbers), part)
    return made


def _blocks(module: ir.Module) -> Iterable[ir.Block]:
    for op in modules.walk(module):
        if op.name in ("func.func", "stablehlo.while", "stablehlo.if", "stablehlo.case"):
            yield from (region.blocks[0] for region in op.regions if len(region.blocks))


def _is_large(block: ir.Block) -> bool:
    """Whether a block has many operations, and among them such that read elsewhere."""
    fused = elsewhere = 0
    for each in block:
        fused += each.operation.name in SAME_PLACE
        elsewhere += each.operation.name in ELSEWHERE
    return fused >= LEAST and elsewhere * RARE >= fused


@dataclass
class Part:
    """One function: the ops, in order, the last of which makes its result."""

    ops: list[ir.Operation] = field(default_factory=list)


class Parts:
    """Which ops of a block go together.

    A *view* is a place that a value is read at: one for all ops that read it where they are computed, another one
    behind each op that moves elements. Going backwards, a value with one view in one part becomes part of that; one
    with several is computed at each if it costs `LITTLE`, else it is the result of a part of its own."""

    def __init__(self, block: ir.Block) -> None:
        *body, self.end = [each.operation for each in block]
        self.ops = body
        self.weight = self._weights()
        self.views: dict[ir.Value, dict[tuple[int, int], None]] = defaultdict(dict)
        """(part, view) of what reads a value, in the order of the ops."""
        self.outside: set[ir.Value] = set(self.end.operands)
        """Values that are read otherwise."""

    def _weights(self) -> dict[ir.Value, float]:
        """What one number of a value costs, from what is likely to be kept on."""
        found: dict[ir.Value, float] = {}
        for op in self.ops:
            if not _fuses(op):
                continue
            own = 0.0 if op.name in FREE else WEIGHT_OF_DEAR if op.name in DEAR else 1.0
            total = own + sum(found.get(v, 0.0) for v in dict.fromkeys(op.operands))
            often = total > LITTLE and _is_used_often(op.results[0])
            found[op.results[0]] = 0.0 if often else min(total, 1e9)
        return found

    def found(self) -> list[Part]:
        """The parts of more than one operation."""
        parts: dict[int, Part] = {}
        sizes: dict[int, int] = defaultdict(int)
        for number in range(len(self.ops) - 1, -1, -1):
            op = self.ops[number]
            if not _fuses(op):
                self.outside.update(op.operands)
                self.outside.update(modules.captured(op))
                continue
            if op.name in GENERATORS:
                continue
            result = op.results[0]
            views = list(self.views.pop(result, {}))
            own = self._own(op, result, views, sizes)
            if own:
                parts[number], views = Part(), [(number, 0)]
            for reader in dict.fromkeys(p for p, _ in views):
                parts[reader].ops.append(op)
                sizes[reader] += op.name not in FREE
            self._reads(op, number, views)
        for part in parts.values():
            part.ops.reverse()
        return [part for part in parts.values() if sum(op.name not in FREE for op in part.ops) > 1
                or len(part.ops) > 1 and part.ops[-1].name not in FREE]

    def _own(self, op: ir.Operation, result: ir.Value, views: Sequence[tuple[int, int]], sizes: dict[int, int]) -> bool:
        """Whether a value is the result of a part."""
        if result in self.outside or not views:
            return True
        if op.name in FREE:
            return len(views) > 4 * LITTLE
        if any(sizes[part] >= LARGEST for part, _ in views):
            return True
        return len(views) > 1 and self._cost(op) * (len(views) - 1) > LITTLE

    def _cost(self, op: ir.Operation) -> float:
        own = WEIGHT_OF_DEAR if op.name in DEAR else 1.0
        return own + sum(self.weight.get(v, 0.0) for v in dict.fromkeys(op.operands))

    def _reads(self, op: ir.Operation, number: int, views: Sequence[tuple[int, int]]) -> None:
        """Note where an op reads its operands."""
        moves = op.name in MOVING
        for place, operand in enumerate(op.operands):
            if moves and (op.name == "stablehlo.dynamic_slice" and place > 0 or _grows(op, operand)):
                self.outside.add(operand)
                continue
            seen = self.views[operand]
            for part, view in views:
                seen[part, hash((number, view, place)) if moves else view] = None


def _is_used_often(value: ir.Value) -> bool:
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is not None


def _grows(op: ir.Operation, operand: ir.Value) -> bool:
    """Whether an op reads every number of a computed operand several times, which is then better computed before."""
    made = ops.maker(operand)
    return op.name == "stablehlo.broadcast_in_dim" and made is not None and made.name not in FREE \
        and size(shape_of(op.results[0])) >= 2 * size(shape_of(operand))


def _fuses(op: ir.Operation) -> bool:
    return len(op.results) == 1 and (op.name in SAME_PLACE or op.name in MOVING or op.name in GENERATORS) \
        and (op.name in GENERATORS or size(shape_of(op.results[0])) > NUMBERS)


def _put_apart(body: ir.Block, number: int, part: Part) -> None:
    """Make a part a function, and its last op a call of it; the others are gone where nothing else reads them."""
    last = part.ops[-1]
    inside = {op.results[0] for op in part.ops}
    given: dict[ir.Value, None] = {}
    made: list[ir.Operation] = []
    for op in part.ops:
        for operand in op.operands:
            if operand in inside:
                continue
            if (maker := ops.maker(operand)) is not None and maker.name in GENERATORS:
                inside.add(operand)
                made.append(maker)
            else:
                given[operand] = None
        made.append(op)
    name = f"apart_{number}"
    with ir.InsertionPoint(body), last.location:
        function = ir.Operation.create("func.func", regions=1, attributes={
            "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([v.type for v in given], [last.results[0].type]))})
    block = function.regions[0].blocks.append(*(v.type for v in given))
    mapping = dict(zip(given, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for op in made:
            modules.clone_with(op, mapping)
        ops.create("func.return", [], [mapping[last.results[0]]])
    with ir.InsertionPoint(last), last.location:
        result = ops.call(name, list(given), [last.results[0].type])[0]
        result.owner.operation.attributes["mhlo.frontend_attributes"] = ir.DictAttr.get(
            {"inlineable": ir.StringAttr.get("false")})
    last.results[0].replace_all_uses_with(result)
    for op in reversed(made):
        if not any(True for _ in op.results[0].uses):
            op.erase()
