"""Accesses of a block that are beside each other: fields of structures, 4 x + k.

Where threads are a few elements apart, rows of memory hold all that these accesses want; each row is read or written
once, instead of an element of each thread.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from reactant.cuda_programs.device.lanes import Lanes
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.text import opcode_of
from reactant.cuda_programs.device.types import leading
from reactant.kernels.llvm_ir.signatures import split_arguments
from reactant.support.records import dataclass

FARTHEST = 8
"""Elements from thread to thread up to which rows are read."""
_ACCESS = re.compile(r"(?:^|= )(load|store) (?!atomic|volatile)(.*), ptr (%(?:\"[^\"]*\"|[-\w$.]+)), align (\d+)")
_GEP = re.compile(r"= getelementptr (?:(?:inbounds|nuw|nusw) )*(.*)$")
_SUM = re.compile(r"= (?:add|or disjoint) (?:(?:nuw|nsw) )*i(?:32|64) (%\S+), (-?\d+)$")
_WIDENED = re.compile(r"= (?:sext|zext nneg) i32 (%\S+) to i64$")
_QUIET = re.compile(r"@llvm\.(?!\S*(?:mem|atomic|fence|bar))|memory\(none\)")

Origin = tuple[str, frozenset[tuple[str, int]]]


class Places:
    """Addresses as sums, so that distances between them are known; an index that wraps around leads nowhere."""

    def __init__(self, lines: Mapping[str, str], layout: Layout) -> None:
        self.lines, self.layout = lines, layout

    def of(self, pointer: str) -> tuple[Origin, int]:
        """(what is not known of an address, bytes from there)."""
        terms: dict[str, int] = {}
        bytes_ = 0
        while found := _GEP.search(self.lines.get(pointer, "")):
            kind = leading(found[1])
            base, *indices = split_arguments(found[1][len(kind):].lstrip(", "))
            inner = self.layout.type(kind)
            for number, index in enumerate(i for i in indices if i[0] != "!"):
                value = index.rsplit(" ", 1)[1]
                if number and inner.kind == "struct":
                    bytes_ += inner.offsets()[int(value)]
                    inner = inner.parts[int(value)]
                    continue
                inner = inner.parts[0] if number else inner
                root, more = self._sum(value)
                bytes_ += more * inner.size()
                if root:
                    terms[root] = terms.get(root, 0) + inner.size()
            pointer = base.rsplit(" ", 1)[1]
        return (pointer, frozenset(terms.items())), bytes_

    def _sum(self, value: str) -> tuple[str, int]:
        """(an index without what is added to it, "" for a number; the number that is added)."""
        if value[0] != "%":
            return "", int(value)
        total, wide = 0, ""
        while line := self.lines.get(value, ""):
            if added := _SUM.search(line):
                value, total = added[1], total + int(added[2])
            elif widened := _WIDENED.search(line):
                value, wide = widened[1], "widened "
            else:
                break
        return wide + value, total


@dataclass
class Family:
    """Accesses of elements of a type beside each other; `apart`: elements from thread to thread. `members`: by
    instruction, elements from the first of them on."""

    what: str
    kind: str
    apart: int
    origin: Origin
    start: int
    members: dict[str, int] = field(default_factory=dict)
    open: bool = True

    @property
    def width(self) -> int:
        return max(self.members.values()) + 1

    def takes(self, offset: int, size: int) -> bool:
        """Whether an access so many bytes from the origin is one of it."""
        distance = offset - self.start
        if distance % size:
            return False
        places = [0, *self.members.values(), distance // size]
        return max(places) - min(places) < self.apart and distance // size not in self.members.values()

    def add(self, line: str, offset: int, size: int) -> None:
        if offset < self.start:
            further = (self.start - offset) // size
            self.members = {other: place + further for other, place in self.members.items()}
            self.start = offset
        self.members[line] = (offset - self.start) // size


def families(lines: Iterable[str], places: Places, step: Callable[[str], int | None],
             in_shared: Callable[[str], bool]) -> dict[str, Family]:
    """The families of a block's instructions that are worth it, by instruction. Between members of one nothing happens
    that might be about the same memory, but for what is known to be beside them. `step`: from thread to thread, of an
    address; `in_shared`: whether it is one of the block's memory."""
    found: list[tuple[Family, bool]] = []
    twice: set[str] = set()
    for line in lines:
        access = _ACCESS.search(line)
        if access is None:
            opcode = opcode_of(line)
            if opcode in ("load", "store", "atomicrmw", "cmpxchg", "fence") or \
                    (opcode == "call" and not _QUIET.search(line)):
                for family, _ in found:
                    family.open = False
            continue
        what, pointer = access[1], access[3]
        kind, shared = leading(access[2]), in_shared(pointer)
        origin, offset = places.of(pointer)
        size = places.layout.size(kind) if re.fullmatch(r"i(?:8|16|32|64)|float|double|half|bfloat", kind) else 0
        for family, own in found:
            beside = family.what == what and family.origin == origin and family.kind == kind and \
                (offset - family.start) % size == 0 and (offset - family.start) // size not in family.members.values()
            if own == shared and not (what == family.what == "load") and not beside:
                family.open = False
        apart = (step(pointer) or 0) // size if size else 0
        if not 1 < apart <= FARTHEST or (step(pointer) or 0) % size:
            continue
        for family, _ in found:
            if line in family.members:
                twice.add(line)
        key = (what, kind, apart, origin)
        for family, _ in found:
            if family.open and (family.what, family.kind, family.apart, family.origin) == key and \
                    family.takes(offset, size):
                family.add(line, offset, size)
                break
        else:
            found.append((Family(*key, offset, {line: 0}), shared))
    return {line: family for family, _ in found for line in family.members
            if _worth_it(family) and twice.isdisjoint(family.members)}


