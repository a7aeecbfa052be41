"""convolution: transposes of its arrays go into its dimension numbers, zeros around its image into its padding."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import convolution, ops
from reactant.ir.convolution import Convolution, Layout, dimension_numbers
from reactant.rewrite import match, once, one_of, rewrite, variables

x, k, p, low, high, interior = variables("x k p low high interior")

PLAIN = Layout(0, 1, (2, 3))
TURNED = (0, 2, 3, 1)
"""Features last, for examples."""


def _numbers(**changed: Any) -> Convolution:
    given = Convolution(PLAIN, PLAIN, PLAIN, (1, 2), ((0, 1), (0, 0)), (1, 1), (1, 1), (False, False))
    return replace(given, **changed)


def _example(a: Any, image: ir.Value | None = None, kernel: ir.Value | None = None, **changed: Any) -> ir.Value:
    return convolution.build(a(2, 3, 4, 7) if image is None else image, a(4, 3, 2, 3) if kernel is None else kernel,
                             _numbers(**changed))


def _convolution(image: Any, kernel: Any) -> Any:
    return one_of(("stablehlo.convolution",), image, kernel, template="t")


def _moved(layout: Layout, place: Sequence[int]) -> Layout:
    """The layout after dimension i has become `place[i]`."""
    return Layout(place[layout.first], place[layout.second], tuple(place[i] for i in layout.spatial))


@rewrite(_convolution(match.transpose(x, permutation=p), k), dtypes="number",
         example=lambda a: _example(a, image=ops.transpose(a(2, 3, 4, 7), TURNED), x=Layout(0, 3, (1, 2))),
         counter=lambda a: _example(a, image=ops.reverse(a(2, 3, 4, 7), (1,))))
def convolution_of_transposed_image(x, p, k, t, result_shape):
    """convolution(transpose(x), k) = convolution(x, k) over other dimensions"""
    numbers = convolution.of(t.op)
    return t.build((x, k), result_shape, dimension_numbers=dimension_numbers(
        replace(numbers, x=_moved(numbers.x, p))))


@rewrite(_convolution(x, match.transpose(k, permutation=p)), dtypes="number",
         example=lambda a: _example(a, kernel=ops.transpose(a(3, 4, 3, 2), (1, 0, 3, 2))),
         counter=lambda a: _example(a, kernel=ops.reverse(a(4, 3, 2, 3), (1,))))
def convolution_with_transposed_kernel(x, k, p, t, result_shape):
    """convolution(x, transpose(k)) = convolution(x, k) over other dimensions"""
    numbers = convolution.of(t.op)
    return t.build((x, k), result_shape, dimension_numbers=dimension_numbers(
        replace(numbers, kernel=_moved(numbers.kernel, p))))


@rewrite(match.transpose(once(_convolution(x, k)), permutation=p), dtypes="number",
         example=lambda a: ops.transpose(_example(a), TURNED),
         counter=lambda a: [made := _example(a), ops.transpose(made, TURNED)])
def transpose_of_convolution(x, k, t, p, result_shape):
    """transpose(convolution(x, k)) = convolution(x, k) with other dimensions of the result"""
    numbers = convolution.of(t.op)
    place = [p.index(i) for i in range(len(p))]
    return t.build((x, k), result_shape, dimension_numbers=dimension_numbers(
        replace(numbers, out=_moved(numbers.out, place))))


def _padded(a: Any, sides: Sequence[int], inside: int = 0) -> ir.Value:
    return _example(a, image=ops.pad(a(2, 3, 4, 7), ops.constant(0, a.dtype), (0, *sides), (0, 0, 2, 1),
                                     (0, 0, inside, 0)))


@rewrite(_convolution(match.pad(x, 0.0, edge_padding_low=low, edge_padding_high=high, interior_padding=interior), k),
         dtypes="number", example=lambda a: _padded(a, (0, 1, 0)),
         counter=(lambda a: _padded(a, (0, -1, 0)), lambda a: _padded(a, (0, 1, 0), 1)))
def convolution_of_padded_image(x, low, high, interior, k, t, result_shape):
    """convolution(pad(x), k) = convolution(x, k) with so much more padding, for zeros around its places"""
    numbers = convolution.of(t.op)
    apart = (numbers.x.first, numbers.x.second)
    if any(interior) or min(*low, *high) < 0 or any(low[i] or high[i] for i in apart) \
            or any(n != 1 for n in numbers.dilation):
        return None
    padding = tuple((a + low[i], b + high[i]) for (a, b), i in zip(numbers.padding, numbers.x.spatial, strict=True))
    return t.build((x, k), result_shape, padding=attr.integer_matrix(padding))
