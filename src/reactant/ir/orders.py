"""What the comparator of a sort means, where it asks whether one operand's element comes before another's."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import is_float, shape_and_dtype
from reactant.support.records import dataclass

FLOATS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
"""Bits of the exponent and of the fraction."""


@dataclass(frozen=True)
class Order:
    """How elements of a key compare: `key`, the operand; as "signed" or "unsigned" integers, floats in "total" order,
    or "canonical" ones, where all NaN are last and zeros are equal."""

    key: int
    kind: str
    descending: bool

    @property
    def strict(self) -> bool:
        """Whether equal keys are the same bits."""
        return self.kind != "canonical"


def order_of(op: ir.Operation) -> Order | None:
    """The order of a sort by one key; None where it is another one."""
    block = op.regions[0].blocks[0]
    arguments = list(block.arguments)
    last = block.operations[len(block.operations) - 1].operation.operands[0]
    if isinstance(last.owner, ir.Block) or last.owner.name != "stablehlo.compare":
        return None
    compare = last.owner
    direction = attr.decode(compare.attributes["comparison_direction"])
    kind = attr.decode(compare.attributes["compare_type"]) if "compare_type" in compare.attributes else None
    if direction not in ("LT", "GT"):
        return None
    seen = [_seen(v) for v in compare.operands]
    if seen[0] is None or seen[1] is None or seen[0][1] != seen[1][1]:
        return None
    places = [next((k for k, a in enumerate(arguments) if a == s[0]), -1) for s in seen if s is not None]
    if places[0] < 0 or places[0] % 2 or places[1] != places[0] + 1:
        # b < a is a > b
        if places[1] < 0 or places[1] % 2 or places[0] != places[1] + 1:
            return None
        places.reverse()
        direction = {"LT": "GT", "GT": "LT"}[direction]
    canonical = seen[0][1]
    dtype = shape_and_dtype(arguments[places[0]].type)[1]
    if is_float(dtype):
        if kind != "TOTALORDER" or dtype.name not in FLOATS:
            return None
        return Order(places[0] // 2, "canonical" if canonical else "total", direction == "GT")
    if canonical or dtype.kind not in "biu" or dtype.itemsize not in (1, 2, 4, 8) or dtype.name.endswith("int4"):
        return None
    return Order(places[0] // 2, "signed" if dtype.kind == "i" else "unsigned", direction == "GT")


def _seen(value: ir.Value) -> tuple[ir.Value, bool] | None:
    """(argument, whether made canonical) of what a comparator compares: select(x != x, NaN, select(x == 0, 0, x))."""
    if isinstance(value.owner, ir.Block):
        return value, False
    if value.owner.name != "stablehlo.select":
        return None
    test, nan, rest = value.owner.operands
    if isinstance(rest.owner, ir.Block) or rest.owner.name != "stablehlo.select":
        return None
    is_zero, zero, argument = rest.owner.operands
    if not isinstance(argument.owner, ir.Block):
        return None
    bits, nothing = ops.constant_value(nan), ops.constant_value(zero)
    good = (_compares(test, "NE", argument, argument) and bits is not None and np.isnan(bits).all()
            and not np.signbit(bits).any() and nothing is not None and not nothing.any()
            and not np.signbit(nothing).any()
            and (_compares(is_zero, "EQ", argument, zero) or _compares_zero(is_zero, argument)))
    return (argument, True) if good else None


def _compares(value: ir.Value, direction: str, left: ir.Value, right: ir.Value) -> bool:
    op = value.owner
    return (not isinstance(op, ir.Block) and op.name == "stablehlo.compare" and list(op.operands) == [left, right]
            and attr.decode(op.attributes["comparison_direction"]) == direction
            and ("compare_type" not in op.attributes or attr.decode(op.attributes["compare_type"]) == "FLOAT"))


def _compares_zero(value: ir.Value, argument: ir.Value) -> bool:
    op = value.owner
    if isinstance(op, ir.Block) or op.name != "stablehlo.compare":
        return False
    found = ops.constant_value(op.operands[1])
    return found is not None and not found.any() and _compares(value, "EQ", argument, op.operands[1])
