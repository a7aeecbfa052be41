"""Reverse mode through loops whose iterations have a bound: one buffer with a row for each iteration for every value
kept."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops, blocks_of
from reactant.differentiate.modes.caches import DEAR, Cut
from reactant.differentiate.modes.values import Aliases, Scope, behind
from reactant.ir import modules, ops, splice
from reactant.ir.induction import Counter, Trips, counters, trips
from reactant.ir.types import dtype_of, nbytes, shape_and_dtype, shape_of
from reactant.support.records import dataclass

AGAIN = "reactant.again"
"""Attribute of a loop that the reverse sweep runs again rather than keep what it left."""
NUMBER = "reactant.number"
"""Attribute of a loop: which one of the function it is, or is made of."""
MOST = "reactant.most"
"""Attribute of a loop in a loop: its most iterations, where these follow from the counter of a loop that becomes
two."""
LARGE = 1 << 28
"""Bytes up to which what an inner loop (or branch) leaves is kept for all iterations of the outer one."""


def bound_of(loop: ir.Operation) -> Trips | None:
    """How many iterations a loop has, by itself or by what was known of it before loops were given another form."""
    found = trips(loop)
    return Trips(ir.IntegerAttr(loop.attributes[MOST]).value, False) if found is None and MOST in loop.attributes \
        else found


@dataclass
class Extended:
    """A loop with more carried values: its extra results, and the number of its iterations."""

    buffers: list[ir.Value]
    count: ir.Value


@dataclass(frozen=True)
class Kept:
    """A value with a row for each iteration; `carried`: it is carried value `carried` after the iteration, and row 0 is
    the first one, so that the buffer holds what it is before each iteration as well."""

    value: ir.Value
    carried: int | None = None


def extend(loop: ir.Operation, rows: int, kept: Sequence[Kept], aliases: Aliases) -> Extended:
    """Let a loop of the old module fill buffers and count its iterations, in place; the old op stays, unused."""
    condition, body = blocks_of(loop)
    plain = len(loop.operands)
    counter = next((c.index for c in counters(loop).values() if c.start == 0 and c.step == 1), None)

    def iterations(arguments: Sequence[ir.Value]) -> ir.Value:
        return arguments[plain if counter is None else counter]

    def copied(block: ir.Block, arguments: Sequence[ir.Value], more: Sequence[ir.Value]) -> tuple[dict, list[ir.Value]]:
        mapping: dict[ir.Value, ir.Value] = {}
        inner, returned = block_ops(block)
        needed = behind(inner, [*returned, *more], {}, effects=True).ops
        return mapping, splice.copied(block, arguments, needed, mapping)

    def step(*arguments: ir.Value) -> list[ir.Value]:
        mapping, returned = copied(body, arguments[:plain], [k.value for k in kept])
        iteration = iterations(arguments)
        own = [] if counter is not None else [ops.add(iteration, 1)]
        buffers = arguments[len(arguments) - len(kept):]
        filled = [put(buffer, mapping.get(k.value, k.value), iteration if k.carried is None else ops.add(iteration, 1))
                  for k, buffer in zip(kept, buffers, strict=True)]
        return [*returned, *own, *filled]

    with loop.location, ir.InsertionPoint(loop):
        inits = list(loop.operands)
        own = [] if counter is not None else [ops.constant(0, np.int64)]
        buffers = [_empty(rows, k, inits) for k in kept]
        results = ops.while_([*inits, *own, *buffers], lambda *a: copied(condition, a[:plain], ())[1], step)
    made = results[0].owner.operation
    for name in (AGAIN, NUMBER, MOST):
        if name in loop.attributes:
            made.attributes[name] = loop.attributes[name]
    for old, new in zip(loop.results, results, strict=False):
        old.replace_all_uses_with(new)
        aliases[old] = new
    return Extended(results[len(results) - len(kept):], iterations(results))


def _empty(rows: int, kept: Kept, inits: Sequence[ir.Value]) -> ir.Value:
    shape, dtype = shape_and_dtype(kept.value.type)
    buffer = ops.constant(0, dtype, (rows + (kept.carried is not None), *shape))
    buffer.owner.attributes[modules.UNSET] = ir.UnitAttr.get()
    if kept.carried is None:
        return buffer
    return put(buffer, inits[kept.carried], ops.constant(0, np.int64))


def put(buffer: ir.Value, value: ir.Value, row: ir.Value) -> ir.Value:
    shape = shape_of(value)
    zero = ops.constant(0, dtype_of(row))
    return ops.dynamic_update_slice(buffer, ops.reshape(value, (1, *shape)), [row, *[zero] * len(shape)])


def row_of(buffer: ir.Value, row: ir.Value) -> ir.Value:
    """Row `row` (a 0-d integer) of a buffer, without its leading dimension."""
    shape = shape_of(buffer)[1:]
    zero = ops.constant(0, dtype_of(row))
    return ops.reshape(ops.dynamic_slice(buffer, [row, *[zero] * len(shape)], (1, *shape)), shape)


# ---- carried values that cost nothing ------------------------------------------------------------------------------

class Carried:
    """The carried values of a loop: which stay the same, which count."""

    def __init__(self, loop: ir.Operation):
        self.loop = loop
        self.block = blocks_of(loop)[1]
        self.number = {a: i for i, a in enumerate(self.block.arguments)}
        self.counting: dict[int, Counter] = counters(loop)

    @property
    def returned(self) -> list[ir.Value]:
        return block_ops(self.block)[1]

    def free(self, argument: ir.Value) -> bool:
        """Whether a carried value stays the same or counts."""
        number = self.number[argument]
        return number in self.counting or self.returned[number] == argument

    def at(self, argument: ir.Value, iteration: ir.Value, parent: Any) -> ir.Value:
        """A free carried value at the beginning of an iteration."""
        number = self.number[argument]
        first = parent.value(self.loop.operands[number])
        if number not in self.counting:
            return first
        moved = ops.multiply(ops.convert(iteration, dtype_of(argument)), self.counting[number].step)
        return ops.add(first, moved)

    def pairs(self) -> dict[ir.Value, ir.Value]:
        """Arguments with what they are in the next iteration, where an op of the body makes that for them alone."""
        returned = self.returned
        inside = {r for op in block_ops(self.block)[0] for r in op.results}
        return {a: v for a, v in zip(self.block.arguments, returned, strict=True)
                if v in inside and returned.count(v) == 1}


class LoopScope(Scope):
    """The values of iteration `iteration` of a loop, whose forward computation keeps what cannot be computed again."""

    def __init__(self, loop: ir.Operation, rows: int, iteration: ir.Value, parent: Any, place: ir.Operation,
                 aliases: Aliases):
        self.carried = Carried(loop)
        super().__init__(self.carried.block, parent, place, aliases)
        self.loop, self.rows, self.iteration = loop, max(rows, 1), iteration
        self.extended: Extended | None = None
        self.bytes = 0
        """What is kept of one iteration."""

    def settle(self, counted: bool = False) -> None:
        """`counted`: the number of iterations is wanted, too."""
        wanted = self.demanded()
        pairs = self.carried.pairs()
        cut = Cut(self.block, self.body(), self.carried.free, self._again, pairs)
        chosen = cut.choose(wanted)
        of_pair = {r: a for a, r in cut.merged.items()}
        kept = [Kept(v, self.carried.number[of_pair[v]] if v in of_pair else None) for v in chosen]
        self.bytes = sum(nbytes(k.value) for k in kept)
        mapping: dict[ir.Value, ir.Value] = {}
        if kept or counted:
            self.extended = extend(self.loop, self.rows, kept, self.aliases)
            with ir.InsertionPoint(self.place):
                for each, buffer in zip(kept, self.extended.buffers, strict=True):
                    rows = self.parent.value(buffer)
                    if each.carried is None:
                        mapping[each.value] = row_of(rows, self.iteration)
                    else:
                        mapping[of_pair[each.value]] = row_of(rows, self.iteration)
                        mapping[each.value] = row_of(rows, ops.add(self.iteration, 1))
        self.compute(wanted, mapping)

    def _again(self, op: ir.Operation) -> bool:
        if op.name not in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
            return False
        return AGAIN in op.attributes or self.rows * sum(map(nbytes, op.results)) > LARGE

    def free(self, value: ir.Value) -> ir.Value:
        if value in self.carried.number:
            return self.carried.at(value, self.iteration, self.parent)
        return self.parent.value(value)


# ---- branches ------------------------------------------------------------------------------------------------------

class BranchScope(Scope):
    """The values of one branch, computed again; results of dear ops are kept as results of the branch."""

    def chosen(self) -> list[ir.Value]:
        """What to keep. Settles what is wanted."""
        self.settling = self.demanded()
        if not any(op.name in DEAR for op in self.body()):
            return []
        return Cut(self.block, self.body(), lambda _: True, lambda op: AGAIN in op.attributes, {}, dear=True).choose(
            self.settling)

    def finish(self, kept: dict[ir.Value, ir.Value]) -> None:
        """`kept`: what was chosen, as values of the outer block."""
        with ir.InsertionPoint(self.place):
            mapping = {v: self.parent.value(outer) for v, outer in kept.items()}
        self.compute(self.settling, mapping)


def extend_branches(op: ir.Operation, kept: Sequence[Sequence[ir.Value]], aliases: Aliases) -> list[dict]:
    """Let the branches of an op of the old module give values from inside as well; for each branch, what they are
    outside. Branches share results of one type."""
    types: list[ir.Type] = []
    places: list[list[int]] = []
    for values in kept:
        free = list(range(len(types)))
        mine = []
        for value in values:
            slot = next((i for i in free if types[i] == value.type), None)
            if slot is None:
                slot = len(types)
                types.append(value.type)
            else:
                free.remove(slot)
            mine.append(slot)
        places.append(mine)
    with op.location, ir.InsertionPoint(op):
        made = ops.create(op.name, [*(r.type for r in op.results), *types], list(op.operands), regions=len(op.regions))
        for region, block, values, mine in zip(made.regions, blocks_of(op), kept, places, strict=True):
            def branch(block: ir.Block = block, values: Sequence[ir.Value] = values,
                       mine: Sequence[int] = mine) -> list[ir.Value]:
                mapping: dict[ir.Value, ir.Value] = {}
                inner, returned = block_ops(block)
                for each in behind(inner, [*returned, *values], {}, effects=True).ops:
                    modules.clone_with(each, mapping)
                given = dict(zip(mine, values, strict=True))
                extra = [mapping[given[i]] if i in given else ops.constant(0, *reversed(shape_and_dtype(t)))
                         for i, t in enumerate(types)]
                return [*(mapping.get(v, v) for v in returned), *extra]
            ops.fill_region(region, [], branch)
    results = list(made.results)
    for old, new in zip(op.results, results, strict=False):
        old.replace_all_uses_with(new)
        aliases[old] = new
    extra = results[len(op.results):]
    return [{v: extra[i] for v, i in zip(values, mine, strict=True)} for values, mine in zip(kept, places, strict=True)]


