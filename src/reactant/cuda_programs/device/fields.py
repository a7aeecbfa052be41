"""Accesses of a block that are beside each other: fields of structures, 4 x + k, pairs of a sorting network.

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
"""Elements from thread to thread, on average, up to which rows are read."""
LARGEST = 8
"""Bytes of the largest element of vectors: so many for each thread are around the memory of a block."""
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
    """Accesses of elements of a type beside each other; `lanes`: elements from the first thread's to each one's.
    `members`: by instruction, elements from the first of them on."""

    what: str
    kind: str
    lanes: tuple[int, ...]
    origin: Origin
    shared: bool
    start: int
    members: dict[str, int] = field(default_factory=dict)
    open: bool = True

    @property
    def first(self) -> int:
        """The first element of all threads."""
        return min(self.lanes)

    @property
    def total(self) -> int:
        """Elements from there to the last."""
        return max(self.members.values()) + 1 + max(self.lanes) - self.first

    @property
    def reach(self) -> int:
        """How many elements members may be apart: in structures as many as threads are."""
        step = self.lanes[1]
        even = step > 0 and all(lane == step * k for k, lane in enumerate(self.lanes))
        return step if even else max(self.lanes) - self.first + 1

    @property
    def complete(self) -> bool:
        """Whether threads access each element once."""
        return len({lane + place for lane in self.lanes for place in self.members.values()}) == self.total == \
            len(self.lanes) * len(self.members)

    def takes(self, offset: int, size: int) -> bool:
        """Whether an access so many bytes from the origin is one of it."""
        distance = offset - self.start
        if distance % size:
            return False
        places = [0, *self.members.values(), distance // size]
        return max(places) - min(places) < self.reach and distance // size not in self.members.values()

    def add(self, line: str, offset: int, size: int) -> None:
        if offset < self.start:
            further = (self.start - offset) // size
            self.members = {other: place + further for other, place in self.members.items()}
            self.start = offset
        self.members[line] = (offset - self.start) // size


def families(lines: Iterable[str], places: Places, offsets: Callable[[str], tuple[int, ...] | None],
             in_shared: Callable[[str], bool]) -> dict[str, Family]:
    """The families of a block's instructions that are worth it, by instruction. Between members of one nothing happens
    that might be about the same memory, but for what is known to be beside them. `offsets`: of threads' addresses from
    the first one's; `in_shared`: whether an address is one of the block's memory."""
    found: list[Family] = []
    seen: set[str] = set()
    twice: set[str] = set()
    for line in lines:
        access = _ACCESS.search(line)
        if access is None:
            opcode = opcode_of(line)
            if opcode in ("load", "store", "atomicrmw", "cmpxchg", "fence") or \
                    (opcode == "call" and not _QUIET.search(line)):
                for family in found:
                    family.open = False
            continue
        (twice if line in seen else seen).add(line)
        what, pointer = access[1], access[3]
        kind, shared = leading(access[2]), in_shared(pointer)
        origin, offset = places.of(pointer)
        size = places.layout.size(kind) if re.fullmatch(r"i(?:8|16|32|64)|float|double|half|bfloat", kind) else 0
        for family in found:
            beside = family.what == what and family.origin == origin and family.kind == kind and \
                _apart(family, offset, size)
            if family.shared == shared and not (what == family.what == "load") and not beside:
                family.open = False
        lanes = _lanes(offsets(pointer), size)
        if lanes is None:
            continue
        key = (what, kind, lanes, origin)
        for family in found:
            if family.open and (family.what, family.kind, family.lanes, family.origin) == key and \
                    family.takes(offset, size):
                family.add(line, offset, size)
                break
        else:
            found.append(Family(*key, shared, offset, {line: 0}))
    return {line: family for family in found for line in family.members
            if _worth_it(family) and twice.isdisjoint(family.members)}


def _lanes(offsets: tuple[int, ...] | None, size: int) -> tuple[int, ...] | None:
    """In elements; None where threads are one row, or too far apart."""
    if not size or offsets is None or not any(offsets) or any(o % size for o in offsets):
        return None
    lanes = tuple(o // size for o in offsets)
    n = len(lanes)
    if max(lanes) - min(lanes) >= FARTHEST * n or lanes in (tuple(range(n)), tuple(range(0, -n, -1))):
        return None
    return lanes


def _apart(family: Family, offset: int, size: int) -> bool:
    """Whether no thread's access at a place is about what any thread accesses in a family, or it is one of it; what
    one thread does to two places is all that has an order."""
    distance = offset - family.start
    return distance % size == 0 and distance // size not in family.members.values()


def _worth_it(family: Family) -> bool:
    rows = -(-family.total // len(family.lanes))
    if family.what == "store":
        elements = {lane + place for lane in family.lanes for place in family.members.values()}
        if len(elements) < len(family.lanes) * len(family.members):
            return False
        return (family.complete and rows <= 4) or (family.shared and rows <= 2)
    return rows <= 4 or 2 * len(family.members) >= rows


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
        """The family of an access, if rows may be accessed here: of the block's memory, which has room around it, also
        where some threads are not active."""
        family = self.families.get(line)
        return family if family is None or not self.mask or self.has_room(family) else None

    def has_room(self, family: Family) -> bool:
        """Whether its rows may be accessed where some threads are not active."""
        return family.shared and family.total * self.layout.size(family.kind) <= max(64, self.size * LARGEST)

    def _at(self, family: Family, line: str, pointer: str, elements: int) -> str:
        """An address, in elements from the first of the family's."""
        bytes_ = (elements + family.first - family.members[line]) * self.layout.size(family.kind)
        first = self.first(pointer)
        return self.f.let(f"getelementptr i8, ptr {first}, i64 {bytes_}") if bytes_ else first

    def _rows_of(self, family: Family, line: str, pointer: str) -> list[tuple[str, int]]:
        """(address, first element) of rows that hold all that a family accesses."""
        n, total = self.size, family.total
        return [(self._at(family, line, pointer, start), start)
                for start in (min(start, max(total - n, 0)) for start in range(0, total, n))]

    def taken(self, family: Family, line: str, pointer: str) -> str:
        """What threads load, of rows that the first of the family's loads has read."""
        n, kind = self.size, family.kind
        if id(family) not in self._rows:
            size, width = self.layout.size(kind), min(n, family.total)
            rows = []
            for at, start in self._rows_of(family, line, pointer):
                row = self.f.let(f"load <{width} x {kind}>, ptr {at}, align {size}")
                if width < n:
                    order = ", ".join(f"i32 {k}" if k < width else "i32 poison" for k in range(n))
                    row = self.f.let(f"shufflevector <{width} x {kind}> {row}, <{width} x {kind}> poison, "
                                     f"<{n} x i32> <{order}>")
                rows.append((row, start))
            self._rows[id(family)] = rows
        parts: list[tuple[str, dict[int, int]]] = []
        wanted = {thread: lane - family.first + family.members[line] for thread, lane in enumerate(family.lanes)}
        for row, start in self._rows[id(family)]:
            places = {thread: at - start for thread, at in wanted.items() if start <= at < start + n}
            wanted = {thread: at for thread, at in wanted.items() if thread not in places}
            if places:
                parts.append((row, places))
        return self._joined(self.of(kind), parts)

    def _joined(self, wide: str, parts: list[tuple[str, dict[int, int]]]) -> str:
        """One vector of parts of several: (vector, which of its elements goes where)."""
        n = self.size
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
        """What threads store: rows are written when the last of the family is known. Nobody else sees what is written
        back between elements in the block's memory."""
        known = self._given.setdefault(id(family), {})
        known[family.members[line]] = value
        if len(known) < len(family.members):
            return
        n, wide, size = self.size, self.of(family.kind), self.layout.size(family.kind)
        whole = family.complete and not self.mask
        done: set[int] = set()
        for at, start in self._rows_of(family, line, pointer):
            parts, masks = [], []
            for place, one in sorted(known.items()):
                wanted = {lane - family.first + place - start: thread for thread, lane in enumerate(family.lanes)}
                here = {at: thread for at, thread in wanted.items() if 0 <= at < n and start + at not in done}
                if here:
                    parts.append((one, here))
                    masks.append((self.mask or "splat (i1 true)", here))
            done |= set(range(start, start + n))
            row = self._joined(wide, parts)
            if not whole:
                active = self._joined(f"<{n} x i1>", [*masks, ("zeroinitializer", {
                    k: k for k in range(n) if not any(k in here for _, here in masks)})])
                old = self.f.let(f"load {wide}, ptr {at}, align {size}")
                row = self.f.let(f"select <{n} x i1> {active}, {wide} {row}, {wide} {old}")
            self.f.line(f"store {wide} {row}, ptr {at}, align {size}")
