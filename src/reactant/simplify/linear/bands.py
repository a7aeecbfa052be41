"""Matrices of few diagonals that are known only at run time: tridiagonal ones, differences, identities plus diagonals.

`bands_of` reads how a matrix is put together (diagonals behind masks or written by scatters, padded, added, scaled) and
says what stands on each diagonal as a `Line`: a recipe that builds nothing before a rule has decided. A product with
such a matrix is a sum of shifted rows of the other factor.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import Producer, once, one_of, producer, rewrite, variables
from reactant.rewrite.pattern import body_of
from reactant.simplify.facts.masks import Mask, mask_of, outside
from reactant.simplify.linear.contraction import dot
from reactant.simplify.linear.products import poisoned
from reactant.simplify.selection.indexing import known_content
from reactant.support.records import dataclass

x, y, z, d = variables("x y z d")
LEAST = 16
"""Smallest side of a matrix for which bands are used."""
FEW_COLUMNS, LEAST_BY_MATRIX = 4, 40
"""By a matrix of more columns, the least side over diagonals + 1: three times n x n float32, 64: 31 us and 80, 128:
52 and 73, 256: 192 and 128; one diagonal, 64: 31 and 31, 128: 47 and 35 (with the check for what is not finite)."""
BANDS = 9
"""Most diagonals of a banded matrix."""
DEPTH = 12
CONSTANT_ELEMENTS = 1 << 16


@dataclass(frozen=True)
class Line:
    """What stands on one diagonal of a matrix, at the rows that reach it from the first on: `build(dtype)` makes a
    vector; `number` is what stands everywhere, where that is known."""
    build: Callable[[], ir.Value]
    number: np.ndarray | None = None


@dataclass(frozen=True)
class Banded:
    """A matrix that is zero but for some diagonals: column minus row, to what stands there."""
    shape: tuple[int, int]
    lines: dict[int, Line]
    constant: bool = False
    scaled: bool = False
    """Whether rows or columns have been multiplied by run-time numbers: if one is not finite, its zeros are NaN."""

    def rows(self, offset: int) -> tuple[int, int]:
        """The rows that reach a diagonal."""
        return reached(self.shape, offset)


def reached(shape: Sequence[int], offset: int) -> tuple[int, int]:
    """The first row that reaches a diagonal, and one after the last."""
    first = max(0, -offset)
    return first, max(first, min(shape[0], shape[1] - offset))


# ---- how matrices are put together ---------------------------------------------------------------------------------

def bands_of(value: ir.Value, depth: int = DEPTH) -> Banded | None:
    """The diagonals of a matrix, if how it is made shows that they are few."""
    shape, made = shape_of(value), producer(value)
    if len(shape) != 2 or made is None or not depth or min(shape) < 2:
        return None
    reader = _READERS.get(made.name)
    found = None if reader is None else reader(value, made, depth)
    return found if found is not None and len(found.lines) <= BANDS else None


def _spread(number: np.ndarray, count: int) -> Line:
    return Line(lambda: ops.constant(number, number.dtype, (count,)), number)


def diagonal_line(matrix: ir.Value, offset: int) -> Line:
    """A diagonal of any matrix; a repeated vector is read in place of it."""
    rows, columns = shape_of(matrix)
    first, last = reached((rows, columns), offset)
    constant, made = ops.constant_value(matrix), producer(matrix)
    if constant is not None and constant.size and not any(constant.strides):
        return _spread(constant[0, 0], last - first)
    if made is not None and made.name == "stablehlo.broadcast_in_dim":
        inner, places = made.operands[0], made["broadcast_dimensions"]
        if not shape_of(inner):
            return Line(lambda: ops.broadcast_in_dim(inner, (last - first,), ()))
        if len(places) == 1 and shape_of(inner)[0] > 1:
            start = first if places[0] == 0 else first + offset
            return Line(lambda: ops.slice(inner, (start,), (start + last - first,)))
    start = first * columns + first + offset
    return Line(lambda: ops.slice(ops.reshape(matrix, (rows * columns,)), (start,),
                                  (start + (last - first - 1) * (columns + 1) + 1,), (columns + 1,)))


def _constant(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    content = ops.constant_value(value)
    if content is None or size(shape_of(value)) > CONSTANT_ELEMENTS and any(content.strides):
        return None
    if not any(content.strides):
        return None if content.flat[0] != 0 else Banded(content.shape, {}, True)
    if not np.isfinite(content).all():
        return None
    rows, columns = np.nonzero(content)
    offsets = sorted({int(k) for k in np.unique(columns - rows)}) if len(rows) <= BANDS * max(content.shape) else []
    if not 0 < len(offsets) <= BANDS:
        return None

    def line(k: int) -> Line:
        held = np.ascontiguousarray(np.diagonal(content, k))
        return _spread(held[0], len(held)) if (held == held[0]).all() else Line(lambda: ops.constant(held))
    return Banded(content.shape, {k: line(k) for k in offsets}, True)


def _select(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    shape = shape_of(value)
    low, high, inside = 1 - shape[0], shape[1] - 1, value
    select: Producer | None = made
    while select is not None and select.name == "stablehlo.select":         # triu(tril(x)) is masked twice
        kept = _kept(select, shape)
        if kept is None:
            break
        low, high, inside = max(low, kept[0].low), min(high, kept[0].high), kept[1]
        select = producer(inside)
    if inside is value or high - low >= BANDS:
        return None
    inner = bands_of(inside, depth - 1)
    if inner is not None:
        return Banded(inner.shape, {k: line for k, line in inner.lines.items() if low <= k <= high}, inner.constant,
                      inner.scaled)
    return Banded(shape, {k: diagonal_line(inside, k) for k in range(low, high + 1)})


def _kept(made: Producer, shape: Sequence[int]) -> tuple[Mask, ir.Value] | None:
    """Between which diagonals a select keeps a matrix, zeros standing elsewhere, and the matrix."""
    mask = mask_of(made.operands[0])
    if mask is None:
        return None
    for side, found in ((1, mask), (2, outside(mask, shape))):
        zero = ops.constant_value(made.operands[3 - side])
        if found is not None and zero is not None and zero.size and not any(zero.strides) and zero.flat[0] == 0:
            return found, made.operands[side]
    return None


def _convert(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    inner = made.operands[0]
    if dtype_of(inner).kind != "b":
        return None
    mask = mask_of(inner)
    if mask is None or mask.high - mask.low >= BANDS:
        return None
    shape, one = shape_of(value), np.ones((), dtype_of(value))
    return Banded(shape, {k: _spread(one, reached(shape, k)[1] - reached(shape, k)[0])
                          for k in range(mask.low, mask.high + 1)}, True)


def _pad(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    zero, low, high = ops.constant_value(made.operands[1]), made["edge_padding_low"], made["edge_padding_high"]
    if zero is None or zero != 0 or any(made["interior_padding"]) or min((*low, *high)) < 0:
        return None
    inner = bands_of(made.operands[0], depth - 1)
    if inner is None:
        return None
    shape, lines = shape_of(value), {}
    for k, line in inner.lines.items():
        offset = k + low[1] - low[0]
        first, last = reached(shape, offset)
        before, after = inner.rows(k)[0] + low[0] - first, last - (inner.rows(k)[1] + low[0])
        lines[offset] = _extended(line, before, after) if before or after else line
    return Banded(shape, lines, inner.constant, inner.scaled)


def _extended(line: Line, before: int, after: int) -> Line:
    return Line(lambda: ops.pad(line.build(), 0, (before,), (after,)))


def _sum(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    left = bands_of(made.operands[0], depth - 1)
    right = None if left is None else bands_of(made.operands[1], depth - 1)
    if left is None or right is None:
        return None
    combine = ops.add if made.name == "stablehlo.add" else ops.subtract
    lines = dict(left.lines)
    for k, line in right.lines.items():
        other = lines.get(k)
        alone = line if combine is ops.add else _negated(line)
        lines[k] = alone if other is None else _combined(combine, other, line)
    return Banded(left.shape, lines, left.constant and right.constant, left.scaled or right.scaled)


def _combined(combine: Callable[..., ir.Value], left: Line, right: Line) -> Line:
    return Line(lambda: combine(left.build(), right.build()))


def _negated(line: Line) -> Line:
    return Line(lambda: ops.negate(line.build()), None if line.number is None else -line.number)


def _negate(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    inner = bands_of(made.operands[0], depth - 1)
    return None if inner is None else Banded(
        inner.shape, {k: _negated(line) for k, line in inner.lines.items()}, inner.constant, inner.scaled)


def _scaled(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    """A banded matrix times, or over, one finite number: zeros stay zeros."""
    left, right = made.operands
    over = made.name == "stablehlo.divide"
    for matrix, other in ((left, right),) if over else ((left, right), (right, left)):
        number = ops.constant_value(other)
        if number is None or not number.size or any(number.strides) or not np.isfinite(number.flat[0]) \
                or over and (number.flat[0] == 0 or number.dtype.kind != "f"):
            continue
        inner = bands_of(matrix, depth - 1)
        return None if inner is None else Banded(
            inner.shape, {k: _times(line, number.flat[0], over) for k, line in inner.lines.items()},
            inner.constant, inner.scaled)
    if over:
        return None
    for matrix, other in ((left, right), (right, left)):
        spread = producer(other)
        if spread is None or spread.name != "stablehlo.broadcast_in_dim" or sum(
                n != 1 for n in shape_of(spread.operands[0])) > 1:
            continue
        inner = bands_of(matrix, depth - 1)
        if inner is not None:
            return Banded(inner.shape, {k: _combined(ops.multiply, line, diagonal_line(other, k))
                                        for k, line in inner.lines.items()}, False, True)
    return None


def _times(line: Line, number: np.generic, over: bool) -> Line:
    apply = ops.divide if over else ops.multiply
    known = None
    if line.number is not None and line.number.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            known = np.asarray(line.number / number if over else line.number * number, line.number.dtype)
    return Line(lambda: apply(v := line.build(), ops.splat(number, v)), known)


def _transpose(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    inner = bands_of(made.operands[0], depth - 1)
    # the diagonal k from its first element on is the diagonal -k of the transpose from its first element on
    return None if inner is None else Banded(inner.shape[::-1], {-k: line for k, line in inner.lines.items()},
                                             inner.constant, inner.scaled)


def _scatter(value: ir.Value, made: Producer, depth: int) -> Banded | None:
    """A vector written, or added, along a diagonal."""
    d, (matrix, indices, update) = made["scatter_dimension_numbers"], made.operands
    if tuple(d.inserted_window_dims) != (0, 1) or sorted(d.scatter_dims_to_operand_dims) != [0, 1] \
            or d.input_batching_dims or len(shape_of(indices)) != 2 or d.index_vector_dim != 1:
        return None
    places, body = known_content(indices), body_of(made.op)
    if places is None or body not in ("second", "add") or len(places) < 2:
        return None
    places = places[:, np.argsort(d.scatter_dims_to_operand_dims)].astype(np.int64)
    offset, start, shape = int(places[0, 1] - places[0, 0]), int(places[0, 0]), shape_of(value)
    first, last = reached(shape, offset)
    if not (np.diff(places, axis=0) == 1).all() or start < first or start + len(places) > last:
        return None
    inner = bands_of(matrix, depth - 1)
    if inner is None:
        return None
    before, after, old = start - first, last - start - len(places), inner.lines.get(offset)

    def line() -> ir.Value:
        if old is None:
            return ops.pad(update, 0, (before,), (after,)) if before or after else update
        if body == "add":
            return ops.add(old.build(), ops.pad(update, 0, (before,), (after,)) if before or after else update)
        return ops.dynamic_update_slice(old.build(), update, [ops.constant(before, np.int64)]) \
            if before or after else update
    return Banded(shape, inner.lines | {offset: Line(line)}, False, inner.scaled)


_READERS: dict[str, Callable[[ir.Value, Producer, int], Banded | None]] = {
    f"stablehlo.{name}": reader for name, reader in {
        "constant": _constant, "select": _select, "convert": _convert, "pad": _pad, "add": _sum, "subtract": _sum,
        "negate": _negate, "multiply": _scaled, "divide": _scaled, "transpose": _transpose, "scatter": _scatter,
    }.items()}


# ---- products ------------------------------------------------------------------------------------------------------

def _product(x: ir.Value, y: ir.Value, d: DotDimensions, dtype: np.dtype) -> tuple[Banded, ir.Value, bool] | None:
    """(the banded factor as it stands in front, the other one with its contracted dimension first, whether that comes
    second in the product), where reading the diagonals costs less than the product."""
    if d.batching_dims[0] or len(d.contracting_dims[0]) != 1 or not dtype_of(x) == dtype_of(y) == dtype:
        return None
    for side, (matrix, other) in enumerate(((x, y), (y, x))):
        made = producer(matrix)
        if made is None or made.name not in _READERS or len(shape_of(matrix)) != 2 \
                or len(shape_of(other)) not in (1, 2) or min(shape_of(matrix)) < LEAST:
            continue
        columns = size(shape_of(other)) // max(shape_of(other)[d.contracting_dims[1 - side][0]], 1)
        k = d.contracting_dims[side][0]
        least = LEAST_BY_MATRIX if columns > FEW_COLUMNS else 10 * columns / (columns + 4)
        if not columns or shape_of(matrix)[k] < 2 * least:      # not even where there is only one
            continue
        found = bands_of(matrix)
        if found is None or not found.lines or found.constant or found.scaled \
                or shape_of(matrix)[k] < least * (len(found.lines) + 1):
            continue
        if k == 0:
            found = Banded(found.shape[::-1], {-n: line for n, line in found.lines.items()})
        m = d.contracting_dims[1 - side][0]
        return found, ops.transpose(other, (1, 0)) if m == 1 else other, side == 0
    return None


def _shifted(values: ir.Value, matrix: Banded, offset: int, line: Line | None) -> ir.Value:
    """At each row that reaches a diagonal, what stands there times the row of the other factor that it meets."""
    first, last = matrix.rows(offset)
    rest = shape_of(values)[1:]
    part = ops.slice(values, (first + offset, *(0 for _ in rest)), (last + offset, *rest))
    if line is not None and not (line.number is not None and line.number == 1):
        part = ops.multiply(ops.broadcast_in_dim(line.build(), shape_of(part), (0,)), part)
    return ops.pad(part, 0, (first, *(0 for _ in rest)), (matrix.shape[0] - last, *(0 for _ in rest)))


def _total(values: ir.Value, matrix: Banded, weighted: bool = True) -> ir.Value:
    total = None
    for offset, line in sorted(matrix.lines.items()):
        if matrix.rows(offset)[0] < matrix.rows(offset)[1]:
            term = _shifted(values, matrix, offset, line if weighted else None)
            total = term if total is None else ops.add(total, term)
    assert total is not None
    return total


def diagonals(a: Any, *offsets: int, side: int = 16) -> ir.Value:
    """A matrix with run-time diagonals, for examples."""
    total = None
    for k in offsets:
        row = ops.iota((side, side), np.int32, 0)
        mask = ops.compare(ops.add(row, k) if k else row, ops.iota((side, side), np.int32, 1), "EQ")
        term = ops.select(mask, ops.broadcast_in_dim(a(side), (side, side), (0,)), ops.constant(0, a.dtype,
                                                                                             (side, side)))
        total = term if total is None else ops.add(total, term)
    return total


def _written(a: Any, side: int = 16) -> ir.Value:
    """A matrix with two diagonals written by scatters, for examples."""
    matrix = ops.constant(0, a.dtype, (side, side))
    for offset in (1, -1):
        k = np.arange(side - 1)
        places = np.stack([k, k + 1], 1) if offset == 1 else np.stack([k + 1, k], 1)
        matrix = ops.scatter(matrix, ops.constant(places), a(side - 1), "second", update_window_dims=[],
                             inserted_window_dims=[0, 1], scatter_dims_to_operand_dims=[0, 1], index_vector_dim=1)
    return matrix


_EXAMPLES = (
    lambda a: ops.dot_general(diagonals(a, -1, 0, 1), a(16), contracting_dims=((1,), (0,))),
    lambda a: ops.dot_general(diagonals(a, -1, 2), a(16, 1), contracting_dims=((0,), (0,))),
    lambda a: ops.dot_general(a(1, 16), diagonals(a, -1, 0), contracting_dims=((1,), (0,))),
    lambda a: ops.dot_general(_written(a), a(16), contracting_dims=((1,), (0,))),
    lambda a: ops.dot_general(ops.pad(diagonals(a, 0, side=20), 0, (1, 0), (0, 1)), a(21),
                              contracting_dims=((1,), (0,))))
_COUNTER = lambda a: ops.dot_general(a(16, 16), a(16), contracting_dims=((1,), (0,)))  # noqa: E731


@rewrite(dot(x, y), dtypes="real", changes="rounding", assumes="finite", example=_EXAMPLES, counter=_COUNTER,
         made_by=tuple(_READERS))
def product_with_bands(x, y, d, t, result_dtype):
    """a matrix of few diagonals, known at run time, @ y = shifted rows of y times the diagonals, for finite numbers"""
    found = _product(x, y, d, result_dtype)
    if found is None:
        return None
    matrix, values, first = found
    total = _total(values, matrix)
    return total if first or len(shape_of(total)) == 1 else ops.transpose(total, (1, 0))


@rewrite(dot(x, y), dtypes="real", changes="rounding", example=_EXAMPLES, counter=_COUNTER, made_by=tuple(_READERS))
def product_with_bands_checked(x, y, d, t, result_dtype):
    """a matrix of few diagonals, known at run time, @ y = shifted rows of y times the diagonals; NaN as the zeros would
    make it"""
    found = _product(x, y, d, result_dtype)
    if found is None:
        return None
    matrix, values, first = found
    total = _total(values, matrix)
    if is_float(result_dtype):
        bad = ops.convert(ops.not_(ops.is_finite(values)), np.int32)
        met = _total(bad, matrix, weighted=False)
        counted = ops.reduce(bad, ops.constant(0, np.int32), (0,), "add")
        total = poisoned(total, ops.broadcast_in_dim(counted, shape_of(total), range(1, len(shape_of(total)))), met)
    return total if first or len(shape_of(total)) == 1 else ops.transpose(total, (1, 0))


# ---- sums with structured matrices ---------------------------------------------------------------------------------

def _applied(value: ir.Value, values: ir.Value, k: int, depth: int = 4) -> Callable[[], ir.Value] | None:
    """How to multiply an outer product of two vectors, a multiple of one, or a banded matrix with `values`, over the
    dimension k of the matrix and the first of the other factor; None for any other matrix."""
    made = producer(value)
    if made is None or not depth:
        return None
    if made.name == "stablehlo.negate":
        inner = _applied(made.operands[0], values, k, depth - 1)
        return None if inner is None else _negated(Line(inner)).build
    matrix = bands_of(value)
    if matrix is not None and matrix.lines and not matrix.scaled:
        turned = matrix if k == 1 else Banded(matrix.shape[::-1], {-n: line for n, line in matrix.lines.items()})
        return lambda: _total(values, turned)
    if made.name != "stablehlo.multiply":
        return None
    for one, other in (made.operands, made.operands[::-1]):
        number = ops.constant_value(other)
        if number is not None and number.size and not any(number.strides):
            inner = _applied(one, values, k, depth - 1)
            return None if inner is None else _times(Line(inner), number.flat[0], False).build
    found = {}
    for factor in made.operands:
        spread = producer(factor)
        if spread is None or spread.name != "stablehlo.broadcast_in_dim" or len(shape_of(spread.operands[0])) != 1:
            return None
        found[spread["broadcast_dimensions"][0]] = spread.operands[0]
    if set(found) != {0, 1} or any(shape_of(v) != (shape_of(value)[n],) for n, v in found.items()):
        return None
    shape = (shape_of(value)[1 - k], *shape_of(values)[1:])

    def build() -> ir.Value:
        row = ops.dot_general(found[k], values, contracting_dims=((0,), (0,)))
        return ops.multiply(ops.broadcast_in_dim(found[1 - k], shape, (0,)),
                            ops.broadcast_in_dim(row, shape, range(1, len(shape))))
    return build


def _outer(a: Any, side: int = 16) -> ir.Value:
    return ops.multiply(*(ops.broadcast_in_dim(a(side), (side, side), (k,)) for k in (0, 1)))


@rewrite(dot(once(one_of(("stablehlo.add", "stablehlo.subtract"), x, z, template="o")), y), dtypes="float",
         changes="association", assumes="finite",
         example=(lambda a: ops.dot_general(ops.add(a(16, 16), _outer(a)), a(16), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.subtract(diagonals(a, 0), ops.multiply(_outer(a), 2)), a(16, 2),
                                            contracting_dims=((0,), (0,)))),
         counter=(lambda a: ops.dot_general(ops.add(a(16, 16), a(16, 16)), a(16), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.add(a(16, 16), _outer(a)), a(16, 9), contracting_dims=((1,), (0,)))))
def product_with_sum_of_structured(x, z, o, y, d, t, result_shape, result_dtype):
    """(a + u v') @ y = a @ y + u (v' @ y), (a + diag(w)) @ y = a @ y + w y, where y has few columns"""
    if d.batching_dims[0] or len(d.contracting_dims[0]) != 1 or len(shape_of(x)) != 2 or len(shape_of(y)) > 2 \
            or not dtype_of(x) == dtype_of(y) == result_dtype:
        return None
    k, m = d.contracting_dims[0][0], d.contracting_dims[1][0]
    side, columns = min(shape_of(x)), size(shape_of(y)) // max(shape_of(y)[m], 1)
    if side < LEAST or 4 * columns > side or m:
        return None
    parts = [_applied(v, y, k) for v in (x, z)]
    if parts == [None, None]:
        return None
    return o.build([t.build((v, y), result_shape) if part is None else part()
                    for v, part in zip((x, z), parts, strict=True)], result_shape)
