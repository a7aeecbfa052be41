"""Writes MLIR text in scf, memref and arith: scopes, invariant code in the outermost scope it can live in, no op twice.

A pure op is written into the deepest scope that one of its operands belongs to, in front of the loop that is being
written there, so loop-invariant work leaves the loops while it is written.
"""
from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

import numpy as np

from reactant.loopnests.analysis.budget import count
from reactant.loopnests.emission.affine import Affine, Facts, number, symbol
from reactant.support.records import dataclass

NAME = re.compile(r"%\w+(?:#\d+)?")
MLIR_TYPE = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "i8", "uint16": "i16",
             "uint32": "i32", "uint64": "i64", "float32": "f32", "float64": "f64"}
"""MLIR's type of a number of each dtype that is compiled (complex numbers are two)."""


_TYPE_OF = {np.dtype(name): text for name, text in MLIR_TYPE.items()}


def type_of(dtype: np.dtype) -> str:
    """MLIR's type of a number in a register."""
    return _TYPE_OF[dtype]


def memory_type(dtype: np.dtype) -> str:
    """MLIR's type of a number in memory: XLA's booleans are bytes."""
    return "i8" if dtype.kind == "b" else type_of(dtype)


@dataclass
class Scope:
    """Text of one region being written, and the pure ops in it by their text."""

    lines: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)


@dataclass
class Names:
    """Names that several writers share: the same text has the same name in all of them."""

    count: int = 0
    known: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)

    def fresh(self, word: str) -> str:
        """A new name."""
        self.count += 1
        return f"%{word}{self.count}"

    def of(self, text: str, word: str) -> str:
        """The name of a pure op's result."""
        if text not in self.known:
            self.known[text] = self.fresh(word)
        return self.known[text]


def parallel_end(work: float) -> str:
    """The end of a parallel loop, with the operations of one iteration: bounds inside may hide them."""
    return f"scf.reduce }} {{reactant.work = {max(int(work), 1)} : i64}}"


