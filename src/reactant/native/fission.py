"""Blocks of threads that meet in uniform control flow: cut at the meetings into loops over threads.

Between two meetings a loop runs all threads; LLVM vectorises it. Control flow around meetings that is the same for
all threads is run once for the block. A value that one loop computes and another uses is kept in an array with a slot
for each thread, or computed again where that is a few integer operations. An `if` that differs between threads is
kept as a mask of the loops inside; where it holds barriers of the block, that needs that no thread outside meets
another barrier later (`if i < n: everything`, an early return).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.native import bounds, layout
from reactant.native.control import Phis
from reactant.native.emission import Function, define_all, flat
from reactant.native.memory import counted, product
from reactant.native.place import Launch, Place, flat_thread, over_threads
from reactant.native.uniformity import REDUCING, callee, divergent_values, operations

VOTES = ("reactant.vote.ballot", "reactant.vote.any", "reactant.vote.all")
_KNOWN_CALLS = (*REDUCING, *VOTES, "reactant.barrier.warp")
_AGAIN = 6
"""Operations up to which a value is computed again rather than kept."""


def _meets(op: ir.Operation, what: Callable[[ir.Operation], bool]) -> bool:
    return what(op) or any(_meets(inner, what) for region in op.regions for inner in operations(region))


def _is_meeting(op: ir.Operation) -> bool:
    return op.name in ("gpu.barrier", "gpu.shuffle") or callee(op).startswith("reactant.")


def _is_blockwide(op: ir.Operation) -> bool:
    return op.name == "gpu.barrier" or callee(op) in REDUCING


def possible(launch: Launch) -> bool:
    """Whether every meeting is one that can be cut at."""
    divergent = divergent_values(launch.op)

    def fits(region: ir.Region, masked: bool, last: bool) -> bool:
        """masked: threads may be missing. last: no barrier of the block can follow this region."""
        if len(region.blocks) != 1:
            return False
        inside = list(operations(region))
        barrier_follows = not last
        for op in reversed(inside):
            if not _op_fits(op, masked, not barrier_follows):
                return False
            barrier_follows |= _meets(op, _is_blockwide)
        return True

    def _op_fits(op: ir.Operation, masked: bool, last: bool) -> bool:
        if not _meets(op, _is_meeting):
            return True
        if _is_meeting(op):
            name = callee(op)
            if name in REDUCING:
                return not masked
            return op.name in ("gpu.barrier", "gpu.shuffle") or name in _KNOWN_CALLS
        if op.name == "scf.for":
            return not any(v in divergent for v in list(op.operands)[:3]) and fits(op.regions[0], masked, False)
        if op.name == "scf.while":
            condition = list(operations(op.regions[0]))[-1]
            return condition.operands[0] not in divergent and all(fits(r, masked, False) for r in op.regions)
        if op.name == "scf.if":
            branches = [r for r in op.regions if len(r.blocks)]
            if op.operands[0] not in divergent:
                return all(fits(r, masked, last) for r in branches)
            if sum(_region_meets(r, _is_blockwide) for r in branches) > (1 if last else 0):
                return False
            return all(fits(r, True, last) for r in branches)
        return False
    return fits(launch.op.regions[0], False, True)


def _region_meets(region: ir.Region, what: Callable[[ir.Operation], bool]) -> bool:
    return any(_meets(op, what) for op in operations(region))


Slot = tuple[tuple[str, str], ...]
"""(LLVM type in memory, pointer to an array with a number for each thread) of each part of a value."""


class Cutter:
    """Translates one block of threads."""

    def __init__(self, f: Function, launch: Launch, block: tuple[str, str, str]) -> None:
        self.f, self.launch, self.block = f, launch, block
        self.divergent = divergent_values(launch.op)
        self.slots: dict[ir.Value, Slot] = {}
        self.again: dict[ir.Value, bool] = {}
        self.masks: list[tuple[str, bool]] = []
        """Arrays of conditions (a byte for each thread) that a thread must meet to take part, and whether they must
        hold or fail."""
        self.locals: dict[ir.Value, str] = {}
        f.place = Place(("", "", ""), block, launch)

    # -- values of threads

    def slot(self, value: ir.Value) -> Slot:
        """The array that keeps a value for each thread."""
        if value not in self.slots:
            self.slots[value] = self.new_slot(value.type)
        return self.slots[value]

    def computed_again(self, value: ir.Value) -> bool:
        """Whether a divergent value costs little enough to compute it wherever it is used."""
        if value not in self.again:
            self.again[value] = self._price(value, _AGAIN) is not None
        return self.again[value]

    def _price(self, value: ir.Value, budget: int) -> int | None:
        """Operations to compute a value again; None when they exceed the budget."""
        if value not in self.divergent or value in self.slots:
            return 0
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        if owner.name in ("gpu.thread_id", "gpu.lane_id", "gpu.subgroup_id", "gpu.global_id"):
            return 0
        if not owner.name.startswith("arith.") or owner.name.startswith(("arith.div", "arith.rem")) or budget < 1:
            return None
        spent = 1
        for operand in owner.operands:
            price = self._price(operand, budget - spent)
            if price is None:
                return None
            spent += price
        return spent if spent <= budget else None

    def new_slot(self, type_: ir.Type) -> Slot:
        kinds = ["i8" if t == "i1" else t for t in layout.parts(type_)]
        return tuple((t, self.f.allocate(t, self.launch.threads)) for t in kinds)

    def load(self, kind: str, pointer: str, number: str) -> str:
        """A number from an array with one for each thread."""
        at = self.f.let(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {number}")
        return self.f.let(f"load {kind}, ptr {at}, align {layout.nbytes(kind)}{self._note()}")

    def load_slot(self, value: ir.Value, number: str) -> None:
        """Define a kept value in the loop over threads."""
        made = []
        for (kind, pointer), wanted in zip(self.slot(value), layout.parts(value.type), strict=True):
            loaded = self.load(kind, pointer, number)
            made.append(self.f.let(f"icmp ne i8 {loaded}, 0") if wanted == "i1" else loaded)
        self.f.define(value, *made)

    def store(self, slot: Slot, number: str, type_: ir.Type, parts: Sequence[str]) -> None:
        f = self.f
        for (kind, pointer), wanted, part in zip(slot, layout.parts(type_), parts, strict=True):
            if wanted == "i1":
                part = f.let(f"zext i1 {part} to i8")
            at = f.let(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {number}")
            f.line(f"store {kind} {part}, ptr {at}, align {layout.nbytes(kind)}{self._note()}")

    def _note(self) -> str:
        return f", !llvm.access.group {self.f.groups[-1]}" if self.f.groups else ""

    # -- loops over threads

    def run(self, ops: list[ir.Operation], assigned: Sequence[tuple[Slot, ir.Value]] = ()) -> None:
        """A loop over threads that runs `ops`, then puts values into the slots of others (all at once)."""
        f = self.f
        threaded = []
        for op in ops:
            if op.results and not any(r in self.divergent for r in op.results):
                f.emit(op)      # the same for all threads: once
            else:
                threaded.append(op)
        kept = [r for op in threaded for r in op.results if self._leaves(r, ops)]
        for value in kept:
            self.slot(value)
        if not threaded and not assigned:
            return
        needed = self._needed(threaded, [s for _, s in assigned], ops)

        def body(number: str) -> None:
            self._define_needed(needed, number)
            for op in threaded:
                f.emit(op)
            for value in kept:
                self.store(self.slots[value], number, value.type, f.operands(value))
            for slot, source in assigned:
                self.store(slot, number, source.type, f.operands(source))
        self.over_threads(body)

    def over_threads(self, body: Callable[[str], None]) -> None:
        """A loop over the threads that take part; the body gets the thread's number."""
        f = self.f

        def thread(index: tuple[str, str, str]) -> None:
            f.place = Place(index, self.block, self.launch)
            number = flat_thread(f, f.place)
            if not self.masks:
                body(number)
                return
            holds = self.takes_part(number)
            inside, after = f.fresh("here"), f.fresh("elsewhere")
            f.branch_if(holds, inside, after)
            f.start(inside)
            body(number)
            f.branch(after)
            f.start(after)
        over_threads(f, self.launch, thread)

    def takes_part(self, number: str) -> str:
        """Whether a thread is inside the `if`s around."""
        f, holds = self.f, "true"
        for pointer, wanted in self.masks:
            one = f.let(f"icmp {'ne' if wanted else 'eq'} i8 {self.load('i8', pointer, number)}, 0")
            holds = one if holds == "true" else f.let(f"and i1 {holds}, {one}")
        return holds

    def _leaves(self, value: ir.Value, ops: list[ir.Operation]) -> bool:
        """Whether a divergent value is used outside the ops of its loop and has to be kept."""
        if value not in self.divergent or layout.is_memref(value.type):
            return False
        own = value.owner.operation.parent.operation
        for use in value.uses:
            user = use.owner.operation
            while user.parent.operation != own:
                user = user.parent.operation
            if not any(user == op for op in ops):
                return not self.computed_again(value)
        return False

    def _needed(self, threaded: list[ir.Operation], sources: list[ir.Value], ops: list[ir.Operation]
                ) -> list[ir.Value]:
        """Divergent values from elsewhere that a loop uses, each after those it is computed from."""
        inside = {r for op in ops for r in op.results}
        found: dict[ir.Value, None] = {}

        def want(value: ir.Value) -> None:
            if value not in self.divergent or value in inside or value in found:
                return
            if value not in self.slots and not isinstance(value.owner, ir.Block) and not layout.is_memref(value.type):
                for operand in value.owner.operands:
                    want(operand)
            found[value] = None

        def visit(op: ir.Operation, own: set[ir.Value]) -> None:
            for value in op.operands:
                if value not in own:
                    want(value)
            for region in op.regions:
                for block in region:
                    own |= set(block.arguments)
                    for inner in block.operations:
                        visit(inner.operation, own)
                        own |= set(inner.operation.results)
        for op in threaded:
            visit(op, set())
        for value in sources:
            want(value)
        return list(found)

    def _define_needed(self, needed: list[ir.Value], number: str) -> None:
        for value in needed:
            if value in self.slots:
                self.load_slot(value, number)
            elif layout.is_memref(value.type):
                self.define_local(value, number)
            else:
                self.f.emit(value.owner)

    def define_local(self, value: ir.Value, number: str) -> None:
        """A thread's own array: its part of the arrays of all threads."""
        f, place = self.f, layout.memory(value.type)
        kind, count = layout.in_memory(place.number), 1 + place.is_complex
        for extent in place.shape:
            count *= extent or 0
        base = self.locals[value]
        pointer = f.let(f"getelementptr inbounds {kind}, ptr {base}, i64 {product(f, number, str(count))}")
        limits = bounds.of_new(f, pointer, str(count * layout.nbytes(kind)), f"a thread's {value.type}")
        f.define(value, *layout.parts_of(value.type, pointer, tuple(map(str, place.shape)),
                                         tuple(map(str, place.strides)), limits))

    def make_local(self, op: ir.Operation) -> None:
        """Arrays of all threads for a local array."""
        place = layout.memory(op.results[0].type)
        count = self.launch.threads * (1 + place.is_complex)
        for extent in place.shape:
            count *= extent or 0
        self.locals[op.results[0]] = self.f.allocate(layout.in_memory(place.number), count)

    # -- structure

    def region(self, ops: list[ir.Operation], assigned: Sequence[tuple[Slot, ir.Value]] = ()) -> None:
        """Ops in order, cut at the meetings; at the end values are put into slots of others."""
        waiting: list[ir.Operation] = []
        for op in ops:
            if op.name == "memref.alloca":
                if op.results[0] not in self.f.values:
                    self.make_local(op)
                continue
            if not _meets(op, _is_meeting):
                waiting.append(op)
                continue
            if _is_meeting(op):
                self.meeting(waiting, op)
            else:
                {"scf.for": self.loop, "scf.while": self.repeat, "scf.if": self.branch}[op.name](waiting, op)
            waiting = []
        self.run(waiting, assigned)

    def split(self, sources: Sequence[ir.Value], targets: Sequence[ir.Value]
              ) -> tuple[list[tuple[Slot, ir.Value]], list[int]]:
        """(slots of divergent targets with their sources, positions of the uniform ones)."""
        return ([(self.slot(t), s) for s, t in zip(sources, targets, strict=True) if t in self.divergent],
                [i for i, t in enumerate(targets) if t not in self.divergent])

    def loop(self, waiting: list[ir.Operation], op: ir.Operation) -> None:
        f, block = self.f, op.regions[0].blocks[0]
        arguments, results = list(block.arguments)[1:], list(op.results)
        initial = list(op.operands)[3:]
        assigned, uniform = self.split(initial, arguments)
        for argument, result in zip(arguments, results, strict=True):
            if argument in self.divergent:
                self.slots[result] = self.slot(argument)
        self.run(waiting, assigned)
        lower, upper, step = (f.one(v) for v in list(op.operands)[:3])
        head, body, after = f.fresh("for"), f.fresh("body"), f.fresh("endfor")
        kind, counter, first = layout.scalar(block.arguments[0].type), "%" + f.fresh("iv"), f.block
        f.branch(head)
        f.start(head)
        line = f.reserve()
        f.define(block.arguments[0], counter)
        phis = Phis(f, [arguments[i] for i in uniform])
        phis.add(first, flat(f, [initial[i] for i in uniform]))
        f.branch_if(f.let(f"icmp {'ult' if 'unsignedCmp' in op.attributes else 'slt'} {kind} {counter}, {upper}"),
                    body, after)
        f.start(body)
        *inside, end = operations(op.regions[0])
        yielded = list(end.operands)
        self.region(inside, self.split(yielded, arguments)[0])
        following = f.let(f"add nsw {kind} {counter}, {step}")
        f.body[line] = f"  {counter} = phi {kind} [{lower}, %{first}], [{following}, %{f.block}]"
        phis.add(f.block, flat(f, [yielded[i] for i in uniform]))
        phis.close()
        f.branch(head)
        f.start(after)
        define_all(f, [results[i] for i in uniform], phis.names)

    def repeat(self, waiting: list[ir.Operation], op: ir.Operation) -> None:
        f, (before, after) = self.f, (r.blocks[0] for r in op.regions)
        *first_ops, condition = operations(op.regions[0])
        *second_ops, end = operations(op.regions[1])
        initial, arguments = list(op.operands), list(before.arguments)
        handed, targets, results = list(condition.operands)[1:], list(after.arguments), list(op.results)
        assigned, uniform = self.split(initial, arguments)
        for target, result in zip(targets, results, strict=True):
            if target in self.divergent:
                self.slots[result] = self.slot(target)
        self.run(waiting, assigned)
        head, body, out, start = f.fresh("while"), f.fresh("do"), f.fresh("endwhile"), f.block
        f.branch(head)
        f.start(head)
        phis = Phis(f, [arguments[i] for i in uniform])
        phis.add(start, flat(f, [initial[i] for i in uniform]))
        given, plain = self.split(handed, targets)
        self.region(first_ops, given)
        operands = flat(f, [handed[i] for i in plain])
        f.branch_if(f.one(condition.operands[0]), body, out)
        f.start(body)
        define_all(f, [targets[i] for i in plain], operands)
        yielded = list(end.operands)
        self.region(second_ops, self.split(yielded, arguments)[0])
        phis.add(f.block, flat(f, [yielded[i] for i in uniform]))
        phis.close()
        f.branch(head)
        f.start(out)
        define_all(f, [results[i] for i in plain], operands)

    def branch(self, waiting: list[ir.Operation], op: ir.Operation) -> None:
        f, condition, results = self.f, op.operands[0], list(op.results)
        regions = [r for r in op.regions if len(r.blocks)]
        if condition in self.divergent:
            mask = self.new_slot(condition.type)
            self.run(waiting, [(mask, condition)])
            for region, wanted in zip(regions, (True, False), strict=False):
                *inside, end = operations(region)
                self.masks.append((mask[0][1], wanted))
                self.region(inside, self.split(list(end.operands), results)[0])
                self.masks.pop()
            return
        self.run(waiting)
        yes, no, after = f.fresh("then"), f.fresh("else"), f.fresh("endif")
        f.branch_if(f.one(condition), yes, no if len(regions) > 1 else after)
        edges: list[tuple[str, tuple[str, ...]]] = [] if len(regions) > 1 else [(f.block, ())]
        uniform = [i for i, r in enumerate(results) if r not in self.divergent]
        for label, region in zip((yes, no), regions, strict=False):
            f.start(label)
            *inside, end = operations(region)
            yielded = list(end.operands)
            self.region(inside, self.split(yielded, results)[0])
            edges.append((f.block, flat(f, [yielded[i] for i in uniform])))
            f.branch(after)
        f.start(after)
        phis = Phis(f, [results[i] for i in uniform])
        phis.edges = edges
        phis.close()

    # -- meetings

    def meeting(self, waiting: list[ir.Operation], op: ir.Operation) -> None:
        name = callee(op)
        if op.name == "gpu.barrier" or name == "reactant.barrier.warp":
            self.run(waiting)
        elif op.name == "gpu.shuffle":
            self.shuffle(waiting, op)
        elif name in REDUCING:
            self.reduce(waiting, op)
        else:
            self.vote(waiting, op)

    def gathered(self, waiting: list[ir.Operation], value: ir.Value) -> Slot:
        """Every thread's value of an operand, as an array; all have computed it."""
        array = self.new_slot(value.type)
        self.run(waiting)
        needed = self._needed([], [value], [])

        def body(number: str) -> None:
            self._define_needed(needed, number)
            self.store(array, number, value.type, self.f.operands(value))
        self.over_threads(body)
        return array

    def shuffle(self, waiting: list[ir.Operation], op: ir.Operation) -> None:
        """Every lane gets the value of another; its own outside the segment, 0 of one that does not take part."""
        f, (value, offset, width) = self.f, op.operands
        mode = attr.enumerator(op.attributes["mode"])
        (kind, pointer), = self.gathered(waiting, value)
        for result in op.results:
            self.slot(result)
        needed = self._needed([], [value, offset, width], [])
        count = self.launch.threads

        def body(number: str) -> None:
            self._define_needed(needed, number)
            by, size = (f.let(f"sext i32 {f.one(v)} to i64") for v in (offset, width))
            lane = f.let(f"and i64 {number}, 31") if number[0] == "%" else str(int(number) % 32)
            start = f.let(f"sub i64 {lane}, {f.let(f'urem i64 {lane}, {size}')}")
            end = f.let(f"add i64 {start}, {size}")
            if mode == "idx":
                inner = f.let(f"and i64 {by}, {f.let(f'sub i64 {size}, 1')}")
                source = f.let(f"add i64 {start}, {inner}")
            else:
                source = f.let(f"{ {'up': 'sub', 'down': 'add', 'xor': 'xor'}[mode] } i64 {lane}, {by}")
            inside = f.let(f"icmp slt i64 {source}, {end}")
            if mode != "xor":
                inside = f.let(f"and i1 {inside}, {f.let(f'icmp sge i64 {source}, {start}')}")
            other = f.let(f"add i64 {f.let(f'sub i64 {number}, {lane}')}, {source}")
            there = f.let(f"select i1 {inside}, i1 {f.let(f'icmp ult i64 {other}, {count}')}, i1 false")
            other = f.let(f"select i1 {there}, i64 {other}, i64 {number}")
            if self.masks:
                there = f.let(f"and i1 {there}, {self.takes_part(other)}")
            got = self.load(kind, pointer, other)
            if self.masks or count % 32:
                missing = f.let(f"and i1 {inside}, {f.let(f'xor i1 {there}, true')}")
                got = f.let(f"select i1 {missing}, {kind} zeroinitializer, {kind} {got}")
            self.store(self.slot(op.results[0]), number, op.results[0].type, [got])
            self.store(self.slot(op.results[1]), number, op.results[1].type, [inside])
        self.over_threads(body)

    def reduce(self, waiting: list[ir.Operation], op: ir.Operation) -> None:
        """A barrier that tells how many threads' predicates hold, or whether all or any do."""
        f, count = self.f, self.launch.threads
        (kind, pointer), = self.gathered(waiting, op.operands[0])
        held = "%" + f.fresh("held")
        f.entry.append(f"  {held} = alloca i32, align 4")
        f.line(f"store i32 0, ptr {held}")

        def body(number: str) -> None:
            at = f.let(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {number}")
            holds = f.let(f"icmp ne {kind} {f.let(f'load {kind}, ptr {at}')}, 0")
            more = f.let(f"add i32 {f.let(f'load i32, ptr {held}')}, {f.let(f'zext i1 {holds} to i32')}")
            f.line(f"store i32 {more}, ptr {held}")
        counted(f, "0", str(count), body)
        number = f.let(f"load i32, ptr {held}")
        if callee(op) != REDUCING[0]:
            how = f"icmp eq i32 {number}, {count}" if callee(op) == REDUCING[1] else f"icmp ne i32 {number}, 0"
            number = f.let(f"zext i1 {f.let(how)} to i32")
        f.define(op.results[0], number)

    def vote(self, waiting: list[ir.Operation], op: ir.Operation) -> None:
        """ballot, any, all of a warp: the predicates as bits of one number for each warp."""
        f, (mask, predicate) = self.f, op.operands
        warps = -(-self.launch.threads // 32)
        bits, here = f.allocate("i32", warps), f.allocate("i32", warps)
        (kind, pointer), = self.gathered(waiting, predicate)
        self.slot(op.results[0])

        def clear(warp: str) -> None:
            for array in (bits, here):
                f.line(f"store i32 0, ptr {f.let(f'getelementptr i32, ptr {array}, i64 {warp}')}")
        counted(f, "0", str(warps), clear)

        def collect(number: str) -> None:
            lane = f.let(f"trunc i64 {f.let(f'and i64 {number}, 31')} to i32")
            there = self.takes_part(number) if self.masks else "true"
            at = f.let(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {number}")
            holds = f.let(f"icmp ne {kind} {f.let(f'load {kind}, ptr {at}')}, 0")
            holds = f.let(f"select i1 {there}, i1 {holds}, i1 false")
            for array, flag in ((bits, holds), (here, there)):
                place = f.let(f"getelementptr i32, ptr {array}, i64 {f.let(f'lshr i64 {number}, 5')}")
                bit = f.let(f"shl i32 {f.let(f'zext i1 {flag} to i32')}, {lane}")
                f.line(f"store i32 {f.let(f'or i32 {bit}, ' + f.let(f'load i32, ptr {place}'))}, ptr {place}")
        counted(f, "0", str(self.launch.threads), collect)
        needed = self._needed([], [mask], [])

        def body(number: str) -> None:
            self._define_needed(needed, number)
            warp = f.let(f"lshr i64 {number}, 5")
            held, present = (f.let(f"load i32, ptr {f.let(f'getelementptr i32, ptr {array}, i64 {warp}')}")
                             for array in (bits, here))
            members = f.let(f"and i32 {f.one(mask)}, {present}")
            made = f.let(f"and i32 {held}, {members}")
            if callee(op) != VOTES[0]:
                made = f.let(f"icmp {'ne' if callee(op) == VOTES[1] else 'eq'} i32 {made}, "
                             f"{'0' if callee(op) == VOTES[1] else members}")
            self.store(self.slot(op.results[0]), number, op.results[0].type, [made])
        self.over_threads(body)


def emit_blocks_of_threads(f: Function, launch: Launch, block: tuple[str, str, str]) -> None:
    """One block of threads."""
    cutter = Cutter(f, launch, block)
    cutter.region(list(operations(launch.op.regions[0]))[:-1])

