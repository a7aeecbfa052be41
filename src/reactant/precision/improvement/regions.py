"""The elementwise float expressions of a module: where they are, and of which values."""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import shape_and_dtype
from reactant.precision.improvement.expressions import OPERATIONS, Expression, leaf, made, number

ENTERED = ("stablehlo.while", "stablehlo.if", "stablehlo.case")
"""Operations in whose regions expressions are looked for; other regions are numbers of a reduction, a sort..."""
MOST_OPERATIONS = 40
"""Of one expression; larger ones are cut."""
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


class Place(NamedTuple):
    """An expression in a module: its last operation, what it is of its leaves, and which values those are."""

    op: ir.Operation
    expression: Expression
    leaves: tuple[ir.Value, ...]
    dtype: np.dtype

    @property
    def key(self) -> tuple[Expression, str]:
        """The same for the same expression in a program for other shapes."""
        return self.expression, self.dtype.name


def places(module: ir.Module) -> list[Place]:
    """All largest expressions of `@main` and its loops and branches, in the order they are computed."""
    return list(_of_block(modules.function(module).regions[0].blocks[0]))


def _of_block(block: ir.Block) -> Iterator[Place]:
    operations = [each.operation for each in block.operations]
    arithmetic = {op.results[0]: op for op in operations if is_arithmetic(op)}
    cuts = _cuts(arithmetic)
    for op in operations:
        if len(op.results) == 1 and op.results[0] in arithmetic:
            value = op.results[0]
            if value in cuts or any(use.owner.operation.results[0] not in arithmetic
                                    if len(use.owner.operation.results) == 1 else True for use in value.uses):
                expression, leaves = _read(value, {each for each in arithmetic if each == value or each not in cuts})
                if leaves:
                    yield Place(op, expression, tuple(leaves), shape_and_dtype(value.type)[1])
        elif op.name in ENTERED:
            for region in op.regions:
                yield from _of_block(region.blocks[0])


def is_arithmetic(op: ir.Operation) -> bool:
    """Whether an operation is one of `OPERATIONS` on floats of one format and shape."""
    if op.name.split(".")[-1] not in OPERATIONS and op.name != "chlo.square" or len(op.results) != 1:
        return False
    kind = op.results[0].type
    return isinstance(kind, ir.RankedTensorType) and shape_and_dtype(kind)[1] in DTYPES \
        and all(each.type == kind for each in op.operands)


def _cuts(arithmetic: dict[ir.Value, ir.Operation]) -> set[ir.Value]:
    """Values at which large expressions are cut: the largest operands of what would be too large."""
    sizes: dict[ir.Value, set[ir.Value]] = {}
    cuts: set[ir.Value] = set()
    for value, op in arithmetic.items():
        below = [each for each in dict.fromkeys(op.operands) if each in sizes]
        cone = {value}.union(*(sizes[each] for each in below if each not in cuts))
        while len(cone) > MOST_OPERATIONS:
            largest = max((each for each in below if each not in cuts), key=lambda each: len(sizes[each]))
            cuts.add(largest)
            cone = {value}.union(*(sizes[each] for each in below if each not in cuts))
        sizes[value] = cone
    return cuts


def _read(root: ir.Value, inside: set[ir.Value]) -> tuple[Expression, list[ir.Value]]:
    """A value as an expression of numbered leaves, which are what is not inside."""
    leaves: list[ir.Value] = []
    found: dict[ir.Value, Expression] = {}

    def of(value: ir.Value) -> Expression:
        if value not in found:
            found[value] = _made_of(value)
        return found[value]

    def _made_of(value: ir.Value) -> Expression:
        if value in inside:
            op = value.owner
            operands = [of(each) for each in op.operands]
            if op.name == "chlo.square":
                return made("multiply", *operands * 2)
            return made(op.name.split(".")[-1], *operands)
        constant = ops.constant_value(value)
        if constant is not None and constant.size:
            first = constant.flat[0]
            if np.isfinite(first) and (constant == first).all():
                return number(float(first))
        leaves.append(value)
        return leaf(len(leaves) - 1)

    return of(root), leaves
