"""Places of extremes along rows of arguments (`argmax`, `argmin`) by NumPy's own functions.

StableHLO takes the least place of what equals the extreme, or is NaN. Written as loops that is two passes over each row
and comparisons of floats that choose integers of another width: 2.3 ns a float64 on one core, NumPy's vectors 1.1.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of, size, tensor_type
from reactant.loopnests.emission.writer import parallel_end
from reactant.loopnests.sorts.sort_keys import BITS, GROUPS
from reactant.loopnests.sorts.sort_values import erase_unused
from reactant.native import numpy_extremes
from reactant.support.records import dataclass

REDUCE = "stablehlo.reduce"
LEAST, MOST_ALONE = 1 << 8, 1 << 17
"""Elements from which a call pays; elements of one row up to which one thread is as fast as several."""
LEAST_SHARED = 1 << 24
"""Bytes from which several threads share the rows: reading takes as long as waking them for less."""


@dataclass
class Place:
    """The rows as they lie, which function, the ops that are made for it, readers first, and the order in which the
    reduction has the rows' dimensions."""

    rows: ir.Value
    kind: str
    behind: list[ir.Operation]
    order: tuple[int, ...]


def place_of(op: ir.Operation) -> Place | None:
    """What a reduction to the least place looks for in the rows of an argument; None for other reductions."""
    if _reduced(op) != "minimum" or not _made_by(op.operands[0], "select"):
        return None
    chosen = op.operands[0].owner
    test, places, most = chosen.operands
    if not _made_by(places, "iota") or not _is_most(most) or not _is_most(op.operands[1]):
        return None
    along = attr.decode(places.owner.attributes["iota_dimension"])
    if list(attr.decode(op.attributes["dimensions"])) != [along]:
        return None
    parts = list(test.owner.operands) if _made_by(test, "or") else [test]
    compared = {_direction(part): part.owner for part in parts if _made_by(part, "compare")}
    if set(compared) not in ({"EQ"}, {"EQ", "NE"}) or len(compared) != len(parts):
        return None
    seen, spread = compared["EQ"].operands
    rows, order = _as_they_lie(seen)
    last = len(order) - 1
    if isinstance(spread.owner, ir.Block) or not isinstance(rows.owner, ir.Block) or order[along] != last:
        return None
    if dtype_of(rows).kind == "f" and ("NE" not in compared or list(compared["NE"].operands) != [seen, seen]) \
            or dtype_of(rows).kind != "f" and "NE" in compared:
        return None
    if not _made_by(spread, "broadcast_in_dim"):
        return None
    found, inner = _as_they_lie(spread.owner.operands[0])
    if isinstance(found.owner, ir.Block):
        return None
    dimensions = attr.decode(spread.owner.attributes["broadcast_dimensions"])
    extreme, spread_over = found.owner, [dimensions[inner.index(d)] for d in range(len(inner))]
    body, others = _reduced(extreme), [d for d in range(last + 1) if d != along]
    ways = ((seen, along, others), (rows, last, [order.index(d) for d in range(last)]))
    if body not in ("maximum", "minimum") or not _changes_nothing(extreme, body) or not any(
            extreme.operands[0] == value and list(attr.decode(extreme.attributes["dimensions"])) == [dimension]
            and spread_over == over for value, dimension, over in ways):
        return None
    kind, shape = "argmax" if body == "maximum" else "argmin", shape_of(rows)
    if f"numpy.{kind}.{dtype_of(rows).name}" not in numpy_extremes.addresses() or size(shape) < LEAST \
            or size(shape) == shape[-1] > MOST_ALONE:
        return None
    behind = [op, chosen, test.owner, *compared.values(), spread.owner, spread.owner.operands[0].owner, extreme]
    return Place(rows, kind, list(dict.fromkeys(behind + [seen.owner] * (seen != rows))),
                 tuple(order[d] for d in others))


def _as_they_lie(value: ir.Value) -> tuple[ir.Value, tuple[int, ...]]:
    """What a value is a transposition of, and the dimensions of that in its order; itself where it is none."""
    if not _made_by(value, "transpose"):
        return value, tuple(range(len(shape_of(value))))
    return value.owner.operands[0], tuple(attr.decode(value.owner.attributes["permutation"]))


def _made_by(value: ir.Value, name: str) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == f"stablehlo.{name}"


def _direction(compare: ir.Value) -> str:
    return str(attr.decode(compare.owner.attributes["comparison_direction"]))


