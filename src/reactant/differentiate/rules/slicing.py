"""Parts of arrays and arrays of parts. A part's cotangent is put into the adjoint of the whole: in a loop, in place."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Contribution, Into, Part, Tangents, derivative, linear, zeros
from reactant.ir import ops
from reactant.ir.types import shape_of


def _slice_transpose(call: Call, g: ir.Value) -> list[Contribution]:
    start, stride = call.attributes["start_indices"], call.attributes["strides"]
    whole, part = shape_of(call.inputs[0]), shape_of(g)
    if not all(part):
        return [zeros(call.inputs[0])]
    if set(stride) == {1}:
        return [Part(tuple(start), g)]
    high = [n - a - (m - 1) * s - 1 for n, a, m, s in zip(whole, start, part, stride, strict=True)]
    return [ops.pad(g, 0, start, high, [s - 1 for s in stride])]


def _pad_transpose(call: Call, g: ir.Value) -> list[ir.Value]:
    """The positions of the operand out of the cotangent; the padding value gets the sum of the rest."""
    low, high = call.attributes["edge_padding_low"], call.attributes["edge_padding_high"]
    interior, operand = call.attributes["interior_padding"], call.inputs[0]
    uncropped = ops.pad(g, 0, [max(-a, 0) for a in low], [max(-b, 0) for b in high])
    start = [max(a, 0) for a in low]
    limit = [a + (n - 1) * (i + 1) + 1 if n else a
             for a, n, i in zip(start, shape_of(operand), interior, strict=True)]
    inside = ops.slice(uncropped, start, limit, [i + 1 for i in interior])
    everywhere = range(len(low))
    rest = ops.subtract(ops.reduce(g, 0, everywhere, "add"), ops.reduce(inside, 0, everywhere, "add"))
    return [inside, rest]


def _concatenate_transpose(call: Call, g: ir.Value) -> list[ir.Value]:
    dimension, at, parts = call.attributes["dimension"], 0, []
    shape = shape_of(g)
    for operand in call.inputs:
        extent = shape_of(operand)[dimension]
        start, limit = [0] * len(shape), list(shape)
        start[dimension], limit[dimension] = at, at + extent
        parts.append(ops.slice(g, start, limit))
        at += extent
    return parts


linear("slice", _slice_transpose)
linear("pad", _pad_transpose)
linear("concatenate", _concatenate_transpose)


def _dynamic_slice_transpose(call: Call, g: ir.Value) -> list[Contribution]:
    starts = call.operands[1:]

    def put(adjoint: ir.Value) -> ir.Value:
        here = ops.dynamic_slice(adjoint, starts, shape_of(g))
        return ops.dynamic_update_slice(adjoint, ops.add(here, g), starts)

    return [Into(put), *[None] * len(starts)]


linear("dynamic_slice", _dynamic_slice_transpose)


def _update_forward(call: Call, tangents: Tangents) -> Tangents:
    starts = call.operands[2:]
    whole, part = (zeros(v) if t is None else t for v, t in zip(call.inputs[:2], tangents, strict=False))
    return [ops.dynamic_update_slice(whole, part, starts)]


def _update_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
    update, starts = call.inputs[1], call.operands[2:]
    part = ops.dynamic_slice(g[0], starts, shape_of(update)) if wanted[1] else None
    whole = ops.dynamic_update_slice(g[0], zeros(update), starts) if wanted[0] else None
    return [whole, part, *[None] * len(starts)]


derivative("dynamic_update_slice", _update_forward, _update_reverse)