class Writer:
    """Text of one function. `facts` holds what is known of the index symbols in scope."""

    def __init__(self, names: Names | None = None) -> None:
        self.scopes = [Scope()]
        self.level: dict[str, int] = {}
        self.names = names
        self.count = 0
        self.facts = Facts()
        self.tried: dict[str, tuple[str, tuple[str, ...], str, int]] = {}
        """What the pure ops were that the last trial wrote, by their names;"""
        self.tried_facts = Facts()
        """and what it knew of them."""

    # ---- names and lines

    def fresh(self, word: str = "v") -> str:
        """A new SSA name."""
        if self.names is not None:
            return self.names.fresh(word)
        self.count += 1
        return f"%{word}{self.count}"

    @property
    def depth(self) -> int:
        """The level of the innermost scope."""
        return len(self.scopes) - 1

    def define(self, name: str, level: int | None = None) -> str:
        """Record where a name lives (the innermost scope if not told)."""
        level = self.depth if level is None else level
        self.level[name] = level
        self.scopes[level].names.append(name)
        return name

    def line(self, text: str) -> None:
        """A line in the innermost scope."""
        self.scopes[-1].lines.append(text)

    def level_of(self, names: Sequence[str]) -> int:
        """The deepest scope among the names'."""
        return max((self.level[n] for n in names), default=0)

    def pure(self, text: str, operands: Sequence[str], word: str = "v", least: int = 0) -> str:
        """A pure op with one result, written once, as far out as its operands allow (not further than `least`)."""
        level = max(least, self.level_of(operands))
        made = self.scopes[level].made
        name = made.get(text)
        if name is None:
            new = self.fresh(word) if self.names is None else self.names.of(text, word)
            name = made[text] = self.define(new, level)
            count()
            self.scopes[level].lines.append(f"{name} = {text}")
            self.tried[name] = text, tuple(operands), word, least
        return name

    def here(self, expression: Affine, found: dict[str, str | None] | None = None) -> Affine | None:
        """An expression that the last trial has found, in names that can be read outside of it; None where it is made
        of what only the trial had, such as a counter. `found`: names already asked for, which many may be made of."""
        found = {} if found is None else found
        total = number(expression.constant)
        for name, factor in expression.terms:
            if (made := self._again(name, found)) is None:
                return None
            total = total + symbol(made).times(factor)
        return total

    def _again(self, name: str, found: dict[str, str | None]) -> str | None:
        """The name of what the last trial wrote under another one, written where that can be read."""
        if name in self.level:
            return name
        if name in found or name not in self.tried:
            return found.get(name)
        text, operands, word, least = self.tried[name]
        found[name] = None
        names: dict[str, str] = {}
        for old in dict.fromkeys((*operands, *NAME.findall(text))):
            if (new := self._again(old, found)) is None:
                return None
            names[old] = new
        made = found[name] = self.pure(
            NAME.sub(lambda match: names[match[0]], text), [names[o] for o in operands], word, least)
        if made not in self.facts.ranges and name in self.tried_facts.ranges:
            self.facts.ranges[made] = self.tried_facts.ranges[name]
            for known, more in ((self.tried_facts.lower, self.facts.lower), (self.tried_facts.upper, self.facts.upper)):
                more[made] = tuple(
                    here for each in known.get(name, ()) if (here := self.here(each, found)) is not None)
        return made

    # ---- scopes

    def open(self) -> Scope:
        """A new innermost scope."""
        self.scopes.append(Scope())
        return self.scopes[-1]

    def close(self) -> list[str]:
        """Leave the innermost scope; its lines, not yet part of the text around."""
        scope = self.scopes.pop()
        for name in scope.names:
            del self.level[name]
        return scope.lines

    def loop(self, head: str, arguments: Sequence[str] = ()) -> None:
        """Open the region of an op whose text starts with `head`; `finish` closes it."""
        scope = self.open()
        scope.lines.append(head)
        for argument in arguments:
            self.define(argument)

    def finish(self, tail: str = "}") -> None:
        """Close the region opened last, with the op's last line."""
        lines = self.close()
        self.scopes[-1].lines.extend(lines)
        self.scopes[-1].lines.append(tail)

    @contextmanager
    def trial(self) -> Iterator[list[bool]]:
        """What is written inside is thrown away, unless something is put into the list: then it stays."""
        marks = [(len(s.lines), dict(s.made), len(s.names)) for s in self.scopes]
        facts, depth = self.facts, len(self.scopes)
        self.facts = facts.copy()
        self.tried = {}
        stays: list[bool] = []
        try:
            yield stays
        finally:
            if not stays:
                self.tried_facts, self.facts = self.facts, facts
                while len(self.scopes) > depth:
                    self.close()
                for scope, (lines, made, names) in zip(self.scopes, marks, strict=True):
                    del scope.lines[lines:]
                    scope.made = made
                    for name in scope.names[names:]:
                        del self.level[name]
                    del scope.names[names:]

    # ---- numbers

    def index(self, value: int) -> str:
        """A constant of type index."""
        return self.pure(f"arith.constant {value} : index", (), "c")

    def constant(self, value: object, dtype: np.dtype) -> str:
        """A constant of a dtype."""
        return self.pure(f"arith.constant {literal(value, dtype)}", (), "c")

    def affine(self, expression: Affine) -> str:
        """The value of an index expression. Terms of outer loops come first, so that their sum leaves the loop."""
        terms = sorted(expression.terms, key=lambda t: (self.level[t[0]], t[0]))
        total: str | None = None
        level = 0
        constant = expression.constant
        for name, factor in terms:
            if total is not None and constant and self.level[name] > level:
                total, constant = self._plus(total, self.index(constant)), 0
            part = name if factor == 1 else self.pure(f"arith.muli {name}, {self.index(factor)} overflow<nsw> : index",
                                                      (name,), "x")
            total = part if total is None else self._plus(total, part)
            level = self.level[name]
        if total is None:
            return self.index(constant)
        return total if not constant else self._plus(total, self.index(constant))

    def _plus(self, left: str, right: str) -> str:
        return self.pure(f"arith.addi {left}, {right} overflow<nsw> : index", (left, right), "x")

    def text(self) -> list[str]:
        """All lines, when every scope but the first is closed."""
        return self.scopes[0].lines


def literal(value: object, dtype: np.dtype) -> str:
    """`value : type` as MLIR writes it, exact to the bit."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        whole = int(value) % (1 << bits)  # type: ignore[call-overload]
        return f"{whole - (1 << bits) if whole >> (bits - 1) else whole} : {type_of(dtype)}"
    if dtype.itemsize == 8:
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X} : f64"  # type: ignore[arg-type]
    return f"0x{int(np.float32(value).view(np.uint32)):08X} : f32"  # type: ignore[arg-type]
