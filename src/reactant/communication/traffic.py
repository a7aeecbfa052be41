"""What a compiled program sends between devices: its collectives and their bytes, read from XLA's text of it.

    traffic(jax.jit(f).lower(x).compile().as_text()).bytes

Bytes are those that cross from one device to another, summed over all devices, of the ring algorithms: with k devices
in a group, each of which gives B bytes,

    all-gather             (k - 1) k B        each receives the parts of the others
    reduce-scatter         (k - 1) B          each passes partial sums on, all parts but one
    all-reduce             2 (k - 1) B        a reduce-scatter and an all-gather of parts
    all-to-all             (k - 1) B          each keeps one part of k
    collective-broadcast   (k - 1) B
    collective-permute     B for each pair of two devices

Bodies of loops count as often as XLA knows that they run, and once where it does not (`Traffic.unknown_loops`), of the
branches of a conditional the one that moves most, and an asynchronous operation once. A collective within groups of one
device moves nothing and does not count. Sends to the host are not looked at.
"""
from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from reactant.ir.hlo_text import Instruction, Line, computations, devices_of, lines_of, size_of
from reactant.support.records import dataclass

KINDS = ("collective-permute", "all-gather", "all-reduce", "reduce-scatter", "all-to-all", "ragged-all-to-all",
         "collective-broadcast")

_AXIS = re.compile(r"'([^']*)'(?::\((\d+)\)(\d+))?")


@dataclass(frozen=True)
class Moved:
    """Collectives of one kind from one line of the program: how many run, and the bytes of all of them together."""

    kind: str
    line: Line | None
    count: int
    bytes: int

    def times(self, number: int) -> Moved:
        return Moved(self.kind, self.line, self.count * number, self.bytes * number)


@dataclass(frozen=True)
class Traffic:
    """What one run of a program moves between devices.

    Attributes:
        moved: a tuple with the kind, line, count and bytes of collective operations, those that move most first.
        unknown_loops: loops with collective operations that are counted once, as their trip count is not known.
        devices: on how many it runs.

    Example:
        >>> traffic = reactant.jit(lambda x: x + 1.0).lower(np.ones(3)).compile().traffic()
        >>> traffic.count, traffic.bytes, traffic.by_kind()
        (0, 0, {})
    """

    moved: tuple[Moved, ...]
    """One for each kind and line, those that move most first."""
    unknown_loops: int = 0
    """Loops with collectives in them that are counted once, as nobody knows how often they run."""
    devices: int = field(default=1, compare=False)
    """On how many it runs."""

    @property
    def count(self) -> int:
        """The number of collective operations that run."""
        return sum(m.count for m in self.moved)

    @property
    def bytes(self) -> int:
        """The bytes that they move between devices."""
        return sum(m.bytes for m in self.moved)

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """A dict from the kind of operation to how many run, and their bytes."""
        found: dict[str, tuple[int, int]] = {}
        for m in self.moved:
            count, size = found.get(m.kind, (0, 0))
            found[m.kind] = count + m.count, size + m.bytes
        return found

    def by_line(self) -> dict[Line | None, tuple[Moved, ...]]:
        """A dict from lines (file, number) to what moves there; None for what XLA ascribes to no line."""
        return {line: tuple(m for m in self.moved if m.line == line) for line in dict.fromkeys(
            m.line for m in self.moved)}


def traffic(text: str, ours: str = "") -> Traffic:
    """The collectives of a module that XLA has partitioned and compiled.

    text: what `as_text()` of `jax.stages.Compiled` gives, one program that all devices run. ours: a file whose lines
    are not the program's. Raises `ValueError` where text is no module in XLA's text format with an entry.

        compiled = jax.jit(lambda x: jnp.roll(x, 1, 0)).lower(x).compile()      # x (1024, 1024), rows over 8 devices
        traffic(compiled.as_text()).by_kind()       # {"collective-permute": (1, 32768)}
    """
    entry, read = computations(text)
    reader = _Reader(read, {k: line for k, line in lines_of(text).items() if line[0] != ours}, devices_of(text))
    found = reader.of(entry)
    moved = sorted((m for m in found.moved if m.bytes), key=lambda m: -m.bytes)
    return Traffic(tuple(moved), found.unknown_loops, devices_of(text))


