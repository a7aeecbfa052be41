"""Loops and branches: their regions are written for one device, too."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.communication.axes import Tie, terminator
from reactant.communication.blocks import Demand, Grid
from reactant.communication.declare import Rule, alike, rule
from reactant.communication.emission import Part
from reactant.communication.local_program import LocalProgram, Window, owned_window
from reactant.communication.plan import Plan, Wanted
from reactant.communication.planning import place_block, plan_block
from reactant.communication.writing import write_block
from reactant.ir import creation
from reactant.ir.types import dtype_of, shape_of, tensor_type


def want_owned(plan: Plan, value: ir.Value, like: ir.Value) -> None:
    """Ask of a value what devices own of another one of its shape."""
    wanted = {d: Wanted(g.owned(shape_of(like)[d]), g) for d, g in plan.divided(like).items()}
    plan.need(value, plan.everyone, wanted)


def owned_windows(plan: Plan, value: ir.Value) -> dict[int, Window]:
    """Where the parts are that devices own of a value."""
    return {d: owned_window(g, shape_of(value)[d]) for d, g in plan.divided(value).items()}


@rule("while")
class While(Rule):
    """Carried values are what devices own; what no iteration changes is not carried."""

    def movable(self, plan: Plan, op: ir.Operation) -> bool:
        return False

    def carried(self, plan: Plan, op: ir.Operation) -> list[int]:
        return [k for k, r in enumerate(op.results) if r not in plan.axes.same]

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        condition, body = (region.blocks[0] for region in op.regions)
        returned = list(terminator(body).operands)
        for k, result in enumerate(op.results):
            values, walked = (op.operands[k], body.arguments[k], returned[k], condition.arguments[k], result), \
                _walked(body, body.arguments[k])
            for d in range(len(shape_of(result))):
                if d not in walked:
                    yield [(v, d) for v in values]

    def enter(self, plan: Plan, op: ir.Operation) -> None:
        condition, body = (region.blocks[0] for region in op.regions)
        for k in self.carried(plan, op):
            rest = plan.at_rest(op.results[k])
            grids = [r if g is plan.free or g is None or r is None or g.axes != r.axes else g
                     for g, r in zip(plan.grids(op.operands[k]), rest, strict=True)]
            for value in (condition.arguments[k], body.arguments[k], op.results[k]):
                plan.place(value, list(grids))
        place_block(plan, condition)
        place_block(plan, body)

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        return plan.grids(result)[dimension]

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        condition, body = (region.blocks[0] for region in op.regions)
        for k in self.carried(plan, op):
            if plan.of(op.results[k]).demand is None:
                plan.of(op.results[k]).demand = plan.owned(op.results[k])
            want_owned(plan, terminator(body).operands[k], op.results[k])
        plan.need(terminator(condition).operands[0], plan.everyone, {})
        for block in (condition, body):
            plan_block(plan, block)
            plan.settle_arguments(block)
        for k in self.carried(plan, op):
            want_owned(plan, op.operands[k], op.results[k])

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        plan, carried = program.plan, self.carried(program.plan, op)
        results = [op.results[k] for k in carried]
        windows = [owned_windows(plan, r) for r in results]
        inits = [program.view(op.operands[k], w, plan.everyone) for k, w in zip(carried, windows, strict=True)]
        types = [x.type for x in inits]
        made = creation.create("stablehlo.while", types, inits, regions=2)
        for region, old in zip(made.regions, op.regions, strict=True):
            block = region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))
            inner, returned = old.blocks[0], list(terminator(old.blocks[0]).operands)
            for k, argument, result in zip(carried, block.arguments, results, strict=True):
                program.parts[inner.arguments[k]] = part_owned(plan, result, argument)
            with ir.InsertionPoint(block):
                write_block(program, inner)
                if len(returned) == 1 and region == made.regions[0]:
                    given = [program.view(returned[0], {}, plan.everyone)]
                else:
                    given = [program.view(returned[k], w, plan.everyone) for k, w in zip(carried, windows, strict=True)]
                creation.create("stablehlo.return", [], given)
        parts = dict(zip(carried, made.results, strict=True))
        return [part_owned(plan, r, parts[k]) if k in parts else Part(op.operands[k], ())
                for k, r in enumerate(op.results)]


def _walked(body: ir.Block, array: ir.Value) -> set[int]:
    """The dimensions of a carried array along which iterations look at one place after the other: of a recurrence,
    which takes less when every device has all of it than when they tell one another at each step."""
    found = set()
    for use in array.uses:
        op = use.owner.operation
        if op.name == "stablehlo.dynamic_slice" and use.operand_number == 0:
            sizes = shape_of(op.results[0])
            found |= {d for d, start in enumerate(list(op.operands)[1:])
                      if sizes[d] < shape_of(array)[d] and _changes(body, start)}
    return found


def _changes(body: ir.Block, value: ir.Value) -> bool:
    """Whether a number is computed from what a loop carries."""
    left, seen = [value], set()
    while left:
        v = left.pop()
        if isinstance(v.owner, ir.Block):
            if v.owner == body and terminator(body).operands[ir.BlockArgument(v).arg_number] != v:
                return True
        elif v not in seen and v.owner.operation.block == body:
            seen.add(v)
            left += v.owner.operation.operands
    return False


def part_owned(plan: Plan, value: ir.Value, made: ir.Value) -> Part:
    """What has been written of a value, as the part that devices own."""
    windows = owned_windows(plan, value)
    return Part(made, tuple(windows[d].starts if d in windows else None for d in range(len(shape_of(value)))))


@rule("if", "case")
class Branch(Rule):
    """The results of branches are what devices own of them."""

    def movable(self, plan: Plan, op: ir.Operation) -> bool:
        return False

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        returned = [list(terminator(region.blocks[0]).operands) for region in op.regions]
        for k, result in enumerate(op.results):
            yield from alike(result, *(r[k] for r in returned))

    def enter(self, plan: Plan, op: ir.Operation) -> None:
        for region in op.regions:
            place_block(plan, region.blocks[0])

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        k = list(op.results).index(result)
        for region in op.regions:
            returned = terminator(region.blocks[0]).operands[k]
            found = plan.followed(returned, dimension, plan.axes[result][dimension])
            if found is not plan.free:
                return found
        return plan.at_rest(result)[dimension]

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        for result in op.results:
            if plan.of(result).demand is None:
                plan.of(result).demand = plan.owned(result)
        for region in op.regions:
            block = region.blocks[0]
            for value, result in zip(terminator(block).operands, op.results, strict=True):
                want_owned(plan, value, result)
            plan_block(plan, block)
        plan.need(op.operands[0], plan.everyone, {})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        plan = program.plan
        windows = [owned_windows(plan, r) for r in op.results]
        types = [tensor_type(program.local_shape(r, w), dtype_of(r)) for r, w in zip(op.results, windows, strict=True)]
        chooser = program.view(op.operands[0], {}, plan.everyone)
        made = creation.create(op.name, types, [chooser], regions=len(op.regions))
        for region, old in zip(made.regions, op.regions, strict=True):
            inner = old.blocks[0]
            with ir.InsertionPoint(region.blocks.append()):
                write_block(program, inner)
                creation.create("stablehlo.return", [], [
                    program.view(v, w, plan.everyone)
                    for v, w in zip(terminator(inner).operands, windows, strict=True)])
        return [part_owned(plan, r, v) for r, v in zip(op.results, made.results, strict=True)]

