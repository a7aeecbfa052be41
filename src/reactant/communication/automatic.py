"""A program for a mesh as XLA's own partitioner makes it: arguments lose their padding, results get theirs."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from reactant.communication.sharding import MeshShape, Sharding
from reactant.errors import ReactantError
from reactant.ir import modules, ops, types
from reactant.ir.context import building
from reactant.support.records import dataclass


class NotPartitioned(ReactantError, NotImplementedError):
    """An op that only XLA divides."""

    code = "not-partitioned"


@dataclass(frozen=True)
class Partitioned:
    """A program for all devices of a mesh. What is divided unevenly has its padded shape in the type of @main; what is
    in the padding may be anything."""

    module: ir.Module
    inputs: tuple[Sharding, ...]
    outputs: tuple[Sharding, ...]


def partition(module: ir.Module, mesh: MeshShape, inputs: Sequence[Sharding],
              outputs: Sequence[Sharding]) -> Partitioned:
    """The program, which XLA divides when it compiles it."""
    with building():
        made = modules.clone(module)
        main = modules.function(made)
        block = main.regions[0].blocks[0]
        for argument, sharding in zip(list(block.arguments), inputs, strict=True):
            _without_padding(block, argument, sharding, mesh)
        for op in [each for each in modules.walk(made) if each.name == "stablehlo.reduce"]:
            _reduced_on_each(op, mesh)
        for op in [each for each in modules.walk(made) if each.name == "stablehlo.custom_call"]:
            _said_once(op)
        back = list(block.operations)[-1]
        with ir.InsertionPoint(back), ir.Location.unknown():
            for number, sharding in enumerate(outputs):
                back.operation.operands[number] = _with_padding(back.operands[number], sharding, mesh)
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(
            [a.type for a in block.arguments], [value.type for value in back.operands]))
    return Partitioned(made, tuple(inputs), tuple(outputs))


def even(sharding: Sharding, mesh: MeshShape, shape: Sequence[int]) -> Sharding:
    """The sharding without the axes that do not divide."""
    return Sharding(tuple(axes if n % mesh.size(axes) == 0 else () for axes, n in
                          zip(sharding.axes, shape, strict=True)))


def _without_padding(block: ir.Block, argument: ir.BlockArgument, sharding: Sharding, mesh: MeshShape) -> None:
    shape, dtype = types.shape_and_dtype(argument.type)
    rests = sharding.padded(mesh, shape)
    if rests == tuple(shape):
        return
    argument.set_type(types.tensor_type(rests, dtype))
    readers = [(use.owner, use.operand_number) for use in argument.uses]
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        elements = ops.slice(argument, [0] * len(shape), list(shape), [1] * len(shape))
    for owner, number in readers:
        owner.operation.operands[number] = elements


JOINED = {"stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum"}
"""What XLA:CPU reduces over devices; of booleans, these and `and` and `or`."""


def _reduced_on_each(reduce: ir.Operation, mesh: MeshShape) -> None:
    """Put the dimensions that a reduction goes over on each device, where it is none that can be joined over them."""
    if len(reduce.results) != 1:
        return              # of places, too (argmax): XLA knows those
    body = [op.name for op in reduce.regions[0].blocks[0].operations]
    logical = types.dtype_of(reduce.operands[0]).kind == "b" and body[0] in ("stablehlo.and", "stablehlo.or")
    if len(body) == 2 and (body[0] in JOINED or logical):
        return
    over = set(ir.DenseI64ArrayAttr(reduce.attributes["dimensions"]))
    where = sdy.MeshAttr.get([sdy.MeshAxisAttr.get(n, s) for n, s in zip(mesh.names, mesh.sizes, strict=True)])
    rank = len(types.shape_of(reduce.operands[0]))
    told = sdy.TensorShardingAttr.get(where, [sdy.DimensionShardingAttr.get([], is_closed=d in over)
                                              for d in range(rank)])
    with ir.InsertionPoint(reduce), ir.Location.unknown():
        reduce.operands[0] = sdy.ShardingConstraintOp(reduce.operands[0], told).result


def _said_once(call: ir.Operation) -> None:
    """Have the first device make a call that the world sees: of what is printed, say."""
    if "has_side_effect" in call.attributes and ir.BoolAttr(call.attributes["has_side_effect"]).value:
        first = sdy.TensorShardingAttr.get(sdy.MeshAttr.get([], device_ids=[0]), [])
        call.attributes["sdy.sharding"] = sdy.TensorShardingPerValueAttr.get([first] * max(1, len(call.results)))


def _with_padding(value: ir.Value, sharding: Sharding, mesh: MeshShape) -> ir.Value:
    shape, dtype = types.shape_and_dtype(value.type)
    rests = sharding.padded(mesh, shape)
    if rests == tuple(shape):
        return value
    missing = [n - m for n, m in zip(rests, shape, strict=True)]
    nothing = ops.constant(np.zeros((), dtype))
    return ops.pad(value, nothing, [0] * len(shape), missing, [0] * len(shape))
