"""LLVM's atomic operations as `memref.atomic_rmw` where it has the kind, else as `memref.generic_atomic_rmw`."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jaxlib.mlir import ir

if TYPE_CHECKING:
    from reactant.kernels.form.build import Builder

KINDS = ("xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "fadd", "fsub", "fmax", "fmin",
         "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmaximum", "fminimum")
"""LLVM's kinds, by their numbers in the llvm dialect."""
DIRECT = {"xchg": 3, "add": 1, "and": 2, "or": 14, "xor": 15, "max": 6, "min": 10, "umax": 7, "umin": 11, "fadd": 0,
          "fmax": 5, "fmin": 9, "fmaximum": 4, "fminimum": 8}
"""Kinds of `memref.atomic_rmw` (arith's AtomicRMWKind) for LLVM's."""


def atomic(at: Builder, number: int, memory: ir.Value, index: ir.Value, value: ir.Value) -> ir.Value:
    """memref.atomic_rmw with a kind of arith; the old value."""
    return ir.Operation.create("memref.atomic_rmw", [value.type], [value, memory, index], attributes={
        "kind": ir.IntegerAttr.get(at.i64, number)}).results[0]


def generic(at: Builder, memory: ir.Value, index: ir.Value, kind: ir.Type,
            new: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """memref.generic_atomic_rmw: `new` builds the new value from the old one, both of type `kind`; the old value."""
    element = ir.MemRefType(memory.type).element_type
    made = ir.Operation.create("memref.generic_atomic_rmw", [element], [memory, index], regions=1)
    block = ir.Block.create_at_start(made.regions[0], [element], [ir.Location.current])
    with ir.InsertionPoint(block):
        value = at.reinterpret(new(at.reinterpret(block.arguments[0], kind)), element)
        ir.Operation.create("memref.atomic_yield", [], [value])
    return at.reinterpret(made.results[0], kind)


def read_modify_write(at: Builder, number: int, memory: ir.Value, index: ir.Value, value: ir.Value) -> ir.Value:
    """An LLVM atomicrmw of a kind (its number in the llvm dialect); the old value."""
    name, kind = KINDS[number], value.type
    element = ir.MemRefType(memory.type).element_type
    if name == "sub":
        name, value = "add", at.create("arith.subi", kind, at.zero(kind), value)
    elif name == "fsub":
        name, value = "fadd", at.create("arith.negf", kind, value)
    if name == "xchg":
        return at.reinterpret(atomic(at, DIRECT[name], memory, index, at.reinterpret(value, element)), kind)
    if name in DIRECT and element == kind:
        return atomic(at, DIRECT[name], memory, index, value)
    return generic(at, memory, index, kind, lambda old: updated(at, name, old, value))


def updated(at: Builder, name: str, old: ir.Value, value: ir.Value) -> ir.Value:
    """The new value of an LLVM atomicrmw."""
    kind = value.type
    simple = {"add": "addi", "and": "andi", "or": "ori", "xor": "xori", "max": "maxsi", "min": "minsi", "umax": "maxui",
              "umin": "minui", "fadd": "addf", "fmax": "maxnumf", "fmin": "minnumf", "fmaximum": "maximumf",
              "fminimum": "minimumf"}
    if name in simple:
        return at.create(f"arith.{simple[name]}", kind, old, value)
    one, zero = at.integer(1, kind), at.integer(0, kind)
    if name == "nand":
        return at.create("arith.xori", kind, at.create("arith.andi", kind, old, value), at.integer(-1, kind))
    if name == "uinc_wrap":
        return at.create("arith.select", kind, at.compare("uge", old, value), zero,
                         at.create("arith.addi", kind, old, one))
    less = at.create("arith.subi", kind, old, one if name == "udec_wrap" else value)
    if name == "udec_wrap":
        wraps = at.create("arith.ori", at.i1, at.compare("eq", old, zero), at.compare("ugt", old, value))
        return at.create("arith.select", kind, wraps, value, less)
    return at.create("arith.select", kind, at.compare("uge", old, value), less, old if name == "usub_cond" else zero)


def compare_exchange(at: Builder, memory: ir.Value, index: ir.Value, expected: ir.Value, new: ir.Value) -> ir.Value:
    """Store `new` if `expected` is there; the old value."""
    return generic(at, memory, index, new.type,
                   lambda old: at.create("arith.select", new.type, at.compare("eq", old, expected), new, old))
