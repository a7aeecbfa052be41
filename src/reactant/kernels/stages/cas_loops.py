"""Loops that try compare-and-swap until it succeeds -> one `memref.generic_atomic_rmw`, or `atomic_rmw` of its kind.

    old = *p; do { seen = old; old = cas(p, seen, f(seen)); } while (old != seen);

is "replace *p by f(*p), atomically" for any f without side effects, and so it is written, as CUDA programs do for
atomics that the hardware lacks. So is the loop that gives up when a test of what it saw fails,

    while (better(mine, old)) { seen = old; old = cas(p, seen, mine); if (old == seen) break; }

which leaves *p as it is where the test fails.
"""
from __future__ import annotations

from dataclasses import field

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.context import building
from reactant.kernels.form.bases import constant_of
from reactant.kernels.form.build import PREDICATES, Builder
from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.rebuild import Rewriter
from reactant.kernels.stages import atomics
from reactant.kernels.stages.counted import outside, pure
from reactant.kernels.stages.tidy import tidy_open
from reactant.support.records import dataclass

KINDS = {"arith.addf": 0, "arith.addi": 1, "arith.andi": 2, "arith.maximumf": 4, "arith.maxnumf": 5, "arith.maxsi": 6,
         "arith.maxui": 7, "arith.minimumf": 8, "arith.minnumf": 9, "arith.minsi": 10, "arith.minui": 11,
         "arith.mulf": 12, "arith.muli": 13, "arith.ori": 14, "arith.xori": 15}
"""Commutative ops that `memref.atomic_rmw` has."""
EXTREMES = {2: (4, float("-inf")), 3: (4, float("-inf")), 4: (8, float("inf")), 5: (8, float("inf"))}
"""arith.cmpf's predicates ogt, oge, olt, ole -> the kind of `memref.atomic_rmw`, and what never changes anything."""
MIRRORED = {2: 4, 3: 5, 4: 2, 5: 3}
"""The predicate that holds with the operands exchanged."""
UNORDERED = 14


def find_swap_loops(module: ir.Module) -> ir.Module:
    """Change the module's kernel."""
    with building():
        if "memref.generic_atomic_rmw" in str(module):
            SwapLoops().function(kernel_of(module))
            tidy_open(module)
            Kinds().function(kernel_of(module))
    return module


@dataclass
class Exchange:
    """A memref.generic_atomic_rmw that stores `new` where it finds `expected`."""

    op: ir.Operation
    expected: ir.Value
    new: ir.Value
    kind: ir.Type


def same_bits(value: ir.Value) -> ir.Value:
    """A value without the bitcasts it went through."""
    while (op := ops.maker(value)) is not None and op.name == "arith.bitcast":
        value = op.operands[0]
    return value


def poison(value: ir.Value) -> bool:
    """Whether nobody reads a value that comes this way."""
    op = ops.maker(value)
    return op is not None and op.name == "ub.poison"


def exchange_of(op: ir.Operation) -> Exchange | None:
    """What a generic_atomic_rmw exchanges, if that is all it does."""
    block = op.regions[0].blocks[0]
    yielded = same_bits(list(block.operations)[-1].operation.operands[0])
    chosen = ops.maker(yielded)
    if chosen is None or chosen.name != "arith.select":
        return None
    test = ops.maker(chosen.operands[0])
    if test is None or test.name != "arith.cmpi" or ir.IntegerAttr(
            test.attributes["predicate"]).value != PREDICATES["eq"]:
        return None
    current = block.arguments[0]
    left, right = test.operands
    if same_bits(left) != current:
        left, right = right, left
    if same_bits(left) != current or same_bits(chosen.operands[2]) != current or not outside(right, op) or not outside(
            chosen.operands[1], op):
        return None
    return Exchange(op, right, chosen.operands[1], right.type)


@dataclass
class SwapLoop:
    """A loop around one exchange. work: its pure ops; guard: the test under which it tries; again: try once more."""

    exchange: Exchange
    work: list[ir.Operation]
    again: ir.Value
    passed: list[ir.Value]
    guard: ir.Value | None = None
    given_up: dict[ir.Value, ir.Value] = field(default_factory=dict)


def swap_loop_of(op: ir.Operation) -> SwapLoop | None:
    """The parts of a scf.while that may be a swap loop."""
    before, after = (r.blocks[0] for r in op.regions)
    *work, condition = [o.operation for o in before.operations]
    if any(not pure(o.operation) for o in list(after.operations)[:-1]):
        return None
    flag, *passed = list(condition.operands)
    guard, given_up = None, {}
    test = ops.maker(flag)
    if test is not None and test.name == "scf.if" and work and work[-1] == test:
        *tried, yes = [o.operation for o in test.regions[0].blocks[0].operations]
        *nothing, no = [o.operation for o in test.regions[1].blocks[0].operations] if len(test.regions[1].blocks) else [
            None]
        if nothing or no is None:
            return None
        guard, work = test.operands[0], work[:-1] + tried
        results = dict(zip(test.results, zip(yes.operands, no.operands, strict=True), strict=True))
        flag, stop = results[flag]
        if constant_of(stop) != 0:
            return None
        given_up = {results[v][0]: results[v][1] for v in passed if v in results}
        passed = [results[v][0] if v in results else v for v in passed]
    tries = [o for o in work if o.name == "memref.generic_atomic_rmw"]
    if len(tries) != 1 or any(not pure(o) for o in work if o != tries[0]):
        return None
    exchange = exchange_of(tries[0])
    if exchange is None:
        return None
    return SwapLoop(exchange, [o for o in work if o != tries[0]], flag, passed, guard, given_up)


