"""Sorts as native code: radix sort of keys that compare as integers, stable, what belongs to them moved along.

A comparator that asks whether one operand's element comes before another's, up or down, is an order of bit patterns:
integers with their sign turned, floats in StableHLO's total order, or in that of jax.numpy (NaN last, zeros equal).
Keys become unsigned numbers, are put in order by one digit after the other, and become what they were. Where something
moves along, or keys that count as equal differ, each key carries its place, by which everything is gathered at the end.
A row that is alone is sorted in two halves, which two threads sort and merge.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import attributes as attr
from reactant.ir import modules
from reactant.ir.orders import FLOATS, Order, order_of
from reactant.ir.types import shape_and_dtype, size, tensor_type
from reactant.loopnests.writer import parallel_end

LEAST_ROW, LEAST_ELEMENTS = 32, 1 << 12
"""Elements of a row, and of all rows, from which this is faster than XLA's comparisons through a function pointer."""
INSERTION = 48
"""Elements of a row up to which each is put in its place among those before it."""
HALVES = 1 << 15
"""Elements of a row from which two threads share it."""
DIGIT = 8
"""Bits of a digit. A million numbers of 64 bits on one thread: 8 ms with 8 bits, 17 with 11 (2,048 places that are
written to by turns are too many for the first cache)."""
MOST = (1 << 31) - 1
GROUPS = 32
"""Groups of rows, each with workspace of its own."""
BITS = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def possible(op: ir.Operation) -> bool:
    """Whether a sort has a form here."""
    if op.name != "stablehlo.sort":
        return False
    shape = shape_and_dtype(op.operands[0].type)[0]
    items = [shape_and_dtype(v.type)[1] for v in op.operands]
    return (all(d.itemsize in (1, 2, 4, 8, 16) and not d.name.endswith("int4") for d in items)
            and 0 < size(shape) < MOST and order_of(op) is not None)


def pays(op: ir.Operation) -> bool:
    """Whether it is worth a call."""
    shape = shape_and_dtype(op.operands[0].type)[0]
    return shape[_dimension(op)] >= LEAST_ROW and size(shape) >= LEAST_ELEMENTS


def replaced(op: ir.Operation) -> str:
    """Put a native call in the place of a sort; a line about it."""
    order = order_of(op)
    assert order is not None
    shape = tuple(shape_and_dtype(op.operands[0].type)[0])
    dimension = _dimension(op)
    dtypes = [shape_and_dtype(v.type)[1] for v in op.operands]
    needed = [k for k, r in enumerate(op.results) if any(True for _ in r.uses)] or [order.key]
    places = {k for k in needed if _is_place(op.operands[k], dimension)}
    carried = order.kind == "canonical" or needed != [order.key]
    moved = [k for k in needed if k not in places and (k != order.key or carried)]
    read = list(dict.fromkeys([order.key, *moved]))
    written = Sort(shape, dimension, order, dtypes, read, needed, sorted(places), carried)
    function = native.compile(modules.parse(written.text()), roles=written.roles)
    types = [op.results[k].type for k in needed] + [tensor_type((n,), d) for n, d in written.workspace]
    with ir.InsertionPoint(op), op.location:
        made = function.custom_call([op.operands[k] for k in read], types)
    for k, new in zip(needed, made, strict=False):
        op.results[k].replace_all_uses_with(new)
    op.erase()
    return f"compiled natively: sort of {size(shape) // shape[dimension]} x {shape[dimension]} by radix"


def _dimension(op: ir.Operation) -> int:
    found: int = attr.decode(op.attributes["dimension"])
    return found % len(shape_and_dtype(op.operands[0].type)[0])


def _is_place(value: ir.Value, dimension: int) -> bool:
    """Whether an operand is every element's place in its row."""
    owner = value.owner
    return (not isinstance(owner, ir.Block) and owner.name == "stablehlo.iota"
            and attr.decode(owner.attributes["iota_dimension"]) == dimension
            and shape_and_dtype(value.type)[1].kind in "iu")


