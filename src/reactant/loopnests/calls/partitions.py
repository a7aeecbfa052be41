"""`np.partition` and `np.argpartition` of NumPy programs as calls of NumPy's own, which puts elements into any order
beside the places that are asked for.

StableHLO says which elements are less than those places', equal or greater, and sorts by that, stably: what derivatives
and other devices compute. Here the whole is found again by what it is made of, and nothing else is taken for it.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.orders import Order, order_of
from reactant.ir.types import dtype_of, shape_of, size, tensor_type
from reactant.loopnests.sorts.sort_keys import BITS
from reactant.loopnests.sorts.sort_values import erase_unused, keys_of
from reactant.native import numpy_partitions
from reactant.support.records import dataclass


@dataclass
class Partition:
    """The elements, along which dimension, the places asked for, whether indices are wanted, the ops that are made for
    it, readers first."""

    source: ir.Value
    dimension: int
    kth: tuple[int, ...]
    index: bool
    behind: list[ir.Operation]


def partition_of(op: ir.Operation) -> Partition | None:
    """What a sort by classes divides; None for other sorts."""
    if op.name != "stablehlo.sort" or len(op.operands) != 2 or any(True for _ in op.results[0].uses) \
            or order_of(op) != Order(0, "unsigned", False) or dtype_of(op.operands[0]) != np.uint8:
        return None
    classes, moved = op.operands
    dimension = attr.decode(op.attributes["dimension"]) % len(shape_of(classes))
    tests, made = _tests(classes)
    keys = {test.operands[0] for test in tests}
    found = [_place(test, dimension) for test in tests]
    if len(keys) != 1 or None in found or len({f[1] for f in found if f is not None}) != 1:
        return None
    key = keys.pop()
    places: dict[int, list[str]] = {}
    for test, place in zip(tests, found, strict=True):
        places.setdefault(place[0], []).append(attr.decode(test.attributes["comparison_direction"]))  # type: ignore
    ordered = found[0][1]           # type: ignore[index]
    if any(sorted(directions) != ["GE", "GT"] for directions in places.values()) \
            or len(places) > numpy_partitions.MOST or ordered.owner.operands[0] != key:
        return None
    floats = keys_of(key)
    source = floats.source if floats is not None else key
    index = moved != source
    if index and not _counts(moved, dimension) or dtype_of(source).num not in numpy_partitions.DTYPES \
            or floats is None and dtype_of(source).kind not in "iu":
        return None
    made += [op_ for f in found if f is not None for op_ in f[2]]
    return Partition(source, dimension, tuple(sorted(places)), index,
                     [*made, ordered.owner, *(reversed(floats.before) if floats is not None else ())])


def _tests(classes: ir.Value) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """The comparisons that are added up, and the ops that do it, readers first."""
    tests, made, left = [], [], [classes]
    while left:
        op = left.pop().owner
        if isinstance(op, ir.Block) or op.name not in ("stablehlo.add", "stablehlo.convert", "stablehlo.compare"):
            return [], []
        made.append(op)
        if op.name == "stablehlo.compare":
            tests.append(op)
        else:
            left += op.operands
    return tests, made


def _place(test: ir.Operation, dimension: int) -> tuple[int, ir.Value, list[ir.Operation]] | None:
    """(place, sorted keys, ops) of a comparison with all elements at one place of what is sorted."""
    made, value = [], test.operands[1]
    while not isinstance(value.owner, ir.Block) and value.owner.name in ("stablehlo.broadcast_in_dim",
                                                                         "stablehlo.reshape"):
        made.append(value.owner)
        value = value.owner.operands[0]
    op = value.owner
    if isinstance(op, ir.Block) or op.name != "stablehlo.slice" or len(made) > 2:
        return None
    shape, kept = shape_of(op.operands[0]), shape_of(op.results[0])
    low = attr.decode(op.attributes["start_indices"])
    whole = [1 if d == dimension else n for d, n in enumerate(shape)]
    if list(kept) != whole or any(low[d] for d in range(len(shape)) if d != dimension) or not _spread(made, dimension):
        return None
    ordered = op.operands[0]
    if isinstance(ordered.owner, ir.Block) or ordered.owner.name != "stablehlo.sort" \
            or len(ordered.owner.operands) != 1 \
            or attr.decode(ordered.owner.attributes["dimension"]) % len(shape) != dimension:
        return None
    order = order_of(ordered.owner)
    if order is None or order.descending or order.kind not in ("signed", "unsigned"):
        return None
    return low[dimension], ordered, [*made, op]


def _spread(made: list[ir.Operation], dimension: int) -> bool:
    """Whether these repeat what has one element along a dimension along it, and nothing else."""
    if not made:
        return False
    op, rank = made[0], len(shape_of(made[0].results[0]))
    if op.name != "stablehlo.broadcast_in_dim":
        return False
    others = [d for d in range(rank) if d != dimension]
    dimensions = list(attr.decode(op.attributes["broadcast_dimensions"]))
    if len(made) == 1:
        return dimensions == list(range(rank))
    given = shape_of(made[1].operands[0])
    return made[1].name == "stablehlo.reshape" and dimensions == others \
        and [n for d, n in enumerate(given) if d != dimension] == list(shape_of(made[1].results[0]))


def _counts(value: ir.Value, dimension: int) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.iota" \
        and attr.decode(value.owner.attributes["iota_dimension"]) == dimension and dtype_of(value) == np.int64


def replaced(op: ir.Operation, found: Partition) -> str:
    """Put a call in the place of a sort; a line about it."""
    shape, last = shape_of(found.source), len(shape_of(found.source)) - 1
    order = [*(d for d in range(last + 1) if d != found.dimension), found.dimension]
    turned = tuple(shape[d] for d in order)
    dtype = dtype_of(found.source)
    function = native.compile(modules.parse(_text(turned, dtype, found.kth, found.index)),
                              roles=["in", "out"], where=f"partition at {op.location}")
    with ir.InsertionPoint(op), op.location:
        given = ops.transpose(found.source, order) if found.dimension != last else found.source
        made = function.custom_call([given], [tensor_type(turned, np.dtype(np.int64) if found.index else dtype)])[0]
        if found.dimension != last:
            made = ops.transpose(made, [order.index(d) for d in range(last + 1)])
    op.results[1].replace_all_uses_with(made)
    op.erase()
    erase_unused(found.behind)
    length = shape[found.dimension]
    return f"compiled natively: partition of {size(shape) // length} x {length} by NumPy's"


def _text(shape: tuple[int, ...], dtype: np.dtype, kth: tuple[int, ...], index: bool) -> str:
    """The function: where each element of the rows comes from, or a copy of the rows, in order."""
    elements = size(shape)
    memory, places = f"memref<{elements}x{BITS[dtype.itemsize]}>", f"memref<{elements}xi64>"
    numbers = [elements // shape[-1], shape[-1], dtype.num, len(kth), *kth, *[0] * (numpy_partitions.MOST - len(kth))]
    routine = numpy_partitions.PREFIX + ("places" if index else "values")
    kinds = ", ".join([memory, *([places] if index else []), *["index"] * len(numbers)])
    given = ", ".join([*(["%in", "%out"] if index else ["%out"]), *(f"%n{k}" for k in range(len(numbers)))])
    copied = [] if index else [
        "%zero = arith.constant 0 : index", "%one = arith.constant 1 : index",
        f"%end = arith.constant {elements} : index", "scf.for %i = %zero to %end step %one {",
        f"%x = memref.load %in[%i] : {memory}", f"memref.store %x, %out[%i] : {memory}", "}"]
    return "\n".join([
        f"func.func private @{routine}({kinds})",
        f"func.func @partition(%in: {memory}, %out: {places if index else memory}) {{",
        *(f"%n{k} = arith.constant {n} : index" for k, n in enumerate(numbers)), *copied,
        f"func.call @{routine}({given}) : ({kinds}) -> ()", "return", "}"])
