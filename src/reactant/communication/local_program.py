"""The program of one device, op by op after a plan."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.blocks import Grid
from reactant.communication.emission import Part, Writer, cut
from reactant.communication.exchange import Moving, exchange, gathered
from reactant.communication.plan import Box, Plan, part_of, whole, within
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of, tensor_type
from reactant.support.records import dataclass


@dataclass(eq=False)
class Window:
    """Where one dimension of a part is wanted, how long, and in whose blocks."""

    starts: np.ndarray
    length: int
    axes: tuple[str, ...]


def owned_window(grid: Grid, extent: int) -> Window:
    """Where the parts of a dimension are that devices own."""
    return Window(*part_of(grid, grid.owned(extent)), grid.axes)


class LocalProgram:
    """Writes blocks of ops for one device; `parts` knows what has been written of the values of the program."""

    def __init__(self, plan: Plan, writer: Writer) -> None:
        self.plan, self.w = plan, writer
        self.parts: dict[ir.Value, Part] = {}
        self.sections: dict[ir.Value, list[tuple[Box, Part]]] = {}
        self.whole: dict[tuple[ir.Value, frozenset[int]], Part] = {}

    # ---- what has been written ------------------------------------------------------------------------------------

    def windows(self, value: ir.Value) -> dict[int, Window]:
        """What is to be computed of a value, dimension by dimension."""
        return self.joint_windows([value])

    def joint_windows(self, values: Sequence[ir.Value]) -> dict[int, Window]:
        """What is to be computed of several results that are divided alike, for all of them."""
        known = [self.plan.of(v).demand for v in values]
        demand = known[0]
        assert demand is not None
        for each in known[1:]:
            demand = demand.joined(each) if each is not None else demand
        starts, shape = self.plan.part(values[0], demand)
        return {d: Window(s, shape[d], g.axes) for d, (s, g) in enumerate(
            zip(starts, self.plan.grids(values[0]), strict=True)) if s is not None and g is not None}

    def where(self, value: ir.Value) -> np.ndarray:
        """Which devices compute elements of a value that somebody looks at."""
        demand = self.plan.of(value).demand
        assert demand is not None
        return np.logical_and.reduce([demand.where, *(s.some for s in demand.spans.values())])

    def local_shape(self, value: ir.Value, windows: Mapping[int, Window]) -> tuple[int, ...]:
        return tuple(windows[d].length if d in windows else n for d, n in enumerate(shape_of(value)))

    def _section(self, value: ir.Value, windows: Mapping[int, Window], box: Box) -> tuple[ir.Value, Part]:
        """What there is of a value in a box, gathered along the dimensions that are wanted as a whole."""
        value = self.plan.axes.resolved(value)
        gathered = frozenset(d for d, g in self.plan.divided(value).items()
                             if d not in windows or windows[d].axes != g.axes)
        if gathered:
            outer, part = whole(shape_of(value)), self.whole[value, gathered]
        elif value in self.sections:
            outer, part = next((b, p) for b, p in self.sections[value] if within(box, b))
        else:
            outer, part = whole(shape_of(value)), self.parts[value]
        return boxed(part.value, [(b[0] - o[0], b[1] - o[0]) if o != b else None
                                  for b, o in zip(box, outer, strict=True)]), part

    def view(self, value: ir.Value, windows: Mapping[int, Window], where: np.ndarray,
             cyclic: frozenset[int] = frozenset(), box: Box | None = None) -> ir.Value:
        """A value's elements in some windows; dimensions that have none as a whole, or what is in `box`."""
        box = tuple((0, n) if g is not None and d in windows or box is None else b for d, (n, g, b) in enumerate(zip(
            shape_of(value), self.plan.grids(value), box or whole(shape_of(value)), strict=True)))
        if self.plan.of(value).demand is None:      # nobody reads an element of it
            shape = tuple(windows[d].length if d in windows else hi - lo for d, (lo, hi) in enumerate(box))
            return self.w.nothing(shape, dtype_of(value))
        found, part = self._section(value, windows, box)
        for d, window in windows.items():
            starts = part.starts[d]
            if starts is None and d in cyclic and box[d] == (0, shape_of(value)[d]):
                found, starts = self._turned(found, d, window, where)
            offsets = window.starts - (box[d][0] if starts is None else starts)
            found = self.w.window(found, d, offsets, window.length, where)
        return found

    def _turned(self, x: ir.Value, d: int, window: Window, where: np.ndarray) -> tuple[ir.Value, np.ndarray]:
        """A dimension that every device has, going on at both ends with what is at the other."""
        extent = shape_of(x)[d]
        low = int(window.starts[where].min()) // extent if where.any() else 0
        high = -(-int((window.starts[where] + window.length).max()) // extent) if where.any() else 1
        copies = max(high - low, 1)
        return ops.concatenate([x] * copies, d) if copies > 1 else x, np.full(len(where), low * extent)

    # ---- writing --------------------------------------------------------------------------------------------------

    def result(self, value: ir.Value, made: ir.Value) -> Part:
        """What has been written, as the part that was planned."""
        demand = self.plan.of(value).demand
        assert demand is not None
        starts, shape = self.plan.part(value, demand)
        assert shape_of(made) == shape, (shape_of(made), shape)
        return Part(made, tuple(starts))

    def on_whole(self, op: ir.Operation) -> list[Part]:
        """An op as it is, on whole operands."""
        mapping = {v: self.view(v, {}, self.plan.everyone) for v in {*op.operands, *modules.captured(op)}}
        copy = modules.clone_with(op, dict(mapping))
        return [Part(v, (None,) * len(shape_of(v))) for v in copy.results]

    def clone(self, op: ir.Operation, operands: Sequence[ir.Value], shapes: Sequence[tuple[int, ...]],
              attributes: Mapping[str, ir.Attribute] | None = None) -> list[ir.Value]:
        """An op on other operands, with results of other shapes."""
        types = [tensor_type(s, dtype_of(r)) for s, r in zip(shapes, op.results, strict=True)]
        made = ir.Operation.create(op.name, results=types, operands=list(operands), attributes={
            **{a: op.attributes[a] for a in op.attributes}, **(attributes or {})}, regions=len(op.regions))
        around = {v: self.view(v, {}, self.plan.everyone) for v in modules.captured(op)}
        for region, old in zip(made.regions, op.regions, strict=True):
            _copy_region(region, old, around)
        return list(made.results)

    def reduced(self, op: ir.Operation, inputs: Sequence[ir.Value], inits: Sequence[ir.Value]) -> list[ir.Value]:
        """Arrays reduced along their first dimension as an op does it."""
        return self.clone(op, [*inputs, *inits], [shape_of(x)[1:] for x in inputs],
                          {"dimensions": attr.integers((0,))})

    def finish(self, values: Sequence[ir.Value]) -> None:
        """Exchange and gather what is wanted so of values that have been written."""
        own = [v for v in values if v not in self.plan.axes.same and v in self.parts]
        moved = [v for v in own if self.plan.of(v).moved]
        self._exchange(moved)
        for value in moved:
            self.gather(value)

    def gather(self, value: ir.Value) -> None:
        everything = whole(shape_of(value))     # with what has been exchanged along other dimensions
        part = next((p for b, p in self.sections.get(value, ()) if b == everything), self.parts[value])
        for dimensions in self.plan.of(value).gathered:
            self.whole[value, dimensions] = gathered(self.w, self.plan, value, part, dimensions)

    def _exchange(self, values: Sequence[ir.Value]) -> None:
        moving, reasons = [], []
        for value in values:
            placed, part = self.plan.of(value), self.parts[value]
            assert placed.demand is not None
            reasons += [placed.reason] if placed.reason is not None else []
            for box, wanted in placed.sections:
                piece = boxed(part.value, [None if b == (0, n) else b
                                           for b, n in zip(box, shape_of(value), strict=True)])
                moving.append(Moving(value, box, Part(piece, part.starts), placed.demand, wanted))
        if not moving:
            return
        with ir.Location.fused(reasons) if reasons else ir.Location.unknown():
            for each, part in zip(moving, exchange(self.w, self.plan, moving), strict=True):
                self.sections.setdefault(each.value, []).append((each.box, part))


def boxed(x: ir.Value, box: Sequence[tuple[int, int] | None]) -> ir.Value:
    """Some elements of some dimensions."""
    for d, each in enumerate(box):
        if each is not None:
            x = cut(x, d, *each)
    return x


def _copy_region(into: ir.Region, old: ir.Region, around: Mapping[ir.Value, ir.Value]) -> None:
    for block in old:
        types = [a.type for a in block.arguments]
        made = into.blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
        mapping = {**around, **dict(zip(block.arguments, made.arguments, strict=True))}
        with ir.InsertionPoint(made):
            for op in block.operations:
                modules.clone_with(op.operation, mapping)
