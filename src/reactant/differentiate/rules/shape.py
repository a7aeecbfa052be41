"""Ops that move elements without changing them."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, linear
from reactant.ir import ops
from reactant.ir.types import shape_of

linear("reshape", lambda call, g: [ops.reshape(g, shape_of(call.inputs[0]))])
linear("reverse", lambda call, g: [ops.reverse(g, call.attributes["dimensions"])])
linear("transpose", lambda call, g: [ops.transpose(g, _inverse(call.attributes["permutation"]))])


def _inverse(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(permutation))


def _broadcast_transpose(call: Call, g: ir.Value) -> list[ir.Value]:
    """The sum over all copies."""
    dims, old, new = call.attributes["broadcast_dimensions"], shape_of(call.inputs[0]), shape_of(g)
    repeated = [d for d in range(len(new)) if d not in dims or old[dims.index(d)] != new[d]]
    summed = ops.reduce(g, 0, repeated, "add") if repeated else g
    kept = [d for d in dims if d not in repeated]                 # in the operand's order
    order = sorted(kept)
    summed = ops.transpose(summed, tuple(order.index(d) for d in kept))
    return [ops.reshape(summed, old)]


linear("broadcast_in_dim", _broadcast_transpose)
