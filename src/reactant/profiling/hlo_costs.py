"""What the instructions of XLA's programs do, read from their texts: lines, flops, bytes, and which are loops."""
from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

import reactant
from reactant.ir import hlo_text
from reactant.ir.cost import LAPACK
from reactant.ir.hlo_text import Instruction
from reactant.profiling.records import Work
from reactant.support.records import dataclass

CONTROL = frozenset(("while", "call", "conditional", "async-start"))
FREE = frozenset(("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota", "after-all",
                  "opt-barrier", "partition-id", "replica-id"))
MOVING = frozenset(("copy", "broadcast", "reshape", "transpose", "slice", "concatenate", "pad", "reverse", "gather",
                    "dynamic-slice", "dynamic-update-slice", "convert", "real", "imag", "complex", "select",
                    "bitcast-convert", "copy-start", "copy-done"))
SPECIAL = frozenset(("exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "sine", "cosine", "tan",
                     "tanh", "power", "atan2", "cbrt", "erf", "remainder"))
PARTS = frozenset(("slice", "dynamic-slice", "gather"))
DEAR, LIGHT = 10.0, 0.25
"""What an element of SPECIAL and of MOVING weighs, where the time of an instruction is divided among lines."""
DOUBLES = ("f64", "c128")
OURS = str(Path(reactant.__file__).parent)
_TARGET = re.compile(r'custom_call_target="([^"]*)"')
_CONTRACTED = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_DIMS = re.compile(r"[a-z]\w*\[([\d,]*)\]")


@dataclass
class Described:
    """What is known of an instruction: `what` in words, and the work of one execution."""

    name: str
    opcode: str
    what: str
    lines: dict[str, float]
    work: Work
    target: str = ""
    """Of a custom call,"""
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    """and the shapes of its operands and of its first result."""
    inside: list[str] = field(default_factory=list)
    """Of a loop, a branch or a call: the instructions in it, at any depth."""
    body: list[str] = field(default_factory=list)
    """Of a loop: those of its body itself."""
    trips: int | None = None


def programs(texts: Iterable[str]) -> list[dict[str, Described]]:
    """The instructions of programs, by name."""
    return [described(text) for text in texts]


def described(text: str) -> dict[str, Described]:
    """The instructions of a program by name, those in fusions left out."""
    _, found = hlo_text.computations(text)
    reader = _Reader(found, hlo_text.lines_of(text))
    fused = {name for instructions in found.values() for i in instructions if i.opcode not in CONTROL
             for name in i.called}
    return {i.name: reader.described(i, shapes) for computation, instructions in found.items()
            if computation not in fused
            for shapes in [{each.name: each.shape for each in instructions}] for i in instructions
            if i.opcode not in FREE}


