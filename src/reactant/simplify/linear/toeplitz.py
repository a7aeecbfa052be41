"""Matrices of which an element depends on j - i (Toeplitz, circulant) or on i + j (Hankel) alone.

They are read from how they are made: elements of a vector at places that are computed from j - i or i + j
(`c[i - j]`, `c[abs(i - j)]`, `c[(i - j) % n]`), or windows of a vector cut out by a convolution with an identity, as
`jax.scipy.linalg.toeplitz` writes them. A product is a convolution with that vector: n^2 operations that read n
elements. By Fourier transforms it takes n log(n), and so does a circulant system and its determinant.

Transforms are accurate to a rounding error of the largest element, where a product is to one of each: they change
"association" and are off by default. A singular circulant matrix gives infinities or NaN, as LU does.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import convolution, ops
from reactant.ir.attributes import DotDimensions
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import Producer, Site, producer, rewrite, variables
from reactant.simplify.algebra.cleanup import EXACT_BINARY, EXACT_UNARY
from reactant.simplify.facts.contents import apply
from reactant.simplify.linear.block_systems import system
from reactant.simplify.linear.contraction import dot
from reactant.simplify.linear.factorizations import determinant, determinant_only, factored, is_lu, solution
from reactant.simplify.linear.solving import side_of, solve
from reactant.simplify.linear.structured import identity_mask, is_identity_mask
from reactant.simplify.selection.gathering import take
from reactant.simplify.selection.indexing import KNOWN_ELEMENTS, progression

x, y, d, a, b = variables("x y d a b")
LEAST = 128
"""Smallest side of a matrix whose products go by transforms."""
DEPTH = 14


class Sliding(NamedTuple):
    """A matrix [n, m] whose element at [i, j] is `line()[j - i + n - 1]`, or `line()[i + j]` for a Hankel matrix."""
    shape: tuple[int, int]
    line: Callable[[], ir.Value]
    hankel: bool = False
    periodic: bool = False
    """Whether a square Toeplitz matrix is known to be circulant."""
    spread: int | None = None
    """Along which dimension a number that is not finite makes NaN of all others: a convolution cuts windows out so."""


# ---- places that depend on j - i or on i + j -----------------------------------------------------------------------

class _Places(NamedTuple):
    """Integers at [i, j]: numbers[i sign + j + start], or still row i + column j + offset where `numbers` is None."""
    row: int
    column: int
    offset: int
    numbers: np.ndarray | None = None


def places_of(value: ir.Value, shape: tuple[int, int]) -> tuple[np.ndarray, bool] | None:
    """(numbers, whether they depend on i + j): the integers of a matrix by j - i + n - 1, or by i + j."""
    for hankel in (False, True):
        found = _read(value, shape, hankel, DEPTH, {})
        numbers = None if found is None else _along(found, shape, hankel)
        if numbers is not None:
            return numbers, hankel
    return None


def _along(found: _Places, shape: tuple[int, int], hankel: bool) -> np.ndarray | None:
    """The numbers along the diagonals, where they depend on nothing else."""
    if found.numbers is not None:
        return found.numbers
    if found.row != (found.column if hankel else -found.column):
        return None
    n, m = shape
    return found.column * (np.arange(n + m - 1) - (0 if hankel else n - 1)) + found.offset


def _read(value: ir.Value, shape: tuple[int, int], hankel: bool, depth: int,
          seen: dict[ir.Value, _Places | None]) -> _Places | None:
    if value not in seen:
        seen[value] = _made(value, shape, hankel, depth, seen)
    return seen[value]


def _made(value: ir.Value, shape: tuple[int, int], hankel: bool, depth: int,
          seen: dict[ir.Value, _Places | None]) -> _Places | None:
    made = producer(value)
    if made is None or not depth or dtype_of(value).kind not in "iub":
        return None
    word = made.name.removeprefix("stablehlo.")
    if word == "iota":
        return _counter(made, shape_of(value), shape)
    if word == "constant":
        return _known(ops.constant_value(value), shape, hankel)
    if word in ("reshape", "broadcast_in_dim"):
        return _spread(made, shape, hankel, depth, seen)
    if word == "convert" and dtype_of(made.operands[0]).kind in "iu":
        return _fitting(_read(made.operands[0], shape, hankel, depth - 1, seen), shape, hankel, dtype_of(value))
    operands = [_read(v, shape, hankel, depth - 1, seen) for v in made.operands]
    if any(each is None for each in operands):
        return None
    if word in ("add", "subtract") and all(each.numbers is None for each in operands):
        sign = 1 if word == "add" else -1
        left, right = operands
        return _fitting(_Places(left.row + sign * right.row, left.column + sign * right.column,
                                left.offset + sign * right.offset), shape, hankel, dtype_of(value))
    lines = [_along(each, shape, hankel) for each in operands]
    function = _function(made, word)
    if function is None or any(line is None for line in lines):
        return None
    dtypes = [dtype_of(v) for v in made.operands]
    numbers = apply(function, *(line.astype(t) for line, t in zip(lines, dtypes, strict=True)))
    return _Places(0, 0, 0, np.asarray(numbers).astype(dtype_of(value)).astype(np.int64))


def _known(content: np.ndarray | None, shape: tuple[int, int], hankel: bool) -> _Places | None:
    """Constant places: one number, or what is the same along every diagonal."""
    if content is None or not content.size:
        return None
    if not any(content.strides):
        return _Places(0, 0, int(content.flat[0]))
    if [n for n in content.shape if n != 1] != list(shape) or content.size > KNOWN_ELEMENTS:
        return None
    content = content.reshape(shape)
    turned = content if hankel else content[::-1]           # from the corner with the first number on
    line = np.concatenate([turned[:, 0], turned[-1, 1:]]).astype(np.int64)
    same = np.array_equal(np.lib.stride_tricks.sliding_window_view(line, shape[1]), turned)
    return _Places(0, 0, 0, line) if same else None


def _function(made: Producer, word: str) -> Callable[..., np.ndarray] | None:
    if word == "compare":
        return ops.COMPARISONS[made["comparison_direction"]]
    if word == "select":
        return np.where
    if word == "clamp":
        return lambda low, x, high: np.minimum(np.maximum(x, low), high)
    return EXACT_BINARY.get(word) or EXACT_UNARY.get(word)


def _counter(made: Producer, extents: Sequence[int], shape: tuple[int, int]) -> _Places | None:
    """iota over a matrix; dimensions of extent 1 do not count."""
    wide = [k for k, n in enumerate(extents) if n != 1]
    if [extents[k] for k in wide] != list(shape):
        return None
    along = made["iota_dimension"]
    return _Places(int(along == wide[0]), int(along == wide[1]), 0)


def _spread(made: Producer, shape: tuple[int, int], hankel: bool, depth: int,
            seen: dict[ir.Value, _Places | None]) -> _Places | None:
    """Through reshapes that add or drop dimensions of extent 1, and broadcasts of a counting vector."""
    inner = made.operands[0]
    here, there = ([n for n in shape_of(v) if n != 1] for v in (made.results[0], inner))
    if made.name == "stablehlo.reshape" or here == there == list(shape):
        return _read(inner, shape, hankel, depth - 1, seen) if here == there else None
    if not there:
        number = ops.constant_value(inner)
        return None if number is None else _Places(0, 0, int(number.flat[0]))
    vector = producer(inner)
    while vector is not None and vector.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim") \
            and [n for n in shape_of(vector.operands[0]) if n != 1] == there:
        vector = producer(vector.operands[0])
    if here != list(shape) or len(there) != 1 or vector is None:
        return None
    counted: tuple[int, int] | None = (0, 1) if vector.name == "stablehlo.iota" else None
    if vector.name == "stablehlo.constant":
        counted = progression(ops.constant_value(vector.results[0]))
    if counted is None:
        return None
    extents, place = shape_of(inner), made["broadcast_dimensions"]
    at = place[next(k for k, n in enumerate(extents) if n != 1)]
    wide = [k for k, n in enumerate(shape_of(made.results[0])) if n != 1]
    return _Places(counted[1] * (at == wide[0]), counted[1] * (at == wide[1]), counted[0])


def _fitting(found: _Places | None, shape: tuple[int, int], hankel: bool, dtype: np.dtype) -> _Places | None:
    """Places that no integer type on the way has wrapped around."""
    if found is None:
        return None
    limits = np.iinfo(dtype)
    ends = found.numbers if found.numbers is not None else [
        found.row * i + found.column * j + found.offset for i in (0, shape[0] - 1) for j in (0, shape[1] - 1)]
    return found if limits.min <= min(ends) and max(ends) <= limits.max else None


# ---- what slides ---------------------------------------------------------------------------------------------------

def sliding_of(value: ir.Value, depth: int = 6) -> Sliding | None:
    """How a matrix of floats is made of a vector, if it is a Toeplitz or Hankel matrix."""
    made, shape = producer(value), shape_of(value)
    if made is None or not depth or len(shape) != 2 or min(shape) < 2 or dtype_of(value).kind != "f":
        return None
    if made.name == "stablehlo.gather":
        return _gathered(made, (shape[0], shape[1]))
    if made.name == "stablehlo.transpose":
        inner = sliding_of(made.operands[0], depth - 1)
        return None if inner is None else transposed(inner)
    if made.name == "stablehlo.reverse" and len(made["dimensions"]) == 1:
        inner = sliding_of(made.operands[0], depth - 1)
        if inner is None:
            return None
        # [n - 1 - i + j] counts diagonals as a Toeplitz matrix does; [i + m - 1 - j] does the other way round
        line = inner.line if made["dimensions"][0] == 0 else lambda: ops.reverse(inner.line(), (0,))
        return inner._replace(line=line, hankel=not inner.hankel, periodic=False)
    if made.name == "stablehlo.reshape":
        below = producer(made.operands[0])
        if below is not None and below.name == "stablehlo.reverse":
            return _turned(below, shape)
        return None if below is None or below.name != "stablehlo.convolution" else _windows(below, shape)
    return None


def transposed(found: Sliding) -> Sliding:
    """The transpose of a matrix that slides."""
    spread = None if found.spread is None else 1 - found.spread
    if found.hankel:
        return found._replace(shape=found.shape[::-1], spread=spread)
    return found._replace(shape=found.shape[::-1], line=lambda: ops.reverse(found.line(), (0,)), spread=spread)


def _turned(made: Producer, shape: Sequence[int]) -> Sliding | None:
    """reshape(reverse(windows)), where the reshape drops dimensions of extent 1."""
    inner = producer(made.operands[0])
    extents = shape_of(made.operands[0])
    wide = [k for k, n in enumerate(extents) if n != 1]
    if inner is None or inner.name != "stablehlo.convolution" or [extents[k] for k in wide] != list(shape) \
            or len(made["dimensions"]) != 1 or made["dimensions"][0] not in wide:
        return None
    found = _windows(inner, shape)
    if found is None:
        return None
    line = found.line if made["dimensions"][0] == wide[0] else lambda: ops.reverse(found.line(), (0,))
    return found._replace(line=line, hankel=False)


def _gathered(made: Producer, shape: tuple[int, int]) -> Sliding | None:
    """v[places], where the places of a matrix depend on j - i or on i + j."""
    vector, indices = made.operands
    d = made["dimension_numbers"]
    if len(shape_of(vector)) != 1 or tuple(d.collapsed_slice_dims) != (0,) or tuple(d.start_index_map) != (0,) \
            or d.operand_batching_dims or [n for n in shape_of(indices) if n != 1] != list(shape):
        return None
    found = places_of(indices, shape)
    if found is None:
        return None
    numbers, hankel = np.clip(found[0], 0, shape_of(vector)[0] - 1), found[1]
    n = shape[0]
    periodic = not hankel and shape[0] == shape[1] and np.array_equal(numbers[:n - 1], numbers[n:])
    return Sliding(shape, lambda: _taken(vector, numbers), hankel, periodic)


def _taken(vector: ir.Value, numbers: np.ndarray) -> ir.Value:
    """Elements of a vector at known places: runs of them are slices."""
    parts: list[ir.Value] = []
    at = 0
    while at < len(numbers):
        step = int(numbers[at + 1] - numbers[at]) if at + 1 < len(numbers) else 1
        end = at + 1
        while step in (1, -1) and end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        if len(parts) == 8:
            return ops.reshape(take(vector, ops.constant(numbers.reshape(-1, 1)), 0), (len(numbers),))
        first, last = sorted((int(numbers[at]), int(numbers[end - 1])))
        part = ops.slice(vector, (first,), (last + 1,))
        parts.append(ops.reverse(part, (0,)) if step == -1 and end - at > 1 else part)
        at = end
    return ops.concatenate(parts, 0)


def _windows(made: Producer, shape: Sequence[int]) -> Sliding | None:
    """Windows of a vector, cut out by a convolution with an identity: [s, k] = v[s + k]."""
    signal, kernel = made.operands
    n = convolution.of(made.op)
    if len(n.strides) != 1 or n != convolution.Convolution(n.x, n.kernel, n.out, (1,), ((0, 0),), (1,), (1,), (False,)):
        return None
    order = (n.kernel.first, n.kernel.second, *n.kernel.spatial)
    features, inputs, count = (shape_of(kernel)[k] for k in order)
    extents = shape_of(made.results[0])
    if inputs != 1 or features != count or size(shape_of(signal)) != shape_of(signal)[n.x.spatial[0]] \
            or n.out.spatial[0] > n.out.second or [extents[k] for k in (n.out.spatial[0], n.out.second)] != list(shape):
        return None
    if not _is_identity(kernel):
        return None
    return Sliding((shape[0], shape[1]), lambda: ops.reshape(signal, (size(shape_of(signal)),)), True, spread=1)


def _is_identity(kernel: ir.Value) -> bool:
    """Whether a kernel is one where its feature is its place, else zero."""
    made = producer(kernel)
    while made is not None and made.name in ("stablehlo.convert", "stablehlo.reshape"):
        kernel = made.operands[0]
        made = producer(kernel)
    if made is not None and made.name == "stablehlo.compare":
        return is_identity_mask(kernel)
    content = ops.constant_value(kernel) if made is not None else None
    if content is None or content.size > 1 << 20:
        return False
    wide = [n for n in content.shape if n != 1]
    return len(wide) == 2 and np.array_equal(content.reshape(wide), np.eye(wide[0]))


def convolved(found: Sliding, values: ir.Value) -> ir.Value:
    """matrix @ values for rows [m] or columns [m, k], by a convolution."""
    if not found.hankel:
        return ops.reverse(convolved(found._replace(hankel=True), values), (0,))
    n, m = found.shape
    columns = size(shape_of(values)) // m
    signal = ops.reshape(found.line(), (1, 1, n + m - 1))
    kernel = ops.reshape(ops.transpose(ops.reshape(values, (m, columns)), (1, 0)), (columns, 1, m))
    made = correlation(signal, kernel)                                                          # [1, columns, n]
    return ops.reshape(ops.transpose(ops.reshape(made, (columns, n)), (1, 0)), (n, *shape_of(values)[1:]))


def correlation(signal: ir.Value, kernel: ir.Value) -> ir.Value:
    """[batch, features, place] = sum over k of signal[batch, 1, place + k] kernel[features, 1, k]."""
    layout = convolution.Layout(0, 1, (2,))
    return convolution.build(signal, kernel, convolution.Convolution(layout, layout, layout, (1,), ((0, 0),), (1,),
                                                                     (1,), (False,)))


# ---- products ------------------------------------------------------------------------------------------------------

_MADE = tuple(f"stablehlo.{name}" for name in ("gather", "transpose", "reverse", "reshape"))
"""What makes a matrix that slides."""


def _rough(n: int) -> int:
    """The least even number from n on of which no prime factor is above 5: lengths that transforms like."""
    best = 1 << (n - 1).bit_length()
    for fives in range(4):
        for threes in range(4):
            unit = 2 * 3 ** threes * 5 ** fives
            best = min(best, unit << max(-(-n // unit) - 1, 0).bit_length())
    return best


def _column(found: Sliding, length: int) -> ir.Value:
    """The first column of the circulant matrix of a length in which a Toeplitz matrix is the upper left corner."""
    n, m = found.shape
    line = found.line()
    below = ops.reverse(ops.slice(line, (0,), (n,)), (0,))
    if found.periodic and length == n:
        return below
    above = ops.reverse(ops.slice(line, (n,), (n + m - 1,)), (0,))
    gap = length - n - m + 1
    return ops.concatenate([ops.pad(below, 0, (0,), (gap,)) if gap else below, above], 0)


def _transformed(found: Sliding, values: ir.Value) -> ir.Value:
    """matrix @ values for rows [m] or columns [m, k], by transforms."""
    if found.hankel:        # its rows in reverse are a Toeplitz matrix with the same line
        return ops.reverse(_transformed(found._replace(hankel=False), values), (0,))
    n, m = found.shape
    length = n if found.periodic else _rough(n + m - 1)
    rows = ops.transpose(values, (1, 0)) if len(shape_of(values)) == 2 else ops.reshape(values, (1, m))
    spectrum = ops.fft(_column(found, length), "RFFT", (length,))
    if length > m:
        rows = ops.pad(rows, 0, (0, 0), (0, length - m))
    other = ops.fft(rows, "RFFT", (length,))
    product = ops.multiply(ops.broadcast_in_dim(spectrum, shape_of(other), (1,)), other)
    made = ops.fft(product, "IRFFT", (length,))
    made = ops.slice(made, (0, 0), (shape_of(rows)[0], n))
    return ops.transpose(made, (1, 0)) if len(shape_of(values)) == 2 else ops.reshape(made, (n,))


def factors(x: ir.Value, y: ir.Value, d: DotDimensions,
            dtype: np.dtype) -> tuple[Sliding, Callable[[], ir.Value], bool] | None:
    """(the matrix that slides as it stands in front, what makes the other factor with its contracted dimension first,
    whether that is the second) of a product of a matrix and a matrix or vector."""
    if d.batching_dims[0] or len(d.contracting_dims[0]) != 1 or not dtype_of(x) == dtype_of(y) == dtype:
        return None
    for side, (matrix, other) in enumerate(((x, y), (y, x))):
        found = sliding_of(matrix) if len(shape_of(other)) in (1, 2) else None
        if found is None or size(shape_of(other)) == 0:
            continue
        k, m = d.contracting_dims[side][0], d.contracting_dims[1 - side][0]
        return (found if k == 1 else transposed(found)), partial(_turned_first, other, m), side == 0
    return None


def _turned_first(other: ir.Value, k: int) -> ir.Value:
    """A matrix or vector whose dimension k comes first."""
    return other if k == 0 else ops.transpose(other, (1, 0))


def _circulant(a: Any, n: int = LEAST) -> ir.Value:
    """c[(i - j) % n], for examples; circulant and well-conditioned."""
    i, j = (ops.iota((n, n), np.int32, k) for k in (0, 1))
    places = ops.subtract(i, j)
    places = ops.select(ops.compare(places, 0, "LT"), ops.add(places, n), places)
    vector = ops.add(ops.tanh(a(n)), ops.select(ops.compare(ops.iota((n,), np.int32, 0), 0, "EQ"), ops.constant(
        2 * n, a.dtype, (n,)), 0))
    return taken_grid(vector, places)


def taken_grid(vector: ir.Value, places: ir.Value) -> ir.Value:
    """vector[places] for a matrix of places."""
    return ops.gather(vector, ops.reshape(places, (*shape_of(places), 1)), offset_dims=[], collapsed_slice_dims=[0],
                      start_index_map=[0], index_vector_dim=2, slice_sizes=[1])


def toeplitz(a: Any, n: int = LEAST, m: int = LEAST, hankel: bool = False) -> ir.Value:
    i, j = (ops.iota((n, m), np.int32, k) for k in (0, 1))
    places = ops.add(i, j) if hankel else ops.add(ops.subtract(i, j), m - 1)
    return taken_grid(a(n + m - 1), places)


def _symmetric(a: Any, n: int = LEAST) -> ir.Value:
    i, j = (ops.iota((n, n), np.int32, k) for k in (0, 1))
    return taken_grid(a(n), ops.abs(ops.subtract(i, j)))


def _dot(matrix: ir.Value, other: ir.Value, k: int = 1, m: int = 0) -> ir.Value:
    return ops.dot_general(matrix, other, contracting_dims=((k,), (m,)))


@rewrite(dot(x, y), dtypes="float", changes="association", assumes="finite", made_by=_MADE,
         example=(lambda a: _dot(toeplitz(_Doubles(a), 130), side_of(a, 128)),
                  lambda a: _dot(_circulant(_Doubles(a)), side_of(a, 128)),
                  lambda a: _dot(toeplitz(_Doubles(a), 150, 128, True), side_of(a, 128, 2)),
                  lambda a: _dot(side_of(a, 2, 128), _symmetric(_Doubles(a))),
                  lambda a: _dot(toeplitz(_Doubles(a), 130), side_of(a, 3, 130), 0, 1)),
         counter=(lambda a: _dot(toeplitz(a, 16, 16), a(16)), lambda a: _dot(toeplitz(a, 16, 16), a(3, 16), 1, 1),
                  lambda a: _dot(a(128, 128), a(128))))
def product_with_toeplitz(x, y, d, t, result_dtype):
    """a Toeplitz, circulant or Hankel matrix @ y = the convolution of its elements with y, by Fourier transforms"""
    if result_dtype.itemsize not in (4, 8) or min(shape_of(x)[:1] + shape_of(y)[:1] or (0,)) == 0:
        return None
    found = factors(x, y, d, result_dtype)
    if found is None or min(found[0].shape) < LEAST:
        return None
    matrix, values, first = found
    made = _transformed(matrix, values())
    return made if first or len(shape_of(made)) == 1 else ops.transpose(made, (1, 0))


@rewrite(dot(x, y), dtypes="float", changes="rounding", made_by=_MADE,
         example=(lambda a: _dot(ops.reshape(ops.reverse(_cut(a), (1,)), (8, 8)), a(8)),
                  lambda a: _dot(ops.reshape(_cut(a), (8, 8)), a(3, 8), 1, 1)),
         counter=(lambda a: _dot(toeplitz(a), a(128)), lambda a: _dot(ops.reshape(_cut(a), (8, 8)), a(8), 0),
                  lambda a: _dot(toeplitz(a, 16, 16), a(3, 16), 1, 1)))
def product_with_cut_windows(x, y, d, t, result_shape, result_dtype):
    """(windows of v, cut out by a convolution with an identity) @ y = convolution(v, y), NaN where a window has some"""
    found = factors(x, y, d, result_dtype)
    if found is None or found[0].spread != 1:
        return None
    matrix, values, first = found
    made = convolved(matrix, values())
    windows = ops.reduce_window(ops.is_finite(matrix.line()), ops.constant(True), "and", (matrix.shape[1],))
    sound = windows if matrix.hankel else ops.reverse(windows, (0,))
    made = ops.select(ops.broadcast_in_dim(sound, shape_of(made), (0,)), made, ops.splat(np.nan, made))
    return made if first or len(shape_of(made)) == 1 else ops.transpose(made, (1, 0))


def _cut(a: Any, n: int = 8) -> ir.Value:
    """Windows of a vector as `jax.scipy.linalg.toeplitz` cuts them out, for examples: [1, feature, place]."""
    signal, one = (convolution.Layout(0, 2, (1,)), convolution.Layout(1, 0, (2,)))
    numbers = convolution.Convolution(signal, one, signal, (1,), ((0, 0),), (1,), (1,), (False,))
    kernel = ops.reshape(ops.convert(identity_mask(n), a.dtype), (1, n, n))
    return convolution.build(ops.reshape(a(2 * n - 1), (1, 2 * n - 1, 1)), kernel, numbers)


# ---- circulant systems ---------------------------------------------------------------------------------------------

@rewrite(solve(), dtypes="float", changes="association", assumes="finite",
         example=lambda a: system(_circulant(_Doubles(a), 8), side_of(a, 8, 2)),
         counter=lambda a: system(ops.add(side_of(a, 8, 8), side_of(a, 8, 8)), side_of(a, 8, 2)))
def solve_with_circulant(a, b, t, result):
    """solve(circulant(c), b) = ifft(fft(b) / fft(c))"""
    found = solution(result)
    matrix = None if found is None else sliding_of(found.m)
    if found is None or matrix is None or not matrix.periodic:
        return None
    n = matrix.shape[0]
    spectrum = ops.fft(_column(matrix, n), "RFFT", (n,))
    other = ops.fft(ops.transpose(found.b, (1, 0)), "RFFT", (n,))
    quotient = ops.divide(other, ops.broadcast_in_dim(spectrum, shape_of(other), (1,)))
    return ops.transpose(ops.fft(quotient, "IRFFT", (n,)), (1, 0))


@rewrite("stablehlo.custom_call", changes="association", assumes="finite",
         example=(lambda a: determinant(_circulant(_Doubles(a), 8)),
                  lambda a: determinant(_circulant(_Doubles(a), 7))),
         counter=(lambda a: factored(_circulant(_Doubles(a), 8)), lambda a: determinant(_symmetric(_Doubles(a), 8))))
def determinant_of_circulant(site: Site):
    """det(circulant(c)) = the product of fft(c), of which two by two are each other's conjugates"""
    matrix = sliding_of(site.operands[0]) if is_lu(site.op) else None
    if matrix is None or not matrix.periodic or not determinant_only(site.op):
        return None
    n, whole = matrix.shape[0], shape_of(site.operands[0])
    spectrum = ops.fft(_column(matrix, n), "RFFT", (n,))
    sizes = ops.abs(spectrum)
    alone = [0] if n % 2 else [0, n // 2]           # these are real, and may be negative
    ends = [ops.real(ops.slice(spectrum, (k,), (k + 1,))) for k in alone]
    middle = ops.slice(sizes, (1,), ((n + 1) // 2,))
    diagonal = ops.concatenate([*ends, middle, middle] if n > 2 else ends, 0)
    places, info = site.results[1:]
    return [ops.broadcast_in_dim(diagonal, whole, (0,)), ops.add(ops.iota(shape_of(places), dtype_of(places), 0), 1),
            ops.splat(0, info)]


class _Doubles:
    """Arguments in float64, for examples."""
    dtype = np.dtype(np.float64)

    def __init__(self, a: Any):
        self.a = a

    def __call__(self, *shape: int) -> ir.Value:
        return self.a(*shape, dtype="float64")