class SwapLoops(Rewriter, Builder):
    """Copies a function, swap loops written as one operation."""

    def rewritten(self, op: ir.Operation) -> bool:
        if op.name != "scf.while":
            return False
        loop = swap_loop_of(op)
        if loop is None or not self.until_found(op, loop):
            return False
        self.write(op, loop)
        return True

    def until_found(self, op: ir.Operation, loop: SwapLoop) -> bool:
        """Whether the loop ends when the exchange succeeds, and tries again with what it found."""
        before, after = (r.blocks[0] for r in op.regions)
        exchange, test = loop.exchange, ops.maker(loop.again)
        found, seen = exchange.op.results[0], same_bits(exchange.expected)
        if test is None or test.name != "arith.cmpi" or ir.IntegerAttr(
                test.attributes["predicate"]).value != PREDICATES["ne"]:
            return False
        if {same_bits(v) for v in test.operands} != {found, seen} or seen not in list(before.arguments):
            return False
        if not all(self.fixed(v, op) for v in exchange.op.operands):
            return False
        if any(same_bits(a) not in (found, seen) or same_bits(b) != seen and not poison(b)
               for a, b in loop.given_up.items()):
            return False
        given = dict(zip(after.arguments, loop.passed, strict=True))
        yielded = list(list(after.operations)[-1].operation.operands)
        for argument, value in zip(before.arguments, yielded, strict=True):
            value = same_bits(value)
            value = same_bits(given.get(value, value))
            if argument == seen:
                if value != found:
                    return False
            elif not (value == argument or outside(value, op)):
                return False
        return True

    def fixed(self, value: ir.Value, loop: ir.Operation) -> bool:
        """Whether a value is the same in every iteration."""
        if outside(value, loop):
            return True
        op = ops.maker(value)
        return op is not None and pure(op) and all(self.fixed(v, loop) for v in op.operands)

    def write(self, op: ir.Operation, loop: SwapLoop) -> None:
        before, exchange = op.regions[0].blocks[0], loop.exchange
        found, seen = exchange.op.results[0], same_bits(exchange.expected)
        for argument, start in zip(before.arguments, op.operands, strict=True):
            self.values[argument] = self.value(start)
        fixed = [o for o in loop.work if all(self.fixed(r, op) for r in o.results)]
        rest = [o for o in loop.work if o not in fixed]
        for inner in fixed:
            self.operation(inner)
        memory, index = self.mapped(exchange.op.operands)

        def seeing(current: ir.Value) -> None:
            self.values[seen] = self.reinterpret(current, seen.type)
            self.values[found] = self.reinterpret(current, found.type)
            for inner in rest:
                self.operation(inner)

        def new(current: ir.Value) -> ir.Value:
            seeing(current)
            made = self.value(exchange.new)
            if loop.guard is None:
                return made
            return self.create("arith.select", exchange.kind, self.value(loop.guard), made, current)
        seeing(atomics.generic(self, memory, index, exchange.kind, new))
        for result, value in zip(op.results, loop.passed, strict=True):
            self.values[result] = self.value(value)


class Kinds(Rewriter, Builder):
    """Copies a function, generic atomics that are plain ones written as such."""

    def rewritten(self, op: ir.Operation) -> bool:
        if op.name != "memref.generic_atomic_rmw":
            return False
        block = op.regions[0].blocks[0]
        if self.extreme(op, block):
            return True
        made = ops.maker(list(block.operations)[-1].operation.operands[0])
        if made is None or made.name not in KINDS or made.operands[0].type != block.arguments[0].type:
            return False
        left, right = made.operands
        if left != block.arguments[0]:
            left, right = right, left
        if left != block.arguments[0] or not outside(right, op):
            return False
        memory, index = self.mapped(op.operands)
        self.values[op.results[0]] = atomics.atomic(self, KINDS[made.name], memory, index, self.value(right))
        return True

    def extreme(self, op: ir.Operation, block: ir.Block) -> bool:
        """`v > old ? v : old` for floats: a NaN that is given changes nothing, one that is there stays."""
        current = block.arguments[0]
        chosen = ops.maker(same_bits(list(block.operations)[-1].operation.operands[0]))
        if chosen is None or chosen.name != "arith.select" or not isinstance(current.type, (ir.F64Type, ir.F32Type)):
            return False
        test, given = ops.maker(chosen.operands[0]), same_bits(chosen.operands[1])
        if same_bits(chosen.operands[2]) != current or given.type != current.type or not outside(given, op) \
                or test is None or test.name != "arith.cmpf":
            return False
        predicate, operands = ir.IntegerAttr(test.attributes["predicate"]).value, list(test.operands)
        if operands == [current, given]:
            predicate = MIRRORED.get(predicate)
        elif operands != [given, current]:
            return False
        if predicate not in EXTREMES:
            return False
        number, least = EXTREMES[predicate]
        memory, index = self.mapped(op.operands)
        value = self.value(given)
        unordered = ir.Operation.create("arith.cmpf", [self.i1], [value, value], attributes={
            "predicate": ir.IntegerAttr.get(self.i64, UNORDERED)}).results[0]
        fill = ir.Operation.create("arith.constant", [value.type], attributes={
            "value": ir.FloatAttr.get(value.type, least)}).results[0]
        value = self.create("arith.select", value.type, unordered, fill, value)
        self.values[op.results[0]] = atomics.atomic(self, number, memory, index, value)
        return True
