"""Functions, blocks, `func`, `cf` and the sequential half of `scf`."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.native import blas, bounds, clocks, lapack, layout, numpy_extremes, numpy_partitions, numpy_sorts, reals
from reactant.native.emission import HANDLERS, Function, Module, define_all, emits, flat, flat_types, quoted, struct_of
from reactant.native.memory import parallel_group
from reactant.native.refusals import refused
from reactant.native.roots import note_exchange

Edge = tuple[str, int, tuple[str, ...]]
"""Label it leaves from, block it goes to, operands it hands over."""

_NAMES = ("acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 exp10 expm1 fdim fmod hypot ilogb j0 "
          "j1 jn ldexp lgamma log log10 log1p log2 logb nextafter pow remainder scalbn sin sinh sqrt tan tanh tgamma "
          "y0 y1 yn").split()
LIBRARY = frozenset(_NAMES) | frozenset(name + "f" for name in _NAMES)
"""Functions without a body that a module may declare and call: the C library's mathematics."""


def emit_function(module: Module, op: ir.Operation, noalias: Sequence[bool] | None = None) -> str:
    """Define a `func.func` as an internal LLVM function `(ptr runtime, parts...)`; its LLVM name."""
    name = "@" + quoted("f." + ir.StringAttr(op.attributes["sym_name"]).value)
    function = Function(module)
    region = op.regions[0]
    parameters = ["ptr %rt"]
    for number, argument in enumerate(region.blocks[0].arguments):
        names = []
        for position, type_ in enumerate(layout.parts(argument.type)):
            names.append(f"%a{number}.{position}")
            alone = type_ == "ptr" and noalias is not None and noalias[number]
            parameters.append(f"{type_}{' noalias' if alone else ''} {names[-1]}")
            if alone:
                function.roots[names[-1]] = names[-1]
        function.define(argument, *names)
    type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    function.result_types = tuple(part for t in type_.results for part in layout.parts(t))
    function.start("start")
    emit_blocks(function, region)
    module.definitions.append(function.finished(
        f"internal {function.result_struct()} {name}({', '.join(parameters)}) #0"))
    return name


class Phis:
    """The phi instructions at the start of a block, whose incoming edges become known later."""

    def __init__(self, f: Function, values: Sequence[ir.Value]) -> None:
        self.f, self.types = f, flat_types(values)
        self.names = ["%" + f.fresh("phi") for _ in self.types]
        self.lines = [f.reserve() for _ in self.types]
        self.edges: list[tuple[str, tuple[str, ...]]] = []
        if f.groups:  # where a pointer comes from is not known any more
            f.private.update(self.names)
        define_all(f, values, self.names)

    def add(self, label: str, operands: tuple[str, ...]) -> None:
        self.edges.append((label, operands))

    def close(self) -> None:
        for i, (line, name, type_) in enumerate(zip(self.lines, self.names, self.types, strict=True)):
            choices = ", ".join(f"[{operands[i]}, %{label}]" for label, operands in self.edges)
            self.f.body[line] = f"  {name} = phi {type_} {choices}" if choices else f"  {name} = freeze {type_} poison"


def emit_blocks(f: Function, region: ir.Region, leave_to: str | None = None) -> list[tuple[str, tuple[str, ...]]]:
    """Translate a region of blocks joined by `cf`. Each `scf.yield` branches to `leave_to`: (label, operands) of
    each."""
    blocks = list(region.blocks)
    order = _order(blocks)
    labels = {number: f.block if number == 0 else f.fresh("block") for number in order}
    phis: dict[int, Phis] = {}
    edges: list[Edge] = []
    yields: list[tuple[str, tuple[str, ...]]] = []
    for number in order:
        if number:
            f.start(labels[number])
            phis[number] = Phis(f, list(blocks[number].arguments))
        end = f.emit_block(blocks[number])
        if end.name == "scf.yield" and leave_to is not None:
            yields.append((f.block, flat(f, list(end.operands))))
            f.branch(leave_to)
        else:
            edges += _leave_block(f, end, blocks, labels)
    for label, target, operands in edges:
        phis[target].add(label, operands)
    for phi in phis.values():
        phi.close()
    return yields


