"""Loops of the kernel as `stablehlo.while`: every lane does iteration k together; who has finished waits behind a mask.

What an iteration changes is carried: values over the axes on which they come to depend, and the memory that it writes.
On which axes that is shows only when an iteration has been run, so a loop is built again until nothing new turns up.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of
from reactant.kernels.lockstep.conditions import Given, at_least, both
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Axis, Condition, Domain, Form, Lanes, Run, of_atom
from reactant.kernels.lockstep.forms import axes_of, floor_division, is_static, range_of
from reactant.kernels.lockstep.lanes import apply, broadcast, condition_lanes, form_lanes, live, select
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.memory import Memory
from reactant.kernels.lockstep.parallel_axis import _increment, written_memories
from reactant.kernels.lockstep.staged_indices import NotStaged
from reactant.kernels.lockstep.tiles import Tile
from reactant.kernels.lockstep.values import Integer, Refused, Value, as_lanes, of_lanes
from reactant.kernels.stages.barriers import waits_for_others
from reactant.support.records import dataclass

COUNTER = np.dtype(np.int64)


@dataclass
class Carried:
    """A value carried by a loop: over `axes` at the loop's domain."""

    init: Lanes
    type: ir.Type | None
    axes: tuple[Axis, ...]


class _Again(Exception):
    """A carried value depends on more axes than assumed."""


Iteration = Callable[[list[Lanes]], list[Lanes]]
Test = Callable[[list[Lanes]], ir.Value]


