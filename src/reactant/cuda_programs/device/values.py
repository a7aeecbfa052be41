"""Values of a group of threads where its code is written.

Each is one for all threads, or a vector. Those that are needed in more than one block are in variables of the function,
which LLVM makes registers of: so copies of blocks for whole and for split groups need not know of each other.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from reactant.cuda_programs.device.affine import BASE, LANE
from reactant.cuda_programs.device.cuts import Cut, Pieces
from reactant.cuda_programs.device.fields import Family, Places, families
from reactant.cuda_programs.device.flow import EXIT, after
from reactant.cuda_programs.device.kernel import Kernel
from reactant.cuda_programs.device.lanes import Known
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.meetings import FIRST_OF_WARP
from reactant.cuda_programs.device.narrow import Sum
from reactant.cuda_programs.device.spread import PHI, NotVectorizable, Spread
from reactant.cuda_programs.device.text import (
    VALUE,
    Function,
    opcode_of,
    result_of,
    successors,
    uses_of,
    without_flags,
)
from reactant.cuda_programs.device.types import result_type
from reactant.cuda_programs.device.wide import Wide

_ATOMIC = re.compile(r"(?:^|= )atomicrmw (\w+) ptr (%[^ ,]+), (\S+) (\S+) \w+")
_PLAIN = ("add", "sub", "and", "or", "xor", "fadd", "fsub", "min", "max", "umin", "umax")
_ADDRESS = re.compile(r"= getelementptr (?:(?:inbounds|nuw|nusw) )*(\S+|\[[^]]*\]|{[^}]*}), ptr (%\S+), "
                      r"i64 (%?[-\w.$]+)$")
_ACCESS = re.compile(r"(?:= load|^store) (i\d+|float|double|half|bfloat|ptr)[ ,].*?ptr (%[^ ,]+), align")
_SUM = re.compile(r"= (add|sub|or) ((?:(?:nuw|nsw|disjoint) )*)i(?:32|64) (\S+), (\S+?)(?:, !.*)?$")
_CLAMPED = re.compile(r"@llvm\.([su](?:min|max))\.i\d+\((i32|i64) (?:noundef )?(\S+), i\d+ (?:noundef )?(\S+)\)")
OFTEN = 3
"""Accesses at places of one index from which on it is looked at once for all of them."""
HARMLESS = re.compile(r"@llvm\.(?:sqrt|fabs|fma|fmuladd|minnum|maxnum|smin|smax|umin|umax|abs|floor|ceil|trunc)\.")


def reached(function: Function) -> Function:
    """A function without blocks that nothing leads to."""
    follows, first = after(function), next(iter(function.blocks))
    found, todo = {first}, [first]
    while todo:
        new = [b for b in follows[todo.pop()] if b != EXIT and b not in found]
        found.update(new)
        todo += new
    return Function(function.header, function.name,
                    {b: list(lines) for b, lines in function.blocks.items() if b in found})


def straightened(function: Function) -> Function:
    """A function whose branches lead past the blocks that `cuts` puts in their ways."""
    blocks = function.blocks
    for label, lines in list(blocks.items()):
        if not lines or not lines[-1].startswith("br i1 "):
            continue
        for way in successors(lines[-1]):
            if not way.startswith("way.") or len(blocks[way]) != 1:
                continue
            target = blocks[way][0].removeprefix("br label %")
            if target in successors(lines[-1]):
                continue
            lines[-1] = re.sub(rf"label %{re.escape(way)}(?![-\w$.])", f"label %{target}", lines[-1])
            blocks[target][:] = [re.sub(rf"%{re.escape(way)} \]", f"%{label} ]", line) if " = phi " in line else line
                                 for line in blocks[target]]
    return function


class Values(Wide):
    """Names, variables and instructions of blocks; `Vectors` writes their order."""

    def __init__(self, made: Kernel, cut: Pieces, types: Mapping[str, str], shared: list[str], size: int,
                 notes: tuple[str, Callable[[], str], str], layout: Layout, version: str = "") -> None:
        super().__init__(size, layout, self._loop_notes)
        self.prefix = made.name + version
        self.made, self.cut, self.types, self.shared = made, cut, types, shared
        self.access, self.loop_note, _ = notes
        self.limits: set[Sum] = set()
        self.meets = any(c.meeting for c in cut.cuts)
        self.function = reached(straightened(reached(cut.function)))
        self.meetings = {c.before: c for c in cut.cuts if c.meeting}
        self.ways: dict[str, list[Cut]] = {}
        for c in cut.cuts:
            if c.meeting is None:
                self.ways.setdefault(c.before, []).append(c)
        answers = {c.meeting.result for c in cut.cuts if c.meeting and c.meeting.result
                   and c.meeting.code >= FIRST_OF_WARP}
        self.spread = Spread(self.function, layout, {"%r.tid.x", LANE, *answers}, set(self.meetings), size)
        self._sums_of_places = Places(self.spread.lines, layout)
        self._lost: dict[str, set[str]] = {}
        self._everywhere = self._global_names()
        self._anew = set(self.cut.anew)
        self._crossing = self._crossing_values()
        self._kinds_of_threads = {"%r.tid.x": "i32", LANE: "i64"}
        self._affine = {n for n in self.spread.exact()
                        if {**self._kinds, **self._kinds_of_threads}.get(n) in ("i32", "i64", "ptr")}
        self._crossing |= self._roots() - self._everywhere
        self._singles: dict[str, bool] = {}
        self.beside = bool(shared)
        self._partly = False                # whether what is written again is for threads under a mask

    def blank(self) -> None:
        """A function is begun of which nothing is written."""
        super().blank()
        self.written = ""                   # the block whose code is written
        self._variables: dict[str, str] = {}
        self._masks: dict[str, str] = {}
        self._local: dict[str, str] = {}
        self._splats: dict[str, str] = {}
        self._numbers = 0
        self._waiting: list[Callable[[], None]] = []
        self._begun: set[str] = set()
        self._firsts: dict[str, str] = {}
        self._fixed: dict[str, str] = {}
        self.top_stores: list[str] = []

    def _loop_notes(self) -> tuple[str, str]:
        return f", !llvm.access.group {self.access}", f", !llvm.loop {self.loop_note()}"

    # -- values

    def _global_names(self) -> set[str]:
        gone = {*self.cut.anew, *self.cut.arrays}
        return gone | {n for n in ("%r.tid.x", LANE)}

    def _kind(self, name: str) -> str:
        if name not in self._kinds:
            raise NotVectorizable(name)
        return self._kinds[name]

    def _crossing_values(self) -> set[str]:
        """Values that are needed outside of the block that defines them, and phis."""
        self._kinds: dict[str, str] = {}
        self._home = home = dict[str, str]()
        for label, block in self.function.blocks.items():
            for line in block:
                if (name := result_of(line)) is not None:
                    home[name] = label
                    self._kinds[name] = result_type(line, self.layout)
        found: set[str] = set()
        for c in self.cut.cuts:
            if c.meeting and c.meeting.result:
                self._kinds[c.meeting.result] = c.meeting.type
                home[c.meeting.result] = c.after
                found.add(c.meeting.result)
            if c.meeting:
                found |= {v for _, v in c.meeting.operands.values() if v in home and home[v] != c.before}
        for label, block in self.function.blocks.items():
            for line in block:
                if " = phi " in line:
                    name = result_of(line)
                    assert name is not None
                    found.add(name)
                    found |= {v for v, before in PHI.findall(line) if v in home and home[v] != before}
                else:
                    found |= {v for v in uses_of(line) if v in home and home[v] != label}
        found |= {n for n in self.cut.kept if n in home}
        for c in self.cut.cuts:
            found |= {n for n in c.live if n in home}
        return found - self._everywhere

    def same(self, operand: str) -> bool:
        return operand not in self.spread.divergent

    def step(self, operand: str) -> int | None:
        return self.spread.stride(operand)

    def in_shared(self, pointer: str) -> bool:
        while not pointer.startswith("%shared."):
            found = re.search(r"= getelementptr .*?, ptr (%[^ ,]+)", self.spread.lines.get(pointer, ""))
            if found is None:
                return False
            pointer = found[1]
        return True

    def known(self) -> Known:
        return dict(self._local), dict(self._splats), dict(self._firsts)

    def know(self, known: Known) -> None:
        self._local, self._splats, self._firsts = (dict(one) for one in known)

    def lost(self, name: str, block: str) -> bool:
        """Whether the last meeting before a block may have been one over which a value was not kept. What values are
        made of (addresses of an index, conditions of what is compared) need not live as long as they do."""
        if name in self._everywhere:
            return False
        if name not in self._lost:
            found, home = set[str](), self._home.get(name)
            todo = [c.after for c in self.cut.cuts if c.meeting and c.meeting.code < FIRST_OF_WARP
                    and name not in c.live] if home is not None else []
            while todo:
                label = todo.pop()
                if label not in found and label != home and label in self.function.blocks:
                    found.add(label)
                    todo += [b for b in self.spread.flow.after[label] if b != EXIT]
            self._lost[name] = found
        return block in self._lost[name]

    def index_of(self, pointer: str, size: int) -> tuple[str, str] | None:
        index = self._index_at(pointer, size, self.written)
        return index if index is not None and self.there(index[1]) else None

    def _index_at(self, pointer: str, size: int, block: str) -> tuple[str, str] | None:
        lines = self.spread.lines
        while (found := _ADDRESS.search(lines.get(pointer, ""))) is not None:
            kind, base, index = found.groups()
            if self.same(index):
                pointer = base
                continue
            if not self.same(base) or self.layout.size(kind) != size:
                return None
            root = self._root(index)
            return None if root is None or self.lost(root[1], block) else root
        return None

    def based(self, pointer: str) -> tuple[str, str, str, str] | None:
        found = _ADDRESS.search(self.spread.lines.get(pointer, ""))
        if found is None or not self.same(found[2]) or self.same(found[3]) or found[3] in self._kinds_of_threads or \
                not self.there(found[2]) or not self.there(found[3]):
            return None
        element, base, index = found.groups()
        widened = re.search(r"= (sext|zext nneg|zext) i32 (%\S+) to i64$", self.spread.lines.get(index, ""))
        how = ""
        if widened and self.there(widened[2]):
            how, index = widened[1], widened[2]
        return how, self.one(base), self.vec("i32" if how else "i64", index), element

    def _root(self, index: str) -> tuple[str, str] | None:
        """An index without summands that all threads have in common."""
        kind = "i64"
        while True:
            line = self.spread.lines.get(index, "")
            if found := _SUM.search(line):
                how, flags, a, b = found.groups()
                if how == "or" and "disjoint" not in flags:
                    break
                if self.same(b):
                    index = a
                elif self.same(a) and how != "sub":
                    index = b
                else:
                    break
            elif found := re.search(r"= (?:sext|zext nneg) i32 (%\S+) to i64", line):
                kind, index = "i32", found[1]
            else:
                break
        if index not in self._kinds or self.same(index) or self._from_memory(index, 8):
            return None
        return kind, index

    def _roots(self) -> set[str]:
        """Indices of all accesses at places that may follow each other."""
        found = set()
        for label, block in self.function.blocks.items():
            for line in block:
                if (access := _ACCESS.search(line)) and self.spread.stride(access[2]) is None and \
                        (index := self._index_at(access[2], self.layout.size(access[1]), label)) is not None:
                    found.add(index[1])
        return found

    def clamped(self, name: str) -> str:
        """Whether an index is surely one that goes up by 1, an i1: the larger or smaller of such a one and a bound that
        all threads have in common, which none of them reaches; "" for others."""
        found = _CLAMPED.search(self.spread.lines.get(name, ""))
        if found is None:
            return ""
        how, kind, a, b = found.groups()
        if self.same(a):
            a, b = b, a
        if self.step(a) != 1 or a not in self._affine or not self.same(b) or not self.there(a) or not self.there(b):
            return ""
        f, bound, first = self.f, self.one(b), self.first(a)
        last = f.let(f"add {kind} {first}, {self.size - 1}")
        end, which = (first, "ge") if how.endswith("max") else (last, "le")
        inside = f.let(f"icmp {how[0]}{which} {kind} {end}, {bound}")
        return f.let(f"and i1 {inside}, {f.let(f'icmp {how[0]}le {kind} {first}, {last}')}")

    def _from_memory(self, name: str, depth: int) -> bool:
        """Whether a value follows from what is in memory at places that differ between threads."""
        line = self.spread.lines.get(name)
        if line is None or self.same(name) or " = phi " in line:
            return False
        if depth == 0 or opcode_of(line) in ("load", "call", "atomicrmw", "cmpxchg"):
            return not HARMLESS.search(line)
        return any(self._from_memory(used, depth - 1) for used in uses_of(line))

    def without_locks(self, line: str) -> list[str] | None:
        """An atomic operation on the block's own memory, which no other CPU thread sees, as plain instructions; None
        for what is none. The first line defines the result, which is called %was."""
        found = _ATOMIC.search(line)
        if found is None or found[1] not in _PLAIN or not self.in_shared(found[2]):
            return None
        how, pointer, kind, value = found.groups()
        lines = [f"load {kind}, ptr {pointer}", f"store {kind} %becomes, ptr {pointer}"]
        if how in ("min", "max", "umin", "umax"):
            made = f"call {kind} @llvm.{how if how[0] == 'u' else 's' + how}.{kind}({kind} %was, {kind} {value})"
        else:
            made = f"{how} {kind} %was, {value}"
        return [lines[0], made, lines[1]]

    def variable(self, name: str) -> str:
        if name not in self._variables:
            place = f"%v.{len(self._variables)}"
            self._variables[name] = place
            self.top.append(f"  {place} = alloca {self.type(name)}, align 64")
        return self._variables[name]

    def type(self, name: str) -> str:
        """The type of a value's variable: of those that follow each other by a step, the first thread's is known."""
        return self._kind(name) if self.same(name) or name in self._affine else self.of(self._kind(name))

    def here(self, name: str) -> str:
        """A value where code is written now."""
        if name in self._local:
            return self._local[name]
        if name in self._affine:
            self._local[name] = self._following(name)
            return self._local[name]
        if name in self._anew:
            self._again(name)
            return self._local[name]
        if name in self._crossing:
            made = self.f.let(f"load {self.type(name)}, ptr {self.variable(name)}, align 64")
            self._local[name] = made
            return made
        if name not in self._kinds or name in self._everywhere:      # parameters, registers, arrays
            return self._fixed.get(name, name)
        raise NotVectorizable(f"{name} is not there")

    def first(self, operand: str) -> str:
        """A value of the group's first thread."""
        if operand[0] != "%" or self.same(operand):
            return self.one(operand)
        if operand == "%r.tid.x":
            return BASE
        if operand == LANE:
            return "0"
        if operand not in self._firsts:
            if operand not in self._affine:
                self._firsts[operand] = self.of_thread(operand, 0)
            elif operand in self._anew:
                self._again(operand)
            elif operand in self._crossing:
                self._firsts[operand] = self.f.let(f"load {self._kind(operand)}, ptr {self.variable(operand)}")
            else:
                raise NotVectorizable(f"{operand} is not there")
        return self._firsts[operand]

    def of_thread(self, operand: str, number: int) -> str:
        """A value of one thread of the group; that of an address is computed for this one alone."""
        if operand[0] != "%" or self.same(operand):
            return self.one(operand)
        kind = self._kinds.get(operand) or self._kinds_of_threads[operand]
        if operand in self._affine or operand in self._kinds_of_threads:
            first, step = self.first(operand), (self.step(operand) or 0) * number
            if not step:
                return first
            return self.f.let(f"getelementptr i8, ptr {first}, i64 {step}" if kind == "ptr" else
                              f"add {kind} {first}, {step}")
        line = self.spread.lines.get(operand, "")
        if (opcode_of(line) in ("getelementptr", "sext", "zext") or self._shifted(line)) and \
                all(self.there(used) for used in uses_of(line)):
            return self.f.let(VALUE.sub(lambda m: self.of_thread(m[0], number) if m[0] in self._kinds or
                                        m[0] in self._kinds_of_threads else m[0], self._of_any(line)))
        return self.element(self.vec(kind, operand), kind, number)

    def _shifted(self, line: str) -> bool:
        """Whether an instruction adds what all threads have in common."""
        found = _SUM.search(line)
        return found is not None and found[1] != "or" and (self.same(found[3]) or self.same(found[4]))

    def often_asked(self, index: str) -> bool:
        """Whether several accesses of the block that is written now are at places that follow from an index."""
        found = 0
        for line in self.function.blocks[self.written]:
            access = _ACCESS.search(line)
            if access and self.spread.stride(access[2]) is None:
                root = self._index_at(access[2], self.layout.size(access[1]), self.written)
                found += root is not None and root[1] == index
        return found >= OFTEN

    def _again(self, name: str) -> None:
        """A value that every piece computes anew, where it is needed."""
        mask, self.mask = self.mask, ""
        self._partly, partly = self._partly or bool(mask), self._partly
        self.instruction(self.spread.lines[name], name)
        self.mask, self._partly = mask, partly

    def _of_any(self, line: str) -> str:
        """An instruction without its name, for a thread that may be none of those that are here: what its flags say
        does not hold for others."""
        rest = line.partition(" = ")[2]
        return without_flags(rest) if self.mask or self._partly else rest

    def _following(self, name: str) -> str:
        """The vector of a value of which the first thread's is known."""
        kind = self._kinds.get(name) or self._kinds_of_threads[name]
        step, first = self.step(name) or 0, self.first(name)
        if kind == "ptr":
            steps = ", ".join(f"i64 {k * step}" for k in range(self.size))
            return self.f.let(f"getelementptr i8, ptr {first}, <{self.size} x i64> <{steps}>")
        steps = ", ".join(f"{kind} {k * step}" for k in range(self.size))
        return self.f.let(f"add {self.of(kind)} {self.splat(kind, first)}, <{steps}>")

    def there(self, name: str) -> bool:
        """Whether a value is to be had where code is written now."""
        return name[0] != "%" or name in self._local or name not in self._kinds or name in self._everywhere or (
            name in self._crossing and not self.lost(name, self.written))

    def one(self, operand: str) -> str:
        return self.here(operand) if operand[0] == "%" else operand

    def vec(self, kind: str, operand: str) -> str:
        if operand[0] == "%" and not self.same(operand):
            return self.here(operand)
        key = f"{kind} {operand}"
        if key not in self._splats:
            self._splats[key] = self.splat(kind, self.one(operand))
        return self._splats[key]

    def define(self, name: str, value: str) -> None:
        """A value is known from here on; the first thread's for those that follow each other by a step."""
        (self._firsts if name in self._affine else self._local)[name] = value
        if name in self._crossing:
            self.f.line(f"store {self.type(name)} {value}, ptr {self.variable(name)}, align 64")

    def begin(self, label: str) -> None:
        """A place of code: nothing is known of what was loaded before."""
        self.f.label(label)
        self._local, self._splats, self._firsts = {}, {}, {}

    def fresh(self, what: str) -> str:
        self._numbers += 1
        return f"{what}.{self._numbers}"

    def mask_of(self, label: str) -> str:
        if label not in self._masks:
            self._masks[label] = f"%mask.{len(self._masks)}"
            self.top.append(f"  {self._masks[label]} = alloca <{self.size} x i1>, align 64")
            self.top_stores.append(f"  store <{self.size} x i1> zeroinitializer, ptr {self._masks[label]}, align 64")
        return self._masks[label]

    # -- instructions of a block

    def body(self, label: str) -> None:
        self.written = label
        self.often = self.spread.depth(label, self.spread.headers) > 0
        gone = self._everywhere
        lines = self.function.blocks[label]
        if label not in self.meetings and lines and opcode_of(lines[-1]) in ("br", "ret", "unreachable"):
            lines = lines[:-1]
        lines = [line for line in lines if result_of(line) not in gone and " = phi " not in line]
        self.begin_families(self.families_of(lines))
        for line in lines:
            self.instruction(line, result_of(line))

    def families_of(self, lines: list[str]) -> dict[str, Family]:
        return families(lines, self._sums_of_places, self.spread.offsets, self.in_shared)

    def instruction(self, line: str, name: str | None) -> None:
        opcode = opcode_of(line)
        if opcode == "alloca":
            self.define(name or "", self._own_array(line))
            return
        if name in self._affine:
            rest = VALUE.sub(lambda m: self.first(m[0]) if m[0] in self._kinds or m[0] in self._kinds_of_threads
                             else m[0], self._of_any(line))
            return self.define(name, self.f.let(rest))
        differs = (name is not None and not self.same(name)) or (
            name is None and (opcode in ("store", "call")))
        if opcode in ("atomicrmw", "cmpxchg"):
            differs = True
        if opcode == "call" and name is None and re.search(r"@llvm\.(?:memcpy|memmove|memset)\.", line) and \
                all(self.same(v) for v in uses_of(line)):
            differs = False
        if differs:
            made = self.divergent(line, name)
            if name is not None:
                if made is None:
                    raise NotVectorizable(line)
                self.define(name, made)
            return
        head, equals, rest = line.partition(" = ") if name else ("", "", line)
        value = self.one
        if name in self.spread.cancelled:
            value, rest = self.first, self._of_any(line)
        rest = VALUE.sub(lambda m: value(m[0]) if m[0] in self._kinds or m[0] in self._kinds_of_threads else m[0], rest)
        rest = re.sub(r", !llvm\.access\.group !\d+", "", rest)
        if name is None:
            self.f.line(rest)
        else:
            self.define(name, self.f.let(rest))

    def _own_array(self, line: str) -> str:
        kind = re.search(r"alloca (.*?)(?:, align (\d+))?$", line)
        assert kind
        size = -(-max(self.layout.size(kind[1]), 1) // 16) * 16
        self._arrays += 1
        place = f"%own.{self._arrays}"
        self.top.append(f"  {place} = alloca [{size * self.size} x i8], align 64")
        lanes = ", ".join(f"i64 {size * k}" for k in range(self.size))
        return self.f.let(f"getelementptr i8, ptr {place}, <{self.size} x i64> <{lanes}>")

    # -- phis

    def assign(self, source: str, target: str, mask: str, sure: bool) -> None:
        """The phis of a block that is reached from another; `mask`: by which threads ("": all); `sure`: by some."""
        if target == EXIT:
            return
        given = []
        for line in self.function.blocks[target]:
            if " = phi " not in line:
                break
            name = result_of(line)
            assert name is not None
            value = next((v for v, before in PHI.findall(line) if before == source), None)
            if value is None:
                raise NotVectorizable(line)
            kind = self._kind(name)
            given.append((name, self.one(value) if self.same(name) else
                          self.first(value) if name in self._affine else self.vec(kind, value)))
        some = ""
        for name, value in given:
            common = self.same(name) or self.spread.stride(name) is not None
            if mask and not (common and sure):
                old = self.f.let(f"load {self.type(name)}, ptr {self.variable(name)}, align 64")
                if common:
                    some = some or self.any(mask)
                    value = self.f.let(f"select i1 {some}, {self.type(name)} {value}, {self.type(name)} {old}")
                else:
                    value = self.f.let(f"select <{self.size} x i1> {mask}, {self.type(name)} {value}, "
                                       f"{self.type(name)} {old}")
            self.f.line(f"store {self.type(name)} {value}, ptr {self.variable(name)}, align 64")

    # -- branches

    def targets(self, last: str) -> tuple[str, str]:
        found = re.findall(r"label %(\"[^\"]*\"|[-\w$.]+)", last)
        return found[0], found[1]
