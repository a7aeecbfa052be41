"""Ops that work along some dimensions, for each place of the others by itself: transforms, sorts, factorizations."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, rule
from reactant.communication.emission import Part, cut, padded
from reactant.communication.local_program import LocalProgram, Window
from reactant.communication.plan import Plan, Wanted, wanted_like
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


class Batched(Rule):
    """Dimensions that the op works along are whole; operands and results have the others in the same places.

    Where one of the former is divided, devices get all of it for some places of another dimension, and give their part
    of the results back: two `all_to_all`, which move less than what it takes to have everything everywhere.
    """

    def others(self, op: ir.Operation) -> list[int]:
        """The dimensions that it does not work along."""
        raise NotImplementedError

    def along(self, op: ir.Operation) -> list[int]:
        """Those that it works along, where operands and results are of one rank."""
        return []

    def crossed(self, plan: Plan, op: ir.Operation) -> dict[int, tuple[str, ...]]:
        """Those that are divided, by which axes, where devices change them for others."""
        found: dict[int, tuple[str, ...]] = {}
        for d in self.along(op):
            axes = {plan.axes[v][d] for v in (*op.operands, *op.results) if _counting(v) is None}
            if axes != {()}:
                found[d] = axes.pop() if len(axes) == 1 else ()
        return found if all(axes and self._worth(plan, op, d, axes) for d, axes in found.items()) else {}

    def _worth(self, plan: Plan, op: ir.Operation, d: int, axes: tuple[str, ...]) -> bool:
        """Whether another dimension is well divided by these axes: two exchanges of parts move about as little as one
        of all of it, of which every device would do the same."""
        lengths = _lengths(plan, op, d)
        return any(1.25 * n >= 2 * -(-n // plan.mesh.size(axes)) > 0 for n in lengths)

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        for d in (*self.others(op), *self.along(op)):
            yield [(v, d) for v in (*op.operands, *op.results)]

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        if dimension in self.others(op):
            return plan.first_followed(op.operands, dimension, plan.axes[result][dimension])
        return plan.at_rest(result)[dimension] if dimension in self.crossed(plan, op) else None

    def movable(self, plan: Plan, op: ir.Operation) -> bool:
        return not self.crossed(plan, op)

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        return bool(self.crossed(plan, op))

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        return dimension in self.others(op)

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        demand, grids = None, None
        for result, each in zip(op.results, demands, strict=True):
            if each is not None:
                demand, grids = each if demand is None else demand.joined(each), plan.grids(result)
        assert demand is not None and grids is not None
        places, crossed = {d: d for d in self.others(op)}, self.crossed(plan, op)
        where = plan.everyone if crossed else demand.where
        for operand in op.operands:
            wanted = wanted_like(grids, demand, places)
            for d, axes in crossed.items():
                grid = Grid.at_rest(plan.mesh, axes, shape_of(operand)[d])
                wanted[d] = Wanted(grid.owned(shape_of(operand)[d]), grid)
            plan.need(operand, where, wanted, demand.cyclic)

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        known = [r for r in op.results if program.plan.of(r).demand is not None]
        windows, crossed = program.joint_windows(known), self.crossed(program.plan, op)
        where = program.plan.everyone if crossed else program.where(known[0])
        for result in known[1:]:
            where = where | program.where(result)
        shared = {d: w for d, w in windows.items() if d not in crossed}
        given = []
        for v in op.operands:
            mine = shared | {d: _rest(program, axes, shape_of(v)[d]) for d, axes in crossed.items()}
            given.append(program.view(v, mine, where, frozenset(shared)))
        made = self.crossing(program, op, given, crossed) if crossed else \
            program.clone(op, given, [program.local_shape(r, windows) for r in op.results])
        return [Part(m, self._starts(program, r, shared, crossed)) for r, m in zip(op.results, made, strict=True)]

    def _starts(self, program: LocalProgram, result: ir.Value, shared: Mapping[int, Window],
                crossed: Mapping[int, tuple[str, ...]]) -> tuple[np.ndarray | None, ...]:
        found = {d: w.starts for d, w in shared.items()}
        found |= {d: _rest(program, axes, shape_of(result)[d]).starts for d, axes in crossed.items()}
        return tuple(found.get(d) for d in range(len(shape_of(result))))

    def crossing(self, program: LocalProgram, op: ir.Operation, given: Sequence[ir.Value],
                 crossed: Mapping[int, tuple[str, ...]]) -> list[ir.Value]:
        """The results' parts from the operands', where some dimensions are changed for others."""
        ((d, axes),) = crossed.items()

        def work(whole: list[ir.Value]) -> list[ir.Value]:
            counting = [ops.iota(shape_of(x), dtype_of(x), d) if _counting(v) == d else x
                        for v, x in zip(op.operands, whole, strict=True)]
            return program.clone(op, counting, [shape_of(whole[0])] * len(op.results))
        return across(program, given, d, axes, shape_of(op.operands[0])[d], work)


def _lengths(plan: Plan, op: ir.Operation, d: int) -> list[int]:
    """How long parts are in the other dimensions."""
    return [min(-(-shape_of(v)[e] // plan.mesh.size(plan.axes[v][e])) for v in (*op.operands, *op.results))
            for e in range(len(shape_of(op.results[0]))) if e != d]


def _counting(value: ir.Value) -> int | None:
    """The dimension along which an array counts."""
    made = ops.made_by(value, "iota")
    return None if made is None else attr.decode(made.attributes["iota_dimension"])


def _rest(program: LocalProgram, axes: tuple[str, ...], extent: int) -> Window:
    grid = Grid.at_rest(program.plan.mesh, axes, extent)
    return Window(grid.begin, grid.block, axes)


def across(program: LocalProgram, given: Sequence[ir.Value], d: int, axes: tuple[str, ...], extent: int,
           work: Callable[[list[ir.Value]], list[ir.Value]]) -> list[ir.Value]:
    """What `work` makes of arrays that have all of a dimension, of which devices have equal blocks: of the longest of
    the others, each device has a part meanwhile."""
    w, count, shape = program.w, program.w.mesh.size(axes), shape_of(given[0])
    e = max((e for e in range(len(shape)) if e != d), key=lambda e: shape[e])
    whole = [cut(w.transposed(padded(x, e, 0, -shape[e] % count), axes, e, d), d, 0, extent) for x in given]
    found = []
    for made in work(whole):
        length = shape_of(made)[d]
        made = w.transposed(padded(made, d, 0, -length % count), axes, d, e)
        found.append(cut(made, e, 0, shape[e]))
    return found


@rule("fft")
class Transform(Batched):
    """Along the last dimensions."""

    def others(self, op: ir.Operation) -> list[int]:
        return list(range(len(shape_of(op.results[0])) - len(attr.decode(op.attributes["fft_length"]))))

    def along(self, op: ir.Operation) -> list[int]:
        return list(range(len(self.others(op)), len(shape_of(op.results[0]))))

    def _worth(self, plan: Plan, op: ir.Operation, d: int, axes: tuple[str, ...]) -> bool:
        # also where it moves more: XLA:CPU (0.10.2) does not run some transforms of what was gathered
        return max(_lengths(plan, op, d), default=1) > 1

    def crossing(self, program: LocalProgram, op: ir.Operation, given: Sequence[ir.Value],
                 crossed: Mapping[int, tuple[str, ...]]) -> list[ir.Value]:
        kind, along, (x,) = attr.enumerator(op.attributes["fft_type"]), self.along(op), given
        lengths = dict(zip(along, attr.decode(op.attributes["fft_length"]), strict=True))
        last = along.pop()
        for d in [*along, last] if kind == "IRFFT" else [last, *along]:
            own = kind if d == last else "IFFT" if kind in ("IFFT", "IRFFT") else "FFT"
            work = partial(_along, d=d, kind=own, length=lengths[d])
            (x,) = across(program, [x], d, crossed[d], shape_of(op.operands[0])[d], work) if d in crossed else work([x])
        return [x]


def _along(arrays: list[ir.Value], d: int, kind: str, length: int) -> list[ir.Value]:
    """Transforms along one dimension."""
    order = list(range(len(shape_of(arrays[0]))))
    order[d], order[-1] = order[-1], order[d]
    return [ops.transpose(ops.fft(ops.transpose(x, order), kind, [length]), order) for x in arrays]


@rule("sort")
class Sort(Batched):
    """Along one dimension."""

    def others(self, op: ir.Operation) -> list[int]:
        return [d for d in range(len(shape_of(op.results[0]))) if d not in self.along(op)]

    def along(self, op: ir.Operation) -> list[int]:
        return [attr.decode(op.attributes["dimension"])]


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


@rule("custom_call")
class Library(Batched):
    """LAPACK's functions of stacks of matrices; others as a whole."""

    def others(self, op: ir.Operation) -> list[int]:
        told = op.attributes["mhlo.frontend_attributes"] if "mhlo.frontend_attributes" in op.attributes else {}
        if not ops.target_of(op).startswith("lapack_") or "num_batch_dims" not in told:
            return []
        return list(range(int(ir.StringAttr(told["num_batch_dims"]).value)))