def _number_of(block: ir.Block, blocks: list[ir.Block]) -> int:
    return next(i for i, b in enumerate(blocks) if b == block)


def _order(blocks: list[ir.Block]) -> list[int]:
    """Reachable blocks, each after the blocks that dominate it (reverse postorder)."""
    if len(blocks) == 1:
        return [0]
    following = [[_number_of(s, blocks) for s in b.operations[len(b.operations) - 1].operation.successors]
                 for b in blocks]
    seen, finished, stack = {0}, [], [(0, iter(following[0]))]
    while stack:
        number, rest = stack[-1]
        target = next(rest, None)
        if target is None:
            finished.append(number)
            stack.pop()
        elif target not in seen:
            seen.add(target)
            stack.append((target, iter(following[target])))
    return finished[::-1]


def _leave_block(f: Function, end: ir.Operation, blocks: list[ir.Block], labels: dict[int, str]) -> list[Edge]:
    """Write a terminator."""
    targets = [_number_of(s, blocks) for s in end.successors]
    values = list(end.operands)
    if end.name == "func.return":
        f.leave(flat(f, values))
        return []
    if end.name == "cf.br":
        f.branch(labels[targets[0]])
        return [(f.block, targets[0], flat(f, values))]
    if end.name not in ("cf.cond_br", "cf.switch"):
        raise refused(f"cannot end a block with {end.name}", end)
    # every way out gets an edge of its own: two of them may lead to the same block with different operands
    edges = [f.fresh("edge") for _ in targets]
    sizes = list(ir.DenseI32ArrayAttr(end.attributes["operandSegmentSizes"]))
    if end.name == "cf.cond_br":
        f.branch_if(f.one(values[0]), *edges)
        widths = sizes[1:]
    else:
        type_ = layout.scalar(values[0].type)
        cases = [int(v) for v in end.attributes["case_values"]] if "case_values" in end.attributes else []
        listed = " ".join(f"{type_} {case}, label %{edge}" for case, edge in zip(cases, edges[1:], strict=True))
        f.line(f"switch {type_} {f.one(values[0])}, label %{edges[0]} [ {listed} ]")
        widths = [sizes[1], *(list(ir.DenseI32ArrayAttr(end.attributes["case_operand_segments"])) if cases else [])]
    made, at = [], 1
    for edge, target, width in zip(edges, targets, widths, strict=True):
        f.start(edge)
        f.branch(labels[target])
        made.append((edge, target, flat(f, values[at:at + width])))
        at += width
    return made


# -- scf

Edges = list[tuple[str, tuple[str, ...]]]
"""Where control comes from, and the values that it brings."""


def emit_branch(f: Function, label: str, region: ir.Region, after: str) -> tuple[str, tuple[str, ...]]:
    """A region as the block `label`, which goes on at `after`; gives the edge there."""
    f.start(label)
    end = f.emit_block(region.blocks[0])
    edge = f.block, flat(f, list(end.operands))
    f.branch(after)
    return edge


def join(f: Function, op: ir.Operation, after: str, edges: Edges) -> None:
    """Begin the block `after`, with the results of `op` from its edges."""
    f.start(after)
    phis = Phis(f, list(op.results))
    phis.edges = edges
    phis.close()


@emits("scf.if")
def emit_if(f: Function, op: ir.Operation) -> None:
    yes, no, after = f.fresh("then"), f.fresh("else"), f.fresh("endif")
    has_else = len(op.regions[1].blocks) > 0
    f.branch_if(f.one(op.operands[0]), yes, no if has_else else after)
    edges: Edges = [] if has_else else [(f.block, ())]
    regions = [(yes, op.regions[0]), (no, op.regions[1])][:1 + has_else]
    join(f, op, after, edges + [emit_branch(f, label, region, after) for label, region in regions])


