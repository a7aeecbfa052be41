"""Loops, branches and calls: they carry limbs."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision.conversion import Conversion, declare
from reactant.precision.rules.structure import attributes_of
from reactant.precision.values import Value, flat


@declare("while", "if", "case")
def regions(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """The operation with limbs in all of its regions."""
    types = [value.type for value in op.results]
    made = ops.create(op.name, results=c.types(types), operands=flat(operands), attributes=attributes_of(op),
                      regions=len(op.regions))
    for old, new in zip(op.regions, made.regions, strict=True):
        c.region(old, new)
    return c.grouped(list(made.results), types)


@declare("func.call")
def call(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """A call of a private function, which takes limbs and gives them."""
    types = [value.type for value in op.results]
    return c.grouped(ops.call(op.attributes["callee"].value, flat(operands), c.types(types)), types)
