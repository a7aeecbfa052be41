"""The scalar bodies of reductions, scatters and maps: which one it is, and the body on whole arrays."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func as func_dialect

from reactant.differentiate.activity import block_ops
from reactant.differentiate.declare import Call, attributes_of
from reactant.differentiate.signs import HYPOT, PRODUCT, SAME
from reactant.differentiate.smooth import LOG_OF_SUM, SINC
from reactant.errors import NotDifferentiable
from reactant.ir import attributes as attr
from reactant.ir import creation, interpret, ops
from reactant.ir.extremes import CHOICES, extreme_of
from reactant.ir.types import dtype_of, shape_of, tensor_type

IDENTITY = {"add": 0.0, "multiply": 1.0, "maximum": float("-inf"), "minimum": float("inf")}
"""What changes nothing, by op."""

_THROUGH = {"stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.optimization_barrier"}
"""Ops that do nothing to a scalar."""


def body_of(op: ir.Operation) -> str | None:
    """The op that combines two elements, "second" for "the new one", or None for anything else."""
    return body_of_region(op, 0)


def body_of_region(op: ir.Operation, region: int) -> str | None:
    """As `body_of`, of any region."""
    block = op.regions[region].blocks[0]
    body, returned = block_ops(block)
    first, second = (list(block.arguments) + [None, None])[:2]
    if len(returned) != 1:
        return None
    if not body:
        return "second" if returned[0] == second else None
    if len(body) == 1 and returned[0] == body[0].result and set(body[0].operands) == {first, second}:
        return body[0].name.removeprefix("stablehlo.")
    return None


def chosen_extreme(op: ir.Operation) -> str | None:
    """"maximum" or "minimum" where a reduction chooses that by comparisons, so that NaN loses against numbers."""
    block = op.regions[0].blocks[0]
    body, returned = block_ops(block)
    if len(block.arguments) != 2 or len(returned) != 1 \
            or any(each.name != "stablehlo.compare" and _word(each) not in CHOICES for each in body) \
            or any(x.owner != block and x.owner.operation not in body for each in body for x in each.operands):
        return None

    def value(a: float, b: float) -> Any:
        known: dict[ir.Value, Any] = dict(zip(block.arguments, (a, b), strict=True))
        for each in body:
            does: Any = ops.COMPARISONS[attr.decode(each.attributes["comparison_direction"])] \
                if each.name == "stablehlo.compare" else CHOICES[_word(each)]
            known[each.result] = does(*(known[x] for x in each.operands))
        return known.get(returned[0])

    return extreme_of(value)


def _word(op: ir.Operation) -> str:
    return op.name.removeprefix("stablehlo.")


def applied(call: Call, arguments: Sequence[ir.Value], region: int = 0) -> list[ir.Value]:
    """A region over scalars, on arrays of one shape, element by element. Raises `NotDifferentiable` for bodies with
    other than elementwise ops."""
    block = call.op.regions[region].blocks[0]
    shape = shape_of(arguments[0])
    known = dict(zip(block.arguments, arguments, strict=True))
    body, returned = block_ops(block)
    for op in body:
        if op.name == "stablehlo.constant":
            known[op.result] = ops.constant(ops.constant_value(op.result), dtype_of(op.result), shape)
            continue
        if any(x not in known for x in op.operands):
            raise call.refuse("its body uses values from outside.")
        operands = [known[x] for x in op.operands]
        if any(mark in op.attributes for mark in (LOG_OF_SUM, SINC, SAME, PRODUCT, HYPOT)):
            made = ops.create(op.name, [x.type for x in operands], operands, attributes_of(op))
            known.update(zip(op.results, made.results, strict=True))
        elif op.name in _THROUGH and all(not shape_of(r) for r in op.results):
            known.update(zip(op.results, operands, strict=True))
        elif op.name in ops.ELEMENTWISE:
            type_ = tensor_type(shape, dtype_of(op.result))
            known[op.result] = ops.create(op.name, [type_], operands, attributes_of(op)).result
        else:
            raise call.refuse(f"its body has the operation '{op.name}', not only elementwise ones.")
    if any(v not in known for v in returned):
        raise call.refuse("its body returns a value from outside.")
    return [known[v] for v in returned]


def evaluated_body(call: Call, arguments: Sequence[Any]) -> np.ndarray | None:
    """What a region over scalars makes of constants of the operands' types; None where it is not elementwise."""
    made, before = ir.Module.create(), creation.record(None)
    try:
        with ir.InsertionPoint(made.body), ir.Location.unknown():
            main = func_dialect.FuncOp("main", ([], [tensor_type((), dtype_of(call.inputs[0]))]))
            with ir.InsertionPoint(main.add_entry_block()):
                values = [ops.constant(np.asarray(each), dtype_of(call.inputs[0])) for each in arguments]
                ops.create("func.return", [], applied(call, values))
        return interpret.evaluate(made, [])[0]
    except (NotDifferentiable, interpret.NotInterpretable):
        return None
    finally:
        creation.record(before)
