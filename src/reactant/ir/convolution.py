"""`stablehlo.convolution` as plain numbers, and its builder."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, tensor_type
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Layout:
    """Where the dimensions of one array of a convolution are: `first` is the batch (of a kernel: the output features),
    `second` the features (of a kernel: the input features)."""

    first: int
    second: int
    spatial: tuple[int, ...]

    def swapped(self) -> Layout:
        return replace(self, first=self.second, second=self.first)


@dataclass(frozen=True)
class Convolution:
    """out[b, o, y] = sum over i, k of x[b, i, y stride + k kernel_dilation - low] w[o, i, k], x spread by `dilation`.

    `reversal` turns the kernel round in some dimensions. With feature groups, the input features of group g meet
    the kernel's output features of group g; with batch groups, the batches of group g do. """

    x: Layout
    kernel: Layout
    out: Layout
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    kernel_dilation: tuple[int, ...]
    reversal: tuple[bool, ...]
    feature_groups: int = 1
    batch_groups: int = 1


def of(op: ir.Operation) -> Convolution:
    """The numbers of a convolution op; attributes it leaves out have their defaults."""
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    x = Layout(numbers.input_batch_dimension, numbers.input_feature_dimension, tuple(numbers.input_spatial_dimensions))
    kernel = Layout(numbers.kernel_output_feature_dimension, numbers.kernel_input_feature_dimension,
                    tuple(numbers.kernel_spatial_dimensions))
    out = Layout(numbers.output_batch_dimension, numbers.output_feature_dimension,
                 tuple(numbers.output_spatial_dimensions))
    rank = len(x.spatial)

    def read(name: str, default: Any) -> Any:
        return attr.decode(op.attributes[name]) if name in op.attributes else default

    ones = (1,) * rank
    padding = read("padding", ((0, 0),) * rank)
    return Convolution(x, kernel, out, tuple(read("window_strides", ones)),
                       tuple((int(a), int(b)) for a, b in padding), tuple(read("lhs_dilation", ones)),
                       tuple(read("rhs_dilation", ones)), tuple(read("window_reversal", (False,) * rank)),
                       read("feature_group_count", 1), read("batch_group_count", 1))


def dimension_numbers(n: Convolution) -> ir.Attribute:
    """The attribute that says which dimension of which array is which."""
    return stablehlo.ConvDimensionNumbers.get(
        n.x.first, n.x.second, list(n.x.spatial), n.kernel.second, n.kernel.first, list(n.kernel.spatial),
        n.out.first, n.out.second, list(n.out.spatial))


def _dilated(extent: int, dilation: int) -> int:
    return (extent - 1) * dilation + 1 if extent else 0


def build(x: ir.Value, kernel: ir.Value, numbers: Convolution, precision: ir.Attribute | None = None) -> ir.Value:
    """The convolution op. Full precision unless `precision` (a `precision_config` attribute) says otherwise."""
    xs, ks, n = shape_of(x), shape_of(kernel), numbers
    shape = [0] * len(xs)
    shape[n.out.first] = xs[n.x.first] // n.batch_groups
    shape[n.out.second] = ks[n.kernel.first]
    for d, place in enumerate(n.out.spatial):
        padded = _dilated(xs[n.x.spatial[d]], n.dilation[d]) + sum(n.padding[d])
        reach = _dilated(ks[n.kernel.spatial[d]], n.kernel_dilation[d])
        shape[place] = 0 if padded < reach else (padded - reach) // n.strides[d] + 1
    if precision is None:
        precision = attr.parse("[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]")
    attributes = {"dimension_numbers": dimension_numbers(n), "window_strides": attr.integers(n.strides),
                  "padding": attr.integer_matrix(n.padding), "lhs_dilation": attr.integers(n.dilation),
                  "rhs_dilation": attr.integers(n.kernel_dilation),
                  "window_reversal": attr.booleans(n.reversal),
                  "feature_group_count": attr.integer(n.feature_groups),
                  "batch_group_count": attr.integer(n.batch_groups), "precision_config": precision}
    return ops.create("stablehlo.convolution", [tensor_type(tuple(shape), dtype_of(x))], [x, kernel], attributes).result


def sizes(shape: Sequence[int], layout: Layout) -> tuple[int, ...]:
    """The spatial extents of an array."""
    return tuple(shape[d] for d in layout.spatial)
