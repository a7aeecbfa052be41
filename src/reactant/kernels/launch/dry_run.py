"""What a thread of a launch executes: a few of them are run on what is known (indices, sizes, constants).

Memory and floats are unknown. A loop that they decide iterations as often as the arrays that it goes through have
numbers for each thread, or `UNKNOWN_ITERATIONS` times; of a branch that they decide, vectors compute both sides, other
code half. Every number is known for two neighbours among the threads, which tells what lanes of a vector load together.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from jaxlib.mlir import ir

from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.record import Buffer, KernelRecord
from reactant.support.records import dataclass

UNKNOWN_ITERATIONS = 16
LONGEST_GUESS = 64
DIVERGENT = 3
"""Iterations of the longest thread over those of the average one."""
EXACT = 8
"""Iterations of a loop that are run; the rest is taken to be like them."""
SHORT = 16
"""Iterations up to which a compiler writes out a loop, so that threads still go through it together; not around
branches that threads take differently."""
SAMPLES = ((0.12, 0.7), (0.37, 0.21), (0.62, 0.45), (0.87, 0.93))
"""Threads that are run: how far among the blocks, and in the block."""
SHARED = 0.4
"""What a scattered access of the block's own memory costs, which is in the cache, of another one."""
BUDGET = 40_000
"""Operations that are looked at before whatever follows counts as unknown."""

Pair = tuple[int, int] | None
"""A number in two neighbouring threads; None where it is not known."""


class Counts(defaultdict[str, float]):
    """Kind of operation -> how many a thread executes. Kinds end in " alone" in loops that each thread goes through on
    its own, and in " apart" where threads iteration as often as their data say."""

    def __init__(self, lanes: int = 1) -> None:
        super().__init__(float)
        self.lanes = lanes
        """Threads that the innermost loop runs over."""
        self.whole: defaultdict[str, float] = defaultdict(float)
        """Operations of threads together that count by their share of a lane, each as one: no vectors, no lanes."""
        self.iterations: float | None = None
        """Of the longest loop that threads go through as often as they like, until the last one is done."""

    def seen(self, iterations: float) -> None:
        self.iterations = max(iterations, self.iterations or 0.0)


@dataclass(slots=True)
class Step:
    """One operation, read once. Values are numbers of slots."""

    name: str
    kind: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    regions: tuple[tuple[tuple[int, ...], tuple[Step, ...]], ...] = ()
    meets: bool = False
    shared: bool = False
    """An access of memory of the block."""
    share: float = 1.0
    """Of a vector lane's 64 bits; nothing for what becomes part of an address."""
    width: int = 64
    narrow: int = 64
    extra: Any = None


_KINDS = {"memref.load": "load", "memref.store": "store", "memref.atomic_rmw": "atomic",
          "memref.generic_atomic_rmw": "atomic", "gpu.barrier": "barrier", "gpu.shuffle": "shuffle"}
_CHEAP = {"math.sqrt", "math.absf", "math.absi", "math.fma", "math.floor", "math.ceil", "math.copysign", "math.ctpop",
          "math.ctlz", "math.cttz", "math.trunc", "math.rint"}
_FREE = {"arith.constant", "scf.yield", "scf.condition", "func.return", "gpu.thread_id", "gpu.block_id",
         "memref.alloca", "memref.get_global", "arith.index_cast", "arith.index_castui", "scf.for", "scf.if",
         "scf.while", "scf.index_switch", "memref.atomic_yield", "arith.extsi", "arith.extui", "arith.trunci",
         "arith.bitcast"}
_EVEN = {"arith.constant", "gpu.thread_id", "gpu.block_id", "arith.addi", "arith.subi", "arith.muli",
         "arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui"}
_DIVISIONS = {"arith.divf", "math.sqrt"}
_QUOTIENTS = {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}
_VARYING = {"gpu.shuffle", "func.call", "memref.alloca", "memref.atomic_rmw", "memref.generic_atomic_rmw"}


