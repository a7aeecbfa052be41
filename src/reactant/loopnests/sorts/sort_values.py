"""Sorts of values alone, by NumPy's function for their own dtype: nothing becomes a key and back.

Integers are sorted as they are. Floats are found behind the integers that `np.sort` makes of them in a trace (NaN
canonical and last, -0.0 before 0.0); NumPy's function puts NaN last, too, but takes zeros for equal and may even change
a sign. So the negative ones are counted while the row is copied, and written first among zeros afterwards.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.orders import FLOATS, Order
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.loopnests.emission.writer import parallel_end
from reactant.loopnests.sorts.sort_keys import BITS, VECTOR_HALVES
from reactant.loopnests.sorts.sort_rows import PART, Rows
from reactant.native import numpy_sorts
from reactant.native.threads import cores
from reactant.support.records import dataclass

LEAST_ROW = 12
"""Elements of a row from which NumPy's vector code is called."""


@dataclass
class Values:
    """What a sort sorts: `source`, and in place of which values its result is; the ops `before` the sort and `behind`
    it that make keys and values of each other."""

    source: ir.Value
    results: list[ir.Value]
    before: list[ir.Operation] = field(default_factory=list)
    behind: list[ir.Operation] = field(default_factory=list)

    @property
    def dtype(self) -> np.dtype:
        """Of the values."""
        return dtype_of(self.source)


def values_of(op: ir.Operation, order: Order, dimension: int) -> Values | None:
    """The values of a sort of one operand that NumPy's function sorts as they are; None for others."""
    if len(op.operands) != 1 or order.kind != "signed" or order.descending:
        return None
    shape = shape_of(op.operands[0])
    if shape[dimension] < LEAST_ROW or cores() > 1 and size(shape) < 4 * shape[dimension] \
            and shape[dimension] >= VECTOR_HALVES[False]:       # a row that two threads share
        return None
    found = _floats(op) or Values(op.operands[0], list(op.results))
    return found if found.dtype.name in numpy_sorts.DTYPES and numpy_sorts.fast(found.dtype.name, shape[dimension]) \
        else None


def _floats(op: ir.Operation) -> Values | None:
    """The floats behind integers in their order: NaN are canonical, and every reader makes floats of the result."""
    made = _made_from(op.operands[0], ties=False)
    if made is None:
        return None
    source, before = made
    first = next(iter(op.results[0].uses), None)
    behind = _unflipped(_last(first.owner.operation)) if first is not None else None
    if behind is None or {use.owner.operation for use in op.results[0].uses} != {behind[0], behind[-1]}:
        return None
    results = [use.owner.operation for use in behind[0].results[0].uses]
    if not all(each.name == "stablehlo.bitcast_convert" and dtype_of(each.results[0]) == dtype_of(source)
               and each.block == op.block for each in results):
        return None
    values = list(dict.fromkeys(each.results[0] for each in results))
    return Values(source, values, before, [*reversed(behind), *(value.owner for value in values)])


def keys_of(key: ir.Value) -> Values | None:
    """The floats whose keys a sort's operand is, zeros being equal; `results` is empty."""
    made = _made_from(key, ties=True)
    return Values(made[0], [], made[1]) if made else None


def _made_from(key: ir.Value, ties: bool) -> tuple[ir.Value, list[ir.Operation]] | None:
    """The floats that a trace made integers of, NaN canonical, and the ops that did. ties: -0.0 as 0.0."""
    before = _unflipped(key)
    if before is None:
        return None
    raw = before[0].operands[0]
    zeros = []
    if ties:
        if not _made_by(raw, "select"):
            return None
        test, nothing, given = raw.owner.operands
        lowest, zero = (ops.constant_value(v) for v in (test.owner.operands[1] if _made_by(test, "compare") else raw,
                                                        nothing))
        if lowest is None or lowest.dtype.kind != "i" or zero is None or zero.any() \
                or not (lowest == np.iinfo(lowest.dtype).min).all() \
                or test.owner.operands[0] != given or _direction(test) != "EQ":
            return None
        zeros, raw = [test.owner, raw.owner], given
    if not _made_by(raw, "bitcast_convert") or not _made_by(raw.owner.operands[0], "select"):
        return None
    chosen = raw.owner.operands[0]
    test, nan, source = chosen.owner.operands
    number = ops.constant_value(nan)
    if not is_float(dtype_of(source)) or number is None or not np.isnan(number).all() or np.signbit(number).any() \
            or not _made_by(test, "compare") or list(test.owner.operands) != [source, source] \
            or _direction(test) != "NE":
        return None
    return source, [test.owner, chosen.owner, raw.owner, *zeros, *reversed(before)]


def _direction(compare: ir.Value) -> str:
    return str(attr.decode(compare.owner.attributes["comparison_direction"]))


def erase_unused(operations: Iterable[ir.Operation]) -> None:
    """Erase what nothing reads, readers first; an op may be named twice."""
    for op in {op.results[0]: op for op in operations}.values():
        if not any(True for result in op.results for _ in result.uses):
            op.erase()


def _made_by(value: ir.Value, name: str) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == f"stablehlo.{name}"


def _last(user: ir.Operation) -> ir.Value:
    """The result of the exclusive or that one of two readers is part of, or of something else."""
    while user.name in ("stablehlo.shift_right_arithmetic", "stablehlo.shift_right_logical"):
        use = next(iter(user.results[0].uses), None)
        if use is None:
            break
        user = use.owner.operation
    return user.results[0] if len(user.results) else user.operands[0]