def _worth_it(family: Family) -> bool:
    if family.what == "store":                          # all that is between is written, too
        return len(family.members) == family.apart <= 4
    return family.apart <= 4 or 2 * len(family.members) >= family.apart


class Fields(Lanes):
    """Writes accesses of families."""

    def blank(self) -> None:
        super().blank()
        self.families: dict[str, Family] = {}           # of the block that is written
        self._rows: dict[int, list[tuple[str, int]]] = {}
        self._given: dict[int, dict[int, str]] = {}

    def begin_families(self, found: dict[str, Family]) -> None:
        """A block is begun that has these."""
        self.families, self._rows, self._given = found, {}, {}

    def of_family(self, line: str) -> Family | None:
        """The family of an access, if rows may be accessed here."""
        return None if self.mask else self.families.get(line)

    def _at(self, family: Family, line: str, pointer: str, elements: int) -> str:
        """An address, in elements from the first thread's first."""
        bytes_ = (elements - family.members[line]) * self.layout.size(family.kind)
        first = self.first(pointer)
        return self.f.let(f"getelementptr i8, ptr {first}, i64 {bytes_}") if bytes_ else first

    def taken(self, family: Family, line: str, pointer: str) -> str:
        """What threads load, of rows that the first of the family's loads has read."""
        n, wide = self.size, self.of(family.kind)
        if id(family) not in self._rows:
            total, size = (n - 1) * family.apart + family.width, self.layout.size(family.kind)
            starts = [min(start, total - n) for start in range(0, total, n)]
            self._rows[id(family)] = [
                (self.f.let(f"load {wide}, ptr {self._at(family, line, pointer, start)}, align {size}"), start)
                for start in starts]
        parts: list[tuple[str, dict[int, int]]] = []
        wanted = [thread * family.apart + family.members[line] for thread in range(n)]
        for row, start in self._rows[id(family)]:
            places = {thread: at - start for thread, at in enumerate(wanted) if start <= at < start + n}
            for _, taken in parts:
                places = {thread: at for thread, at in places.items() if thread not in taken}
            if places:
                parts.append((row, places))
        return self._joined(family.kind, parts)

    def _joined(self, kind: str, parts: list[tuple[str, dict[int, int]]]) -> str:
        """One vector of parts of several: (vector, which of its elements goes where)."""
        n, wide = self.size, self.of(kind)
        while True:
            made = []
            for (a, left), (b, right) in zip(parts[::2], [*parts[1::2], *[("poison", {})] * (len(parts) % 2)],
                                             strict=True):
                order = [left.get(k, n + right[k] if k in right else -1) for k in range(n)]
                text = ", ".join("i32 poison" if at < 0 else f"i32 {at}" for at in order)
                made.append((self.f.let(f"shufflevector {wide} {a}, {wide} {b}, <{n} x i32> <{text}>"),
                             {k: k for k, at in enumerate(order) if at >= 0}))
            parts = made
            if len(parts) == 1:
                return parts[0][0]

    def given(self, family: Family, line: str, pointer: str, value: str) -> None:
        """What threads store: rows are written when the last of the family is known."""
        known = self._given.setdefault(id(family), {})
        known[family.members[line]] = value
        if len(known) < family.apart:
            return
        size, n = self.layout.size(family.kind), self.size
        for start in range(0, n * family.apart, n):
            parts: list[tuple[str, dict[int, int]]] = []
            for place, one in sorted(known.items()):
                parts.append((one, {at - start: at // family.apart for at in range(start, start + n)
                                    if at % family.apart == place}))
            row = self._joined(family.kind, parts)
            at = self._at(family, line, pointer, start)
            self.f.line(f"store {self.of(family.kind)} {row}, ptr {at}, align {size}")
