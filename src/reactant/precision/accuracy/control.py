"""Loops, branches and sorts, which carry numbers beside their companions; the program's own numbers decide."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import dtype_of, shape_of, size
from reactant.precision.accuracy import measures
from reactant.precision.accuracy.ledger import Entry, Notes
from reactant.precision.accuracy.shadow import CONTROL, DECIDING, Shadowing
from reactant.precision.accuracy.twins import digits_of, has_digits
from reactant.precision.rules.structure import attributes_of

FLOAT64, INT64 = np.dtype(np.float64), np.dtype(np.int64)
BUCKETS = 40
"""Of iterations: the first, the next two, the next four, and so on."""


def carried(s: Shadowing, values: Sequence[ir.Value], doubled: Sequence[bool]) -> list[ir.Value]:
    """Values, and behind them the parts of the companions of those that are `doubled`."""
    return [*(s.plain[v] for v in values),
            *(part for v, two in zip(values, doubled, strict=True) if two for part in s.twin.parts(s.other(v)))]


def taken(s: Shadowing, old: Sequence[ir.Value], new: Sequence[ir.Value], doubled: Sequence[bool]) -> None:
    """What `carried` gave, as what old values have become."""
    s.plain.update(zip(old, new[:len(old)], strict=True))
    left = list(new[len(old):])
    for value, two in zip(old, doubled, strict=True):
        if two:
            count = len(s.twin.parts(s.twin.widen(s.plain[value]))) if has_digits(value.type) else 1
            s.wide[value] = s.twin.whole(left[:count], dtype_of(value)) if has_digits(value.type) else left[0]
            left = left[count:]


def _doubled(s: Shadowing, values: Sequence[ir.Value]) -> list[bool]:
    return [has_digits(v.type) or v in s.wide for v in values]


def _doubled_in_loop(s: Shadowing, op: ir.Operation) -> list[bool]:
    """Which of the values that a loop carries have companions: also integers, such as the rows that a factorisation
    exchanges, and what is computed of them."""
    body = op.regions[1].blocks[0]
    doubled = _doubled(s, op.operands)
    while True:
        reached = {a for a, two in zip(body.arguments, doubled, strict=True) if two and not has_digits(a.type)}
        reached |= {v for v in modules.captured(op) if v in s.wide and not has_digits(v.type)}
        for each in modules.walk(op):
            if each.name not in DECIDING and any(v in reached for v in (*each.operands, *modules.captured(each))):
                reached |= {r for r in each.results if not has_digits(r.type)}
        last = body.operations[len(body.operations) - 1]
        found = [two or v in reached for two, v in zip(doubled, last.operands, strict=True)]
        if found == doubled:
            return found
        doubled = found


def _holder(count: int) -> ir.Operation:
    """What blocks are built in until the types are known of what they belong to."""
    return ops.create("stablehlo.case", results=[], operands=[], regions=count)


def _block(region: ir.Region, types: Sequence[ir.Type]) -> ir.Block:
    return region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))


def branches(s: Shadowing, op: ir.Operation) -> None:
    """`if` and `case`: each branch measures its own operations; of the others there is nothing."""
    holder = _holder(len(op.regions))
    returned, vectors_of, notes = [], [], []
    for old, new in zip(op.regions, holder.regions, strict=True):
        block = _block(new, ())
        with ir.InsertionPoint(block), s.noting() as noted:
            returned.append(s.block(old.blocks[0]))
            s.ledger.flush()
            vectors_of.append(noted.vectors())
        notes.append(noted)
    doubled = [any(each) for each in zip(*(_doubled(s, each) for each in returned), strict=True)]
    results = []
    for values, vectors, new in zip(returned, vectors_of, holder.regions, strict=True):
        with ir.InsertionPoint(new.blocks[0]):
            results.append([*carried(s, values, doubled), *vectors])
    for k, new in enumerate(holder.regions):
        with ir.InsertionPoint(new.blocks[0]):
            mine = results[k][-2:]
            vectors = [ops.concatenate([mine[way] if j == k else ops.constant(0.0, FLOAT64, shape_of(results[j][way]))
                                        for j, way in ((j, way - 2) for j in range(len(results)))], 0)
                       for way in range(2)]
            ops.create("stablehlo.return", results=[], operands=[*results[k][:-2], *vectors])
    types = [v.type for v in new.blocks[0].operations[len(new.blocks[0].operations) - 1].operands]
    made = ops.create(op.name, results=types, operands=[s.plain[v] for v in op.operands],
                      attributes=attributes_of(op), regions=len(op.regions))
    _move(holder, made)
    *found, largest, counted = made.results
    taken(s, list(op.results), found, doubled)
    s.notes.add([entry for noted in notes for entry in noted.entries], largest, counted)


def _move(holder: ir.Operation, made: ir.Operation) -> None:
    for old, new in zip(holder.regions, made.regions, strict=True):
        old.blocks[0].append_to(new)
    holder.erase()


def loop(s: Shadowing, op: ir.Operation) -> None:
    """`while`: measures are carried too, and the errors of what is carried, by the number of iterations."""
    condition, body = (region.blocks[0] for region in op.regions)
    doubled = _doubled_in_loop(s, op)
    place, start = file_and_line(op.location), carried(s, op.operands, doubled)
    holder = _holder(2)
    test = _block(holder.regions[0], [v.type for v in start])
    work = _block(holder.regions[1], [v.type for v in start])
    with ir.InsertionPoint(test):
        alone = dict(s.plain)
        alone.update(zip(condition.arguments, list(test.arguments)[:len(op.operands)], strict=True))
        for each in condition:
            modules.clone_with(each.operation, alone)
    with ir.InsertionPoint(work), s.noting() as noted:
        given = list(work.arguments)
        taken(s, list(condition.arguments), given, doubled)
        asked = _asked(s, condition)
        taken(s, list(body.arguments), given, doubled)
        returned = s.block(body)
        results = carried(s, returned, doubled)
        wrong = _largest_error(s, returned)
        noted.add(asked.entries, *asked.vectors())
        extra = noted.vectors()
    vectors = _finish(test, work, results, extra, wrong)
    zeros = [ops.constant(0.0 if dtype_of(v) == FLOAT64 else 0, dtype_of(v), shape_of(v)) for v in vectors]
    made = ops.create(op.name, results=[v.type for v in (*start, *zeros)], operands=[*start, *zeros],
                      attributes=attributes_of(op), regions=2)
    _move(holder, made)
    found = list(made.results)
    largest, counted, history, _ = found[len(start):]
    taken(s, list(op.results), found[:len(start)], doubled)
    digits = max([digits_of(dtype_of(v)) for v in op.operands if has_digits(v.type)], default=0)
    s.notes.add([*noted.entries, Entry("loop", place, op.name, digits, BUCKETS, 0)],
                ops.concatenate([largest, history], 0), counted)
    _ask_at_the_end(s, found, condition, doubled)


def _asked(s: Shadowing, condition: ir.Block) -> Notes:
    """What is measured of a loop's condition, whose values are known."""
    with s.noting() as noted:
        s.block(condition)
    return noted


