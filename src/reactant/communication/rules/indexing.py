"""Gathers and scatters at run-time places: what is indexed is whole, what indexes it may be divided.

Each device looks up what its indices ask for. Of updates each makes its own part, from zeros on all devices but one;
the parts are added up.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part
from reactant.communication.local_program import LocalProgram, Window
from reactant.communication.planning import Plan, Wanted, part_of, wanted_like
from reactant.communication.rules.reduction import only_owned
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.bounds import combined_by
from reactant.ir.types import dtype_of, shape_of


def _batch(indices: ir.Value, vector: int) -> list[int]:
    """The dimensions of indices that are not the coordinates of one."""
    return [d for d in range(len(shape_of(indices))) if d != vector]


@rule("gather")
class Gather(Rule):
    """Windows at run-time places."""

    def places(self, op: ir.Operation) -> tuple[dict[int, int], dict[int, int]]:
        """{dimension of the operand, or of the indices: the one of the result that it is}."""
        numbers = attr.decode(op.attributes["dimension_numbers"])
        x, indices = op.operands
        sizes, rank = attr.decode(op.attributes["slice_sizes"]), len(shape_of(op.results[0]))
        kept = [d for d in range(len(shape_of(x)))
                if d not in numbers.collapsed_slice_dims and d not in numbers.operand_batching_dims]
        windows = {d: r for d, r in zip(kept, numbers.offset_dims, strict=True)
                   if sizes[d] == shape_of(x)[d] and d not in numbers.start_index_map}
        others = [r for r in range(rank) if r not in numbers.offset_dims]
        batch = dict(zip(_batch(indices, numbers.index_vector_dim), others, strict=True))
        together = {d: batch[i] for d, i in
                    zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)}
        return windows | together, batch

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        for operand, places in zip(op.operands, self.places(op), strict=True):
            for d, r in places.items():
                yield [(operand, d), (op.results[0], r)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        for operand, places in zip(op.operands, self.places(op), strict=True):
            for d, r in places.items():
                found = plan.followed(operand, d, plan.axes[result][dimension])
                if r == dimension and found is not plan.free:
                    return found
        return plan.free if any(dimension in p.values() for p in self.places(op)) else None

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return any(dimension in places.values() for places in self.places(op))

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), grids = demands, plan.grids(op.results[0])
        assert demand is not None
        for operand, places in zip(op.operands, self.places(op), strict=True):
            cyclic = frozenset(d for d, r in places.items() if r in demand.cyclic)
            plan.need(operand, demand.where, wanted_like(grids, demand, places), cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result = op.results[0]
        windows, where, given = program.windows(result), program.where(result), []
        for operand, places in zip(op.operands, self.places(op), strict=True):
            mine = {d: windows[r] for d, r in places.items() if r in windows}
            given.append(program.view(operand, mine, where, frozenset(mine)))
        sizes = [shape_of(given[0])[d] if d in self.places(op)[0] and n != 1 else n
                 for d, n in enumerate(attr.decode(op.attributes["slice_sizes"]))]
        made = program.clone(op, given, [program.local_shape(result, windows)],
                             {"slice_sizes": attr.integers(tuple(sizes))})
        return [program.result(result, made[0])]


@rule("scatter")
class Scatter(Rule):
    """Updates at run-time places: of one array, where they are added; else as a whole."""

    def places(self, op: ir.Operation) -> tuple[dict[int, int], dict[int, int]]:
        """{dimension of the updates: the one of the result that it is, or of the indices}."""
        numbers = attr.decode(op.attributes["scatter_dimension_numbers"])
        x, indices, updates = op.operands
        kept = [d for d in range(len(shape_of(x)))
                if d not in numbers.inserted_window_dims and d not in numbers.input_batching_dims]
        windows = {u: d for u, d in zip(numbers.update_window_dims, kept, strict=True)
                   if shape_of(updates)[u] == shape_of(x)[d] and d not in numbers.scatter_dims_to_operand_dims}
        others = [u for u in range(len(shape_of(updates))) if u not in numbers.update_window_dims]
        return windows, dict(zip(others, _batch(indices, numbers.index_vector_dim), strict=True))

    def _simple(self, op: ir.Operation) -> bool:
        numbers = attr.decode(op.attributes["scatter_dimension_numbers"])
        return combined_by(op) == "add" and dtype_of(op.results[0]).kind != "b" and not numbers.input_batching_dims

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        if not self._simple(op):
            return
        x, indices, updates = op.operands
        windows, batch = self.places(op)
        for u, d in windows.items():
            yield [(updates, u), (x, d), (op.results[0], d)]
        for u, i in batch.items():
            yield [(updates, u), (indices, i)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        if not self._simple(op) or dimension not in self.places(op)[0].values():
            return None
        return plan.followed(op.operands[0], dimension, plan.axes[result][dimension])

    def summed(self, plan: Plan, op: ir.Operation) -> dict[int, Grid]:
        """The dimensions of the updates whose parts are added up, as the updates are divided."""
        updates, found = op.operands[2], {}
        used = {a for g in plan.divided(op.results[0]).values() for a in g.axes}
        for u in self.places(op)[1]:
            grid = plan.chosen(updates, u)
            if grid is not None and not used & set(grid.axes):
                found[u] = grid
                used |= set(grid.axes)
        return found

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        if not self._simple(op):
            super().demand(plan, op, demands)
            return
        (demand,), (x, indices, updates) = demands, op.operands
        assert demand is not None
        grids, (windows, batch), summed = plan.grids(op.results[0]), self.places(op), self.summed(plan, op)
        where = plan.everyone if summed else demand.where
        plan.need(x, where, wanted_like(grids, demand, {d: d for d in windows.values()}))
        wanted = wanted_like(grids, demand, windows)
        for u, grid in summed.items():
            wanted[u] = Wanted(grid.owned(shape_of(updates)[u]), grid)
        plan.need(updates, where, wanted)
        plan.need(indices, where, {batch[u]: wanted[u] for u in summed})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        if not self._simple(op):
            return super().emit(program, op)
        plan, result, (x, indices, updates) = program.plan, op.results[0], op.operands
        windows, (own, batch), summed = program.windows(result), self.places(op), self.summed(plan, op)
        where = plan.everyone if summed else program.where(result)
        parts = {u: Window(*part_of(g, g.owned(shape_of(updates)[u])), g.axes) for u, g in summed.items()}
        base = program.view(x, windows, where)
        at = program.view(indices, {batch[u]: w for u, w in parts.items()}, where)
        new = program.view(updates, parts | {u: windows[d] for u, d in own.items() if d in windows}, where)
        axes = tuple(a for a in plan.mesh.names if any(a in g.axes for g in summed.values()))
        for u, grid in summed.items():
            nowhere = ops.constant(-1, dtype_of(at), ())
            (at,) = only_owned(program, [at], [nowhere], batch[u], grid, shape_of(updates)[u], parts[u])
        if axes:
            first = np.logical_and.reduce([g.first for g in summed.values()])
            mine = ops.compare(program.w.table(first), 1, "EQ")
            base = ops.select(mine, base, ops.constant(0, dtype_of(base), shape_of(base)))
        (made,) = program.clone(op, [base, at, new], [program.local_shape(result, windows)])
        return [program.result(result, program.w.combined(made, "add", axes) if axes else made)]