def _unflipped(value: ir.Value) -> list[ir.Operation] | None:
    """The ops of x ^ ((x >> width - 1) >>> 1), the last one, whose first operand is x, first."""
    if not _made_by(value, "xor"):
        return None
    x, mask = value.owner.operands
    if not _made_by(mask, "shift_right_logical") or not _made_by(mask.owner.operands[0], "shift_right_arithmetic"):
        return None
    shifted = mask.owner.operands[0].owner
    counts = ops.constant_value(mask.owner.operands[1]), ops.constant_value(shifted.operands[1])
    wanted = 1, 8 * dtype_of(x).itemsize - 1
    good = shifted.operands[0] == x and all(c is not None and (c == w).all()
                                            for c, w in zip(counts, wanted, strict=True))
    return [value.owner, mask.owner, shifted] if good else None


class Plain(Rows):
    """The text of such a sort, along the last dimension."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        kind = "total" if dtype.name in FLOATS else "signed"
        super().__init__(shape, len(shape) - 1, Order(0, kind, False), [dtype], [0], [0], [], False, True)
        self.dtype = dtype
        self.halves, self.groups = 1, min(self.rows, self.groups if self.groups > 1 else 32)
        self.keys = "%out0"

    @property
    def _borrowed(self) -> str:
        return numpy_sorts.PREFIX + self.dtype.name

    @property
    def _compared(self) -> tuple[str, str, int]:
        return "sle", "maxsi", -1 << (self.key_bits - 1)

    def text(self) -> str:
        """The function."""
        self.types = {"%in0": self._memref(0), "%out0": self._memref(0)}
        zero, one, length = self.index(0), self.index(1), self.index(self.length)
        each = -(-self.rows // self.groups)
        several = self.groups > 1
        self.line(f"scf.parallel (%group) = ({zero}) to ({self.index(self.groups)}) step ({one}) {{" if several else
                  f"scf.for %group = {zero} to {one} step {one} {{")
        first = self.binary("muli", "%group", self.index(each))
        last = self.binary("minsi", self.binary("addi", first, self.index(each)), self.index(self.rows))
        self.line(f"scf.for %row = {first} to {last} step {one} {{")
        base = self.binary("muli", "%row", length)
        if self.dtype.kind == "f":
            negative = self._copied(base)
            self._call(base, length)
            self._signs(base, negative)
        else:
            self.store(self._each(base, "%in0"), "%out0", self.binary("addi", base, "%i"))
            self.line("}")
            self._call(base, self._unsorted(base, length))
        self.line("}")
        self.line(parallel_end(6.0 * self.length * self.rows * self.key_bits / 8 / self.groups) if several else "}")
        head = ", ".join(f"{name}: {type_}" for name, type_ in self.types.items())
        constants = [f"{name} = {text}" for text, name in self.made.items()]
        part = PART.format(BITS[self.dtype.itemsize])
        return "\n".join([f"func.func private @{self._borrowed}({part}, index)", f"func.func @sort({head}) {{",
                          *constants, *self.lines, "return", "}"])

    def _copied(self, base: str) -> str:
        """Copy a row, NaN as quiet ones: how many -0.0 there are."""
        t, w = self.key, self.key_bits
        exponent, fraction = self.layout
        infinity = ((1 << exponent) - 1) << fraction
        bits = self._each(base, "%in0")
        magnitude = self.binary("andi", bits, self.number((1 << (w - 1)) - 1, t), t)
        is_nan = self.let(f"arith.cmpi sgt, {magnitude}, {self.number(infinity, t)} : {t}")
        quiet = self.number(infinity | 1 << (fraction - 1), t)
        self.store(self.let(f"arith.select {is_nan}, {quiet}, {bits} : {t}"), "%out0", self.binary("addi", base, "%i"))
        self.line("}")
        self.count += 1
        name = f"%negative{self.count}"
        self.line(f"{name} = scf.for %i = {self.index(0)} to {self.index(self.length)} step {self.index(1)} "
                  f"iter_args(%n = {self.number(0, t)}) -> ({t}) {{")
        is_negative = self.let(f"arith.cmpi eq, {self.load('%in0', self.binary('addi', base, '%i'))}, "
                               f"{self.number(1 << (w - 1), t)} : {t}")
        counted = self.let(f"arith.extui {is_negative} : i1 to {t}")
        self.line(f"scf.yield {self.binary('addi', '%n', counted, t)} : {t}")
        self.line("}")
        return name

    def _each(self, base: str, buffer: str) -> str:
        """Begin a loop over a row: an element."""
        self.line(f"scf.for %i = {self.index(0)} to {self.index(self.length)} step {self.index(1)} {{")
        return self.load(buffer, self.binary("addi", base, "%i"))

    def _signs(self, base: str, negative: str) -> None:
        """So many -0.0 first among the zeros of a row."""
        t, sign, one = self.key, 1 << (self.key_bits - 1), self.index(1)
        some = self.let(f"arith.cmpi ne, {negative}, {self.number(0, t)} : {t}")
        self.line(f"scf.if {some} {{")
        first, after = self._bound(base, self._number_of(sign)), self._bound(base, self._number_of(0) + 1)
        middle = self.binary("addi", first, self.let(f"arith.index_castui {negative} : {t} to index"))
        for low, high, bits in ((first, middle, sign), (middle, after, 0)):
            self.line(f"scf.for %k = {low} to {high} step {one} {{")
            self.store(self.number(bits, t), "%out0", self.binary("addi", base, "%k"))
            self.line("}")
        self.line("}")
