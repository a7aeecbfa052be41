"""Ops that compute each element from those at its place."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, alike, rule
from reactant.communication.emission import Part
from reactant.communication.local_program import LocalProgram
from reactant.communication.plan import Plan, wanted_like
from reactant.ir import ops
from reactant.ir.types import shape_of


@rule(*sorted(ops.ELEMENTWISE))
class Elementwise(Rule):
    """Operands of the result's shape, and numbers for all elements."""

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        return alike(op.results[0], *(v for v in op.operands if _is_array(v)))

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        return plan.first_followed(filter(_is_array, op.operands), dimension, plan.axes[result][dimension])

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), rank = demands, len(shape_of(op.results[0]))
        assert demand is not None
        wanted = wanted_like(plan.grids(op.results[0]), demand, {d: d for d in range(rank)})
        for operand in op.operands:
            plan.need(operand, demand.where, wanted if _is_array(operand) else {}, demand.cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result = op.results[0]
        windows, where = program.windows(result), program.where(result)
        cyclic = frozenset(windows)
        operands = [program.view(v, windows, where, cyclic) if _is_array(v) else program.view(v, {}, where)
                    for v in op.operands]
        return [program.result(result, program.clone(op, operands, [program.local_shape(result, windows)])[0])]


def _is_array(value: ir.Value) -> bool:
    return bool(shape_of(value))
