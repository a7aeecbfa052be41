"""Products of matrices, and convolutions as such."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import convolution as convolutions
from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, shape_and_dtype, size
from reactant.precision import contraction, entries
from reactant.precision.conversion import Conversion, declare
from reactant.precision.values import Value, WideComplex
from reactant.precision.wide import Wide


@declare("dot_general")
def dot_general(c: Conversion, op: ir.Operation, x: Value, y: Value) -> Value:
    """By slices, or as sums of all products where there are few."""
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    shape, dtype = shape_and_dtype(op.results[0].type)
    left = _arranged(_wide(c, x), numbers.batching_dims[0], numbers.contracting_dims[0], last=True)
    right = _arranged(_wide(c, y), numbers.batching_dims[1], numbers.contracting_dims[1], last=False)
    found = contraction.product(left, right).each(lambda limb: ops.reshape(limb, shape))
    if dtype in (c.source, c.complex):
        return found
    if isinstance(found, Wide) and not is_complex(dtype):
        return entries.narrowed(found, dtype)
    raise c.refusal(op, f"a product of them of {dtype} numbers has no form")


def _wide(c: Conversion, x: Value) -> Wide | WideComplex:
    if not isinstance(x, ir.Value):
        return x
    if is_complex(dtype_of(x)):
        return WideComplex(*(entries.split(part, c.limb, c.count) for part in (ops.real(x), ops.imag(x))))
    return entries.split(x, c.limb, c.count) if dtype_of(x).kind not in "biu" else \
        entries.from_integer(x, c.limb, c.count)


def _arranged(x: Wide | WideComplex, batch: tuple[int, ...], summed: tuple[int, ...], last: bool) -> Wide | WideComplex:
    """As (batch, free, summed), or (batch, summed, free)."""
    shape = x.shape
    free = tuple(d for d in range(len(shape)) if d not in (*batch, *summed))
    order = (*batch, *free, *summed) if last else (*batch, *summed, *free)
    extents = [size([shape[d] for d in dims]) for dims in ((batch, free, summed) if last else (batch, summed, free))]
    return x.each(lambda limb: ops.reshape(ops.transpose(limb, order), extents))


@declare("convolution")
def convolution(c: Conversion, op: ir.Operation, x: Value, kernel: Value) -> Value:
    """The product of the kernel's matrix with the one of all that its windows hold."""
    shape, dtype = shape_and_dtype(op.results[0].type)
    if dtype not in (c.source, c.complex):
        raise c.refusal(op, f"a convolution of them of {dtype} numbers has no form")
    numbers = convolutions.of(op)
    groups = numbers.feature_groups * numbers.batch_groups
    rank = len(numbers.x.spatial)
    left = _wide(c, kernel).each(lambda v: _ordered(v, numbers.kernel))
    right = _wide(c, x).each(lambda v: _ordered(v, numbers.x))
    extents = left.shape[2:]
    spatial = tuple(shape[d] for d in numbers.out.spatial)
    count, each = size(extents), left.shape[0] // groups
    if not size(shape) or not size(left.shape) or not size(right.shape):
        return right.each(lambda v: ops.constant(0, dtype_of(v), shape))
    turned = [d + 2 for d in range(rank) if numbers.reversal[d]]
    # by groups, output features, and what is summed
    left = left.each(lambda v: ops.reshape(ops.reverse(v, turned) if turned else v,
                                           (groups, each, left.shape[1] * count)))
    right = right.each(lambda v: _windows(v, numbers, extents, spatial))
    found = contraction.product(left, right.each(lambda v: _by_groups(v, numbers)))
    batch = right.shape[0] // numbers.batch_groups
    found = found.each(lambda v: ops.transpose(ops.reshape(v, (groups * each, batch, *spatial)),
                                               (1, 0, *range(2, rank + 2))))
    order = (numbers.out.first, numbers.out.second, *numbers.out.spatial)
    return found.each(lambda v: ops.transpose(v, sorted(range(rank + 2), key=order.__getitem__)))


def _ordered(x: ir.Value, layout: convolutions.Layout) -> ir.Value:
    """First, second, spatial dimensions."""
    return ops.transpose(x, (layout.first, layout.second, *layout.spatial))


def _windows(x: ir.Value, numbers: convolutions.Convolution, extents: tuple[int, ...], spatial: tuple[int, ...]
             ) -> ir.Value:
    """(batch, features, places in the window, places of the window)."""
    low, high = ([pair[k] for pair in numbers.padding] for k in (0, 1))
    padded = ops.pad(x, 0.0, (0, 0, *low), (0, 0, *high), (0, 0, *[n - 1 for n in numbers.dilation]))
    batch, features, *sizes = shape_and_dtype(padded.type)[0]
    index = np.zeros((*extents, *spatial), np.int64)
    rank = len(extents)
    for d in range(rank):
        inner = np.arange(extents[d]) * numbers.kernel_dilation[d]
        outer = np.arange(spatial[d]) * numbers.strides[d]
        inner = inner.reshape([-1 if k == d else 1 for k in range(2 * rank)])
        outer = outer.reshape([-1 if k == rank + d else 1 for k in range(2 * rank)])
        index = index * sizes[d] + (inner + outer)
    places = ops.constant(index.reshape(-1, 1).astype(np.int32))
    found = ops.gather(ops.reshape(padded, (batch, features, size(sizes))), places, offset_dims=(0, 1),
                       collapsed_slice_dims=(2,), start_index_map=(2,), index_vector_dim=1,
                       slice_sizes=(batch, features, 1))
    return ops.reshape(found, (batch, features, size(extents), size(spatial)))


def _by_groups(x: ir.Value, numbers: convolutions.Convolution) -> ir.Value:
    """(groups, what is summed, batch and places)."""
    batch, features, window, places = shape_and_dtype(x.type)[0]
    b, f = numbers.batch_groups, numbers.feature_groups
    split = ops.reshape(x, (b, batch // b, f, features // f, window, places))
    moved = ops.transpose(split, (0, 2, 3, 4, 1, 5))
    return ops.reshape(moved, (b * f, features // f * window, batch // b * places))
