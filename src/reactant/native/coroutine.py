"""Blocks whose threads are coroutines; see `meeting` for how they wait for each other."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.native import bounds, engine, layout, meeting
from reactant.native.control import emit_blocks
from reactant.native.emission import Function, define_all, emits, flat, flat_types
from reactant.native.meeting import BLOCK, DONE, GRID, POSITION, WARP, State
from reactant.native.memory import counted
from reactant.native.place import Launch, Place, block_index, is_meeting
from reactant.native.refusals import refused

APART = "Threads of a block wait for each other at different barriers (a grid barrier and a block barrier)."


def code_of(op: ir.Operation) -> int:
    """The code of a meeting."""
    if op.name == "gpu.barrier":
        return BLOCK["barrier"]
    if op.name == "gpu.shuffle":
        return WARP["shuffle." + attr.enumerator(op.attributes["mode"])]
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value.removeprefix("reactant.")
    name = name.removesuffix(".i32").removesuffix(".i64")
    found = GRID if name == "barrier.grid" else BLOCK.get(name, WARP.get(name))
    if found is None:
        raise refused(f"has no collective operation reactant.{name}", op)
    return found


def holds_warp_operation(op: ir.Operation) -> bool:
    """Whether lanes of a warp meet in here."""
    return any(is_meeting(inner.operation) and code_of(inner.operation) in WARP.values()
               or holds_warp_operation(inner.operation)
               for region in op.regions for block in region for inner in block.operations)


def levels_of(op: ir.Operation) -> int:
    """Levels of the times of threads: one more than loops with warp operations are nested."""
    inside = max((levels_of(inner.operation) for region in op.regions for block in region
                  for inner in block.operations), default=1)
    return inside + (op.name in ("scf.for", "scf.while") and holds_warp_operation(op))


class Coroutine(Function):
    """One GPU thread under construction: `ptr @thread(runtime, state, its number, x, y, z, block x, y, z,
    parts...)`."""

    launch: Launch
    levels = 1
    """Of a time: one more than loops with warp operations are nested."""
    positions = 0
    depth = 0
    """Loops with warp operations around."""

    def leave(self, operands: object) -> None:
        for line in self.cleanup:
            self.line(line)
        self.state.set("what", "%number", str(DONE))
        self.branch("destroyed")

    @property
    def state(self) -> State:
        return State(self, "%state", str(self.launch.threads))

    def meet(self, code: int, x: str = "0", y: str = "0", z: str = "0") -> None:
        """Write down what is waited for, and suspend."""
        state, resumed = self.state, self.fresh("resumed")
        for field, value in (("what", str(code)), ("x", x), ("y", y), ("z", z)):
            state.set(field, "%number", value)
        if code in WARP.values():
            self.set_time()
            for level in range(self.depth + 1, self.levels):
                self.line(f"store i64 0, ptr {state.time(str(level), '%number')}, align 8")
        suspend = self.module.declare("llvm.coro.suspend", "i8", ["token", "i1"], "")
        how = self.let(f"call i8 {suspend}(token none, i1 false)")
        self.line(f"switch i8 {how}, label %suspended [ i8 0, label %{resumed} i8 1, label %destroyed ]")
        self.start(resumed)

    def set_time(self) -> None:
        """Here is the next position of the program."""
        self.positions += 1
        self.line(f"store i64 {self.positions << POSITION}, ptr {self.state.time(str(self.depth), '%number')}, align 8")

    def enter_loop(self, op: ir.Operation) -> None:
        if holds_warp_operation(op):
            self.set_time()
            self.depth += 1

    def next_iteration(self, op: ir.Operation) -> None:
        if holds_warp_operation(op):
            place = self.state.time(str(self.depth - 1), "%number")
            iteration = self.let(f"add i64 {self.let(f'load i64, ptr {place}')}, 1")
            self.line(f"store i64 {iteration}, ptr {place}, align 8")

    def leave_loop(self, op: ir.Operation) -> None:
        self.depth -= holds_warp_operation(op)

    def finished(self, signature: str) -> str:
        module = self.module
        if self.fails:
            self.start("failed")
            self.leave(())
        declared = {name: module.declare(f"llvm.coro.{name}", result, arguments, "") for name, result, arguments in (
            ("id", "token", ["i32", "ptr", "ptr", "ptr"]), ("begin", "ptr", ["token", "ptr"]),
            ("end", engine.coroutine_end_type(), ["ptr", "i1", "token"]))}
        size = module.declare("llvm.coro.size.i64", "i64", [], "")
        frame = module.declare("reactant.frame", "ptr", ["ptr", "i64", "i64", "i64"])
        head = [f"  %id = call token {declared['id']}(i32 0, ptr null, ptr null, ptr null)",
                f"  %size = call i64 {size}()",
                f"  %where = call ptr {frame}(ptr %state, i64 %size, i64 {self.launch.threads}, i64 %number)",
                f"  %handle = call noalias ptr {declared['begin']}(token %id, ptr %where)"]
        self.start("destroyed")
        self.branch("suspended")
        self.start("suspended")
        self.line(f"call {engine.coroutine_end_type()} {declared['end']}(ptr %handle, i1 false, token none)")
        self.line("ret ptr %handle")
        return "\n".join([f"define {signature} {{", "entry:", *head, *self.entry, "  br label %start", *self.body, "}"])


_BITS = {"double": "i64", "float": "i32", "half": "i16"}


def _to_i64(f: Function, operand: str, kind: str) -> str:
    if kind in _BITS:
        operand, kind = f.let(f"bitcast {kind} {operand} to {_BITS[kind]}"), _BITS[kind]
    return operand if kind == "i64" else f.let(f"zext {kind} {operand} to i64")


def _from_i64(f: Function, operand: str, kind: str) -> str:
    bits = _BITS.get(kind, kind)
    if bits != "i64":
        operand = f.let(f"trunc i64 {operand} to {bits}")
    return f.let(f"bitcast {bits} {operand} to {kind}") if kind in _BITS else operand


@emits("gpu.barrier", "gpu.shuffle")
def emit_meeting(f: Function, op: ir.Operation) -> None:
    if not isinstance(f, Coroutine):
        raise refused(f"has no {op.name} here", op)
    code = code_of(op)
    if op.name == "gpu.shuffle":
        kind = layout.scalar(op.operands[0].type)
        value, offset, width = (f.one(v) for v in op.operands)
        f.meet(code, _to_i64(f, value, kind), f.let(f"sext i32 {offset} to i64"), f.let(f"sext i32 {width} to i64"))
        f.define(op.results[0], _from_i64(f, f.state.get("answer", "%number"), kind))
        f.define(op.results[1], f.let(f"trunc i64 {f.state.get('valid', '%number')} to i1"))
    else:
        f.meet(code)


@emits("reactant.collective")
def emit_collective(f: Function, op: ir.Operation) -> None:
    """A call of a `reactant.*` function."""
    if not isinstance(f, Coroutine):
        raise refused(f"has no {op.attributes['callee']} here", op)
    code = code_of(op)
    values = list(op.operands)
    operands = [_to_i64(f, o, t) for o, t in zip(flat(f, values), flat_types(values), strict=True)]
    if code in (11, 12, 13):
        f.meet(code, operands[0])
    elif code == WARP["barrier.warp"]:
        f.meet(code, "0", operands[0])
    elif len(operands) == 2:
        f.meet(code, operands[1], operands[0])
    else:
        f.meet(code)
    if op.results:
        kind = layout.scalar(op.results[0].type)
        f.define(op.results[0], _from_i64(f, f.state.get("answer", "%number"), kind))


def _define_thread(f: Function, launch: Launch) -> list[tuple[str, str]]:
    """Define `@thread`; what it takes besides runtime, state, number and indices, as (type, operand) of `f`."""
    thread = Coroutine(f.module, in_task=True)
    thread.launch, thread.levels = launch, levels_of(launch.op)
    values = [*launch.op.regions[0].blocks[0].arguments, *(op.results[0] for op in launch.shared)]
    types, operands = flat_types(values), flat(f, values)
    names = [f"%v{i}" for i in range(len(types))]
    define_all(thread, values, names)
    thread.place = Place(("%x", "%y", "%z"), ("%bx", "%by", "%bz"), launch)
    thread.start("start")
    emit_blocks(thread, launch.op.regions[0])
    indices = ", ".join(f"i64 %{n}" for n in ("number", "x", "y", "z", "bx", "by", "bz"))
    parameters = ", ".join(["ptr %rt", "ptr %state", indices, *(f"{t} {n}" for t, n in zip(types, names, strict=True))])
    f.module.definitions.append(thread.finished(f"internal ptr @thread({parameters}) noinline presplitcoroutine #0"))
    return list(zip(types, operands, strict=True))


def _begin_threads(f: Function, launch: Launch, block: tuple[str, str, str], state: str, handles: str,
                   handed: list[tuple[str, str]]) -> None:
    """Begin every thread of a block: each runs to its first meeting."""
    f.line(f"store i64 0, ptr {state}, align 8")
    bx, by, _ = launch.block

    def begin(number: str) -> None:
        x = f.let(f"urem i64 {number}, {bx}")
        row = f.let(f"udiv i64 {number}, {bx}")
        y, z = f.let(f"urem i64 {row}, {by}"), f.let(f"udiv i64 {row}, {by}")
        listed = ", ".join([f"ptr %rt, ptr {state}", *(f"i64 {o}" for o in (number, x, y, z, *block)),
                            *(f"{t} {o}" for t, o in handed)])
        handle = f.let(f"call ptr @thread({listed})")
        f.line(f"store ptr {handle}, ptr {f.let(f'getelementptr ptr, ptr {handles}, i64 {number}')}")
    counted(f, "0", str(launch.threads), begin)


def _meet(f: Function, launch: Launch, state: str, handles: str) -> str:
    """Run a block's threads until they have ended (0) or wait for the grid (1)."""
    run = f.module.declare("reactant.meet", "i64", ["ptr", "ptr", "ptr", "i64", "i64", "i32"])
    return f.let(f"call i64 {run}(ptr %rt, ptr {state}, ptr {handles}, i64 {launch.threads}, "
                 f"i64 {levels_of(launch.op)}, i32 {f.module.status_of(APART)})")


