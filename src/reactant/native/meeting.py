"""Threads of a GPU block that meet, as coroutines: the general way to run a kernel with barriers and warp operations.

Every thread is an LLVM coroutine. At a meeting (a barrier, a shuffle, a vote...) it writes down what it waits for in
the block's state and suspends. `reactant.meet` resumes who may go on until every thread has ended or waits for the
grid: first the lanes of a warp that wait at one operation in the same iterations of the loops around it, the earliest
in the order of the program before others (who is behind catches up, so lanes that a branch or a loop has parted are
together again after it), then, when nobody waits in a warp, the block. So any control flow does, however divergent its
barriers.

The state of a block of n threads is an array of i64: [arena of coroutine frames, then FIELDS with n numbers each, then
n numbers for each level of a thread's *time*]. Level k of a time is the position in the program of the loop around at
depth k and how many iterations of it have begun, last comes the position of the operation itself, the rest is 0.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache

from reactant.native import engine, objects
from reactant.native.emission import Function, Module, Settings
from reactant.native.memory import counted

FIELDS = ("what", "x", "y", "z", "answer", "valid")
"""Of each thread: what it waits for (a code), its operands; what it gets."""
POSITION = 40
"""Bits of a level of time that count iterations; the position is above them."""
RUNNING, DONE = 0, 1
BLOCK = {"barrier": 10, "barrier.count": 11, "barrier.and": 12, "barrier.or": 13}
GRID = 14
WARP = {"barrier.warp": 20, "shuffle.idx": 21, "shuffle.up": 22, "shuffle.down": 23, "shuffle.xor": 24,
        "vote.ballot": 25, "vote.any": 26, "vote.all": 27, "vote.uni": 28, "match.any": 29, "match.all": 30,
        "activemask": 31}
"""Operations of a warp: operands are x = value, y = lane or distance, z = width (shuffles); x = value, y = mask."""


class Writer(Function):
    """LLVM IR with variables in memory, for code that is not translated from MLIR."""

    def variable(self, start: str = "0", kind: str = "i64") -> str:
        name = "%" + self.fresh("var")
        self.entry.append(f"  {name} = alloca {kind}, align 8")
        self.line(f"store {kind} {start}, ptr {name}")
        return name

    def get(self, variable: str, kind: str = "i64") -> str:
        return self.let(f"load {kind}, ptr {variable}, align 8")

    def set(self, variable: str, value: str, kind: str = "i64") -> None:
        self.line(f"store {kind} {value}, ptr {variable}, align 8")

    def is_(self, how: str, a: str, b: str | int) -> str:
        return self.let(f"icmp {how} i64 {a}, {b}")

    def op(self, how: str, a: str, b: str | int, kind: str = "i64") -> str:
        return self.let(f"{how} {kind} {a}, {b}")

    def when(self, condition: str, body: Callable[[], None], otherwise: Callable[[], None] | None = None) -> None:
        yes, no, after = self.fresh("when"), self.fresh("otherwise"), self.fresh("after")
        self.branch_if(condition, yes, no if otherwise else after)
        self.start(yes)
        body()
        self.branch(after)
        if otherwise:
            self.start(no)
            otherwise()
            self.branch(after)
        self.start(after)


class State:
    """Access to a block's state."""

    def __init__(self, f: Writer | Function, pointer: str, threads: str) -> None:
        self.f, self.pointer, self.threads = f, pointer, threads

    def place(self, field: str, thread: str) -> str:
        return self._row(str(FIELDS.index(field)), thread)

    def time(self, level: str, thread: str) -> str:
        """Where a level of a thread's time is."""
        return self._row(self.f.let(f"add i64 {level}, {len(FIELDS)}"), thread)

    def _row(self, number: str, thread: str) -> str:
        row = self.f.let(f"mul i64 {self.threads}, {number}")
        at = self.f.let(f"add i64 {self.f.let(f'add i64 {row}, {thread}')}, 1")
        return self.f.let(f"getelementptr i64, ptr {self.pointer}, i64 {at}")

    def get(self, field: str, thread: str) -> str:
        return self.f.let(f"load i64, ptr {self.place(field, thread)}, align 8")

    def set(self, field: str, thread: str, value: str) -> None:
        self.f.line(f"store i64 {value}, ptr {self.place(field, thread)}, align 8")


def size_of_state(threads: int, levels: int) -> int:
    """Elements of i64, for times of so many levels."""
    return 1 + (len(FIELDS) + levels) * threads


@cache
def text() -> str:
    """LLVM IR of `reactant.meet(runtime, state, handles, threads, levels of time, status) -> i64`: resume the block's
    threads until all have ended (0) or all that have not wait for the grid (1). Threads that wait for different
    barriers: `status` is reported, and 0 returned."""
    module = Module(Settings(), {})
    module.declare("llvm.coro.resume", "void", ["ptr"], "")
    _resolve(module)
    _meet(module)
    return module.text()


