"""Instructions for all threads of a group at once: one of a thread becomes one of vectors, or several."""
from __future__ import annotations

import re

from reactant.cuda_programs.device.fields import Family, Fields
from reactant.cuda_programs.device.lanes import plain, suffix
from reactant.cuda_programs.device.mathematics import SPELLINGS
from reactant.cuda_programs.device.spread import NotVectorizable
from reactant.cuda_programs.device.text import opcode_of
from reactant.cuda_programs.device.types import leading, result_type
from reactant.kernels.llvm_ir.signatures import split_arguments, type_of

_FLAGS = re.compile(r"((?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract|afn|"
                    r"reassoc) )*)")
_BINARY = frozenset(("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub", "fmul", "fdiv",
                     "udiv", "sdiv", "urem", "srem", "frem"))
_CASTS = frozenset(("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint",
                    "inttoptr", "bitcast"))
_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))
_CALL = re.compile(r"(?:%\S+ = )?(?:tail |notail )?call (.*?)@(\"[^\"]*\"|[-\w$.]+)\((.*)\)(?: #\d+)?((?:, !.*)?)$")
_KEPT_NOTES = re.compile(r", !(?:tbaa|alias\.scope|noalias|invariant\.load) ![\w{}]+")
_ELEMENTWISE = re.compile(r"llvm\.(sqrt|fabs|fma|fmuladd|minnum|maxnum|minimum|maximum|minimumnum|maximumnum|floor|"
                          r"ceil|trunc|rint|nearbyint|round|roundeven|copysign|canonicalize|smin|smax|umin|umax|abs|ctpop|"
                          r"ctlz|cttz|bswap|bitreverse|fshl|fshr|[su](?:add|sub|shl)\.sat)\.(\w+)$")
_NAMES = re.compile(r"(?<![\w.$%-])%(?:\"[^\"]*\"|[-\w$.]+)")
_IGNORED = re.compile(r"@llvm\.(assume|lifetime|experimental\.noalias|donothing|dbg)")


AHEAD, LINE = 4, 64
"""Groups of threads whose data are fetched beforehand; bytes that are fetched at a time."""
AHEAD_BESIDE = 1024
"""Bytes from what a row of a block accesses to what is fetched beforehand where blocks are run beside each other: two
blocks of 16 threads, 128 bytes, are too near."""


