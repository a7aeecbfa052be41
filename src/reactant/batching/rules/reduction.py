"""Reductions, over dimensions and over windows. A start of its own for each element of the batch is combined with the
reduction from a neutral start."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.declare import Call, after, batch, encoded, spread
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, is_float, shape_of

NEUTRAL = {"add": lambda t: -0.0 if is_float(t) else complex(-0.0, -0.0) if is_complex(t) else 0,
           "multiply": lambda t: 1,
           "maximum": lambda t: _limit(t, -1), "minimum": lambda t: _limit(t, 1),
           "and": lambda t: t.kind == "b" or (-1 if t.kind == "i" else np.iinfo(t).max),
           "or": lambda t: 0, "xor": lambda t: 0}
"""The element that leaves every other one as it is, by operation."""


def _limit(dtype: np.dtype, sign: int) -> float | int | bool | None:
    if is_complex(dtype):
        return None
    if is_float(dtype):
        return sign * float("inf")
    if dtype.kind == "b":
        return sign > 0
    return int(np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min)


def single_body(op: ir.Operation) -> str | None:
    """The name of the one op (without dialect) that a region of a reduction applies to its two arguments, else None."""
    block = op.regions[0].blocks[0]
    body = [child.operation for child in block]
    if len(block.arguments) != 2 or len(body) != 2 or {*body[0].operands} != {*block.arguments} \
            or list(body[1].operands) != list(body[0].results):
        return None
    return body[0].name.partition(".")[2]


def _reduce(call: Call) -> Sequence[ir.Value] | None:
    count = len(call.operands) // 2
    dimensions = encoded(after(call.attributes["dimensions"]))
    inputs, starts = [call.full(n) for n in range(count)], call.operands[count:]
    if not any(call.batched[count:]):
        return call.again([*inputs, *starts], dimensions=dimensions)
    name, dtype = single_body(call.op), dtype_of(call.inputs[0])
    neutral = NEUTRAL[name](dtype) if name in NEUTRAL else None
    if count > 1 or neutral is None:
        return None
    found = call.again([*inputs, ops.constant(neutral, dtype)], dimensions=dimensions)[0]
    return [ops.create(f"stablehlo.{name}", [found.type], [spread(starts[0], shape_of(found)[1:]), found]).result]


batch("reduce", _reduce)


def _reduce_window(call: Call) -> Sequence[ir.Value] | None:
    """Windows of one element of the batch. The start also pads: one of its own for each goes one by one."""
    count = len(call.operands) // 2
    if any(call.batched[count:]):
        return None
    return call.again([*(call.full(n) for n in range(count)), *call.operands[count:]], **_windows(call))


def _windows(call: Call) -> dict[str, ir.Attribute]:
    """Attributes of windows of one element of the batch."""
    changed: dict[str, ir.Attribute] = {name: encoded((1, *call.attributes[name])) for name in (
        "window_dimensions", "window_strides", "base_dilations", "window_dilations") if name in call.attributes}
    if "padding" in call.attributes:
        rows = (tuple(int(n) for n in row) for row in call.attributes["padding"])
        changed["padding"] = attr.integer_matrix(((0, 0), *rows))
    return changed


batch("reduce_window", _reduce_window)


def _select_and_scatter(call: Call) -> Sequence[ir.Value] | None:
    if call.batched[2]:
        return None
    return call.again([call.full(0), call.full(1), call.operands[2]], **_windows(call))


batch("select_and_scatter", _select_and_scatter)
__all__ = ["NEUTRAL", "single_body"]