def _ask_at_the_end(s: Shadowing, found: Sequence[ir.Value], condition: ir.Block, doubled: Sequence[bool]) -> None:
    """The last time that the condition is asked, when it does not hold."""
    taken(s, list(condition.arguments), found[:len(found) - 4], doubled)
    noted = _asked(s, condition)
    s.notes.add(noted.entries, *noted.vectors())


def _largest_error(s: Shadowing, values: Sequence[ir.Value]) -> ir.Value:
    """Of arrays that a loop carries on, as parts of their largest elements; measures what waits."""
    asked = [v for v in values if has_digits(v.type) and size(shape_of(v))]
    s.ledger.ask(*asked)
    s.ledger.flush()
    worst = ops.constant(0.0, FLOAT64)
    for known in filter(None, map(s.ledger.find, asked)):
        worst = ops.maximum(worst, ops.reshape(measures.picked(known.measured.of_largest, [known.places]), ()))
    return worst


def _finish(test: ir.Block, work: ir.Block, results: Sequence[ir.Value], extra: Sequence[ir.Value],
            wrong: ir.Value) -> list[ir.Value]:
    """End a loop's body; gives values like those that it carries more."""
    with ir.InsertionPoint(work):
        shapes = [*extra, ops.constant(0.0, FLOAT64, (BUCKETS,)), ops.constant(0, INT64)]
        for block in (test, work):
            before = [block.add_argument(v.type, ir.Location.current) for v in shapes]
        largest, counted, history, number = before
        now = ops.add(number, 1)
        bucket = ops.subtract(63, ops.count_leading_zeros(now))
        here = ops.compare(ops.iota((BUCKETS,), INT64, 0), ops.broadcast_in_dim(bucket, (BUCKETS,), ()), "EQ")
        new = ops.select(here, ops.broadcast_in_dim(wrong, (BUCKETS,), ()),
                         ops.constant(0.0, FLOAT64, (BUCKETS,)))
        ops.create("stablehlo.return", results=[], operands=[
            *results, ops.maximum(largest, extra[0]), ops.add(counted, extra[1]), ops.maximum(history, new), now])
    return [v for v in shapes]


def sort(s: Shadowing, op: ir.Operation) -> None:
    """In the order of the program's own numbers, with companions on the way."""
    old = op.regions[0].blocks[0]
    doubled = _doubled(s, op.operands)
    values = carried(s, op.operands, doubled)
    made = ops.create(op.name, results=[v.type for v in values], operands=values, attributes=attributes_of(op),
                      regions=1)
    types = [ir.RankedTensorType.get([], ir.RankedTensorType(v.type).element_type) for v in values for _ in range(2)]
    with ir.InsertionPoint(_block(made.regions[0], types)) as point:
        mapping = s.plain | dict(zip(old.arguments, point.block.arguments, strict=False))
        for each in old:
            modules.clone_with(each.operation, mapping)
    taken(s, list(op.results), list(made.results), doubled)


CONTROL.update({"stablehlo.while": loop, "stablehlo.if": branches, "stablehlo.case": branches, "stablehlo.sort": sort})
