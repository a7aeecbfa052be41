"""Ops that work along some dimensions, for each place of the others by itself: transforms, sorts, factorizations."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part
from reactant.communication.local_program import LocalProgram
from reactant.communication.planning import Plan, wanted_like
from reactant.ir import attributes as attr
from reactant.ir.types import shape_of


class Batched(Rule):
    """Dimensions that the op works along are whole; operands and results have the others in the same places."""

    def others(self, op: ir.Operation) -> list[int]:
        """The dimensions that it does not work along."""
        raise NotImplementedError

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        for d in self.others(op):
            yield [(v, d) for v in (*op.operands, *op.results)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        if dimension not in self.others(op):
            return None
        for operand in op.operands:
            found = plan.followed(operand, dimension, plan.axes[result][dimension])
            if found is not plan.free:
                return found
        return plan.free

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        demand, grids = None, None
        for result, each in zip(op.results, demands, strict=True):
            if each is not None:
                demand, grids = each if demand is None else demand.joined(each), plan.grids(result)
        assert demand is not None and grids is not None
        places = {d: d for d in self.others(op)}
        for operand in op.operands:
            plan.need(operand, demand.where, wanted_like(grids, demand, places), demand.cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        known = [r for r in op.results if program.plan.of(r).demand is not None]
        windows = program.joint_windows(known)
        where = program.where(known[0])
        for result in known[1:]:
            where = where | program.where(result)
        given = [program.view(v, windows, where, frozenset(windows)) for v in op.operands]
        made = program.clone(op, given, [program.local_shape(r, windows) for r in op.results])
        starts = tuple(windows[d].starts if d in windows else None for d in range(len(shape_of(op.results[0]))))
        return [Part(m, starts) for m in made]


@rule("fft")
class Transform(Batched):
    """Along the last dimensions."""

    def others(self, op: ir.Operation) -> list[int]:
        return list(range(len(shape_of(op.results[0])) - len(attr.decode(op.attributes["fft_length"]))))


@rule("sort")
class Sort(Batched):
    """Along one dimension."""

    def others(self, op: ir.Operation) -> list[int]:
        along = attr.decode(op.attributes["dimension"])
        return [d for d in range(len(shape_of(op.results[0]))) if d != along]


@rule("reverse")
class Reverse(Batched):
    """Along some dimensions."""

    def others(self, op: ir.Operation) -> list[int]:
        along = attr.decode(op.attributes["dimensions"])
        return [d for d in range(len(shape_of(op.results[0]))) if d not in along]


@rule("cholesky", "triangular_solve")
class Factorization(Batched):
    """Of stacks of matrices."""

    def others(self, op: ir.Operation) -> list[int]:
        return list(range(len(shape_of(op.results[0])) - 2))


@rule("chlo.top_k")
class Greatest(Batched):
    """Along the last dimension."""

    def others(self, op: ir.Operation) -> list[int]:
        return list(range(len(shape_of(op.operands[0])) - 1))
