"""The scalar bodies of reductions, scatters and maps: which one it is, and the body on whole arrays."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func as func_dialect

from reactant.differentiate.activity import block_ops
from reactant.differentiate.declare import Call, attributes_of
from reactant.differentiate.recognised.signs import HYPOT, PRODUCT, SAME
from reactant.differentiate.recognised.smooth import LOG_OF_SUM, SINC
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


SAMPLES = 16


def is_associative(call: Call) -> bool:
    """Whether f(f(a, b), c) = f(a, f(b, c)) for the region of an op over scalars, told by random numbers."""
    random = np.random.default_rng(0)
    types = [dtype_of(v) for v in list(call.op.regions[0].blocks[0].arguments)]
    types = types[:len(types) // 2]

    def both() -> list[ir.Value]:
        a, b, c = ([ops.constant(random.uniform(0.5, 1.5, SAMPLES).astype(t)) for t in types] for _ in range(3))
        return [*applied(call, [*applied(call, [*a, *b]), *c]), *applied(call, [*a, *applied(call, [*b, *c])])]

    found = _evaluated(both, [tensor_type((SAMPLES,), t) for t in types] * 2)
    return found is not None and all(np.allclose(left, right, rtol=1e-2 if t.itemsize < 4 else 1e-4) for left, right, t
                                     in zip(found, found[len(types):], types, strict=False))


def evaluated_body(call: Call, arguments: Sequence[Any]) -> np.ndarray | None:
    """What a region over scalars makes of constants of the operands' types; None where it is not elementwise."""
    type_ = dtype_of(call.inputs[0])
    found = _evaluated(lambda: applied(call, [ops.constant(np.asarray(each), type_) for each in arguments]),
                       [tensor_type((), type_)])
    return None if found is None else found[0]


def _evaluated(build: Callable[[], Sequence[ir.Value]], types: Sequence[ir.Type]) -> list[np.ndarray] | None:
    """What a function builds, computed; None where nobody knows how."""
    made, before = ir.Module.create(), creation.record(None)
    try:
        with ir.InsertionPoint(made.body), ir.Location.unknown():
            main = func_dialect.FuncOp("main", ([], list(types)))
            with ir.InsertionPoint(main.add_entry_block()):
                ops.create("func.return", [], list(build()))
        return list(interpret.evaluate(made, []))
    except (NotDifferentiable, interpret.NotInterpretable):
        return None
    finally:
        creation.record(before)
