"""Parts of a kernel that the threads of a group run one after the other, though the group is run as vectors: what one
thread does alone (`if (threadIdx.x == 0)`), and what is all reads and writes at unrelated places."""
from __future__ import annotations

import re

from reactant.cuda_programs.device.flow import EXIT
from reactant.cuda_programs.device.spread import PHI, NotVectorizable
from reactant.cuda_programs.device.text import VALUE, opcode_of, result_of, uses_of
from reactant.cuda_programs.device.values import Values


class Single:
    """Writes one such part: blocks `blocks` up to `meet`, entered from `label` for the threads `bits` (an integer)."""

    def __init__(self, of: Values, label: str, blocks: set[str], meet: str) -> None:
        self.of, self.f, self.label, self.blocks, self.meet = of, of.f, label, blocks, meet
        self.prefix = of.fresh("s")
        self.variables: dict[str, str] = {}
        self.outside: dict[str, str] = {}
        self.local: dict[str, str] = {}
        self.inner = {name for block in blocks for line in of.function.blocks[block]
                      if (name := result_of(line)) is not None and name not in of._everywhere}
        self.again = label in blocks

    def write(self, bits: str, chosen: str | None, targets: tuple[str, str], lane: str = "") -> None:
        """`chosen`: bits of the threads that go to the first target, None where all go there. `lane`: the number of
        the only thread, if there is but one. Ends in a fresh block."""
        of, f, word = self.of, self.f, f"i{self.of.size}"
        arrays = {}
        firsts = {}
        for name in sorted(self._needed()):
            if name in of._everywhere or name not in of._kinds or not of.same(name):
                if of.same(name):
                    self.outside[name] = of.one(name)
                    continue
                kind = of._kinds.get(name) or {"%r.tid.x": "i32"}.get(name, "i64")
                if name in of._affine:
                    firsts[name] = kind, of.first(name)
                    continue
                arrays[name] = (kind, self._spilled(kind, name))
            else:
                self.outside[name] = of.one(name)
        self.out: dict[str, tuple[str, str]] = {}
        for line in of.function.blocks[self.meet] if self.meet != EXIT else ():
            if " = phi " not in line:
                break
            phi = line.split(" = ", 1)[0]
            if not of.same(phi):
                of._local.pop(phi, None)
                self.out[phi] = of._kinds[phi], self._spilled(of._kinds[phi], phi)
        left = of.fresh("%left")
        f.line(f"br label %{self.prefix}.lane") if lane else self._lanes(left, bits)
        f.label(f"{self.prefix}.lane")
        self.lane = lane or self._lane(left)
        for name, (kind, first) in firsts.items():
            self.outside[name] = self._following(kind, first, of.step(name) or 0)
        for name, (kind, place) in arrays.items():
            stored = "i8" if kind == "i1" else kind
            at = f.let(f"getelementptr inbounds {stored}, ptr {place}, i64 {self.lane}")
            got = f.let(f"load {stored}, ptr {at}")
            self.outside[name] = f.let(f"trunc i8 {got} to i1") if kind == "i1" else got
        self.local = {}
        if self.again:
            for name in sorted(self.inner & of._crossing):
                f.line(f"store {of._kinds[name]} {self.outside[name]}, ptr {self.variable(name)}")
        if chosen is None:
            self._edge(self.label, targets[0])
        else:
            number = f.let(f"trunc i64 {self.lane} to {word}") if of.size < 64 else self.lane
            bit = f.let(f"trunc {word} {f.let(f'lshr {word} {chosen}, {number}')} to i1")
            self._fork(self.label, bit, targets)
        for block in [b for b in of.function.blocks if b in self.blocks]:
            self._block(block)
        f.label(f"{self.prefix}.next")
        if lane:
            f.line(f"br label %{self.prefix}.end")
        else:
            some = f.let(f"icmp ne {word} {f.let(f'load {word}, ptr {left}')}, 0")
            f.line(f"br i1 {some}, label %{self.prefix}.lane, label %{self.prefix}.end")
        of.begin(f"{self.prefix}.end")
        for name, (kind, place) in self.out.items():
            stored = "i8" if kind == "i1" else kind
            got = f.let(f"load {of.of(stored)}, ptr {place}, align 64")
            if kind == "i1":
                got = f.let(f"trunc {of.of(stored)} {got} to {of.of(kind)}")
            f.line(f"store {of.of(kind)} {got}, ptr {of.variable(name)}, align 64")

    def _lanes(self, left: str, bits: str) -> None:
        """A loop over threads is begun."""
        word = f"i{self.of.size}"
        self.of.top.append(f"  {left} = alloca {word}")
        self.f.line(f"store {word} {bits}, ptr {left}")
        self.f.line(f"br label %{self.prefix}.lane")

    def _lane(self, left: str) -> str:
        """The number of the next thread of the loop."""
        f, word = self.f, f"i{self.of.size}"
        now = f.let(f"load {word}, ptr {left}")
        number = f.let(f"call {word} @llvm.cttz.{word}({word} {now}, i1 true)")
        f.line(f"store {word} {f.let(f'and {word} {now}, ' + f.let(f'add {word} {now}, -1'))}, ptr {left}")
        return f.let(f"zext {word} {number} to i64")

    def _following(self, kind: str, first: str, step: int) -> str:
        """The thread's value of those that follow each other by a step."""
        f = self.f
        if kind == "ptr":
            return f.let(f"getelementptr i8, ptr {first}, i64 {f.let(f'mul i64 {self.lane}, {step}')}")
        lane = self.lane if kind == "i64" else f.let(f"trunc i64 {self.lane} to i32")
        return f.let(f"add {kind} {first}, {f.let(f'mul {kind} {lane}, {step}')}")

    def _needed(self) -> set[str]:
        """Values from outside."""
        of, found, entering = self.of, set[str](), set[str]()
        for label in {*self.blocks, self.meet} - {EXIT}:
            for line in of.function.blocks[label]:
                if " = phi " in line:
                    found |= {v for v, before in PHI.findall(line) if before in self.blocks or before == self.label}
                    entering |= {v for v, before in PHI.findall(line) if before == self.label}
                elif label in self.blocks:
                    found |= set(uses_of(line))
        known = {n for n in found if n[0] == "%" and (n in of._kinds or n in of._everywhere)}
        if self.again:          # the branch's own block is run again: what it has made so far is needed at first
            return (known - self.inner) | (known & entering) | (self.inner & of._crossing)
        return known - self.inner

    def _spilled(self, kind: str, name: str) -> str:
        of = self.of
        value = of.vec(kind, name)
        stored = kind
        if kind == "i1":
            value, stored = self.f.let(f"zext <{of.size} x i1> {value} to <{of.size} x i8>"), "i8"
        place = of.array(stored)
        self.f.line(f"store {of.of(stored)} {value}, ptr {place}, align 64")
        return place

    def variable(self, name: str) -> str:
        if name not in self.variables:
            place = f"%{self.prefix}.v.{len(self.variables)}"
            self.variables[name] = place
            self.of.top.append(f"  {place} = alloca {self.of._kind(name)}")
        return self.variables[name]

    def value(self, operand: str) -> str:
        if operand[0] != "%":
            return operand
        if operand in self.local:
            return self.local[operand]
        if operand in self.inner:
            if operand not in self.of._crossing:
                if self.again and operand in self.outside:
                    return self.outside[operand]
                raise NotVectorizable(f"{operand} is not there")
            made = self.f.let(f"load {self.of._kinds[operand]}, ptr {self.variable(operand)}")
            self.local[operand] = made
            return made
        if operand in self.outside:
            return self.outside[operand]
        if operand in self.of._kinds or operand in self.of._everywhere:
            raise NotVectorizable(f"{operand} is not known")
        return operand

    def _block(self, label: str) -> None:
        of, f = self.of, self.f
        if label in of.meetings:
            raise NotVectorizable("a meeting of single threads")
        f.label(f"{self.prefix}.{label}")
        self.local = {}
        lines = of.function.blocks[label]
        for line in lines[:-1]:
            name = result_of(line)
            if " = phi " in line or name in of._everywhere:
                continue
            if opcode_of(line) == "alloca":
                raise NotVectorizable(line)
            rest = line.partition(" = ")[2] if name else line
            if (plain := of.without_locks(line)) is not None:
                self._plainly(plain, name)
                continue
            rest = VALUE.sub(lambda m: self.value(m[0]) if m[0] in of._kinds or m[0] in of._everywhere else m[0], rest)
            rest = re.sub(r", !llvm\.access\.group !\d+", "", rest)
            if name is None:
                f.line(rest)
                continue
            self.local[name] = f.let(rest)
            if name in of._crossing:
                f.line(f"store {of._kinds[name]} {self.local[name]}, ptr {self.variable(name)}")
        last = lines[-1]
        if last.startswith("br label"):
            self._edge(label, of.spread.flow.after[label][0])
        elif label in of.spread.branches:
            self._fork(label, self.value(of.spread.condition(label)), of.targets(last))
        elif last.startswith("ret"):
            f.line(f"br label %{self.prefix}.next")
        elif last.startswith("unreachable"):
            f.line("unreachable")
        else:
            raise NotVectorizable(last)

    def _plainly(self, lines: list[str], name: str | None) -> None:
        of, f = self.of, self.f
        first, middle, last = (VALUE.sub(lambda m: self.value(m[0]) if m[0] in of._kinds or m[0] in of._everywhere
                                         else m[0], line) for line in lines)
        was = f.let(first)
        f.line(last.replace("%becomes", f.let(middle.replace("%was", was))))
        if name is not None:
            self.local[name] = was
            if name in of._crossing:
                f.line(f"store {of._kinds[name]} {was}, ptr {self.variable(name)}")

    def _fork(self, label: str, test: str, targets: tuple[str, str]) -> None:
        names = [self.of.fresh(f"{self.prefix}.fork") for _ in targets]
        self.f.line(f"br i1 {test}, label %{names[0]}, label %{names[1]}")
        local = self.local
        for name, target in zip(names, targets, strict=True):
            self.f.label(name)
            self.local = dict(local)
            self._edge(label, target)

    def _edge(self, source: str, target: str) -> None:
        of, f = self.of, self.f
        if target == EXIT:
            f.line(f"br label %{self.prefix}.next")
            return
        given = []
        for line in of.function.blocks[target]:
            if " = phi " not in line:
                break
            name = result_of(line)
            value = next((v for v, before in PHI.findall(line) if before == source), None)
            if value is None or name is None:
                raise NotVectorizable(line)
            given.append((name, self.value(value)))
        for name, value in given:
            kind = of._kinds[name]
            if target in self.blocks:
                f.line(f"store {kind} {value}, ptr {self.variable(name)}")
            elif of.same(name):
                f.line(f"store {kind} {value}, ptr {of.variable(name)}, align 64")
            else:
                stored = kind
                if kind == "i1":
                    value, stored = f.let(f"zext i1 {value} to i8"), "i8"
                at = f.let(f"getelementptr inbounds {stored}, ptr {self.out[name][1]}, i64 {self.lane}")
                f.line(f"store {stored} {value}, ptr {at}")
        f.line(f"br label %{self.prefix}.{target if target in self.blocks else 'next'}")
