"""How native sorts order the keys of a row: by NumPy's vector code, by one digit after the other, by insertion."""
from __future__ import annotations

from collections.abc import Callable

from reactant.loopnests.sorts.sort_keys import DIGIT, Keys
from reactant.native import numpy_sorts

ORDERED = 8
"""What part of a row has to be in order at its end for the rest to be looked at."""
PART = "memref<?x{}, strided<[1], offset: ?>>"
"""A piece of a row's keys."""


class Rows(Keys):
    """The ways to put a row in order."""

    # ---- by NumPy's function

    @property
    def _borrowed(self) -> str:
        return numpy_sorts.PREFIX + self.stored

    @property
    def _compared(self) -> tuple[str, str, int]:
        """How what is sorted compares: not greater, the greater of two, the least."""
        return "ule", "maxui", 0

    def _by_numpy(self, memory: str, length: str) -> None:
        """Sort keys in memory."""
        self._call(memory, self._unsorted(memory, length))

    def _call(self, memory: str, length: str) -> None:
        """Sort so many keys."""
        part = self.let(f"memref.subview {self.keys}[{memory}] [{length}] [1] : {self.types[self.keys]} to "
                        f"{PART.format(self.stored)}")
        self.line(f"func.call @{self._borrowed}({part}, {length}) : ({PART.format(self.stored)}, index) -> ()")

    def _unsorted(self, memory: str, length: str) -> str:
        """How many keys there are to be put in order: without those at the end that are in order and not less than any
        before them, where they are an `ORDERED`-th or more (what is outside of a window counts as greatest)."""
        zero, one, key = self.index(0), self.index(1), self.stored
        less, greatest_of, least_of_all = self._compared
        self.count += 1
        first, wanted, i = f"%tail{self.count}", f"%unsorted{self.count}", f"%t{self.count}_i"
        self.line(f"{first} = scf.while ({i} = {self.binary('subi', length, one)}) : (index) -> index {{")
        inside = self.let(f"arith.cmpi sgt, {i}, {zero} : index")
        before = self.let(f"arith.select {inside}, {self.binary('subi', i, one)}, {zero} : index")
        here, left = (self.load(self.keys, self.binary("addi", memory, place)) for place in (i, before))
        ordered = self.let(f"arith.cmpi {less}, {left}, {here} : {key}")
        self.line(f"scf.condition({self.binary('andi', inside, ordered, 'i1')}) {i} : index")
        self.line("} do {")
        self.line(f"^bb0({i}: index):")
        self.line(f"scf.yield {self.binary('subi', i, one)} : index")
        self.line("}")
        most = self.binary("subi", length, self.binary("divsi", length, self.index(ORDERED)))
        self.line(f"{wanted} = scf.if {self.let(f'arith.cmpi slt, {first}, {most} : index')} -> (index) {{")
        least = self.load(self.keys, self.binary("addi", memory, first))
        self.count += 1
        greatest = f"%greatest{self.count}"
        self.line(f"{greatest} = scf.for {i} = {zero} to {first} step {one} "
                  f"iter_args({i}g = {self.number(least_of_all, key)}) -> ({key}) {{")
        each = self.load(self.keys, self.binary("addi", memory, i))
        self.line(f"scf.yield {self.binary(greatest_of, each, f'{i}g', key)} : {key}")
        self.line("}")
        done = self.let(f"arith.cmpi {less}, {greatest}, {least} : {key}")
        self.line(f"scf.yield {self.let(f'arith.select {done}, {first}, {length} : index')} : index")
        self.line("} else {")
        self.line(f"scf.yield {length} : index")
        self.line("}")
        return wanted

    def _complete(self, base: str, memory: str) -> None:
        """Sort runs of keys that are equal in the bits that are in their numbers, by the bits that are not."""
        if not self.cut:
            return
        zero, one, length = (self.index(k) for k in (0, 1, self.length))
        rest, mask = self.number(~self.place_mask, "i64"), self.number(self.place_mask, "i64")
        self.line(f"scf.if {self._any_alike(memory)} {{")
        self.count += 1
        self.line(f"%whole{self.count} = scf.while (%i = {zero}) : (index) -> index {{")
        self.line(f"scf.condition({self.let(f'arith.cmpi slt, %i, {length} : index')}) %i : index")
        self.line("} do {")
        self.line("^bb0(%i: index):")
        first = self.binary("addi", memory, "%i")
        top, after = self.binary("andi", self.load(self.keys, first), rest, "i64"), self.binary("addi", "%i", one)
        self.count += 1
        end = f"%run{self.count}"
        self.line(f"{end} = scf.while (%j = {after}) : (index) -> index {{")
        inside = self.let(f"arith.cmpi slt, %j, {length} : index")
        seen = self.let(f"arith.select {inside}, %j, %i : index")
        other = self.binary("andi", self.load(self.keys, self.binary("addi", memory, seen)), rest, "i64")
        same = self.let(f"arith.cmpi eq, {other}, {top} : i64")
        self.line(f"scf.condition({self.binary('andi', inside, same, 'i1')}) %j : index")
        self.line("} do {")
        self.line("^bb0(%j: index):")
        self.line(f"scf.yield {self.binary('addi', '%j', one)} : index")
        self.line("}")
        self.line(f"scf.if {self.let(f'arith.cmpi sgt, {end}, {after} : index')} {{")
        # keys of a run that are equal are in order already, by their places
        least = self._rest(base, first, mask)
        self.count += 1
        differ = f"%differ{self.count}"
        self.line(f"{differ} = scf.for %k = {after} to {end} step {one} iter_args(%d = {self.number(0, 'i64')}) "
                  "-> (i64) {")
        other = self._rest(base, self.binary("addi", memory, "%k"), mask)
        unlike = self.binary("ori", "%d", self.binary("xori", other, least, "i64"), "i64")
        self.line(f"scf.yield {unlike} : i64")
        self.line("}")
        nothing = self.number(0, "i64")
        self.line(f"scf.if {self.let(f'arith.cmpi ne, {differ}, {nothing} : i64')} {{")
        self.line(f"scf.for %k = %i to {end} step {one} {{")
        at = self.binary("addi", memory, "%k")
        low = self.binary("shli", self._rest(base, at, mask), self.number(32, "i64"), "i64")
        self.store(self.binary("ori", low, self._place_of(at, mask), "i64"), self.keys, at)
        self.line("}")
        self._by_numpy(first, self.binary("subi", end, "%i"))
        self.line("}")
        self.line("}")
        self.line(f"scf.yield {end} : index")
        self.line("}")
        self.line("}")

    def _any_alike(self, memory: str) -> str:
        """Whether any two neighbours are equal in the bits that are in their numbers: mostly none are, and vectors
        tell."""
        one, kind = self.index(1), "i64"
        self.count += 1
        found = f"%alike{self.count}"
        self.line(f"{found} = scf.for %i = {one} to {self.index(self.length)} step {one} iter_args(%a = "
                  f"{self.number(0, kind)}) -> ({kind}) {{")
        at = self.binary("addi", memory, "%i")
        here, before = self.load(self.keys, at), self.load(self.keys, self.binary("subi", at, one))
        unlike = self.binary("andi", self.binary("xori", here, before, kind), self.number(~self.place_mask, kind), kind)
        alike = self.let(f"arith.cmpi eq, {unlike}, {self.number(0, kind)} : {kind}")
        self.line(f"scf.yield {self.binary('ori', '%a', self.let(f'arith.extui {alike} : i1 to {kind}'), kind)} "
                  f": {kind}")
        self.line("}")
        return self.let(f"arith.cmpi ne, {found}, {self.number(0, kind)} : {kind}")

    def _place_of(self, at: str, mask: str) -> str:
        return self.binary("andi", self.load(self.keys, at), mask, "i64")

    def _rest(self, base: str, at: str, mask: str) -> str:
        """The bits of a key that are not in its number."""
        origin = self._element(base, self.let(f"arith.index_cast {self._place_of(at, mask)} : i64 to index"))
        return self.binary("andi", self._as_number(self.load(f"%in{self.order.key}", origin)), mask, "i64")

    def _restore(self, base: str) -> None:
        """Zeros and NaN, which count as equal, in the order that they had."""
        if not self.restored:
            return
        key, (exponent, fraction) = self.order.key, self.layout
        infinity, sign = ((1 << exponent) - 1) << fraction, 1 << (self.key_bits - 1)
        zeros = sorted((self._number_of(0), self._number_of(sign)))
        nan = self._number_of(infinity | 1 << (fraction - 1))
        first, second, after = (self._bound(base, n) for n in (zeros[0], zeros[1], zeros[1] + 1))
        nans, nans_end = self._bound(base, nan), self._bound(base, nan + 1)
        negative, positive = (self.let(f"arith.cmpi slt, {a}, {b} : index")
                              for a, b in ((first, second), (second, after)))
        mixed = self.binary("andi", negative, positive, "i1")
        any_nan = self.let(f"arith.cmpi slt, {nans}, {nans_end} : index")
        self.line(f"scf.if {self.binary('ori', mixed, any_nan, 'i1')} {{")
        self.count += 1
        self.line(f"%restored{self.count}:2 = scf.for %k = {self.index(0)} to {self.index(self.length)} step "
                  f"{self.index(1)} iter_args(%z = {first}, %n = {nans}) -> (index, index) {{")
        bits = self.load(f"%in{key}", self._element(base, "%k"))
        size_ = self.binary("andi", bits, self.number(sign - 1, self.key), self.key)
        tests = (self.let(f"arith.cmpi eq, {size_}, {self.number(0, self.key)} : {self.key}"),
                 self.let(f"arith.cmpi ugt, {size_}, {self.number(infinity, self.key)} : {self.key}"))
        moved = []
        for test, counter in zip(tests, ("%z", "%n"), strict=True):
            self.line(f"scf.if {test} {{")
            self.store(bits, f"%out{key}", self._element(base, counter))
            self.line("}")
            moved.append(self.binary("addi", counter, self.let(f"arith.index_castui {test} : i1 to index")))
        self.line(f"scf.yield {', '.join(moved)} : index, index")
        self.line("}")
        self.line("}")

    def _bound(self, base: str, number: int) -> str:
        """How many results of a row come before a number."""
        def comes_before(place: str) -> str:
            here = self._as_number(self.load(f"%out{self.order.key}", self._element(base, place)))
            return self.let(f"arith.cmpi ult, {here}, {self.number(number, self.key)} : {self.key}")
        return self._search(self.index(0), self.index(self.length), comes_before)

    def _search(self, low: str, high: str, comes_before: Callable[[str], str]) -> str:
        """The first place from `low` on that does not come before, by bisection; `high` where all do."""
        self.count += 1
        name, state = f"%b{self.count}", "(index, index)"
        self.line(f"{name}:2 = scf.while (%a = {low}, %b = {high}) : {state} -> {state} {{")
        self.line(f"scf.condition({self.let('arith.cmpi slt, %a, %b : index')}) %a, %b : index, index")
        self.line("} do {")
        self.line("^bb0(%a: index, %b: index):")
        middle = self.binary("divsi", self.binary("addi", "%a", "%b"), self.index(2))
        before = comes_before(middle)
        low = self.let(f"arith.select {before}, {self.binary('addi', middle, self.index(1))}, %a : index")
        self.line(f"scf.yield {low}, {self.let(f'arith.select {before}, %b, {middle} : index')} : index, index")
        self.line("}")
        return f"{name}#0"

    # ---- by digits

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
        key = self.load(self.keys, self.binary("addi", memory, "%i"))
        for number in range(self.passes):
            at = self.binary("addi", self.binary("addi", counts, self._digit(key, number)), self.index(number * digits))
            self.store(self.binary("addi", self.load("%counts", at), single, "i32"), "%counts", at)
        self.line("}")
        source, target = memory, self.binary("addi", memory, length)
        whole = self.let(f"arith.index_cast {length} : index to i32")
        for number in range(self.passes):
            own = self.binary("addi", counts, self.index(number * digits))
            first = self.load("%counts", self.binary("addi", own, self._digit(self.load(self.keys, source), number)))
            same = self.let(f"arith.cmpi eq, {first}, {whole} : i32")
            self.count += 1
            name = f"%w{self.count}"
            self.line(f"{name}:2 = scf.if {same} -> (index, index) {{")
            self.line(f"scf.yield {source}, {target} : index, index")
            self.line("} else {")
            self._starts(own, digits, nothing)
            self.line(f"scf.for %i = {zero} to {length} step {one} {{")
            at = self.binary("addi", source, "%i")
            key = self.load(self.keys, at)
            counter = self.binary("addi", own, self._digit(key, number))
            place = self.load("%counts", counter)
            self.store(self.binary("addi", place, single, "i32"), "%counts", counter)
            to = self.binary("addi", target, self.let(f"arith.index_cast {place} : i32 to index"))
            self.store(key, self.keys, to)
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

    # ---- by insertion

    def _by_insertion(self, base: str, memory: str) -> str:
        """Put each key in its place among those before it."""
        zero, one = self.index(0), self.index(1)
        self._fill(base, memory, zero, self.index(self.length))
        self.line(f"scf.for %i = {one} to {self.index(self.length)} step {one} {{")
        at = self.binary("addi", memory, "%i")
        key = self.load(self.keys, at)
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
        self.store(self.load(self.keys, left), self.keys, "%j")
        if self.carried:
            self.store(self.load("%places", left), "%places", "%j")
        self.line(f"scf.yield {left} : index")
        self.line("}")
        self.store(key, self.keys, end)
        if self.carried:
            self.store(place, "%places", end)
        self.line("}")
        return memory
