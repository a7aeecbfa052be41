"""Parts of arrays, and arrays put together: slices, padding, concatenation, updates.

A slice has its operand's blocks, moved by where it begins, so that it moves nothing. What is put together is chosen by
place: every device looks at which of its elements come from which piece.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid, Span
from reactant.communication.declare import Rule, alike, rule
from reactant.communication.emission import Part, between
from reactant.communication.local_program import LocalProgram, Window
from reactant.communication.plan import Box, Plan, Wanted, whole
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


@rule("slice")
class Slice(Rule):
    """Elements `start + k * stride` of each dimension."""

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        return alike(op.operands[0], op.results[0])

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        starts, _, strides = _slice(op)
        found, by = plan.followed(op.operands[0], dimension, plan.axes[result][dimension]), strides[dimension]
        if found is plan.free:
            return found
        found = found.moved(-starts[dimension])
        return found if by == 1 else found.mapped(-(-found.begin // by), -(-found.end // by))

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return shape_of(op.results[0])[dimension] == shape_of(op.operands[0])[dimension]

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), (starts, _, strides) = demands, _slice(op)
        assert demand is not None
        wanted = {}
        for d, span in demand.spans.items():
            grid, by = plan.grids(op.results[0])[d], strides[d]
            assert grid is not None
            own = Span(span.low * by, (span.high - 1) * by + 1).moved(starts[d])
            wanted[d] = Wanted(own, grid.mapped(grid.begin * by, grid.end * by).moved(starts[d]))
        plan.need(op.operands[0], demand.where, wanted, demand.cyclic, _box(op))

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result, (starts, _, strides) = op.results[0], _slice(op)
        windows = program.windows(result)
        mine = {d: Window(w.starts * strides[d] + starts[d], (w.length - 1) * strides[d] + 1 if w.length else 0, w.axes)
                for d, w in windows.items()}
        x = program.view(op.operands[0], mine, program.where(result), frozenset(mine), _box(op))
        made = ops.slice(x, [0] * len(starts), shape_of(x), strides)
        return [program.result(result, made)]


def _box(op: ir.Operation) -> Box:
    """What a slice takes of its operand."""
    starts, limits, strides = _slice(op)
    return tuple((s, s if n <= s else s + (n - s - 1) // by * by + 1)
                 for s, n, by in zip(starts, limits, strides, strict=True))


def _slice(op: ir.Operation) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    return tuple(attr.decode(op.attributes[n]) for n in ("start_indices", "limit_indices", "strides"))  # type: ignore


@rule("reverse")
class Reverse(Rule):
    """What begins on the first device begins on the last one then."""

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        return alike(op.operands[0], op.results[0])

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        found = plan.followed(op.operands[0], dimension, plan.axes[result][dimension])
        turned = dimension in attr.decode(op.attributes["dimensions"])
        return found.mirrored(shape_of(result)[dimension]) if turned and found is not plan.free else found

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), (result,), turned = demands, op.results, attr.decode(op.attributes["dimensions"])
        assert demand is not None
        wanted = {}
        for d, span in demand.spans.items():
            grid, extent = plan.grids(result)[d], shape_of(result)[d]
            assert grid is not None
            wanted[d] = Wanted(Span(extent - span.high, extent - span.low), grid.mirrored(extent)) if d in turned \
                else Wanted(span, grid)
        plan.need(op.operands[0], demand.where, wanted, demand.cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result, turned = op.results[0], attr.decode(op.attributes["dimensions"])
        windows = program.windows(result)
        mine = {d: Window(shape_of(result)[d] - w.starts - w.length, w.length, w.axes) if d in turned else w
                for d, w in windows.items()}
        x = program.view(op.operands[0], mine, program.where(result), frozenset(mine))
        return [program.result(result, program.clone(op, [x], [shape_of(x)])[0])]


class Placing(Rule):
    """Ops that put arrays at places of another one."""

    def pieces(self, op: ir.Operation) -> list[tuple[ir.Value, list[int]]]:
        """The arrays and where they go, later ones over earlier ones."""
        raise NotImplementedError

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        return alike(op.results[0], *(v for v, _ in self.pieces(op)))

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        found, best = plan.free, (False, -1)
        for value, at in self.pieces(op):
            grid = plan.followed(value, dimension, plan.axes[result][dimension])
            if grid is not plan.free and (not grid.descends, shape_of(value)[dimension]) > best:
                found, best = grid.moved(at[dimension]), (not grid.descends, shape_of(value)[dimension])
        return found

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return all(shape_of(v)[dimension] == shape_of(op.results[0])[dimension] for v, _ in self.pieces(op))

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), grids = demands, plan.grids(op.results[0])
        assert demand is not None
        hidden: dict[int, Span] = dict(demand.spans)
        for value, at in reversed(self.pieces(op)):
            wanted = {}
            for d, span in hidden.items():
                grid = grids[d]
                assert grid is not None
                wanted[d] = Wanted(span.moved(-at[d]), grid.moved(-at[d]))
            plan.need(value, demand.where, wanted, demand.cyclic)
            hidden = _left(hidden, shape_of(op.results[0]), shape_of(value), at)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result = op.results[0]
        windows, where, made = program.windows(result), program.where(result), None
        shape = program.local_shape(result, windows)
        for value, at in self.pieces(op):
            mine = {d: Window(w.starts - at[d], w.length, w.axes) for d, w in windows.items()}
            x = program.view(value, mine, where, self._round(program, op))
            whole = [d for d in range(len(shape)) if d not in windows]
            x = ops.pad(x, ops.constant(0, dtype_of(x), ()), [at[d] if d in whole else 0 for d in range(len(shape))],
                        [shape[d] - shape_of(value)[d] - at[d] if d in whole else 0 for d in range(len(shape))],
                        [0] * len(shape))
            chosen = None if made is None else self._chosen(program, result, windows, value, at)
            made = x if made is None or chosen is None else ops.select(chosen, x, made)
        assert made is not None
        return [program.result(result, made)]

    def _round(self, program: LocalProgram, op: ir.Operation) -> frozenset[int]:
        return frozenset(d for d in range(len(shape_of(op.results[0]))) if self.goes_round(op, d))

    def _chosen(self, program: LocalProgram, result: ir.Value, windows: dict[int, Window], piece: ir.Value,
                at: Sequence[int]) -> ir.Value | None:
        """Which elements of the result's part are those of a piece; None where all are."""
        where, shape, found = program.where(result), program.local_shape(result, windows), None
        for d, extent in enumerate(shape_of(piece)):
            low, high = at[d], at[d] + extent
            if extent == shape_of(result)[d]:
                continue
            if d in windows:
                first = windows[d].starts[where]
                below, above = bool((first < low).any()), bool((first + shape[d] > high).any())
                place = program.w.places(windows[d].starts, shape[d]) if below or above else None
            else:
                below, above = low > 0, high < shape[d]
                place = ops.iota((shape[d],), np.int64, 0) if below or above else None
            for needed, direction, bound in ((below, "GE", low), (above, "LT", high)):
                if needed:
                    test = ops.broadcast_in_dim(ops.compare(place, bound, direction), shape, (d,))
                    found = test if found is None else ops.and_(found, test)
        return found