def _free_frames(f: Function, state: str) -> None:
    arena = f.let(f"load ptr, ptr {state}, align 8")
    f.line(f"call void {f.module.declare('free', 'void', ['ptr'])}(ptr {arena})")


def emit_block(f: Function, launch: Launch, block: tuple[str, str, str]) -> None:
    """One block after the other: begin its threads, let them meet, forget them."""
    handed = _define_thread(f, launch)
    state = f.allocate("i64", meeting.size_of_state(launch.threads, levels_of(launch.op)))
    handles = f.allocate("ptr", launch.threads)
    _begin_threads(f, launch, block, state, handles, handed)
    _meet(f, launch, state, handles)
    _free_frames(f, state)


def emit_grid(f: Function, launch: Launch, arguments: list[ir.Value], each: str) -> None:
    """A kernel with grid barriers: all blocks exist at once, and go on together from barrier to barrier."""
    malloc = f.module.declare("malloc", "ptr", ["i64"])
    size, blocks = meeting.size_of_state(launch.threads, levels_of(launch.op)), launch.blocks
    states = f.let(f"call noalias ptr {malloc}(i64 {8 * size * blocks})")
    handles = f.let(f"call noalias ptr {malloc}(i64 {8 * launch.threads * blocks})")
    shared, places = _shared_of_all(f, launch)

    def at(base: str, number: str, width: int) -> str:
        return f.let(f"getelementptr i64, ptr {base}, i64 {f.let(f'mul i64 {number}, {width}')}")

    handed: list[tuple[str, str]] = []

    def begin(number: str) -> None:
        for op, (base, width) in zip(launch.shared, places, strict=True):
            pointer = f.let(f"getelementptr i8, ptr {base}, i64 {f.let(f'mul i64 {number}, {width}')}")
            place = layout.memory(op.results[0].type)
            limits = bounds.of_new(f, pointer, str(width), f"the shared {op.results[0].type}")
            f.define(op.results[0], *layout.parts_of(op.results[0].type, pointer, tuple(map(str, place.shape)),
                                                     tuple(map(str, place.strides)), limits))
        if not handed:
            handed.extend(_define_thread(f, launch))
        _begin_threads(f, launch, block_index(f, launch, number), at(states, number, size),
                       at(handles, number, launch.threads), handed)
    counted(f, "0", str(blocks), begin)
    f.branch("grid")
    f.start("grid")
    waiting = "%" + f.fresh("waiting")
    f.entry.append(f"  {waiting} = alloca i64, align 8")
    f.line(f"store i64 0, ptr {waiting}")

    def go_on(number: str) -> None:
        waits = _meet(f, launch, at(states, number, size), at(handles, number, launch.threads))
        f.line(f"store i64 {f.let(f'or i64 {waits}, ' + f.let(f'load i64, ptr {waiting}'))}, ptr {waiting}")
    counted(f, "0", str(blocks), go_on)

    def release(number: str) -> None:
        state = State(f, at(states, number, size), str(launch.threads))

        def thread(t: str) -> None:
            what = state.get("what", t)
            at_grid = f.let(f"icmp eq i64 {what}, {GRID}")
            state.set("what", t, f.let(f"select i1 {at_grid}, i64 0, i64 {what}"))
        counted(f, "0", str(launch.threads), thread)
    counted(f, "0", str(blocks), release)
    f.branch_if(f.let(f"icmp ne i64 {f.let(f'load i64, ptr {waiting}')}, 0"), "grid", "ended")
    f.start("ended")
    counted(f, "0", str(blocks), lambda number: _free_frames(f, at(states, number, size)))
    for pointer in (states, handles, *shared):
        f.line(f"call void {f.module.declare('free', 'void', ['ptr'])}(ptr {pointer})")


def _shared_of_all(f: Function, launch: Launch) -> tuple[list[str], list[tuple[str, int]]]:
    """Shared memory of all blocks at once: what to free, and (base, bytes of a block) of each allocation."""
    malloc = f.module.declare("malloc", "ptr", ["i64"])
    bases, places = [], []
    for op in launch.shared:
        place = layout.memory(op.results[0].type)
        width = layout.nbytes(layout.in_memory(place.number)) * (1 + place.is_complex)
        for extent in place.shape:
            width *= extent or 0
        width = max(-(-width // 64) * 64, 64)
        bases.append(f.let(f"call noalias ptr {malloc}(i64 {width * launch.blocks})"))
        places.append((bases[-1], width))
    return bases, places

