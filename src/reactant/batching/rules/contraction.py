"""Products: a batch on one side is a free dimension of it, on both sides a batch dimension of the product."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.batching.declare import Call, after, batch
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, tensor_type


def _dot_general(call: Call) -> Sequence[ir.Value]:
    numbers = call.attributes["dot_dimension_numbers"]
    (left, right), (left_batch, right_batch) = numbers.contracting_dims, numbers.batching_dims
    if call.batched[0]:
        left, left_batch = after(left), after(left_batch)
    if call.batched[1]:
        right, right_batch = after(right), after(right_batch)
    if all(call.batched):
        left_batch, right_batch = (0, *left_batch), (0, *right_batch)
    made = _with_type(call, call.operands, 0 if all(call.batched) else _place(call, numbers), {
        "dot_dimension_numbers": attr.dot_dimension_numbers((left_batch, right_batch), (left, right))})
    return [made]


def _place(call: Call, numbers: Any) -> int:
    """Where the result of a product with a batch on one side has it: batch dimensions, free of left, free of right."""
    count = len(numbers.batching_dims[0])
    if call.batched[0]:
        return count
    return len(shape_of(call.inputs[0])) - len(numbers.contracting_dims[0])


def _with_type(call: Call, operands: Sequence[ir.Value], place: int, attributes: dict[str, ir.Attribute]) -> ir.Value:
    """The same op where the batch is dimension `place` of the result; the result with the batch in front."""
    old = call.op.results[0]
    shape = list(shape_of(old))
    shape.insert(place, call.size)
    made = call.again(operands, **attributes)[0]
    made.set_type(tensor_type(tuple(shape), dtype_of(old)))
    return ops.transpose(made, [place, *(d for d in range(len(shape)) if d != place)])


batch("dot_general", _dot_general)


# ---- convolution ---------------------------------------------------------------------------------------------------

def folded(x: ir.Value, into: int, groups: int = 1) -> ir.Value:
    """x[size, ..., n, ...] with the batch merged into dimension `into` (as it is without the batch), inside each of
    `groups` groups: [..., groups * size * (n / groups), ...]."""
    shape = shape_of(x)
    count, rest = shape[0], shape[1:]
    split = ops.reshape(x, (count, *rest[:into], groups, rest[into] // groups, *rest[into + 1:]))
    before = range(1, 1 + into)
    moved = ops.transpose(split, (*before, 1 + into, 0, *range(2 + into, len(shape) + 1)))
    return ops.reshape(moved, (*rest[:into], count * rest[into], *rest[into + 1:]))


def unfolded(x: ir.Value, of: int, count: int, groups: int = 1) -> ir.Value:
    """The inverse of `folded`."""
    shape = shape_of(x)
    extent = shape[of] // count
    split = ops.reshape(x, (*shape[:of], groups, count, extent // groups, *shape[of + 1:]))
    moved = ops.transpose(split, (of + 1, *range(of), of, *range(of + 2, len(shape) + 2)))
    return ops.reshape(moved, (count, *shape[:of], extent, *shape[of + 1:]))


def _convolution(call: Call) -> Sequence[ir.Value]:
    """Images with a batch have more of them; kernels with one, more output features; both, more groups."""
    numbers = stablehlo.ConvDimensionNumbers(call.op.attributes["dimension_numbers"])
    features, batches = (int(call.attributes[n]) for n in ("feature_group_count", "batch_group_count"))
    image, kernel = call.operands
    changed: dict[str, ir.Attribute] = {}
    place, groups = numbers.output_feature_dimension, 1
    if all(call.batched):
        split_batches = batches > 1
        image = folded(image, numbers.input_batch_dimension if split_batches else numbers.input_feature_dimension)
        kernel = folded(kernel, numbers.kernel_output_feature_dimension)
        name = "batch_group_count" if split_batches else "feature_group_count"
        changed[name] = attr.integer(call.size * (batches if split_batches else features))
    elif call.batched[0]:
        image = folded(image, numbers.input_batch_dimension, batches)
        place = numbers.output_batch_dimension
    else:
        groups = max(features, batches)
        kernel = folded(kernel, numbers.kernel_output_feature_dimension, groups)
    old = call.op.results[0]
    shape = list(shape_of(old))
    shape[place] *= call.size
    made = call.again([image, kernel], **changed)[0]
    made.set_type(tensor_type(tuple(shape), dtype_of(old)))
    return [unfolded(made, place, call.size, groups)]


batch("convolution", _convolution)
