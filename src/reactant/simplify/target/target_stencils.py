"""The last stage, where matrix units do convolutions: weighted sums of shifted slices.

    2 x[1:-1] - x[:-2] - x[2:]  =  convolution(x, [-1, 2, -1])

What is recognised is a *combination*: slices of one array, of one shape, each times a number. Convolutions of
convolutions are one with a longer kernel, those with equal weights in a full box are windowed sums, and combinations
laid side by side along the dimension that they mix are a product with a small matrix.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import convolution, ops
from reactant.ir.convolution import Convolution, Layout
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import Site, consumers, match, producer, rest, rewrite, users, variables
from reactant.rewrite.site import Producer
from reactant.simplify.facts.indexmaps import inverse, replaced, unit_mapping
from reactant.simplify.facts.target_costs import Costs, costs

x, y, d = variables("x y d")
LARGEST_KERNEL = 81
"""Elements of a kernel that is made; one with more holes than taps is made only up to three times its taps."""
MOST_SPATIAL = 3
LINEAR = ("stablehlo.add", "stablehlo.subtract", "stablehlo.negate", "stablehlo.multiply")
LONGEST = 128
"""Most ops of a combination."""

Taps = dict[tuple[int, ...], float]
"""Where a slice starts, and what it is multiplied by."""


def _number(value: ir.Value) -> float | None:
    """What all elements of a constant are."""
    known = ops.constant_value(value)
    if known is None or not known.size or any(known.strides) and known.size > 1:
        return None
    return float(known[(0,) * known.ndim])


class Combination:
    """A value as numbers times slices of one array and one shape, `window` (dimensions of extent 1 may have come and
    gone): `taps`, or None."""

    def __init__(self, root: ir.Value):
        self.source: ir.Value | None = None
        self.window: tuple[int, ...] = ()
        self.left = LONGEST
        self.taps = self._of(root, True)

    def _of(self, value: ir.Value, top: bool = False) -> Taps | None:
        made = producer(value)
        self.left -= 1
        if made is None or self.left < 0:
            return None
        if made.name == "stablehlo.slice":
            return self._slice(made)
        if made.name == "stablehlo.reshape" and unit_mapping(shape_of(made.operands[0]), shape_of(value)) is not None:
            return self._of(made.operands[0])
        if made.name not in LINEAR or not top and users(value) != 1:
            return None
        if made.name == "stablehlo.multiply":
            for term, factor in (made.operands, made.operands[::-1]):
                number = _number(factor)
                if number is not None and np.isfinite(number):
                    return _scaled(self._of(term), number)
            return None
        if made.name == "stablehlo.negate":
            return _scaled(self._of(made.operands[0]), -1.0)
        left, right = map(self._of, made.operands)
        if left is None or right is None:
            return None
        sign = 1.0 if made.name == "stablehlo.add" else -1.0
        return {start: left.get(start, 0.0) + sign * right.get(start, 0.0) for start in {**left, **right}}

    def _slice(self, made: Producer) -> Taps | None:
        source, window = made.operands[0], shape_of(made.results[0])
        if self.source is None:
            self.source, self.window = source, window
        if source != self.source or window != self.window or any(s != 1 for s in made["strides"]):
            return None
        return {made["start_indices"]: 1.0}


def _scaled(taps: Taps | None, factor: float) -> Taps | None:
    return None if taps is None else {start: factor * number for start, number in taps.items()}


def _goes_on(value: ir.Value) -> bool:
    """Whether a sum further on combines a value: then that one is looked at."""
    for _ in range(LONGEST):
        readers = consumers(value)
        if len(readers) != 1 or readers[0].name not in LINEAR:
            return False
        if readers[0].name in ("stablehlo.add", "stablehlo.subtract"):
            return Combination(readers[0].results[0]).taps is not None
        if readers[0].name == "stablehlo.multiply" and all(_number(v) is None for v in readers[0].operands):
            return False
        value = readers[0].results[0]
    return False


def _kernel(taps: Taps, dtype: np.dtype) -> tuple[np.ndarray, list[int], tuple[int, ...]]:
    """The kernel of a combination, the dimensions it moves along, and where its first tap is."""
    low = tuple(min(start[k] for start in taps) for k in range(len(next(iter(taps)))))
    reach = [max(start[k] for start in taps) - low[k] + 1 for k in range(len(low))]
    along = [k for k, n in enumerate(reach) if n > 1]
    kernel = np.zeros([reach[k] for k in along], dtype)
    for start, number in taps.items():
        kernel[tuple(start[k] - low[k] for k in along)] = number
    return kernel, along, low


def _shifted(a, *terms, shape=(72, 72), window=(70, 70)):
    """number * slice of one array at a start, added up, for examples."""
    array, total = a(*shape), None
    for number, *start in terms:
        part = ops.slice(array, start, [k + n for k, n in zip(start, window, strict=True)])
        part = part if number == 1 else ops.multiply(part, number)
        total = part if total is None else ops.add(total, part)
    return total


_LAPLACE = ((-4, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2))



def _convolved(source: ir.Value, kernel: np.ndarray, along: Sequence[int], low: Sequence[int],
               result: Sequence[int]) -> ir.Value:
    """The convolution of one channel; dimensions that the kernel does not move along are a batch."""
    extents = [result[k] + (kernel.shape[along.index(k)] - 1 if k in along else 0) for k in range(len(result))]
    part = ops.slice(source, low, [a + n for a, n in zip(low, extents, strict=True)])
    others = [k for k in range(len(result)) if k not in along]
    order = [*others, *along]
    spatial = tuple(range(2, 2 + len(along)))
    layout, ones = Layout(0, 1, spatial), (1,) * len(along)
    numbers = Convolution(layout, layout, layout, ones, ((0, 0),) * len(along), ones, ones, (False,) * len(along))
    image = ops.reshape(ops.transpose(part, order), (prod(extents[k] for k in others), 1, *(extents[k] for k in along)))
    found = convolution.build(image, ops.constant(kernel[None, None]), numbers)
    return ops.transpose(ops.reshape(found, [result[k] for k in order]), inverse(order))


def _table() -> Costs | None:
    table = costs()
    return table if table is not None and table.stencil_as_convolution else None


LOOSE: dict[str, Any] = {"changes": "association", "assumes": "finite", "dtypes": "float"}
"""A kernel with holes reads there, too (times 0), and a convolution adds up in an order of its own."""


@rewrite("stablehlo.add", **LOOSE,
         example=(lambda a: _shifted(a, *_LAPLACE),
                  lambda a: _shifted(a, (2, 0), (-1, 1), (0.5, 3), shape=(5000,), window=(4997,)),
                  lambda a: _shifted(a, (2, 0, 0, 1), (-1, 0, 1, 1), (-1, 0, 2, 1), shape=(5, 52, 30),
                                     window=(5, 50, 29)),
                  lambda a: _shifted(a, *((3, i, j) for i in range(2) for j in range(2)))),
         counter=(lambda a: _shifted(a, *_LAPLACE[:2]),
                  lambda a: _shifted(a, *_LAPLACE, shape=(9, 9), window=(7, 7)),
                  lambda a: _shifted(a, (1, 0), (2, 40), (1, 80), shape=(5000,), window=(4900,)),
                  lambda a: ops.add(a(72, 72), a(72, 72))))
def sum_of_slices_is_convolution(site: Site):
    """a x[i:] + b x[j:] + ... = convolution(x, the numbers at their places); a windowed sum for equal numbers"""
    return _stencil(site)


@rewrite("stablehlo.subtract", **LOOSE,
         example=lambda a: ops.subtract(ops.add(ops.slice(v := a(5000), (0,), (4998,)), ops.slice(v, (2,), (5000,))),
                                        ops.multiply(ops.slice(v, (1,), (4999,)), 2)),
         counter=lambda a: ops.subtract(a(5000), a(5000)))
def difference_of_slices_is_convolution(site: Site):
    """a x[i:] + b x[j:] - c x[k:] = convolution(x, the numbers at their places)"""
    return _stencil(site)


def _stencil(site: Site) -> list[ir.Value] | None:
    table, value = _table(), site.results[0]
    shape, dtype = shape_of(value), dtype_of(value)
    if table is None or dtype.kind != "f" or size(shape) < table.least_elements or _goes_on(value):
        return None
    found = Combination(value)
    if found.taps is None or found.source is None or found.window != shape \
            or len(found.taps) < table.stencil_as_convolution:
        return None
    kernel, along, low = _kernel(found.taps, dtype)
    if not 1 <= len(along) <= MOST_SPATIAL or kernel.size > min(LARGEST_KERNEL, 3 * len(found.taps)):
        return None
    if (kernel == kernel.flat[0]).all():
        return [_window_sum(found.source, kernel, along, low, shape)]
    return [_convolved(found.source, kernel, along, low, shape)]


def _window_sum(source: ir.Value, kernel: np.ndarray, along: Sequence[int], low: Sequence[int],
                result: Sequence[int]) -> ir.Value:
    """The sum over a full box of equal weights."""
    window = [kernel.shape[along.index(k)] if k in along else 1 for k in range(len(result))]
    part = ops.slice(source, low, [a + n + w - 1 for a, n, w in zip(low, result, window, strict=True)])
    total = ops.reduce_window(part, 0, "add", window)
    return total if kernel.flat[0] == 1 else ops.multiply(total, kernel.flat[0])


# ---- stencils of stencils ------------------------------------------------------------------------------------------

MOST_COMPOSED, MOST_MORE = 25, 1.35
"""Taps of a stencil that several become, and how many times those of all of them. Two of 5 points on 2048 x 2048
float32, 13 together: 0.94 of the time of both; [1, -2, 1] 8 times on 4 million, 17 together: 0.36; four of 5 points on
1024 x 1024 as two of 13: 2.5, since XLA computes a stencil of a stencil element by element."""


def _in_iteration(a, first, second, shape=(60, 70), dtype="float64", again=False):
    """One combination of slices of another one, for examples."""
    def combined(value: ir.Value, terms: Sequence[tuple[float, int, int]]) -> ir.Value:
        extents, total = [n - 2 for n in shape_of(value)], None
        for number, *start in terms:
            part = ops.slice(value, start, [k + n for k, n in zip(start, extents, strict=True)])
            part = part if number == 1 else ops.multiply(part, number)
            total = part if total is None else ops.add(total, part)
        return total
    inner = combined(a(*shape, dtype=dtype), first)
    found = combined(inner, second)
    return [found, inner] if again else found


@rewrite("stablehlo.add", **LOOSE,
         example=(lambda a: _in_iteration(a, _LAPLACE, _LAPLACE),
                  lambda a: _in_iteration(a, _LAPLACE[:3], _LAPLACE[:3])),
         counter=(lambda a: _in_iteration(a, _LAPLACE, _LAPLACE, again=True),
                  lambda a: _in_iteration(a, _LAPLACE, _LAPLACE, (9, 9)),
                  lambda a: _in_iteration(a, *2 * [[(3.0 + i * j, i, j) for i in range(3) for j in range(3)][:8]])))
def sum_of_sums_of_slices(site: Site):
    """a v[i:] + b v[j:] + ... for v = c x[k:] + d x[l:] + ... = ac x[i + k:] + ..."""
    return _composed(site)


@rewrite("stablehlo.subtract", **LOOSE,
         example=lambda a: ops.subtract(ops.slice(v := _in_iteration(a, _LAPLACE[:2], _LAPLACE[:2]), (0, 0), (55, 60)),
                                        ops.slice(v, (1, 3), (56, 63))),
         counter=lambda a: ops.subtract(a(50, 50), a(50, 50)))
def difference_of_sums_of_slices(site: Site):
    """a v[i:] - b v[j:] for v = c x[k:] + d x[l:] + ... = ac x[i + k:] + ... - bc x[j + k:] - ..."""
    return _composed(site)


def _composed(site: Site) -> list[ir.Value] | None:
    table, value = costs(), site.results[0]
    if table is None or table.stencil_as_convolution or dtype_of(value).kind != "f" \
            or size(shape_of(value)) < table.least_elements or _goes_on(value):
        return None
    outer = Combination(value)
    if outer.taps is None or outer.source is None or any(map(_goes_on, (r.results[0] for r in consumers(value)
                                                                        if r.name == "stablehlo.slice"))):
        return None     # the last of a chain is looked at: XLA computes a long stencil of a long one element by element
    taps, source, count = outer.taps, outer.source, len(outer.taps)
    below = count
    while (inner := Combination(source)).taps is not None and inner.source is not None:
        if not _read_by_slices_alone(source, below) or inner.window != shape_of(source):
            return None
        below = len(inner.taps)
        taps, source, count = _product(taps, inner.taps), inner.source, count + below
    if source == outer.source or not 0 < len(taps) <= min(MOST_COMPOSED, MOST_MORE * count):
        return None
    return [ops.reshape(_combined(source, taps, outer.window), shape_of(value))]


def _product(outer: Taps, inner: Taps) -> Taps:
    """The taps of one combination of slices of another."""
    found: Taps = {}
    for first, factor in outer.items():
        for second, number in inner.items():
            start = tuple(i + j for i, j in zip(first, second, strict=True))
            found[start] = found.get(start, 0.0) + factor * number
    return {start: number for start, number in found.items() if number}


def _read_by_slices_alone(value: ir.Value, count: int) -> bool:
    """Whether so many slices, each read once, are all that reads a value."""
    readers = consumers(value)
    return len(readers) == count and all(r.name == "stablehlo.slice" and users(r.results[0]) == 1 for r in readers)


def _combined(source: ir.Value, taps: Taps, window: Sequence[int]) -> ir.Value:
    """The sum of multiples of slices, those with the same factor added first."""
    parts: dict[float, ir.Value] = {}
    for start, number in taps.items():
        part = ops.slice(source, start, [i + n for i, n in zip(start, window, strict=True)])
        parts[number] = ops.add(parts[number], part) if number in parts else part
    multiples = [part if number == 1 else ops.multiply(part, number) for number, part in parts.items()]
    return functools.reduce(ops.add, multiples)


# ---- convolutions of one channel -----------------------------------------------------------------------------------

def _known_kernel(op: ir.Operation) -> tuple[np.ndarray, Convolution] | None:
    """The kernel of a plain convolution of one channel by constants, spatial dimensions alone."""
    kernel, numbers = ops.constant_value(op.operands[1]), convolution.of(op)
    rank = len(numbers.x.spatial)
    plain = Layout(0, 1, tuple(range(2, 2 + rank)))
    if kernel is None or (numbers.x, numbers.kernel, numbers.out) != (plain,) * 3 or kernel.shape[:2] != (1, 1) \
            or numbers.strides != (1,) * rank or numbers.dilation != (1,) * rank \
            or numbers.kernel_dilation != (1,) * rank or any(map(any, numbers.padding)) \
            or shape_of(op.operands[0])[1] != 1 or numbers.feature_groups != 1 or numbers.batch_groups != 1:
        return None
    kernel = kernel[0, 0]
    return np.flip(kernel, [k for k, turned in enumerate(numbers.reversal) if turned]), numbers


def _twice(a, first, second, shape=(20, 20)):
    layout = Layout(0, 1, (2, 3))
    numbers = Convolution(layout, layout, layout, (1, 1), ((0, 0),) * 2, (1, 1), (1, 1), (False, False))
    inner = convolution.build(a(1, 1, *shape, dtype="float64"), ops.constant(np.asarray(first, float)[None, None]),
                              numbers)
    return convolution.build(inner, ops.constant(np.asarray(second, float)[None, None]), numbers)


_CROSS = ((0, 1, 0), (1, -4, 1), (0, 1, 0))


@rewrite("stablehlo.convolution", **LOOSE,
         example=(lambda a: _twice(a, _CROSS, _CROSS), lambda a: _twice(a, ((1, 2, 1),), ((1,), (3,)))),
         counter=lambda a: _twice(a, np.ones((9, 9)), np.ones((5, 5))))
def convolution_of_convolution(site: Site):
    """convolution(convolution(x, k), l) = convolution(x, k * l) for one channel and small constant k and l"""
    table, inner = _table(), site.operands[0].owner
    if table is None or isinstance(inner, ir.Block) or inner.operation.name != "stablehlo.convolution" \
            or users(site.operands[0]) != 1 or dtype_of(site.operands[0]).kind != "f":
        return None
    outer, before = _known_kernel(site.op), _known_kernel(inner.operation)
    if outer is None or before is None:
        return None
    (k, numbers), (m, _) = outer, before
    if k.ndim != m.ndim or prod(i + j - 1 for i, j in zip(k.shape, m.shape, strict=True)) > LARGEST_KERNEL:
        return None
    # cross-correlations compose by full convolution of their kernels
    total = np.zeros([i + j - 1 for i, j in zip(k.shape, m.shape, strict=True)], np.float64)
    for place in np.ndindex(*k.shape):
        total[tuple(slice(p, p + n) for p, n in zip(place, m.shape, strict=True))] += float(k[place]) * m
    plain = Convolution(numbers.x, numbers.kernel, numbers.out, numbers.strides, numbers.padding, numbers.dilation,
                        numbers.kernel_dilation, (False,) * k.ndim)
    return [convolution.build(inner.operation.operands[0], ops.constant(total.astype(k.dtype)[None, None]), plain,
                              site.op.attributes["precision_config"])]


# ---- small linear maps ---------------------------------------------------------------------------------------------

def _mixed(a, matrix, shape=(4, 3000)):
    """Rows that are combinations of the rows of an array, for examples."""
    array, rows = a(*shape), []
    parts = [ops.slice(array, (k, 0), (k + 1, shape[1])) for k in range(shape[0])]
    for numbers in matrix:
        total = None
        for number, part in zip(numbers, parts, strict=True):
            term = ops.multiply(part, number)
            total = term if total is None else ops.add(total, term)
        rows.append(total)
    return ops.concatenate(rows, 0)


@rewrite(match.concatenate(rest("xs"), dimension=d), **LOOSE,
         example=(lambda a: _mixed(a, np.arange(12).reshape(3, 4) - 4.5),
                  lambda a: _mixed(a, np.eye(3)[::-1] + 2.0, (3, 2000))),
         counter=(lambda a: _mixed(a, np.arange(12).reshape(3, 4) - 4.5, (4, 30)),
                  lambda a: ops.concatenate([a(1, 9000), a(1, 9000)], 0)))
def concatenate_of_combinations_is_product(xs, d, result_shape, result_dtype):
    """rows a x[0] + b x[1] + ..., c x[0] + e x[1] + ... side by side = [[a, b, ...], [c, e, ...]] . x"""
    table = _table()
    if table is None or size(result_shape) < table.least_elements or len(xs) < 2:
        return None
    found = [Combination(v) for v in xs]
    source = found[0].source
    row = replaced(result_shape, d, 1)
    if source is None or any(each.taps is None or each.source != source or each.window != row for each in found) \
            or any(shape_of(v) != row for v in xs):
        return None
    extents = shape_of(source)
    terms = sum(len(each.taps or ()) for each in found)
    if row != replaced(extents, d, 1) or terms < table.stencil_as_convolution * len(xs) \
            or len(xs) * extents[d] > LARGEST_KERNEL:
        return None
    matrix = np.zeros((len(xs), extents[d]), result_dtype)
    for numbers, each in zip(matrix, found, strict=True):
        for start, number in (each.taps or {}).items():
            numbers[start[d]] = number
    product = ops.dot_general(ops.constant(matrix), source, contracting_dims=((1,), (d,)))
    others = [k for k in range(len(extents)) if k != d]
    return ops.transpose(product, inverse([d, *others]))
