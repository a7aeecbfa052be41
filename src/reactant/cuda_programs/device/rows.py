"""Rows of blocks as one: a kernel that reads threadIdx.x and blockIdx.x only as the number of a thread in its row of
the grid, blockIdx.x * blockDim.x + threadIdx.x, does the same when blocks side by side are taken for one long block.
Groups of threads then follow each other without a stop, and whatever the size of blocks, few threads are left over.

A number may be part of a sum or multiplied by a constant before it is whole; what is compared, converted to fewer bits,
used as an address or handed on has to be whole.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device import blocks, guards
from reactant.cuda_programs.device.blocks import BESIDE, arguments_of, launch_of, row_of_blocks
from reactant.cuda_programs.device.kernel import group_registers, register_arguments
from reactant.cuda_programs.device.narrow import Sum, Term, within
from reactant.cuda_programs.device.text import Function, quoted, result_of, uses_of
from reactant.cuda_programs.device.writer import Writer
from reactant.support.records import dataclass

_BINARY = re.compile(r"= (add|sub|mul|shl|or) ((?:(?:nuw|nsw|disjoint) )*)(i32|i64) (%\S+|-?\d+), (%\S+|-?\d+)"
                     r"(?:, !.*)?$")
_WIDENED = re.compile(r"= (?:sext|zext(?: nneg)?) i32 (%\S+) to i64$")
_LARGEST = 2**20


@dataclass(frozen=True)
class Part:
    """threads * threadIdx.x + blocks * blockIdx.x + own * blockIdx.x * blockDim.x + something; `pure` where that
    is 0."""

    threads: int
    blocks: int
    own: int
    pure: bool


@dataclass(frozen=True)
class Side:
    """Blocks side by side are one; `threads`: of blocks with that many threads in x only, None of any; `limits`: sums
    that have to be below 2**31."""

    threads: int | None
    limits: frozenset[Sum]


def side_by_side(function: Function) -> Side | None:
    """How blocks of a kernel can be taken for one; None where they cannot. Its parts of numbers are without flags
    then, because they are not what they are in a block."""
    found = _Numbers(function)
    return found.side() if found.read() else None


class _Numbers:
    def __init__(self, function: Function) -> None:
        self.function, self.lines = function, function.definitions()
        self.parts = {"%r.tid.x": Part(1, 0, 0, True), "%r.ctaid.x": Part(0, 1, 0, True)}
        self.extents = {"%r.ntid.x"}
        self.sizes: set[int | None] = set()
        self.limits: set[Sum] = set()

    def read(self) -> bool:
        """Find parts of numbers; whether all that is made of them is whole."""
        changed = True
        while changed:
            changed = False
            for name, line in self.lines.items():
                if name in self.parts or name in self.extents:
                    continue
                if (widened := _WIDENED.search(line)) and widened[1] in self.extents:
                    self.extents.add(name)
                elif (made := self._part(line)) is not None:
                    self.parts[name] = made
                else:
                    continue
                changed = True
        for block in self.function.blocks.values():
            for line in block:
                if result_of(line) in self.parts:
                    continue
                if not all(self._whole(self.parts[used]) for used in uses_of(line) if used in self.parts):
                    return False
        return True

    def _part(self, line: str) -> Part | None:
        """The part of a number that an instruction makes of parts; None where it needs whole ones, or makes one."""
        if widened := _WIDENED.search(line):
            part = self.parts.get(widened[1])
            if part is None or not part.pure or min(part.threads, part.blocks, part.own) < 0 or \
                    (part.threads and _size(part) is not None):
                return None
            self.limits.add((Term("x", "x", part.own), Term("x", "", part.blocks), Term("", "", part.threads)))
            return part
        found = _BINARY.search(line)
        if found is None or (found[1] == "or" and "disjoint" not in found[2]):
            return None
        how, a, b = found[1], found[4], found[5]
        if how == "mul" and self.extents & {a, b}:
            return self._blocks_of(b if a in self.extents else a)
        if how in ("mul", "shl"):
            if a not in self.parts or not re.fullmatch(r"-?\d+", b):
                return None
            factor = int(b) if how == "mul" else 1 << int(b) if int(b) < 24 else 0
            part = self.parts[a]
            made = Part(part.threads * factor, part.blocks * factor, part.own * factor, part.pure)
        else:
            if a not in self.parts and b not in self.parts:
                return None
            one, other = (self.parts.get(v, Part(0, 0, 0, False)) for v in (a, b))
            sign = -1 if how == "sub" else 1
            made = Part(one.threads + sign * other.threads, one.blocks + sign * other.blocks,
                        one.own + sign * other.own, one.pure and other.pure)
        small = max(abs(made.threads), abs(made.blocks), abs(made.own)) < _LARGEST
        return made if small else None

    def _blocks_of(self, name: str) -> Part | None:
        part = self.parts.get(name)
        if part is None or part.threads or part.own or not part.pure:
            return None
        return Part(0, 0, part.blocks, True)

    def _whole(self, part: Part) -> bool:
        size = _size(part)
        if size is not None and (part.threads or part.own):
            self.sizes.add(size or None)
        return size is not None

    def side(self) -> Side | None:
        if len(self.sizes) > 1:
            return None
        for block in self.function.blocks.values():
            block[:] = [self._plain(line) for line in block]
        return Side(next(iter(self.sizes), None), frozenset(self.limits))

    def _plain(self, line: str) -> str:
        """An instruction without flags, if it is of parts that are not whole."""
        found = _BINARY.search(line)
        if found is None or result_of(line) not in self.parts or \
                all(_size(self.parts[used]) is not None for used in uses_of(line) if used in self.parts):
            return line
        how, kind, a, b = found[1].replace("or", "add"), *found.groups()[2:5]
        return f"{result_of(line)} = {how} {kind} {a}, {b}"


def _size(part: Part) -> int | None:
    """For which threads of a block in x a part is whole: 0 for any, None for none."""
    if part.blocks == 0 and part.threads == part.own:
        return 0
    if part.own or part.threads <= 0 or part.blocks <= 0 or part.blocks % part.threads:
        return None
    size = part.blocks // part.threads
    return size if size <= BESIDE else None


# -- the function

def blocks_function(group: guards.RowVectors, arrays: list[tuple[str, int]], side: Side, thread: str,
                    agreement: str) -> str:
    """The function that runs a range of blocks of a kernel whose threads do not meet. `arrays`: memory that a thread
    has (parameter, bytes); `thread`: the function for threads that are no group; `agreement`: the one that says whether
    a group is in the interior."""
    f, made, size = Writer(), group.made, group.size
    f.label("entry")
    arguments_of(f, made.parameters)
    launch_of(f)
    narrow = within(f, group.limits)
    joined = within(f, set(side.limits))
    if side.threads is not None:
        joined = f.let(f"and i1 {joined}, {f.let(f'icmp eq i32 %r.ntid.x, {side.threads}')}")
    f.let(f"and i1 {narrow}, {joined}", "%joined")
    f.let(f"select i1 {narrow}, i32 {-size}, i32 0", "%groups")
    for name, bytes_ in arrays:
        f.let(f"call noalias align 64 ptr @reactant_scratch(i64 {bytes_ * size})", name)
    f.line("%any = icmp ult i64 %first, %last")
    f.line("br i1 %any, label %block, label %end")
    f.label("block")
    f.line("%number = phi i64 [ %first, %entry ], [ %number.next, %block.end ]")
    row_of_blocks(f, "%number", "%joined")
    f.let("add i32 %row.x, 0", "%r.ctaid.x")
    f.let("mul i32 %row.blocks, %r.ntid.x", "%extent")
    f.let("and i32 %extent, %groups", "%whole")
    f.let("sub i32 %whole, 1", guards.LAST)
    for axis, before in (("z", "block"), ("y", "z")):
        f.line(f"br label %{axis}")
        f.label(axis)
        f.line(f"%r.tid.{axis} = phi i32 [ 0, %{before} ], [ %{axis}.next, %{axis}.end ]")
    f.let("icmp ne i32 %whole, 0", "%some")
    f.line("br i1 %some, label %x, label %rest")
    f.label("x")
    f.line(f"%tid.base = phi i32 [ 0, %y ], [ %x.next, %{'called' if agreement else 'x'} ]")
    _group(f, group, arrays, agreement)
    f.let(f"add nuw nsw i32 %tid.base, {size}", "%x.next")
    f.line(f"br i1 {f.let('icmp ult i32 %x.next, %whole')}, label %x, label %rest")
    f.label("rest")
    f.line(f"br i1 {f.let('icmp ult i32 %whole, %extent')}, label %rest.x, label %y.end")
    f.label("rest.x")
    f.line("%r.tid.x = phi i32 [ %whole, %rest ], [ %rest.next, %rest.x ]")
    values = [*(p.argument for p in made.parameters), *register_arguments()]
    f.line(f"call void @{quoted(thread)}({', '.join(values)})")
    f.let("add nuw nsw i32 %r.tid.x, 1", "%rest.next")
    f.line(f"br i1 {f.let('icmp ult i32 %rest.next, %extent')}, label %rest.x, label %y.end")
    for axis, after in (("y", "z.end"), ("z", "block.end")):
        f.label(f"{axis}.end")
        f.let(f"add nuw nsw i32 %r.tid.{axis}, 1", f"%{axis}.next")
        f.line(f"br i1 {f.let(f'icmp ult i32 %{axis}.next, %r.ntid.{axis}')}, label %{axis}, label %{after}")
    blocks.ended(f, "%row.last, 0")
    return blocks.header(made.name) + "\n".join(f.lines) + "\n}\n"


def _group(f: Writer, group: guards.RowVectors, arrays: list[tuple[str, int]], agreement: str) -> None:
    """A call for a group, whichever version it is for."""
    given = [*(p.argument for p in group.made.parameters), *group_registers()]
    unused = ["ptr null"] * len(group.cut.kept)       # values of threads that come apart, which these cannot
    call = ", ".join(["i32 0", "ptr null", "i64 0", "i32 %tid.base", *given, *unused,
                      *(f"ptr {name}" for name, _ in arrays), "ptr null", f"i32 {guards.LAST}"])
    if not agreement:
        f.let(f"call i32 @{quoted(group.made.name + '.group')}({call})")
        return
    agree = f.let(f"call i1 @{quoted(agreement)}({', '.join([*given, 'i32 %tid.base'])})")
    f.line(f"br i1 {agree}, label %inside, label %border")
    for label, name in (("inside", f"{group.made.name}.inside.group"), ("border", f"{group.made.name}.group")):
        f.label(label)
        f.let(f"call i32 @{quoted(name)}({call})")
        f.line("br label %called")
    f.label("called")