def _is_most(value: ir.Value) -> bool:
    number = ops.constant_value(value)
    return number is not None and number.dtype.kind == "i" and bool((number == np.iinfo(number.dtype).max).all())


def _reduced(op: ir.Operation) -> str:
    """The operation that a reduction of one array does, if it is one op on both its arguments."""
    if op.name != REDUCE or len(op.operands) != 2:
        return ""
    block = op.regions[0].blocks[0]
    inner = [each.operation for each in block.operations]
    if len(inner) != 2 or set(inner[0].operands) != set(block.arguments) or len(inner[0].results) != 1 \
            or list(inner[1].operands) != list(inner[0].results):
        return ""
    return str(inner[0].name.removeprefix("stablehlo."))


def _changes_nothing(op: ir.Operation, body: str) -> bool:
    """Whether a reduction begins with what is no extreme."""
    start = ops.constant_value(op.operands[1])
    if start is None or start.dtype.kind not in "iuf":
        return False
    if start.dtype.kind == "f":
        return bool(np.isinf(start).all() and (start < 0).all() == (body == "maximum"))
    info = np.iinfo(start.dtype)
    return bool((start == (info.min if body == "maximum" else info.max)).all())


def replaced(op: ir.Operation, found: Place) -> str:
    """Put a call in the place of a reduction; a line about it."""
    shape, dtype = shape_of(found.rows), dtype_of(found.rows)
    function = native.compile(modules.parse(_text(shape, dtype, found.kind)), roles=["in", "out"],
                              where=f"{found.kind} at {op.location}")
    with ir.InsertionPoint(op), op.location:
        made = function.custom_call([found.rows], [tensor_type(tuple(shape[:-1]), np.dtype(np.int64))])[0]
        made = made if list(found.order) == sorted(found.order) else ops.transpose(made, found.order)
        uses = [use.owner.operation for use in op.results[0].uses]
        wider = {user.results[0]: user for user in uses
                 if user.name == "stablehlo.convert" and dtype_of(user.results[0]) == np.int64}
        for result in wider:
            result.replace_all_uses_with(made)
        if len(wider) < len({user.results[0] for user in uses if len(user.results)}) or not uses or any(
                not len(user.results) for user in uses):
            op.results[0].replace_all_uses_with(ops.convert(made, dtype_of(op.results[0])))
    erase_unused([*wider.values(), *found.behind])
    return f"compiled natively: {found.kind} of {size(shape) // shape[-1]} x {shape[-1]} by NumPy's"


def _text(shape: tuple[int, ...], dtype: np.dtype, kind: str) -> str:
    """The function."""
    length, elements = shape[-1], size(shape)
    rows = elements // length
    groups = min(rows, GROUPS) if elements * dtype.itemsize >= LEAST_SHARED else 1
    begin, end = ("scf.parallel (%g) = (%zero) to (%groups) step (%one) {", parallel_end(elements / groups)) \
        if groups > 1 else ("scf.for %g = %zero to %groups step %one {", "}")
    memory, item = f"memref<{elements}x{BITS[dtype.itemsize]}>", BITS[dtype.itemsize]
    part, place = f"memref<?x{item}, strided<[1], offset: ?>>", "memref<?xi64, strided<[1], offset: ?>>"
    routine, kinds = f"numpy.{kind}.{dtype.name}", f"{part}, index, {place}"
    return "\n".join([
        f"func.func private @{routine}({kinds})", f"func.func @extreme(%in: {memory}, %out: memref<{rows}xi64>) {{",
        "%zero = arith.constant 0 : index", "%one = arith.constant 1 : index",
        f"%n = arith.constant {length} : index", f"%rows = arith.constant {rows} : index",
        f"%groups = arith.constant {groups} : index", f"%each = arith.constant {-(-rows // groups)} : index",
        begin, "%first = arith.muli %g, %each : index",
        "%after = arith.addi %first, %each : index", "%last = arith.minsi %after, %rows : index",
        "scf.for %row = %first to %last step %one {", "%at = arith.muli %row, %n : index",
        f"%part = memref.subview %in[%at] [%n] [1] : {memory} to {part}",
        f"%place = memref.subview %out[%row] [%one] [1] : memref<{rows}xi64> to {place}",
        f"func.call @{routine}(%part, %n, %place) : ({kinds}) -> ()", "}", end, "return", "}"])
