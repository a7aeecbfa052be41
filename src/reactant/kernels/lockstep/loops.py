"""`scf.for` and `scf.while`: all iterations at once, one iteration after the other at compile time, or a
`stablehlo.while`, in that order."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.kernels.lockstep import control
from reactant.kernels.lockstep.conditions import at_least
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Condition, Form
from reactant.kernels.lockstep.forms import at_domain, is_static, range_of
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.parallel_axis import all_iterations_at_once, restore, snapshot, written_memories
from reactant.kernels.lockstep.staged_indices import NotStaged
from reactant.kernels.lockstep.tiles import Tile
from reactant.kernels.lockstep.values import Integer, Refused, Value
from reactant.kernels.lockstep.while_loops import while_of_condition, while_of_counted
from reactant.kernels.stages.barriers import has_barrier

UNROLLED_ITERATIONS, UNROLLED_OPERATIONS, UNEVEN_ITERATIONS = 16, 640, 4
FOLLOWED_ITERATIONS, FOLLOWED_OPERATIONS, FOLLOWED_LOOPS = 64, 4000, 16
"""A counted loop is unrolled up to so many iterations and ops, fewer where threads differ in their iterations; one
whose condition the compiler knows each time, too, unless that makes too many loops of a loop inside."""


def counted(machine: Machine, op: ir.Operation, context: Context) -> list[Value]:
    """`scf.for`."""
    lower, upper, step = (machine.integer(v).form for v in list(op.operands)[:3])
    lower, upper = (at_domain(f, context.domain) if machine.staging else machine.settle(f, context)
                    for f in (lower, upper))
    stride = step.known
    assert stride is not None and stride > 0
    inits = [machine.get(v) for v in list(op.operands)[3:]]
    iterations = _iterations(lower, upper, stride, context)
    if iterations is not None and iterations <= 1:
        return _unrolled(machine, op, context, lower, stride, iterations, inits) if iterations else inits
    if machine.staging and has_barrier(op.regions[0].blocks[0]) and any(
            isinstance(memory, Tile) for memory in written_memories(machine, op)):
        # a tile for every iteration: what they add up to is better seen with all iterations at once
        raise NotStaged
    before = snapshot(machine)
    try:
        return all_iterations_at_once(machine, op, context, lower, upper, stride, inits)
    except Refused as reason:
        restore(machine, before)
        machine.notes.append(("loop", str(reason)))
    if iterations is not None and iterations <= UNROLLED_ITERATIONS \
            and iterations * operations(op) <= UNROLLED_OPERATIONS:
        return _unrolled(machine, op, context, lower, stride, iterations, inits)
    most = _most_iterations(lower, upper, stride, context)
    if iterations is None and is_static(upper - lower) and most is not None and most <= UNEVEN_ITERATIONS \
            and most * operations(op) <= UNROLLED_OPERATIONS:
        return _unrolled_unevenly(machine, op, context, (lower, upper, stride), most, inits)
    return while_of_counted(machine, op, context, lower, upper, stride, inits)


def _iterations(lower: Form, upper: Form, stride: int, context: Context) -> int | None:
    """How often every lane iterations, where that is one known number."""
    bounds = range_of(upper - lower, context.domain)
    if bounds is None:
        return None
    least, most = (max(0, -(-b // stride)) for b in bounds)
    return most if least == most else None


def _most_iterations(lower: Form, upper: Form, stride: int, context: Context) -> int | None:
    bounds = range_of(upper - lower, context.domain)
    return None if bounds is None else max(0, -(-bounds[1] // stride))


def _unrolled(machine: Machine, op: ir.Operation, context: Context, lower: Form, stride: int, iterations: int,
              inits: list[Value]) -> list[Value]:
    block = op.regions[0].blocks[0]
    values = inits
    for iteration in range(iterations):
        machine.values[block.arguments[0]] = Integer(lower.plus(iteration * stride), 64)
        machine.values.update(zip(list(block.arguments)[1:], values, strict=True))
        values = machine.block_of(block, context)
    return values


def _unrolled_unevenly(machine: Machine, op: ir.Operation, context: Context, places: tuple[Form, Form, int],
                       iterations: int,
                       inits: list[Value]) -> list[Value]:
    """Where a thread has an iteration more than others, as in the staging of a tile with its halo: each iteration is a
    branch."""
    block, (lower, upper, stride) = op.regions[0].blocks[0], places
    values = inits
    for iteration in range(iterations):
        variable = lower.plus(iteration * stride)
        goes_on = at_least(upper, variable.plus(1)).at_domain(context.domain)
        inside, outside = (machine.narrowed(context, c) for c in (goes_on, goes_on.negated()))
        if inside is None:
            break
        machine.values[block.arguments[0]] = Integer(variable, 64)
        machine.values.update(zip(list(block.arguments)[1:], values, strict=True))
        passed = machine.block_of(block, inside)
        values = control.merged(op, goes_on, context, (inside, passed), (outside, values))
    return values


def conditional(machine: Machine, op: ir.Operation, context: Context) -> list[Value]:
    """`scf.while`."""
    inits = [machine.get(v) for v in op.operands]
    before = snapshot(machine)
    found = _followed(machine, op, context, inits)
    if found is not None:
        return found
    restore(machine, before)
    return while_of_condition(machine, op, context, inits)


def _followed(machine: Machine, op: ir.Operation, context: Context, values: list[Value]) -> list[Value] | None:
    """Iteration by iteration, as long as the compiler knows each time whether there is another one."""
    first, second = (region.blocks[0] for region in op.regions)
    most, loops_before = min(FOLLOWED_ITERATIONS, FOLLOWED_OPERATIONS // max(1, operations(op))), machine.loops
    for _ in range(most + 1):
        if machine.loops - loops_before > FOLLOWED_LOOPS:
            return None
        machine.values.update(zip(first.arguments, values, strict=True))
        condition, *passed = machine.block_of(first, context)
        if not isinstance(condition, Condition):
            return None
        known = condition.at_domain(context.domain).known
        if known is None:
            return None
        if not known:
            return passed
        machine.values.update(zip(second.arguments, passed, strict=True))
        values = machine.block_of(second, context)
    return None


def operations(op: ir.Operation) -> int:
    """How many ops there are inside."""
    return sum(1 + operations(inner.operation) for region in op.regions for block in region
               for inner in block.operations)
