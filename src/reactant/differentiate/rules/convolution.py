"""Convolution: linear in the array and in the kernel, and both transposes are convolutions again.

With y the place in the result, k in the kernel and p in the array, the op pairs those with
y stride + k kernel_dilation = p dilation + low. Whichever of the three is asked for becomes the result; the numbers of
the other two become strides and dilations.
"""
from __future__ import annotations

from dataclasses import replace

from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, bilinear, zeros
from reactant.ir import convolution as conv
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


def _turned(kernel: ir.Value, numbers: conv.Convolution, where: bool = True) -> ir.Value:
    """The kernel turned round in the dimensions with a reversal (without one). XLA:CPU is tens of times slower at
    convolutions that turn it themselves."""
    return ops.reverse(kernel, [d for d, iteration in zip(numbers.kernel.spatial, numbers.reversal, strict=True)
                                if iteration == where])


def _regrouped(x: ir.Value, source: int, target: int, groups: int) -> ir.Value:
    """Take `groups` (the outer part) out of dimension `source` and put them, outermost, into dimension `target`."""
    if groups == 1:
        return x
    shape = list(shape_of(x))
    split = [*shape[:source], groups, shape[source] // groups, *shape[source + 1:]]
    order = [d for d in range(len(split)) if d != source]
    moved = order.index(target if target < source else target + 1)
    order.insert(moved, source)
    shape[source] //= groups
    shape[target] *= groups
    return ops.reshape(ops.transpose(ops.reshape(x, split), order), shape)


def _precision(call: Call) -> ir.Attribute | None:
    return call.op.attributes["precision_config"] if "precision_config" in call.op.attributes else None


def _empty(call: Call) -> bool:
    return any(0 in shape_of(v) for v in (*call.inputs, call.op.results[0]))


def _array_cotangent(call: Call, g: ir.Value) -> ir.Value:
    x, kernel = call.inputs[0], call.operands[1]
    if _empty(call):
        return zeros(x)
    n = conv.of(call.op)
    groups = n.feature_groups * n.batch_groups            # one of them is 1
    before, taps = conv.sizes(shape_of(x), n.x), conv.sizes(shape_of(kernel), n.kernel)
    after = conv.sizes(shape_of(g), n.out)
    padding = []
    for d, tap in enumerate(taps):
        low = (tap - 1) * n.kernel_dilation[d] - n.padding[d][0]
        needed = (before[d] - 1) * n.dilation[d] + (tap - 1) * n.kernel_dilation[d] + 1
        padding.append((low, needed - low - ((after[d] - 1) * n.strides[d] + 1)))
    factor = _turned(_regrouped(kernel, n.kernel.first, n.kernel.second, groups), n, False)
    made = conv.build(g, ops.convert(factor, dtype_of(g)), replace(
        n, x=n.out, kernel=n.kernel.swapped(), out=n.x, strides=n.dilation, dilation=n.strides, padding=tuple(padding),
        reversal=(False,) * len(taps), feature_groups=groups, batch_groups=1), _precision(call))
    if n.batch_groups > 1:
        made = _regrouped(made, n.x.second, n.x.first, n.batch_groups)
    return ops.convert(made, dtype_of(x))


def _kernel_cotangent(call: Call, g: ir.Value) -> ir.Value:
    x, kernel = call.operands[0], call.inputs[1]
    if _empty(call):
        return zeros(kernel)
    n = conv.of(call.op)
    before, taps = conv.sizes(shape_of(x), n.x), conv.sizes(shape_of(kernel), n.kernel)
    after = conv.sizes(shape_of(g), n.out)
    padding = []
    for d, tap in enumerate(taps):
        low = n.padding[d][0]
        needed = (tap - 1) * n.kernel_dilation[d] + (after[d] - 1) * n.strides[d] + 1
        padding.append((low, needed - low - ((before[d] - 1) * n.dilation[d] + 1)))
    made = conv.build(ops.convert(x, dtype_of(g)), g, replace(
        n, x=n.x.swapped(), kernel=n.out.swapped(), out=n.kernel.swapped(), strides=n.kernel_dilation,
        kernel_dilation=n.strides, padding=tuple(padding), reversal=(False,) * len(taps),
        feature_groups=n.batch_groups, batch_groups=n.feature_groups), _precision(call))
    return ops.convert(_turned(made, n), dtype_of(kernel))


bilinear("convolution", _array_cotangent, _kernel_cotangent)
