"""Constants, and ops that give arrays another shape: broadcasts, transposes, reshapes."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid, Span
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part
from reactant.communication.local_program import LocalProgram, Window
from reactant.communication.plan import Plan, Wanted, wanted_like
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


@rule("constant")
class Constant(Rule):
    """A number for all elements is one in any part; other constants are on every device as a whole."""

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        return plan.free if _number(op) is not None else None

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        pass

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result = op.results[0]
        windows = program.windows(result)
        if not windows:
            return program.on_whole(op)
        number = _number(op)
        assert number is not None
        return [program.result(result, ops.constant(number, number.dtype, program.local_shape(result, windows)))]


def _number(op: ir.Operation) -> np.ndarray | None:
    """The number that all elements of a constant are."""
    value = ops.constant_value(op.results[0])
    if value is None or not value.size or value.size > 1 and any(value.strides):
        return None
    return value[(0,) * value.ndim][()] if value.ndim else value[()]


@rule("iota")
class Iota(Rule):
    """Counts in any part."""

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        return plan.free

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        pass

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result, along = op.results[0], attr.decode(op.attributes["iota_dimension"])
        windows = program.windows(result)
        if along not in windows:
            made = ops.iota(program.local_shape(result, windows), dtype_of(result), along)
            return [program.result(result, made)]
        window, extent = windows[along], shape_of(result)[along]
        places = program.w.places(window.starts, window.length)
        demand = program.plan.of(result).demand
        if demand is not None and along in demand.cyclic:
            places = ops.remainder(ops.add(ops.remainder(places, extent), extent), extent)
        shape = program.local_shape(result, windows)
        made = ops.broadcast_in_dim(ops.convert(places, dtype_of(result)), shape, (along,))
        return [program.result(result, made)]


class Mapped(Rule):
    """Ops each of whose operand's dimensions is one of the result's, or none of them."""

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return True

    def places(self, op: ir.Operation) -> dict[int, int]:
        """{dimension of the operand: the one of the result that it is}."""
        raise NotImplementedError

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        for own, other in self.places(op).items():
            yield [(op.operands[0], own), (op.results[0], other)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        for own, other in self.places(op).items():
            if other == dimension:
                return plan.followed(op.operands[0], own, plan.axes[result][dimension])
        return plan.free

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), places, (operand,) = demands, self.places(op), op.operands
        assert demand is not None
        wanted = wanted_like(plan.grids(op.results[0]), demand, places)
        wanted |= _alone(plan, operand, places)
        plan.need(operand, demand.where, wanted, frozenset(d for d, r in places.items() if r in demand.cyclic))

    def view(self, program: LocalProgram, op: ir.Operation) -> tuple[ir.Value, tuple[int, ...]]:
        """The operand's part and the shape of the result's."""
        result, places, (operand,) = op.results[0], self.places(op), op.operands
        windows = program.windows(result)
        mine = {d: windows[r] for d, r in places.items() if r in windows}
        mine |= {d: Window(np.zeros_like(w.span.low), 1, w.grid.axes)
                 for d, w in _alone(program.plan, operand, places).items()}
        x = program.view(operand, mine, program.where(result), frozenset(mine))
        return x, program.local_shape(result, windows)


def _alone(plan: Plan, operand: ir.Value, places: dict[int, int]) -> dict[int, Wanted]:
    """What is wanted of divided dimensions of one element that are no dimension of the result."""
    found = {}
    for d, (n, grid) in enumerate(zip(shape_of(operand), plan.grids(operand), strict=True)):
        if n == 1 and d not in places and grid is not None and grid is not plan.free:
            everywhere = np.ones(plan.mesh.devices, np.int64)
            found[d] = Wanted(Span(0 * everywhere, everywhere), grid)
    return found


@rule("broadcast_in_dim")
class Broadcast(Mapped):
    """Copies along new dimensions."""

    def places(self, op: ir.Operation) -> dict[int, int]:
        own, made = shape_of(op.operands[0]), shape_of(op.results[0])
        return {d: r for d, r in enumerate(attr.decode(op.attributes["broadcast_dimensions"])) if own[d] == made[r]}

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        x, shape = self.view(program, op)
        made = ops.broadcast_in_dim(x, shape, attr.decode(op.attributes["broadcast_dimensions"]))
        return [program.result(op.results[0], made)]


@rule("transpose")
class Transpose(Mapped):
    """Dimensions in another order."""

    def places(self, op: ir.Operation) -> dict[int, int]:
        return {d: r for r, d in enumerate(attr.decode(op.attributes["permutation"]))}

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        x, _ = self.view(program, op)
        return [program.result(op.results[0], ops.transpose(x, attr.decode(op.attributes["permutation"])))]


@rule("bitcast_convert")
class Bits(Mapped):
    """The same bits as another dtype, whose elements may be several along a last dimension."""

    def places(self, op: ir.Operation) -> dict[int, int]:
        return {d: d for d in range(min(len(shape_of(op.operands[0])), len(shape_of(op.results[0]))))}

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        x, shape = self.view(program, op)
        return [program.result(op.results[0], program.clone(op, [x], [shape])[0])]


@rule("reshape")
class Reshape(Mapped):
    """Dimensions that stay; of those that are joined or taken apart, only the one that changes slowest is divided."""

    def places(self, op: ir.Operation) -> dict[int, int]:
        return {own[0]: made[0] for own, made in groups(shape_of(op.operands[0]), shape_of(op.results[0]))
                if len(own) == len(made) == 1}

    def outer(self, op: ir.Operation) -> dict[int, tuple[int, int, int]]:
        """{operand's dimension: (the result's, factor, divisor)}: one element is factor / divisor of the other's."""
        found = {}
        own_shape, made_shape = shape_of(op.operands[0]), shape_of(op.results[0])
        for own, made in groups(own_shape, made_shape):
            if len(own) != 1 or len(made) != 1:
                a, b = own_shape[own[0]], made_shape[made[0]]
                if a and b and (a % b == 0 or b % a == 0):
                    found[own[0]] = (made[0], b // a if b >= a else 1, a // b if a > b else 1)
        return found

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        yield from super().ties(op)
        for own, (made, _, _) in self.outer(op).items():
            yield [(op.operands[0], own), (op.results[0], made)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        for own, (made, factor, divisor) in self.outer(op).items():
            if made == dimension:
                found = plan.chosen(op.operands[0], own)
                if found is None or found.axes != plan.axes[result][dimension]:
                    return None
                return found.mapped(found.begin * factor // divisor, found.end * factor // divisor)
        if dimension not in self.places(op).values() and shape_of(result)[dimension] != 1:
            return None
        return super().grid(plan, op, result, dimension)

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        (demand,), places, (operand,) = demands, self.places(op), op.operands
        assert demand is not None
        grids = plan.grids(op.results[0])
        wanted = wanted_like(grids, demand, places) | _alone(plan, operand, places)
        for own, (made, factor, divisor) in self.outer(op).items():
            grid, mine = grids[made], plan.grids(operand)[own]
            if grid is not None and mine is not None:
                span = demand.spans[made]
                wanted[own] = Wanted(Span(span.low * divisor // factor, -(-span.high * divisor // factor)), mine)
        plan.need(operand, demand.where, wanted, self._turned(op, demand))

    def _turned(self, op: ir.Operation, demand: Demand) -> frozenset[int]:
        pairs = [*self.places(op).items(), *((own, made) for own, (made, _, _) in self.outer(op).items())]
        return frozenset(d for d, r in pairs if r in demand.cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        result, places, (operand,) = op.results[0], self.places(op), op.operands
        windows = program.windows(result)
        mine = {d: windows[r] for d, r in places.items() if r in windows}
        mine |= {d: Window(np.zeros_like(w.span.low), 1, w.grid.axes)
                 for d, w in _alone(program.plan, operand, places).items()}
        shape = list(program.local_shape(result, windows))
        cuts = []
        for own, (made, factor, divisor) in self.outer(op).items():
            if made in windows:
                window = windows[made]
                low = window.starts * divisor // factor
                length = int((-(-(window.starts + window.length) * divisor // factor) - low).max())
                mine[own] = Window(low, length, window.axes)
                shape[made] = length * factor // divisor
                cuts.append((made, window.starts - low * factor // divisor, window.length))
        x = program.view(operand, mine, program.where(result), frozenset(mine))
        x = ops.reshape(x, shape)
        for d, offsets, length in cuts:
            x = program.w.window(x, d, offsets, length, program.where(result))
        return [program.result(result, x)]


def groups(own: Sequence[int], made: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Which dimensions of one shape become which of another, in order; those of one element in none of them."""
    left = [(d, n) for d, n in enumerate(own) if n != 1]
    right = [(d, n) for d, n in enumerate(made) if n != 1]
    if any(n == 0 for _, n in [*left, *right]):
        return []
    found = []
    while left and right:
        a, b = [left.pop(0)], [right.pop(0)]
        while (m := int(np.prod([n for _, n in a]))) != (n := int(np.prod([n for _, n in b]))):
            (a if m < n else b).append((left if m < n else right).pop(0))
        found.append(([d for d, _ in a], [d for d, _ in b]))
    return found
