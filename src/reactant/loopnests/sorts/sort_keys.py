"""Keys of native sorts: unsigned numbers that have the order of operands, and the text that loads and stores them."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reactant.ir.orders import FLOATS, Order
from reactant.ir.types import size

INSERTION = 48
"""Elements of a row up to which each is put in its place among those before it."""
HALVES = 1 << 15
"""Elements of a row from which two threads share it."""
VECTOR_HALVES = {False: 1 << 19, True: 1 << 17}
"""The same with NumPy's code, for keys alone and for keys with places."""
DIGIT = 8
"""Bits of a digit. A million numbers of 64 bits on one thread: 8 ms with 8 bits, 17 with 11 (2,048 places that are
written to by iterations are too many for the first cache)."""
GROUPS = 32
"""Groups of rows, each with workspace of its own."""
BITS = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


class Keys:
    """What a sort is of, and its text so far.

    vector: by NumPy's functions. carried: keys have their places with them.
    """

    def __init__(self, shape: tuple[int, ...], dimension: int, order: Order, dtypes: Sequence[np.dtype],
                 read: Sequence[int], needed: Sequence[int], places: Sequence[int], carried: bool,
                 vector: bool = False) -> None:
        self.order, self.carried, self.vector = order, carried, vector
        self.length = shape[dimension]
        self.inner, self.outer = size(shape[dimension + 1:]), size(shape[:dimension])
        self.rows = self.inner * self.outer
        self.key_bits = 8 * dtypes[order.key].itemsize
        self.key = BITS[dtypes[order.key].itemsize]
        self.read, self.needed, self.places = list(read), list(needed), set(places)
        self.items = [d.itemsize for d in dtypes]
        self.layout = FLOATS.get(dtypes[order.key].name, (0, 0))
        self.small = self.length <= INSERTION and not vector
        least = HALVES if not vector else VECTOR_HALVES[carried]
        self.counted = self.key_bits == 8 and not self.small
        self.halves = 2 if self.rows < 4 and self.length >= least and not self.counted else 1
        self.groups = 1 if self.halves > 1 else min(self.rows, GROUPS)
        self.passes = self.key_bits // DIGIT
        self.packed = vector and carried
        self.stored = "i64" if self.packed else self.key
        self.place_mask = (1 << max(1, (self.length - 1).bit_length())) - 1
        self.cut = self.packed and self.key_bits == 64      # the key's last bits are not in its number
        self.restored = vector and not carried and order.kind == "canonical"
        in_place = vector and not carried and self.inner == 1 and self.halves == 1
        self.keys = f"%out{order.key}" if in_place else "%keys"
        self.lines: list[str] = []
        self.count = 0
        self.made: dict[str, str] = {}
        self.types: dict[str, str] = {}

    def _memref(self, k: int) -> str:
        item, elements = self.items[k], self.length * self.rows
        return f"memref<{2 * elements}xi64>" if item == 16 else f"memref<{elements}x{BITS[item]}>"

    # ---- writing

    def line(self, text: str) -> None:
        """A line as it is."""
        self.lines.append(text)

    def let(self, text: str) -> str:
        """A value."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def index(self, value: int) -> str:
        """A constant, at the function's beginning."""
        return self.made.setdefault(f"arith.constant {value} : index", f"%c{len(self.made)}")

    def number(self, value: int, type_: str) -> str:
        """The same of another type."""
        bits = int(type_[1:])
        value %= 1 << bits
        value -= (value >> (bits - 1)) << bits
        return self.made.setdefault(f"arith.constant {value} : {type_}", f"%c{len(self.made)}")

    def binary(self, name: str, left: str, right: str, type_: str = "index") -> str:
        """An op of arith."""
        return self.let(f"arith.{name} {left}, {right} : {type_}")

    def load(self, buffer: str, place: str) -> str:
        """An element."""
        return self.let(f"memref.load {buffer}[{place}] : {self.types[buffer]}")

    def store(self, value: str, buffer: str, place: str) -> None:
        """Write one."""
        self.line(f"memref.store {value}, {buffer}[{place}] : {self.types[buffer]}")

    def _base(self, row: str) -> str:
        """Where a row's first element is."""
        if self.inner == 1:
            return self.binary("muli", row, self.index(self.length))
        outer = self.binary("divsi", row, self.index(self.inner))
        return self.binary("addi", self.binary("muli", outer, self.index(self.inner * self.length)),
                           self.binary("remsi", row, self.index(self.inner)))

    def _element(self, base: str, k: str) -> str:
        step = k if self.inner == 1 else self.binary("muli", k, self.index(self.inner))
        return self.binary("addi", base, step)

    # ---- keys

    def _fill(self, base: str, memory: str, low: str, length: str) -> None:
        """Keys as unsigned numbers, and their places."""
        self.line(f"scf.for %i = {self.index(0)} to {length} step {self.index(1)} {{")
        k = self.binary("addi", low, "%i")
        at = self.binary("addi", memory, "%i")
        number = self._as_number(self.load(f"%in{self.order.key}", self._element(base, k)))
        self.store(self._packed(number, k) if self.packed else number, self.keys, at)
        if self.carried and not self.packed:
            self.store(self.let(f"arith.index_cast {k} : index to i32"), "%places", at)
        self.line("}")

    def _packed(self, number: str, k: str) -> str:
        """A number that is ordered as the key and then as its place, which is in its last bits."""
        place = self.let(f"arith.index_cast {k} : index to i64")
        if self.cut:
            number = self.binary("andi", number, self.number(~self.place_mask, "i64"), "i64")
        else:
            number = self.let(f"arith.extui {number} : i32 to i64")
            number = self.binary("shli", number, self.number(32, "i64"), "i64")
        return self.binary("ori", number, place, "i64")

    def _as_number(self, bits: str) -> str:
        t, w = self.key, self.key_bits
        sign = self.number(1 << (w - 1), t)
        if self.order.kind == "canonical":
            exponent, fraction = self.layout
            magnitude = self.binary("andi", bits, self.number((1 << (w - 1)) - 1, t), t)
            infinity = self.number(((1 << exponent) - 1) << fraction, t)
            is_nan = self.let(f"arith.cmpi ugt, {magnitude}, {infinity} : {t}")
            is_zero = self.let(f"arith.cmpi eq, {magnitude}, {self.number(0, t)} : {t}")
            if not self.restored:
                bits = self.let(f"arith.select {is_zero}, {self.number(0, t)}, {bits} : {t}")
            quiet = self.number((((1 << exponent) - 1) << fraction) | 1 << (fraction - 1), t)
            bits = self.let(f"arith.select {is_nan}, {quiet}, {bits} : {t}")
        if self.order.kind in ("total", "canonical"):
            negative = self.binary("shrsi", bits, self.number(w - 1, t), t)
            bits = self.binary("xori", bits, self.binary("ori", negative, sign, t), t)
        elif self.order.kind == "signed":
            bits = self.binary("xori", bits, sign, t)
        return self.binary("xori", bits, self.number(-1, t), t) if self.order.descending else bits

    def _as_bits(self, key: str) -> str:
        """What `_as_number` made a key from."""
        t, w = self.key, self.key_bits
        sign = self.number(1 << (w - 1), t)
        if self.order.descending:
            key = self.binary("xori", key, self.number(-1, t), t)
        if self.order.kind == "signed":
            return self.binary("xori", key, sign, t)
        if self.order.kind in ("total", "canonical"):
            positive = self.binary("shrsi", key, self.number(w - 1, t), t)     # all ones where it was not negative
            negative = self.binary("xori", positive, self.number(-1, t), t)
            return self.binary("xori", key, self.binary("ori", negative, sign, t), t)
        return key

    def _number_of(self, bits: int) -> int:
        """What `_as_number` makes of bits that are known, of floats."""
        every, sign = (1 << self.key_bits) - 1, 1 << (self.key_bits - 1)
        number = bits ^ (every if bits & sign else sign)
        return number ^ every if self.order.descending else number

    def _place(self, source: str) -> str:
        """Where the key at `source` came from."""
        if not self.packed:
            return self.load("%places", source)
        place = self.binary("andi", self.load(self.keys, source), self.number(self.place_mask, "i64"), "i64")
        return self.let(f"arith.trunci {place} : i64 to i32")
