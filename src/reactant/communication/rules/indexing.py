"""Gathers and scatters at run-time places.

A dimension that is indexed is whole, or divided where that moves less: of what is looked up each device has its part,
of what is written it takes what falls into its part. Where positions count along with the result (`x[arange(n), i]`),
a dimension is divided as the result is. Of sums each device makes its own part, from zeros on all devices but one.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part, between, padded
from reactant.communication.local_program import LocalProgram, Window, owned_window
from reactant.communication.plan import Plan, Wanted, made_anywhere, wanted_like
from reactant.communication.rules.reduction import only_owned
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.bounds import combined_by
from reactant.ir.types import dtype_of, shape_of, size
from reactant.support.records import dataclass


@dataclass(eq=False)
class Places:
    """How the dimensions of a gather or scatter go together. `many` is the gather's result or the scatter's updates,
    `array` what is indexed."""

    windows: dict[int, int]
    """{dimension of the array that is taken whole: the one of many that it is}."""
    batch: dict[int, int]
    """{dimension of the indices: the one of many that it is}."""
    together: dict[int, int]
    """{dimension of the array that goes on with one of many: that}."""
    counted: dict[int, int]
    """Those of `together` that indices count: {coordinate of an index: the array's dimension}."""
    looked_up: dict[int, int]
    """{coordinate of an index: the array's dimension}, of which one element is taken."""
    vector: int
    """Which dimension of the indices has the coordinates of one."""

    @property
    def array(self) -> dict[int, int]:
        return self.windows | self.together


def _gather_places(op: ir.Operation) -> Places:
    numbers = attr.decode(op.attributes["dimension_numbers"])
    x, indices = op.operands
    sizes, rank = attr.decode(op.attributes["slice_sizes"]), len(shape_of(op.results[0]))
    kept = [d for d in range(len(shape_of(x)))
            if d not in numbers.collapsed_slice_dims and d not in numbers.operand_batching_dims]
    windows = {d: r for d, r in zip(kept, numbers.offset_dims, strict=True)
               if sizes[d] == shape_of(x)[d] and d not in numbers.start_index_map}
    others = [r for r in range(rank) if r not in numbers.offset_dims]
    return _places(x, indices, windows, others, numbers.index_vector_dim, numbers.start_index_map,
                   numbers.collapsed_slice_dims, numbers.operand_batching_dims, numbers.start_indices_batching_dims)


def _scatter_places(op: ir.Operation) -> Places:
    numbers = attr.decode(op.attributes["scatter_dimension_numbers"])
    x, indices, updates = op.operands
    kept = [d for d in range(len(shape_of(x)))
            if d not in numbers.inserted_window_dims and d not in numbers.input_batching_dims]
    windows = {d: u for u, d in zip(numbers.update_window_dims, kept, strict=True)
               if shape_of(updates)[u] == shape_of(x)[d] and d not in numbers.scatter_dims_to_operand_dims}
    others = [u for u in range(len(shape_of(updates))) if u not in numbers.update_window_dims]
    return _places(x, indices, windows, others, numbers.index_vector_dim, numbers.scatter_dims_to_operand_dims,
                   numbers.inserted_window_dims, numbers.input_batching_dims, numbers.scatter_indices_batching_dims)


def _places(x: ir.Value, indices: ir.Value, windows: dict[int, int], others: Sequence[int], vector: int,
            coordinates: Sequence[int], single: Sequence[int], batched: Sequence[int], by: Sequence[int]) -> Places:
    batch = dict(zip((d for d in range(len(shape_of(indices))) if d != vector), others, strict=True))
    together = {d: batch[i] for d, i in zip(batched, by, strict=True)}
    counted, looked_up = {}, {}
    for k, d in enumerate(coordinates):
        along = _counts_along(indices, vector, k) if d in single else None
        if along in batch and shape_of(x)[d] == shape_of(indices)[along] and batch[along] not in together.values():
            counted[k] = d
            together[d] = batch[along]
        elif d in single:
            looked_up[k] = d
    return Places(windows, batch, together, counted, looked_up, vector)


def _counts_along(indices: ir.Value, vector: int, coordinate: int) -> int | None:
    """The dimension along which a coordinate of indices is 0, 1, 2...; None where it is anything else."""
    if vector == len(shape_of(indices)):
        return _counts(indices)
    known = ops.constant_value(indices)
    if known is not None:
        return _counting(np.take(known, [coordinate], vector))
    made, at = ops.made_by(indices, "concatenate"), 0
    if made is None or attr.decode(made.attributes["dimension"]) != vector:
        return _counts(indices) if shape_of(indices)[vector] == 1 else None
    for piece in made.operands:
        if at == coordinate and shape_of(piece)[vector] == 1:
            return _counts(piece)
        at += shape_of(piece)[vector]
    return None


def _counts(value: ir.Value) -> int | None:
    """The dimension along which an array is 0, 1, 2..."""
    found, op = ops.constant_value(value), ops.made_by(value, "iota", "convert", "broadcast_in_dim", "reshape")
    if found is not None:
        return _counting(found)
    if op is None:
        return None
    if op.name == "stablehlo.iota":
        return attr.decode(op.attributes["iota_dimension"])
    own, made = shape_of(op.operands[0]), shape_of(value)
    along = _counts(op.operands[0])
    if along is None or op.name == "stablehlo.convert":
        return along
    if op.name == "stablehlo.broadcast_in_dim":
        target = attr.decode(op.attributes["broadcast_dimensions"])[along]
        return target if own[along] == made[target] else None       # the one element of a dimension is 0 everywhere
    longer = [d for d, n in enumerate(made) if n > 1]
    same = [n for n in own if n > 1] == [n for n in made if n > 1]
    return longer[[d for d, n in enumerate(own) if n > 1].index(along)] if same and own[along] > 1 else None


def _counting(array: np.ndarray) -> int | None:
    longer = [d for d, n in enumerate(array.shape) if n > 1]
    for d in longer:
        ramp = np.arange(array.shape[d]).reshape([-1 if e == d else 1 for e in range(array.ndim)])
        if (array == ramp).all():
            return d
    return None


def _shifted(at: ir.Value, vector: int, firsts: Mapping[int, ir.Value]) -> ir.Value:
    """Indices that count from these elements on, coordinate by coordinate."""
    if not firsts:
        return at
    at = ops.convert(at, np.int64)
    if vector == len(shape_of(at)):
        return ops.subtract(at, ops.broadcast_in_dim(firsts[0], shape_of(at), ()))
    zero = ops.constant(0, np.int64, (1,))
    each = [ops.reshape(firsts[k], (1,)) if k in firsts else zero for k in range(shape_of(at)[vector])]
    by = ops.concatenate(each, 0) if len(each) > 1 else each[0]
    return ops.subtract(at, ops.broadcast_in_dim(by, shape_of(at), (vector,)))


def _only_there(program: LocalProgram, at: ir.Value, nowhere: ir.Value, i: int, window: Window, extent: int,
                where: np.ndarray) -> ir.Value:
    """Indices with `nowhere` for those in front of and behind the array: updates there would be seen."""
    begin = window.starts[where]
    if not ((begin < 0) | (begin + window.length > extent)).any():
        return at
    there = between(program.w.places(window.starts, window.length), 0, extent)
    shape = shape_of(at)
    return ops.select(ops.broadcast_in_dim(there, shape, (i,)), at, ops.broadcast_in_dim(nowhere, shape, ()))


def _coordinate(at: ir.Value, vector: int, k: int) -> ir.Value:
    """One coordinate of all indices, in the shape of the others' dimensions."""
    shape = shape_of(at)
    if vector == len(shape):
        return at
    column = ops.slice(at, [k if d == vector else 0 for d in range(len(shape))],
                       [k + 1 if d == vector else n for d, n in enumerate(shape)])
    return ops.reshape(column, tuple(n for d, n in enumerate(shape) if d != vector))


@rule("gather")
class Gather(Rule):
    """Windows at run-time places."""

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        places = _gather_places(op)
        for operand, known in zip(op.operands, (places.array, places.batch), strict=True):
            for d, r in known.items():
                yield [(operand, d), (op.results[0], r)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        places, axes = _gather_places(op), plan.axes[result][dimension]
        if any(set(g.axes) & set(axes) for g in self.parted(plan, op).values()):
            return None
        for operand, known in zip(op.operands, (places.array, places.batch), strict=True):
            for d, r in known.items():
                found = plan.followed(operand, d, axes)
                if r == dimension and found is not plan.free:
                    return found
        return plan.free if dimension in {*places.array.values(), *places.batch.values()} else None

    def movable(self, plan: Plan, op: ir.Operation) -> bool:
        return not self.parted(plan, op)

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        return bool(self.parted(plan, op))

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        places = _gather_places(op)
        return dimension in {*places.array.values(), *places.batch.values()}

    def parted(self, plan: Plan, op: ir.Operation) -> dict[int, Grid]:
        """{coordinate of an index: the blocks of its dimension}, where each device looks up what it has."""
        x, result, places = op.operands[0], op.results[0], _gather_places(op)
        if not _few(plan, op):
            return {}
        used = {a for r in places.array.values() for a in plan.axes[result][r]}
        found = {}
        for k, d in places.looked_up.items():
            grid = plan.chosen(x, d)
            if grid is not None and not used & set(grid.axes):
                found[k] = grid
                used |= set(grid.axes)
        return found

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), grids, places, (x, indices) = demands, plan.grids(op.results[0]), _gather_places(op), op.operands
        assert demand is not None
        parted = self.parted(plan, op)
        where = plan.everyone if parted else demand.where
        wanted = wanted_like(grids, demand, places.array)
        for k, grid in parted.items():
            d = places.looked_up[k]
            wanted[d] = Wanted(grid.owned(shape_of(x)[d]), grid)
        plan.need(x, where, wanted, frozenset(d for d, r in places.array.items() if r in demand.cyclic))
        cyclic = frozenset(d for d, r in places.batch.items() if r in demand.cyclic)
        plan.need(indices, where, wanted_like(grids, demand, places.batch), cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        plan, result, places, (x, indices) = program.plan, op.results[0], _gather_places(op), op.operands
        parted = self.parted(plan, op)
        windows, where = program.windows(result), plan.everyone if parted else program.where(result)
        mine = {d: windows[r] for d, r in places.array.items() if r in windows}
        turned = frozenset(mine)
        for k, grid in parted.items():
            d = places.looked_up[k]
            mine[d] = owned_window(grid, shape_of(x)[d])
        array = program.view(x, mine, where, turned)
        theirs = {d: windows[r] for d, r in places.batch.items() if r in windows}
        at = program.view(indices, theirs, where, frozenset(theirs))
        own = self._owned(program, op, at, parted)
        firsts = {k: program.w.table(mine[d].starts) for k, d in (places.counted | places.looked_up).items()
                  if d in mine}
        at = _shifted(at if not parted else self._bounded(op, at, parted), places.vector, firsts)
        sizes = [shape_of(array)[d] if d in places.array and n != 1 else n
                 for d, n in enumerate(attr.decode(op.attributes["slice_sizes"]))]
        (made,) = program.clone(op, [array, at], [program.local_shape(result, windows)],
                                {"slice_sizes": attr.integers(tuple(sizes))})
        return [program.result(result, made if own is None else self._summed(program, op, made, own, parted))]

    def _bounded(self, op: ir.Operation, at: ir.Value, parted: Mapping[int, Grid]) -> ir.Value:
        """Indices as a gather takes them: none outside of the array."""
        places, x = _gather_places(op), op.operands[0]
        at, shape, vector = ops.convert(at, np.int64), shape_of(at), places.vector
        last = [shape_of(x)[places.looked_up[k]] - 1 if k in parted else np.iinfo(np.int64).max
                for k in range(shape[vector] if vector < len(shape) else 1)]
        limits = ops.constant(np.array(last if vector < len(shape) else last[0], np.int64))
        limits = ops.broadcast_in_dim(limits, shape, (vector,) if vector < len(shape) else ())
        return ops.minimum(ops.maximum(at, 0), limits)

    def _owned(self, program: LocalProgram, op: ir.Operation, at: ir.Value,
               parted: Mapping[int, Grid]) -> ir.Value | None:
        """Which indices are of elements that this device owns; None where each has all."""
        places, x, found = _gather_places(op), op.operands[0], None
        for k, grid in parted.items():
            owned = grid.owned(shape_of(x)[places.looked_up[k]])
            column = _coordinate(self._bounded(op, at, parted), places.vector, k)
            inside = between(column, program.w.table(owned.low), program.w.table(owned.high))
            found = inside if found is None else ops.and_(found, inside)
        return found

    def _summed(self, program: LocalProgram, op: ir.Operation, made: ir.Value, own: ir.Value,
                parted: Mapping[int, Grid]) -> ir.Value:
        """What devices have looked up in their parts, in one."""
        along = [r for _, r in sorted(_gather_places(op).batch.items())]
        axes = program.plan.across(parted)
        return program.w.united(made, ops.broadcast_in_dim(own, shape_of(made), along), axes)


@rule("dynamic_slice")
class DynamicSlice(Rule):
    """Parts at run-time places: dimensions that are taken whole stay divided."""

    def kept(self, op: ir.Operation) -> list[int]:
        """The dimensions that are taken whole."""
        x, result = op.operands[0], op.results[0]
        return [d for d, (n, m) in enumerate(zip(shape_of(x), shape_of(result), strict=True)) if n == m]

    def parted(self, plan: Plan, op: ir.Operation) -> dict[int, Grid]:
        """The others that are divided, of which each device takes what it has."""
        x, kept = op.operands[0], self.kept(op)
        if not _few(plan, op):
            return {}
        return {d: g for d in range(len(shape_of(x))) if d not in kept and (g := plan.chosen(x, d)) is not None}

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        for d in self.kept(op):
            yield [(op.operands[0], d), (op.results[0], d)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        axes = plan.axes[result][dimension]
        if dimension not in self.kept(op) or any(set(g.axes) & set(axes) for g in self.parted(plan, op).values()):
            return None
        return plan.followed(op.operands[0], dimension, axes)

    def movable(self, plan: Plan, op: ir.Operation) -> bool:
        return not self.parted(plan, op)

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        return bool(self.parted(plan, op))

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return dimension in self.kept(op)

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), (x, *given), parted = demands, op.operands, self.parted(plan, op)
        assert demand is not None
        where = plan.everyone if parted else demand.where
        wanted = wanted_like(plan.grids(op.results[0]), demand, {d: d for d in self.kept(op)})
        wanted |= {d: Wanted(g.owned(shape_of(x)[d]), g) for d, g in parted.items()}
        plan.need(x, where, wanted, demand.cyclic)
        for each in given:
            plan.need(each, where, {})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        plan, result, (x, *given), parted = program.plan, op.results[0], op.operands, self.parted(program.plan, op)
        windows, where = program.windows(result), plan.everyone if parted else program.where(result)
        mine = windows | {d: owned_window(g, shape_of(x)[d]) for d, g in parted.items()}
        made = program.view(x, mine, where, frozenset(windows))
        shape, starts, own = program.local_shape(result, windows), [], None
        for d, each in enumerate(given):
            length, extent = shape_of(result)[d], shape_of(x)[d]
            at = ops.clamp(0, ops.convert(program.view(each, {}, where), np.int64), extent - length)
            if d in parted:     # cut out of the part with room around it
                owned, held = parted[d].owned(extent), shape_of(made)[d]
                made = padded(made, d, length, length)
                place = ops.add(ops.iota((length,), np.int64, 0), ops.broadcast_in_dim(at, (length,), ()))
                inside = between(place, program.w.table(owned.low), program.w.table(owned.high))
                inside = ops.broadcast_in_dim(inside, shape, (d,))
                own = inside if own is None else ops.and_(own, inside)
                first = program.w.table(mine[d].starts)
                at = ops.clamp(0, ops.add(ops.subtract(at, first), length), held + length)
            starts.append(ops.constant(0, np.int64) if d in windows else at)
        made = ops.dynamic_slice(made, starts, shape)
        axes = plan.across(parted)
        return [program.result(result, made if own is None else program.w.united(made, own, axes))]


def _few(plan: Plan, op: ir.Operation) -> bool:
    """Whether what is looked up moves less than what it is looked up in. What iterations look up in an array that stays
    the same goes everywhere once."""
    x, result = op.operands[0], op.results[0]
    array = plan.axes.resolved(x)
    inside = (array.owner if isinstance(array.owner, ir.Block) else array.owner.operation.block) == op.block
    return inside and not made_anywhere(x) and 2 * size(shape_of(result)) <= size(shape_of(x))


@rule("scatter")
class Scatter(Rule):
    """Updates at run-time places, of one array."""

    def _simple(self, op: ir.Operation) -> bool:
        return len(op.results) == 1

    def _adds(self, op: ir.Operation) -> bool:
        return combined_by(op) == "add" and dtype_of(op.results[0]).kind != "b"

    def written(self, op: ir.Operation) -> dict[int, int]:
        """{coordinate of an index: its dimension}, which may be divided: each device takes all updates, and of them
        what falls into its part. Where there are more of them, rather the sums of all devices are added."""
        x, indices, updates = op.operands
        more = size(shape_of(updates)) + size(shape_of(indices)) > 2 * size(shape_of(x))
        return {} if self._adds(op) and more else _scatter_places(op).looked_up

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        if not self._simple(op):
            return
        (x, indices, updates), places = op.operands, _scatter_places(op)
        for d, u in places.array.items():
            yield [(updates, u), (x, d), (op.results[0], d)]
        for d in self.written(op).values():
            yield [(x, d), (op.results[0], d)]
        for i, u in places.batch.items():
            yield [(updates, u), (indices, i)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        if not self._simple(op) or dimension not in {*_scatter_places(op).array, *self.written(op).values()}:
            return None
        return plan.followed(op.operands[0], dimension, plan.axes[result][dimension])

    def summed(self, plan: Plan, op: ir.Operation) -> dict[int, Grid]:
        """The dimensions of the updates whose parts are added up, as the updates are divided."""
        updates, found, places = op.operands[2], {}, _scatter_places(op)
        if not self._adds(op):
            return {}
        used = {a for g in plan.divided(op.results[0]).values() for a in g.axes}
        for u in set(places.batch.values()) - set(places.together.values()):
            grid = plan.chosen(updates, u)
            if grid is not None and not used & set(grid.axes):
                found[u] = grid
                used |= set(grid.axes)
        return found

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        return self._simple(op) and bool(self.summed(plan, op))

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        if not self._simple(op):
            super().demand(plan, op, demands)
            return
        (demand,), (x, indices, updates), places = demands, op.operands, _scatter_places(op)
        assert demand is not None
        grids, summed = plan.grids(op.results[0]), self.summed(plan, op)
        where = plan.everyone if summed else demand.where
        plan.need(x, where, wanted_like(grids, demand, {d: d for d in demand.spans}))
        wanted = wanted_like(grids, demand, {u: d for d, u in places.array.items()})
        for u, grid in summed.items():
            wanted[u] = Wanted(grid.owned(shape_of(updates)[u]), grid)
        plan.need(updates, where, wanted)
        plan.need(indices, where, {i: wanted[u] for i, u in places.batch.items() if u in wanted})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        if not self._simple(op):
            return super().emit(program, op)
        plan, result, (x, indices, updates) = program.plan, op.results[0], op.operands
        windows, places, summed = program.windows(result), _scatter_places(op), self.summed(plan, op)
        where = plan.everyone if summed else program.where(result)
        parts = {u: owned_window(g, shape_of(updates)[u]) for u, g in summed.items()}
        mine = parts | {u: windows[d] for d, u in places.array.items() if d in windows}
        base, new = program.view(x, windows, where), program.view(updates, mine, where)
        at = program.view(indices, {i: mine[u] for i, u in places.batch.items() if u in mine}, where)
        at = _shifted(at, places.vector, {k: program.w.table(windows[d].starts) for k, d in
                                          (places.counted | places.looked_up).items() if d in windows})
        nowhere = ops.constant(-1, dtype_of(at), ())    # of no element of the part
        for i, u in places.batch.items():
            extent = shape_of(updates)[u]
            if u in summed:
                (at,) = only_owned(program, [at], [nowhere], i, summed[u], extent, parts[u])
            elif u in mine:
                at = _only_there(program, at, nowhere, i, mine[u], extent, where)
        axes = plan.across(summed)
        if axes:
            first = np.logical_and.reduce([g.first for g in summed.values()])
            own = ops.compare(program.w.table(first), 1, "EQ")
            base = ops.select(own, base, ops.constant(0, dtype_of(base), shape_of(base)))
        (made,) = program.clone(op, [base, at, new], [program.local_shape(result, windows)])
        return [program.result(result, program.w.combined(made, "add", axes) if axes else made)]
