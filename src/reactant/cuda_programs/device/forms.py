"""Numbers of a kernel as sums of what a launch knows and of parts that go up from block to block and from thread to
thread: for each i32 or i64 value, instructions that compute at the launch which values it has in a block.

A sum is taken in 64 bits, modulo 2**64. Modulo 2**32 it is what the kernel has in 32 bits; where a kernel widens a
number, the launch is asked whether the sum stays within 32 bits for all its blocks, and then it is the same number.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.kernel import Kernel
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.text import FLAGS, Function, opcode_of, result_of, uses_of
from reactant.cuda_programs.device.types import leading
from reactant.cuda_programs.device.writer import Writer
from reactant.kernels.llvm_ir.signatures import split_arguments
from reactant.support.records import dataclass

WORD = r"(%\S+|-?\d+)"
_BINARY = re.compile(rf"= (add|sub|mul|shl|or) ((?:(?:nuw|nsw|disjoint) )*)(i32|i64) {WORD}, {WORD}(?:, !.*)?$")
_WIDENED = re.compile(r"= (sext|zext)(?: nneg)? i32 (%\S+) to i64$")
_INVERTED = re.compile(r"= xor i(?:32|64) (%\S+), -1(?:, !.*)?$")
_PHI = re.compile(r"= phi (\S+) (.*?)(?:, !.*)?$")
_INCOMING = re.compile(r"\[ ([^,\]]+), %([^\]]+) \]")
_COMPARED = re.compile(rf"= icmp (?:samesign )?(\w+) (?:i32|i64) {WORD}, {WORD}(?:, !.*)?$")
_BRANCH = re.compile(r"^br i1 (%\S+), label %([^,\s]+), label %([^,\s]+)")
_COPIED = frozenset(("add", "sub", "mul", "and", "or", "xor", "sext", "zext", "trunc", "select", "icmp", "freeze"))
_CHOOSES = re.compile(r"^call (?:noundef )?(?:range\([^)]*\) )?i(?:32|64) @llvm\.[su](?:min|max)\.i(?:32|64)"
                      r"\(([^()]*)\)$")
_BY_CONSTANT = re.compile(r"= (?:[us]div|[us]rem|[la]?shr|shl) (?:(?:exact|nuw|nsw) )*i(32|64) %\S+, (\d+)$")
LAUNCHED = frozenset(f"%r.{kind}.{axis}" for kind in ("ntid", "nctaid") for axis in "xyz")
"""Registers that a launch has for all its blocks,"""
THREADS = {f"%r.tid.{axis}": f"%r.ntid.{axis}" for axis in "xyz"}
"""and those of threads, each below another one."""
MOST = 2**31


@dataclass(frozen=True)
class Form:
    """base + block * step + what is between low and high, + any multiple of period ("" for none): values of 64 bits in
    the function that is written, or numbers."""

    base: str = "0"
    step: str = "0"
    low: str = "0"
    high: str = "0"
    period: str = ""

    @property
    def alone(self) -> bool:
        """Whether it is one number."""
        return (self.step, self.low, self.high, self.period) == ("0", "0", "0", "")


def number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d+", text) else None


class Forms:
    """Finds those of one kernel and writes what computes them. Blocks are in one row, `%count` of them."""

    def __init__(self, made: Kernel, layout: Layout, f: Writer, count: str) -> None:
        self.made, self.layout, self.f, self.count = made, layout, f, count
        self.function: Function = made.function
        self.lines = made.function.definitions()
        self.home = {name: label for label, block in made.function.blocks.items() for line in block
                     if (name := result_of(line)) is not None}
        self.given = {p.name: p for p in made.parameters}
        self.conditions: set[str] = set()
        """What has to hold for the forms that were found since it was emptied."""
        self._copies: dict[str, str | None] = {}
        self._forms: dict[str, tuple[Form | None, set[str]]] = {}

    # -- arithmetic of 64 bits, of numbers as far as they are known
    def op(self, how: str, a: str, b: str) -> str:
        x, y = number(a), number(b)
        if x is not None and y is not None:
            made = {"add": x + y, "sub": x - y, "mul": x * y}[how]
            if abs(made) < 2**62:
                return str(made)
        if how in ("add", "sub") and y == 0 or how == "mul" and y == 1:
            return a
        if how == "add" and x == 0 or how == "mul" and x == 1:
            return b
        if how == "mul" and 0 in (x, y):
            return "0"
        return self.f.let(f"{how} i64 {a}, {b}")

    def least(self, how: str, a: str, b: str) -> str:
        """The smaller or larger (smin, smax) of two."""
        x, y = number(a), number(b)
        if x is not None and y is not None:
            return str(min(x, y) if how == "smin" else max(x, y))
        return a if a == b else self.f.let(f"call i64 @llvm.{how}.i64(i64 {a}, i64 {b})")

    def sum(self, a: Form, b: Form) -> Form | None:
        if a.period and b.period:
            return None
        return Form(self.op("add", a.base, b.base), self.op("add", a.step, b.step), self.op("add", a.low, b.low),
                    self.op("add", a.high, b.high), a.period or b.period)

    def times(self, a: Form, factor: str) -> Form:
        low, high = self.op("mul", a.low, factor), self.op("mul", a.high, factor)
        return Form(self.op("mul", a.base, factor), self.op("mul", a.step, factor), self.least("smin", low, high),
                    self.least("smax", low, high), self.op("mul", a.period, factor) if a.period else "")

    def ends(self, a: Form) -> tuple[str, str]:
        """The least and the largest value in all blocks, of a form without a period."""
        way = self.op("mul", a.step, self.op("sub", self.count, "1"))
        return (self.op("add", self.op("add", a.base, a.low), self.least("smin", way, "0")),
                self.op("add", self.op("add", a.base, a.high), self.least("smax", way, "0")))

    def require(self, how: str, a: str, b: str) -> None:
        """A comparison that has to hold at the launch."""
        x, y = number(a), number(b)
        if x is not None and y is not None:
            if not {"sge": x >= y, "sgt": x > y, "sle": x <= y, "slt": x < y}[how]:
                self.conditions.add("false")
            return
        self.conditions.add(self.f.let(f"icmp {how} i64 {a}, {b}"))

    # -- what a launch knows
    def copy(self, name: str) -> str | None:
        """A value in the function that is written, if it is the same for all threads and made of arguments alone."""
        if name[0] != "%":
            return name
        if name in LAUNCHED:
            return name
        if (parameter := self.given.get(name)) is not None:
            return None if parameter.type == "ptr" or parameter.by_address else name
        if name not in self._copies:
            self._copies[name] = None                       # while it is looked for: it is not made of itself
            self._copies[name] = self._copied(self.lines.get(name, ""))
        return self._copies[name]

    def _copied(self, line: str) -> str | None:
        rest = line.partition(" = ")[2]
        if not line:
            return None
        if (field := self.argument_field(line)) is not None:
            parameter, offset = field
            kind = leading(rest.partition(" ")[2])
            at = self.f.let(f"getelementptr i8, ptr {parameter}, i64 {offset}")
            return self.f.let(f"load {kind}, ptr {at}")
        plain = FLAGS.sub("", rest.removeprefix("tail ").partition(", !")[0])
        by_constant = _BY_CONSTANT.search(line)
        if by_constant:
            divides = "div" in by_constant[0] or "rem" in by_constant[0]
            if not (int(by_constant[2]) > 0 if divides else int(by_constant[2]) < int(by_constant[1])):
                return None
        elif opcode_of(line) not in _COPIED and not _CHOOSES.match(plain):
            return None
        taken = {}
        for used in uses_of(line):
            if (made := self.copy(used)) is None:
                return None
            taken[used] = made
        if any(kind in plain for kind in ("float", "double", "half", "ptr ", "<")):
            return None
        return self.f.let(re.sub(r"%[-\w$.]+", lambda m: taken.get(m[0], m[0]), plain))

    def argument_field(self, line: str) -> tuple[str, int] | None:
        """(parameter, offset) of a value that is read from a structure that the kernel gets by value."""
        found = re.search(r"= load (?!atomic|volatile).*?, ptr (%[^,\s]+)", line)
        if found is None:
            return None
        name, offset = found[1], 0
        while name not in self.given:
            stepped = self.step_of(self.lines.get(name, ""))
            if stepped is None or (more := number(stepped[1].base)) is None or not stepped[1].alone:
                return None
            name, offset = stepped[0], offset + more
        parameter = self.given[name]
        fits = parameter.by_address and "readonly" in parameter.text and offset >= 0
        return (name, offset) if fits else None

    def step_of(self, line: str) -> tuple[str, Form] | None:
        """(the pointer, bytes) of a getelementptr."""
        rest = line.partition(" = ")[2]
        if not rest.startswith("getelementptr "):
            return None
        parts = split_arguments(FLAGS.sub("", rest.removeprefix("getelementptr ")).partition(", !")[0])
        kind = self.layout.type(parts[0])
        total: Form | None = Form()
        for position, part in enumerate(parts[2:]):
            width, _, index = part.rpartition(" ")
            if position and kind.kind == "struct":
                made: Form | None = Form(str(kind.offsets()[int(index)]))
                kind = kind.parts[int(index)]
            else:
                if position:
                    kind = kind.parts[0]
                form = self.of(index, width)
                if form is not None and width == "i32":
                    form = self.widened(form, "sext")
                made = None if form is None else self.times(form, str(kind.size()))
            total = None if total is None or made is None else self.sum(total, made)
        return None if total is None else (parts[1].rpartition(" ")[2], total)

    # -- forms
    def of(self, name: str, kind: str) -> Form | None:
        """The form of a value; what it needs is added to `conditions`."""
        if number(name) is not None:
            return Form(name)
        if name[0] != "%" or kind not in ("i32", "i64"):
            return None
        if name not in self._forms:
            self._forms[name] = None, set()
            before, self.conditions = self.conditions, set()
            made = self._made(name, kind)
            self._forms[name] = made, self.conditions
            self.conditions = before
        found, needed = self._forms[name]
        self.conditions |= needed
        return found

    def _made(self, name: str, kind: str) -> Form | None:
        if name in THREADS:
            extent = self.f.let(f"zext i32 {THREADS[name]} to i64")
            return Form(high=self.op("sub", extent, "1"))
        if name == "%r.ctaid.x":
            return Form(step="1")
        if (copied := self.copy(name)) is not None:
            return Form(copied if kind == "i64" else self.f.let(f"sext i32 {copied} to i64"))
        line = self.lines.get(name, "")
        if found := _WIDENED.search(line):
            inner = self.of(found[2], "i32")
            return None if inner is None else self.widened(inner, found[1])
        if found := _BINARY.search(line):
            return self._sum(*found.groups())
        if found := _INVERTED.search(line):                     # -1 - x
            inner = self.of(found[1], kind)
            unknown = inner is None or (kind == "i32" and inner.period)
            return None if inner is None or unknown else self.sum(Form("-1"), self.times(inner, "-1"))
        if (phi := _PHI.search(line)) and phi[1] == kind:
            return self.loop(name, kind, phi[2])
        return None

    def _sum(self, how: str, flags: str, kind: str, a: str, b: str) -> Form | None:
        if how == "or" and "disjoint" not in flags:
            return None
        left, right = self.of(a, kind), self.of(b, kind)
        if left is None or right is None or (kind == "i32" and (left.period or right.period)):
            return None                                         # whose further values might wrap around
        if how in ("add", "or"):
            return self.sum(left, right)
        if how == "sub":
            return self.sum(left, self.times(right, "-1"))
        if how == "shl":
            bits = number(b)
            return self.times(left, str(1 << bits)) if bits is not None and 0 <= bits < 31 else None
        one, factor = (left, right) if right.alone else (right, left)
        return self.times(one, factor.base) if factor.alone else None

    def widened(self, form: Form, how: str) -> Form:
        """A form of 32 bits in 64: the launch is asked whether it stays within them. Periods have been asked."""
        first, last = self.ends(form)
        least, most = (-MOST, MOST - 1) if how == "sext" else (0, MOST - 1)
        self.require("sge", first, str(least))
        self.require("sle", last, str(most))
        return form

    # -- loops
    def loop(self, name: str, kind: str, incoming: str) -> Form | None:
        """A value that a loop starts with something and changes by the same each time, as long as it is below a
        bound. `kind` may be ptr: then the form is of bytes that are added to what it starts with."""
        sides = _INCOMING.findall(incoming)
        if len(sides) != 2:
            return None
        for (start, _), (following, latch) in (sides, sides[::-1]):
            step = self._step(name, following, kind)
            if step is None:
                continue
            first = Form() if kind == "ptr" else self.of(start, kind)
            if first is None or first.period:
                return None
            return self._bounded(name, kind, first, step, (following, latch))
        return None

    def _step(self, name: str, following: str, kind: str) -> str | None:
        """What a loop adds to a value each time."""
        line = self.lines.get(following, "")
        if kind == "ptr":
            stepped = self.step_of(line)
            return stepped[1].base if stepped is not None and stepped[0] == name and stepped[1].alone else None
        found = _BINARY.search(line)
        if found is None or found[1] != "add" or name not in found.groups()[3:]:
            return None
        other = found[5] if found[4] == name else found[4]
        added = self.of(other, kind)
        return added.base if added is not None and added.alone else None

    def _bounded(self, name: str, kind: str, first: Form, step: str, back: tuple[str, str]) -> Form | None:
        """What the values of a loop are between. Those that start the same for all threads are below the bound; others
        go up by a period."""
        periodic = Form(first.base, first.step, first.low, first.high, step)
        if kind != "i32" and not first.alone:
            return periodic
        most = self._most(name, step, *back)
        if most is None:
            return periodic if kind != "i32" else None
        self.require("sgt", step, "0")
        if first.alone:
            way = self.op("sub", most, first.base)
            self.require("sge", way, "0")
            return Form(first.base, high=way)
        self.require("sge", most, "0")
        for end in (most, self.ends(first)[1]):                 # the next value is none that wraps around
            self.require("slt", self.op("add", end, step), str(MOST))
        return periodic

    def _most(self, name: str, step: str, following: str, latch: str) -> str | None:
        """The largest value of a loop that goes up, if it does not start beyond."""
        header = self.home.get(name, "")
        for label in (latch, header):
            found = _BRANCH.match(self.function.blocks.get(label, [""])[-1])
            compared = None if found is None else _COMPARED.search(self.lines.get(found[1], ""))
            if found is None or compared is None:
                continue
            how, one, other = compared.groups()
            if other in (name, following):
                one, other, how = other, one, how.translate(str.maketrans("lg", "gl"))
            stays = self._stays(label, header, found[2], found[3])
            limit = self.of(other, "i32" if " i32 " in self.lines[found[1]] else "i64")
            if one not in (name, following) or stays is None or limit is None or not limit.alone:
                continue
            how = how if stays else {"sge": "slt", "uge": "ult", "sgt": "sle", "ugt": "ule", "eq": "ne"}.get(how, "")
            if how[-2:] not in ("lt", "le", "ne") or (how == "ne" and step != "1"):
                continue
            most = limit.base if how[-2:] == "le" else self.op("sub", limit.base, "1")
            return most if one == following else self.op("add", most, step)
        return None

    def _stays(self, label: str, header: str, yes: str, no: str) -> bool | None:
        """Whether the loop goes on where a condition holds; None where that is not clear."""
        inside = {target: self._leads(target, header, label) for target in (yes, no)}
        return inside[yes] if inside[yes] != inside[no] else None

    def _leads(self, start: str, header: str, without: str) -> bool:
        """Whether there is a way from a block to the loop's header."""
        seen, todo = {start}, [start]
        while todo:
            label = todo.pop()
            if label == header:
                return True
            for target in re.findall(r"label %([^,\s]+)", self.function.blocks[label][-1]):
                if target not in seen and target != without:
                    seen.add(target)
                    todo.append(target)
        return False
