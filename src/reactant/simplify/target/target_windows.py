"""The last stage: small windows as sums of shifted slices.

XLA:CPU walks the window of every element; slices of the whole array, added up, are vectorised. A window over several
dimensions is done one dimension after the other. Convolutions of one channel (or of channels that do not mix) likewise.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import Site, consumers, producer, rewrite, users
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.target.target import apply, becomes_loops, index_slice, is_identity, monoid

MOST_READERS = 50
"""Most ops between windows and the reduction that reads them."""

MOST_SUMMED = 3
"""Most elements of cumulative windows that are slices in loops of our own (rows of 6, 200,000 float64: 300 us; 36 from
one element to the next)."""

ONE_THREAD = range(16_000, 40_000)
"""Elements of a result that XLA:CPU computes on one thread and the library on two: 2x2 maxima of relu(x), 25,000
elements, float32: 63 us and 49; with 6,000 27 and 30, with 50,000 82 and 93."""


def _shifted(x: ir.Value, dimension: int, start: int, count: int, stride: int) -> ir.Value:
    """`count` elements of one dimension from `start` on."""
    extents = shape_of(x)
    low, high, steps = [0] * len(extents), list(extents), [1] * len(extents)
    low[dimension], high[dimension], steps[dimension] = start, start + (count - 1) * stride + 1, stride
    return ops.slice(x, low, high, steps)


def _in_any_order(name: str, dtype: np.dtype) -> bool:
    """Whether an op gives the same bits however its operands are grouped."""
    return dtype.kind in "iub" or is_float(dtype) and name in ("stablehlo.maximum", "stablehlo.minimum")


def _window(body: str, init: object, window: tuple[int, ...], shape: tuple[int, ...] = (40, 40), **keywords: object):
    return lambda a: ops.reduce_window(a(*shape), init, body, window, **keywords)


def _summed(op: str, stride: int, result: int) -> str:
    windows = f"tensor<4x{result}x{result}x8xf32>"
    return (f"""(%x: tensor<4x14x14x8xf32>, %i: tensor<f32>) -> tensor<4x8xf32> {{
%w = "stablehlo.reduce_window"(%x, %i) <{{window_dimensions = array<i64: 1, 2, 2, 1>,
  window_strides = array<i64: 1, {stride}, {stride}, 1>}}> ({{
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.{op} %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}}) : (tensor<4x14x14x8xf32>, tensor<f32>) -> {windows}
%s = stablehlo.abs %w : {windows}
%r = stablehlo.reduce(%s init: %i) applies stablehlo.add across dimensions = [1, 2] : ({windows}, tensor<f32>) ->
  tensor<4x8xf32>
return %r : tensor<4x8xf32>
}}""")


@rewrite("stablehlo.reduce_window",
         example=(_window("maximum", 0, (3, 3)), _window("minimum", 1, (2, 3), padding=((1, 0), (2, 2))),
                  _window("add", 0, (3, 3)), _window("add", 1, (3,), (2000,), padding=((1, 1),)),
                  _window("add", 0, (3, 5), window_strides=(2, 1), base_dilations=(1, 2), window_dilations=(2, 1)),
                  _summed("maximum", 1, 13)),
         counter=(_window("maximum", 0, (3, 3), (5, 5)), _window("maximum", 0, (1, 40)), _window("add", 0, (10, 10)),
                  _summed("maximum", 2, 7), _summed("add", 1, 13)))
def small_window_is_slices(site: Site):
    """reduce_window(x) = slices of x for the places in the window; one dimension after the other where equal"""
    table, name = costs(), monoid(site)
    x, init = site.operands[0], site.operands[-1]
    dtype = dtype_of(x)
    if table is None or name is None or len(site.results) != 1 or size(shape_of(x)) < table.least_elements:
        return None
    window, result = site.attribute("window_dimensions"), shape_of(site.results[0])
    separable = _in_any_order(name, dtype)
    if not 1 < max(window) <= table.window_as_slices or not size(result) \
            or not separable and size(window) > table.convolution_as_slices:
        return None
    ones = (1,) * len(window)
    strides, dilations = (site.attribute(key) or ones for key in ("window_strides", "window_dilations"))
    if becomes_loops() and max(window) > MOST_SUMMED and _is_cumulative(site, window):
        return None
    if table.windows_of_library and not becomes_loops() and _stays_with_library(site, name, strides):
        return None
    padded = _padded(site, x, init, len(window))
    if separable:
        total = padded
        for d in range(len(window)):
            total = _folded(name, [_shifted(total, d, k * dilations[d], result[d], strides[d])
                                   for k in range(window[d])])
        return [total if is_identity(name, init) else apply(name, ops.broadcast_in_dim(init, result, ()), total)]
    parts = [] if is_identity(name, init) else [ops.broadcast_in_dim(init, result, ())]
    for place in product(*map(range, window)):
        low = [k * d for k, d in zip(place, dilations, strict=True)]
        high = [a + (n - 1) * s + 1 for a, n, s in zip(low, result, strides, strict=True)]
        parts.append(ops.slice(padded, low, high, strides))
    return [_folded(name, parts)]


def _is_cumulative(site: Site, window: Sequence[int]) -> bool:
    """Whether windows of one dimension reach back to its beginning, or on to its end: loops go from one to the next."""
    wide = [d for d, n in enumerate(window) if n > 1]
    padding = site.attribute("padding")
    return len(wide) == 1 and padding is not None and window[wide[0]] == shape_of(site.operands[0])[wide[0]] \
        and sorted(map(int, padding[wide[0]])) == [0, window[wide[0]] - 1]


def _stays_with_library(site: Site, name: str, strides: Sequence[int]) -> bool:
    """Whether the library that XLA hands windows to is faster than XLA's loop over slices.

    It takes 0.1 ns an element of a window (0.3 to 0.7 where a greatest element is sought in windows of several
    dimensions that overlap, and where the last dimension is strided). It makes windows where a reduction or a product
    reads them, for which slices would be written to memory; and uses all threads where XLA's loop takes one.
    """
    window, ones = site.attribute("window_dimensions"), (1,) * len(strides)
    dtype, result = dtype_of(site.results[0]), shape_of(site.results[0])
    if dtype not in (np.float32, np.float64) or strides[-1] != 1 \
            or any((site.attribute(f"{key}_dilations") or ones) != ones for key in ("base", "window")):
        return False
    disjoint = all(w <= s for w, s in zip(window, strides, strict=True))
    reader = _reader(site.results[0])
    if reader == "stablehlo.reduce":
        return disjoint or name == "stablehlo.add" or sum(n > 1 for n in window) == 1
    made = producer(site.operands[0])
    return disjoint and dtype == np.float32 and (
        reader == "stablehlo.dot_general" or size(result) in ONE_THREAD
        and made is not None and made.name in ops.ELEMENTWISE)


def _reader(value: ir.Value) -> str | None:
    """The reduction or product that alone reads the value, or what is computed element by element of it."""
    for _ in range(MOST_READERS):
        if users(value) != 1:
            return None
        reader, = consumers(value)
        if reader.name in ("stablehlo.reduce", "stablehlo.dot_general"):
            return reader.name
        if reader.name not in ops.ELEMENTWISE and reader.name != "stablehlo.reshape":
            return None
        value, = reader.results
    return None


def _folded(name: str, parts: Sequence[ir.Value]) -> ir.Value:
    total = parts[0]
    for part in parts[1:]:
        total = apply(name, total, part)
    return total


def _padded(site: Site, x: ir.Value, init: ir.Value, rank: int) -> ir.Value:
    """The array with the padding and dilation of a window reduction."""
    padding, spread = site.attribute("padding"), site.attribute("base_dilations") or (1,) * rank
    low, high = ([0] * rank,) * 2 if padding is None else ([int(n) for n in padding[:, k]] for k in (0, 1))
    return ops.pad(x, init, low, high, [n - 1 for n in spread])


# ---- convolutions --------------------------------------------------------------------------------------------------

def _convolution(image: tuple[int, ...], kernel: tuple[int, ...], numbers: str, window: str = "", groups: int = 1,
                 result: tuple[int, ...] = ()) -> str:
    x, k, r = ("x".join(map(str, s)) + "xf32" for s in (image, kernel, result))
    return (f"(%x: tensor<{x}>, %k: tensor<{k}>) -> tensor<{r}> {{\n"
            f"%r = stablehlo.convolution(%x, %k) dim_numbers = {numbers}, window = {{{window}}} "
            f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : (tensor<{x}>, tensor<{k}>) -> "
            f"tensor<{r}>\nreturn %r : tensor<{r}>\n}}")


@rewrite("stablehlo.convolution", changes="rounding",
         example=(_convolution((1, 1, 40, 40), (1, 1, 3, 2), "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                               result=(1, 1, 38, 39)),
                  _convolution((2, 20, 30, 3), (3, 2, 1, 3), "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                               "stride = [2, 1], pad = [[1, 0], [2, 1]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], "
                               "reverse = [true, false]", 3, (2, 9, 61, 3)),
                  _convolution((1, 2000, 1), (5, 1, 1), "[b, 0, f]x[0, i, o]->[f, 0, b]", result=(1, 1996, 1))),
         counter=(_convolution((1, 2, 40, 40), (2, 2, 3, 2), "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                               result=(1, 2, 38, 39)),))
def small_convolution_is_slices(site: Site):
    """convolution(x, k) = sum of k[i] times x shifted by i, where every channel is convolved by itself"""
    table = costs()
    x, kernel = site.operands
    n = stablehlo.ConvDimensionNumbers(site.op.attributes["dimension_numbers"])
    extents, taps, result = shape_of(x), shape_of(kernel), shape_of(site.results[0])
    channels = extents[n.input_feature_dimension]
    groups = site.attribute("feature_group_count")
    window = [taps[d] for d in n.kernel_spatial_dimensions]
    if table is None or dtype_of(x).kind != "f" or dtype_of(x) != dtype_of(site.results[0]) \
            or groups != channels or taps[n.kernel_output_feature_dimension] != channels \
            or site.attribute("batch_group_count") != 1 or not size(result) \
            or not 1 <= size(window) <= table.convolution_as_slices or size(extents) < table.least_elements:
        return None
    return _sum_of_taps(site, n, window)


def _sum_of_taps(site: Site, n: stablehlo.ConvDimensionNumbers, window: list[int]) -> ir.Value:
    x, kernel = site.operands
    spatial, result = list(n.input_spatial_dimensions), shape_of(site.results[0])
    ones = [1] * len(window)
    strides, dilations, spread = (site.attribute(key) or ones
                                  for key in ("window_strides", "rhs_dilation", "lhs_dilation"))
    padding, reverse = site.attribute("padding"), site.attribute("window_reversal") or [False] * len(window)
    low, high, interior = ([0] * len(shape_of(x)) for _ in range(3))
    for i, d in enumerate(spatial):
        low[d], high[d] = (0, 0) if padding is None else (int(padding[i, 0]), int(padding[i, 1]))
        interior[d] = spread[i] - 1
    x = ops.pad(x, 0, low, high, interior)
    shape = list(shape_of(x))
    for d, e in zip(spatial, n.output_spatial_dimensions, strict=True):
        shape[d] = result[e]
    total = None
    for at in product(*map(range, window)):
        part = x
        for i, d in enumerate(spatial):
            place = window[i] - 1 - at[i] if reverse[i] else at[i]
            part = _shifted(part, d, place * dilations[i], shape[d], strides[i])
        part = ops.multiply(part, _tap(kernel, n, at, shape))
        total = part if total is None else ops.add(total, part)
    order = {n.output_batch_dimension: n.input_batch_dimension, n.output_feature_dimension: n.input_feature_dimension,
             **dict(zip(n.output_spatial_dimensions, spatial, strict=True))}
    return ops.transpose(total, [order[d] for d in range(len(order))])


def _tap(kernel: ir.Value, n: stablehlo.ConvDimensionNumbers, at: Sequence[int], shape: Sequence[int]) -> ir.Value:
    """One tap of the kernel, one number a channel, over all places."""
    index = {n.kernel_input_feature_dimension: 0, **dict(zip(n.kernel_spatial_dimensions, at, strict=True))}
    channels = shape_of(kernel)[n.kernel_output_feature_dimension]
    return ops.broadcast_in_dim(index_slice(kernel, index, (channels,)), shape, [n.input_feature_dimension])
