"""Sorts of which few places are read, as native code: medians, percentiles, the least of many.

Quickselect (Hoare 1961): elements are put before or behind a pivot, and only the part goes on that has the places in
question. A pivot is an element of a sorted sample, a little beyond the places, so that two or three iterations leave a
hundredth (Floyd and Rivest 1975); what is left is sorted by NumPy's vector code, and so is everything where pivots do
not divide it.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.orders import order_of
from reactant.ir.types import shape_and_dtype, shape_of, size, tensor_type
from reactant.loopnests.emission.writer import parallel_end
from reactant.loopnests.sorts.sort_keys import BITS
from reactant.loopnests.sorts.sort_rows import PART, Rows
from reactant.native import numpy_sorts

LEAST = 1 << 11
"""Elements of a row from which selecting is faster than sorting."""
MOST_RANGES, FEW = 4, 4
"""Ranges of places that are looked for, and what part of a row they may be: 1 / FEW."""
SAMPLE, BEYOND = 64, 6
"""Elements of a sample; places of it that the pivot lies beyond what is looked for."""
SHORT, ITERATIONS = 512, 24
"""Elements that are sorted rather than divided; how often is divided."""


def ranges_of(op: ir.Operation, dimension: int) -> list[tuple[int, int]]:
    """The places along a row that are read of a sort of one operand, where they are few; [] where it may be all."""
    length, found = shape_of(op.results[0])[dimension], []
    for use in op.results[0].uses:
        user = use.owner
        if user.name != "stablehlo.slice" or attr.decode(user.attributes["strides"])[dimension] != 1:
            return []
        low, high = (attr.decode(user.attributes[name])[dimension] for name in ("start_indices", "limit_indices"))
        found.append((low, high))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(set(found)):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        elif low < high:
            merged.append((low, high))
    few = len(merged) <= MOST_RANGES and FEW * sum(high - low for low, high in merged) <= length
    return merged if few else []


def pays(op: ir.Operation, dimension: int) -> bool:
    """Whether a sort is of rows long enough, of keys that NumPy's code takes, and few places of it are read."""
    shape, dtype = shape_and_dtype(op.operands[0].type)
    return len(op.operands) == 1 and shape[dimension] >= LEAST and dtype.itemsize in (4, 8) \
        and numpy_sorts.fast(BITS[dtype.itemsize], shape[dimension]) and bool(ranges_of(op, dimension))


def replaced(op: ir.Operation, dimension: int) -> str:
    """Put a native call in the place of a sort, and of what reads it; a line about it."""
    order = order_of(op)
    assert order is not None
    shape, dtype = shape_and_dtype(op.operands[0].type)
    ranges = ranges_of(op, dimension)
    written = Selection(tuple(shape), dimension, order, [dtype], [0], [0], [], False, True)
    function = native.compile(modules.parse(written.selected(ranges)), roles=["in", "out", "out", "out"],
                              where=f"selection at {op.location}")
    total = sum(high - low for low, high in ranges)
    kept = [total if d == dimension else n for d, n in enumerate(shape)]
    types = [tensor_type(tuple(kept), dtype), *(tensor_type((n,), written.numbers) for n in written.memories)]
    with ir.InsertionPoint(op), op.location:
        made = function.custom_call([op.operands[0]], types)[0]
    for user in [use.owner for use in op.results[0].uses]:
        low, high = (list(attr.decode(user.attributes[name])) for name in ("start_indices", "limit_indices"))
        before = 0
        for first, last in ranges:
            if first <= low[dimension] and high[dimension] <= last:
                shift = before - first
            before += last - first
        low[dimension] += shift
        high[dimension] += shift
        with ir.InsertionPoint(user), user.location:
            new = ops.slice(made, low, high, attr.decode(user.attributes["strides"]))
        user.results[0].replace_all_uses_with(new)
        user.operation.erase()
    op.erase()
    count = size(shape) // shape[dimension]
    return f"compiled natively: selection of {total} of {count} x {shape[dimension]}"