class _Reader:
    """Computations by name, and lines by the numbers that instructions have."""

    def __init__(self, computations: dict[str, list[Instruction]], lines: dict[int, hlo_text.Line]) -> None:
        self.computations, self.lines = computations, lines

    def line(self, i: Instruction) -> str:
        """The user's line of an instruction, or nothing."""
        found = i.written_line or i.listed_line(self.lines)
        return "" if found is None or found[0].startswith(OURS) else f"{found[0]}:{found[1]}"

    def described(self, i: Instruction, shapes: dict[str, str]) -> Described:
        target = found[1] if i.opcode == "custom-call" and (found := _TARGET.search(i.rest)) else ""
        if i.opcode in CONTROL:
            body = re.search(r"\bbody=%?([\w.\-]+)", i.bare)
            return Described(i.name, i.opcode, i.opcode, {self.line(i): 1.0}, Work(), target, [], self.inside(i),
                             [each.name for each in self.computations.get(body[1], ())] if body else [], i.trips)
        inner = self.computations.get(i.called[0], []) if i.opcode == "fusion" and i.called else []
        work = Work(bytes=self.bytes(i, shapes, inner))
        lines: dict[str, float] = defaultdict(float)
        kinds: Counter[str] = Counter()
        within = {each.name: each.shape for each in inner}
        for each in inner or [i]:
            if each.opcode in FREE:
                continue
            flops, special, weight = self.work(each, within if inner else shapes)
            double = any(kind in DOUBLES for kind, _ in hlo_text.parts_of(each.shape))
            work = work.plus(Work(flops, flops if double else 0.0, special))
            lines[self.line(each)] += weight
            kinds[each.opcode] += 1
        work.footprint = work.bytes
        own = self.line(i)
        if set(lines) - {""}:
            lines.pop("", None)
        total = sum(lines.values())
        parts = {line: weight / total for line, weight in lines.items()} if total else {own: 1.0}
        words = ", ".join(kind + (f" x{count}" if count > 1 else "") for kind, count in sorted(
            kinds.items(), key=lambda item: (item[0] in MOVING, -item[1])))
        shown = [self.shape(operand, shapes) for operand in i.operands] + [i.shape] if target else []
        return Described(i.name, i.opcode, target or words or i.opcode, parts, work, target,
                         [_dims(shape) for shape in shown])

    def inside(self, i: Instruction) -> list[str]:
        """The instructions that run in a control instruction."""
        found = []
        for name in i.called:
            for each in self.computations.get(name, ()):
                found.append(each.name)
                if each.opcode in CONTROL:
                    found += self.inside(each)
        return found

    def bytes(self, i: Instruction, shapes: dict[str, str], inner: list[Instruction]) -> float:
        """Bytes that an instruction reads and writes: of what it takes parts, those parts."""
        given = [self.shape(operand, shapes) for operand in i.operands]
        total: float = hlo_text.size_of(i.shape)
        if i.opcode in PARTS:
            return 2 * total
        if i.opcode == "dynamic-update-slice":
            return 2.0 * hlo_text.size_of(given[1])
        if not inner:
            return total + sum(map(hlo_text.size_of, given))
        places = {each.name: int(each.operands[0]) for each in inner if each.opcode == "parameter"}
        for name, place in places.items():
            users = [each for each in inner if each.opcode != "parameter"
                     and name in [o.split()[-1].lstrip("%") for o in each.operands]]
            whole = float(hlo_text.size_of(given[place])) if place < len(given) else 0.0
            if users and all(u.opcode in PARTS for u in users):
                whole = min(whole, float(sum(hlo_text.size_of(u.shape) for u in users)))
            elif users and all(u.opcode == "dynamic-update-slice" and u.operands[0].split()[-1].lstrip("%") == name
                               for u in users):
                within = {each.name: each.shape for each in inner}
                written = float(sum(hlo_text.size_of(self.shape(u.operands[1], within)) for u in users))
                total += written - whole        # in place: what stays is neither read nor written
                whole = 0.0
            total += whole
        return max(total, 0.0)

    @staticmethod
    def shape(operand: str, shapes: dict[str, str]) -> str:
        return operand if "[" in operand else shapes.get(operand.split()[-1].lstrip("%"), "")

    def work(self, i: Instruction, shapes: dict[str, str]) -> tuple[float, float, float]:
        """Flops, special functions, and what the instruction weighs among those of a fusion."""
        count = float(sum(elements for _, elements in hlo_text.parts_of(i.shape)))
        given = [self.shape(operand, shapes) for operand in i.operands]
        first = float(sum(elements for _, elements in hlo_text.parts_of(given[0]))) if given else 0.0
        if i.opcode in SPECIAL:
            return 0.0, count, DEAR * count
        if i.opcode in MOVING:
            return 0.0, 0.0, LIGHT * count
        if i.opcode == "dot":
            contracted = _CONTRACTED.search(i.bare)
            dims = _dims(given[0])
            for d in (contracted[1].split(",") if contracted and contracted[1] else ()):
                count *= dims[int(d)]
            return 2 * count, 0.0, 2 * count
        if i.opcode in ("reduce", "map", "reduce-window"):
            return max(first, count), 0.0, max(first, count)
        if i.opcode == "sort":
            flops = first * _log2(first)
            return flops, 0.0, flops
        if i.opcode == "fft":
            return 5 * count * _log2(count), 0.0, 5 * count * _log2(count)
        if i.opcode == "custom-call":
            flops = self.library(i, given, count)
            return flops, 0.0, flops
        return count, 0.0, count

    @staticmethod
    def library(i: Instruction, given: list[str], count: float) -> float:
        """Flops of LAPACK's routines; of other calls, which may do anything, none."""
        target = _TARGET.search(i.rest)
        name = target[1] if target else ""
        routine = name[len("lapack_x"):].removesuffix("_ffi") if name.startswith("lapack_") else ""
        dims = _dims(given[0]) if given else ()
        if routine == "trsm" and dims and len(given) > 1:
            return float(hlo_text.parts_of(given[1])[0][1] * dims[-1])
        if routine not in LAPACK or len(dims) < 2:
            return 0.0
        total = 1.0
        for n in dims:
            total *= n
        return LAPACK[routine] * total * min(dims[-2:])


def _dims(shape: str) -> tuple[int, ...]:
    """The extents of an array, of a tuple of the first one."""
    found = _DIMS.search(shape)
    return tuple(int(n) for n in found[1].split(",") if n) if found else ()


def _log2(count: float) -> float:
    return max(1.0, float(int(max(count, 2)).bit_length() - 1))