class _Reader:
    """Sums over computations; each is read once."""

    def __init__(self, computations: dict[str, list[Instruction]], lines: dict[int, Line], devices: int):
        self.computations, self.lines, self.devices = computations, lines, devices
        self.known: dict[str, Traffic] = {}

    def of(self, name: str) -> Traffic:
        """What one run of a computation moves."""
        if name not in self.known:
            instructions = self.computations.get(name, [])
            shapes = {i.name: i.shape for i in instructions}
            self.known[name] = _sum(self.of_instruction(i, shapes) for i in instructions)
        return self.known[name]

    def of_instruction(self, i: Instruction, shapes: dict[str, str]) -> Traffic:
        kind = i.opcode.removesuffix("-start")
        if kind in KINDS:
            size = _bytes_moved(kind, i, shapes, self.devices)
            return Traffic((Moved(kind, self.line(i), 1, size),)) if size else Traffic(())
        if i.opcode.endswith(("-done", "-update")):     # their start has been counted
            return Traffic(())
        if i.opcode == "conditional":
            return max((self.of(name) for name in i.called), key=lambda t: t.bytes, default=Traffic(()))
        found = _sum(self.of(name) for name in i.called)
        if i.opcode != "while" or not (found.moved or found.unknown_loops):
            return found
        trips = i.trips
        if trips is None:
            return Traffic(found.moved, found.unknown_loops + 1)
        return Traffic(tuple(m.times(trips) for m in found.moved), found.unknown_loops if trips else 0)

    def line(self, i: Instruction) -> Line | None:
        """The line of the program that an instruction comes from: written out, or a number in the module's tables."""
        return i.listed_line(self.lines) if "stack_frame_id=" in i.bare else i.written_line


def _sum(parts: Iterator[Traffic]) -> Traffic:
    counts: Counter[tuple[str, Line | None]] = Counter()
    sizes: Counter[tuple[str, Line | None]] = Counter()
    unknown = 0
    for part in parts:
        unknown += part.unknown_loops
        for m in part.moved:
            counts[m.kind, m.line] += m.count
            sizes[m.kind, m.line] += m.bytes
    return Traffic(tuple(Moved(*key, counts[key], sizes[key]) for key in counts), unknown)


def _bytes_moved(kind: str, i: Instruction, shapes: dict[str, str], devices: int) -> int:
    given = [operand if "[" in operand else shapes.get(operand.split()[-1].lstrip("%"), "") for operand in i.operands]
    if kind == "ragged-all-to-all":     # the others are places and sizes: at most all of the first moves
        given = given[:1]
    each = sum(map(size_of, given))
    if kind == "collective-permute":
        listed = re.search(r"\bsource_target_pairs=\{((?:\{\d+,\s*\d+\},?\s*)*)\}", i.bare)
        pairs = re.findall(r"\{(\d+),\s*(\d+)\}", listed[1]) if listed else []
        return each * sum(source != target for source, target in pairs)
    groups = group_sizes(i.bare, devices)
    if kind == "all-gather":
        return each * sum((k - 1) * k for k in groups)
    return each * sum(k - 1 for k in groups) * (2 if kind == "all-reduce" else 1)


def group_sizes(attributes: str, devices: int) -> list[int]:
    """How many devices are in each group of a collective. `replica_groups` is a list (`{{0,1},{2,3}}`; an empty one is
    all of the devices), a reshaped and transposed iota (`[4,2]<=[8]`), or axes of a mesh (`mesh['a'=4,'b'=2] {'b'}`,
    where `'a':(2)2` is a part of an axis).

        group_sizes("replica_groups=[4,2]<=[2,4]T(1,0)", 8)     # [2, 2, 2, 2]
    """
    if iota := re.search(r"\breplica_groups=\[(\d+),(\d+)\]<=", attributes):
        return [int(iota[2])] * int(iota[1])
    if mesh := re.search(r"\breplica_groups=[^\s{[]*\[([^\]]*)\][^{]*\{([^}]*)\}", attributes):
        sizes = {name: int(size) for name, size in re.findall(r"'([^']*)'=(\d+)", mesh[1])}
        each = math.prod(int(part) if part else sizes[name] for name, _, part in _AXIS.findall(mesh[2]))
        return [each] * (math.prod(sizes.values()) // each)
    listed = re.search(r"\breplica_groups=\{((?:\{[\d,\s]*\},?\s*)*)\}", attributes)
    groups = re.findall(r"\{([\d,\s]*)\}", listed[1]) if listed else []
    return [len(group.split(",")) for group in groups] or [devices]