class Wide(Fields):
    """Writes instructions."""

    # -- one instruction

    def divergent(self, line: str, name: str | None) -> str | None:
        """An instruction whose result or operands differ between threads; its result, of vectors."""
        opcode = opcode_of(line)
        rest = line.partition(" = ")[2] if name else line
        if opcode in _BINARY:
            return self._binary(opcode, rest)
        if opcode in ("icmp", "fcmp"):
            found = re.match(rf"{opcode} {_FLAGS.pattern}(\w+) (\S+) (.+), ([^,]+?)(?:, !.*)?$", rest)
            assert found, line
            kind = found[3]
            a, b = self.vec(kind, found[4]), self.vec(kind, found[5])
            return self.f.let(f"{opcode} {found[1]}{found[2]} {self.of(kind)} {a}, {b}")
        if opcode in _CASTS:
            found = re.match(rf"{opcode} {_FLAGS.pattern}(\S+) (.+) to (\S+?)(?:, !.*)?$", rest)
            if found is None:
                raise NotVectorizable(line)
            value = self.vec(found[2], found[3])
            if opcode == "zext" and "nneg" in found[1] and self.step(name or ""):
                opcode, found = "sext", re.match(r"\S+ ()(\S+) (.+) to (\S+)", rest.replace("nneg ", "")) or found
            return self.f.let(f"{opcode} {found[1]}{self.of(found[2])} {value} to {self.of(found[4])}")
        if opcode == "fneg":
            found = re.match(rf"fneg {_FLAGS.pattern}(\S+) (\S+?)(?:, !.*)?$", rest)
            assert found
            return self.f.let(f"fneg {found[1]}{self.of(found[2])} {self.vec(found[2], found[3])}")
        if opcode == "freeze":
            _, kind, value = rest.split(" ", 2)
            return self.f.let(f"freeze {self.of(kind)} {self.vec(kind, value)}")
        if (family := self.of_family(line)) is not None:
            return self._of_family(family, line)
        handler = getattr(self, f"_{opcode}", None)
        if handler is None:
            raise NotVectorizable(line)
        return handler(rest)

    def _of_family(self, family: Family, line: str) -> str | None:
        pointer = self._parts(line)[0]
        if family.what == "load":
            return self.taken(family, line, pointer)
        value = line[len(f"store {family.kind} "):line.rindex(", ptr ")]
        self.given(family, line, pointer, self.vec(family.kind, value))
        return None

    def _binary(self, opcode: str, rest: str) -> str:
        found = re.match(rf"{opcode} {_FLAGS.pattern}(\S+) (.+), ([^,]+?)(?:, !.*)?$", rest)
        assert found, rest
        flags, kind, a, b = found.groups()
        left, right = self.vec(kind, a), self.vec(kind, b)
        if opcode in _DIVISIONS and self.mask and not re.fullmatch(r"[1-9]\d*", b):
            right = self.f.let(f"select <{self.size} x i1> {self.mask}, {self.of(kind)} {right}, {self.of(kind)} "
                               f"splat ({kind} 1)")
        return self.f.let(f"{opcode} {flags}{self.of(kind)} {left}, {right}")

    def _select(self, rest: str) -> str:
        found = re.match(rf"select {_FLAGS.pattern}(.*)$", rest)
        assert found
        condition, yes, no = split_arguments(found[2])[:3]
        kind = leading(yes)
        a, b = (self.vec(kind, text[len(kind) + 1:]) for text in (yes, no))
        test = condition[len("i1 "):]
        if not condition.startswith("i1 "):
            raise NotVectorizable(rest)
        if self.same(test):
            return self.f.let(f"select {found[1]}i1 {self.one(test)}, {self.of(kind)} {a}, {self.of(kind)} {b}")
        return self.f.let(f"select {found[1]}<{self.size} x i1> {self.vec('i1', test)}, {self.of(kind)} {a}, "
                          f"{self.of(kind)} {b}")

    def _getelementptr(self, rest: str) -> str:
        found = re.match(rf"getelementptr {_FLAGS.pattern}(.*)$", rest)
        assert found
        kind = leading(found[2])
        parts = [p for p in split_arguments(found[2][len(kind):].lstrip(", ")) if not p.startswith("!")]
        given = []
        for number, part in enumerate(parts):
            what, value = part.rsplit(" ", 1) if number else ("ptr", part[len("ptr "):])
            given.append(f"{what} {self.one(value)}" if self.same(value) else
                         f"{self.of(what)} {self.vec(what, value)}")
        return self.f.let(f"getelementptr {found[1]}{kind}, {', '.join(given)}")

    def _extractvalue(self, rest: str) -> str:
        raise NotVectorizable(rest)

    # -- memory

    def _next_block(self, first: str, pointer: str, size: int) -> None:
        """Blocks beside this one will most likely access what lies beside: rows of tiles are too short for
        processors to see it coming."""
        if self.often and not self.beside and not self.in_shared(pointer):
            # many rows at a time, more than processors follow: each is a little further next time
            for line in range(0, self.size * size, LINE):
                at = self.f.let(f"getelementptr i8, ptr {first}, i64 {AHEAD * self.size * size + line}")
                self.f.line(f"call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 3, i32 1)")
        if self.beside and not self.in_shared(pointer):
            at = self.f.let(f"getelementptr i8, ptr {first}, i64 {AHEAD_BESIDE}")
            self.f.line(f"call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 3, i32 1)")

    def _parts(self, text: str) -> tuple[str, str, str]:
        """Pointer, alignment, notes of an access."""
        found = re.search(r", ptr (%\"[^\"]*\"|[^ ,]+|.*?\)), align (\d+)(.*)$", text)
        if found is None:
            raise NotVectorizable(text)
        return found[1], found[2], "".join(_KEPT_NOTES.findall(found[3]))

    def _load(self, rest: str) -> str | None:
        if rest.startswith(("load atomic", "load volatile")):
            return self.each(rest, None)
        kind = plain(leading(rest[len("load "):]))
        pointer, align, notes = self._parts(rest)
        size, wide, step = self.layout.size(kind), self.of(kind), self.step(pointer)
        if kind == "i1":
            return self.each(rest, None)
        if step == size:
            first = self.first(pointer)
            self._next_block(first, pointer, size)
            if not self.mask or self.in_shared(pointer):
                return self.f.let(f"load {wide}, ptr {first}, align {align}{notes}")
            if size >= 4:
                return self._masked_load(kind, first, align, self.mask, "poison")
        if step == -size and not self.mask:
            first = self.f.let(f"getelementptr i8, ptr {self.first(pointer)}, i64 {(self.size - 1) * step}")
            made = self.f.let(f"load {wide}, ptr {first}, align {align}{notes}")
            order = ", ".join(f"i32 {k}" for k in reversed(range(self.size)))
            return self.f.let(f"shufflevector {wide} {made}, {wide} poison, <{self.size} x i32> <{order}>")
        if step is not None and not self.mask:
            first, made = self.first(pointer), "poison"
            for k in range(self.size):
                at = self.f.let(f"getelementptr i8, ptr {first}, i64 {k * step}")
                one = self.f.let(f"load {kind}, ptr {at}, align {align}{notes}")
                made = self.f.let(f"insertelement {wide} {made}, {kind} {one}, i64 {k}")
            return made
        if (size >= 4 or not self.mask) and (index := self.index_of(pointer, size)) is not None:
            return self._perhaps_load(index, pointer, kind, align)
        return self._gathered(pointer, kind, align)

    def _gathered(self, pointer: str, kind: str, align: str) -> str:
        wide, made = self.of(kind), "poison"
        for k, at in enumerate(self._places(pointer)):
            one = self.f.let(f"load {kind}, ptr {at}, align {align}")
            made = self.f.let(f"insertelement {wide} {made}, {kind} {one}, i64 {k}")
        return made

    def _places(self, pointer: str) -> list[str]:
        """The address of each thread, a place of no meaning for threads that are not active."""
        if (step := self.step(pointer)) is not None and not self.mask:
            first = self.first(pointer)
            return [self.f.let(f"getelementptr i8, ptr {first}, i64 {k * step}") for k in range(self.size)]
        if self.mask or (found := self.based(pointer)) is None:
            vector = self._reachable(pointer)
            return [self.element(vector, "ptr", k) for k in range(self.size)]
        how, base, vector, kind = found                 # fewer instructions than a vector of addresses taken apart
        indices = [self.element(vector, "i32" if how else "i64", k) for k in range(self.size)]
        if how:
            indices = [self.f.let(f"{how} i32 {index} to i64") for index in indices]
        return [self.f.let(f"getelementptr {kind}, ptr {base}, i64 {index}") for index in indices]

    def _consecutive(self, index: tuple[str, str], whole: bool) -> tuple[list[str], str]:
        """Asks whether an index (type, name) goes up by 1 from thread to thread; labels for yes, for "in two parts"
        (unless elements are too small for masks, `whole`), for no, and of what comes after; and the threads of the
        first part."""
        kind, name = index
        self._loops += 1
        labels = [f"{what}.{self._loops}" for what in ("row", "parts", "scattered", "access", "not.row", "clamped")]
        if sure := self.clamped(name):
            self.f.line(f"br i1 {sure}, label %{labels[0]}, label %{labels[5]}")
            self.f.label(labels[5])
        value, top = self.vec(kind, name), self.size - 1
        lanes = ", ".join(f"{kind} {k}" for k in range(self.size))
        wanted = self.f.let(f"add {self.of(kind)} {self.splat(kind, self.element(value, kind, 0))}, <{lanes}>")
        same = self.f.let(f"icmp eq {self.of(kind)} {value}, {wanted}")
        yes = self.f.let(f"icmp eq i{self.size} {self.bits(same)}, -1")

        def in_parts() -> str:
            lanes = ", ".join(f"{kind} {k - top}" for k in range(self.size))
            wanted = self.f.let(f"add {self.of(kind)} {self.splat(kind, self.element(value, kind, top))}, <{lanes}>")
            other = self.f.let(f"icmp eq {self.of(kind)} {value}, {wanted}")
            either = self.bits(self.f.let(f"or <{self.size} x i1> {same}, {other}"))
            return self.f.let(f"icmp eq i{self.size} {either}, -1")
        # Where the next accesses ask the same, both answers are had here, where LLVM finds them again.
        parts = in_parts() if not whole and self.often_asked(name) else ""
        self.f.line(f"br i1 {yes}, label %{labels[0]}, label %{labels[2] if whole else labels[4]}")
        if not whole:
            self.f.label(labels[4])
            self.f.line(f"br i1 {parts or in_parts()}, label %{labels[1]}, label %{labels[2]}")
        return labels[:4], same

    def _parts_of(self, pointer: str, size: int, first_part: str) -> list[tuple[str, str]]:
        """(address, threads) of the two parts of an access."""
        rest = self.f.let(f"xor <{self.size} x i1> {first_part}, splat (i1 true)")
        last = self.of_thread(pointer, self.size - 1)
        start = self.f.let(f"getelementptr i8, ptr {last}, i64 {-(self.size - 1) * size}")
        parts = [(self.first(pointer), first_part), (start, rest)]
        if not self.mask:
            return parts
        return [(at, self.f.let(f"and <{self.size} x i1> {self.mask}, {who}")) for at, who in parts]

    def _masked_load(self, kind: str, at: str, align: str, mask: str, other: str) -> str:
        wide = self.of(kind)
        return self.f.let(f"call {wide} @llvm.masked.load.v{self.size}{suffix(kind)}.p0(ptr align {align} {at}, "
                          f"<{self.size} x i1> {mask}, {wide} {other})")

    def _open(self, pointer: str) -> bool:
        """Whether rows at an address may be accessed beyond what active threads need: those of a block's memory, when
        one of the threads is active."""
        return not self.mask and self.in_shared(pointer)

    def _blended_store(self, kind: str, at: str, align: str, mask: str, given: str) -> None:
        """A masked store where nobody else sees what is written back: several times as fast on some processors. The
        freeze keeps LLVM from making a masked store of it."""
        wide = self.of(kind)
        old = self.f.let(f"load {wide}, ptr {at}, align {align}")
        old = self.f.let(f"freeze {wide} {old}")
        made = self.f.let(f"select <{self.size} x i1> {mask}, {wide} {given}, {wide} {old}")
        self.f.line(f"store {wide} {made}, ptr {at}, align {align}")

    def _masked_store(self, kind: str, at: str, align: str, mask: str, given: str) -> None:
        self.f.line(f"call void @llvm.masked.store.v{self.size}{suffix(kind)}.p0({self.of(kind)} {given}, "
                    f"ptr align {align} {at}, <{self.size} x i1> {mask})")

    def _perhaps_load(self, index: tuple[str, str], pointer: str, kind: str, align: str) -> str:
        wide, place, size = self.of(kind), self.array(kind), self.layout.size(kind)
        known = self.known()
        (row, parts, scattered, after), first_part = self._consecutive(index, size < 4)

        def keep(made: str) -> None:
            self.f.line(f"store {wide} {made}, ptr {place}, align 64")
            self.f.line(f"br label %{after}")
            self.know(known)
        self.f.label(row)
        self.know(known)
        first = self.first(pointer)
        masked = self.mask and not self.in_shared(pointer)
        keep(self._masked_load(kind, first, align, self.mask, "poison") if masked else
             self.f.let(f"load {wide}, ptr {first}, align {align}"))
        if size >= 4:
            self.f.label(parts)
            made = "zeroinitializer"
            for at, who in self._parts_of(pointer, size, first_part):
                got = self.f.let(f"load {wide}, ptr {at}, align {align}") if self._open(pointer) else \
                    self._masked_load(kind, at, align, who, "zeroinitializer")
                made = self.f.let(f"select <{self.size} x i1> {who}, {wide} {got}, {wide} {made}")
            keep(made)
        self.f.label(scattered)
        keep(self._gathered(pointer, kind, align))
        self.f.label(after)
        return self.f.let(f"load {wide}, ptr {place}, align 64")

    def _perhaps_store(self, index: tuple[str, str], pointer: str, kind: str, align: str, given: str) -> None:
        size = self.layout.size(kind)
        known = self.known()
        (row, parts, scattered, after), first_part = self._consecutive(index, size < 4)
        self.f.label(row)
        self.know(known)
        first = self.first(pointer)
        if self.mask:
            store = self._blended_store if self.in_shared(pointer) else self._masked_store
            store(kind, first, align, self.mask, given)
        else:
            self.f.line(f"store {self.of(kind)} {given}, ptr {first}, align {align}")
        self.f.line(f"br label %{after}")
        self.know(known)
        if size >= 4:
            self.f.label(parts)
            store = self._blended_store if self._open(pointer) else self._masked_store
            for at, who in self._parts_of(pointer, size, first_part):
                store(kind, at, align, who, given)
            self.f.line(f"br label %{after}")
            self.know(known)
        self.f.label(scattered)
        self._scattered(pointer, kind, align, given)
        self.f.line(f"br label %{after}")
        self.f.label(after)
        self.know(known)

    def _scattered(self, pointer: str, kind: str, align: str, given: str) -> None:
        for k, at in enumerate(self._places(pointer)):
            self.f.line(f"store {kind} {self.element(given, kind, k)}, ptr {at}, align {align}")

    def _reachable(self, pointer: str) -> str:
        """Addresses that can be read and written: those of threads that are not active are a place of no meaning."""
        if not self.mask:
            return self.vec("ptr", pointer)
        if not self._nowhere:
            self._nowhere = "%nowhere"
            self.top.append("  %nowhere = alloca [16 x i8], align 16")
        kind = f"<{self.size} x ptr>"
        return self.f.let(f"select <{self.size} x i1> {self.mask}, {kind} {self.vec('ptr', pointer)}, {kind} "
                          f"{self.splat('ptr', self._nowhere)}")

    def _store(self, rest: str) -> None:
        if rest.startswith(("store atomic", "store volatile")):
            self.each(rest, None)
            return
        pointer, align, notes = self._parts(rest)
        kind = leading(rest[len("store "):])
        value = rest[len("store ") + len(kind) + 1:rest.rindex(", ptr ")]
        plain(kind)
        if kind == "i1":
            self.each(rest, None)
            return
        size, wide, step = self.layout.size(kind), self.of(kind), self.step(pointer)
        if self.same(pointer):
            if self.same(value):
                self.f.line(f"store {kind} {self.one(value)}, ptr {self.one(pointer)}, align {align}{notes}")
                return
            last: int | str = self.size - 1
            if self.mask:
                zeros = self.f.let(f"call i{self.size} @llvm.ctlz.i{self.size}(i{self.size} {self.bits(self.mask)}, "
                                   "i1 false)")
                left = self.f.let(f"sub i{self.size} {self.size - 1}, {zeros}")
                last = self.f.let(f"zext i{self.size} {left} to i64") if self.size < 64 else left
                last = self.f.let(f"and i64 {last}, {self.size - 1}")
            one = self.element(self.vec(kind, value), kind, last)
            self.f.line(f"store {kind} {one}, ptr {self.one(pointer)}, align {align}{notes}")
            return
        given = self.vec(kind, value)
        if step == size and not self.mask:
            first = self.first(pointer)
            self._next_block(first, pointer, size)
            self.f.line(f"store {wide} {given}, ptr {first}, align {align}{notes}")
        elif step == size and self.in_shared(pointer):
            self._blended_store(kind, self.first(pointer), align, self.mask, given)
        elif step == size and size >= 4:
            self._masked_store(kind, self.first(pointer), align, self.mask, given)
        elif step is None and (size >= 4 or not self.mask) and (index := self.index_of(pointer, size)) is not None:
            self._perhaps_store(index, pointer, kind, align, given)
        else:
            self._scattered(pointer, kind, align, given)

    # -- calls, and what each thread does for itself

    def _call(self, rest: str) -> str | None:
        if _IGNORED.search(rest):
            return None
        found = _CALL.match(rest)
        if found is None:
            raise NotVectorizable(rest)
        before, name, given, _ = found.groups()
        kind = type_of(re.sub(r"\b(fastcc|ccc|nofpclass\([^)]*\)|nnan|ninf|nsz|arcp|contract|afn|reassoc|fast)\s", "",
                              before)).strip()
        arguments = split_arguments(given)
        if (spelt := _ELEMENTWISE.match(name)) is not None:
            parts, flags = [], _FLAGS.match(before.strip() + " ")
            for number, argument in enumerate(arguments):
                what, value = type_of(argument.rsplit(" ", 1)[0]), argument.rsplit(" ", 1)[1]
                if number == 1 and spelt[1] in ("abs", "ctlz", "cttz"):
                    parts.append(f"i1 {value}")
                else:
                    parts.append(f"{self.of(what)} {self.vec(what, value)}")
            return self.f.let(f"call {flags[1] if flags else ''}{self.of(kind)} "
                              f"@llvm.{spelt[1]}.v{self.size}{spelt[2]}({', '.join(parts)})")
        if name in SPELLINGS:
            return self._mathematics(rest, kind, arguments)
        return self.each(rest, None if kind == "void" else kind)

    def _mathematics(self, rest: str, kind: str, arguments: list[str]) -> str:
        """A loop of which LLVM makes vectors."""
        places = []
        for argument in arguments:
            what, value = type_of(argument.rsplit(" ", 1)[0]), argument.rsplit(" ", 1)[1]
            place = self.array(what)
            self.f.line(f"store {self.of(what)} {self.vec(what, value)}, ptr {place}, align 64")
            places.append((what, place))
        out = self.array(kind)
        self._loops += 1
        n = self._loops
        self.f.line(f"br label %math.{n}.start")
        self.f.label(f"math.{n}.start")
        self.f.line(f"br label %math.{n}")
        self.f.label(f"math.{n}")
        self.f.line(f"%math.{n}.k = phi i64 [ 0, %math.{n}.start ], [ %math.{n}.next, %math.{n} ]")
        given = []
        note, end = self.loop()                                              # type: ignore[operator]
        for what, place in places:
            at = self.f.let(f"getelementptr inbounds {what}, ptr {place}, i64 %math.{n}.k")
            given.append(f"{what} {self.f.let(f'load {what}, ptr {at}{note}')}")
        called = re.sub(r"\(.*\)(?: #\d+)?(?:, !.*)?$", f"({', '.join(given)})", rest[rest.index("call "):], count=1)
        made = self.f.let(called)
        at = self.f.let(f"getelementptr inbounds {kind}, ptr {out}, i64 %math.{n}.k")
        self.f.line(f"store {kind} {made}, ptr {at}{note}")
        self.f.let(f"add nuw nsw i64 %math.{n}.k, 1", f"%math.{n}.next")
        more = self.f.let(f"icmp ult i64 %math.{n}.next, {self.size}")
        self.f.line(f"br i1 {more}, label %math.{n}, label %math.{n}.end{end}")
        self.f.label(f"math.{n}.end")
        return self.f.let(f"load {self.of(kind)}, ptr {out}, align 64")

    def _atomicrmw(self, rest: str) -> str | None:
        return self.each(rest, result_type("%x = " + rest, self.layout))

    def _cmpxchg(self, rest: str) -> str:
        raise NotVectorizable(rest)

    def each(self, rest: str, kind: str | None) -> str | None:
        """An instruction that threads execute one after the other."""
        if rest.startswith("load "):
            kind = result_type("%x = " + rest, self.layout)
        names = dict.fromkeys(_NAMES.findall(rest))
        typed = dict(self._typed(rest))
        places = {}
        for name in names:
            if name in typed and not self.same(name):
                what = typed[name]
                place = self.array("i8" if what == "i1" else plain(what))
                value = self.vec(what, name)
                if what == "i1":
                    value, what = self.f.let(f"zext <{self.size} x i1> {value} to <{self.size} x i8>"), "i8"
                self.f.line(f"store {self.of(what)} {value}, ptr {place}, align 64")
                places[name] = place
        out = None
        if kind is not None:
            out = self.array("i8" if kind == "i1" else plain(kind))
        self._loops += 1
        n = self._loops
        self.f.line(f"br label %each.{n}.start")
        self.f.label(f"each.{n}.start")
        all_ = self.bits(self.mask) if self.mask else f"{2**self.size - 1}"
        word = f"i{self.size}"
        self.f.line(f"br label %each.{n}")
        self.f.label(f"each.{n}")
        self.f.line(f"%each.{n}.bits = phi {word} [ {all_}, %each.{n}.start ], [ %each.{n}.left, %each.{n} ]")
        number = self.f.let(f"call {word} @llvm.cttz.{word}({word} %each.{n}.bits, i1 true)")
        at = self.f.let(f"zext {word} {number} to i64")
        replaced = {}
        for name, place in places.items():
            what = typed[name]
            stored = "i8" if what == "i1" else what
            spot = self.f.let(f"getelementptr inbounds {stored}, ptr {place}, i64 {at}")
            got = self.f.let(f"load {stored}, ptr {spot}")
            replaced[name] = self.f.let(f"trunc i8 {got} to i1") if what == "i1" else got
        for name in names:
            if name in typed and name not in replaced:
                replaced[name] = self.one(name)
        if (unlocked := self.without_locks(rest)) is not None:
            first, middle, last = (_NAMES.sub(lambda m: replaced.get(m[0], m[0]), line) for line in unlocked)
            was = self.f.let(first)
            self.f.line(last.replace("%becomes", self.f.let(middle.replace("%was", was))))
        else:
            text = _NAMES.sub(lambda m: replaced.get(m[0], m[0]), rest)
            text = re.sub(r", !llvm\.access\.group !\d+", "", text)
        if kind is None:
            if not unlocked:
                self.f.line(text)
        else:
            got = was if unlocked else self.f.let(text)
            stored = kind
            if kind == "i1":
                got, stored = self.f.let(f"zext i1 {got} to i8"), "i8"
            spot = self.f.let(f"getelementptr inbounds {stored}, ptr {out}, i64 {at}")
            self.f.line(f"store {stored} {got}, ptr {spot}")
        less = self.f.let(f"add {word} %each.{n}.bits, -1")
        self.f.let(f"and {word} %each.{n}.bits, {less}", f"%each.{n}.left")
        self.f.line(f"br i1 {self.f.let(f'icmp ne {word} %each.{n}.left, 0')}, label %each.{n}, label %each.{n}.end")
        self.f.label(f"each.{n}.end")
        if kind is None:
            return None
        stored = "i8" if kind == "i1" else kind
        made = self.f.let(f"load {self.of(stored)}, ptr {out}, align 64")
        return self.f.let(f"trunc <{self.size} x i8> {made} to <{self.size} x i1>") if kind == "i1" else made

    def _typed(self, rest: str) -> list[tuple[str, str]]:
        """(name, type) of the operands of an access, an atomic instruction or a call."""
        if (called := _CALL.match(rest)) is not None and " call " in f" {rest}":
            if not re.search(r"@(?:\"[^\"]*\"|[-\w$.]+)\(", rest):
                raise NotVectorizable(rest)
            parts = split_arguments(called[3])
        else:
            parts = split_arguments(re.sub(r"^(?:load|store|atomicrmw|cmpxchg) (?:(?:atomic|volatile|weak) )*"
                                           r"(?:(?:add|sub|and|nand|or|xor|u?min|max|umax|xchg|fadd|fsub|fmax|fmin|"
                                           r"uinc_wrap|udec_wrap|fmaximum|fminimum|usub_cond|usub_sat) )?", "", rest))
        found = []
        for part in parts:
            hit = re.search(r"(%(?:\"[^\"]*\"|[-\w$.]+))(?: (?:seq_cst|monotonic|acq_rel|acquire|release|syncscope.*)"
                            r".*)?$", part)
            if hit and not part.startswith("!"):
                found.append((hit[1], type_of(part[:hit.start()].strip())))
        return found
