"""Run-time checks: an assertion before every access of a kernel in structured form, with the kernel's line."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.errors import RUN_TIME_ERRORS
from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.form.form import kernel_of, line_of
from reactant.kernels.form.interpret import OutOfBounds
from reactant.kernels.form.rebuild import argument_attributes

MARK = "reactant: out of bounds: "
"""What the messages of failed checks start with."""
RUN_TIME_ERRORS[MARK] = OutOfBounds
_PLACES = {"memref.load": (0, 1), "memref.store": (1, 2), "memref.atomic_rmw": (1, 2),
           "memref.generic_atomic_rmw": (0, 1)}
"""Accesses: which operand is the memory, which the index."""


def add_bounds_checks(module: ir.Module, name: str) -> ir.Module:
    """Change the module's kernel: every access of memory whose size is known is checked first."""
    with building():
        function = kernel_of(module)
        sizes = _sizes(function)
        for op in [op for op in modules.walk(function) if op.name in _PLACES]:
            memory, index = (op.operands[i] for i in _PLACES[op.name])
            found = sizes.get(memory) or _static(memory)
            if found is not None:
                _check(op, index, *found, name)
    return module


def _sizes(function: ir.Operation) -> dict[ir.Value, tuple[int, str]]:
    """Buffer -> (elements, name)."""
    found = {}
    for argument, notes in zip(function.regions[0].blocks[0].arguments, argument_attributes(function), strict=True):
        if "reactant.elements" in notes:
            label = ir.StringAttr(notes["reactant.name"]).value if "reactant.name" in notes else "an array"
            found[argument] = ir.IntegerAttr(notes["reactant.elements"]).value, f"'{label}'"
    return found


def _static(memory: ir.Value) -> tuple[int, str] | None:
    kind = ir.MemRefType(memory.type)
    if kind.rank != 1 or kind.is_dynamic_dim(0):
        return None
    notes = memory.owner.attributes
    name = f" '{ir.StringAttr(notes['reactant.name']).value}'" if "reactant.name" in notes else ""
    what = "shared array" if "workgroup" in str(kind.memory_space) else "local array"
    return kind.shape[0], f"the {what}{name}" if name else f"a {what}"


def _check(op: ir.Operation, index: ir.Value, elements: int, what: str, name: str) -> None:
    verb = "reads" if op.name == "memref.load" else "writes"
    place = line_of(op)
    message = f"{MARK}the kernel '{name}' {verb} outside {what}, which has {elements} elements"
    message += f", at {place}" if place else ""
    with op.location, ir.InsertionPoint(op):
        index_type, i64, i1 = ir.IndexType.get(), ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(1)
        size = ir.Operation.create("arith.constant", results=[index_type],
                                   attributes={"value": ir.IntegerAttr.get(index_type, elements)}).results[0]
        below = ir.Operation.create("arith.cmpi", results=[i1], operands=[index, size],
                                    attributes={"predicate": ir.IntegerAttr.get(i64, _UNSIGNED_LESS)}).results[0]
        ir.Operation.create("cf.assert", operands=[below], attributes={"msg": ir.StringAttr.get(message)})


_UNSIGNED_LESS = 6
