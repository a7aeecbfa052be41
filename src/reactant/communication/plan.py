"""The plan of a program on a mesh: the blocks of every value, what is needed of it where, what is moved."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Axes
from reactant.communication.blocks import Demand, Grid, Span, positions
from reactant.communication.sharding import MeshShape
from reactant.ir import ops
from reactant.ir.types import nbytes, shape_of
from reactant.support.records import dataclass

SMALL = 4
"""Elements by which a part may always exceed a block."""


REARRANGE = {f"stablehlo.{n}" for n in ("reshape", "transpose", "broadcast_in_dim", "pad")}
"""Ops that only put elements elsewhere."""

Box = tuple[tuple[int, int], ...]
"""[begin, end) of each dimension; all of it where that is divided."""


def whole(shape: Sequence[int]) -> Box:
    """All of an array."""
    return tuple((0, n) for n in shape)


def within(box: Box, other: Box) -> bool:
    """Whether a box lies in another one."""
    return all(b[0] >= o[0] and b[1] <= o[1] for b, o in zip(box, other, strict=True))


def _put(sections: list[tuple[Box, Demand]], box: Box, demand: Demand) -> None:
    """Add a section; those that overlap become one."""
    for k, (other, known) in enumerate(sections):
        if all(b[0] < o[1] and o[0] < b[1] for b, o in zip(box, other, strict=True)):
            del sections[k]
            hull = tuple((min(b[0], o[0]), max(b[1], o[1])) for b, o in zip(box, other, strict=True))
            _put(sections, hull, known.joined(demand))
            return
    sections.append((box, demand))


@dataclass(eq=False)
class Wanted:
    """What is wanted of one dimension: elements, and blocks that they belong to."""

    span: Span
    grid: Grid


@dataclass(eq=False)
class Placed:
    """What is known of one value."""

    grids: list[Grid | None]
    demand: Demand | None = None
    sections: list[tuple[Box, Demand]] = field(default_factory=list)
    """The same apart for those parts of the dimensions that are not divided that are read by themselves."""
    direct: list[tuple[Box, Demand]] = field(default_factory=list)
    """What is needed for what devices own of other values."""
    moved: bool = False
    """Whether devices compute what they own, `demand`, and get the rest of `sections` from others."""
    reason: ir.Location | None = None
    """The first op that reads what devices do not own."""
    gathered: set[frozenset[int]] = field(default_factory=set)
    """Which dimensions are wanted as a whole, by whom."""
    parted: bool = False
    """Whether somebody wants parts in these blocks."""


class Plan:
    """The plan of a program on a mesh."""

    def __init__(self, mesh: MeshShape, axes: Axes, moved: Collection[ir.Value] = ()) -> None:
        self.mesh, self.axes, self.to_move = mesh, axes, moved
        self.excess: list[tuple[ir.Value, ir.Value | None]] = []
        """Values of which more is needed than devices own, and for what: a result of which more is needed, too, or
        None."""
        self.beyond: set[tuple[ir.Value, ir.Value]] = set()
        """(first result of an op, value) where the op reads more of the value than devices own."""
        self.asked: dict[ir.Value, set[ir.Value]] = {}
        """What an op asked for, by its first result."""
        self.reader: ir.Value | None = None
        self.results: list[ir.Value] = []
        self.probing = False
        self.everyone = np.ones(mesh.devices, bool)
        self.placed: dict[ir.Value, Placed] = {}
        self.reading: ir.Location | None = None
        """The op whose operands' demands are being told."""
        self.free = Grid((), *(np.zeros(0),) * 4)
        """Stands for blocks that are still to be chosen."""

    def of(self, value: ir.Value) -> Placed:
        """What is known of a value."""
        return self.placed[self.axes.resolved(value)]

    def grids(self, value: ir.Value) -> list[Grid | None]:
        return self.of(value).grids

    def divided(self, value: ir.Value) -> dict[int, Grid]:
        """The dimensions of a value that some axes divide."""
        return {d: g for d, g in enumerate(self.grids(value)) if g is not None}

    # ---- blocks ---------------------------------------------------------------------------------------------------

    def at_rest(self, value: ir.Value) -> list[Grid | None]:
        """The blocks in which a value rests."""
        return [Grid.at_rest(self.mesh, a, n) if a else None
                for a, n in zip(self.axes[value], shape_of(value), strict=True)]

    def followed(self, operand: ir.Value, dimension: int, axes: tuple[str, ...]) -> Grid:
        """The blocks of an operand's dimension where these axes divide it; else `free`."""
        found = self.grids(operand)[dimension]
        return found if found is not None and found.axes == axes else self.free

    def first_followed(self, operands: Iterable[ir.Value], dimension: int, axes: tuple[str, ...]) -> Grid:
        """The blocks of the first operand that these axes divide, rather of one that is not in reverse; else `free`."""
        found = [g for v in operands if (g := self.followed(v, dimension, axes)) is not self.free]
        return next((g for g in found if not g.descends), found[0] if found else self.free)

    def chosen(self, value: ir.Value, dimension: int) -> Grid | None:
        """The blocks of a dimension; where any would do, those at rest from now on."""
        grids = self.grids(value)
        if grids[dimension] is self.free:
            grids[dimension] = self.at_rest(value)[dimension]
        return grids[dimension]

    def across(self, grids: Mapping[int, Grid]) -> tuple[str, ...]:
        """The axes of the mesh that some of these blocks are divided by."""
        return self.mesh.ordered(a for g in grids.values() for a in g.axes)

    def place(self, value: ir.Value, grids: list[Grid | None]) -> None:
        self.placed[value] = Placed(grids)

    # ---- what is needed -------------------------------------------------------------------------------------------

    def need(self, value: ir.Value, where: np.ndarray, wanted: Mapping[int, Wanted],
             cyclic: frozenset[int] = frozenset(), box: Box | None = None) -> None:
        """Say that devices need elements of a value: of a dimension that is not in `wanted`, all, or those in `box`."""
        placed, extents = self.of(value), shape_of(value)
        for d, grid in enumerate(placed.grids):
            if grid is self.free and not self.probing:
                placed.grids[d] = wanted[d].grid if d in wanted and wanted[d].grid is not self.free else None \
                    if made_anywhere(value) else Grid.at_rest(self.mesh, self.axes[value][d], extents[d])
            elif grid is not None and d not in wanted and made_anywhere(value):
                self._undivide(placed, [d])
        gathered = frozenset(d for d, g in enumerate(placed.grids)
                             if g is not None and (d not in wanted or wanted[d].grid.axes != g.axes))
        if gathered:
            where, box = self.everyone, None
            if not self.probing:
                placed.gathered.add(gathered)
        else:
            placed.parted = True
        spans = {}
        for d, grid in enumerate(placed.grids):
            if grid is not None:
                if d in gathered:
                    spans[d] = grid.owned(extents[d])
                else:
                    spans[d] = wanted[d].span if d in cyclic else wanted[d].span.within(0, extents[d])
                    if gathered:        # of those that others want of this device, too
                        spans[d] = spans[d].alike(positions(self.mesh, grid.axes))
        if spans:
            some = np.logical_and.reduce([s.some for s in spans.values()]) & where
            if not some.any():
                return
            where = some
        exceeds = not all(g.owned(extents[d]).covers(spans[d].only(where))
                          for d, g in enumerate(placed.grids) if g is not None)
        if self.reader is not None:
            self.asked.setdefault(self.reader, set()).add(value)
            if exceeds or gathered:
                self.beyond.add((self.reader, self.axes.resolved(value)))
        if exceeds:
            self.excess += [(self.axes.resolved(value), r) for r in self.results or [None]]
        new = Demand(where, spans, frozenset(d for d in cyclic if d in spans and d not in gathered))
        box = tuple((0, n) if box is None or g is not None else b for n, g, b in
                    zip(extents, placed.grids, box or whole(extents), strict=True))
        if not self.results:
            _put(placed.direct, box, new)
        if self.probing:
            return
        _put(placed.sections, box, new)
        placed.demand = new if placed.demand is None else placed.demand.joined(new)
        if placed.reason is None and exceeds:
            placed.reason = self.reading

    def owned(self, value: ir.Value) -> Demand:
        """What devices own of a value."""
        return Demand(self.everyone, {d: g.owned(shape_of(value)[d]) for d, g in self.divided(value).items()})

    def settle(self, value: ir.Value, movable: bool, goes_round: Callable[[int], bool],
               together: bool = False) -> Demand | None:
        """All that is needed of a value is known: whether it is moved. What of it is computed."""
        placed = self.of(value)
        demand = placed.demand
        if demand is None or not demand.spans:
            return demand
        if not placed.parted and len(placed.gathered) == 1 and _grows(self, value):
            self._undivide(placed, placed.gathered.pop())
        if together or placed.gathered:
            placed.demand = demand = self._alike(demand, placed.grids)
        owned, extents = self.owned(value), shape_of(value)
        # around the end only where that is asked for
        for each in (demand, *(s for _, s in placed.sections)):
            each.cyclic = frozenset(d for d in each.cyclic if each.spans[d].only(each.where).leaves(extents[d]))
        turned = demand.cyclic
        apart = value in self.to_move or not all(goes_round(d) for d in turned)
        for d, span in demand.spans.items():
            grid = placed.grids[d]
            assert grid is not None
            own = span.only(demand.where)
            if not movable:
                apart |= not owned.spans[d].covers(own)
            elif own.some.any() and not made_anywhere(value):
                beyond = max(int((grid.begin - own.low)[own.some].max()), int((own.high - grid.end)[own.some].max()))
                apart |= beyond > max(grid.block // 2, SMALL)
        if apart:
            placed.moved, placed.demand = True, owned
        return placed.demand

    def _alike(self, demand: Demand, grids: Sequence[Grid | None]) -> Demand:
        """The least demand that has this one, and the same of a dimension on all devices at one place of its blocks."""
        spans = {d: s.only(demand.where).alike(positions(self.mesh, g.axes))
                 for d, s in demand.spans.items() if (g := grids[d]) is not None}
        return Demand(self.everyone, spans, demand.cyclic)

    @staticmethod
    def _undivide(placed: Placed, dimensions: Collection[int]) -> None:
        """Have every device compute all of some dimensions."""
        for d in dimensions:
            placed.grids[d] = None
            for demand in filter(None, (placed.demand, *(s for _, s in placed.sections + placed.direct))):
                demand.spans.pop(d, None)

    def settle_arguments(self, block: ir.Block) -> None:
        """Devices are given what they own of a block's arguments; what else is needed of them is moved."""
        for argument in block.arguments:
            if argument not in self.axes.same:
                self.settle(argument, False, lambda d: False)
                self.of(argument).demand = self.owned(argument)

    # ---- parts ----------------------------------------------------------------------------------------------------

    def part(self, value: ir.Value, demand: Demand) -> tuple[list[np.ndarray | None], tuple[int, ...]]:
        """Where the parts of a value begin that hold what is demanded, and their shape."""
        starts: list[np.ndarray | None] = []
        shape = list(shape_of(value))
        for d, grid in enumerate(self.grids(value)):
            if grid is None:
                starts.append(None)
                continue
            span = demand.spans[d].only(demand.where)
            begin, length = part_of(grid, span)
            starts.append(begin)
            shape[d] = length
        return starts, tuple(shape)


def made_anywhere(value: ir.Value) -> bool:
    """Whether any elements of a value are as easily had as others."""
    return ops.made_by(value, "constant", "iota") is not None


def _grows(plan: Plan, value: ir.Value) -> bool:
    """Whether what an array is made of, with little work, is sent to everybody for less than the array."""
    op = ops.maker(value)
    if op is None or op.name not in REARRANGE | ops.ELEMENTWISE:
        return False
    taken = sum(nbytes(v) for v in op.operands if any(g is not None for g in plan.grids(v)))
    return taken < nbytes(value) or op.name in REARRANGE and taken == nbytes(value)


def part_of(grid: Grid, span: Span) -> tuple[np.ndarray, int]:
    """Where parts begin so that they hold a span, and how long they are: at the same distance from each block, if that
    does not make them much longer."""
    some = span.some
    if not some.any():
        return grid.begin, 0
    starts = grid.begin - int((grid.begin - span.low)[some].max())
    length, least = int((span.high - starts)[some].max()), int((span.high - span.low).max())
    starts, length = (np.where(some, span.low, grid.begin), least) if length > 2 * least + SMALL else (starts, length)
    # those who need nothing look near by: after a few reshapes and slices blocks lie millions of elements away
    first, last, far = starts[some].min(), starts[some].max(), (length + SMALL) * len(starts)
    return np.where(some, starts, np.clip(starts, first - far, last + far)), length


def wanted_like(grids: Sequence[Grid | None], demand: Demand, dimensions: Mapping[int, int]) -> dict[int, Wanted]:
    """What is wanted of an operand whose dimensions are some of the result's: {its own: the result's}."""
    found = {}
    for own, other in dimensions.items():
        grid = grids[other]
        if grid is not None:
            found[own] = Wanted(demand.spans[other], grid)
    return found
