"""A program for one device as one for a mesh: who has what, what is needed where, and the program of each device.

`partition` gives a module whose `@main` is one `sdy.manual_computation` over all axes of the mesh: inside are ops on
parts of arrays and collectives, nothing for XLA's partitioner to decide.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

import numpy as np
from jaxlib.mlir import ir

import reactant.communication.rules  # noqa: F401 - declares the rules
from reactant.communication.automatic import NotPartitioned, Partitioned, even
from reactant.communication.axes import Axes, terminator
from reactant.communication.blocks import Grid
from reactant.communication.cuts import best_plan
from reactant.communication.emission import Part, Writer
from reactant.communication.local_program import LocalProgram, Window
from reactant.communication.plan import Plan, Wanted
from reactant.communication.planning import place_block, plan_block
from reactant.communication.sharding import MeshShape, Sharding
from reactant.communication.strict import Watching, require_divided
from reactant.communication.tied import propagate
from reactant.communication.writing import write_block
from reactant.errors import Span
from reactant.ir import attributes as attr
from reactant.ir import creation, modules, ops
from reactant.ir.context import building
from reactant.ir.locations import file_and_line
from reactant.ir.types import dtype_of, shape_of, size, tensor_type

P = TypeVar("P", bound=Plan)
UNKNOWN = ("func.call", "sdy.manual_computation", *(f"stablehlo.{name}" for name in (
    "partition_id", "replica_id", "rng", "infeed", "outfeed", "send", "recv", "after_all")))
"""Ops that ask where they run, or talk to somebody."""


def partition(module: ir.Module, mesh: MeshShape, inputs: Sequence[Sharding | None],
              outputs: Sequence[Sharding | None] | None = None, pads: bool = True,
              strict: Collection[int] | None = None) -> Partitioned:
    """Divide a program of static shapes, whose `@main` calls nothing, on a mesh.

    inputs: how each argument is spread; None: as suits the program. outputs: the same for results. pads: whether those
    whose sharding is not given may rest padded. strict: the results that may be gathered, where nothing else may.
    The module stays as it is. Raises `NotPartitioned` where an op only works on one device, `ShardingError` where
    something is gathered that may not be.
    """
    with building():
        block, results, plan = _prepared(module, mesh, inputs, outputs, pads)
        if strict is not None:
            require_divided(planned(mesh, plan.axes, block, results, plan.to_move, Watching),
                            list(terminator(block).operands), strict)
        taken = [Sharding(tuple(plan.axes[a])) for a in block.arguments]
        made = _written(plan, block, taken, results)
        return Partitioned(made, _told(inputs, taken), _told(outputs or [None] * len(results), results))


def _told(given: Sequence[Sharding | None], found: Sequence[Sharding]) -> tuple[Sharding, ...]:
    """The shardings that were given, which may name axes that divide nothing, and of the others what was found."""
    return tuple(one or other for one, other in zip(given, found, strict=True))


def watched(module: ir.Module, mesh: MeshShape, inputs: Sequence[Sharding | None],
            outputs: Sequence[Sharding | None] | None = None, pads: bool = True) -> Watching:
    """The plan of a program as `partition` divides it, which tells what is gathered."""
    with building():
        block, results, plan = _prepared(module, mesh, inputs, outputs, pads)
        return planned(mesh, plan.axes, block, results, plan.to_move, Watching)


def _prepared(module: ir.Module, mesh: MeshShape, inputs: Sequence[Sharding | None],
              outputs: Sequence[Sharding | None] | None, pads: bool) -> tuple[ir.Block, list[Sharding], Plan]:
    """The body of @main, how its results lie, and the plan."""
    _require_known(module)
    block = modules.function(module).regions[0].blocks[0]
    if len(block.arguments) and not any(size(shape_of(a)) and list(a.uses) for a in block.arguments):
        # XLA (jaxlib 0.10.2) loses such operands, and then does not know the region for a divided one
        raise NotPartitioned("there are no elements to divide")
    given = {a: mesh.dividing(s) for a, s in zip(block.arguments, inputs, strict=True) if s is not None}
    axes = propagate(block, given)
    returned = list(terminator(block).operands)
    results = [mesh.dividing(s) if s is not None else _free(axes, v, mesh, pads)
               for v, s in zip(returned, outputs or [None] * len(returned), strict=True)]
    return block, results, best_plan(lambda moved: planned(mesh, axes, block, results, moved))


def _written(plan: Plan, block: ir.Block, taken: Sequence[Sharding], results: Sequence[Sharding]) -> ir.Module:
    mesh, returned = plan.mesh, list(terminator(block).operands)
    made = ir.Module.create()

    def types(values: Sequence[ir.Value], shardings: Sequence[Sharding], whole: bool) -> list[ir.Type]:
        return [tensor_type((s.padded if whole else s.block)(mesh, shape_of(v)), dtype_of(v))
                for v, s in zip(values, shardings, strict=True)]
    arguments = list(block.arguments)
    outer, inner = types(arguments, taken, True), types(arguments, taken, False)
    ends = types(returned, results, True)
    with ir.InsertionPoint(made.body):
        main = creation.create("func.func", [], [], {
            "sym_name": ir.StringAttr.get("main"), "sym_visibility": ir.StringAttr.get("public"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(outer, ends))}, 1)
    entry = main.regions[0].blocks.append(*outer, arg_locs=[ir.Location.unknown()] * len(outer))
    with ir.InsertionPoint(entry):
        manual = creation.create("sdy.manual_computation", ends, list(entry.arguments), {
            "in_shardings": _attribute(mesh, taken), "out_shardings": _attribute(mesh, results),
            "manual_axes": ir.Attribute.parse("#sdy<manual_axes{" + ", ".join(f'"{n}"' for n in mesh.names) + "}>")}, 1)
        creation.create("func.return", [], list(manual.results))
    local = manual.regions[0].blocks.append(*inner, arg_locs=[ir.Location.unknown()] * len(inner))
    with ir.InsertionPoint(local):
        top = creation.create("sdy.return", [], [])
        with ir.InsertionPoint(top):
            anchor = creation.create("stablehlo.constant", [tensor_type((), np.dtype(bool))], [], {
                "value": ir.DenseElementsAttr.get_splat(tensor_type((), np.dtype(bool)), ir.BoolAttr.get(False))})
            program = LocalProgram(plan, Writer(mesh, anchor.operation))
            for argument, sharding, value in zip(arguments, taken, local.arguments, strict=True):
                grids = at_rest(mesh, sharding, shape_of(argument))
                program.parts[argument] = Part(value, tuple(
                    grids[d].begin if d in grids else None for d in range(len(shape_of(argument)))))
            write_block(program, block)
            found = []
            for value, sharding in zip(returned, results, strict=True):
                windows = {d: Window(g.begin, g.block, g.axes)
                           for d, g in at_rest(mesh, sharding, shape_of(value)).items()}
                found.append(program.view(value, windows, plan.everyone))
            creation.create("sdy.return", [], found)
        top.operation.erase()
        anchor.operation.erase()
    return made


def _require_known(module: ir.Module) -> None:
    """Raises `NotPartitioned` where an op must run on one device, or calls what is not inlined."""
    for op in modules.walk(module):
        if op.name == "stablehlo.custom_call" and ("callback" in ops.target_of(op) or modules.PRINTED in op.attributes
                                                   or "has_side_effect" in op.attributes
                                                   and attr.decode(op.attributes["has_side_effect"])):
            raise NotPartitioned(f"{ops.target_of(op)} runs on one device", span=Span.at(file_and_line(op.location)))
        if op.name in UNKNOWN:
            raise NotPartitioned(f"{op.name} is not known to the partitioner", span=Span.at(file_and_line(op.location)))


def planned(mesh: MeshShape, axes: Axes, block: ir.Block, results: Sequence[Sharding],
            moved: Collection[ir.Value] = (), kind: type[P] = Plan) -> P:     # type: ignore[assignment]
    """The plan of a program whose results lie so, in which some values are moved that need not be."""
    plan = kind(mesh, axes, frozenset(moved))
    for argument in block.arguments:
        plan.place(argument, plan.at_rest(argument))
    place_block(plan, block)
    for value, sharding in zip(terminator(block).operands, results, strict=True):
        plan.need(value, plan.everyone, {d: Wanted(g.owned(shape_of(value)[d]), g)
                                         for d, g in at_rest(mesh, sharding, shape_of(value)).items()})
    plan_block(plan, block)
    plan.settle_arguments(block)
    return plan


def _free(axes: Axes, value: ir.Value, mesh: MeshShape, pads: bool) -> Sharding:
    found = Sharding(tuple(axes[value]))
    return found if pads else even(found, mesh, shape_of(value))


def at_rest(mesh: MeshShape, sharding: Sharding, shape: Sequence[int]) -> dict[int, Grid]:
    """The blocks of the divided dimensions of an array at rest."""
    return {d: Grid.at_rest(mesh, a, shape[d]) for d, a in enumerate(sharding.axes) if a}


def _attribute(mesh: MeshShape, shardings: Sequence[Sharding]) -> ir.Attribute:
    named = ", ".join(f'"{n}"={k}' for n, k in zip(mesh.names, mesh.sizes, strict=True))
    each = []
    for sharding in shardings:
        dimensions = ["{" + ", ".join(f'"{a}"' for a in axes) + "}" for axes in sharding.axes]
        each.append(f"<mesh<[{named}]>, [{', '.join(dimensions)}]>")
    return ir.Attribute.parse(f"#sdy.sharding_per_value<[{', '.join(each)}]>")
