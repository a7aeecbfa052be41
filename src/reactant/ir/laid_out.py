"""Arguments and results of a program as their memory goes: by rows of another order of dimensions.

NumPy keeps the order of its operands (`m.T + w.T` lies by columns), so what a program is given or gives may be read and
written as it lies, where the caller sees arrays through a transposition.
"""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of, tensor_type

Orders = Mapping[int, tuple[int, ...]]
"""By the number of an argument or result: its dimensions, the one with the longest steps in memory first."""


def order_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of the dimensions of an array in memory; None where that is by rows, or where it has gaps, repeats
    elements or goes backwards. Strides in elements."""
    order = tuple(sorted(range(len(shape)), key=lambda d: (shape[d] == 1, -strides[d], d)))
    step = 1
    for d in reversed(order):
        if shape[d] != 1 and strides[d] != step:
            return None
        step *= shape[d]
    if 0 in shape or [d for d in order if shape[d] != 1] == [d for d in range(len(shape)) if shape[d] != 1]:
        return None
    return order


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes one."""
    return tuple(order.index(d) for d in range(len(order)))


def transpose(module: ir.Module, arguments: Orders, results: Orders) -> None:
    """Let `@main` take and give them as they lie."""
    main = modules.function(module)
    block = main.regions[0].blocks[0]
    for number, order in arguments.items():
        given = block.arguments[number]
        uses = [(use.owner, use.operand_number) for use in given.uses]
        shape = shape_of(given)
        given.set_type(tensor_type(tuple(shape[d] for d in order), np.dtype(dtype_of(given))))
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            seen = ops.transpose(given, inverse(order))
        for owner, place in uses:
            owner.operands[place] = seen
    last = list(block.operations)[-1]
    for number, order in results.items():
        with ir.InsertionPoint(last), ir.Location.unknown():
            last.operands[number] = ops.transpose(last.operands[number], order)
    whole = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in last.operands])
    main.attributes["function_type"] = ir.TypeAttr.get(whole)