def _left(spans: dict[int, Span], shape: Sequence[int], extents: Sequence[int], at: Sequence[int]) -> dict[int, Span]:
    """What is still to be had from the pieces under one that has these extents, there."""
    full = [at[d] == 0 and extents[d] == n for d, n in enumerate(shape)]
    found = {}
    for d, span in spans.items():
        if not all(f for e, f in enumerate(full) if e != d):
            found[d] = span
            continue
        begin, end = at[d], at[d] + extents[d]
        low = np.where((span.low >= begin) & (span.low < end), end, span.low)
        high = np.where((span.high > begin) & (span.high <= end), begin, span.high)
        found[d] = Span(low, high)
    return found


@rule("concatenate")
class Concatenate(Placing):
    """One behind the other."""

    def pieces(self, op: ir.Operation) -> list[tuple[ir.Value, list[int]]]:
        along, at, found = attr.decode(op.attributes["dimension"]), 0, []
        for value in op.operands:
            found.append((value, [at if d == along else 0 for d in range(len(shape_of(value)))]))
            at += shape_of(value)[along]
        return found

    def repeated(self, op: ir.Operation) -> tuple[ir.Value, Box, int] | None:
        """The array that the pieces repeat in turn, what of its other dimensions, and which element is first."""
        along = attr.decode(op.attributes["dimension"])
        origins = [_origin(v, along) for v in op.operands]
        source, box, first = origins[0]
        extent, at = shape_of(source)[along], first
        for value, (other, its, begin) in zip(op.operands, origins, strict=True):
            if (other, its) != (source, box) or not extent or begin % extent != at % extent:
                return None
            at = begin + shape_of(value)[along]
        return None if len(op.operands) < 2 else (source, box, first)

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        turned = self.repeated(op)
        return super().goes_round(op, dimension) if turned is None else \
            shape_of(turned[0])[dimension] == shape_of(op.results[0])[dimension]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        turned = self.repeated(op)
        if turned is not None and dimension == attr.decode(op.attributes["dimension"]):
            rotated = shape_of(turned[0])[dimension] == shape_of(result)[dimension]     # goes with others of its shape
            grid = plan.followed(turned[0], dimension, plan.axes[result][dimension])
            return grid if rotated or grid is plan.free else grid.moved(-self._by(op)[dimension])
        return super().grid(plan, op, result, dimension)

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        turned, along = self.repeated(op), attr.decode(op.attributes["dimension"])
        if turned is None or along not in plan.divided(op.results[0]):
            super().demand(plan, op, demands)
            return
        (demand,), (source, box, _), by = demands, turned, self._by(op)
        assert demand is not None
        wanted = {}
        for d, span in demand.spans.items():
            grid = plan.grids(op.results[0])[d]
            assert grid is not None
            wanted[d] = Wanted(span.moved(by[d]), grid.moved(by[d]))
        plan.need(source, demand.where, wanted, demand.cyclic | {along}, box)

    def _by(self, op: ir.Operation) -> list[int]:
        """What is added to an element's number in the result for that in the source, in the iteration that is
        nearest."""
        along, turned = attr.decode(op.attributes["dimension"]), self.repeated(op)
        assert turned is not None
        source, box, first = turned
        extent = shape_of(source)[along]
        nearest = first if first < extent - first else first - extent
        return [nearest if d == along else begin for d, (begin, _) in enumerate(box)]

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        turned, along, result = self.repeated(op), attr.decode(op.attributes["dimension"]), op.results[0]
        windows = program.windows(result)
        if turned is None or along not in program.plan.divided(result):
            return super().emit(program, op)
        (source, box, _), by = turned, self._by(op)
        mine = {d: Window(w.starts + by[d], w.length, w.axes) for d, w in windows.items()}
        made = program.view(source, mine, program.where(result), frozenset(mine), box)
        return [program.result(result, made)]


