"""Borrowed arguments of native calls: a call gets the memory around an argument, and where in it the argument starts.

XLA takes 64-byte aligned buffers only, and copies what a native call is to read out of a bigger one. A native call that
says `lent = k` reads its first k operands from given elements on, told by its last operand; so it takes the enclosing
buffer as it is, at any alignment.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes, context, modules, ops, types

CALL, CONFIG, LENT = "stablehlo.custom_call", "backend_config", "lent"


def lent_operands(op: ir.Operation) -> int:
    """How many operands of a native call may start anywhere in their memory."""
    if op.name != CALL or CONFIG not in op.attributes or not isinstance(op.attributes[CONFIG], ir.DictAttr):
        return 0
    config = ir.DictAttr(op.attributes[CONFIG])
    return int(ir.IntegerAttr(config[LENT]).value) if LENT in config else 0


def mark(op: ir.Operation, count: int) -> None:
    """Say that a call's first operands may be lent."""
    known = {each.name: each.attr for each in ir.DictAttr(op.attributes[CONFIG])}
    op.attributes[CONFIG] = ir.DictAttr.get({**known, LENT: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)})


def with_lent(bytecode: bytes, lengths: dict[int, int], offsets: Sequence[int] | None) -> bytes:
    """The module with some arguments of @main as flat memory around them: argument index -> elements of that memory.

    offsets: the element each of them starts at, in the order of `lengths`; None: a last argument tells them.
    """
    with context.building():
        module = modules.parse(bytecode)
        main = modules.function(module)
        block = main.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            _lend(block, lengths, offsets)
        results = list(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments],
                                                                               results))
        for name in ("arg_attrs", "res_attrs"):
            if name in main.attributes:
                del main.attributes[name]
        return modules.bytecode(module)


def _lend(block: ir.Block, lengths: dict[int, int], offsets: Sequence[int] | None) -> None:
    """Give arguments their new types: calls that may read them in place do, wherever they are (a loop's body uses
    arguments from outside), everything else gets them cut out."""
    arguments = [block.arguments[index] for index in lengths]
    starts: list[ir.Value | int]
    if offsets is None:
        told = block.add_argument(types.tensor_type((len(lengths),), np.dtype(np.int64)), ir.Location.unknown())
        starts = [ops.reshape(ops.slice(told, (k,), (k + 1,)), ()) for k in range(len(lengths))]
    else:
        starts = list(offsets)
    start_of = dict(zip(arguments, starts, strict=True))
    shapes = {argument: types.shape_of(argument) for argument in arguments}
    calls: list[ir.Operation] = []
    others: dict[ir.Value, list[tuple[ir.Operation, int]]] = {}
    for argument in arguments:
        for use in argument.uses:
            user = use.owner.operation
            if use.operand_number >= lent_operands(user):
                others.setdefault(argument, []).append((user, use.operand_number))
            elif user not in calls:
                calls.append(user)
    for argument, length in zip(arguments, lengths.values(), strict=True):
        argument.set_type(types.tensor_type((length,), types.dtype_of(argument)))
    for argument, uses in others.items():
        part = _cut_out(argument, start_of[argument], shapes[argument])
        for user, number in uses:
            user.operands[number] = part
    for call in calls:
        given = list(call.operands)
        call.operands[len(given) - 1] = _together([start_of.get(v, 0) for v in given[:lent_operands(call)]])
        call.attributes["operand_layouts"] = attributes.row_major([v.type for v in call.operands])


def _cut_out(whole: ir.Value, start: ir.Value | int, shape: Sequence[int]) -> ir.Value:
    """An argument out of the memory around it."""
    count = types.size(shape)
    flat = ops.slice(whole, (start,), (start + count,)) if isinstance(start, int) else \
        ops.dynamic_slice(whole, [start], (count,))
    return ops.reshape(flat, shape)


def _together(starts: Sequence[ir.Value | int]) -> ir.Value:
    """The vector of the elements at which a call's operands start."""
    if all(isinstance(start, int) for start in starts):
        return ops.constant(np.array(starts, np.int64), np.dtype(np.int64))
    parts = [ops.constant(np.array([start], np.int64), np.dtype(np.int64)) if isinstance(start, int) else
             ops.reshape(start, (1,)) for start in starts]
    return ops.concatenate(parts, 0) if len(parts) > 1 else parts[0]