class Selection(Rows):
    """The text of one selection. Arguments: the operand, the places that are read, keys, samples."""

    @property
    def numbers(self) -> np.dtype:
        """What keys are stored as."""
        return np.dtype(f"i{self.key_bits // 8}")

    @property
    def memories(self) -> list[int]:
        """Elements of the memory asked for."""
        return [self.length * self.groups, SAMPLE * self.groups]

    def selected(self, ranges: Sequence[tuple[int, int]]) -> str:
        """The function."""
        self.halves, self.groups, self.keys = 1, min(self.rows, 32), "%keys"
        self.restored = False
        total = sum(high - low for low, high in ranges)
        elements, samples = self.memories
        self.types = {"%in0": self._memref(0), "%out0": f"memref<{total * self.rows}x{self.key}>",
                      "%keys": f"memref<{elements}x{self.key}>", "%sample": f"memref<{samples}x{self.key}>"}
        each = -(-self.rows // self.groups)
        zero, one = self.index(0), self.index(1)
        self.line(f"scf.parallel (%group) = ({zero}) to ({self.index(self.groups)}) step ({one}) {{")
        first = self.binary("muli", "%group", self.index(each))
        last = self.binary("minsi", self.binary("addi", first, self.index(each)), self.index(self.rows))
        memory = self.binary("muli", "%group", self.index(self.length))
        sample = self.binary("muli", "%group", self.index(SAMPLE))
        self.line(f"scf.for %row = {first} to {last} step {one} {{")
        base = self._base("%row")
        self._fill(base, memory, zero, self.index(self.length))
        before, done = 0, 0
        for low, high in ranges:
            start, end = self._narrowed(memory, sample, done, low, high)
            self._sorted(self.keys, self.binary("addi", memory, start), self.binary("subi", end, start))
            self._given(memory, low, high, before, total)
            before, done = before + high - low, high
        self.line("}")
        self.line(parallel_end(8.0 * self.length * self.rows / self.groups))
        head = ", ".join(f"{name}: {type_}" for name, type_ in self.types.items())
        constants = [f"{name} = {text}" for text, name in self.made.items()]
        return "\n".join([f"func.func private @{self._borrowed}({PART.format(self.key)}, index)",
                          f"func.func @select({head}) {{", *constants, *self.lines, "return", "}"])

    def _sorted(self, buffer: str, start: str, length: str) -> None:
        part = self.let(f"memref.subview {buffer}[{start}] [{length}] [1] : {self.types[buffer]} to "
                        f"{PART.format(self.key)}")
        self.line(f"func.call @{self._borrowed}({part}, {length}) : ({PART.format(self.key)}, index) -> ()")

    def _given(self, memory: str, low: int, high: int, before: int, total: int) -> None:
        """Write places of the row to the result."""
        outer = self.binary("divsi", "%row", self.index(self.inner))
        inner = self.binary("remsi", "%row", self.index(self.inner))
        base = self.binary("addi", self.binary("muli", outer, self.index(self.inner * total)), inner)
        self.line(f"scf.for %k = {self.index(low)} to {self.index(high)} step {self.index(1)} {{")
        bits = self._as_bits(self.load("%keys", self.binary("addi", memory, "%k")))
        place = self.binary("addi", "%k", self.index(before - low))
        self.store(bits, "%out0", self.binary("addi", base, self.binary("muli", place, self.index(self.inner))))
        self.line("}")

    def _narrowed(self, memory: str, sample: str, first: int, low: int, high: int) -> tuple[str, str]:
        """Divide the row from `first` on until the part with the places from low to high is short: its ends."""
        self.count += 1
        name, state = f"%part{self.count}", "(index, index, index)"
        self.line(f"{name}:3 = scf.while (%a = {self.index(first)}, %b = {self.index(self.length)}, "
                  f"%iteration = {self.index(0)}) : {state} -> {state} {{")
        enough = self.index(max(SHORT, 2 * (high - low)))
        long = self.let(f"arith.cmpi sgt, {self.binary('subi', '%b', '%a')}, {enough} : index")
        more = self.let(f"arith.cmpi slt, %iteration, {self.index(ITERATIONS)} : index")
        self.line(f"scf.condition({self.binary('andi', long, more, 'i1')}) %a, %b, %iteration : index, index, index")
        self.line("} do {")
        self.line("^bb0(%a: index, %b: index, %iteration: index):")
        pivot = self._pivot(memory, sample, (low + high) // 2)
        less = self._divided(memory, "%a", "%b", pivot, "ult")
        low_, high_, iterations = self.index(low), self.index(high), self.index(ITERATIONS)
        next_ = self.binary("addi", "%iteration", self.index(1))

        def narrowed(border: str, end: str) -> None:
            """Go on behind a border where all places are there, up to `end` where all are before it."""
            within = self.let(f"arith.cmpi sle, {high_}, {border} : index")
            behind = self.let(f"arith.cmpi sge, {low_}, {border} : index")
            a = self.let(f"arith.select {behind}, {border}, %a : index")
            b = self.let(f"arith.select {within}, {end}, %b : index")
            iteration = self.let(f"arith.select {self.binary('ori', within, behind, 'i1')}, {next_}, {iterations} : "
                                 f"index")
            self.line(f"scf.yield {a}, {b}, {iteration} : index, index, index")

        none = self.let(f"arith.cmpi eq, {less}, %a : index")
        self.count += 1
        chosen = f"%chosen{self.count}"
        self.line(f"{chosen}:3 = scf.if {none} -> (index, index, index) {{")
        equal = self._divided(memory, "%a", "%b", pivot, "ule")
        narrowed(equal, "%a")       # where places are before it, all that are left are the pivot
        self.line("} else {")
        narrowed(less, less)
        self.line("}")
        self.line(f"scf.yield {chosen}#0, {chosen}#1, {chosen}#2 : index, index, index")
        self.line("}")
        return f"{name}#0", f"{name}#1"

    def _pivot(self, memory: str, sample: str, target: int) -> str:
        """A key a little beyond the target, on the side where more is left out."""
        zero, one, many = self.index(0), self.index(1), self.index(SAMPLE)
        span = self.binary("subi", "%b", "%a")
        self.line(f"scf.for %s = {zero} to {many} step {one} {{")
        at = self.binary("divsi", self.binary("muli", "%s", span), many)
        key = self.load("%keys", self.binary("addi", memory, self.binary("addi", "%a", at)))
        self.store(key, "%sample", self.binary("addi", sample, "%s"))
        self.line("}")
        self._sorted("%sample", sample, many)
        ahead = self.binary("subi", self.index(target), "%a")
        rank = self.binary("divsi", self.binary("muli", ahead, many), span)
        left = self.let(f"arith.cmpi slt, {self.binary('muli', ahead, self.index(2))}, {span} : index")
        up = self.binary("minsi", self.binary("addi", rank, self.index(BEYOND)), self.index(SAMPLE - 1))
        down = self.binary("maxsi", self.binary("subi", rank, self.index(BEYOND)), zero)
        place = self.let(f"arith.select {left}, {up}, {down} : index")
        return self.load("%sample", self.binary("addi", sample, place))

    def _divided(self, memory: str, low: str, high: str, pivot: str, before: str) -> str:
        """Put keys that come before the pivot first: where they end. (No branch: each iteration exchanges.)"""
        self.count += 1
        end, i, at = f"%end{self.count}", f"%i{self.count}", f"%to{self.count}"
        self.line(f"{end} = scf.for {i} = {low} to {high} step {self.index(1)} iter_args({at} = {low}) -> (index) {{")
        here, there = (self.binary("addi", memory, place) for place in (i, at))
        key, other = self.load("%keys", here), self.load("%keys", there)
        self.store(other, "%keys", here)
        self.store(key, "%keys", there)
        comes = self.let(f"arith.cmpi {before}, {key}, {pivot} : {self.key}")
        self.line(f"scf.yield {self.binary('addi', at, self.let(f'arith.index_castui {comes} : i1 to index'))} : index")
        self.line("}")
        return end
