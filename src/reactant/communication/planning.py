"""What every device computes of every value, and where parts move: decided before any op is written.

A block of ops is gone through from its end. What is needed of a value follows from who reads it; a rule says what that
takes of its operands. So the borders that a stencil reads are asked of its operands, and theirs, up to arrays that are
there: the arguments of the program or of a loop's body. A value whose parts would be much bigger than a block is
*moved*: devices compute what they own of it, and get from one another what they need beside.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jaxlib.mlir import ir

from reactant.communication.blocks import Demand
from reactant.communication.declare import rule_of
from reactant.communication.plan import Plan
from reactant.ir import modules
from reactant.ir.types import shape_of
from reactant.loopnests.choice.profitability import HOLDERS


def place_block(plan: Plan, block: ir.Block) -> None:
    """Choose the blocks of all values in it, operands first."""
    for op in block.operations:
        operation = op.operation
        rule = rule_of(operation)
        rule.enter(plan, operation)
        for result in operation.results:
            if result not in plan.axes.same:
                grids = [rule.grid(plan, operation, result, d) if a else None
                         for d, a in enumerate(plan.axes[result])]
                plan.place(result, [None if g is plan.free and n == 1 else g        # is sooner made by all
                                    for n, g in zip(shape_of(result), grids, strict=True)])


def plan_block(plan: Plan, block: ir.Block) -> None:
    """Go through a block whose results' demands are known."""
    for op in reversed(list(block.operations)):
        operation = op.operation
        rule = rule_of(operation)
        if operation.name in ("stablehlo.return", "func.return"):
            continue
        around = partial(rule.goes_round, operation)
        demands = [None if r in plan.axes.same else
                   plan.settle(r, rule.movable(plan, operation), around, rule.together(plan, operation))
                   for r in operation.results]
        if any(d is not None for d in demands) or any(r in plan.axes.same for r in operation.results):
            _ask(plan, operation, demands)


def _ask(plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
    """Tell what is needed of an op's operands."""
    plan.reading, rule = op.location, rule_of(op)
    plan.reader = op.results[0] if len(op.results) else None
    own = [None if d is None else plan.owned(r) for r, d in zip(op.results, demands, strict=True)]
    plan.results = [r for r, d, o in zip(op.results, demands, own, strict=True)
                    if d is not None and o is not None and not d.within(o)]
    rule.demand(plan, op, demands)
    for value in modules.captured(op) if op.name not in HOLDERS else ():
        plan.need(value, plan.everyone, {})
    if plan.results:       # what of it is needed for what devices own of the results
        plan.results, plan.probing = [], True
        rule.demand(plan, op, own)
        plan.probing = False
