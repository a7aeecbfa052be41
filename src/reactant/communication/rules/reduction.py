"""Reductions: each device reduces what it owns, the partial results are combined."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part, between, cut, padded
from reactant.communication.local_program import LocalProgram, Window, owned_window
from reactant.communication.plan import Plan, Wanted, wanted_like
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.bounds import combined_by
from reactant.ir.types import dtype_of, shape_of, size


@rule("reduce")
class Reduce(Rule):
    """Any number of arrays by any function."""

    def kept(self, op: ir.Operation) -> dict[int, int]:
        """{dimension of the operands: the one of the results that it is}."""
        gone = attr.decode(op.attributes["dimensions"])
        return {d: r for r, d in enumerate(d for d in range(len(shape_of(op.operands[0]))) if d not in gone)}

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        inputs = list(op.operands)[:len(op.results)]
        for d in range(len(shape_of(inputs[0]))):
            yield [(x, d) for x in inputs]
        for d, r in self.kept(op).items():
            yield [(inputs[0], d), *((v, r) for v in op.results)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        kept, axes = self.kept(op), plan.axes[result][dimension]
        if any(set(g.axes) & set(axes) for g in _reduced(plan, op, kept).values()):
            return None
        return plan.followed(op.operands[0], next(d for d, r in kept.items() if r == dimension), axes)

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        return bool(_reduced(plan, op, self.kept(op)))

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        demand = _joined(demands)
        kept, inputs = self.kept(op), list(op.operands)[:len(op.results)]
        grids = next(plan.grids(r) for r, d in zip(op.results, demands, strict=True) if d is not None)
        reduced = _reduced(plan, op, kept)
        where = plan.everyone if reduced else demand.where
        wanted = wanted_like(grids, demand, kept)
        for d, grid in reduced.items():
            wanted[d] = Wanted(grid.owned(shape_of(inputs[0])[d]), grid)
        cyclic = frozenset(d for d, r in kept.items() if r in demand.cyclic)
        for x in inputs:
            plan.need(x, where, wanted, cyclic)
        for init in list(op.operands)[len(inputs):]:
            plan.need(init, where, {})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        plan, kept = program.plan, self.kept(op)
        count = len(op.results)
        inputs, inits = list(op.operands)[:count], list(op.operands)[count:]
        known = [r for r in op.results if plan.of(r).demand is not None]
        windows, reduced = program.joint_windows(known), _reduced(plan, op, kept)
        where = plan.everyone if reduced else np.logical_or.reduce([program.where(r) for r in known])
        mine = {d: windows[r] for d, r in kept.items() if r in windows}
        for d, grid in reduced.items():
            mine[d] = owned_window(grid, shape_of(inputs[0])[d])
        starts = [program.view(init, {}, where) for init in inits]
        parts = [program.view(x, mine, where, frozenset(mine)) for x in inputs]
        for d, grid in reduced.items():
            parts = only_owned(program, parts, starts, d, grid, shape_of(inputs[0])[d], mine[d])
        gone = attr.decode(op.attributes["dimensions"])
        shape = tuple(n for d, n in enumerate(shape_of(parts[0])) if d not in gone)
        made = program.clone(op, [*parts, *starts], [shape] * count)
        axes = plan.across(reduced)
        if axes:
            made = _combined(program, op, made, starts, axes)
        begin = tuple(windows[r].starts if r in windows else None for r in range(len(shape)))
        return [Part(m, begin) for m in made]


def _joined(demands: Sequence[Demand | None]) -> Demand:
    found = None
    for demand in demands:
        if demand is not None:
            found = demand if found is None else found.joined(demand)
    assert found is not None
    return found


def _reduced(plan: Plan, op: ir.Operation, kept: dict[int, int]) -> dict[int, Grid]:
    """The dimensions that are reduced and divided: as the first operand is."""
    first = op.operands[0]
    found = {d: plan.chosen(first, d) for d in range(len(shape_of(first))) if d not in kept}
    return {d: g for d, g in found.items() if g is not None}


def only_owned(program: LocalProgram, parts: list[ir.Value], starts: Sequence[ir.Value], d: int, grid: Grid,
                extent: int, window: Window) -> list[ir.Value]:
    """Parts with what a reduction begins with in place of what a device does not own."""
    owned = grid.owned(extent)
    if ((owned.low == window.starts) & (owned.high == window.starts + window.length)).all():
        return parts
    place, shape = program.w.places(window.starts, window.length), shape_of(parts[0])
    own = ops.broadcast_in_dim(between(place, program.w.table(owned.low), program.w.table(owned.high)), shape, (d,))
    return [ops.select(own, x, ops.broadcast_in_dim(init, shape, ())) for x, init in zip(parts, starts, strict=True)]


TINY = 1024
"""Bytes that are sooner sent to everybody than in two iterations."""
EXTREMES = {"maximum": "maximum", "minimum": "minimum", "or": "maximum", "and": "minimum"}
"""What devices combine integers by; XLA:CPU (0.10.2) knows no logical ops there."""


def _combined(program: LocalProgram, op: ir.Operation, made: Sequence[ir.Value], starts: Sequence[ir.Value],
              axes: tuple[str, ...]) -> list[ir.Value]:
    """The results of all devices along some axes in one."""
    w, name, dtype = program.w, combined_by(op), dtype_of(made[0])
    if name == "add" and dtype.kind != "b" and _is_zero(op.operands[1]):
        return [w.combined(made[0], "add", axes)]
    if dtype.kind == "b" and name in EXTREMES:
        return [ops.convert(w.combined(ops.convert(made[0], np.uint8), EXTREMES[name], axes), bool)]
    if dtype.kind in "iu" and name in ("maximum", "minimum"):
        return [w.combined(made[0], name, axes)]
    shape, count = shape_of(made[0]), w.mesh.size(axes)
    each = -(-size(shape) // count)
    if 2 * each >= size(shape) or count * size(shape) * dtype.itemsize <= TINY:
        return program.reduced(op, [w.gather(ops.reshape(m, (1, *shape)), 0, axes) for m in made], starts)
    # each device reduces one part of what all have, and tells the others
    flat = [padded(ops.reshape(m, (size(shape),)), 0, 0, each * count - size(shape)) for m in made]
    rows = [w.transposed(ops.reshape(x, (count, each)), axes, 0, 0) for x in flat]
    parts = [w.gather(x, 0, axes) for x in program.reduced(op, rows, starts)]
    return [ops.reshape(cut(x, 0, 0, size(shape)), shape) for x in parts]


def _is_zero(init: ir.Value) -> bool:
    value = ops.constant_value(init)
    return value is not None and bool(value == 0)

