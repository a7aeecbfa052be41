"""Products: rows and columns stay where they are, sums of divided products are added up."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part
from reactant.communication.local_program import LocalProgram, owned_window
from reactant.communication.plan import Plan, Wanted, wanted_like
from reactant.communication.rules.reduction import only_owned
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


@rule("dot_general")
class Product(Rule):
    """Batches, rows and columns are the result's dimensions; what is summed over is in none of them."""

    def places(self, op: ir.Operation) -> tuple[dict[int, int], dict[int, int]]:
        """For each factor {its dimension: the result's that it is}."""
        numbers = attr.decode(op.attributes["dot_dimension_numbers"])
        found, at = [], len(numbers.batching_dims[0])
        for k, factor in enumerate(op.operands):
            own = {d: r for r, d in enumerate(numbers.batching_dims[k])}
            for d in range(len(shape_of(factor))):
                if d not in own and d not in numbers.contracting_dims[k]:
                    own[d] = at
                    at += 1
            found.append(own)
        return found[0], found[1]

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        numbers = attr.decode(op.attributes["dot_dimension_numbers"])
        for d, e in zip(*numbers.batching_dims, strict=True):
            yield [(op.operands[0], d), (op.operands[1], e), (op.results[0], self.places(op)[0][d])]
        for k, factor in enumerate(op.operands):
            for d, r in self.places(op)[k].items():
                yield [(factor, d), (op.results[0], r)]
        for d, e in zip(*numbers.contracting_dims, strict=True):
            yield [(op.operands[0], d), (op.operands[1], e)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        for factor, places in zip(op.operands, self.places(op), strict=True):
            for d, r in places.items():
                if r == dimension:
                    found = plan.followed(factor, d, plan.axes[result][dimension])
                    if found is not plan.free:
                        return found
        return plan.free

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        return bool(self.summed(plan, op))

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def summed(self, plan: Plan, op: ir.Operation) -> dict[int, Grid]:
        """The dimensions of the first factor that are summed over in parts: those whose axes divide no dimension of the
        result."""
        numbers = attr.decode(op.attributes["dot_dimension_numbers"])
        used = {a for g in plan.divided(op.results[0]).values() for a in g.axes}
        found: dict[int, Grid] = {}
        for d, e in zip(*numbers.contracting_dims, strict=True):
            grids = [g for factor, own in zip(op.operands, (d, e), strict=True)
                     if (g := plan.chosen(factor, own)) is not None and not used & set(g.axes)]
            if grids:
                found[d] = min(grids, key=lambda g: g.descends)
                used |= set(found[d].axes)
        return found

    def _sums(self, plan: Plan, op: ir.Operation) -> tuple[dict[int, Grid], dict[int, Grid]]:
        numbers, found = attr.decode(op.attributes["dot_dimension_numbers"]), self.summed(plan, op)
        other = dict(zip(*numbers.contracting_dims, strict=True))
        return found, {other[d]: g for d, g in found.items()}

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), grids = demands, plan.grids(op.results[0])
        assert demand is not None
        for factor, places, sums in zip(op.operands, self.places(op), self._sums(plan, op), strict=True):
            wanted = wanted_like(grids, demand, places)
            for d, grid in sums.items():
                wanted[d] = Wanted(grid.owned(shape_of(factor)[d]), grid)
            cyclic = frozenset(d for d, r in places.items() if r in demand.cyclic)
            plan.need(factor, plan.everyone if sums else demand.where, wanted, cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        plan, result = program.plan, op.results[0]
        windows, sums = program.windows(result), self._sums(program.plan, op)
        where = plan.everyone if sums[0] else program.where(result)
        factors = []
        for factor, places, own in zip(op.operands, self.places(op), sums, strict=True):
            mine = {d: windows[r] for d, r in places.items() if r in windows}
            for d, grid in own.items():
                mine[d] = owned_window(grid, shape_of(factor)[d])
            x = program.view(factor, mine, where, frozenset(mine))
            for d, grid in own.items():
                zero = ops.constant(0, dtype_of(x), ())
                (x,) = only_owned(program, [x], [zero], d, grid, shape_of(factor)[d], mine[d])
            factors.append(x)
        (made,) = program.clone(op, factors, [program.local_shape(result, windows)])
        axes = plan.across(sums[0])
        if axes:
            made = program.w.combined(made, "add", axes)
        return [program.result(result, made)]
