"""What is measured of the operations of a block, together: results, and what they are computed of, are put down, and
measured when there are enough of them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.precision.accuracy import measures
from reactant.precision.accuracy.measures import FLOAT64, Measured, Row
from reactant.support.records import dataclass

MOST = 2**21
"""Elements of arrays that wait, at most: they are kept in memory until then."""
VANISHING = {f"{dialect}.{name}" for dialect in ("stablehlo", "chlo") for name in """
    multiply divide exponential power logistic square erfc sqrt rsqrt""".split()}
"""Operations whose result is 0, for operands that are not, only where it is too small for the format."""
NEVER_ZERO = {"stablehlo.exponential", "stablehlo.logistic", "chlo.erfc"}
Place = tuple[str, int]


@dataclass(frozen=True)
class Entry:
    """What is measured of one operation. kind: "number", "truth" or "loop"; name: the operation. digits: of its
    format. largest, counted: how many measures of which the largest counts, and that are added up."""

    kind: str
    place: Place | None
    name: str
    digits: int
    largest: int
    counted: int


@dataclass
class Notes:
    """What has been measured where a block is built."""

    entries: list[Entry] = field(default_factory=list)
    largest: list[ir.Value] = field(default_factory=list)
    counted: list[ir.Value] = field(default_factory=list)

    def add(self, entries: Sequence[Entry], largest: ir.Value | None, counted: ir.Value | None) -> None:
        """largest, counted: vectors with the measures of all entries, in their order."""
        self.entries += entries
        self.largest += [largest] if largest is not None else []
        self.counted += [counted] if counted is not None else []

    def vectors(self) -> list[ir.Value]:
        """Two vectors: the largest, and the counted ones."""
        return [ops.concatenate(each, 0) if each else ops.constant(0.0, FLOAT64, (0,))
                for each in (self.largest, self.counted)]


class Known(NamedTuple):
    """A value that has been measured: of which rows."""

    measured: Measured
    places: tuple[int, ...]


class Item(NamedTuple):
    """An operation's result that waits: the value, its companion's rounded operation (a key of rows), its operands."""

    entry: Entry
    result: ir.Value
    local: int
    operands: tuple[ir.Value, ...]


class Ledger:
    """Of one block; `outer` is that of the block around it. rows: what makes rows of a value."""

    def __init__(self, notes: Notes, rows: Callable[[ir.Value], list[Row]], outer: Ledger | None = None):
        self.notes, self.rows, self.outer = notes, rows, outer
        self.known: dict[ir.Value, Known] = {}
        self._waiting: dict[ir.Value, list[Row]] = {}
        self._locals: list[list[Row]] = []
        self._items: list[Item] = []
        self._elements = 0

    def find(self, value: ir.Value) -> Known | None:
        """What has been measured of a value, here or outside."""
        found = self.known.get(value)
        return found if found is not None or self.outer is None else self.outer.find(value)

    def ask(self, *values: ir.Value) -> None:
        """Have values measured, at the next `flush`."""
        for value in values:
            if value not in self._waiting and size(shape_of(value)) and self.find(value) is None:
                self._waiting[value] = self.rows(value)
                self._elements += size(shape_of(value))

    def put(self, entry: Entry, result: ir.Value, local: list[Row], operands: Sequence[ir.Value]) -> None:
        """An operation's result. local: rows of the operation on rounded companions."""
        self.ask(result, *operands)
        operands = tuple(v for v in operands if size(shape_of(v)))
        self._items.append(Item(entry, result, len(self._locals), operands))
        self._locals.append(local)
        self._elements += size(shape_of(result))
        if self._elements > MOST:
            self.flush()

    def flush(self) -> None:
        """Measure what waits."""
        if not self._waiting and not self._locals:
            return
        waiting = [*self._waiting.values(), *self._locals]
        found, places = self._measured(self._behind_a_barrier(waiting))
        self.known.update((value, Known(found, place)) for value, place in zip(self._waiting, places, strict=False))
        if self._items:
            self._note(found, places[len(self._waiting):])
        self._waiting, self._locals, self._items, self._elements = {}, [], [], 0

    def _behind_a_barrier(self, waiting: Sequence[list[Row]]) -> list[list[Row]]:
        """Or compilers would compute everything again where it is measured."""
        flat = list(dict.fromkeys(v for rows in waiting for row in rows for v in row if v is not None))
        kept = dict(zip(flat, ops.optimization_barrier(*flat), strict=True))
        return [[Row(*(None if v is None else kept[v] for v in row)) for row in rows] for rows in waiting]

    def _measured(self, waiting: Sequence[list[Row]]) -> tuple[Measured, list[tuple[int, ...]]]:
        """All that waits in one table, and where its rows are."""
        groups: dict[tuple[int, np.dtype], list[tuple[int, Row]]] = {}
        for number, rows in enumerate(waiting):
            for row in rows:
                groups.setdefault((size(shape_of(row.x)), dtype_of(row.x)), []).append((number, row))
        parts, count = [], 0
        places: list[tuple[int, ...]] = [()] * len(waiting)
        for (extent, _), members in groups.items():
            parts.append(measures.measured([row for _, row in members], extent))
            for k, (number, _) in enumerate(members):
                places[number] = (*places[number], count + k)
            count += len(members)
        zero = ops.constant(0.0, FLOAT64, (1,))
        return Measured(*(ops.concatenate([*each, zero], 0) for each in zip(*parts, strict=True))), places

    def _note(self, found: Measured, local: Sequence[tuple[int, ...]]) -> None:
        """Note the items' measures."""
        table, where = self._with_others(found)
        results = [where[item.result] for item in self._items]
        operands = [[k for v in item.operands for k in where[v]] for item in self._items]
        lost = measures.picked(found.worst, [local[item.local] for item in self._items])
        error, before = (measures.picked(table.worst, each) for each in (results, operands))
        unit = ops.constant(np.array([2.0**-item.entry.digits for item in self._items]))
        grown = ops.divide(error, ops.maximum(before, unit))
        left = self._out_of_range(table, results, operands)
        count = len(self._items)

        def columns(*each: ir.Value) -> ir.Value:
            return ops.reshape(ops.concatenate([ops.reshape(v, (count, 1)) for v in each], 1), (len(each) * count,))
        self.notes.add([item.entry for item in self._items], columns(lost, error, grown),
                       columns(left, ops.splat(1.0, left)))

    def _with_others(self, found: Measured) -> tuple[Measured, dict[ir.Value, tuple[int, ...]]]:
        """The table, behind it what was measured earlier of operands; and where values are. The last row stays 0."""
        where = {value: known.places for value in self._waiting if (known := self.known.get(value)) is not None}
        count = shape_of(found.worst)[0]
        tables, starts = [found], {id(found): 0}
        for item in self._items:
            for value in (item.result, *item.operands):
                known = self.find(value)
                assert known is not None
                if id(known.measured) not in starts:
                    starts[id(known.measured)], count = count, count + shape_of(known.measured.worst)[0]
                    tables.append(known.measured)
                where[value] = tuple(starts[id(known.measured)] + k for k in known.places)
        whole = [ops.concatenate(list(each), 0) for each in zip(*tables, strict=True)]
        return Measured(*ops.optimization_barrier(*whole)), where

    def _out_of_range(self, table: Measured, results: Sequence[Sequence[int]],
                      operands: Sequence[Sequence[int]]) -> ir.Value:
        """How many results are infinite or NaN of finite operands, or 0 though their exact value is not."""
        names = [item.entry.name if item.operands else "" for item in self._items]
        vanish = ops.constant(np.array([name in VANISHING for name in names]))
        never = ops.constant(np.array([name in NEVER_ZERO for name in names]))
        finite = ops.compare(measures.picked(table.infinite, operands), 0.0, "EQ")
        none_zero = ops.compare(measures.picked(table.zero, operands), 0.0, "EQ")
        vanished = ops.and_(vanish, ops.and_(finite, ops.or_(never, none_zero)))
        infinite, zero = (measures.picked(each, results) for each in (table.infinite, table.zero))
        nothing = ops.splat(0.0, infinite)
        return ops.add(ops.select(finite, infinite, nothing), ops.select(vanished, zero, nothing))
