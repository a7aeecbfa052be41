"""How the factors of a product of matrices lie in memory: what a routine of BLAS has to be told.

Dimensions of a `dot_general` that lie side by side are one; contracted ones may come in any order. Where a factor does
not lie as rows of a matrix, or as columns, it is turned first.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.support.records import dataclass

LARGEST = (1 << 31) - 1
"""What the library's integers hold."""


@dataclass(frozen=True)
class Axis:
    """Dimensions that are walked as one: how many elements, and how far apart they are in each factor."""

    extent: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Factor:
    """The matrices of a stack as they lie: elements from a line to the next, whether lines are columns, elements from
    a matrix to the next along the two dimensions of the stack. A vector is a line of elements that far apart."""

    value: ir.Value
    leading: int
    turned: bool
    outer: int
    inner: int


@dataclass(frozen=True)
class Product:
    """count products of (m, k) and (k, n), or (m, k) and a vector where n is 1."""

    dtype: np.dtype
    count: int
    inner: int
    m: int
    n: int
    k: int
    left: Factor
    right: Factor

    @property
    def of_itself(self) -> bool:
        """Whether it is a matrix times its transpose."""
        a, b = self.left, self.right
        return self.n > 1 and self.m == self.n and a.value == b.value and a.leading == b.leading \
            and a.turned != b.turned and (a.outer, a.inner) == (b.outer, b.inner)


def product_of(op: ir.Operation) -> Product | None:
    """The product as BLAS sees it. Transposes factors that do not lie as matrices: at the insertion point, which is
    `op`."""
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    for transposed in ((), (0,), (1,), (0, 1)):
        for order in _orders(op, numbers.contracting_dims):
            if (found := _read(op, numbers, order, transposed)) is not None:
                return found
    return None


def _orders(op: ir.Operation, contracted: tuple[Sequence[int], Sequence[int]]) -> Iterator[list[tuple[int, int]]]:
    """The pairs of contracted dimensions as they follow each other in one factor, and in the other."""
    pairs = list(zip(*contracted, strict=True))
    first = sorted(pairs)
    yield first
    second = sorted(pairs, key=lambda pair: pair[1])
    if second != first:
        yield second


def _read(op: ir.Operation, numbers: attr.DotDimensions, pairs: list[tuple[int, int]],
          transposed: Sequence[int]) -> Product | None:
    batch = [list(dims) for dims in numbers.batching_dims]
    contracted = [[pair[side] for pair in pairs] for side in (0, 1)]
    shapes = [shape_of(v) for v in op.operands]
    free = [[d for d in range(len(shapes[side])) if d not in (*batch[side], *contracted[side])] for side in (0, 1)]
    orders: list[list[int] | None] = [None, None]
    strides = [_strides(shape) for shape in shapes]
    for side in transposed:
        order = [*batch[side], *free[side], *contracted[side]]
        if order == sorted(order):
            return None                 # it lies so already
        orders[side] = order
        packed = _strides([shapes[side][d] for d in order])
        strides[side] = [packed[order.index(d)] for d in range(len(order))]
    stacks = _merged(batch, shapes, strides)
    depth = _merged(contracted, shapes, strides)
    sides = [_merged([free[side]], [shapes[side]], [strides[side]]) for side in (0, 1)]
    if len(stacks) > 2 or len(depth) > 1 or max(map(len, sides)) > 1:
        return None
    inner = stacks[-1] if stacks else Axis(1, (0, 0))
    outer = stacks[0] if len(stacks) > 1 else Axis(1, (0, 0))
    contracting = depth[0] if depth else Axis(1, (1, 1))
    (m, row), (n, column) = ((axis.extent, axis.strides[0]) for axis in (side[0] if side else Axis(1, (1,))
                                                                         for side in sides))
    k, along = contracting.extent, contracting.strides
    lies = [_lies(m, k, row, along[0]), _lies(n, k, column, along[1])]
    if 1 in (m, n):
        lies[m != 1] = along[m != 1], False         # the vector
    if None in lies:
        return None
    factors = [Factor(_turned(op.operands[side], orders[side]), found[0], found[1], outer.strides[side],
                      inner.strides[side]) for side, found in enumerate(lies) if found is not None]
    if max(m, n, k, *(f.leading for f in factors)) > LARGEST:
        return None
    dtype, count = dtype_of(op.results[0]), outer.extent * inner.extent
    if m == 1:
        return Product(dtype, count, inner.extent, n, 1, k, factors[1], factors[0])
    # the right factor's own lines were looked at: by columns they are the transpose's rows
    right = factors[1] if n == 1 else Factor(factors[1].value, factors[1].leading, not factors[1].turned,
                                             factors[1].outer, factors[1].inner)
    return Product(dtype, count, inner.extent, m, n, k, factors[0], right)


def _strides(shape: Sequence[int]) -> list[int]:
    return [size(shape[d + 1:]) for d in range(len(shape))]


def _merged(dims: Sequence[Sequence[int]], shapes: Sequence[Sequence[int]],
            strides: Sequence[Sequence[int]]) -> list[Axis]:
    """Dimensions that several factors have in common, as few axes as possible."""
    found: list[Axis] = []
    for each in zip(*dims, strict=True):
        extent = shapes[0][each[0]]
        if extent == 1:
            continue
        steps = tuple(strides[side][d] for side, d in enumerate(each))
        if found and all(before == step * extent for before, step in zip(found[-1].strides, steps, strict=True)):
            found[-1] = Axis(found[-1].extent * extent, steps)
        else:
            found.append(Axis(extent, steps))
    return found


def _lies(rows: int, columns: int, row: int, column: int) -> tuple[int, bool] | None:
    """How a matrix lies: elements from line to line, and whether lines are its columns; None where it does not."""
    if column == 1 or columns == 1:
        return (row if rows > 1 else columns), False
    if row == 1 or rows == 1:
        return (column if columns > 1 else rows), True
    return None


def _turned(value: ir.Value, order: Sequence[int] | None) -> ir.Value:
    return value if order is None else ops.transpose(value, order)
