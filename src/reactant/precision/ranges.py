"""Which operation, of which line, was the first whose result left the range of the limbs.

float32 limbs end at 3.4e38, where the float64 that they stand for goes on to 1.8e308. A result that is infinite though
its operands are not, and though it would not be infinite in the source format either (1 / 0 is), has left the range.
Each place, an operation on a line, has a number. The number of the first such place is computed beside the
program: element by element for arrays, which are reduced where a kernel ends anyway; loops and branches carry it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, is_complex, is_float, shape_of
from reactant.precision.values import Value, WideComplex
from reactant.precision.wide import Wide

NOWHERE = 2**31 - 1
"""The number of no place."""
NUMBER = np.dtype(np.int32)


class Place(NamedTuple):
    """what: the operation. at: file and line, where they are known."""

    what: str
    at: tuple[str, int] | None


def largest(dtype: np.dtype) -> float:
    """The largest number of a format."""
    return float(ml_dtypes.finfo(dtype).max)


def _zero(x: Wide) -> ir.Value:
    return ops.compare(x.head, 0.0, "EQ")


def _not_above(x: Wide, bound: float) -> ir.Value:
    return ops.compare(x.head, bound, "LE")


def _power(end: float, x: Wide, y: Wide) -> ir.Value:
    """0 to a negative power, and what is too large for the source format as well."""
    log = ops.multiply(y.head, ops.log(ops.abs(x.head)))
    return ops.or_(ops.and_(_zero(x), ops.compare(y.head, 0.0, "LT")), ops.compare(log, end, "GE"))


GROWING: dict[str, Callable[..., ir.Value] | None] = {
    "add": None, "subtract": None, "multiply": None, "square": None, "tan": None,
    "divide": lambda end, x, y: _zero(y),
    "exponential": lambda end, x: ops.compare(x.head, end, "GE"),
    "exponential_minus_one": lambda end, x: ops.compare(x.head, end, "GE"),
    "sinh": lambda end, x: ops.compare(ops.abs(x.head), end + math.log(2), "GE"),
    "cosh": lambda end, x: ops.compare(ops.abs(x.head), end + math.log(2), "GE"),
    "power": _power,
    "lgamma": lambda end, x: _not_above(x, 0.0),
    "digamma": lambda end, x: _not_above(x, 0.0),
}
"""Operations whose results may be larger than their operands, and where they are infinite in the source format too, of
the logarithm of its largest number and real operands."""
COMPLEX: dict[str, Callable[..., ir.Value] | None] = {
    **dict.fromkeys(("add", "subtract", "multiply", "square", "tan", "abs"), None),
    "divide": lambda end, x, y: ops.and_(_zero(y.re), _zero(y.im)),
    "power": lambda end, x, y: ops.and_(_zero(x.re), _zero(x.im)),
    **dict.fromkeys(("exponential", "exponential_minus_one"), lambda end, x: ops.compare(x.re.head, end, "GE")),
    **dict.fromkeys(("sine", "cosine"), lambda end, x: ops.compare(ops.abs(x.im.head), end + math.log(2), "GE")),
}
"""The same of complex operands."""
WHOLE = ("reduce", "reduce_window", "scatter", "dot_general", "convolution", "fft")
"""Operations of many elements each: no result is less than finite where all operands are finite."""
INDIFFERENT = ("compare", "maximum", "minimum", "clamp")
"""Operations for which a constant beyond the range is as good as infinity."""
KEEPING = ("broadcast_in_dim", "reshape")
"""Operations of which a constant comes out as it went in."""
FAR = 12
"""Operations between one and the selection that is looked for."""


class Watch:
    """What is looked at in one program. source: the format that limbs stand for. limb: theirs."""

    def __init__(self, source: np.dtype, limb: np.dtype):
        self.source, self.limb = source, limb
        self.end = math.log(largest(source))
        self.places: dict[Place, int] = {}
        self.code: ir.Value | None = None
        """The number of the first place so far, in the block at hand."""
        self._pending: dict[Shape, ir.Value] = {}
        self._beyond: dict[ir.Value, Place] = {}
        self._waiting: dict[ir.Value, list[tuple[ir.Value, Place]]] = {}
        """By results of the program as it was: what waits for the selections that they are used in."""
        self._reached: dict[ir.Value, bool] = {}
        self._asleep = False

    # ---- blocks ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A block of its own: nothing has happened in it."""
        self.code, self._pending = nowhere(), {}

    def settled(self) -> ir.Value:
        """The number of the first place, of all that has been noted."""
        for shape in list(self._pending):
            self.flush(shape)
        assert self.code is not None
        return self.code

    def after(self, code: ir.Value) -> None:
        """Something that was done has given the number of its own first place."""
        self.code = earlier(self.settled(), code)

    def flush(self, shape: Shape) -> None:
        """Reduce what has been noted of arrays of a shape."""
        pending = self._pending.pop(shape, None)
        if pending is not None:
            least = ops.reduce(pending, NOWHERE, range(len(shape)), "minimum") if shape else pending
            self.code = ops.minimum(self.code, least)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """In a block inside this one, which was `settled` before; that ends with `settled` too."""
        before = self.code
        try:
            self.begin()
            yield
        finally:
            self.code, self._pending = before, {}

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """Where nothing is noted: what is done is looked at as a whole."""
        before, self._asleep = self._asleep, True
        try:
            yield
        finally:
            self._asleep = before

    # ---- what is noted ---------------------------------------------------------------------------------------------

    def note(self, bad: ir.Value, place: Place) -> None:
        """Note where a result has left the range."""
        if self._asleep:
            return
        number = self.places.setdefault(place, len(self.places) + 1)
        shape = shape_of(bad)
        found = ops.select(bad, ops.constant(number, NUMBER, shape), ops.constant(NOWHERE, NUMBER, shape))
        before = self._pending.get(shape)
        self._pending[shape] = found if before is None else ops.minimum(before, found)

    def split(self, value: ir.Value, found: Value, place: Place) -> None:
        """A value of another format has become limbs."""
        dtype = dtype_of(value)
        if not is_complex(dtype) and is_float(dtype) and largest(dtype) <= largest(self.limb):
            return
        if not (is_complex(dtype) or is_float(dtype)) and 2.0 ** (8 * dtype.itemsize) <= largest(self.limb):
            return
        bad = _infinite(found)
        if is_complex(dtype):
            bad = ops.and_(bad, ops.and_(ops.is_finite(ops.real(value)), ops.is_finite(ops.imag(value))))
        elif is_float(dtype):
            bad = ops.and_(bad, ops.is_finite(value if largest(dtype) <= largest(self.source)
                                              else ops.convert(value, self.source)))
        self.note(bad, place)

    def constant(self, content: np.ndarray, found: Value, place: Place) -> None:
        """A constant has become limbs: where some of it is too large, that matters where it is used."""
        parts = np.stack([content.real, content.imag]) if content.dtype.kind == "c" else content
        if np.any(np.isfinite(parts) & (np.abs(parts) > largest(self.limb))):
            self._beyond[_head(found)] = place

    def operation(self, op: ir.Operation, at: tuple[str, int] | None, operands: Sequence[Value],
                  results: Sequence[Value]) -> None:
        """An operation has been done."""
        if self._asleep:
            return
        name = op.name.split(".")[1]
        numbers = [v for v in operands if not isinstance(v, ir.Value)]
        if any(map(self.is_beyond, numbers)) and name not in INDIFFERENT:
            self._used(name, operands, results)
        wide = [v for v in results if not isinstance(v, ir.Value)]
        if name in WHOLE:
            self._whole(Place(name, at), [v for v in numbers if not self.is_beyond(v)], wide)
            return
        if not wide or name != "select" and op.name not in ops.ELEMENTWISE:
            return
        notes = self._chosen(op, operands[0]) if name == "select" else dict.fromkeys(
            note for operand in op.operands for note in self._waiting.get(operand, ()))
        if (bad := self._left(name, numbers, wide[0])) is not None:
            notes[bad, Place(name, at)] = None
        if notes and self._only_chosen(op.results[0]):
            self._waiting[op.results[0]] = list(notes)
            return
        for note in notes:
            self.note(*note)

    def _chosen(self, op: ir.Operation, predicate: Value) -> dict[tuple[ir.Value, Place], None]:
        """What a selection leaves of the notes that have waited for it."""
        notes: dict[tuple[ir.Value, Place], None] = {}
        for number in (1, 2):
            for bad, place in self._waiting.get(op.operands[number], ()):
                assert isinstance(predicate, ir.Value)
                taken = predicate if number == 1 else ops.not_(predicate)
                shape = shape_of(bad)
                taken = taken if shape_of(taken) == shape else ops.broadcast_in_dim(taken, shape, ())
                notes[ops.and_(bad, taken), place] = None
        return notes

    def _only_chosen(self, value: ir.Value, depth: int = 0) -> bool:
        """Whether a value is used in selections alone, it or what becomes of it element by element: what these do not
        choose does not matter."""
        if value not in self._reached:
            found = depth < FAR
            uses = list(value.uses)
            for use in uses if found else ():
                owner = use.owner.operation if hasattr(use.owner, "operation") else use.owner
                if owner.name == "stablehlo.select":
                    found = use.operand_number > 0
                else:
                    found = owner.name in ops.ELEMENTWISE and owner.results[0].type == value.type \
                        and self._only_chosen(owner.results[0], depth + 1)
                if not found:
                    break
            self._reached[value] = found and bool(uses)
        return self._reached[value]

    def _left(self, name: str, numbers: Sequence[Wide | WideComplex], result: Wide | WideComplex) -> ir.Value | None:
        """Where the result of an elementwise operation has left the range."""
        table = COMPLEX if any(isinstance(v, WideComplex) for v in numbers) else GROWING
        if name not in table:
            return None
        bad = _infinite(result)
        for number in numbers:
            if not self.is_beyond(number):
                bad = ops.and_(bad, _finite(number))
        genuine = table[name]
        return bad if genuine is None else ops.and_(bad, ops.not_(genuine(self.end, *numbers)))

    def is_beyond(self, value: Value) -> bool:
        """Whether it is a constant beyond the range."""
        return _head(value) in self._beyond

    def given(self, values: Sequence[Value]) -> None:
        """Values are given to what comes after a block."""
        for value in filter(self.is_beyond, values):
            self.note(ops.constant(True), self._beyond[_head(value)])

    def _used(self, name: str, operands: Sequence[Value], results: Sequence[Value]) -> None:
        """Constants beyond the range are operands."""
        place = next(self._beyond[_head(v)] for v in operands if self.is_beyond(v))
        if name in KEEPING:
            self._beyond[_head(results[0])] = place
        elif name == "select":
            chosen, predicate = [self.is_beyond(v) for v in operands[1:]], operands[0]
            assert isinstance(predicate, ir.Value)
            if all(chosen):
                self._beyond[_head(results[0])] = place
            else:
                self.note(predicate if chosen[0] else ops.not_(predicate), place)
        else:
            self.note(ops.constant(True), place)

    def _whole(self, place: Place, operands: Sequence[Value], results: Sequence[Value]) -> None:
        """Of reductions and their like."""
        if not results:
            return
        bad = ops.constant(False)
        for result in results:
            bad = ops.or_(bad, ops.not_(_all(_finite(result))))
        for operand in operands:
            bad = ops.and_(bad, _all(_finite(operand)))
        self.note(bad, place)


def earlier(before: ir.Value, then: ir.Value) -> ir.Value:
    """The first place of two runs, one after the other."""
    return ops.select(ops.compare(before, NOWHERE, "NE"), before, then)


def nowhere() -> ir.Value:
    """The number of no place, in the program."""
    return ops.constant(NOWHERE, NUMBER)


def _head(value: Value) -> Any:
    return value if isinstance(value, ir.Value) else value.limbs[0]


def _parts(value: Value) -> list[ir.Value]:
    if isinstance(value, WideComplex):
        return [value.re.head, value.im.head]
    return [_head(value)]


def _finite(value: Value) -> ir.Value:
    found = [ops.is_finite(part) for part in _parts(value)]
    return found[0] if len(found) == 1 else ops.and_(*found)


def _infinite(value: Value) -> ir.Value:
    found = [ops.compare(ops.abs(part), math.inf, "EQ") for part in _parts(value)]
    return found[0] if len(found) == 1 else ops.or_(*found)


def _all(predicate: ir.Value) -> ir.Value:
    shape = shape_of(predicate)
    return ops.reduce(predicate, True, range(len(shape)), "and") if shape else predicate
