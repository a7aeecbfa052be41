"""XLA's text of a program: its computations, their instructions, and the lines of the source that these come from."""
from __future__ import annotations

import math
import re
from collections.abc import Iterator

from reactant.support.records import dataclass

Line = tuple[str, int]
"""A file and a line in it."""

BITS = {"pred": 8, "token": 0, "opaque": 0, "bf16": 16, "tf32": 32, "s1": 1, "u1": 1, "e8m0fnu": 8}
"""Widths that the name of a type does not end in: `f32` has 32 bits, `f8e4m3fn` 8, `c64` 64."""

_HEADER = re.compile(r"(?:(ENTRY)\s+)?%?([\w.\-]+)\s+\(.*\)\s+->\s+.*\{\s*$")
_INSTRUCTION = re.compile(r"\s+(?:ROOT\s+)?%?([\w.\-]+)\s+=\s+(.*)$")
_SHAPE = re.compile(r"([a-z]\w*)\[([\d,<=\s]*)\]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_CALLED = re.compile(r"\b(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
_TRIPS = re.compile(r'known_trip_count\W+n\W+(\d+)')
_TABLE_ROW = re.compile(r"(\d+) (.*)$")


@dataclass(frozen=True)
class Instruction:
    """`shape` as text, and everything after the operands as `rest`, whose quoted parts are empty in `bare`. The operand
    of a parameter is its number."""

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    rest: str
    bare: str

    @property
    def called(self) -> list[str]:
        """The computations that it runs."""
        if listed := _BRANCHES.search(self.bare):
            return [name.strip().lstrip("%") for name in listed[1].split(",")]
        return _CALLED.findall(self.bare)

    @property
    def trips(self) -> int | None:
        """The iterations of a loop, where XLA knows them."""
        found = _TRIPS.search(self.rest)
        return None if found is None else int(found[1])

    @property
    def written_line(self) -> Line | None:
        """The line of the program that it comes from, where that is written out."""
        file, line = re.search(r'\bsource_file="([^"]*)"', self.rest), re.search(r"\bsource_line=(\d+)", self.bare)
        return (file[1], int(line[1])) if file and line else None

    def listed_line(self, lines: dict[int, Line]) -> Line | None:
        """That line, where it is a number in the module's tables (`lines_of`)."""
        frame = re.search(r"\bstack_frame_id=(\d+)", self.bare)
        return lines.get(int(frame[1])) if frame else None


def size_of(shape: str) -> int:
    """Bytes of a shape in text, or of all parts of a tuple."""
    return sum(-(-_bits(kind) * elements // 8) for kind, elements in parts_of(shape))


def parts_of(shape: str) -> list[tuple[str, int]]:
    """The types of a shape in text, or of all parts of a tuple, and their numbers of elements."""
    return [(kind, math.prod(int(n.strip(" <=")) for n in sizes.split(",") if n.strip()))
            for kind, sizes in _SHAPE.findall(shape)]


def _bits(kind: str) -> int:
    if kind in BITS:
        return BITS[kind]
    digits = re.match(r"[a-z]+(\d+)", kind)
    if digits is None:
        raise ValueError(f"XLA's text names a type that is not known here: {kind!r}.")
    return int(digits[1])


def devices_of(text: str) -> int:
    """Over how many devices a module runs."""
    head = text[:text.find("\n")]
    return math.prod(int(n) for n in re.findall(r"\b(?:num_partitions|replica_count)=(\d+)", head))


def computations(text: str) -> tuple[str, dict[str, list[Instruction]]]:
    """The name of the entry, and the instructions of each computation."""
    found: dict[str, list[Instruction]] = {}
    entry, current = None, None
    for line in text.splitlines():
        if line == "}":
            current = None
        elif current is None:
            if header := _HEADER.match(line):
                current = found.setdefault(header[2], [])
                entry = header[2] if header[1] else entry
        elif parts := _INSTRUCTION.match(line):
            current.append(_instruction(parts[1], parts[2]))
    if entry is None:
        raise ValueError("This is no module in XLA's text format: it has no entry.")
    return entry, found


def _instruction(name: str, text: str) -> Instruction:
    """An instruction from what is behind its `=`."""
    end = _closing(text, 0) + 1 if text.startswith("(") else text.find(" ")
    opcode, _, rest = text[end:].lstrip().partition("(")
    close = _closing(f"({rest}", 0) - 1
    inside = rest[:close] if opcode != "constant" else ""
    rest = rest[close + 1:]
    return Instruction(name, text[:end], opcode, tuple(_split(inside)), rest, _QUOTED.sub('""', rest))


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` closes; the end of the text where it does not."""
    depth = 0
    for place in re.finditer(r"[()\[\]{}]", text[start:]):
        depth += 1 if place[0] in "([{" else -1
        if not depth:
            return start + place.start()
    return len(text)


def _split(text: str) -> Iterator[str]:
    """Operands: parts between commas that are in no brackets."""
    text, depth, start = re.sub(r"/\*.*?\*/", "", text), 0, 0
    for place in re.finditer(r"[()\[\]{},]", text):
        if place[0] == "," and not depth:
            yield text[start:place.start()].strip()
            start = place.end()
        else:
            depth += {"(": 1, "[": 1, "{": 1, ",": 0}.get(place[0], -1)
    if text[start:].strip():
        yield text[start:].strip()


def lines_of(text: str) -> dict[int, Line]:
    """Number of a stack frame -> its line, from the tables ahead of the computations."""
    tables: dict[str, dict[int, str]] = {}
    current: dict[int, str] | None = None
    for line in text.splitlines():
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            current = tables.setdefault(line, {})
        elif current is not None and (row := _TABLE_ROW.match(line)):
            current[int(row[1])] = row[2]
        elif line.strip():
            current = None
            if _HEADER.match(line):
                break
    names = {number: name.strip('"') for number, name in tables.get("FileNames", {}).items()}
    places = {number: (names[int(part[1])], int(part[2])) for number, row in tables.get("FileLocations", {}).items()
              if (part := re.search(r"file_name_id=(\d+).*?\bline=(\d+)", row))}
    return {number: places[int(part[1])] for number, row in tables.get("StackFrames", {}).items()
            if (part := re.search(r"file_location_id=(\d+)", row)) and int(part[1]) in places}
