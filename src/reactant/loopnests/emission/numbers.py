"""StableHLO's arithmetic on single numbers as arith and math ops, with its exact meaning at the edges.

Integers that are sums of loop counters stay index expressions as long as that is exact, so that comparisons of them
are decided where the ranges of the loops decide them.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from reactant.ir import rounding
from reactant.ir.types import real_dtype
from reactant.loopnests.emission.affine import INFINITE, Affine, number, symbol
from reactant.loopnests.emission.writer import Writer, type_of
from reactant.native import engine
from reactant.support.records import dataclass

BOOL, INDEX = np.dtype(bool), np.dtype(np.int64)


@dataclass(frozen=True)
class Number:
    """One number while code is written: a constant, an index expression or an SSA value. Complex ones have parts."""

    dtype: np.dtype
    name: str | None = None
    value: Any = None
    affine: Affine | None = None
    parts: tuple[Number, Number] | None = None


FLOAT_UNARY = {"exponential": "math.exp", "exponential_minus_one": "math.expm1", "log": "math.log",
               "log_plus_one": "math.log1p", "sine": "math.sin", "cosine": "math.cos", "tan": "math.tan",
               "tanh": "math.tanh", "sqrt": "math.sqrt", "cbrt": "math.cbrt", "floor": "math.floor",
               "ceil": "math.ceil", "round_nearest_afz": "math.round", "round_nearest_even": "math.roundeven",
               "abs": "math.absf", "negate": "arith.negf"}
INVERSE = {f"chlo.{name}": f"math.{name}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}
FLOAT_UNARY |= INVERSE
FLOAT_BINARY = {"add": "arith.addf", "subtract": "arith.subf", "multiply": "arith.mulf", "divide": "arith.divf",
                "remainder": "arith.remf", "power": "math.powf", "atan2": "math.atan2"}
INTEGER_BINARY = {"add": "arith.addi", "subtract": "arith.subi", "multiply": "arith.muli", "and": "arith.andi",
                  "or": "arith.ori", "xor": "arith.xori"}
FOLDED: dict[str, Callable[..., Any]] = {
    "arith.addf": operator.add, "arith.subf": operator.sub, "arith.mulf": operator.mul, "arith.divf": operator.truediv,
    "arith.negf": operator.neg}
EXPENSE = {**dict.fromkeys(("exponential", "exponential_minus_one", "log", "log_plus_one", "sine", "cosine", "tan",
                            "tanh", "cbrt", "power", "atan2", "logistic", *INVERSE), 20),
           **dict.fromkeys(("divide", "sqrt", "rsqrt", "remainder"), 6), "convert": 1, "select": 1, "compare": 1}
"""What an op costs in units of an addition."""
ABSOLUTE = 15
"""The same of the size of a complex number."""

FLOAT_ONLY = {*FLOAT_UNARY, "rsqrt", "logistic", "is_finite", "power", "atan2"} - {"abs", "negate"}
ANY_REAL = {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "abs", "negate", "sign",
            "select", "clamp", "convert", "compare", "and", "or", "xor", "not", "shift_left",
            "shift_right_arithmetic", "shift_right_logical", "popcnt", "count_leading_zeros", "bitcast_convert"}
COMPLEX = {"add", "subtract", "multiply", "negate", "real", "imag", "complex", "select", "compare", "convert", "abs"}
ELEMENTWISE = FLOAT_ONLY | ANY_REAL | COMPLEX


TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}
"""Comparisons of order by what they are with their operands exchanged,"""
_OPPOSITE = {"LT": "GE", "LE": "GT", "GT": "LE", "GE": "LT"}
"""and where they do not hold."""


class Arithmetic:
    """Applies ops to `Number`s, writing what is left of them. `breaks` collects expressions d whose sign, d >= 0 or
    not, would have decided something."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self.breaks: dict[Affine, None] = {}
        self.tests: dict[str, tuple[str, Number, Number]] = {}
        """What comparisons of integers compare, by their names."""
        self.unsigned: set[str] = set()
        """Names of numbers that are not -0.0."""
        self.of_arrays = True
        """Whether numbers are elements of arrays: NumPy rounds products of single complex numbers otherwise."""

    # ---- in and out

    def constant(self, value: Any, dtype: np.dtype) -> Number:
        """A number known now."""
        if dtype.kind == "c":
            part = real_dtype(dtype)
            return self.pair(self.constant(value.real, part), self.constant(value.imag, part), dtype)
        if dtype.kind in "iu":
            return Number(dtype, value=int(value), affine=number(int(value)))
        return Number(dtype, value=bool(value) if dtype.kind == "b" else float(value))

    def pair(self, real: Number, imaginary: Number, dtype: np.dtype) -> Number:
        """A complex number."""
        return Number(dtype, parts=(real, imaginary))

    def integer(self, expression: Affine, dtype: np.dtype) -> Number | None:
        """An integer given as an index expression, where it certainly fits its dtype."""
        low, high = self.w.facts.range(expression)
        if expression.fixed is not None:
            low = high = expression.fixed
        if expression.fixed is not None or low == high and abs(low) < INFINITE:
            bits = 8 * dtype.itemsize
            wrapped = low % (1 << bits)
            return self.constant(wrapped - (1 << bits) if dtype.kind == "i" and wrapped >> (bits - 1) else wrapped,
                                 dtype)
        limits = np.iinfo(dtype)
        if dtype.kind == "u" and low < 0:
            self._note(expression)
        if max(limits.min, -INFINITE + 1) <= low and high <= min(limits.max, INFINITE - 1):
            return Number(dtype, affine=expression)
        return None

    def name(self, n: Number) -> str:
        """The SSA name of a real number."""
        if n.name is not None:
            return n.name
        if n.value is not None:
            return self.w.constant(n.value, n.dtype)
        assert n.affine is not None
        place = self.w.affine(n.affine)
        return self.w.pure(f"arith.index_cast {place} : index to {type_of(n.dtype)}", (place,))

    def as_index(self, n: Number) -> Affine:
        """An integer as an index expression; unsigned ones are zero extended, limited to what an index holds."""
        if n.affine is not None:
            return n.affine
        name = self.name(n)
        if n.dtype == np.uint64:
            most = self.w.constant(np.iinfo(np.int64).max, n.dtype)
            name = self.w.pure(f"arith.minui {name}, {most} : i64", (name,))
        cast = "index_castui" if n.dtype.kind == "u" else "index_cast"
        made = self.w.pure(f"arith.{cast} {name} : {type_of(n.dtype)} to index", (name,), "s")
        limits = np.iinfo(n.dtype)
        self.w.facts.ranges.setdefault(made, (max(limits.min, -INFINITE), min(limits.max, INFINITE)))
        return symbol(made)

    def op(self, name: str, operands: Sequence[Number], dtype: np.dtype, flags: str = "") -> Number:
        """An op whose operands and result have one type."""
        if dtype.kind == "f" and name in FOLDED and all(o.value is not None for o in operands):
            with np.errstate(all="ignore"):
                return self.constant(FOLDED[name](*(dtype.type(o.value) for o in operands)), dtype)
        if name == "arith.addf" and (same := self._plus_nothing(*operands)) is not None:
            return same
        names = [self.name(o) for o in operands]
        made = self.w.pure(f"{name} {', '.join(names)}{flags} : {type_of(dtype)}", names)
        if name == "arith.addf" and not self.unsigned.isdisjoint(names):
            self.unsigned.add(made)
        return Number(dtype, made)

    def _plus_nothing(self, x: Number, y: Number) -> Number | None:
        """A float to which a zero is added that does not change it."""
        for number_, zero in ((x, y), (y, x)):
            if zero.value == 0 and (math.copysign(1.0, zero.value) < 0 or number_.name in self.unsigned):
                return number_
        return None

    def truth(self, text: str, operands: Sequence[Number], dtype: np.dtype) -> Number:
        """A comparison."""
        names = [self.name(o) for o in operands]
        return Number(BOOL, self.w.pure(f"{text}, {', '.join(names)} : {type_of(dtype)}", names))

    def decide(self, difference: Affine) -> bool | None:
        """Whether difference >= 0, where the ranges say; noted where they do not."""
        if self.w.facts.at_least(difference):
            return True
        if self.w.facts.at_least(difference.times(-1) - 1):
            return False
        self._note(difference)
        return None

    def _note(self, difference: Affine) -> None:
        low, high = self.w.facts.range(difference)
        if -INFINITE // 2 < low and high < INFINITE // 2:
            self.breaks.setdefault(difference)

    # ---- the ops

    def apply(self, kind: str, operands: Sequence[Number], dtype: np.dtype, attributes: dict[str, Any]) -> Number:
        """One element of an element-wise op."""
        first = operands[0]
        if kind == "compare":
            return self.compare(attributes["comparison_direction"], *operands)
        if kind == "select":
            return self.select(*operands)
        if kind in ("convert", "bitcast_convert"):
            return self.convert(first, dtype) if kind == "convert" else self.bitcast(first, dtype)
        if first.dtype.kind == "c" or dtype.kind == "c":
            return self._complex(kind, operands, dtype)
        if kind in ("real", "imag"):
            return first if kind == "real" else self.constant(0, dtype)
        if kind == "clamp":
            return self.extreme("minimum", self.extreme("maximum", operands[1], first), operands[2])
        if kind in ("maximum", "minimum"):
            return self.extreme(kind, *operands)
        if dtype.kind == "f" or kind == "is_finite":
            return self._float(kind, operands, dtype)
        return self._integer(kind, operands, dtype)

    def _float(self, kind: str, operands: Sequence[Number], dtype: np.dtype) -> Number:
        x = operands[0]
        if kind in FLOAT_UNARY:
            return self.op(FLOAT_UNARY[kind], operands, dtype)
        if kind in FLOAT_BINARY:
            return self.op(FLOAT_BINARY[kind], operands, dtype)
        one = self.constant(1.0, x.dtype)
        if kind == "is_finite":
            return self.truth("arith.cmpf olt", (self.op("math.absf", (x,), x.dtype),
                                                 self.constant(math.inf, x.dtype)), x.dtype)
        if kind == "rsqrt":
            return self.op("arith.divf", (one, self.op("math.sqrt", (x,), dtype)), dtype)
        if kind == "logistic":
            grown = self.op("math.exp", (self.op("arith.negf", (x,), dtype),), dtype)
            return self.op("arith.divf", (one, self.op("arith.addf", (one, grown), dtype)), dtype)
        zero = self.constant(0.0, dtype)  # sign: zeros and NaN are themselves
        negative = self.truth("arith.cmpf olt", (x, zero), dtype)
        positive = self.truth("arith.cmpf ogt", (x, zero), dtype)
        return self.select(positive, one, self.select(negative, self.constant(-1.0, dtype), x))

    def _integer(self, kind: str, operands: Sequence[Number], dtype: np.dtype) -> Number:
        x = operands[0]
        if dtype.kind == "b":
            return self._boolean(kind, operands)
        if (found := self._index_arithmetic(kind, operands, dtype)) is not None:
            return found
        if kind in INTEGER_BINARY:
            return self.op(INTEGER_BINARY[kind], operands, dtype)
        zero, ones = self.constant(0, dtype), self.constant(-1 if dtype.kind == "i" else 2**(8 * dtype.itemsize) - 1,
                                                            dtype)
        if kind == "negate":
            return self.op("arith.subi", (zero, x), dtype)
        if kind == "not":
            return self.op("arith.xori", (x, ones), dtype)
        if kind == "abs":
            return x if dtype.kind == "u" else self.op("math.absi", (x,), dtype)
        if kind == "popcnt":
            return self.op("math.ctpop", (x,), dtype)
        if kind == "count_leading_zeros":
            return self.op("math.ctlz", (x,), dtype)
        if kind == "sign":
            positive, negative = (self.truth(f"arith.cmpi {p}", (x, zero), dtype) for p in ("ne", "slt"))
            flat = self.select(positive, self.constant(1, dtype), zero)
            return flat if dtype.kind == "u" else self.select(negative, ones, flat)
        if kind in ("divide", "remainder"):
            return self._divided(kind, x, operands[1], dtype)
        return self._shifted(kind, x, operands[1], dtype)

    def _boolean(self, kind: str, operands: Sequence[Number]) -> Number:
        known = [o.value for o in operands]
        if kind == "not":
            return self.constant(not known[0], BOOL) if known[0] is not None else \
                self.op("arith.xori", (operands[0], self.constant(True, BOOL)), BOOL)
        neutral = {"and": True, "multiply": True, "minimum": True, "or": False, "add": False, "maximum": False}
        if kind in neutral:
            if any(k is not None and k != neutral[kind] for k in known):
                return self.constant(not neutral[kind], BOOL)
            left = [o for o in operands if o.value is None]
            if len(left) < 2:
                return left[0] if left else self.constant(neutral[kind], BOOL)
            return self.op("arith.andi" if neutral[kind] else "arith.ori", left, BOOL)
        return self.op("arith.xori", operands, BOOL)

    def _index_arithmetic(self, kind: str, operands: Sequence[Number], dtype: np.dtype) -> Number | None:
        forms = [o.affine for o in operands]
        if any(f is None for f in forms):
            return None
        a, b = forms[0], forms[-1]
        assert a is not None and b is not None
        if kind == "add":
            return self.integer(a + b, dtype)
        if kind == "subtract":
            return self.integer(a - b, dtype)
        if kind == "negate":
            return self.integer(a.times(-1), dtype)
        if kind == "multiply" and (a.fixed is not None or b.fixed is not None):
            return self.integer(b.times(a.fixed) if a.fixed is not None else a.times(b.constant), dtype)
        return None

    def _divided(self, kind: str, x: Number, y: Number, dtype: np.dtype) -> Number:
        """XLA's: x / 0 = -1, x % 0 = x, least / -1 = least, least % -1 = 0."""
        letter = "u" if dtype.kind == "u" else "s"
        name = f"arith.{'div' if kind == 'divide' else 'rem'}{letter}i"
        one, zero = self.constant(1, dtype), self.constant(0, dtype)
        by_zero = self._equal(y, zero)
        safe, overflow = self.select(by_zero, one, y), None
        if letter == "s" and y.value is None:
            least = self.constant(np.iinfo(dtype).min, dtype)
            overflow = self.op("arith.andi", (self._equal(x, least), self._equal(y, self.constant(-1, dtype))), BOOL)
            safe = self.select(overflow, one, safe)
        made = self.op(name, (x, safe), dtype)
        if overflow is not None:
            made = self.select(overflow, x if kind == "divide" else zero, made)
        ones = self.constant(-1 if letter == "s" else 2**(8 * dtype.itemsize) - 1, dtype)
        return self.select(by_zero, ones if kind == "divide" else x, made)

    def _equal(self, x: Number, y: Number) -> Number:
        if x.value is not None and y.value is not None:
            return self.constant(x.value == y.value, BOOL)
        return self.truth("arith.cmpi eq", (x, y), x.dtype)

    def _shifted(self, kind: str, x: Number, y: Number, dtype: np.dtype) -> Number:
        """Shifts by the width or more leave zeros, or the sign."""
        bits = 8 * dtype.itemsize
        most = self.constant(bits - 1, dtype)
        if y.value is not None:
            inside = self.constant(0 <= y.value < bits, BOOL)
        else:
            inside = self.truth("arith.cmpi ule", (y, most), dtype)
        safe = self.select(inside, y, most)
        if kind == "shift_right_arithmetic":
            return self.op("arith.shrsi", (x, safe), dtype)
        made = self.op("arith.shli" if kind == "shift_left" else "arith.shrui", (x, safe), dtype)
        return self.select(inside, made, self.constant(0, dtype))

    def extreme(self, kind: str, x: Number, y: Number) -> Number:
        """maximum or minimum; NaN wins."""
        dtype = x.dtype
        if dtype.kind == "b":
            return self._boolean(kind, (x, y))
        if dtype.kind == "f":
            if x.value is not None and not math.isnan(x.value):
                x, y = y, x
            if y.value is not None and not math.isnan(y.value):
                # y where x is beyond it, else x: NaN stays; -0 is below 0
                opposite = "olt" if kind == "maximum" else "ogt"
                if y.value == 0 and (math.copysign(1.0, y.value) > 0) == (kind == "maximum"):
                    opposite = "ole" if kind == "maximum" else "oge"
                return self.select(self.truth(f"arith.cmpf {opposite}", (x, y), dtype), y, x)
            return self.op("arith.maximumf" if kind == "maximum" else "arith.minimumf", (x, y), dtype)
        if x.affine is not None and y.affine is not None:
            difference = x.affine - y.affine if kind == "maximum" else y.affine - x.affine
            decided = self.decide(difference)
            if decided is not None:
                return x if decided else y
        letter = "u" if dtype.kind == "u" else "s"
        made = self.op(f"arith.{kind[:3]}{letter}i", (x, y), dtype)
        return self._bounded(made, kind, x, y)

    def _bounded(self, made: Number, kind: str, x: Number, y: Number) -> Number:
        """A maximum or minimum of integers as an index expression of known range, where the range is useful."""
        lows, highs = zip(*map(self._range, (x, y)), strict=True)
        pick: Callable[..., int] = max if kind == "maximum" else min
        low, high = pick(lows), pick(highs)
        place = self.as_index(made)
        name = place.terms[0][0]
        self.w.facts.ranges[name] = (low, high)
        for n in (x, y):
            if n.affine is not None and n.affine.terms:
                self.w.facts.know(name, *((n.affine, None) if kind == "maximum" else (None, n.affine)))
        return Number(made.dtype, made.name, affine=place)

    _ORDERED = {"LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge", "EQ": "oeq", "NE": "une"}

    def compare(self, direction: str, x: Number, y: Number) -> Number:
        """A comparison; floats with IEEE's meaning."""
        kind = x.dtype.kind
        if kind == "c":
            (a, b), (c, d) = self.halves(x), self.halves(y)
            return self._boolean("and" if direction == "EQ" else "or",
                                 (self.compare(direction, a, c), self.compare(direction, b, d)))
        if kind == "f":
            return self.truth(f"arith.cmpf {self._ORDERED[direction]}", (x, y), x.dtype)
        if kind == "b":
            if x.value is not None and y.value is not None:
                a, b = x.value, y.value
                return self.constant({"EQ": a == b, "NE": a != b, "LT": a < b, "LE": a <= b, "GT": a > b,
                                      "GE": a >= b}[direction], BOOL)
        elif x.affine is not None and y.affine is not None:
            decided = self._compared(direction, x.affine - y.affine)
            if decided is not None:
                return self.constant(decided, BOOL)
        letter = "s" if kind == "i" else "u"
        word = direction.lower() if direction in ("EQ", "NE") else letter + direction.lower()
        made = self.truth(f"arith.cmpi {word}", (x, y), x.dtype)
        if made.name is not None and kind != "b":
            self.tests[made.name] = direction, x, y
        return made

    def _compared(self, direction: str, difference: Affine) -> bool | None:
        """Whether `difference` compares so with zero."""
        if direction in ("EQ", "NE"):
            above, below = self.decide(difference), self.decide(difference.times(-1))
            if above and below:
                return direction == "EQ"
            return direction == "NE" if above is False or below is False else None
        if direction in ("GE", "LT"):
            decided = self.decide(difference)
            return decided if direction == "GE" or decided is None else not decided
        decided = self.decide(difference.times(-1))
        return decided if direction == "LE" or decided is None else not decided

    def select(self, condition: Number, yes: Number, no: Number) -> Number:
        """yes if condition else no"""
        if condition.value is not None:
            return yes if condition.value else no
        if yes.dtype.kind == "c":
            a, b = self.halves(yes), self.halves(no)
            return self.pair(self.select(condition, a[0], b[0]), self.select(condition, a[1], b[1]), yes.dtype)
        if yes == no and str(yes.value) == str(no.value):       # 0.0 == -0.0
            return yes
        if yes.dtype.kind == "b" and yes.value is not None and no.value is not None:
            return condition if yes.value else self._boolean("not", (condition,))
        names = [self.name(n) for n in (condition, yes, no)]
        made = Number(yes.dtype, self.w.pure(f"arith.select {', '.join(names)} : {type_of(yes.dtype)}", names))
        test = self.tests.get(condition.name or "")
        if yes.affine is not None and no.affine is not None or test is not None and made.dtype.kind in "iu":
            first, second = (self._range_where(n, test, k) for n, k in ((yes, True), (no, False)))
            low, high = min(first[0], second[0]), max(first[1], second[1])
            if yes.affine is None or no.affine is None:
                if low <= -INFINITE and high >= INFINITE:
                    return made
            place = self.as_index(made)
            self.w.facts.ranges[place.terms[0][0]] = low, high
            return Number(made.dtype, made.name, affine=place)
        return made

    def _range(self, n: Number) -> tuple[int, int]:
        """What is known of an integer."""
        if n.affine is not None:
            return self.w.facts.range(n.affine)
        limits = np.iinfo(n.dtype)
        return max(limits.min, -INFINITE), min(limits.max, INFINITE)

    def _range_where(self, n: Number, test: tuple[str, Number, Number] | None, holds: bool) -> tuple[int, int]:
        """What is known of an integer where a comparison holds, or does not: that of an index with zero, before the
        extent is added."""
        low, high = self._range(n)
        if test is None:
            return low, high
        direction, x, y = test
        if n == y:
            x, y, direction = y, x, TURNED.get(direction, direction)
        if n != x or direction not in TURNED:
            return low, high
        if not holds:
            direction = _OPPOSITE[direction]
        least, most = self._range(y)
        if direction in ("LT", "LE"):
            return low, min(high, most - (direction == "LT" and most < INFINITE))
        return max(low, least + (direction == "GT" and least > -INFINITE)), high

    # ---- conversions

    def convert(self, x: Number, dtype: np.dtype) -> Number:
        """A number in another dtype: floats to integers towards zero, limited to what the dtype holds; NaN is 0."""
        source = x.dtype
        if source == dtype:
            return x
        if source.kind == "c":
            return self.convert_complex(x, dtype) if dtype.kind == "c" else self.convert(self.halves(x)[0], dtype)
        if dtype.kind == "c":
            part = real_dtype(dtype)
            return self.pair(self.convert(x, part), self.constant(0, part), dtype)
        if x.value is not None and (source.kind != "f" or dtype.kind == "f"):
            with np.errstate(all="ignore"):
                return self.constant(rounding.astype(np.asarray(x.value, source), dtype)[()], dtype)
        if dtype.kind == "b":
            if source.kind == "f":
                return self.truth("arith.cmpf une", (x, self.constant(0.0, source)), source)
            return self.compare("NE", x, self.constant(0, source))
        if source.kind in "iu" and dtype.kind in "iu" and x.affine is not None \
                and (found := self.integer(x.affine, dtype)) is not None:
            return found
        if source.kind == "f" and dtype.kind in "iu":
            return self._truncated(x, dtype)
        return self._cast(self._cast_name(source, dtype), x, dtype)

    def convert_complex(self, x: Number, dtype: np.dtype) -> Number:
        """A complex number of another precision."""
        part = real_dtype(dtype)
        real, imaginary = self.halves(x)
        return self.pair(self.convert(real, part), self.convert(imaginary, part), dtype)

    @staticmethod
    def _cast_name(source: np.dtype, dtype: np.dtype) -> str | None:
        if source.kind == "f" and dtype.kind == "f":
            return "arith.extf" if dtype.itemsize > source.itemsize else "arith.truncf"
        if dtype.kind == "f":
            return "arith.sitofp" if source.kind == "i" else "arith.uitofp"
        if source.kind == "b" or dtype.itemsize > source.itemsize:
            return "arith.extsi" if source.kind == "i" else "arith.extui"
        return None if dtype.itemsize == source.itemsize else "arith.trunci"

    def _cast(self, name: str | None, x: Number, dtype: np.dtype, attributes: str = "") -> Number:
        operand = self.name(x)
        if name is None:
            return Number(dtype, operand)
        return Number(dtype, self.w.pure(f"{name} {operand}{attributes} : {type_of(x.dtype)} to {type_of(dtype)}",
                                         (operand,)))

    def _truncated(self, x: Number, dtype: np.dtype) -> Number:
        limits = np.iinfo(dtype)
        source = x.dtype
        low, high = float(limits.min), float(2 ** (8 * dtype.itemsize - (dtype.kind == "i")))
        inside = self._boolean("and", (
            self.truth("arith.cmpf oge" if dtype.kind == "i" else "arith.cmpf ogt",
                       (x, self.constant(low if dtype.kind == "i" else -1.0, source)), source),
            self.truth("arith.cmpf olt", (x, self.constant(high, source)), source)))
        safe = self.select(inside, x, self.constant(0.0, source))
        made = self._cast("arith.fptosi" if dtype.kind == "i" else "arith.fptoui", safe, dtype, " {native.fits}")
        above = self.truth("arith.cmpf oge", (x, self.constant(high, source)), source)
        below = self.truth("arith.cmpf olt", (x, self.constant(low, source)), source)
        made = self.select(above, self.constant(limits.max, dtype), made)
        return self.select(below, self.constant(limits.min, dtype), made)

    def bitcast(self, x: Number, dtype: np.dtype) -> Number:
        """The bits of a number as another dtype of the same width."""
        if type_of(x.dtype) == type_of(dtype):
            return Number(dtype, self.name(x))
        return self._cast("arith.bitcast", x, dtype)

    # ---- complex numbers

    def halves(self, x: Number) -> tuple[Number, Number]:
        """Real and imaginary part."""
        if x.parts is None:
            return x, self.constant(0, x.dtype)
        return x.parts

    def _complex(self, kind: str, operands: Sequence[Number], dtype: np.dtype) -> Number:
        if kind == "complex":
            return self.pair(operands[0], operands[1], dtype)
        real, imaginary = self.halves(operands[0])
        part = real.dtype
        if kind in ("real", "imag"):
            return real if kind == "real" else imaginary
        if kind == "abs":
            return self._absolute(real, imaginary)
        if kind == "negate":
            return self.pair(self.op("arith.negf", (real,), part), self.op("arith.negf", (imaginary,), part), dtype)
        other_real, other_imaginary = self.halves(operands[1])
        if kind in ("add", "subtract"):
            name = FLOAT_BINARY[kind]
            return self.pair(self.op(name, (real, other_real), part),
                             self.op(name, (imaginary, other_imaginary), part), dtype)

        return self.pair(self._two_products(real, other_real, imaginary, other_imaginary, "arith.subf"),
                         self._two_products(real, other_imaginary, imaginary, other_real, "arith.addf"), dtype)

    def _two_products(self, a: Number, b: Number, c: Number, d: Number, name: str) -> Number:
        """a * b + c * d, or their difference: in arrays the first is rounded as it is added, as NumPy has it."""
        second = self.op("arith.mulf", (c, d), a.dtype)
        if not (self.of_arrays and engine.has_feature("fma")):
            return self.op(name, (self.op("arith.mulf", (a, b), a.dtype), second), a.dtype)
        if name == "arith.subf":
            second = self.op("arith.negf", (second,), a.dtype)
        return self.op("math.fma", (a, b, second), a.dtype)

    def _absolute(self, real: Number, imaginary: Number) -> Number:
        """How XLA and NumPy (with AVX-512) have it: the greater part, times the root of one more than the square of
        their quotient, which is added as it is squared."""
        part, one = real.dtype, self.constant(1, real.dtype)
        sizes = [self.op("math.absf", (x,), part) for x in (real, imaginary)]
        first = self.truth("arith.cmpf ogt", sizes, part)
        big, small = self.select(first, *sizes), self.select(first, *reversed(sizes))
        ratio = self.op("arith.divf", (small, big), part)
        square = self.op("math.fma", (ratio, ratio, one), part) if engine.has_feature("fma") else \
            self.op("arith.addf", (self.op("arith.mulf", (ratio, ratio), part), one), part)
        made = self.op("arith.mulf", (big, self.op("math.sqrt", (square,), part)), part)
        defined = self.truth("arith.cmpf oeq", (made, made), part)       # not 0 / 0, nor of NaN, nor of infinities
        return self.select(defined, made, self.op("arith.addf", sizes, part))


@cache
def supported(kind: str, operands: tuple[np.dtype, ...], dtype: np.dtype) -> bool:
    """Whether `Arithmetic.apply` knows an op on these dtypes."""
    kinds = {d.kind for d in (*operands, dtype)}
    if any(d not in DTYPES for d in (*operands, dtype)) or kind not in ELEMENTWISE:
        return False
    if "c" in kinds:
        return kind in COMPLEX
    if kind == "bitcast_convert":
        return operands[0].itemsize == dtype.itemsize and "b" not in kinds
    if kind in FLOAT_ONLY:
        return all(d.kind == "f" for d in operands)
    return True


DTYPES = {np.dtype(name) for name in ("bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
                                      "float32", "float64", "complex64", "complex128")}
"""Of the numbers that loops work with."""
