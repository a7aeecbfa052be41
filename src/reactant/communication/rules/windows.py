"""Reductions of windows: those that move over the elements ask for borders; running sums are made up of parts' sums."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid, Span
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part, between
from reactant.communication.local_program import LocalProgram, Window, owned_window
from reactant.communication.plan import Plan, Wanted
from reactant.communication.rules.reduction import only_owned
from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.bounds import combined_by
from reactant.ir.types import shape_of
from reactant.support.records import dataclass

RUNNING = ("add", "multiply", "maximum", "minimum", "and", "or")


@dataclass(frozen=True)
class Sliding:
    """How windows go over one dimension."""

    size: int
    stride: int
    base: int
    dilation: int
    low: int
    high: int

    @property
    def still(self) -> bool:
        """Whether each window is one element, at its place."""
        return (self.size, self.stride, self.base, self.low, self.high) == (1, 1, 1, 0, 0)

    @property
    def plain(self) -> bool:
        return self.stride == self.base == 1

    @property
    def reach(self) -> int:
        """From the first to the last element of a window."""
        return (self.size - 1) * self.dilation

    def running(self, extent: int) -> int:
        """1: a window has all elements up to its place; -1: all from it on; 0: neither."""
        if not self.plain or self.dilation != 1 or self.size < extent or extent < 2:
            return 0
        return {(self.size - 1, 0): 1, (0, self.size - 1): -1}.get((self.low, self.high), 0)


def _sliding(op: ir.Operation) -> list[Sliding]:
    rank = len(shape_of(op.results[0]))

    def told(name: str) -> Sequence[int]:
        return attr.decode(op.attributes[name]) if name in op.attributes else [1] * rank
    padding = np.zeros((rank, 2), int)
    if "padding" in op.attributes:
        padding = np.array(attr.decode(op.attributes["padding"]))
    return [Sliding(*map(int, each)) for each in zip(
        told("window_dimensions"), told("window_strides"), told("base_dilations"), told("window_dilations"),
        padding[:, 0], padding[:, 1], strict=True)]


@rule("reduce_window")
class Windows(Rule):
    """One array by one function; several as a whole."""

    def followed(self, op: ir.Operation) -> list[int]:
        """The dimensions that may be divided."""
        if len(op.results) != 1:
            return []
        shape = shape_of(op.operands[0])
        return [d for d, s in enumerate(_sliding(op)) if s.still or s.plain and (
            self.kind(op) is not None if s.running(shape[d]) else s.reach < shape[d])]

    def kind(self, op: ir.Operation) -> str | None:
        """The op that a window is reduced by."""
        name = combined_by(op)
        return name if name in RUNNING else None

    def ran(self, plan: Plan, op: ir.Operation) -> dict[int, int]:
        """The divided dimensions along which windows are running: 1 from the beginning, -1 from the end."""
        shape = shape_of(op.operands[0])
        return {d: s.running(shape[d]) for d, s in enumerate(_sliding(op))
                if d in plan.divided(op.results[0]) and s.running(shape[d])}

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        for d in self.followed(op):
            yield [(op.operands[0], d), (op.results[0], d)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        if dimension not in self.followed(op):
            return None
        found = plan.followed(op.operands[0], dimension, plan.axes[result][dimension])
        return plan.at_rest(result)[dimension] if found is plan.free else found

    def movable(self, plan: Plan, op: ir.Operation) -> bool:
        return not self.ran(plan, op)

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        return bool(self.ran(plan, op))

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return _sliding(op)[dimension].still

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        if len(op.results) != 1:
            super().demand(plan, op, demands)
            return
        (demand,), (x, init), sliding, ran = demands, op.operands, _sliding(op), self.ran(plan, op)
        assert demand is not None
        wanted = {}
        for d, span in demand.spans.items():
            grid, s = plan.grids(op.results[0])[d], sliding[d]
            assert grid is not None
            own = grid.owned(shape_of(x)[d]) if d in ran else Span(span.low - s.low, span.high - s.low + s.reach)
            wanted[d] = Wanted(own, grid)
        where = plan.everyone if ran else demand.where
        plan.need(x, where, wanted, demand.cyclic)
        plan.need(init, where, {})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        if len(op.results) != 1:
            return super().emit(program, op)
        plan, result, (operand, init), sliding = program.plan, op.results[0], op.operands, _sliding(op)
        windows, ran = self._windows(program, op), self.ran(plan, op)
        where = plan.everyone if ran else program.where(result)
        mine = {d: w if d in ran or sliding[d].still else
                Window(w.starts - sliding[d].low, w.length + sliding[d].reach, w.axes) for d, w in windows.items()}
        x, start = program.view(operand, mine, where, frozenset(mine)), program.view(init, {}, where)
        for d, w in mine.items():
            if not sliding[d].still:
                x = self._only_there(program, x, start, d, shape_of(operand)[d], w,
                                     plan.divided(result)[d] if d in ran else None)
        padding, sizes = [], []
        for d, s in enumerate(sliding):
            inside = d in windows and not s.still and d not in ran
            length = shape_of(x)[d] if d in ran else s.size
            padding.append((0, 0) if inside else ((length - 1, 0) if ran.get(d) == 1 else (0, length - 1)) if d in ran
                           else (s.low, s.high))
            sizes.append(length)
        made = program.clone(op, [x, start], [program.local_shape(result, windows)], {
            "padding": attr.integer_matrix(tuple(padding)), "window_dimensions": attr.integers(tuple(sizes))})[0]
        for d, direction in ran.items():
            made = self._with_others(program, op, made, x, start, d, direction)
        return [Part(made, tuple(windows[d].starts if d in windows else None for d in range(len(sliding))))]

    def _windows(self, program: LocalProgram, op: ir.Operation) -> dict[int, Window]:
        """What is computed of the result: of what runs, all that devices own, for the others."""
        (result,), plan = op.results, program.plan
        return program.windows(result) | {
            d: owned_window(g, shape_of(result)[d])
            for d, g in plan.divided(result).items() if d in self.ran(plan, op)}

    def _only_there(self, program: LocalProgram, x: ir.Value, start: ir.Value, d: int, extent: int, w: Window,
                    grid: Grid | None) -> ir.Value:
        """A part with what a reduction begins with in place of what is not in the array, or not owned in a grid."""
        if grid is not None:
            return only_owned(program, [x], [start], d, grid, extent, w)[0]
        if not ((w.starts < 0) | (w.starts + w.length > extent)).any():
            return x
        shape, inside = shape_of(x), between(program.w.places(w.starts, w.length), 0, extent)
        return ops.select(ops.broadcast_in_dim(inside, shape, (d,)), x, ops.broadcast_in_dim(start, shape, ()))

    def _with_others(self, program: LocalProgram, op: ir.Operation, made: ir.Value, x: ir.Value, start: ir.Value,
                     d: int, direction: int) -> ir.Value:
        """Running results of a part, with what comes before it on other devices."""
        kind, shape = self.kind(op), shape_of(made)
        assert kind is not None
        axes = program.windows(op.results[0])[d].axes
        last = shape[d] - 1 if direction == 1 else 0
        total = ops.slice(made, [last if e == d else 0 for e in range(len(shape))],
                          [last + 1 if e == d else n for e, n in enumerate(shape)])
        every = program.w.gather(total, d, axes)
        own = program.w.table(Grid.at_rest(program.plan.mesh, axes, program.plan.mesh.size(axes)).begin)
        place = ops.iota((shape_of(every)[d],), np.int64, 0)
        grid = program.plan.divided(op.results[0])[d]
        earlier = (direction == 1) != grid.descends
        before = ops.compare(place, ops.broadcast_in_dim(own, shape_of(place), ()), "LT" if earlier else "GT")
        every = ops.select(ops.broadcast_in_dim(before, shape_of(every), (d,)), every,
                           ops.broadcast_in_dim(start, shape_of(every), ()))
        carried = ops.reduce(every, start, (d,), kind)
        kept = tuple(e for e in range(len(shape)) if e != d)
        return creation.create(f"stablehlo.{kind}", [made.type],
                               [ops.broadcast_in_dim(carried, shape, kept), made]).result

