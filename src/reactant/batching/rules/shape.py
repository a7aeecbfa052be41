"""Ops that only arrange elements, and sorts."""
from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.batching.declare import Call, after, batch, batch_first, encoded, leading, shifted
from reactant.ir.types import shape_of

leading("reshape", "bitcast_convert", "chlo.top_k", "stablehlo.custom_call@mhlo.topk")
shifted("transpose", permutation=batch_first)
shifted("broadcast_in_dim", broadcast_dimensions=batch_first)
shifted("reverse", dimensions=after)
shifted("concatenate", dimension=lambda d: d + 1)
shifted("map", dimensions=batch_first)


def _sort(call: Call) -> Sequence[ir.Value]:
    dimension = call.attributes["dimension"] % max(len(shape_of(call.inputs[0])), 1) + 1
    return call.again([call.full(n) for n in range(len(call.operands))], dimension=encoded(dimension))


batch("sort", _sort)