@emits("scf.index_switch")
def emit_index_switch(f: Function, op: ir.Operation) -> None:
    cases = [int(v) for v in ir.DenseI64ArrayAttr(op.attributes["cases"])]
    labels, after = [f.fresh("case") for _ in op.regions], f.fresh("endswitch")
    listed = " ".join(f"i64 {c}, label %{label}" for c, label in zip(cases, labels[1:], strict=True))
    f.line(f"switch i64 {f.one(op.operands[0])}, label %{labels[0]} [ {listed} ]")
    join(f, op, after, [emit_branch(f, *each, after) for each in zip(labels, op.regions, strict=True)])


@emits("scf.execute_region")
def emit_execute_region(f: Function, op: ir.Operation) -> None:
    inside, after = f.fresh("region"), f.fresh("endregion")
    f.branch(inside)
    f.start(inside)
    join(f, op, after, emit_blocks(f, op.regions[0], leave_to=after))


@emits("memref.alloca_scope")
def emit_alloca_scope(f: Function, op: ir.Operation) -> None:
    end = f.emit_block(op.regions[0].blocks[0])
    define_all(f, list(op.results), flat(f, list(end.operands)))


@emits("scf.for")
def emit_for(f: Function, op: ir.Operation) -> None:
    lower, upper, step = (f.one(v) for v in list(op.operands)[:3])
    block = op.regions[0].blocks[0]
    counter, carried = block.arguments[0], list(block.arguments)[1:]
    type_ = layout.scalar(counter.type)
    head, body, after = f.fresh("for"), f.fresh("body"), f.fresh("endfor")
    f.enter_loop(op)
    first = f.block
    f.branch(head)
    f.start(head)
    name = "%" + f.fresh("iv")
    slot = f.reserve()
    f.define(counter, name)
    phis = Phis(f, carried)
    phis.add(first, flat(f, list(op.operands)[3:]))
    unsigned = "unsignedCmp" in op.attributes
    f.branch_if(f.let(f"icmp {'ult' if unsigned else 'slt'} {type_} {name}, {upper}"), body, after)
    f.start(body)
    f.next_iteration(op)
    accesses, group = len(f.accesses), f.module.note("distinct !{}") if INDEPENDENT in op.attributes else None
    f.groups += [group] if group else []
    end = f.emit_block(block)
    if group:
        f.groups.pop()
        group = parallel_group(f, group, accesses)
    trips = trip_count(lower, upper, step)
    if trips is not None and 1 < trips <= UNROLLED:         # one iteration after the other, once LLVM has unrolled it
        f.accesses += f.accesses[accesses:]
    following = f.let(f"add {'nuw' if unsigned else 'nsw'} {type_} {name}, {step}")
    f.body[slot] = f"  {name} = phi {type_} [{lower}, %{first}], [{following}, %{f.block}]"
    phis.add(f.block, flat(f, list(end.operands)))
    f.line(f"br label %{head}{loop_note(f, op, group, trips)}")
    phis.close()
    f.leave_loop(op)
    f.start(after)
    define_all(f, list(op.results), phis.names)


INDEPENDENT = "native.independent"
"""Unit attribute of a loop: no iteration reads or writes in memory what another one writes."""
UNROLLED = 512
"""Iterations up to which LLVM may unroll a loop completely."""
ONCE = "native.once"
"""Unit attribute of a loop that LLVM shall not write out (`native.crowds`)."""
LONG = 32
"""Iterations from which a vectorised loop is not unrolled completely: its registers would not do."""