def kind_of(op: ir.Operation) -> str:
    """What an operation counts as; "" for what costs nothing."""
    name = op.name
    if name in _FREE:
        return ""
    if name in _KINDS:
        return _KINDS[name]
    if name == "func.call":
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        return "function" if not callee.startswith("reactant.") else \
            "barrier" if callee.startswith("reactant.barrier") else "vote"
    if name in _DIVISIONS:
        return "division"
    if name in _QUOTIENTS:
        return quotient_kind(op)
    if name == "arith.remf":
        return "function"
    if name.startswith("math.") and name not in _CHEAP:
        return "function"
    return "arithmetic"


def quotient_kind(op: ir.Operation) -> str:
    """Integers are divided by powers of two as fast as they are added, by other constants as fast as multiplied."""
    divisor = op.operands[1]
    made = None if isinstance(divisor.owner, ir.Block) else divisor.owner
    if made is None or made.name != "arith.constant":
        return "quotient"
    number = made.attributes["value"]
    power = isinstance(number, ir.IntegerAttr) and number.value > 0 and not number.value & (number.value - 1)
    return "arithmetic" if power else "quotient by constant"


class Reader:
    """Steps of a kernel."""

    def __init__(self, function: ir.Operation) -> None:
        self.slots: dict[ir.Value, int] = {}
        self.plain: set[int] = set()
        """Values that the compiler sees to grow evenly from thread to thread."""
        block = function.regions[0].blocks[0]
        self.arguments = [self.slot(argument) for argument in block.arguments]
        self.steps = self.block(block)

    def slot(self, value: ir.Value) -> int:
        return self.slots.setdefault(value, len(self.slots))

    def block(self, block: ir.Block) -> tuple[Step, ...]:
        self.plain |= {self.slot(a) for a in block.arguments}
        return tuple(self.step(op.operation) for op in block.operations)

    def step(self, op: ir.Operation) -> Step:
        made = Step(op.name, kind_of(op), tuple(self.slot(v) for v in op.operands),
                    tuple(self.slot(v) for v in op.results))
        if op.results and str(op.results[0].type)[0] == "i" and str(op.results[0].type)[1:].isdigit():
            made.width = int(str(op.results[0].type)[1:])
        if op.operands and str(op.operands[0].type)[0] == "i" and str(op.operands[0].type)[1:].isdigit():
            made.narrow = int(str(op.operands[0].type)[1:])
        if op.name == "arith.constant":
            value = op.attributes["value"]
            made.extra = int(value.value) if isinstance(value, (ir.IntegerAttr, ir.BoolAttr)) else None
        elif op.name == "arith.cmpi":
            made.extra = _PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value]
        elif op.name in ("gpu.thread_id", "gpu.block_id"):
            made.extra = next(d for d in range(3) if "xyz"[d] in str(op.attributes["dimension"]).split()[-1])
        if op.results and (op.name in _EVEN and all(o in self.plain for o in made.operands)):
            self.plain.add(made.results[0])
            made.share = 0.0
        elif made.operands:
            made.share = min(_bits(op.operands[0].type), 64) / 64
        if made.kind in ("load", "store"):
            made.share = _bits((op.results or op.operands)[0].type) / 64
            made.shared = "workgroup" in str(op.operands[0 if made.kind == "load" else 1].type)
            made.extra = made.operands[-1] in self.plain
        if op.name != "memref.generic_atomic_rmw":
            made.regions = tuple((tuple(self.slot(a) for a in block.arguments), self.block(block))
                                 for region in op.regions for block in region.blocks)
        made.meets = made.kind in ("barrier", "shuffle", "vote") \
            or any(s.meets for _, body in made.regions for s in body)
        return made


def same_for_threads(reader: Reader, along: int) -> set[int]:
    """Values that threads along a dimension of the block have in common: the compiler takes them out of the loop."""
    same = set(reader.arguments)

    def look(steps: tuple[Step, ...]) -> None:
        for step in steps:
            alike = all(o in same for o in step.operands)
            if step.name == "gpu.thread_id":
                alike = step.extra != along
            for arguments, body in step.regions:
                if step.name == "scf.for" and all(o in same for o in step.operands[:3]):
                    same.add(arguments[0])
                look(body)
            if alike and not step.regions and step.name not in _VARYING:
                same.update(step.results)
    look(reader.steps)
    return same


