"""`scf.parallel`: a function of its own for a range of iterations, run by one thread or by several.

The iterations of all dimensions but the last are counted through by one number; threads take pieces of its range.
Inside a piece the last dimension is a plain loop, for the vectoriser. Loads and stores carry an access group, so that
it need not prove that iterations are independent.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.native import layout
from reactant.native.control import loop_note, trip_count
from reactant.native.emission import Function, captured, define_all, emits, flat, hand_over
from reactant.native.memory import counted, parallel_group, product, total

WORTH = 40_000
"""Operations from which a loop is spread over threads (about 10 us)."""
PIECE = 8_000
"""Operations a piece should have at least."""
PIECES_PER_THREAD = 8
MANY = 16
"""Rows of a parallel loop below which the rows are cut."""
UNKNOWN_TRIPS = 16
"""Taken for a loop whose number of iterations is not known."""
TOLD = "reactant.work"
"""Attribute: the operations of one iteration, where they cannot be seen (bounds known at run time)."""
_CHEAP = frozenset(("arith.constant", "scf.yield", "scf.reduce", "scf.reduce.return", "scf.condition"))


def work(region: ir.Region) -> int:
    """Operations that one run of a region takes, roughly."""
    found = 0
    for block in region:
        for op in block.operations:
            name = op.operation.name
            inner = sum(work(r) for r in op.operation.regions)
            if name in ("scf.for", "scf.while", "scf.parallel"):
                inner *= _trips(op.operation)
            found += inner + (0 if name in _CHEAP else 20 if name.startswith("math.") or name == "func.call" else 1)
    return found


def _known(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return int(ir.IntegerAttr(owner.attributes["value"]).value)


def _trips(op: ir.Operation) -> int:
    rank = {"scf.while": 0, "scf.for": 1}.get(op.name, len(op.regions[0].blocks[0].arguments))
    trips = 1 if rank else UNKNOWN_TRIPS
    for d in range(rank):
        known = known_trips([op.operands[d + k * rank] for k in range(3)])
        trips *= UNKNOWN_TRIPS if known is None else known
    return trips


def known_trips(limits: Sequence[ir.Value]) -> int | None:
    """Iterations between (lower, upper, step) where these are constants."""
    lower, upper, step = map(_known, limits)
    return None if lower is None or upper is None or not step else max(-(-(upper - lower) // step), 0)


class Ranges:
    """Bounds of a parallel loop as operands of the function it is in."""

    def __init__(self, f: Function, op: ir.Operation) -> None:
        self.rank = len(op.regions[0].blocks[0].arguments)
        names = [f.one(v) for v in list(op.operands)[:3 * self.rank]]
        self.lower, self.upper, self.step = (names[k * self.rank:(k + 1) * self.rank] for k in range(3))

    def count(self, f: Function, d: int) -> str:
        """Iterations of one dimension."""
        lower, upper, step = self.lower[d], self.upper[d], self.step[d]
        if "%" not in lower + upper + step:
            return str(max(-(-(int(upper) - int(lower)) // int(step)), 0))
        length = upper if lower == "0" else f.let(f"sub nsw i64 {upper}, {lower}")
        if step != "1":
            above = f.let(f"add nsw i64 {length}, {total(f, step, '-1')}")
            length = f.let(f"sdiv i64 {above}, {step}")
        return f.intrinsic("llvm.smax.i64", "i64", [("i64", length), ("i64", "0")])


@emits("scf.parallel")
def emit_parallel(f: Function, op: ir.Operation) -> None:
    ranges = Ranges(f, op)
    if op.results:
        reduce_in_order(f, op, ranges)
    elif f.in_task or not f.module.settings.threads:
        pieces(f, op, ranges, "0", _outer_count(f, ranges))
    else:
        spread(f, op, ranges)


def _outer_count(f: Function, ranges: Ranges) -> str:
    count = str(_cuts(f, ranges))
    for d in range(max(ranges.rank - 1, 1)):
        count = product(f, count, ranges.count(f, d))
    return count


def _cuts(f: Function, ranges: Ranges) -> int:
    """Pieces that each row of the last dimension is cut into: few rows would keep few threads busy."""
    if ranges.rank == 1 or not (f.outermost or not f.in_task and f.module.settings.threads):
        return 1
    rows = 1
    for d in range(ranges.rank - 1):
        if "%" in ranges.lower[d] + ranges.upper[d] + ranges.step[d]:
            return 1
        rows *= int(ranges.count(f, d))
    return max(-(-MANY // rows), 1) if 0 < rows < MANY else 1


def pieces(f: Function, op: ir.Operation, ranges: Ranges, first: str, last: str) -> None:
    """Run the iterations from `first` to `last` of the outer number, one after the other."""
    block = op.regions[0].blocks[0]
    group = f.module.note("distinct !{}")
    f.groups.append(group)
    cuts, f.outermost = _cuts(f, ranges), False
    since = len(f.accesses)

    def note(hinted: ir.Operation | None, trips: int | None = None) -> str:
        return loop_note(f, hinted, parallel_group(f, group, since), trips)

    def body(number: str) -> None:
        lower, upper = ranges.lower[-1], ranges.upper[-1]
        if cuts > 1:
            cut, number = f.let(f"urem i64 {number}, {cuts}"), f.let(f"udiv i64 {number}, {cuts}")
            lower, upper = _row_piece(f, ranges, cut, cuts)
        counters = [""] * ranges.rank
        if ranges.rank == 1:
            counters[0] = total(f, ranges.lower[0], product(f, number, ranges.step[0]))
        for d in reversed(range(ranges.rank - 1)):
            position = number
            if d:
                count = ranges.count(f, d)
                position = f.let(f"urem i64 {number}, {count}")
                number = f.let(f"udiv i64 {number}, {count}")
            counters[d] = total(f, ranges.lower[d], product(f, position, ranges.step[d]))

        def inner(counter: str) -> None:
            counters[-1] = counter
            for argument, name in zip(block.arguments, counters, strict=True):
                f.define(argument, name)
            f.emit_block(block)
        if ranges.rank == 1:
            inner(counters[0])
        else:
            stepped(f, lower, upper, ranges.step[-1], inner,
                    lambda: note(op, trip_count(lower, upper, ranges.step[-1])))
    counted(f, first, last, body, lambda: note(op if ranges.rank == 1 else None))
    f.groups.pop()


def _row_piece(f: Function, ranges: Ranges, cut: str, cuts: int) -> tuple[str, str]:
    """(lower, upper) of a piece of the last dimension."""
    count, step = ranges.count(f, ranges.rank - 1), ranges.step[-1]
    ends = []
    for number in (cut, f.let(f"add nuw i64 {cut}, 1")):
        iteration = f.let(f"udiv i64 {f.let(f'mul nuw i64 {count}, {number}')}, {cuts}")
        ends.append(total(f, ranges.lower[-1], product(f, iteration, step)))
    return ends[0], f.intrinsic("llvm.smin.i64", "i64", [("i64", ends[1]), ("i64", ranges.upper[-1])])


def stepped(f: Function, lower: str, upper: str, step: str, body: Callable[[str], None],
            note: str | Callable[[], str]) -> None:
    """`for i in range(lower, upper, step): body(i)`."""
    if step == "1":
        counted(f, lower, upper, body, note)
        return
    length = f.let(f"sub nsw i64 {upper}, {lower}")
    count = f.let(f"sdiv i64 {f.let(f'add nsw i64 {length}, {total(f, step, str(-1))}')}, {step}")
    counted(f, "0", count, lambda i: body(total(f, lower, product(f, i, step))), note)


def spread(f: Function, op: ir.Operation, ranges: Ranges) -> None:
    """Outline the loop, and run it here or on several threads, as its work asks."""
    values = list(dict.fromkeys([*list(op.operands)[:3 * ranges.rank], *captured(f, modules.walk(op))]))
    told = op.attributes[TOLD] if TOLD in op.attributes else None
    each = str(work(op.regions[0]) if told is None else ir.IntegerAttr(told).value)
    if ranges.rank > 1:
        each = product(f, each, ranges.count(f, ranges.rank - 1))
        if (cuts := _cuts(f, ranges)) > 1:
            each = f.let(f"udiv i64 {each}, {cuts}") if each[0] == "%" else str(int(each) // cuts)
    outline(f, values, _outer_count(f, ranges), each,
            lambda inside: pieces(inside, op, Ranges(inside, op), "%first", "%last"))


def outline(f: Function, values: list[ir.Value], count: str, each: str, write: Callable[[Function], None]) -> None:
    """A function of its own for iterations %first to %last of `count`, each of `each` operations, called here for all
    of them or on several threads. `write` translates it; `values` are what it uses of the function around."""
    module = f.module
    inside = Function(module, in_task=True)
    inside.outermost = True
    parameters, handed = hand_over(f, inside, values)
    inside.start("start")
    write(inside)
    inside.leave(())
    number, new = module.outline("body", inside.finished(
        f"internal void @NAME({', '.join(['ptr %rt', 'i64 %first', 'i64 %last', *parameters])}) noinline #0"))
    if new:
        _define_task(f, number, handed)
    effort = product(f, each, count)
    if effort[0] != "%" and (int(effort) < WORTH or not module.settings.threads):
        _call_body(f, number, count, handed)
    elif effort[0] != "%":
        _on_threads(f, number, count, each, handed)
    else:
        several, alone_label, after = f.fresh("several"), f.fresh("alone"), f.fresh("joined")
        f.branch_if(f.let(f"icmp sge i64 {effort}, {WORTH}"), several, alone_label)
        f.start(several)
        _on_threads(f, number, count, each, handed)
        f.branch(after)
        f.start(alone_label)
        _call_body(f, number, count, handed)
        f.branch(after)
        f.start(after)
    f.leave_if_failed()


def _call_body(f: Function, number: int, count: str, handed: list[tuple[str, str]]) -> None:
    listed = ", ".join(["ptr %rt", "i64 0", f"i64 {count}", *(f"{t} {o}" for t, o in handed)])
    f.line(f"call void @body.{number}({listed})")


def _struct(handed: list[tuple[str, str]]) -> str:
    return "{ " + ", ".join(t for t, _ in handed) + " }"


def _define_task(f: Function, number: int, handed: list[tuple[str, str]]) -> None:
    """`(data, runtime, first, last)`: unpack what the body captures, and run it."""
    lines, listed = [], ["ptr %rt", "i64 %first", "i64 %last"]
    for i, (type_, _) in enumerate(handed):
        lines += [f"  %p{i} = getelementptr {_struct(handed)}, ptr %data, i32 0, i32 {i}",
                  f"  %v{i} = load {type_}, ptr %p{i}"]
        listed.append(f"{type_} %v{i}")
    f.module.definitions.append("\n".join([
        f"define internal void @task.{number}(ptr %data, ptr %rt, i64 %first, i64 %last) #0 {{", *lines,
        f"  call void @body.{number}({', '.join(listed)})", "  ret void", "}"]))


def _on_threads(f: Function, number: int, count: str, each: str, handed: list[tuple[str, str]]) -> None:
    data = "%" + f.fresh("data")
    f.entry.append(f"  {data} = alloca {_struct(handed)}, align 16")
    for i, (type_, operand) in enumerate(handed):
        place = f.let(f"getelementptr {_struct(handed)}, ptr {data}, i32 0, i32 {i}")
        f.line(f"store {type_} {operand}, ptr {place}")
    if each[0] == "%":
        some = f.intrinsic("llvm.smax.i64", "i64", [("i64", each), ("i64", "1")])
        least = f.let(f"add i64 {f.let(f'udiv i64 {PIECE}, {some}')}, 1")
    else:
        least = str(PIECE // max(int(each), 1) + 1)
    run = f.module.declare("reactant.parallel", "void", ["ptr", "ptr", "ptr", "i64", "i64"])
    f.line(f"call void {run}(ptr %rt, ptr @task.{number}, ptr {data}, i64 {count}, i64 {least})")


# -- reductions

def reduce_in_order(f: Function, op: ir.Operation, ranges: Ranges) -> None:
    """A parallel loop with results: its iterations in order, combining as they go."""
    block = op.regions[0].blocks[0]
    initial = flat(f, list(op.operands)[3 * ranges.rank:])
    types = [t for r in op.results for t in layout.parts(r.type)]
    counters = [""] * ranges.rank

    def nest(d: int, carried: list[str]) -> list[str]:
        if d == ranges.rank:
            for argument, name in zip(block.arguments, counters, strict=True):
                f.define(argument, name)
            reduce = f.emit_block(block)
            at = 0
            made: list[str] = []
            for value, region in zip(reduce.operands, reduce.regions, strict=True):
                inner, width = region.blocks[0], len(layout.parts(value.type))
                f.define(inner.arguments[0], *carried[at:at + width])
                f.define(inner.arguments[1], *f.operands(value))
                made += f.operands(f.emit_block(inner).operands[0])
                at += width
            return made
        head, inside, after = f.fresh("for"), f.fresh("body"), f.fresh("endfor")
        first, counter = f.block, "%" + f.fresh("iv")
        f.branch(head)
        f.start(head)
        slots = [f.reserve() for _ in range(1 + len(types))]
        names = ["%" + f.fresh("phi") for _ in types]
        f.branch_if(f.let(f"icmp slt i64 {counter}, {ranges.upper[d]}"), inside, after)
        f.start(inside)
        counters[d] = counter
        made = nest(d + 1, names)
        following = f.let(f"add nsw i64 {counter}, {ranges.step[d]}")
        f.body[slots[0]] = f"  {counter} = phi i64 [{ranges.lower[d]}, %{first}], [{following}, %{f.block}]"
        for slot, name, type_, start, new in zip(slots[1:], names, types, carried, made, strict=True):
            f.body[slot] = f"  {name} = phi {type_} [{start}, %{first}], [{new}, %{f.block}]"
        f.line(f"br label %{head}{loop_note(f, op)}")
        f.start(after)
        return names
    define_all(f, list(op.results), nest(0, list(initial)))