def _meet(module: Module) -> None:
    f = Writer(module)
    f.start("start")
    state = State(f, "%state", "%n")
    f.branch("round")
    f.start("round")

    def resume(t: str) -> None:
        def go() -> None:
            handle = f.let(f"load ptr, ptr {f.let(f'getelementptr ptr, ptr %handles, i64 {t}')}")
            f.line(f"call void @llvm.coro.resume(ptr {handle})")
        f.when(f.is_("eq", state.get("what", t), RUNNING), go)
    counted(f, "0", "%n", resume)
    moved = f.variable()
    warps = f.op("sdiv", f.op("add", "%n", 31), 32)

    def warp(w: str) -> None:
        first = f.op("mul", w, 32)
        went = f.let(f"call i64 @reactant.warp(ptr %state, i64 %n, i64 %levels, i64 {first})")
        f.set(moved, f.op("or", f.get(moved), went))
    counted(f, "0", warps, warp)
    f.branch_if(f.is_("ne", f.get(moved), 0), "round", "blockwide")
    f.start("blockwide")
    here, yes, grid = f.variable(), f.variable(), f.variable()

    def count(t: str) -> None:
        what = state.get("what", t)
        at_barrier = f.let(f"and i1 {f.is_('sge', what, 10)}, {f.is_('sle', what, 13)}")
        f.set(here, f.op("add", f.get(here), f.let(f"zext i1 {at_barrier} to i64")))
        holds = f.let(f"and i1 {at_barrier}, {f.is_('ne', state.get('x', t), 0)}")
        holds = f.let(f"and i1 {holds}, {f.is_('ne', what, 10)}")
        f.set(yes, f.op("add", f.get(yes), f.let(f"zext i1 {holds} to i64")))
        f.set(grid, f.op("add", f.get(grid), f.let(f"zext i1 {f.is_('eq', what, GRID)} to i64")))
    counted(f, "0", "%n", count)
    f.branch_if(f.is_("eq", f.get(here), 0), "quiet", "barrier")
    f.start("quiet")
    f.line(f"ret i64 {_flag(f, f.is_('ne', f.get(grid), 0))}")
    f.start("barrier")
    f.branch_if(f.is_("ne", f.get(grid), 0), "apart", "together")
    f.start("apart")
    f.line("cmpxchg ptr %rt, i32 0, i32 %status seq_cst seq_cst")
    f.line("ret i64 0")
    f.start("together")
    flags = f.variable()     # threads at a barrier that reduces a predicate

    def reducing(t: str) -> None:
        what = state.get("what", t)
        inside = f.let(f"and i1 {f.is_('sge', what, 11)}, {f.is_('sle', what, 13)}")
        f.set(flags, f.op("add", f.get(flags), _flag(f, inside)))
    counted(f, "0", "%n", reducing)
    total = f.get(yes)
    every = _flag(f, f.is_("eq", total, f.get(flags)))
    some = _flag(f, f.is_("ne", total, 0))

    def release(t: str) -> None:
        what = state.get("what", t)

        def answer() -> None:
            value = f.let(f"select i1 {f.is_('eq', what, 12)}, i64 {every}, i64 {some}")
            value = f.let(f"select i1 {f.is_('eq', what, 11)}, i64 {total}, i64 {value}")
            state.set("answer", t, value)
            state.set("what", t, str(RUNNING))
        f.when(f.is_("sge", what, 10), answer)
    counted(f, "0", "%n", release)
    f.branch("round")
    module.definitions.append(f.finished(
        "i64 @reactant.meet(ptr %rt, ptr %state, ptr %handles, i64 %n, i64 %levels, i32 %status) #0"))


def _flag(f: Function, condition: str) -> str:
    return f.let(f"zext i1 {condition} to i64")


def _resolve(module: Module) -> None:
    """`reactant.warp(state, n, levels, first) -> i64`: let one group of lanes go on; whether there was one."""
    f = Writer(module)
    f.start("start")
    state = State(f, "%state", "%n")
    end = f.op("add", "%first", 32)
    last = f.let(f"select i1 {f.is_('sgt', end, '%n')}, i64 %n, i64 {end}")
    chosen = f.variable("-1")

    def order(one: str, other: str) -> str:
        """-1, 0 or 1: which of two times is the earlier."""
        found = f.variable()

        def level(k: str) -> None:
            a, b = (f.let(f"load i64, ptr {state.time(k, t)}, align 8") for t in (one, other))
            here = f.op("sub", _flag(f, f.is_("sgt", a, b)), _flag(f, f.is_("slt", a, b)))
            f.set(found, f.let(f"select i1 {f.is_('eq', f.get(found), 0)}, i64 {here}, i64 {f.get(found)}"))
        f.set(found, "0")
        counted(f, "0", "%levels", level)
        return f.get(found)

    def present_at(lane: str) -> str:
        """The lanes that wait where one does, as bits."""
        bits = f.variable()

        def look(t: str) -> None:
            waits = f.let(f"and i1 {f.is_('sge', state.get('what', t), 20)}, {f.is_('eq', order(t, lane), 0)}")
            f.set(bits, f.op("or", f.get(bits), f.op("shl", _flag(f, waits), f.op("sub", t, "%first"))))
        counted(f, "%first", last, look)
        return f.get(bits)

    def candidate(t: str) -> None:
        def weigh() -> None:
            best = f.get(chosen)
            f.when(f.is_("slt", best, 0), lambda: f.set(chosen, t),
                   lambda: f.when(f.is_("slt", order(t, best), 0), lambda: f.set(chosen, t)))
        f.when(f.is_("sge", state.get("what", t), 20), weigh)
    counted(f, "%first", last, candidate)
    f.branch_if(f.is_("slt", f.get(chosen), 0), "nobody", "somebody")
    f.start("nobody")
    f.line("ret i64 0")
    f.start("somebody")
    present = present_at(f.get(chosen))
    counted(f, "%first", last, lambda t: f.when(_in(f, present, f.op("sub", t, "%first")),
                                                lambda: _answer(f, state, t, present)))
    counted(f, "%first", last, lambda t: f.when(_in(f, present, f.op("sub", t, "%first")),
                                                lambda: state.set("what", t, str(RUNNING))))
    f.line("ret i64 1")
    module.definitions.append(f.finished("internal i64 @reactant.warp(ptr %state, i64 %n, i64 %levels, i64 %first) #0"))