def _bits(kind: ir.Type) -> int:
    digits = "".join(c for c in str(kind) if c.isdigit()) if str(kind)[0] in "ifb" and str(kind) != "index" else ""
    return int(digits) if digits else 64


def _signed(number: int, width: int) -> int:
    number &= (1 << width) - 1
    return number - (1 << width) if number >> (width - 1) else number


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
_BINARY: dict[str, Callable[[int, int, int], int]] = {
    "arith.addi": lambda a, b, w: a + b, "arith.subi": lambda a, b, w: a - b, "arith.muli": lambda a, b, w: a * b,
    "arith.divsi": lambda a, b, w: _quotient(a, b), "arith.remsi": lambda a, b, w: a - b * _quotient(a, b),
    "arith.divui": lambda a, b, w: (a % (1 << w)) // (b % (1 << w)),
    "arith.remui": lambda a, b, w: (a % (1 << w)) % (b % (1 << w)),
    "arith.andi": lambda a, b, w: a & b, "arith.ori": lambda a, b, w: a | b, "arith.xori": lambda a, b, w: a ^ b,
    "arith.shli": lambda a, b, w: a << (b % 64), "arith.shrsi": lambda a, b, w: a >> (b % 64),
    "arith.shrui": lambda a, b, w: (a % (1 << w)) >> (b % 64), "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxui": lambda a, b, w: max(a % (1 << w), b % (1 << w)),
    "arith.minui": lambda a, b, w: min(a % (1 << w), b % (1 << w))}


def _compared(predicate: str, a: int, b: int, width: int) -> bool:
    if predicate[0] == "u":
        a, b = a % (1 << width), b % (1 << width)
    return _COMPARE[predicate[-2:]](a, b)


def _result(step: Step, operands: list[int]) -> int | None:
    """The number of an operation on known numbers; None for what only floats have."""
    name = step.name
    if name == "arith.select":
        return operands[1 if operands[0] else 2]
    if name == "arith.cmpi":
        return int(_compared(step.extra, operands[0], operands[1], step.narrow))
    if name in _BINARY:
        return _signed(_BINARY[name](operands[0], operands[1], step.width), step.width)
    if name == "math.absi":
        return abs(operands[0])
    if name in ("arith.index_cast", "arith.extsi", "arith.trunci"):
        return _signed(operands[0], step.width)
    if name in ("arith.extui", "arith.index_castui"):
        return operands[0] % (1 << step.narrow)
    return None


