"""The complex step: the derivative of a program along a direction t as Im f(x + i h t) / h.

Nothing is subtracted, so that h can be as small as one likes and the result is exact to rounding (Squire and Trapp,
1998). The program is rewritten over complex numbers. That is right where what it does with floats is analytic, or is
analytic on either side of a comparison; comparisons see real parts.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops
from reactant.differentiate.declare import attributes_of
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.differentiate.structure.structure import readable
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import dtype_of, shape_of, tensor_type
from reactant.runtime.executable import Executable

STEP = 1e-30

SAME = frozenset(
    "add subtract multiply divide negate exponential exponential_minus_one log log_plus_one tan tanh "
    "logistic sqrt rsqrt dot_general reduce reduce_window scatter gather dynamic_slice dynamic_update_slice slice pad "
    "concatenate reverse transpose reshape broadcast_in_dim dynamic_gather sort select while if case return "
    "optimization_barrier".split())
"""Operations that are the same over complex numbers."""


class NotAnalytic(Exception):
    """The program does something with floats that is not known to be analytic."""


def along(module: ir.Module, arguments: Sequence[Any], imaginary: Sequence[bool]) -> list[np.ndarray] | None:
    """The derivatives of the results of `main`, all float64. The first arguments, as far as they are marked as
    `imaginary`, are directions: they come in as i h t. None where the complex step does not apply."""
    try:
        program = Executable(_complexified(readable(module)), name="complex_step")
    except NotAnalytic:
        return None
    marks = [*imaginary, *[False] * (len(arguments) - len(imaginary))]
    given = [_argument(np.asarray(x), 1j * STEP if mark else 1) for x, mark in zip(arguments, marks, strict=True)]
    return [np.asarray(y).imag / STEP for y in program(given)]


def _argument(x: np.ndarray, factor: complex) -> np.ndarray:
    return (factor * x).astype(np.complex128) if x.dtype == np.float64 else x


def _complexified(module: ir.Module) -> ir.Module:
    with building():
        source = modules.function(module).regions[0].blocks[0]
        made, block = new_function([_lifted(a.type) for a in source.arguments])
        mapping = dict(zip(source.arguments, block.arguments, strict=True))
        body, returned = block_ops(source)
        with ir.InsertionPoint(block):
            for op in body:
                _rewrite(op, mapping)
            finish(made, [mapping[v] for v in returned])
        return made


def _is_float(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and isinstance(value.type.element_type, ir.F64Type)


def _lifted(kind: ir.Type) -> ir.Type:
    """float64 as complex128. Raises for other floats."""
    if not isinstance(kind, ir.RankedTensorType) or isinstance(kind.element_type, ir.IntegerType):
        return kind
    if not isinstance(kind.element_type, ir.F64Type):
        raise NotAnalytic
    return tensor_type(tuple(kind.shape), np.complex128)


def _rewrite(op: ir.Operation, mapping: dict[ir.Value, ir.Value]) -> None:
    """The op over complex numbers at the insertion point; `mapping` learns its results."""
    name = op.name.removeprefix("stablehlo.")
    operands = [mapping[v] for v in op.operands]
    rule = RULES.get(name)
    if rule is not None and any(map(_is_float, [*op.operands, *op.results])):
        mapping[op.result] = rule(op, *operands)
        return
    if name not in SAME and any(map(_is_float, [*op.operands, *op.results])):
        raise NotAnalytic
    made = ops.create(op.name, [_lifted(r.type) for r in op.results], operands, attributes_of(op), len(op.regions))
    for old, new in zip(op.regions, made.regions, strict=True):
        for block in old.blocks:
            inner = new.blocks.append(*(_lifted(a.type) for a in block.arguments))
            mapping.update(zip(block.arguments, inner.arguments, strict=True))
            with ir.InsertionPoint(inner):
                for each in block:
                    _rewrite(each.operation, mapping)
    mapping.update(zip(op.results, made.results, strict=True))


# ---- operations that differ ------------------------------------------------------------------------------------------

def _complex(x: ir.Value) -> ir.Value:
    return ops.complex(x, ops.constant(0, np.float64, shape_of(x)))


def _of_real_parts(op: ir.Operation, *operands: ir.Value) -> ir.Value:
    return ops.create(op.name, [op.result.type], list(map(ops.real, operands)), attributes_of(op)).result


def _convert(op: ir.Operation, x: ir.Value) -> ir.Value:
    to = dtype_of(op.result)
    if to != np.float64:
        _lifted(op.result.type)
        return ops.convert(ops.real(x), to)
    return _complex(ops.convert(x, to))


def _absolute(z: ir.Value) -> ir.Value:
    return ops.select(ops.compare(ops.real(z), 0.0, "LT"), ops.negate(z), z)


def _power(z: ir.Value, w: ir.Value) -> ir.Value:
    """Negative bases have whole exponents: their sign apart, so that rounded angles leave no imaginary part."""
    sign = ops.power(ops.sign(ops.real(z)), ops.real(w))
    return ops.multiply(_complex(sign), ops.exponential(ops.multiply(w, ops.log(_absolute(z)))))


def _cube_root(z: ir.Value) -> ir.Value:
    third = ops.constant(1 / 3, np.complex128, shape_of(z))
    return ops.multiply(_complex(ops.sign(ops.real(z))), ops.exponential(ops.multiply(third, ops.log(_absolute(z)))))


def _sine(z: ir.Value) -> ir.Value:
    """sin a cosh b + i cos a sinh b, where b is so small that cosh b = 1 and sinh b = b: XLA's own loses b."""
    a, b = ops.real(z), ops.imag(z)
    return ops.complex(ops.sine(a), ops.multiply(b, ops.cosine(a)))


def _cosine(z: ir.Value) -> ir.Value:
    a, b = ops.real(z), ops.imag(z)
    return ops.complex(ops.cosine(a), ops.negate(ops.multiply(b, ops.sine(a))))


def _larger(a: ir.Value, b: ir.Value) -> ir.Value:
    return ops.select(ops.compare(ops.real(a), ops.real(b), "GE"), a, b)


def _smaller(a: ir.Value, b: ir.Value) -> ir.Value:
    return ops.select(ops.compare(ops.real(a), ops.real(b), "LE"), a, b)


def _constant_between(op: ir.Operation, *operands: ir.Value) -> ir.Value:
    """Piecewise constant functions, and what only makes floats."""
    return _complex(_of_real_parts(op, *operands))


RULES: dict[str, Callable[..., ir.Value]] = {
    "constant": lambda op: ops.constant(np.asarray(ops.constant_value(op.result)).astype(np.complex128)),
    "compare": _of_real_parts,
    "is_finite": _of_real_parts,
    "convert": _convert,
    "abs": lambda op, z: _absolute(z),
    "power": lambda op, z, w: _power(z, w),
    "cbrt": lambda op, z: _cube_root(z),
    "sine": lambda op, z: _sine(z),
    "cosine": lambda op, z: _cosine(z),
    "maximum": lambda op, a, b: _larger(a, b),
    "minimum": lambda op, a, b: _smaller(a, b),
    "clamp": lambda op, low, z, high: _smaller(_larger(z, _like(low, z)), _like(high, z)),
    **dict.fromkeys(("iota", "sign", "floor", "ceil", "round_nearest_even", "round_nearest_afz"), _constant_between),
}


def _like(x: ir.Value, other: ir.Value) -> ir.Value:
    return x if shape_of(x) == shape_of(other) else ops.broadcast_in_dim(x, shape_of(other), [])
