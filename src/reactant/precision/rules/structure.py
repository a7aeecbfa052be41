"""Operations that move elements: each limb is moved in the same way."""
from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_and_dtype, tensor_type
from reactant.precision.conversion import Conversion, declare
from reactant.precision.values import Value, WideComplex, flat
from reactant.precision.wide import Wide

MOVING = ("reshape", "transpose", "broadcast_in_dim", "slice", "reverse", "dynamic_slice", "pad", "concatenate",
          "dynamic_update_slice", "gather", "select", "sdy.sharding_constraint", "dynamic_gather", "all_gather",
          "all_to_all", "collective_permute", "collective_broadcast")


@declare(*MOVING)
def moved(c: Conversion, op: ir.Operation, *operands: Value) -> Value:
    """The operation on each limb, with what it takes beside them: indices, predicates."""
    wide = next((v for v in operands if not isinstance(v, ir.Value)), None)
    if wide is None or len(op.results) != 1:
        raise c.refusal(op, f"'{op.name}' moves no numbers alone")
    shape = shape_and_dtype(op.results[0].type)[0]
    type_ = tensor_type(shape, c.limb)
    attributes = attributes_of(op)
    limbs = [ops.create(op.name, results=[type_], attributes=attributes,
                        operands=[v if isinstance(v, ir.Value) else v.limbs[k] for v in operands]).result
             for k in range(len(wide.limbs))]
    return Wide(limbs) if isinstance(wide, Wide) else WideComplex(Wide(limbs[:c.count]), Wide(limbs[c.count:]))


def attributes_of(op: ir.Operation) -> dict[str, Any]:
    """All attributes of an operation."""
    return {name: op.attributes[name] for name in (getattr(each, "name", each) for each in op.attributes)}


@declare("optimization_barrier")
def barrier(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """All limbs at once."""
    return c.grouped(ops.optimization_barrier(*flat(operands)), [value.type for value in op.results])


@declare("complex")
def complex_(c: Conversion, op: ir.Operation, re: Wide, im: Wide) -> WideComplex:
    """A pair."""
    return WideComplex(re, im)


@declare("real")
def real(c: Conversion, op: ir.Operation, x: Wide | WideComplex) -> Wide:
    """The first of the pair."""
    return x.re if isinstance(x, WideComplex) else x


@declare("imag")
def imag(c: Conversion, op: ir.Operation, x: Wide | WideComplex) -> Wide:
    """The second of the pair."""
    return x.im if isinstance(x, WideComplex) else x.of(0.0)
