"""Loops, branches and calls: they carry limbs, and the number of the first place that left their range."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import tensor_type
from reactant.precision.conversion import Conversion, declare
from reactant.precision.ranges import NUMBER, earlier
from reactant.precision.rules.structure import attributes_of
from reactant.precision.values import Value, flat


@declare("if", "case")
def branches(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """The operation with limbs in all of its regions."""
    types = [value.type for value in op.results]
    watch = c.watch
    if watch is not None:
        watch.settled()
    made = ops.create(op.name, results=[*c.types(types), *([] if watch is None else [tensor_type((), NUMBER)])],
                      operands=flat(operands), attributes=attributes_of(op), regions=len(op.regions))
    for old, new in zip(op.regions, made.regions, strict=True):
        ops.fill_region(new, [], partial(_branch, c, old.blocks[0]))
    results = list(made.results)
    if watch is not None:
        watch.after(results.pop())
    return c.grouped(results, types)


def _branch(c: Conversion, block: ir.Block) -> list[ir.Value]:
    if c.watch is None:
        return flat(c.block(block))
    with c.watch.inside():
        found = c.block(block)
        c.watch.given(found)
        return [*flat(found), c.watch.settled()]


@declare("while")
def loop(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """The loop with limbs."""
    if c.watch is not None and any(c.concerns(each.operation) for each in op.regions[0].blocks[0]):
        return _tested_behind(c, op, operands)
    types = [value.type for value in op.results]
    start = [*flat(operands), *([] if c.watch is None else [c.watch.settled()])]
    made = ops.create("stablehlo.while", results=[value.type for value in start], operands=start,
                      attributes=attributes_of(op), regions=2)
    count = len(flat(operands))

    def condition(*state: ir.Value) -> list[ir.Value]:
        return flat(_block(c, op.regions[0], c.grouped(state[:count], types)))

    def body(*state: ir.Value) -> list[ir.Value]:
        given = c.grouped(state[:count], types)
        if c.watch is None:
            return flat(_block(c, op.regions[1], given))
        with c.watch.inside():
            found = _block(c, op.regions[1], given)
            c.watch.given(found)
            return [*flat(found), earlier(state[count], c.watch.settled())]

    for region, content in zip(made.regions, (condition, body), strict=True):
        ops.fill_region(region, [value.type for value in start], content)
    if c.watch is not None:
        c.watch.code = made.results[count]
    return c.grouped(list(made.results)[:count], types)


def _tested_behind(c: Conversion, op: ir.Operation, operands: Sequence[Value]) -> list[Value]:
    """A loop whose condition is computed before it and at the end of each iteration: what leaves the range there can be
    told no other way."""
    assert c.watch is not None
    watch, types = c.watch, [value.type for value in op.results]
    going = flat(_block(c, op.regions[0], operands))
    start = [*flat(operands), *going, watch.settled()]
    made = ops.create("stablehlo.while", results=[value.type for value in start], operands=start,
                      attributes=attributes_of(op), regions=2)

    def turn(*state: ir.Value) -> list[ir.Value]:
        with watch.inside():
            found = _block(c, op.regions[1], c.grouped(state[:-2], types))
            watch.given(found)
            again = flat(_block(c, op.regions[0], found))
            return [*flat(found), *again, earlier(state[-1], watch.settled())]
    ops.fill_region(made.regions[0], [value.type for value in start], lambda *state: state[-2])
    ops.fill_region(made.regions[1], [value.type for value in start], turn)
    watch.code = made.results[len(start) - 1]
    return c.grouped(list(made.results)[:-2], types)


def _block(c: Conversion, region: ir.Region, values: Sequence[Value]) -> list[Value]:
    """What a region makes of values."""
    c.values.update(zip(region.blocks[0].arguments, values, strict=True))
    return c.block(region.blocks[0])


@declare("func.call")
def call(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """A call of a private function, which takes limbs and gives them."""
    types = [value.type for value in op.results]
    return c.grouped(ops.call(op.attributes["callee"].value, flat(operands), c.types(types)), types)