def _in(f: Writer, bits: str, lane: str) -> str:
    return f.let(f"trunc i64 {f.op('lshr', bits, lane)} to i1")


def _answer(f: Writer, state: State, t: str, present: str) -> None:
    """What lane t gets; the codes are those of `WARP`."""
    what, lane = state.get("what", t), f.op("sub", t, "%first")
    state.set("answer", t, state.get("x", t))
    state.set("valid", t, "1")

    def shuffle() -> None:
        offset, width = state.get("y", t), state.get("z", t)
        start = f.op("sub", lane, f.op("srem", lane, width))
        end = f.op("add", start, width)
        jump = f.op("add", start, f.op("and", offset, f.op("sub", width, 1)))
        source = jump
        for code, how in ((22, "sub"), (23, "add"), (24, "xor")):
            source = f.let(f"select i1 {f.is_('eq', what, code)}, i64 {f.op(how, lane, offset)}, i64 {source}")
        above = f.is_("slt", source, end)
        from_start = f.let(f"or i1 {f.is_('eq', what, 24)}, {f.is_('sge', source, start)}")
        inside = f.let(f"and i1 {above}, {from_start}")
        state.set("valid", t, _flag(f, inside))
        clamped = f.op("and", source, 31)
        there = f.let(f"and i1 {inside}, {_in(f, present, clamped)}")
        f.when(inside, lambda: state.set("answer", t, "0"))
        f.when(there, lambda: state.set("answer", t, state.get("x", f.op("add", "%first", clamped))))

    def agreement() -> None:
        mask = f.op("and", state.get("y", t), present)
        own = state.get("x", t)
        same, holding = f.variable(), f.variable()
        f.set(same, "0")
        f.set(holding, "0")

        def look(other: str) -> None:
            number = f.op("sub", other, "%first")
            member = _flag(f, _in(f, mask, number))
            value = state.get("x", other)
            equal = f.op("and", member, _flag(f, f.is_("eq", value, own)))
            holds = f.op("and", member, _flag(f, f.is_("ne", value, 0)))
            f.set(same, f.op("or", f.get(same), f.op("shl", equal, number)))
            f.set(holding, f.op("or", f.get(holding), f.op("shl", holds, number)))
        end = f.op("add", "%first", 32)
        counted(f, "%first", f.let(f"select i1 {f.is_('sgt', end, '%n')}, i64 %n, i64 {end}"), look)
        agree, held = f.get(same), f.get(holding)
        all_agree = f.is_("eq", agree, mask)
        answer = held
        for code, value in ((26, _flag(f, f.is_("ne", held, 0))), (27, _flag(f, f.is_("eq", held, mask))),
                            (28, _flag(f, all_agree)), (29, agree),
                            (30, f.let(f"select i1 {all_agree}, i64 {mask}, i64 0"))):
            answer = f.let(f"select i1 {f.is_('eq', what, code)}, i64 {value}, i64 {answer}")
        state.set("answer", t, answer)
    is_shuffle = f.let(f"and i1 {f.is_('sge', what, 21)}, {f.is_('sle', what, 24)}")
    f.when(is_shuffle, shuffle)
    agreeing = f.let(f"and i1 {f.is_('sge', what, 25)}, {f.is_('sle', what, 30)}")
    f.when(agreeing, agreement)
    f.when(f.is_("eq", what, 31), lambda: state.set("answer", t, present))


def addresses() -> dict[str, int]:
    """Where `reactant.meet` is."""
    return _loaded()


@cache
def _loaded() -> dict[str, int]:
    return objects.addresses_of("reactant.meeting") or engine.load(
        text() + f"attributes #0 = {{ {engine.attributes()} }}\n", "reactant.meeting",
                       ("reactant.meet",), {})
