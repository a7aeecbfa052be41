"""Rows of few elements are sorted by a network of exchanges, all rows at once: XLA sorts row by row, and calls a
function for each comparison."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.orders import Order, order_of
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import Site, rewrite
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.selection.sorting import (
    canonical,
    dimension_of,
    from_ordered_bits,
    greatest,
    loosely,
    ordered_bits,
)
from reactant.simplify.target.target import becomes_loops, term_at

LEAST_ELEMENTS = 1 << 12
"""Of all rows together, where nothing moves along. XLA takes 13 ns for one of rows of 9, with its place 45."""
IN_LOOPS = 12
"""Loops of our own hold a row in registers: they take rows of so many elements more, where nothing moves along (then an
exchange is five times as many operations)."""


@cache
def exchanges(n: int) -> tuple[tuple[int, int], ...]:
    """Which places of n are compared, one pair after the other, and exchanged where they are not in order: the odd-even
    merge sort of Batcher (1968)."""
    found, run = [], 1
    while run < n:
        step = run
        while step:
            for start in range(step % run, n - step, 2 * step):
                for i in range(start, min(start + step, n - step)):
                    if i // (2 * run) == (i + step) // (2 * run):
                        found.append((i, i + step))
            step //= 2
        run *= 2
    return tuple(found)


def _sorted(*operands: tuple, dimension: int = 1, comparator: Any = "LT") -> Callable[[Any], list[ir.Value]]:
    return lambda a: ops.sort([a(*shape, dtype=dtype) for *shape, dtype in operands], dimension, comparator)


@rewrite("stablehlo.sort",
         example=(_sorted((1400, 3, "int32")), _sorted((9, 500, "int64"), dimension=0), _sorted((2100, 2, "uint8")),
                  _sorted((400, 4, "float32"), comparator=loosely), _sorted((600, 7, "float64"), comparator="GT"),
                  _sorted((300, 4, "int16"), (300, 4, "float32"))),
         counter=(_sorted((4, 4, "int32")), _sorted((40, 200, "int32"))))
def short_rows_are_sorted_by_a_network(site: Site):
    """sort(x) along few elements = exchanges of pairs of them, the same for all rows"""
    order, operands, dimension = order_of(site.op), site.operands, dimension_of(site.op)
    if order is None:
        return None
    shape = shape_of(operands[0])
    alone = len(operands) == 1 and order.strict
    if not _pays(shape[dimension], size(shape), alone):
        return None
    row = (*shape[:dimension], *shape[dimension + 1:])
    columns = [[term_at(v, {dimension: k}, row) for k in range(shape[dimension])] for v in operands]
    if alone:
        _sort_alone(columns[0], order)
    else:
        _sort_together(columns, order)
    return [_put_together(each, dimension) for each in columns]


@rewrite("chlo.top_k", example=(lambda a: greatest(a(250, 5, dtype="float32"), 2),
                                lambda a: greatest(a(200, 6, dtype="int32"), 6)),
         counter=(lambda a: greatest(a(4, 4, dtype="int32"), 2), lambda a: greatest(a(40, 200, dtype="int32"), 2)))
def greatest_of_short_rows_by_a_network(site: Site):
    """top_k(x) along few elements = the first of what exchanges of pairs of them, with their places, put in order"""
    (source,), count = site.operands, shape_of(site.results[0])[-1]
    *row, n = shape_of(source)
    if not _pays(n, size(shape_of(source)), False):
        return None
    values = [term_at(source, {len(row): k}, tuple(row)) for k in range(n)]
    places = [ops.constant(k, dtype_of(site.results[1]), row) for k in range(n)]
    kind = "total" if is_float(dtype_of(source)) else "signed"
    _sort_together([values, places], Order(0, kind, True))
    return [_put_together(each[:count], len(row)) for each in (values, places)]


def _pays(n: int, elements: int, alone: bool) -> bool:
    """Whether rows of n are sorted by a network. `alone`: nothing moves along, and equal keys are the same bits."""
    table = costs()
    if table is None or elements < (LEAST_ELEMENTS if alone else table.least_elements):
        return False
    return 1 < n <= (table.sort_network and table.sort_network + (IN_LOOPS if alone and becomes_loops() else 0))


def _put_together(column: Sequence[ir.Value], dimension: int) -> ir.Value:
    shape = shape_of(column[0])
    unit = (*shape[:dimension], 1, *shape[dimension:])
    return ops.concatenate([ops.reshape(v, unit) for v in column], dimension)


def _sort_alone(column: list[ir.Value], order: Order) -> None:
    """Where equal keys are the same bits, an exchange is a minimum and a maximum."""
    dtype = dtype_of(column[0])
    if is_float(dtype):
        column[:] = map(ordered_bits, column)
    for i, j in exchanges(len(column)):
        ends = ops.minimum(column[i], column[j]), ops.maximum(column[i], column[j])
        column[i], column[j] = ends[::-1] if order.descending else ends
    if is_float(dtype):
        column[:] = [from_ordered_bits(v, dtype) for v in column]


def _sort_together(columns: Sequence[list[ir.Value]], order: Order) -> None:
    """Keys with what moves along. A network keeps no order of equal keys: their places decide."""
    keys = list(columns[order.key])
    if order.kind == "canonical":
        keys = list(map(canonical, keys))
    if is_float(dtype_of(keys[0])):
        keys = list(map(ordered_bits, keys))
    places = [ops.constant(k, np.int8, shape_of(v)) for k, v in enumerate(keys)]
    direction = "GT" if order.descending else "LT"
    moved = [keys, places, *columns]
    for i, j in exchanges(len(keys)):
        earlier = ops.and_(ops.compare(keys[j], keys[i], "EQ"), ops.compare(places[j], places[i], "LT"))
        swapped = ops.or_(ops.compare(keys[j], keys[i], direction), earlier)
        for each in moved:
            each[i], each[j] = ops.select(swapped, each[j], each[i]), ops.select(swapped, each[i], each[j])