def _origin(value: ir.Value, along: int) -> tuple[ir.Value, Box, int]:
    """The array that a value is a slice of, what of its other dimensions, and where it begins along one."""
    op = ops.made_by(value, "slice")
    if op is None or any(s != 1 for s in _slice(op)[2]):
        return value, whole(shape_of(value)), 0
    extents, box = shape_of(op.operands[0]), _box(op)
    others = tuple((0, n) if d == along else b for d, (n, b) in enumerate(zip(extents, box, strict=True)))
    return op.operands[0], others, box[along][0]


@rule("dynamic_update_slice")
class Update(Placing):
    """An array with some of its elements replaced, at a place that is known."""

    def pieces(self, op: ir.Operation) -> list[tuple[ir.Value, list[int]]]:
        x, update, *_ = op.operands
        starts = self.starts(op)
        assert starts is not None
        return [(x, [0] * len(shape_of(x))), (update, starts)]

    def starts(self, op: ir.Operation) -> list[int] | None:
        """Where the update goes; None where that is a run-time value."""
        x, update, *given = op.operands
        found = [ops.constant_value(s) for s in given]
        if any(s is None for s in found):
            return None
        return [min(max(int(s), 0), n - m)      # type: ignore[arg-type]
                for s, n, m in zip(found, shape_of(x), shape_of(update), strict=True)]

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return self.starts(op) is not None and super().goes_round(op, dimension)

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        return alike(op.operands[0], op.results[0]) if self.starts(op) is None else super().ties(op)

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        if self.starts(op) is not None:
            return super().grid(plan, op, result, dimension)
        return plan.followed(op.operands[0], dimension, plan.axes[result][dimension])

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        if self.starts(op) is not None:
            super().demand(plan, op, demands)
            return
        (demand,), (x, update, *given) = demands, op.operands
        assert demand is not None
        grids = plan.grids(op.results[0])
        wanted = {d: Wanted(s, grids[d]) for d, s in demand.spans.items()}      # type: ignore[arg-type]
        plan.need(x, demand.where, wanted)
        full = {d: w for d, w in wanted.items() if shape_of(update)[d] == shape_of(x)[d]}
        plan.need(update, demand.where, full)
        for each in given:
            plan.need(each, demand.where, {})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        if self.starts(op) is not None:
            return super().emit(program, op)
        result, (x, update, *given) = op.results[0], op.operands
        windows, where = program.windows(result), program.where(result)
        shape, extents = program.local_shape(result, windows), shape_of(update)
        full = {d: w for d, w in windows.items() if extents[d] == shape_of(x)[d]}
        made, new = program.view(x, windows, where), program.view(update, full, where)
        zero, starts, chosen = ops.constant(0, np.int64), [], None
        for d, each in enumerate(given):
            at = ops.clamp(0, ops.convert(program.view(each, {}, where), np.int64), shape_of(x)[d] - extents[d])
            if d not in windows:
                starts.append(at)
                continue
            if d in full:
                starts.append(zero)
                continue
            # the update at its place in a part that begins anywhere: cut out of one with room around it
            new, at_rest = _with_room(new, d, shape[d]), shape[d]
            first = program.w.table(windows[d].starts)
            offset = ops.clamp(0, ops.add(ops.subtract(first, at), at_rest), shape_of(new)[d] - shape[d])
            new = ops.dynamic_slice(new, [offset if e == d else zero for e in range(len(shape))],
                                    [shape[d] if e == d else n for e, n in enumerate(shape_of(new))])
            place = program.w.places(windows[d].starts, shape[d])
            inside = between(place, at, ops.add(at, extents[d]))
            chosen = (d, inside) if chosen is None else \
                (-1, ops.and_(_spread(chosen, shape), _spread((d, inside), shape)))
            starts.append(zero)
        if chosen is None:
            return [program.result(result, ops.dynamic_update_slice(made, new, starts))]
        written = ops.dynamic_update_slice(made, new, starts)
        return [program.result(result, ops.select(_spread(chosen, shape), written, made))]


