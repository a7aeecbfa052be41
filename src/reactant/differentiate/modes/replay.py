"""Reverse mode through loops of which only a few states are kept: the rest is run again.

Works for any number of iterations, known while compiling or not, in memory that does not depend on it. A stack of
states is held in buffers of a fixed number of rows. To reverse iteration t, the loop is run again from the newest state
before t; on the way states are pushed where Griewank and Walther's binomial schedule ("revolve", ACM TOMS 26, 2000)
puts them for the iterations left and the rows free: with s rows and at most r repetitions it reverses (s + r)! / (s!
r!) iterations.

The forward sweep, which does not know how many iterations will come, pushes states at equal distances (`stacked`).
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops, blocks_of
from reactant.differentiate.declare import zeros
from reactant.differentiate.facts import masks
from reactant.differentiate.modes.adjoints import Adjoints
from reactant.differentiate.modes.loops import Carried, extend, put, row_of
from reactant.differentiate.modes.values import Aliases, Known, Scope, anchor, behind, drop_dead, replace, stand_in
from reactant.ir import modules, ops, splice
from reactant.ir.induction import trips
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of, tensor_type

SLOTS = "reactant.slots"
"""Attribute of a loop to be replayed: how many states to keep."""
REPETITIONS = 64


def slots_of(loop: ir.Operation) -> int:
    """The states to keep of a loop; 0 where it is not to be replayed."""
    return int(ir.IntegerAttr(loop.attributes[SLOTS]).value) if SLOTS in loop.attributes else 0


class StateScope(Scope):
    """The values of one iteration, computed again from the carried values at its beginning."""

    def __init__(self, loop: ir.Operation, iteration: ir.Value, parent: Any, place: ir.Operation, aliases: Aliases):
        self.carried = Carried(loop)
        super().__init__(self.carried.block, parent, place, aliases)
        self.iteration = iteration
        self.states: dict[int, ir.Operation] = {}      # carried values that are read, as stand-ins

    def free(self, value: ir.Value) -> ir.Value:
        if value not in self.carried.number:
            return self.parent.value(value)
        if self.carried.free(value):
            return self.carried.at(value, self.iteration, self.parent)
        number = self.carried.number[value]
        if number not in self.states:
            self.states[number] = stand_in(value.type)
        return self.states[number].result


class Sweep(Protocol):
    """The reverse sweep that a loop is part of."""

    active: set[ir.Value]
    aliases: Aliases

    def add(self, adjoint: Adjoints, value: ir.Value, cotangent: ir.Value) -> None: ...

    def run(self, body: Sequence[ir.Operation], scope: Any, adjoint: Adjoints) -> None: ...


class Replayed:
    """One loop being reversed by replay. Carried are: the iterations left, adjoints, and the stack: its top, the
    iteration each state belongs to, and the states. The last row of the stack takes what is not to be kept."""

    def __init__(self, sweep: Sweep, loop: ir.Operation, scope: Any, adjoint: Adjoints, slots: int):
        self.sweep, self.loop, self.scope, self.adjoint, self.slots = sweep, loop, scope, adjoint, slots
        self.block = blocks_of(loop)[1]
        self.active = [i for i, a in enumerate(self.block.arguments) if a in sweep.active]
        self.outer = [v for v in modules.captured(loop) if v in sweep.active]
        self.changed: set[ir.Value] = set()
        """Those of `outer` to whose adjoints an iteration adds."""
        self.iterations: ir.Value | None = None
        """How many iterations the loop takes, as a value of the old module, where its forward sweep counts them."""

    def build(self) -> None:
        """Build the reverse loop at the insertion point and set the adjoints of what goes into the loop."""
        loop, adjoint = self.loop, self.adjoint
        starts = [adjoint.get(loop.results[i]) for i in self.active]
        inits = [zeros(loop.results[i]) if g is None else g for i, g in zip(self.active, starts, strict=True)]
        inits += [adjoint[v] if v in adjoint else zeros(v) for v in self.outer]
        early = stand_in(tensor_type((), np.dtype(np.int64)))
        inits = [early.result, *inits]
        scratch = ops.create("stablehlo.case", [], [], regions=1)
        block = scratch.regions[0].blocks.append(*(v.type for v in inits))
        with ir.InsertionPoint(block):
            results = self.reversed_iteration(block, inits[1:])
            stack = self.with_states(block)
            ops.create("stablehlo.return", [], [*results, *stack])
        stack = self.forward_stack() if isinstance(self.scope, (Known, StateScope)) else self.first_stack()
        inits += stack
        made = ops.create("stablehlo.while", [v.type for v in inits], inits, regions=2)
        ops.fill_region(made.regions[0], [v.type for v in inits], lambda left, *_: ops.compare(left, 0, "GT"))
        block.append_to(made.regions[1])
        scratch.erase()
        found = list(made.results)[1:]
        adjoint.update((v, g) for v, g in zip(self.outer, found[len(self.active):], strict=False)
                       if v in self.changed)
        for i, g in zip(self.active, found, strict=False):
            self.sweep.add(adjoint, loop.operands[i], g)
        self.count(early)

    def count(self, early: ir.Operation) -> None:
        """Put the number of iterations in place of its stand-in."""
        bound = trips(self.loop)
        with ir.InsertionPoint(early):
            if bound is not None and bound.exact:
                iterations = ops.constant(bound.most, np.int64)
            elif self.iterations is not None:
                iterations = self.scope.value(self.iterations)
            else:
                iterations = ops.convert(self.scope.value(extend(self.loop, 1, [], self.sweep.aliases).count), np.int64)
        replace(early, iterations)

    # -- one iteration

    def reversed_iteration(self, block: ir.Block, inits: Sequence[ir.Value]) -> list[ir.Value]:
        """The sweep over iteration `left - 1`: the iterations left, and the adjoints, before it."""
        left, *values = block.arguments
        masks.carried_on(inits, values)
        self.iteration = ops.subtract(left, 1)
        self.begin, place = anchor(), anchor()
        self.states = StateScope(self.loop, self.iteration, self.scope, place, self.sweep.aliases)
        body, returned = block_ops(self.block)
        local = Adjoints(zip(self.outer, values[len(self.active):], strict=True))
        for i, g in zip(self.active, values, strict=False):
            self.sweep.add(local, returned[i], g)
        self.sweep.run(body, self.states, local)
        self.changed.update(v for v, g in zip(self.outer, values[len(self.active):], strict=True) if local[v] != g)
        inputs = [*(self.block.arguments[i] for i in self.active), *self.outer]
        results = [local[v] if v in local else zeros(v) for v in inputs]
        drop_dead(block, [*results, self.iteration])
        self.states.settle()
        place.erase()
        return [self.iteration, *results]

    def with_states(self, block: ir.Block) -> list[ir.Value]:
        """Find the state of this iteration, in front of the sweep; gives the stack after it."""
        self.carried = list(self.states.states)
        pending = list(self.carried)
        while pending:
            for argument in self.free_of([pending.pop()]):
                number = self.states.carried.number[argument]
                if number not in self.carried:
                    self.carried.append(number)
                    pending.append(number)
        types = [self.block.arguments[i].type for i in self.carried]
        rows = self.slots + 1
        integer = np.dtype(np.int64)
        kinds = [tensor_type((), integer), tensor_type((rows,), integer)]
        kinds += [tensor_type((rows, *shape), dtype) for shape, dtype in map(shape_and_dtype, types)]
        top, where, *slots = [block.add_argument(k, ir.Location.current) for k in kinds]
        with ir.InsertionPoint(self.begin):
            state = [row_of(each, top) for each in slots]
            at = row_of(where, top)
            _, top, where, *rest = ops.while_([at, top, where, *slots, *state],
                                              lambda c, *_: ops.compare(c, self.iteration, "LT"), self.advance)
            slots, state = rest[:len(slots)], rest[len(slots):]
            for number, value in zip(self.carried, state, strict=True):
                if number in self.states.states:
                    replace(self.states.states[number], value)
            done = ops.compare(row_of(where, top), self.iteration, "EQ")
            top = ops.subtract(top, ops.convert(done, np.int64))
        self.begin.erase()
        return [top, where, *slots]

    def free_of(self, numbers: Sequence[int]) -> list[ir.Value]:
        """The carried values that the next ones depend on and that are not to be had for nothing."""
        body, returned = block_ops(self.block)
        carried = self.states.carried
        wanted = [returned[i] for i in numbers]
        read = behind(body, wanted, {}).free
        return [v for v in read if v in carried.number and not carried.free(v)]

    def forward_stack(self) -> list[ir.Value]:
        """The stack that the forward sweep leaves, where that runs for this sweep anyway."""
        self.iterations, *stack = stacked(self.loop, self.carried, self.slots, self.sweep.aliases)
        return [self.scope.value(v) for v in stack]

    def first_stack(self) -> list[ir.Value]:
        """The stack with the state before the loop."""
        rows = self.slots + 1
        made = [ops.constant(0, np.int64), ops.constant(0, np.int64, (rows,))]
        for number in self.carried:
            value = self.scope.value(self.loop.operands[number])
            made.append(put(ops.constant(0, dtype_of(value), (rows, *shape_of(value))), value,
                             ops.constant(0, np.int64)))
        return made

    # -- running the loop again

    def advance(self, c: ir.Value, top: ir.Value, where: ir.Value, *rest: ir.Value) -> list[ir.Value]:
        """Run from iteration c to where the next state is kept, and push it."""
        slots, state = list(rest[:len(self.carried)]), list(rest[len(self.carried):])
        free = ops.subtract(self.slots - 1, top)
        distance = self.distance(ops.add(ops.subtract(self.iteration, c), 1), free)
        end = ops.add(c, distance)
        state = ops.while_([c, *state], lambda k, *_: ops.compare(k, end, "LT"), self.next_iteration)[1:]
        push = ops.and_(ops.compare(free, 0, "GT"), ops.compare(end, self.iteration, "LT"))
        row = ops.select(push, ops.add(top, 1), ops.constant(self.slots, np.int64))
        where = put(where, end, row)
        slots = [put(each, value, row) for each, value in zip(slots, state, strict=True)]
        return [end, ops.add(top, ops.convert(push, np.int64)), where, *slots, *state]

    def next_iteration(self, k: ir.Value, *state: ir.Value) -> list[ir.Value]:
        """The carried values after iteration k."""
        carried = self.states.carried
        mapping = dict(zip([self.block.arguments[i] for i in self.carried], state, strict=True))
        body, returned = block_ops(self.block)
        wanted = [returned[i] for i in self.carried]
        needed = behind(body, wanted, mapping)
        for value in needed.free:
            if value not in carried.number:
                mapping[value] = self.scope.value(value)
            elif value not in mapping:
                mapping[value] = carried.at(value, k, self.scope)
        for op in needed.ops:
            modules.clone_with(op, mapping)
        return [ops.add(k, 1), *(mapping[v] if v in mapping else self.scope.value(v) for v in wanted)]

    def distance(self, left: ir.Value, free: ir.Value) -> ir.Value:
        """How far to run before the next state is kept: `left` iterations are to be reversed with `free` more rows."""
        reach, steps = schedule(self.slots)
        rows = ops.add(free, 1)
        wide = ops.broadcast_in_dim(left, (REPETITIONS,), ())
        below = ops.compare(row_of(ops.constant(reach), rows), wide, "LT")
        repetitions = ops.minimum(ops.reduce(ops.convert(below, np.int64), 0, (0,), "add"), REPETITIONS - 1)
        found = row_of(row_of(ops.constant(steps), rows), repetitions)
        few, early, many, late, rest = (ops.reshape(ops.slice(found, [i], [i + 1]), ()) for i in range(5))
        chosen = ops.select(ops.compare(left, few, "LE"), early, ops.select(
            ops.compare(left, many, "GE"), late, ops.subtract(left, rest)))
        last = ops.subtract(left, 1)
        return ops.select(ops.compare(free, 0, "GT"), ops.clamp(ops.constant(1, np.int64), chosen, last), last)


def stacked(loop: ir.Operation, carried: Sequence[int], slots: int, aliases: Aliases) -> list[ir.Value]:
    """Let a loop of the old module push states of its carried values, in place; the old op stays, unused. Gives the
    number of iterations and the stack.

    States are `stride` iterations apart. Where they fill three quarters of the rows every other one is dropped, and the
    stride doubles: the rows left are for the sweep backwards, which would take the square of a stride without any.
    """
    condition, body = blocks_of(loop)
    plain, most, scratch = len(loop.operands), max(1, 3 * slots // 4), slots
    integer = np.int64

    def copied(block: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
        return splice.copied(block, arguments, behind(*block_ops(block), {}, effects=True).ops)

    def thinned(dropping: ir.Value, top: ir.Value, rows: Sequence[ir.Value]) -> list[ir.Value]:
        """Row 2 j in row j, where every other row is to be dropped."""
        def move(j: ir.Value, *rows: ir.Value) -> list[ir.Value]:
            return [ops.add(j, 1), *(put(each, row_of(each, ops.multiply(j, 2)), j) for each in rows)]
        last = ops.select(dropping, ops.divide(top, 2), ops.constant(0, integer))
        return ops.while_([ops.constant(1, integer), *rows], lambda j, *_: ops.compare(j, last, "LE"), move)[1:]

    def segment(*arguments: ir.Value) -> list[ir.Value]:
        """Push the state, and run to where the next one is to be pushed."""
        values, (iteration, top, stride, *rows) = arguments[:plain], arguments[plain:]
        dropping = ops.compare(top, most - 1, "GE")
        rows = thinned(dropping, top, rows)
        top = ops.select(dropping, ops.divide(top, 2), top)
        stride = ops.select(dropping, ops.multiply(stride, 2), stride)
        push = ops.compare(iteration, ops.multiply(ops.add(top, 1), stride), "EQ")
        top = ops.add(top, ops.convert(push, integer))
        row = ops.select(push, top, ops.constant(scratch, integer))
        rows = [put(each, value, row) for each, value in
                zip(rows, [iteration, *(values[i] for i in carried)], strict=True)]
        end = ops.multiply(ops.add(top, 1), stride)
        run = ops.while_([*values, iteration],
                         lambda *a: ops.and_(copied(condition, a)[0], ops.compare(a[-1], end, "LT")),
                         lambda *a: [*copied(body, a), ops.add(a[-1], 1)])
        return [*run, top, stride, *rows]

    with loop.location, ir.InsertionPoint(loop):
        rows = [ops.constant(0, integer, (slots + 1,))]
        rows += [ops.constant(0, dtype, (slots + 1, *shape)) for shape, dtype in
                 (shape_and_dtype(loop.operands[i].type) for i in carried)]
        for each in rows:
            each.owner.attributes[modules.UNSET] = ir.UnitAttr.get()
        starts = [ops.constant(n, integer) for n in (0, -1, 1)]
        results = ops.while_([*loop.operands, *starts, *rows], lambda *a: copied(condition, a)[0], segment)
    for old, new in zip(loop.results, results, strict=False):
        old.replace_all_uses_with(new)
        aliases[old] = new
    iteration, top, _, *rows = results[plain:]
    return [iteration, top, *rows]


@cache
def schedule(slots: int) -> tuple[np.ndarray, np.ndarray]:
    """The binomial schedule as tables over the rows s (that of the first state included) and the repetitions r.

    reach[s, r]: how many iterations can be reversed. steps[s, r]: (few, early, many, late, rest): run `early`
    iterations before the next state is kept where at most `few` iterations are left, `late` where at least `many`, else
    all but `rest`. """
    def over(n: int, k: int) -> int:
        return math.comb(n, k) if 0 <= k <= n else 0

    reach, steps = np.ones((slots + 1, REPETITIONS), np.int64), np.zeros((slots + 1, REPETITIONS, 5), np.int64)
    for s in range(1, slots + 1):
        for r in range(REPETITIONS):
            whole, shorter, fewer, both = (over(s + r, s), over(s + r - 1, s), over(s + r - 2, s - 1),
                                           over(s + r - 3, s - 2))
            row = (shorter + both, over(s + r - 2, s), whole - over(s + r - 3, s - 3), shorter, fewer + both)
            reach[s, r] = min(whole, 2**62)
            steps[s, r] = [min(v, 2**62) for v in row]
    return reach, steps
