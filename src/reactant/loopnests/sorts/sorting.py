"""Sorts as native code: keys that compare as integers, stable, what belongs to them moved along.

A comparator that asks whether one operand's element comes before another's, up or down, is an order of bit patterns:
integers with their sign turned, floats in StableHLO's total order, or in that of jax.numpy (NaN last, zeros equal).
Keys become unsigned numbers, are put in order, and become what they were. Where something moves along, or keys that
count as equal differ, each key carries its place, by which everything is gathered at the end. A row that is alone is
sorted in two halves, which two threads sort and merge.

Radix sort puts one digit after the other in order. Where NumPy has vector code for unsigned numbers
(`native.numpy_sorts`) that is faster for keys of 32 and 64 bits: a place is packed into the key's number below the
key, or instead of its last bits, and runs of keys that are equal in the rest are sorted again, by these bits. Zeros and
NaN that move alone are first sorted as if they differed, and then written over in the order that they had.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.orders import FLOATS, Order, order_of
from reactant.ir.types import shape_and_dtype, shape_of, size, tensor_type
from reactant.loopnests.emission.writer import parallel_end
from reactant.loopnests.sorts import selecting
from reactant.loopnests.sorts.sort_keys import BITS, DIGIT
from reactant.loopnests.sorts.sort_rows import PART, Rows
from reactant.loopnests.sorts.sort_values import Plain, Values, erase_unused, keys_of, values_of
from reactant.native import numpy_sorts

LEAST_ROW, LEAST_ELEMENTS = 8, 1 << 12
"""Elements of a row, and of all rows, from which this is faster than XLA's comparisons through a function pointer."""
LEAST_VECTOR = 12
"""Elements of a row from which NumPy's vector code is called."""
MOST = (1 << 31) - 1


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
    if order.strict and selecting.pays(op, dimension):
        return selecting.replaced(op, dimension)
    if (values := values_of(op, order, dimension)) is not None:
        return _as_they_are(op, dimension, values)
    operands = list(op.operands)
    needed = [k for k, r in enumerate(op.results) if any(True for _ in r.uses)] or [order.key]
    floats = keys_of(operands[order.key]) if order.key not in needed and order.kind == "signed" else None
    if floats is not None and floats.dtype.name in FLOATS:
        order, operands[order.key] = Order(order.key, "canonical", order.descending), floats.source
    dtypes = [shape_and_dtype(v.type)[1] for v in operands]
    vector = _by_vectors(shape[dimension], dtypes[order.key].itemsize, needed != [order.key])
    carried = order.kind == "canonical" and not vector or needed != [order.key]
    places = {k for k in needed if (carried or k != order.key) and _is_place(op.operands[k], dimension)}
    moved = [k for k in needed if k not in places and (k != order.key or carried)]
    read = list(dict.fromkeys([order.key, *moved]))
    written = Sort(shape, dimension, order, dtypes, read, needed, sorted(places), carried, vector)
    function = native.compile(modules.parse(written.text()), roles=written.roles, where=f"sort at {op.location}")
    types = [op.results[k].type for k in needed] + [tensor_type((n,), d) for n, d in written.workspace]
    with ir.InsertionPoint(op), op.location:
        made = function.custom_call([operands[k] for k in read], types)
    for k, new in zip(needed, made, strict=False):
        op.results[k].replace_all_uses_with(new)
    op.erase()
    erase_unused(reversed(floats.before) if floats else ())
    way = "NumPy's vector code" if vector else "radix"
    return f"compiled natively: sort of {size(shape) // shape[dimension]} x {shape[dimension]} by {way}"


def _as_they_are(op: ir.Operation, dimension: int, values: Values) -> str:
    """Put a sort of values by NumPy's function in the place of one, along the last dimension."""
    shape, last = shape_of(values.source), len(shape_of(values.source)) - 1
    order = [*(d for d in range(last + 1) if d != dimension), dimension]
    turned = tuple(shape[d] for d in order)
    function = native.compile(modules.parse(Plain(turned, values.dtype).text()), roles=["in", "out"],
                              where=f"sort at {op.location}")
    with ir.InsertionPoint(op), op.location:
        given = ops.transpose(values.source, order) if dimension != last else values.source
        made = function.custom_call([given], [given.type])[0]
        if dimension != last:
            made = ops.transpose(made, [order.index(d) for d in range(last + 1)])
    for result in values.results:
        result.replace_all_uses_with(made)
    erase_unused([*reversed(values.behind), op, *reversed(values.before)])
    return f"compiled natively: sort of {size(shape) // shape[dimension]} x {shape[dimension]} by NumPy's vector code"


