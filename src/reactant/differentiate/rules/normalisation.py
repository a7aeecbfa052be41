"""Batch normalisation, by what it means (StableHLO spec, batch_norm_training and its kin)."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, meaning
from reactant.ir import ops
from reactant.ir.types import shape_of, size


class _Features:
    """Broadcasts along, and sums over, all dimensions but that of the features."""

    def __init__(self, call: Call):
        self.shape = shape_of(call.inputs[0])
        self.axis = call.attributes["feature_index"]
        self.count = size(self.shape) / max(self.shape[self.axis], 1)
        self.epsilon = call.attributes["epsilon"]

    def spread(self, x: ir.Value) -> ir.Value:
        return ops.broadcast_in_dim(x, self.shape, [self.axis])

    def sum(self, x: ir.Value) -> ir.Value:
        return ops.reduce(x, 0, [d for d in range(len(self.shape)) if d != self.axis], "add")

    def mean(self, x: ir.Value) -> ir.Value:
        return ops.divide(self.sum(x), self.count)

    def scaled(self, x: ir.Value, scale: ir.Value, mean: ir.Value, variance: ir.Value) -> ir.Value:
        """(x - mean) scale / sqrt(variance + epsilon)"""
        factor = ops.multiply(scale, ops.rsqrt(ops.add(variance, self.epsilon)))
        return ops.multiply(ops.subtract(x, self.spread(mean)), self.spread(factor))


def _training(call: Call) -> list[ir.Value]:
    x, scale, offset = call.operands
    over = _Features(call)
    mean = over.mean(x)
    centred = ops.subtract(x, over.spread(mean))
    variance = over.mean(ops.multiply(centred, centred))
    return [ops.add(over.scaled(x, scale, mean, variance), over.spread(offset)), mean, variance]


def _inference(call: Call) -> list[ir.Value]:
    x, scale, offset, mean, variance = call.operands
    over = _Features(call)
    return [ops.add(over.scaled(x, scale, mean, variance), over.spread(offset))]


def _gradient(call: Call) -> list[ir.Value]:
    x, scale, mean, variance, g = call.operands
    over = _Features(call)
    inverse = ops.rsqrt(ops.add(variance, over.epsilon))
    normal = ops.multiply(ops.subtract(x, over.spread(mean)), over.spread(inverse))
    of_offset, of_scale = over.sum(g), over.sum(ops.multiply(g, normal))
    shared = ops.add(over.spread(of_offset), ops.multiply(normal, over.spread(of_scale)))
    of_x = ops.multiply(over.spread(ops.multiply(scale, inverse)),
                        ops.subtract(g, ops.divide(shared, over.count)))
    return [of_x, of_scale, of_offset]


meaning("batch_norm_training", _training)
meaning("batch_norm_inference", _inference)
meaning("batch_norm_grad", _gradient)
