"""Matrices put together of smaller ones: Kronecker products, and blocks among zeros (block-diagonal matrices).

(A ⊗ B) y is A (y as a matrix) B', two small products in the place of one with a matrix that is their product in size.
A matrix of blocks multiplies each part of the other factor by the block that meets it; where zeros meet numbers that
are not finite, the product is NaN as the zeros would make it.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import match, once, producer, rewrite, variables
from reactant.rewrite.pattern import Template
from reactant.simplify.facts.parts import known_starts
from reactant.simplify.linear.contraction import dot, product
from reactant.simplify.linear.structured import diagonal_of

x, y, d, p, q = variables("x y d p q")
first, last, step = variables("first last step")
LEAST = 16
"""Smallest side of a matrix for which its parts are multiplied apart."""
CHECKED = 64
"""Smallest side where the other factor is looked through for what is not finite."""
BLOCKS = 16
"""Most blocks of a matrix."""


def _other(x: ir.Value, y: ir.Value, d: DotDimensions, dtype: np.dtype) -> bool:
    """Whether a product is one of two matrices, or of a matrix and a vector, of one dtype."""
    return not d.batching_dims[0] and len(d.contracting_dims[0]) == 1 and dtype_of(x) == dtype_of(y) == dtype \
        and {len(shape_of(x)), len(shape_of(y))} <= {1, 2}


# ---- Kronecker products --------------------------------------------------------------------------------------------

class Kronecker(NamedTuple):
    """left ⊗ right: elements [i r + k, j s + l] = left[i, j] right[k, l] for a right factor of shape (r, s)."""
    left: ir.Value
    right: ir.Value


def kronecker_of(value: ir.Value) -> Kronecker | None:
    """The factors of a Kronecker product of two matrices, as it is written: a reshaped product of two broadcasts."""
    made = producer(value)
    if made is None or made.name != "stablehlo.reshape" or len(shape_of(value)) != 2:
        return None
    product = producer(made.operands[0])
    if product is None or product.name != "stablehlo.multiply":
        return None
    extents = shape_of(made.operands[0])
    if len(extents) != 4 or shape_of(value) != (extents[0] * extents[1], extents[2] * extents[3]):
        return None
    found: dict[int, ir.Value] = {}
    for factor in product.operands:
        spread = producer(factor)
        if spread is None or spread.name != "stablehlo.broadcast_in_dim":
            return None
        places = tuple(spread["broadcast_dimensions"])
        if places not in ((0, 2), (1, 3)) or shape_of(spread.operands[0]) != tuple(extents[k] for k in places):
            return None
        found[places[0]] = spread.operands[0]
    return Kronecker(found[0], found[1]) if len(found) == 2 else None


def kronecker(left: ir.Value, right: ir.Value) -> ir.Value:
    """left ⊗ right."""
    (m, n), (r, s) = shape_of(left), shape_of(right)
    wide = (m, r, n, s)
    spread = ops.broadcast_in_dim(left, wide, (0, 2)), ops.broadcast_in_dim(right, wide, (1, 3))
    return ops.reshape(ops.multiply(*spread), (m * r, n * s))


def _applied(t: Template, found: Kronecker, k: int, values: ir.Value) -> ir.Value:
    """The product, over its dimension k, with a matrix of which the rows are contracted: the cheaper factor first."""
    inner, outer = ((shape_of(v)[k], shape_of(v)[1 - k]) for v in found), None
    (n, s), (m, r) = zip(*inner, strict=True)
    columns = shape_of(values)[1]
    cube = ops.reshape(values, (n, s, columns))
    if r * s * n + m * n * r <= m * n * s + m * r * s:
        outer = product(t, found.left, product(t, found.right, cube, k, 1), k, 1)           # [m, r, columns]
    else:
        outer = product(t, found.right, product(t, found.left, cube, k, 0), k, 1)           # [r, m, columns]
        outer = ops.transpose(outer, (1, 0, 2))
    return ops.reshape(outer, (m * r, columns))


@rewrite(dot(x, y), dtypes="number", changes="rounding", assumes="finite", made_by=("stablehlo.reshape",),
         example=(lambda a: ops.dot_general(kronecker(a(2, 2), a(3, 2)), kronecker(a(2, 3), a(2, 2)),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(kronecker(a(2, 3), a(2, 2)), kronecker(a(3, 2), a(2, 2)),
                                            contracting_dims=((0,), (1,)))),
         counter=lambda a: ops.dot_general(kronecker(a(4, 5), a(6, 7)), kronecker(a(7, 3), a(5, 9)),
                                           contracting_dims=((1,), (0,))))
def product_of_kroneckers(x, y, d, t, result_dtype):
    """(a ⊗ b) @ (c ⊗ d) = (a @ c) ⊗ (b @ d)"""
    left = kronecker_of(x) if _other(x, y, d, result_dtype) else None
    right = None if left is None else kronecker_of(y)
    if left is None or right is None:
        return None
    k, m = d.contracting_dims[0][0], d.contracting_dims[1][0]
    if any(shape_of(a)[k] != shape_of(b)[m] for a, b in zip(left, right, strict=True)):
        return None
    return kronecker(*(product(t, a, b, k, m) for a, b in zip(left, right, strict=True)))


@rewrite(dot(x, y), dtypes="inexact", changes="rounding", assumes="finite", made_by=("stablehlo.reshape",),
         example=(lambda a: ops.dot_general(kronecker(a(4, 5), a(6, 7)), a(35, 2), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(kronecker(a(4, 5), a(6, 7)), a(24), contracting_dims=((0,), (0,))),
                  lambda a: ops.dot_general(a(2, 24), kronecker(a(4, 5), a(6, 7)), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(kronecker(a(4, 9), a(6, 2)), a(3, 18), contracting_dims=((1,), (1,)))),
         counter=lambda a: ops.dot_general(a(24, 35), a(35, 2), contracting_dims=((1,), (0,))))
def product_with_kronecker(x, y, d, t, result_shape, result_dtype):
    """(a ⊗ b) @ y = a @ (y as a matrix) @ b.T, y @ (a ⊗ b) likewise"""
    return factor_by_factor(x, y, d, t, result_shape, result_dtype)


@rewrite(dot(x, y), dtypes="integer", made_by=("stablehlo.reshape",),
         example=lambda a: ops.dot_general(kronecker(a(4, 5), a(6, 7)), a(35, 2), contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(a(24, 35), a(35, 2), contracting_dims=((1,), (0,))))
def product_with_whole_kronecker(x, y, d, t, result_shape, result_dtype):
    """(a ⊗ b) @ y = a @ (y as a matrix) @ b.T for integers"""
    return factor_by_factor(x, y, d, t, result_shape, result_dtype)


def factor_by_factor(x, y, d, t, result_shape, result_dtype):
    """The product with a Kronecker product, one of its factors after the other."""
    if not _other(x, y, d, result_dtype):
        return None
    for side, (matrix, other) in enumerate(((x, y), (y, x))):
        found = kronecker_of(matrix)
        if found is None or min(*shape_of(found.left), *shape_of(found.right)) < 2 or min(shape_of(matrix)) < LEAST:
            continue
        m = d.contracting_dims[1 - side][0]
        values = ops.reshape(other, (*shape_of(other), 1)) if len(shape_of(other)) == 1 else other
        values = ops.transpose(values, (1, 0)) if m == 1 else values
        made = _applied(t, found, d.contracting_dims[side][0], values)
        return ops.reshape(made if side == 0 else ops.transpose(made, (1, 0)), result_shape)
    return None


def _every(step: int, left: ir.Value, right: ir.Value) -> ir.Value:
    """Elements of the flat Kronecker product, for examples."""
    flat = ops.reshape(producer(kronecker(left, right)).operands[0], (144,))
    return ops.slice(flat, (0,), (144,), (step,))


@rewrite(match.slice(match.reshape(once(match.multiply(match.broadcast_in_dim(x, broadcast_dimensions=p),
                                                       match.broadcast_in_dim(y, broadcast_dimensions=q)))),
                     start_indices=first, limit_indices=last, strides=step), dtypes="number",
         example=lambda a: _every(13, a(4, 4), a(3, 3)), counter=lambda a: _every(12, a(4, 4), a(3, 3)))
def diagonal_of_kronecker(x, p, y, q, first, last, step, result_shape):
    """diagonal(a ⊗ b) = diagonal(a) ⊗ diagonal(b)"""
    shapes = shape_of(x), shape_of(y)
    if (tuple(p), tuple(q)) not in (((0, 2), (1, 3)), ((1, 3), (0, 2))) or any(len(set(s)) != 1 for s in shapes):
        return None
    left, right = (x, y) if tuple(p) == (0, 2) else (y, x)
    m, r = shape_of(left)[0], shape_of(right)[0]
    if (tuple(first), tuple(last), tuple(step)) != ((0,), ((m * r) ** 2,), (m * r + 1,)) or min(m, r) < 2:
        return None
    return ops.reshape(ops.multiply(ops.broadcast_in_dim(diagonal_of(left), (m, r), (0,)),
                                    ops.broadcast_in_dim(diagonal_of(right), (m, r), (1,))), result_shape)


# ---- blocks among zeros --------------------------------------------------------------------------------------------

class Block(NamedTuple):
    """A part of a matrix: where it begins, and what stands there."""
    row: int
    column: int
    content: ir.Value

    @property
    def rows(self) -> range:
        return range(self.row, self.row + shape_of(self.content)[0])

    @property
    def columns(self) -> range:
        return range(self.column, self.column + shape_of(self.content)[1])


def _is_zero(value: ir.Value) -> bool:
    number = ops.constant_value(value)
    return number is not None and number.size > 0 and not any(number.strides) and number.flat[0] == 0


_MADE = tuple(f"stablehlo.{name}" for name in ("constant", "pad", "concatenate", "dynamic_update_slice", "multiply"))
"""What puts blocks together, and multiplies them."""
FACTORS = 3
"""Most matrices by which one of blocks is multiplied element by element."""


def blocks_of(value: ir.Value, depth: int = BLOCKS) -> list[Block] | None:
    """The blocks of a matrix that is zero elsewhere, from how it is put together; [] for zeros, None for a matrix of
    which nothing is known."""
    shape, made = shape_of(value), producer(value)
    if len(shape) != 2 or made is None or not depth:
        return None
    if _is_zero(value):
        return []
    if made.name == "stablehlo.pad" and _is_zero(made.operands[1]) and not any(made["interior_padding"]):
        low, high = made["edge_padding_low"], made["edge_padding_high"]
        if min((*low, *high)) < 0:
            return None
        return [Block(b.row + low[0], b.column + low[1], b.content) for b in _parts(made.operands[0], depth)]
    if made.name == "stablehlo.concatenate":
        along, at, blocks = made["dimension"], 0, []
        for part in made.operands:
            move = (at, 0) if along == 0 else (0, at)
            blocks += [Block(b.row + move[0], b.column + move[1], b.content) for b in _parts(part, depth)]
            at += shape_of(part)[along]
        return blocks
    if made.name == "stablehlo.dynamic_update_slice":
        return _updated(made.operands, depth)
    return None


def _unscaled(value: ir.Value, left: int = FACTORS) -> tuple[ir.Value, list[ir.Value]] | None:
    """The matrix of blocks that is multiplied element by element, and what by; None where there is none."""
    if blocks_of(value) is not None:
        return value, []
    made = producer(value)
    if made is None or made.name != "stablehlo.multiply" or not left:
        return None
    for one, other in (made.operands, made.operands[::-1]):
        if (found := _unscaled(one, left - 1)) is not None:
            return found[0], [*found[1], other]
    return None


def _parts(value: ir.Value, depth: int) -> list[Block]:
    """The blocks of a part; itself, where nothing is known of it."""
    found = blocks_of(value, depth - 1)
    return [Block(0, 0, value)] if found is None else found


def _updated(operands: Sequence[ir.Value], depth: int) -> list[Block] | None:
    matrix, update, *starts = operands
    place = known_starts(starts, shape_of(matrix), shape_of(update))
    below = None if place is None else blocks_of(matrix, depth - 1)
    if place is None or below is None:
        return None
    new = Block(place[0], place[1], update)
    return None if any(_meet(new.rows, b.rows) and _meet(new.columns, b.columns) for b in below) else [*below, new]


def _meet(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _separate(matrix: ir.Value, k: int) -> list[Block] | None:
    """The blocks of a matrix in order along the dimension that is not contracted, at least half of it being zeros and
    no two blocks overlapping along that dimension."""
    blocks = blocks_of(matrix)
    if blocks is None or not 0 < len(blocks) <= BLOCKS or 2 * sum(size(shape_of(b.content)) for b in blocks) > size(
            shape_of(matrix)):
        return None
    ordered = sorted(blocks, key=lambda b: b.row if k == 1 else b.column)
    spans = [b.rows if k == 1 else b.columns for b in ordered]
    return None if any(_meet(a, b) for a, b in zip(spans, spans[1:], strict=False)) else ordered


def _multiplied(x: ir.Value, y: ir.Value, d: DotDimensions, t: Template, dtype: np.dtype,
                checked: bool) -> ir.Value | None:
    if not _other(x, y, d, dtype):
        return None
    for side, (matrix, other) in enumerate(((x, y), (y, x))):
        k, m = d.contracting_dims[side][0], d.contracting_dims[1 - side][0]
        least = CHECKED if checked and is_float(dtype) else LEAST
        if len(shape_of(matrix)) != 2 or min(shape_of(matrix)) < least or (scaled := _unscaled(matrix)) is None:
            continue
        blocks, factors = _separate(scaled[0], k), scaled[1]
        if not blocks:
            continue
        extents = shape_of(other)
        rest = [n for axis, n in enumerate(extents) if axis != m]
        bad = total = None
        if checked and is_float(dtype):
            bad = ops.convert(ops.not_(ops.is_finite(other)), np.int32)
            total = ops.reduce(bad, ops.constant(0, np.int32), (m,), "add")
        parts, at, rows = [], 0, shape_of(matrix)[1 - k]

        def zeros(count: int, rest: Sequence[int] = rest, total: ir.Value | None = total) -> ir.Value:
            none = ops.constant(0, dtype, (count, *rest))
            return none if total is None else _unless(total, none)
        for block in blocks:
            mine, theirs = (block.rows, block.columns) if k == 1 else (block.columns, block.rows)
            if mine.start > at:
                parts.append(zeros(mine.start - at))
            low = [theirs.start if axis == m else 0 for axis in range(len(extents))]
            high = [theirs.stop if axis == m else n for axis, n in enumerate(extents)]
            made = product(t, _scaled(block, factors), ops.slice(other, low, high), k, m)
            if bad is not None:
                met = ops.reduce(ops.slice(bad, low, high), ops.constant(0, np.int32), (m,), "add")
                made = _unless(total, made, met)
            parts.append(made)
            at = mine.stop
        if at < rows:
            parts.append(zeros(rows - at))
        whole = ops.concatenate(parts, 0)
        for factor in factors if bad is not None else ():
            whole = _unless_met(factor, blocks, k, whole)
        return whole if side == 0 or not rest else ops.transpose(whole, (1, 0))
    return None


def _unless(total: ir.Value, product: ir.Value, met: ir.Value | int = 0) -> ir.Value:
    """The product, but NaN in columns where zeros have met what is not finite: more of it than the block."""
    sound = ops.broadcast_in_dim(ops.compare(total, met, "EQ"), shape_of(product), range(1, len(shape_of(product))))
    return ops.select(sound, product, np.nan)


def _box(value: ir.Value, block: Block) -> ir.Value:
    return ops.slice(value, (block.row, block.column), (block.rows.stop, block.columns.stop))


def _scaled(block: Block, factors: Sequence[ir.Value]) -> ir.Value:
    """What stands in a block, multiplied by what stands there in some matrices."""
    content = block.content
    for factor in factors:
        content = ops.multiply(content, _box(factor, block))
    return content


def _unless_met(factor: ir.Value, blocks: Sequence[Block], k: int, whole: ir.Value) -> ir.Value:
    """A product with a matrix of blocks times a factor, but NaN in the rows in which what is not finite in the factor
    has met zeros. k: the dimension that is contracted; blocks are in order."""
    bad, counts, at = ops.convert(ops.not_(ops.is_finite(factor)), np.int32), [], 0
    zero = ops.constant(0, np.int32)
    for block in blocks:
        rows = block.rows if k == 1 else block.columns
        counts += [ops.constant(0, np.int32, (rows.start - at,)), ops.reduce(_box(bad, block), zero, (k,), "add")]
        at = rows.stop
    counts.append(ops.constant(0, np.int32, (shape_of(factor)[1 - k] - at,)))
    met = ops.concatenate([count for count in counts if size(shape_of(count))], 0)
    sound = ops.compare(ops.reduce(bad, zero, (k,), "add"), met, "EQ")
    return ops.select(ops.broadcast_in_dim(sound, shape_of(whole), (0,)), whole, np.nan)


def _stacked(a: Any) -> ir.Value:
    """A block-diagonal matrix, for examples."""
    return ops.concatenate([ops.pad(a(6, 5), 0, (27, 0), (0, 63)), ops.pad(a(3, 4), 0, (0, 60), (29, 4))], 0)


def _placed(a: Any) -> ir.Value:
    """Blocks written into zeros, for examples."""
    matrix = ops.constant(0, a.dtype, (65, 66))
    for at, shape in ((0, (5, 6)), (7, (8, 9))):
        matrix = ops.dynamic_update_slice(matrix, a(*shape), [ops.constant(at, np.int64)] * 2)
    return matrix


_EXAMPLES = (
    lambda a: ops.dot_general(_stacked(a), a(68, 3), contracting_dims=((1,), (0,))),
    lambda a: ops.dot_general(_stacked(a), a(65), contracting_dims=((0,), (0,))),
    lambda a: ops.dot_general(a(2, 65), _stacked(a), contracting_dims=((1,), (0,))),
    lambda a: ops.dot_general(_placed(a), a(66, 3), contracting_dims=((1,), (0,))),
    lambda a: ops.dot_general(ops.multiply(_stacked(a), a(65, 68)), a(68, 3), contracting_dims=((1,), (0,))),
    lambda a: ops.dot_general(a(65), ops.multiply(a(65, 66), _placed(a)), contracting_dims=((0,), (0,))))
_COUNTER = lambda a: ops.dot_general(ops.concatenate([a(33, 68), ops.pad(a(3, 4), 0, (0, 60), (29, 4))], 0),  # noqa: E731
                                     a(68, 3), contracting_dims=((1,), (0,)))


@rewrite(dot(x, y), dtypes="number", changes="rounding", assumes="finite", example=_EXAMPLES, counter=_COUNTER,
         made_by=_MADE)
def product_with_blocks(x, y, d, t, result_dtype):
    """a matrix of blocks among zeros @ y = each block @ the rows of y that it meets, for finite numbers"""
    return _multiplied(x, y, d, t, result_dtype, False)


@rewrite(dot(x, y), dtypes="real", changes="rounding", example=_EXAMPLES, counter=_COUNTER, made_by=_MADE)
def product_with_blocks_checked(x, y, d, t, result_dtype):
    """a matrix of blocks among zeros @ y = each block @ the rows of y that it meets; NaN as the zeros would make it"""
    return _multiplied(x, y, d, t, result_dtype, True)
