"""Reductions, windows, sorts and scatters, whose regions take limbs.

Sums and products are done in a tree of elementwise operations: errors grow with its depth, not with the number of
elements, and processors work on many at once.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_and_dtype, size, tensor_type
from reactant.precision.conversion import Conversion, declare
from reactant.precision.rules.structure import attributes_of
from reactant.precision.values import Value, flat

BRANCHES = 8
"""Elements that are taken together in one pass over memory."""
TREES = ("stablehlo.add", "stablehlo.multiply")


@declare("reduce")
def reduce(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """By a tree where it is a sum or product; else with the region on limbs."""
    if len(operands) == 2 and _combiner(op) in TREES:
        return [_tree(c, op, *operands)]
    return _with_region(c, op, operands)


@declare("reduce_window", "scatter")
def windows(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """With the region on limbs."""
    return _with_region(c, op, operands)


def _with_region(c: Conversion, op: ir.Operation, operands: tuple[Value, ...]) -> list[Value]:
    types = [value.type for value in op.results]
    made = ops.create(op.name, results=c.types(types), operands=flat(operands), attributes=attributes_of(op),
                      regions=1)
    c.region(op.regions[0], made.regions[0])
    return c.grouped(list(made.results), types)


def _combiner(op: ir.Operation) -> str | None:
    """The operation that a region of one operation does with its two arguments."""
    block = op.regions[0].blocks[0]
    body = [each.operation for each in block.operations]
    if len(body) == 2 and set(body[0].operands) == set(block.arguments) and \
            list(body[1].operands) == list(body[0].results):
        return body[0].name
    return None


def _tree(c: Conversion, op: ir.Operation, x: Value, init: Value) -> Value:
    removed = tuple(attr.decode(op.attributes["dimensions"]))
    shape = x.shape
    kept = [d for d in range(len(shape)) if d not in removed]
    rest = tuple(shape[d] for d in kept)
    count = size([shape[d] for d in removed])

    def gathered(limb: ir.Value) -> ir.Value:
        return ops.reshape(ops.transpose(limb, (*removed, *kept)), (count, *rest))

    def part(value: Value, start: int, stop: int) -> Value:
        return value.each(lambda limb: ops.slice(limb, (start, *[0] * len(rest)), (stop, *rest)))

    start = init.each(lambda limb: ops.broadcast_in_dim(limb, rest, ()))
    if not count or not size(rest):
        return start
    total = x.each(gathered)
    while count > 1:
        ways = min(BRANCHES, count)
        block, over = divmod(count, ways)
        parts = [part(total, k * block, (k + 1) * block) for k in range(ways)]
        while len(parts) > 1:
            parts = [c.combined(op.regions[0], *parts[k:k + 2])[0] if k + 1 < len(parts) else parts[k]
                     for k in range(0, len(parts), 2)]
        left = part(total, ways * block, count) if over else None
        total = _separate(c, op, parts[0])
        if left is not None:
            total = _joined(c, op, total, left)
        count = block + over
    return c.combined(op.regions[0], start, total.each(lambda limb: ops.reshape(limb, rest)))[0]


def _separate(c: Conversion, op: ir.Operation, value: Value) -> Value:
    """What the next pass starts from, computed once."""
    return c.grouped(ops.optimization_barrier(*value.limbs), [op.operands[0].type])[0]


def _joined(c: Conversion, op: ir.Operation, x: Value, y: Value) -> Value:
    limbs = [ops.concatenate([a, b], 0) for a, b in zip(x.limbs, y.limbs, strict=True)]
    return c.grouped(limbs, [op.operands[0].type])[0]


@declare("sort")
def sort(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """Limbs are moved together; the comparison gets them as pairs."""
    types = [value.type for value in op.results]
    made = ops.create("stablehlo.sort", results=c.types(types), operands=flat(operands), attributes=attributes_of(op),
                      regions=1)
    old = op.regions[0].blocks[0]
    scalars = [tensor_type((), shape_and_dtype(value.type)[1]) for value in made.results for _ in range(2)]
    block = made.regions[0].blocks.append(*scalars, arg_locs=[ir.Location.current] * len(scalars))
    sides = [c.grouped([block.arguments[2 * k + side] for k in range(len(made.results))], types) for side in (0, 1)]
    with ir.InsertionPoint(block):
        c.values.update(zip(old.arguments, [side[k] for k in range(len(types)) for side in sides], strict=True))
        ops.create("stablehlo.return", results=[], operands=flat(c.block(old)))
    return c.grouped(list(made.results), types)