def _spread(test: tuple[int, ir.Value], shape: tuple[int, ...]) -> ir.Value:
    d, value = test
    return value if d < 0 else ops.broadcast_in_dim(value, shape, (d,))


def _with_room(x: ir.Value, d: int, room: int) -> ir.Value:
    rank = len(shape_of(x))
    around = [room if e == d else 0 for e in range(rank)]
    return ops.pad(x, ops.constant(0, dtype_of(x), ()), around, around, [0] * rank)


@rule("pad")
class Pad(Rule):
    """Room around and between the elements, filled with a number."""

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        return alike(op.operands[0], op.results[0])

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        low, _, inside = _padding(op)
        by = inside[dimension] + 1
        own = plan.followed(op.operands[0], dimension, plan.axes[result][dimension])
        if own is plan.free:
            return own
        return own.mapped(own.begin * by + low[dimension], own.end * by + low[dimension])

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return not any(each[dimension] for each in _padding(op))

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), (low, _, inside), (x, value) = demands, _padding(op), op.operands
        assert demand is not None
        wanted = {}
        for d, span in demand.spans.items():
            grid, by = plan.grids(op.results[0])[d], inside[d] + 1
            assert grid is not None
            own = Span(-(-(span.low - low[d]) // by), (span.high - low[d] - 1) // by + 1)
            found = grid.moved(-low[d])
            wanted[d] = Wanted(own, found.mapped(-(-found.begin // by), -(-found.end // by)))
        plan.need(x, demand.where, wanted, demand.cyclic)
        plan.need(value, demand.where, {})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result, (low, high, inside), (operand, value) = op.results[0], _padding(op), op.operands
        windows, where = program.windows(result), program.where(result)
        shape, extents = program.local_shape(result, windows), shape_of(operand)
        firsts = {d: (w.starts - low[d]) // (inside[d] + 1) for d, w in windows.items()}
        mine = {d: Window(firsts[d], -(-w.length // (inside[d] + 1)) + 1 if inside[d] else w.length, w.axes)
                for d, w in windows.items()}
        turned = frozenset(d for d in mine if self.goes_round(op, d))
        x, filler = program.view(operand, mine, where, turned), program.view(value, {}, where)
        x = ops.pad(x, filler, [0 if d in mine else n for d, n in enumerate(low)],
                    [inside[d] if d in mine else n for d, n in enumerate(high)], inside)
        chosen = None
        for d, w in windows.items():
            if d in turned:
                continue
            by = inside[d] + 1
            x = program.w.window(x, d, w.starts - low[d] - firsts[d] * by, w.length, where)
            first, last = low[d], low[d] + (extents[d] - 1) * by
            begin = w.starts[where]
            for needed, direction, bound in ((bool((begin < first).any()), "GE", first),
                                             (bool((begin + w.length - 1 > last).any()), "LE", last)):
                if needed:
                    test = ops.compare(program.w.places(w.starts, w.length), bound, direction)
                    test = ops.broadcast_in_dim(test, shape, (d,))
                    chosen = test if chosen is None else ops.and_(chosen, test)
        if chosen is not None:
            x = ops.select(chosen, x, ops.broadcast_in_dim(filler, shape, ()))
        return [program.result(result, x)]


def _padding(op: ir.Operation) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    return tuple(attr.decode(op.attributes[f"{n}_padding" if n == "interior" else f"edge_padding_{n}"])  # type: ignore
                 for n in ("low", "high", "interior"))
