"""How arguments and results lie of which nobody has said it: as Shardy's propagation has it."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from reactant.communication.sharding import MeshShape, Sharding
from reactant.ir import modules
from reactant.ir.context import building

Given = Sequence[Sharding | None]


def propagated(module: ir.Module, mesh: MeshShape, inputs: Given,
               outputs: Given) -> tuple[tuple[Sharding, ...], tuple[Sharding, ...]]:
    """The shardings of all arguments and results of @main, where those given are as they are (None: not given).

    What is not given is divided where it divides an argument evenly; a result may have an uneven sharding.
    """
    with building():
        made = modules.clone(module)
        where = sdy.MeshAttr.get([sdy.MeshAxisAttr.get(n, s) for n, s in zip(mesh.names, mesh.sizes, strict=True)])
        main = modules.function(made)
        block = main.regions[0].blocks[0]
        _annotate(main, "arg_attrs", inputs, where, len(block.arguments))
        results = list(block.operations)[-1].operands
        _annotate(main, "res_attrs", outputs, where, len(results))
        modules.run_passes(made, "sdy-propagation-pipeline")
        main = modules.function(made)
        block = main.regions[0].blocks[0]
        found = _told(main, "arg_attrs", [argument.type for argument in block.arguments])
        arguments = tuple(given or told for given, told in zip(inputs, found, strict=True))
        values = list(list(block.operations)[-1].operands)
        return arguments, tuple(given or _of(value, arguments) for given, value in zip(outputs, values, strict=True))


def _annotate(main: ir.Operation, attribute: str, given: Given, mesh: ir.Attribute, count: int) -> None:
    """Say how arguments or results lie."""
    had = list(ir.ArrayAttr(main.attributes[attribute])) if attribute in main.attributes else []
    had = [ir.DictAttr(each) for each in had] or [ir.DictAttr.get({})] * count
    main.attributes[attribute] = ir.ArrayAttr.get([
        old if sharding is None else ir.DictAttr.get({**{each.name: each.attr for each in old},
                                                      "sdy.sharding": attribute_of(sharding, mesh)})
        for old, sharding in zip(had, given, strict=True)])


def attribute_of(sharding: Sharding, mesh: ir.Attribute) -> ir.Attribute:
    """Shardy's form of a sharding of a mesh."""
    return sdy.TensorShardingAttr.get(mesh, [
        sdy.DimensionShardingAttr.get([sdy.AxisRefAttr.get(axis) for axis in axes], is_closed=True)
        for axes in sharding.axes])


def _told(main: ir.Operation, attribute: str, types: Sequence[ir.Type]) -> list[Sharding]:
    given = list(ir.ArrayAttr(main.attributes[attribute])) if attribute in main.attributes else [None] * len(types)
    found = []
    for each, kind in zip(given, types, strict=True):
        rank = ir.RankedTensorType(kind).rank
        told = each is not None and "sdy.sharding" in ir.DictAttr(each)
        found.append(_sharding(ir.DictAttr(each)["sdy.sharding"], rank) if told else Sharding.replicated(rank))
    return found


def _of(value: ir.Value, arguments: Sequence[Sharding]) -> Sharding:
    """The sharding of a value that @main returns."""
    rank = ir.RankedTensorType(value.type).rank
    if isinstance(value.owner, ir.Block):
        return arguments[ir.BlockArgument(value).arg_number]
    owner = value.owner
    if "sdy.sharding" not in owner.attributes:
        return Sharding.replicated(rank)
    each = list(sdy.TensorShardingPerValueAttr(owner.attributes["sdy.sharding"]).shardings)
    return _sharding(each[ir.OpResult(value).result_number], rank)


def _sharding(attribute: ir.Attribute, rank: int) -> Sharding:
    """Ours of Shardy's; parts of axes, which we do not have, divide nothing."""
    dimensions = [[sdy.AxisRefAttr(axis) for axis in sdy.DimensionShardingAttr(each).axes]
                  for each in sdy.TensorShardingAttr(attribute).dimension_shardings]
    whole = [tuple(axis.name for axis in axes) if all(axis.sub_axis_info is None for axis in axes) else ()
             for axes in dimensions]
    return Sharding((*whole, *((),) * (rank - len(whole))))