def while_of_counted(machine: Machine, op: ir.Operation, context: Context, lower: Form, upper: Form, stride: int,
                     inits: list[Value]) -> list[Value]:
    """`scf.for` with a counter from 0; lanes with fewer iterations are masked in those that they do not have."""
    block = op.regions[0].blocks[0]
    arguments, end = list(block.arguments), list(block.operations)[-1]
    domain = context.domain
    varying = [a for a in axes_of(upper - lower) if domain[a].count > 1]
    difference = (upper - lower).plus(stride - 1)
    bounds = range_of(difference, domain)
    known = bounds if bounds is None else tuple(max(0, b // stride) for b in bounds)
    least_most = known if known is not None else None
    uneven = bool(varying)
    if least_most is not None and not varying:
        most: ir.Value = ops.constant(least_most[1], COUNTER) if is_static(difference) else \
            form_lanes(floor_division(difference, stride, domain), COUNTER, domain).value
    elif least_most is not None and is_static(difference) and context.mask.known:
        most = ops.constant(least_most[1], COUNTER)
    else:
        iterations = form_lanes(floor_division(difference, stride, domain), COUNTER, domain)
        if not context.mask.known:
            iterations = select(condition_lanes(context.mask, domain), iterations, Lanes(ops.constant(0, COUNTER)),
                                domain)
        most = ops.reduce(iterations.value, ops.constant(0, COUNTER), range(len(iterations.axes)), "maximum") \
            if iterations.axes else iterations.value
    top = least_most[1] - 1 if least_most is not None else None
    steps = [_increment(machine, op, a, p) if isinstance(i, Integer) else None
             for a, p, i in zip(arguments[1:], end.operands, inits, strict=True)]
    carried = [Carried(Lanes(ops.constant(0, COUNTER)), None, ())]
    carried += [_carried(v, r.type, domain) for v, r, s in zip(inits, op.results, steps, strict=True) if s is None]

    def iteration(values: list[Lanes]) -> list[Lanes]:
        number, *others = values
        counter = of_atom(Run(number, (0, max(0, top)) if top is not None else None))
        variable = lower + counter.times(stride)
        inner: Context | None = replace(context, certain=False)
        if uneven:
            inner = machine.narrowed(replace(context, certain=False), at_least(upper, variable.plus(1)))
        machine.values[arguments[0]] = Integer(variable, 64)
        left = iter(others)
        before: list[Lanes | None] = []
        for argument, init, step in zip(arguments[1:], inits, steps, strict=True):
            if step is not None and isinstance(init, Integer):
                machine.values[argument] = Integer(init.form + counter.times(step), init.width, init.exact)
                before.append(None)
            else:
                before.append(next(left))
                machine.values[argument] = _value(before[-1], argument.type)
        if inner is None:
            return [number, *others]
        if uneven and inner.domain != domain:
            inner = Context(domain, both(context.mask, at_least(upper, variable.plus(1))), False)
        passed = machine.block_of(block, inner)
        after = []
        for value, old in zip(passed, before, strict=True):
            if old is None:
                continue
            new = as_lanes(value, domain)
            after.append(select(condition_lanes(inner.mask, domain), new, old, domain) if uneven else new)
        return [Lanes(ops.add(number.value, 1)), *after]

    finals = loop(machine, op, context, carried, iteration, lambda values: ops.compare(values[0].value, most, "LT"))
    left = iter(finals[1:])
    results: list[Value] = []
    for init, step, result in zip(inits, steps, op.results, strict=True):
        if step is not None and isinstance(init, Integer):
            clipped = _iterations_of(difference, stride, domain)
            results.append(Integer(init.form + clipped.times(step), init.width, init.exact))
        else:
            results.append(of_lanes(next(left), result.type))
    return results


def _iterations_of(difference: Form, stride: int, domain: Domain) -> Form:
    """How often each lane iterations."""
    iterations = floor_division(difference, stride, domain)
    bounds = range_of(iterations, domain)
    if bounds is not None and bounds[0] >= 0:
        return iterations
    lanes = apply(lambda x: ops.maximum(x, 0), [form_lanes(iterations, COUNTER, domain)], domain)
    return of_atom(Run(lanes, None if bounds is None else (0, max(0, bounds[1]))))


def while_of_condition(machine: Machine, op: ir.Operation, context: Context, inits: list[Value]) -> list[Value]:
    """`scf.while`: the condition's part once before the loop and at the end of each iteration."""
    if waits_for_others(op):
        raise Refused("threads wait in a loop for what others do after it", op)
    first, second = (region.blocks[0] for region in op.regions)
    domain = context.domain

    def tested(values: Sequence[Value], inner: Context) -> tuple[Lanes, list[Lanes]]:
        machine.values.update(zip(first.arguments, values, strict=True))
        condition, *passed = machine.block_of(first, inner)
        if not isinstance(condition, Condition):
            raise Refused("a condition needs a carried value of an outer loop")
        going = condition_lanes(both(condition, inner.mask), domain) if not inner.mask.known else \
            condition_lanes(condition, domain)
        return going, [as_lanes(v, domain) for v in passed]

    going, passed = tested(inits, context)
    types = [v.type for v in second.arguments]
    carried = [Carried(going, None, going.axes)]
    carried += [Carried(v, t, v.axes) for v, t in zip(passed, types, strict=True)]

    def iteration(values: list[Lanes]) -> list[Lanes]:
        alive, *others = values
        uniform = not alive.axes
        mask = context.mask if uniform else both(context.mask, Given(alive))
        inner = Context(domain, mask, False)
        machine.values.update(zip(second.arguments, [_value(v, t) for v, t in zip(others, types, strict=True)],
                                  strict=True))
        again = machine.block_of(second, inner)
        going, new = tested(again, inner)
        if uniform:
            return [going, *new]
        return [going, *(select(alive, n, o, domain) for n, o in zip(new, others, strict=True))]

    def test(values: list[Lanes]) -> ir.Value:
        alive = values[0].value
        rank = len(shape_of(alive))
        return ops.reduce(alive, False, range(rank), "or") if rank else alive

    finals = loop(machine, op, context, carried, iteration, test)
    return [of_lanes(v, r.type) for v, r in zip(finals[1:], op.results, strict=True)]


def _carried(value: Value, type_: ir.Type, domain: Domain) -> Carried:
    lanes = as_lanes(value, domain)
    return Carried(lanes, type_, lanes.axes)


def _value(lanes: Lanes | None, type_: ir.Type) -> Value:
    assert lanes is not None
    return of_lanes(lanes, type_)


def loop(machine: Machine, op: ir.Operation, context: Context, carried: list[Carried], iteration: Iteration,
         test: Test) -> list[Lanes]:
    """A `stablehlo.while` over the carried values and the memory that the op writes."""
    if any(memory in record.written for record in machine.records for memory in written_memories(machine, op)):
        raise Refused("a loop that is no reduction is inside one that may run all its iterations at once")
    written = sorted(written_memories(machine, op), key=machine.memories.index)
    if any(isinstance(memory, Tile) for memory in written):
        raise NotStaged
    while True:
        try:
            return _built(machine, context, carried, written, iteration, test)
        except _Again:
            continue


def _built(machine: Machine, context: Context, carried: list[Carried], written: list[Memory], iteration: Iteration,
           test: Test) -> list[Lanes]:
    domain = context.domain
    before = [(m.value, m.axes) for m in written]
    noted = [(m.unknown, m.written, m.stages, m.numbers) for m in written]    # no values of an erased loop
    inits = [broadcast(c.init, c.axes, domain) for c in carried]
    inits += [m.value for m in written]
    types = [v.type for v in inits]
    made = ops.create("stablehlo.while", types, inits, regions=2)
    machine.loops += 1
    try:
        blocks = [region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types)) for region in made.regions]
        with ir.InsertionPoint(blocks[0]):
            ops.create("stablehlo.return", [], [test(_arguments(blocks[0], carried, domain))])
        with ir.InsertionPoint(blocks[1]):
            for memory, value in zip(written, list(blocks[1].arguments)[len(carried):], strict=True):
                memory.value = value
            results = iteration(_arguments(blocks[1], carried, domain))
            _widen(carried, results, written, before, domain)
            passed = [broadcast(v, c.axes, domain) for v, c in zip(results, carried, strict=True)]
            ops.create("stablehlo.return", [], [*passed, *(m.value for m in written)])
    except BaseException:
        for memory, (value, axes), notes in zip(written, before, noted, strict=True):
            memory.unknown, memory.written, memory.stages, memory.numbers = notes
            if memory.axes == axes or not set(axes) <= set(memory.axes):
                memory.value, memory.axes = value, axes
            else:
                wider, memory.value, memory.axes = memory.axes, value, axes
                with ir.InsertionPoint(made):
                    memory.own_copies(set(wider))
        made.erase()
        raise
    for memory, value in zip(written, list(made.results)[len(carried):], strict=True):
        memory.value = value
    spans = [tuple(domain[a] for a in c.axes) for c in carried]
    return [Lanes(v, c.axes, s) for v, c, s in zip(made.results, carried, spans, strict=False)]


def _arguments(block: ir.Block, carried: list[Carried], domain: Domain) -> list[Lanes]:
    return [Lanes(v, c.axes, tuple(domain[a] for a in c.axes)) for v, c in zip(block.arguments, carried, strict=False)]


def _widen(carried: list[Carried], results: list[Lanes], written: list[Memory], before: list[tuple],
           domain: Domain) -> None:
    """Raise `_Again` where the loop has to carry more than it does."""
    again = any(memory.axes != axes for memory, (_, axes) in zip(written, before, strict=True))
    for c, result in zip(carried, results, strict=True):
        axes = live({*c.axes, *result.axes}, domain)
        if axes != c.axes:
            c.axes, again = axes, True
    if again:
        raise _Again
