"""What the leaves of expressions are while a program runs: ranges of all, and samples of some elements.

The program is given further results. Each expression has a state (how often it was computed, a table of samples, the
least and the largest value of each leaf), which goes through loops and branches beside what they carry. Which rows of a
loop stay is reservoir sampling (Vitter, "Random sampling with a reservoir", ACM TOMS 1985), with a hash for the random
number, so that two runs record the same.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import shape_of, size
from reactant.precision.improvement.expressions import Array
from reactant.precision.improvement.regions import ENTERED, Place, places

ROWS, ELEMENTS = 32, 256
"""Times that an expression in a loop is sampled, and elements of an array in all."""


class Profile(NamedTuple):
    """samples: for each leaf as many values, of the same elements. low, high: of all elements, NaN left out."""

    samples: tuple[Array, ...]
    low: Array
    high: Array


def instrumented(module: ir.Module) -> list[Place]:
    """Give `@main` four further results for each of its expressions, in place; what the expressions are."""
    found = [each for each in places(module) if size(shape_of(each.leaves[0]))]
    main = modules.function(module)
    block = main.regions[0].blocks[0]
    looped = [each.op.block != block for each in found]
    start = block.operations[0]
    with ir.InsertionPoint(start), ir.Location.unknown():
        state = [value for place, often in zip(found, looped, strict=True) for value in _start(place, often)]
    final = _Threading(found).through(block, state)
    _return(block, final)
    kinds = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    main.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(kinds.inputs, [*kinds.results, *(each.type for each in final)]))
    if "res_attrs" in main.attributes:
        del main.attributes["res_attrs"]
    return found


def profiles(found: Sequence[Place], results: Sequence[Array]) -> list[Profile | None]:
    """From the further results; None for what was not computed at all."""
    told: list[Profile | None] = []
    for k, place in enumerate(found):
        count, table, low, high = (np.asarray(each) for each in results[4 * k:4 * k + 4])
        rows = min(int(count), table.shape[0] - 1)
        samples = table[:rows].transpose(1, 0, 2).reshape(len(place.leaves), -1)
        told.append(Profile(tuple(samples), low, high) if samples.size else None)
    return told


def merged(several: Sequence[Profile | None]) -> Profile | None:
    """One profile of several runs, or of several places of one expression."""
    there = [each for each in several if each is not None]
    if not there:
        return None
    samples = tuple(np.concatenate(each) for each in zip(*(each.samples for each in there), strict=True))
    return Profile(samples, np.min([each.low for each in there], axis=0), np.max([each.high for each in there], axis=0))


def _start(place: Place, often: bool) -> list[ir.Value]:
    count = len(place.leaves)
    elements = size(shape_of(place.leaves[0]))
    rows, columns = (ROWS, max(1, min(elements, ELEMENTS // ROWS))) if often else (1, min(elements, ELEMENTS))
    dtype = place.dtype
    return [ops.constant(0, np.int32), ops.constant(0.0, dtype, (rows + 1, count, columns)),
            ops.constant(np.inf, dtype, (count,)), ops.constant(-np.inf, dtype, (count,))]


class _Threading:
    """The states of all places, on their way through blocks."""

    def __init__(self, found: Sequence[Place]):
        self.place_of = {each.op: (4 * k, each) for k, each in enumerate(found)}

    def through(self, block: ir.Block, state: list[ir.Value]) -> list[ir.Value]:
        """What the state is at the end of a block."""
        for op in [each.operation for each in block.operations]:
            if op in self.place_of:
                at, place = self.place_of[op]
                with ir.InsertionPoint.after(op), ir.Location.unknown():
                    state = [*state[:at], *_noted(place, state[at:at + 4]), *state[at + 4:]]
            elif op.name in ENTERED and any(inner in self.place_of for inner in modules.walk(op)):
                state = self._loop(op, state) if op.name == "stablehlo.while" else self._branches(op, state)
        return state

    def _loop(self, op: ir.Operation, state: list[ir.Value]) -> list[ir.Value]:
        new = _with_more(op, [*op.operands, *state], state)
        kinds = [each.type for each in state]
        for number, region in enumerate(new.regions):
            block = region.blocks[0]
            inner = [block.add_argument(kind, ir.Location.unknown()) for kind in kinds]
            if number == 1:
                _return(block, self.through(block, inner))
        return _taken_over(op, new)

    def _branches(self, op: ir.Operation, state: list[ir.Value]) -> list[ir.Value]:
        new = _with_more(op, list(op.operands), state)
        for region in new.regions:
            _return(region.blocks[0], self.through(region.blocks[0], state))
        return _taken_over(op, new)


def _with_more(op: ir.Operation, operands: list[ir.Value], state: list[ir.Value]) -> ir.Operation:
    """The operation again, with the same regions and further results."""
    kinds = [*(each.type for each in op.results), *(each.type for each in state)]
    attributes = {getattr(each, "name", each): op.attributes[getattr(each, "name", each)] for each in op.attributes}
    with ir.InsertionPoint(op), op.location:
        new = ir.Operation.create(op.name, results=kinds, operands=operands, attributes=attributes,
                                  regions=len(op.regions))
    for old_region, region in zip(op.regions, new.regions, strict=True):
        old_region.blocks[0].append_to(region)
    return new


def _taken_over(op: ir.Operation, new: ir.Operation) -> list[ir.Value]:
    count = len(op.results)
    for old, fresh in zip(op.results, list(new.results)[:count], strict=True):
        old.replace_all_uses_with(fresh)
    op.erase()
    return list(new.results)[count:]


def _return(block: ir.Block, more: Sequence[ir.Value]) -> None:
    """Let a block return further values."""
    last = list(block.operations)[-1].operation
    with ir.InsertionPoint(last), last.location:
        ir.Operation.create(last.name, results=[], operands=[*last.operands, *more])
    last.erase()


def _noted(place: Place, state: Sequence[ir.Value]) -> list[ir.Value]:
    """The state after an expression has been computed once more."""
    count, table, low, high = state
    rows, leaves, columns = shape_of(table)
    flat = [ops.reshape(each, (size(shape_of(each)),)) for each in place.leaves]
    step = max(1, shape_of(flat[0])[0] // columns)
    taken = [ops.reshape(ops.slice(each, (0,), (step * (columns - 1) + 1,), (step,)), (1, 1, columns)) for each in flat]
    row = taken[0] if leaves == 1 else ops.concatenate(taken, 1)
    zero = ops.constant(0, np.int32)
    slot = ops.minimum(_hashed(count), ops.constant(rows - 1, np.int32))
    return [ops.add(count, ops.constant(1, np.int32)), ops.dynamic_update_slice(table, row, [slot, zero, zero]),
            ops.minimum(low, _extremes(flat, "minimum", np.inf)),
            ops.maximum(high, _extremes(flat, "maximum", -np.inf))]


def _hashed(count: ir.Value) -> ir.Value:
    """A number below count + 1: the first rows as they come, then one that looks random."""
    early = ops.compare(count, ops.constant(ROWS, np.int32), "LT")
    mixed = ops.multiply(ops.xor(count, ops.shift_right_logical(count, ops.constant(7, np.int32))),
                         ops.constant(-1640531527, np.int32))
    mixed = ops.shift_right_logical(mixed, ops.constant(1, np.int32))
    return ops.select(early, count, ops.remainder(mixed, ops.add(count, ops.constant(1, np.int32))))


def _extremes(flat: Sequence[ir.Value], which: str, neutral: float) -> ir.Value:
    found = []
    for each in flat:
        known = ops.select(ops.compare(each, each, "EQ"), each, ops.splat(neutral, each))
        found.append(ops.reshape(ops.reduce(known, neutral, (0,), which), (1,)))
    return found[0] if len(found) == 1 else ops.concatenate(found, 0)
