"""The threads of a group where its code is written: their number, vectors of their values, which of them are active."""
from __future__ import annotations

import re

from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.spread import NotVectorizable
from reactant.cuda_programs.device.writer import Writer

_SCALAR = re.compile(r"i\d+|float|double|half|bfloat|ptr")
Known = tuple[dict[str, str], dict[str, str], dict[str, str]]
"""The names under which values, constants and values of first threads are known at a place of the code."""


def plain(kind: str) -> str:
    """A type that may be an element of vectors."""
    if not _SCALAR.fullmatch(kind):
        raise NotVectorizable(f"vectors of {kind}")
    return kind


def suffix(kind: str) -> str:
    """How names of intrinsics spell a type."""
    return {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16", "ptr": "p0"}.get(kind, kind)


def literal(value: str) -> bool:
    return bool(re.fullmatch(r"-?\d+|true|false|null|poison|undef|0x[0-9A-Fa-f]+|f0x\w+|"
                             r"-?[\d.]+(?:e[+-]?\d+)?|[-+]?(?:inf|nan|qnan|pinf|ninf)", value))


class Lanes:
    """What the writer of a group's code knows: its size, where it writes, under which names operands are known (`vec`,
    `one`, `first`)."""

    def __init__(self, size: int, layout: Layout, loop: object) -> None:
        self.size, self.layout, self.loop = size, layout, loop
        self.beside = False                 # whether blocks are run one by one, each with memory of its own
        self.blank()

    def blank(self) -> None:
        """A function is begun of which nothing is written."""
        self.f = Writer()
        self.top: list[str] = []
        self._arrays = 0
        self.mask = ""                      # of active threads, <W x i1>; "": all
        self._loops = 0
        self._nowhere = ""
        self.often = False                  # in a loop

    # -- to be given by who knows where values are

    def vec(self, kind: str, operand: str) -> str:
        raise NotImplementedError

    def one(self, operand: str) -> str:
        raise NotImplementedError

    def first(self, operand: str) -> str:
        """A value of the group's first thread."""
        raise NotImplementedError

    def of_thread(self, operand: str, number: int) -> str:
        """A value of one thread of the group."""
        raise NotImplementedError

    def same(self, operand: str) -> bool:
        """Whether a value is one for the group."""
        raise NotImplementedError

    def step(self, operand: str) -> int | None:
        raise NotImplementedError

    def without_locks(self, line: str) -> list[str] | None:
        """Plain instructions for an atomic one that needs no lock."""
        raise NotImplementedError

    def in_shared(self, pointer: str) -> bool:
        """Whether an address is one of the block's own memory."""
        raise NotImplementedError

    def index_of(self, pointer: str, size: int) -> tuple[str, str] | None:
        """The index of an address that follows from numbers of threads alone, without what is the same for all."""
        raise NotImplementedError

    def known(self) -> Known:
        """What is known of values here, for `know`."""
        raise NotImplementedError

    def know(self, known: Known) -> None:
        raise NotImplementedError

    def based(self, pointer: str) -> tuple[str, str, str, str] | None:
        """Addresses on a base that all threads have in common: how indices of 32 bits are widened ("" where they are
        of 64), base, indices, type of elements."""
        raise NotImplementedError

    def often_asked(self, index: str) -> bool:
        """Whether several accesses of the block that is written now are at places that follow from an index."""
        raise NotImplementedError

    def clamped(self, name: str) -> str:
        """A test whether an index surely goes up by 1 from thread to thread, cheaper than to look at all; "": none."""
        raise NotImplementedError

    # -- helpers

    def of(self, kind: str) -> str:
        return f"<{self.size} x {plain(kind)}>"

    def splat(self, kind: str, value: str) -> str:
        if literal(value):
            if value in ("poison", "undef"):
                return "poison"
            if value in ("0", "false", "null"):
                return "zeroinitializer"
            return f"splat ({kind} {value})"
        made = self.f.let(f"insertelement {self.of(kind)} poison, {kind} {value}, i64 0")
        return self.f.let(f"shufflevector {self.of(kind)} {made}, {self.of(kind)} poison, "
                          f"<{self.size} x i32> zeroinitializer")

    def array(self, kind: str) -> str:
        """Memory of a group's values."""
        self._arrays += 1
        self.top.append(f"  %array.of.{self._arrays} = alloca [{self.size} x {kind}], align 64")
        return f"%array.of.{self._arrays}"

    def element(self, vector: str, kind: str, number: int | str) -> str:
        return self.f.let(f"extractelement {self.of(kind)} {vector}, i64 {number}")

    def bits(self, mask: str) -> str:
        return self.f.let(f"bitcast <{self.size} x i1> {mask} to i{self.size}")

    def any(self, mask: str) -> str:
        return self.f.let(f"icmp ne i{self.size} {self.bits(mask)}, 0")

    def all_mask(self) -> str:
        return self.mask or "splat (i1 true)"