class Sort:
    """The text of one sort.

    Arguments: the operands that are read, the results that are needed, keys (two versions, next to each other), their
    places (the same, if carried), counters of digits, where the halves ended up.
    """

    def __init__(self, shape: tuple[int, ...], dimension: int, order: Order, dtypes: Sequence[np.dtype],
                 read: Sequence[int], needed: Sequence[int], places: Sequence[int], carried: bool) -> None:
        self.order, self.carried = order, carried
        self.length = shape[dimension]
        self.inner, self.outer = size(shape[dimension + 1:]), size(shape[:dimension])
        self.rows = self.inner * self.outer
        self.key_bits = 8 * dtypes[order.key].itemsize
        self.key = BITS[dtypes[order.key].itemsize]
        self.read, self.needed, self.places = list(read), list(needed), set(places)
        self.items = [d.itemsize for d in dtypes]
        self.layout = FLOATS.get(dtypes[order.key].name, (0, 0))
        self.small = self.length <= INSERTION
        self.halves = 2 if self.rows < 4 and self.length >= HALVES else 1
        self.groups = 1 if self.halves > 1 else min(self.rows, GROUPS)
        self.passes = self.key_bits // DIGIT
        self.lines: list[str] = []
        self.count = 0
        self.made: dict[str, str] = {}

    @property
    def workspace(self) -> list[tuple[int, np.dtype]]:
        """Elements and dtypes of the memory asked for."""
        each = 2 * self.length * self.groups
        found = [(each, np.dtype(f"i{self.key_bits // 8}"))]
        if self.carried:
            found.append((each, np.dtype(np.int32)))
        found.append(((self.passes << DIGIT) * self.groups * self.halves, np.dtype(np.int32)))
        found.append((2, np.dtype(np.int64)))
        return found

    @property
    def roles(self) -> list[str]:
        """Of the arguments."""
        return ["in"] * len(self.read) + ["out"] * (len(self.needed) + len(self.workspace))

    def _memref(self, k: int) -> str:
        item, elements = self.items[k], self.length * self.rows
        return f"memref<{2 * elements}xi64>" if item == 16 else f"memref<{elements}x{BITS[item]}>"

    @property
    def _work(self) -> float:
        """Operations, roughly."""
        each = self.length / 2 if self.small else 6 * self.passes
        return each * self.length * self.rows

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

    def text(self) -> str:
        """The function."""
        self.types: dict[str, str] = {}
        for k in self.read:
            self.types[f"%in{k}"] = self._memref(k)
        for k in self.needed:
            self.types[f"%out{k}"] = self._memref(k)
        for (elements, dtype), name in zip(self.workspace, ["%keys", *(["%places"] if self.carried else []), "%counts",
                                                            "%ends"], strict=True):
            self.types[name] = f"memref<{elements}x{BITS[dtype.itemsize]}>"
        if self.halves > 1:
            for row in range(self.rows):
                self._alone(row)
        else:
            self._many()
        head = ", ".join(f"{name}: {type_}" for name, type_ in self.types.items())
        constants = [f"{name} = {text}" for text, name in self.made.items()]
        return "\n".join([f"func.func @sort({head}) {{", *constants, *self.lines, "return", "}"])

    # ---- rows

    def _many(self) -> None:
        """Groups of rows on threads, one row after the other in each."""
        each = -(-self.rows // self.groups)
        self.line(f"scf.parallel (%group) = ({self.index(0)}) to ({self.index(self.groups)}) step ({self.index(1)}) {{")
        first = self.binary("muli", "%group", self.index(each))
        last = self.binary("minsi", self.binary("addi", first, self.index(each)), self.index(self.rows))
        memory = self.binary("muli", "%group", self.index(2 * self.length))
        counts = self.binary("muli", "%group", self.index(self.passes << DIGIT))
        self.line(f"scf.for %row = {first} to {last} step {self.index(1)} {{")
        base = self._base("%row")
        if self.small:
            source = self._by_insertion(base, memory)
        else:
            self._fill(base, memory, self.index(0), self.index(self.length))
            source = self._by_digits(memory, self.index(self.length), counts)
        self.line(f"scf.for %k = {self.index(0)} to {self.index(self.length)} step {self.index(1)} {{")
        self._deliver(base, "%k", self.binary("addi", source, "%k"))
        self.line("}")
        self.line("}")
        self.line(parallel_end(self._work / self.groups))

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

    def _alone(self, row: int) -> None:
        """One row: its halves on two threads, then the parts of what they merge to."""
        base, middle = self._base(self.index(row)), self.length // 2
        zero, one, two = (self.index(k) for k in (0, 1, 2))
        self.line(f"scf.parallel (%half) = ({zero}) to ({two}) step ({one}) {{")
        low = self.binary("muli", "%half", self.index(middle))
        length = self.binary("addi", self.index(middle), self.binary("muli", "%half",
                                                                    self.index(self.length - 2 * middle)))
        memory = self.binary("muli", low, two)
        counts = self.binary("muli", "%half", self.index(self.passes << DIGIT))
        self._fill(base, memory, low, length)
        source = self._by_digits(memory, length, counts)
        self.store(self.let(f"arith.index_cast {source} : index to i64"), "%ends", "%half")
        self.line(parallel_end(self._work / self.rows / 2))
        self.line(f"scf.parallel (%half) = ({zero}) to ({two}) step ({one}) {{")
        left, right = (self.let(f"arith.index_cast {self.load('%ends', k)} : i64 to index") for k in (zero, one))
        start = self.binary("muli", "%half", self.index(middle))
        end = self.let(f"arith.select {self.let(f'arith.cmpi eq, %half, {zero} : index')}, {self.index(middle)}, "
                       f"{self.index(self.length)} : index")
        self._merge(base, left, right, middle, self.length - middle, start, end)
        self.line(parallel_end(self._work / self.rows / 2))

    # ---- keys

    def _fill(self, base: str, memory: str, low: str, length: str) -> None:
        """Keys as unsigned numbers, and their places."""
        self.line(f"scf.for %i = {self.index(0)} to {length} step {self.index(1)} {{")
        k = self.binary("addi", low, "%i")
        at = self.binary("addi", memory, "%i")
        self.store(self._as_number(self.load(f"%in{self.order.key}", self._element(base, k))), "%keys", at)
        if self.carried:
            self.store(self.let(f"arith.index_cast {k} : index to i32"), "%places", at)
        self.line("}")

    def _as_number(self, bits: str) -> str:
        t, w = self.key, self.key_bits
        sign = self.number(1 << (w - 1), t)
        if self.order.kind == "canonical":
            exponent, fraction = self.layout
            magnitude = self.binary("andi", bits, self.number((1 << (w - 1)) - 1, t), t)
            infinity = self.number(((1 << exponent) - 1) << fraction, t)
            is_nan = self.let(f"arith.cmpi ugt, {magnitude}, {infinity} : {t}")
            is_zero = self.let(f"arith.cmpi eq, {magnitude}, {self.number(0, t)} : {t}")
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
        if self.order.kind == "total":
            positive = self.binary("shrsi", key, self.number(w - 1, t), t)     # all ones where it was not negative
            negative = self.binary("xori", positive, self.number(-1, t), t)
            return self.binary("xori", key, self.binary("ori", negative, sign, t), t)
        return key

    # ---- a row by its digits

    def _digit(self, key: str, number: int) -> str:
        t = self.key
        shifted = key if not number else self.binary("shrui", key, self.number(number * DIGIT, t), t)
        if self.key_bits - number * DIGIT > DIGIT:
            shifted = self.binary("andi", shifted, self.number((1 << DIGIT) - 1, t), t)
        return self.let(f"arith.index_castui {shifted} : {t} to index")

    def _by_digits(self, memory: str, length: str, counts: str) -> str:
        """Sort keys in memory, which has two places for each; where they end up."""
        zero, one = self.index(0), self.index(1)
        digits = 1 << DIGIT
        nothing, single = self.number(0, "i32"), self.number(1, "i32")
        self.line(f"scf.for %i = {zero} to {self.index(self.passes * digits)} step {one} {{")
        self.store(nothing, "%counts", self.binary("addi", counts, "%i"))
        self.line("}")
        self.line(f"scf.for %i = {zero} to {length} step {one} {{")
        key = self.load("%keys", self.binary("addi", memory, "%i"))
        for number in range(self.passes):
            at = self.binary("addi", self.binary("addi", counts, self._digit(key, number)), self.index(number * digits))
            self.store(self.binary("addi", self.load("%counts", at), single, "i32"), "%counts", at)
        self.line("}")
        source, target = memory, self.binary("addi", memory, length)
        whole = self.let(f"arith.index_cast {length} : index to i32")
        for number in range(self.passes):
            own = self.binary("addi", counts, self.index(number * digits))
            first = self.load("%counts", self.binary("addi", own, self._digit(self.load("%keys", source), number)))
            same = self.let(f"arith.cmpi eq, {first}, {whole} : i32")
            self.count += 1
            name = f"%w{self.count}"
            self.line(f"{name}:2 = scf.if {same} -> (index, index) {{")
            self.line(f"scf.yield {source}, {target} : index, index")
            self.line("} else {")
            self._starts(own, digits, nothing)
            self.line(f"scf.for %i = {zero} to {length} step {one} {{")
            at = self.binary("addi", source, "%i")
            key = self.load("%keys", at)
            counter = self.binary("addi", own, self._digit(key, number))
            place = self.load("%counts", counter)
            self.store(self.binary("addi", place, single, "i32"), "%counts", counter)
            to = self.binary("addi", target, self.let(f"arith.index_cast {place} : i32 to index"))
            self.store(key, "%keys", to)
            if self.carried:
                self.store(self.load("%places", at), "%places", to)
            self.line("}")
            self.line(f"scf.yield {target}, {source} : index, index")
            self.line("}")
            source, target = f"{name}#0", f"{name}#1"
        return source

    def _starts(self, own: str, digits: int, nothing: str) -> None:
        """Counters become where each digit's first key goes."""
        self.count += 1
        total = f"%t{self.count}"
        self.line(f"{total} = scf.for %i = {self.index(0)} to {self.index(digits)} step {self.index(1)} "
                  f"iter_args(%sum = {nothing}) -> (i32) {{")
        at = self.binary("addi", own, "%i")
        here = self.load("%counts", at)
        self.store("%sum", "%counts", at)
        self.line(f"scf.yield {self.binary('addi', '%sum', here, 'i32')} : i32")
        self.line("}")

    # ---- a short row

    def _by_insertion(self, base: str, memory: str) -> str:
        """Put each key in its place among those before it."""
        zero, one = self.index(0), self.index(1)
        self._fill(base, memory, zero, self.index(self.length))
        self.line(f"scf.for %i = {one} to {self.index(self.length)} step {one} {{")
        at = self.binary("addi", memory, "%i")
        key = self.load("%keys", at)
        place = self.load("%places", at) if self.carried else ""
        self.count += 1
        end = f"%e{self.count}"
        self.line(f"{end} = scf.while (%j = {at}) : (index) -> index {{")
        inside = self.let(f"arith.cmpi sgt, %j, {memory} : index")
        before = self.let(f"arith.select {inside}, {self.binary('subi', '%j', one)}, {memory} : index")
        bigger = self.let(f"arith.cmpi ugt, {self.load('%keys', before)}, {key} : {self.key}")
        self.line(f"scf.condition({self.let(f'arith.andi {inside}, {bigger} : i1')}) %j : index")
        self.line("} do {")
        self.line("^bb0(%j: index):")
        left = self.binary("subi", "%j", one)
        self.store(self.load("%keys", left), "%keys", "%j")
        if self.carried:
            self.store(self.load("%places", left), "%places", "%j")
        self.line(f"scf.yield {left} : index")
        self.line("}")
        self.store(key, "%keys", end)
        if self.carried:
            self.store(place, "%places", end)
        self.line("}")
        return memory

    # ---- results

    def _deliver(self, base: str, k: str, source: str) -> None:
        """Write the results for place k of a row, the key at `source`."""
        to = self._element(base, k)
        place = self.load("%places", source) if self.carried else ""
        origin = self.let(f"arith.index_cast {place} : i32 to index") if self.carried else ""
        for number in self.needed:
            if number in self.places:
                type_ = BITS[self.items[number]]
                change = {1: "arith.trunci", 2: "arith.trunci", 4: "", 8: "arith.extui"}[self.items[number]]
                self.store(self.let(f"{change} {place} : i32 to {type_}") if change else place, f"%out{number}", to)
            elif number == self.order.key and not self.carried:
                self.store(self._as_bits(self.load("%keys", source)), f"%out{number}", to)
            else:
                self._move(number, self._element(base, origin), to)

    def _move(self, number: int, origin: str, to: str) -> None:
        if self.items[number] != 16:
            self.store(self.load(f"%in{number}", origin), f"%out{number}", to)
            return
        for part in (0, 1):
            here, there = (self.binary("addi", self.binary("muli", p, self.index(2)), self.index(part))
                           for p in (origin, to))
            self.store(self.load(f"%in{number}", here), f"%out{number}", there)

    # ---- merging

    def _merge(self, base: str, left: str, right: str, lefts: int, rights: int, start: str, end: str) -> None:
        """Results from `start` to `end` of what two sorted runs merge to; of equal keys the left run's come first."""
        i = self._split(left, right, lefts, rights, start)
        j = self.binary("subi", start, i)
        zero, one = self.index(0), self.index(1)
        self.count += 1
        name, state = f"%m{self.count}", "(index, index, index)"
        self.line(f"{name}:3 = scf.while (%k = {start}, %i = {i}, %j = {j}) : {state} -> {state} {{")
        tests = [self.let(f"arith.cmpi slt, {a}, {b} : index") for a, b in
                 (("%k", end), ("%i", self.index(lefts)), ("%j", self.index(rights)))]
        more = self.binary("andi", self.binary("andi", tests[0], tests[1], "i1"), tests[2], "i1")
        self.line(f"scf.condition({more}) %k, %i, %j : index, index, index")
        self.line("} do {")
        self.line("^bb0(%k: index, %i: index, %j: index):")
        at = [self.binary("addi", left, "%i"), self.binary("addi", right, "%j")]
        keys = [self.load("%keys", place) for place in at]
        takes = self.let(f"arith.cmpi ule, {keys[0]}, {keys[1]} : {self.key}")
        self._deliver(base, "%k", self.let(f"arith.select {takes}, {at[0]}, {at[1]} : index"))
        step = self.let(f"arith.index_castui {takes} : i1 to index")
        self.line(f"scf.yield {self.binary('addi', '%k', one)}, {self.binary('addi', '%i', step)}, "
                  f"{self.binary('addi', '%j', self.binary('subi', one, step))} : index, index, index")
        self.line("}")
        for run, counter, most in ((left, f"{name}#1", lefts), (right, f"{name}#2", rights)):
            rest = self.binary("minsi", self.binary("subi", end, f"{name}#0"),
                               self.binary("subi", self.index(most), counter))
            # where both go on, all results of this part are there already
            source = self.binary("addi", run, counter)
            self.line(f"scf.for %r = {zero} to {rest} step {one} {{")
            self._deliver(base, self.binary("addi", f"{name}#0", "%r"), self.binary("addi", source, "%r"))
            self.line("}")

    def _split(self, left: str, right: str, lefts: int, rights: int, start: str) -> str:
        """How many of the first `start` results come from the left run."""
        zero, one = self.index(0), self.index(1)
        low = self.binary("maxsi", self.binary("subi", start, self.index(rights)), zero)
        high = self.binary("minsi", start, self.index(lefts))
        self.count += 1
        name = f"%s{self.count}"
        self.line(f"{name}:2 = scf.while (%a = {low}, %b = {high}) : (index, index) -> (index, index) {{")
        self.line(f"scf.condition({self.let('arith.cmpi slt, %a, %b : index')}) %a, %b : index, index")
        self.line("} do {")
        self.line("^bb0(%a: index, %b: index):")
        middle = self.binary("divsi", self.binary("addi", "%a", "%b"), self.index(2))
        other = self.binary("subi", self.binary("subi", start, one), middle)
        mine = self.load("%keys", self.binary("addi", left, middle))
        theirs = self.load("%keys", self.binary("addi", right, other))
        before = self.let(f"arith.cmpi ule, {mine}, {theirs} : {self.key}")
        low = self.let(f"arith.select {before}, {self.binary('addi', middle, one)}, %a : index")
        high = self.let(f"arith.select {before}, %b, {middle} : index")
        self.line(f"scf.yield {low}, {high} : index, index")
        self.line("}")
        return f"{name}#0"