def _by_vectors(length: int, item: int, packed: bool) -> bool:
    """Whether NumPy's code sorts rows of such keys. packed: in numbers of 64 bits, with their places."""
    name = "i64" if packed or item == 8 else "i32"
    return length >= LEAST_VECTOR and item in (4, 8) and numpy_sorts.fast(name, length)


def _dimension(op: ir.Operation) -> int:
    found: int = attr.decode(op.attributes["dimension"])
    return found % len(shape_and_dtype(op.operands[0].type)[0])


def _is_place(value: ir.Value, dimension: int) -> bool:
    """Whether an operand is every element's place in its row."""
    owner = value.owner
    return (not isinstance(owner, ir.Block) and owner.name == "stablehlo.iota"
            and attr.decode(owner.attributes["iota_dimension"]) == dimension
            and shape_and_dtype(value.type)[1].kind in "iu")


class Sort(Rows):
    """The text of one sort.

    Arguments: the operands that are read, the results that are needed, keys (two versions, next to each other). For
    radix sort, their places (the same, if carried), counters of digits, where the halves ended up.
    """

    @property
    def workspace(self) -> list[tuple[int, np.dtype]]:
        """Elements and dtypes of the memory asked for."""
        each = (1 if self.vector and self.halves == 1 else 2) * self.length * self.groups
        if self.counted:
            return [((2 << DIGIT) * self.groups, np.dtype(np.int32))]
        found = [] if self.keys != "%keys" else [(each, np.dtype(f"i{int(self.stored[1:]) // 8}"))]
        if self.vector:
            return found
        if self.carried:
            found.append((each, np.dtype(np.int32)))
        found.append(((self.passes << DIGIT) * self.groups * self.halves, np.dtype(np.int32)))
        found.append((2, np.dtype(np.int64)))
        return found

    @property
    def roles(self) -> list[str]:
        """Of the arguments."""
        return ["in"] * len(self.read) + ["out"] * (len(self.needed) + len(self.workspace))

    @property
    def _work(self) -> float:
        """Operations, roughly."""
        each = self.length / 2 if self.small else 6 * self.passes
        return each * self.length * self.rows

    def text(self) -> str:
        """The function."""
        for k in self.read:
            self.types[f"%in{k}"] = self._memref(k)
        for k in self.needed:
            self.types[f"%out{k}"] = self._memref(k)
        names = ["%counts"] if self.counted else ["%keys", *(["%places"] if self.carried else []), "%counts", "%ends"]
        for (elements, dtype), name in zip(self.workspace, names, strict=False):
            self.types[name] = f"memref<{elements}x{BITS[dtype.itemsize]}>"
        if self.halves > 1:
            for row in range(self.rows):
                self._alone(row)
        else:
            self._many()
        head = ", ".join(f"{name}: {type_}" for name, type_ in self.types.items())
        constants = [f"{name} = {text}" for text, name in self.made.items()]
        borrowed = [f"func.func private @{self._borrowed}({PART.format(self.stored)}, index)"] if self.vector else []
        return "\n".join([*borrowed, f"func.func @sort({head}) {{", *constants, *self.lines, "return", "}"])

    # ---- rows

    def _many(self) -> None:
        """Groups of rows on threads, one row after the other in each."""
        each = -(-self.rows // self.groups)
        self.line(f"scf.parallel (%group) = ({self.index(0)}) to ({self.index(self.groups)}) step ({self.index(1)}) {{")
        first = self.binary("muli", "%group", self.index(each))
        last = self.binary("minsi", self.binary("addi", first, self.index(each)), self.index(self.rows))
        memory = self.binary("muli", "%group", self.index((1 if self.vector else 2) * self.length))
        counts = self.binary("muli", "%group", self.index((2 if self.counted else self.passes) << DIGIT))
        self.line(f"scf.for %row = {first} to {last} step {self.index(1)} {{")
        base = self._base("%row")
        if self.counted:
            self._by_counting(base, counts)
            self.line("}")
            self.line(parallel_end(self._work / self.groups))
            return
        if self.small:
            source = self._by_insertion(base, memory)
        elif self.vector:
            memory = source = memory if self.keys == "%keys" else base
            self._fill(base, memory, self.index(0), self.index(self.length))
            self._by_numpy(memory, self.index(self.length))
            self._complete(base, memory)
        else:
            self._fill(base, memory, self.index(0), self.index(self.length))
            source = self._by_digits(memory, self.index(self.length), counts)
        self.line(f"scf.for %k = {self.index(0)} to {self.index(self.length)} step {self.index(1)} {{")
        self._deliver(base, "%k", self.binary("addi", source, "%k"))
        self.line("}")
        self._restore(base)
        self.line("}")
        self.line(parallel_end(self._work / self.groups))

    def _alone(self, row: int) -> None:
        """One row: its halves on two threads, then the parts of what they merge to."""
        base, middle = self._base(self.index(row)), self.length // 2
        low, length = self._begin_halves(middle)
        if self.vector:
            self._fill(base, low, low, length)
            self._by_numpy(low, length)
        else:
            memory = self.binary("muli", low, self.index(2))
            counts = self.binary("muli", "%half", self.index(self.passes << DIGIT))
            self._fill(base, memory, low, length)
            source = self._by_digits(memory, length, counts)
            self.store(self.let(f"arith.index_cast {source} : index to i64"), "%ends", "%half")
        self.line(parallel_end(self._work / self.rows / 2))
        start, length = self._begin_halves(middle)
        if self.vector:
            left, right = self.index(0), self.index(middle)
        else:
            left, right = (self.let(f"arith.index_cast {self.load('%ends', self.index(k))} : i64 to index")
                           for k in (0, 1))
        self._merge(base, left, right, middle, self.length - middle, start, self.binary("addi", start, length))
        self.line(parallel_end(self._work / self.rows / 2))
        if self.cut:
            self._complete(base, self.index(self.length))
            start, length = self._begin_halves(middle)
            self.line(f"scf.for %i = {self.index(0)} to {length} step {self.index(1)} {{")
            k = self.binary("addi", start, "%i")
            self._deliver(base, k, self.binary("addi", k, self.index(self.length)))
            self.line("}")
            self.line(parallel_end(self._work / self.rows / 2))
        self._restore(base)

    def _begin_halves(self, middle: int) -> tuple[str, str]:
        """Open a parallel loop over the halves; where this one begins and how long it is."""
        zero, one, two = (self.index(k) for k in (0, 1, 2))
        self.line(f"scf.parallel (%half) = ({zero}) to ({two}) step ({one}) {{")
        more = self.binary("muli", "%half", self.index(self.length - 2 * middle))
        return (self.binary("muli", "%half", self.index(middle)), self.binary("addi", self.index(middle), more))

    # ---- results

    def _deliver(self, base: str, k: str, source: str) -> None:
        """Write the results for place k of a row, the key at `source`."""
        to = self._element(base, k)
        place = self._place(source) if self.carried else ""
        origin = self.let(f"arith.index_cast {place} : i32 to index") if self.carried else ""
        for number in self.needed:
            if number == self.order.key and not self.carried and number not in self.places:
                self.store(self._as_bits(self.load(self.keys, source)), f"%out{number}", to)
            else:
                self._write(number, place, origin and self._element(base, origin), to)

    def _write(self, number: int, place: str, origin: str, to: str) -> None:
        """A result's element: where it came from, or what was there."""
        if number not in self.places:
            self._move(number, origin, to)
            return
        type_ = BITS[self.items[number]]
        change = {1: "arith.trunci", 2: "arith.trunci", 4: "", 8: "arith.extui"}[self.items[number]]
        self.store(self.let(f"{change} {place} : i32 to {type_}") if change else place, f"%out{number}", to)

    def _move(self, number: int, origin: str, to: str) -> None:
        if self.items[number] != 16:
            self.store(self.load(f"%in{number}", origin), f"%out{number}", to)
            return
        for part in (0, 1):
            here, there = (self.binary("addi", self.binary("muli", p, self.index(2)), self.index(part))
                           for p in (origin, to))
            self.store(self.load(f"%in{number}", here), f"%out{number}", there)

    # ---- by counting

    def _by_counting(self, base: str, counts: str) -> None:
        """Keys of one byte: where each value's first element goes is known once all are counted, and everything is
        moved there at once. Both halves of a row in turn, each with counters of its own: a counter that has just been
        written is waited for."""
        zero, one, middle = self.index(0), self.index(1), self.length // 2
        single, nothing = self.number(1, "i32"), self.number(0, "i32")
        tables = counts, self.binary("addi", counts, self.index(1 << DIGIT))

        def next_place(k: str, table: str) -> str:
            number = self._as_number(self.load(f"%in{self.order.key}", self._element(base, k)))
            at = self.binary("addi", table, self.let(f"arith.index_castui {number} : i8 to index"))
            place = self.load("%counts", at)
            self.store(self.binary("addi", place, single, "i32"), "%counts", at)
            return place

        def moved(k: str, table: str) -> None:
            to = self._element(base, self.let(f"arith.index_cast {next_place(k, table)} : i32 to index"))
            place, origin = self.let(f"arith.index_cast {k} : index to i32"), self._element(base, k)
            for number in self.needed:
                self._write(number, place, origin, to)

        def over_row(each: Callable[[str, str], object]) -> None:
            self.line(f"scf.for %k = {zero} to {self.index(middle)} step {one} {{")
            each("%k", tables[0])
            each(self.binary("addi", "%k", self.index(middle)), tables[1])
            self.line("}")
            if self.length % 2:
                each(self.index(self.length - 1), tables[1])
        self.line(f"scf.for %i = {zero} to {self.index(2 << DIGIT)} step {one} {{")
        self.store(nothing, "%counts", self.binary("addi", counts, "%i"))
        self.line("}")
        over_row(next_place)
        self.count += 1
        self.line(f"%t{self.count} = scf.for %i = {zero} to {self.index(1 << DIGIT)} step {one} "
                  f"iter_args(%sum = {nothing}) -> (i32) {{")
        sum_ = "%sum"
        for table in tables:
            at = self.binary("addi", table, "%i")
            here = self.load("%counts", at)
            self.store(sum_, "%counts", at)
            sum_ = self.binary("addi", sum_, here, "i32")
        self.line(f"scf.yield {sum_} : i32")
        self.line("}")
        over_row(moved)

    # ---- merging

    def _merged(self, base: str, k: str, source: str) -> None:
        """Element k of what two runs merge to."""
        if self.cut:
            self.store(self.load(self.keys, source), self.keys, self.binary("addi", k, self.index(self.length)))
        else:
            self._deliver(base, k, source)

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
        keys = [self.load(self.keys, place) for place in at]
        takes = self.let(f"arith.cmpi ule, {keys[0]}, {keys[1]} : {self.stored}")
        self._merged(base, "%k", self.let(f"arith.select {takes}, {at[0]}, {at[1]} : index"))
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
            self._merged(base, self.binary("addi", f"{name}#0", "%r"), self.binary("addi", source, "%r"))
            self.line("}")

    def _split(self, left: str, right: str, lefts: int, rights: int, start: str) -> str:
        """How many of the first `start` results come from the left run."""
        def comes_before(place: str) -> str:
            other = self.binary("subi", self.binary("subi", start, self.index(1)), place)
            mine = self.load(self.keys, self.binary("addi", left, place))
            theirs = self.load(self.keys, self.binary("addi", right, other))
            return self.let(f"arith.cmpi ule, {mine}, {theirs} : {self.stored}")
        low = self.binary("maxsi", self.binary("subi", start, self.index(rights)), self.index(0))
        return self._search(low, self.binary("minsi", start, self.index(lefts)), comes_before)