class Run:
    """Two neighbouring threads, the control flow of the first."""

    def __init__(self, reader: Reader, places: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...],
                 same: AbstractSet[int] = frozenset(), held: dict[int, float] | None = None, lanes: int = 1) -> None:
        self.reader, self.places = reader, places       # (thread, block) of each
        self.same, self.held = same, held or {}         # values of all threads; numbers of an array for each thread
        self.lanes = lanes
        self.values: list[Pair] = [None] * len(reader.slots)
        self.counts = Counts()
        self.left = BUDGET
        self.block(reader.steps, 1.0, "")

    def block(self, steps: tuple[Step, ...], weight: float, where: str) -> tuple[Pair, ...]:
        """What the terminator hands on."""
        for step in steps:
            if step.name in ("scf.yield", "scf.condition", "func.return"):
                return tuple(self.values[o] for o in step.operands)
            self.step(step, weight, where)
        return ()

    def step(self, step: Step, weight: float, where: str) -> None:
        self.left -= 1
        if step.regions:
            getattr(self, step.name.replace(".", "_"), self.unknown)(step, weight, where)
            return
        kind = step.kind
        if kind and not where and step.results and all(r in self.same for r in step.results):
            kind = ""
        if kind in ("load", "store"):
            index = self.values[step.operands[-1]]
            near = step.extra and (index is None or 0 <= index[1] - index[0] <= 1)
            if near and not where:
                self.counts.whole[kind] += weight if step.share else 0
            weight = weight if where else weight * step.share
            if near:
                self.counts[kind + where] += weight
            else:
                self.counts[kind + " far" + where] += weight * (SHARED if step.shared and not where else 1)
        elif kind:
            self.counts[kind + where] += weight if where else weight * step.share
            if not where:
                self.counts.whole[kind] += weight if step.share else 0
        if step.results:
            found = self.number(step)
            for slot in step.results:
                self.values[slot] = found

    def number(self, step: Step) -> Pair:
        name = step.name
        if name == "arith.constant":
            return None if step.extra is None else (step.extra, step.extra)
        if name in ("gpu.thread_id", "gpu.block_id"):
            which = name == "gpu.block_id"
            return self.places[0][which][step.extra], self.places[1][which][step.extra]
        known = [v for o in step.operands if (v := self.values[o]) is not None]
        if not known or len(known) < len(step.operands):
            return None
        try:
            found = [_result(step, [pair[k] for pair in known]) for k in (0, 1)]
        except ZeroDivisionError:
            return None
        return None if found[0] is None or found[1] is None else (found[0], found[1])

    # -- control flow

    def bind(self, slots: tuple[int, ...], values: tuple[Pair, ...]) -> None:
        for slot, value in zip(slots, values, strict=True):
            self.values[slot] = value

    def forget(self, slots: tuple[int, ...]) -> None:
        for slot in slots:
            self.values[slot] = None

    def scf_if(self, step: Step, weight: float, where: str) -> None:
        condition = self.values[step.operands[0]]
        if condition is not None:
            number = 0 if condition[0] else 1
            if number < len(step.regions):
                self.bind(step.results, self.block(step.regions[number][1], weight, where))
            return
        if where or step.meets:
            self.counts["branch"] += weight
        for _, body in step.regions:
            self.block(body, weight / 2 if where or step.meets else weight, where)
        self.forget(step.results)

    def unknown(self, step: Step, weight: float, where: str) -> None:
        for arguments, body in step.regions:
            self.forget(arguments)
            self.block(body, weight / len(step.regions), where)
        self.forget(step.results)

    def scf_for(self, step: Step, weight: float, where: str) -> None:
        (counter, *carried), body = step.regions[0]
        bounds = [v for o in step.operands[:3] if (v := self.values[o]) is not None]
        self.bind(tuple(carried), tuple(self.values[o] for o in step.operands[3:]))
        if len(bounds) < 3 or not bounds[2][0]:
            self.forget((counter, *carried))
            together = all(o in self.same for o in step.operands[:3])
            iterations = self.guessed(counter, body, self.lanes if together else 1)
            self.counts.seen(iterations * DIVERGENT)
            self.block(body, weight * iterations, where if step.meets else " apart")
            self.forget(step.results)
            return
        (low, other_low), (high, _), (by, _) = bounds
        iterations = max(0, -(-(high - low) // by))
        if not all(o in self.same for o in step.operands[:3]):
            self.counts.seen(iterations)
        branches = any(inner.name == "scf.if" and inner.operands[0] not in self.same for inner in body)
        written_out = iterations <= SHORT and not branches and all(o in self.same for o in step.operands[:3])
        where = where if step.meets or written_out or iterations <= 1 or where == " apart" else " alone"
        exact = iterations <= EXACT or iterations <= 4 * EXACT and step.meets
        chosen = range(iterations) if exact else sorted({0, iterations // 3, 2 * iterations // 3, iterations - 1})
        if self.left < 0:
            chosen = range(min(iterations, 1))
        for number, iteration in enumerate(chosen):
            if number and not exact:
                self.forget(tuple(carried))
            self.values[counter] = low + iteration * by, other_low + iteration * by
            yielded = self.block(body, weight if exact and self.left >= 0 else weight * iterations / len(chosen), where)
            self.bind(tuple(carried), yielded)
        if exact:
            self.bind(step.results, tuple(self.values[c] for c in carried))
        else:
            self.forget(step.results)

    def guessed(self, counter: int, body: tuple[Step, ...], sharing: int) -> float:
        """Iterations of a loop between numbers that are loaded, as over the rows of a sparse matrix: all threads
        together,
        `sharing` of which go the same way, go once through the arrays that it indexes."""
        grown, most = {counter}, 0.0

        def look(steps: tuple[Step, ...]) -> None:
            nonlocal most
            for step in steps:
                if step.name.startswith("arith.") and any(o in grown for o in step.operands):
                    grown.update(step.results)
                elif step.kind == "load" and step.operands[-1] in grown:
                    most = max(most, sharing * self.held.get(step.operands[0], 0.0))
                for _, inner in step.regions:
                    look(inner)
        look(body)
        return min(max(most, 1.0), LONGEST_GUESS) if most else UNKNOWN_ITERATIONS

    def scf_while(self, step: Step, weight: float, where: str) -> None:
        (before, first), (after, second) = step.regions
        self.bind(before, tuple(self.values[o] for o in step.operands))
        end = first[-1]
        compared = next((s for s in first if s.results and s.results[0] == end.operands[0] and s.name == "arith.cmpi"),
                        None)
        inside = where if step.meets or where == " apart" else " alone"
        distances: list[int] = []
        iteration = 0
        while True:
            condition, *handed = self.block(first, weight, inside)
            if condition is None or self.left < 0:
                self.counts.seen(UNKNOWN_ITERATIONS * DIVERGENT)
                self.rest(step, weight * UNKNOWN_ITERATIONS, where if step.meets else " apart")
                return
            if not condition[0]:
                self.counts.seen(iteration)
                self.bind(step.results, tuple(handed))
                return
            sides = [v for o in compared.operands if (v := self.values[o]) is not None] if compared is not None else []
            if len(sides) == 2:
                distances.append(sides[0][0] - sides[1][0])
            iteration += 1
            if iteration > 2 * EXACT and len(distances) > 2 \
                    and distances[-1] - distances[-2] == distances[1] - distances[0]:
                change = distances[-1] - distances[-2]
                left = -distances[-1] / change if change and distances[-1] * change < 0 else UNKNOWN_ITERATIONS
                self.counts.seen(iteration + left)
                self.rest(step, weight * left, inside)
                return
            self.bind(after, tuple(handed))
            self.bind(before, self.block(second, weight, inside))

    def rest(self, step: Step, weight: float, where: str) -> None:
        """Iterations of which nothing is known, all at once."""
        for arguments, body in step.regions:
            self.forget(arguments)
            self.block(body, weight, where)
        self.forget(step.results)


def counts_of(record: KernelRecord, structured: ir.Module) -> Counts:
    """What a thread executes, on the average of a few; neighbours are those of the innermost loop over threads, which
    goes along rows where threads do not meet (`native.order`)."""
    reader = Reader(kernel_of(structured))
    meets = any(step.meets for step in reader.steps)
    ways = [d for d in range(3) if record.block[d] > 1 and (not meets or d == 0)] or [0]
    return min((_counts(record, reader, d) for d in ways), key=lambda c: c["load far"] + c["store far"])


def _counts(record: KernelRecord, reader: Reader, along: int) -> Counts:
    total = Counts(record.block[along])
    threads = record.block[0] * record.block[1] * record.block[2]
    same = same_for_threads(reader, along)
    held = {slot: p.elements / record.threads for slot, p in zip(reader.arguments, record.parameters, strict=False)
            if isinstance(p, Buffer)}
    for among_blocks, in_block in SAMPLES:
        block = _place(int(among_blocks * record.grid[0] * record.grid[1] * record.grid[2]), record.grid)
        first = list(_place(int(in_block * threads), record.block))
        first[along] = max(min(first[along], record.block[along] - 2), 0)
        second = [n + (d == along and record.block[d] > 1) for d, n in enumerate(first)]
        found = Run(reader, ((tuple(first), block), (tuple(second), block)), same, held, threads).counts
        for kind, number in found.items():
            total[kind] += number / len(SAMPLES)
        for kind, number in found.whole.items():
            total.whole[kind] += number / len(SAMPLES)
        if found.iterations is not None:
            total.seen(found.iterations)
    return total


def _place(number: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    number = max(0, min(number, sizes[0] * sizes[1] * sizes[2] - 1))
    return number % sizes[0], number // sizes[0] % sizes[1], number // sizes[0] // sizes[1]