def trip_count(lower: str, upper: str, step: str) -> int | None:
    """Iterations of a loop, where its bounds are numbers."""
    if "%" in lower + upper + step or int(step) < 1:
        return None
    return max(-(-(int(upper) - int(lower)) // int(step)), 0)


def loop_note(f: Function, op: ir.Operation | None = None, group: str | None = None, trips: int | None = None) -> str:
    """The `!llvm.loop` of a back edge; unit attribute `native.vectorize` on a loop asks for vector code, a parallel
    loop names the access group of its loads and stores."""
    hints = []
    if group is not None:
        hints.append(f'!{{!"llvm.loop.parallel_accesses", {group}}}')
    if trips is not None and trips >= LONG:
        plain = f.module.note('!{!"llvm.loop.unroll.disable"}')
        hints.append(f'!{{!"llvm.loop.vectorize.followup_vectorized", {plain}}}')
    if op is not None and "native.vectorize" in op.attributes:
        hints.append('!{!"llvm.loop.vectorize.enable", i1 true}')
    if op is not None and "native.vector_width" in op.attributes:
        width = ir.IntegerAttr(op.attributes["native.vector_width"]).value
        hints.append(f'!{{!"llvm.loop.vectorize.width", i32 {width}}}')
    if op is not None and ONCE in op.attributes:
        hints.append('!{!"llvm.loop.unroll.disable"}')
    if op is not None and "native.unroll" in op.attributes:
        count = ir.IntegerAttr(op.attributes["native.unroll"]).value
        hints.append(f'!{{!"llvm.loop.unroll.count", i32 {count}}}')
    if not hints:
        return ""
    listed = ", ".join(f.module.note(h) for h in hints)
    node = f.module.note("distinct !{{self}, " + listed + "}")
    return f", !llvm.loop {node}"


@emits("scf.while")
def emit_while(f: Function, op: ir.Operation) -> None:
    before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
    head, body, out = f.fresh("while"), f.fresh("do"), f.fresh("endwhile")
    f.enter_loop(op)
    first = f.block
    f.branch(head)
    f.start(head)
    phis = Phis(f, list(before.arguments))
    phis.add(first, flat(f, list(op.operands)))
    if not f.groups:
        note_exchange(f, op, phis.names, phis.edges[0][1])
    f.next_iteration(op)
    condition = f.emit_block(before)
    handed = flat(f, list(condition.operands)[1:])
    f.branch_if(f.one(condition.operands[0]), body, out)
    f.start(body)
    define_all(f, list(after.arguments), handed)
    end = f.emit_block(after)
    phis.add(f.block, flat(f, list(end.operands)))
    f.branch(head)
    phis.close()
    f.leave_loop(op)
    f.start(out)
    define_all(f, list(op.results), handed)


# -- calls and checks

@emits("func.call")
def emit_call(f: Function, op: ir.Operation) -> None:
    callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    if callee == clocks.CALLEE:
        _mark(f, op)
        return
    if callee.startswith("reactant."):
        HANDLERS["reactant.collective"](f, op)
        return
    function = f.module.symbols.get(callee)
    if function is None:
        raise refused(f"calls @{callee}, which the module does not have", op)
    operands = list(zip(flat_types(list(op.operands)), flat(f, list(op.operands)), strict=True))
    types = flat_types(list(op.results))
    if callee.startswith(numpy_sorts.PREFIX):
        pointer, count = _rows(f, op, operands[-1][1])
        sort = f.module.declare(callee, "i32", ("ptr", "i64", "ptr"))
        f.line(f"call i32 {sort}(ptr {pointer}, i64 {count}, ptr null)")
        return
    if callee.startswith(numpy_extremes.PREFIX):
        pointer, count = _rows(f, op, f.one(op.operands[1]))
        place, _ = _rows(f, op, "1", 2)
        extreme = f.module.declare(callee, "i32", ("ptr", "i64", "ptr", "ptr"))
        f.line(f"call i32 {extreme}(ptr {pointer}, i64 {count}, ptr {place}, ptr null)")
        return
    if callee.startswith(numpy_partitions.PREFIX):
        _call_partition(f, op, callee)
        return
    if callee.startswith((blas.PREFIX, lapack.PREFIX)):
        _call_blas(f, op, callee)
        return
    if not len(function.regions[0].blocks):
        kind, base = types[0] if types else "", callee
        if kind == "float" and callee.endswith("f"):
            base = callee[:-1]
        base = {"pow": "powf"}.get(base, base)
        if base in reals.ROUTINES and kind in ("double", "float") and all(t == kind for t, _ in operands):
            f.define(op.results[0], reals.call(f, base, kind, [o for _, o in operands]))
            return
        if callee not in LIBRARY:
            raise refused(f"calls @{callee}, which has no body", op)
        f.define(op.results[0], f.intrinsic(callee, struct_of(types), operands))
        return
    if callee not in f.module.done:
        f.module.done.add(callee)
        emit_function(f.module, function)
    f.call_ours("@" + quoted("f." + callee), operands, list(op.results))


def _mark(f: Function, op: ir.Operation) -> None:
    """Read the clock, where no other thread does."""
    if f.in_task:
        return
    site, phase = clocks.site_and_phase(op)
    f.module.declare(f"llvm.{clocks.counter()}", "i64", ())
    for line in clocks.instructions(f.module.clock(site), phase, f.fresh("clock")):
        f.line(line)


def _call_partition(f: Function, op: ir.Operation, callee: str) -> None:
    """NumPy's `partition`, of rows in memory: memories, how many rows, how long, and what else it is told."""
    count = sum(layout.is_memref(v.type) for v in op.operands)
    rows, length, *told = [f.one(v) for v in list(op.operands)[count:]]
    elements, pointers = f.let(f"mul i64 {rows}, {length}"), []
    for k in range(count):
        pointer, found = _rows(f, op, elements, k)
        pointers.append(f"ptr {pointer}")
        if bounds.active():
            rows = f.let(f"select i1 {f.let(f'icmp eq i64 {found}, {elements}')}, i64 {rows}, i64 0")
    numbers = [f"i64 {n}" for n in (rows, length, *told)]
    function = f.module.declare(callee, "i32", ("ptr",) * count + ("i64",) * len(numbers))
    f.line(f"call i32 {function}({', '.join([*pointers, *numbers])})")


def _rows(f: Function, op: ir.Operation, count: str, number: int = 0) -> tuple[str, str]:
    """Where a function of NumPy's puts elements in order, and how many."""
    place = f.memory(op.operands[number])
    if not bounds.active():
        return place.pointer, count
    nbytes = f.let(f"mul i64 {count}, {layout.nbytes(layout.in_memory(place.layout.number))}")
    found = bounds.inside(f, place.bounds, place.pointer, nbytes, op)
    return found, f.let(f"select i1 {f.let(f'icmp eq ptr {found}, {place.pointer}')}, i64 {count}, i64 0")


def _call_blas(f: Function, op: ir.Operation, callee: str) -> None:
    """Memories, numbers, and how many elements of each memory the library may look at."""
    memories = [f.memory(v) for v in op.operands if layout.is_memref(v.type)]
    numbers = [f.one(v) for v in list(op.operands)[len(memories):]]
    numbers, spans = numbers[:len(numbers) - len(memories)], numbers[len(numbers) - len(memories):]
    after = f.fresh("multiplied")
    if bounds.active():
        for place, span in zip(memories, spans, strict=True):
            nbytes = layout.nbytes(layout.in_memory(place.layout.number)) * (2 if place.layout.is_complex else 1)
            found = bounds.inside(f, place.bounds, place.pointer, f.let(f"mul i64 {span}, {nbytes}"), op)
            fine = f.fresh("inside")
            f.branch_if(f.let(f"icmp eq ptr {found}, {place.pointer}"), fine, after)
            f.start(fine)
    types = ["ptr"] * len(memories) + ["i64"] * len(numbers)
    given = [place.pointer for place in memories] + numbers
    listed = ", ".join(f"{t} {o}" for t, o in zip(types, given, strict=True))
    f.line(f"call void {f.module.declare(callee, 'void', types)}({listed})")
    f.branch(after)
    f.start(after)


@emits("cf.assert")
def emit_assert(f: Function, op: ir.Operation) -> None:
    """A check: the first that fails is reported, and the function is left."""
    status = f.module.status_of(ir.StringAttr(op.attributes["msg"]).value)
    bad, good = f.fresh("bad"), f.fresh("good")
    likely = f.module.note('!{!"branch_weights", i32 1000000, i32 1}')
    f.branch_if(f.one(op.operands[0]), good, bad, f", !prof {likely}")
    f.start(bad)
    f.line(f"cmpxchg ptr %rt, i32 0, i32 {status} seq_cst seq_cst")
    f.branch("failed")
    f.fails = True
    f.start(good)
