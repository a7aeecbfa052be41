"""Operations of which XLA makes others that are equal for real numbers, not for floats.

XLA divides by the product of two divisors for x / y / z, which may be 0 or infinite, takes sqrt(x * x) for |x|, which
neither overflows nor underflows, log(exp(x)) for x, |x| >= 0 for true, and x / sqrt(y) for a product with a rounded
reciprocal: x / sqrt(x * x) may be above 1 then, its arccosine NaN. It merges constants: (x + c) - c is x (jax 0.10.2;
`xla/hlo/transforms/simplifiers/algebraic_simplifier.cc`). NumPy's programs compute what is written: a barrier, gone
when XLA fuses, stands between the operations that XLA would join.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.attributes import decode
from reactant.ir.types import dtype_of, is_float


def _names(words: str) -> frozenset[str]:
    return frozenset(f"stablehlo.{word}" for word in words.split())


_ROOTS = "sqrt rsqrt cbrt"
JOINED: dict[str, tuple[frozenset[str], ...]] = {
    "stablehlo.divide": (_names("divide"), _names(f"divide exponential power {_ROOTS}")),
    "stablehlo.sqrt": (_names("multiply power divide"),),
    "stablehlo.rsqrt": (_names("multiply power divide"),),
    "stablehlo.log": (_names(f"exponential power multiply divide {_ROOTS}"),),
    "stablehlo.power": (_names(f"exponential power {_ROOTS}"), frozenset()),
}
"""Ops, and for each operand the ops with which XLA may join them."""
PAIRED = _names(f"exponential {_ROOTS}")
"""Ops of which XLA joins two in a product."""
CHAINED = {name: family for family in (_names("add subtract"), _names("multiply divide")) for name in family}
"""Ops of which XLA merges the constants, and with which others."""
SEEN_THROUGH = _names("reshape transpose broadcast_in_dim reverse slice negate")
"""Ops that XLA moves out of the way."""
CONCERNED = (b"divide", b"sqrt", b"power", b"log", b"multiply", b"add", b"subtract", b"compare")
"""One of them is in the bytecode of a module that `kept` may change."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it with those barriers."""
    return modules.altered(module, lambda op: bool(_joined(op)), _hide)


def _hide(op: ir.Operation) -> None:
    for index in _joined(op):
        op.operands[index] = ops.optimization_barrier(op.operands[index])[0]


def _joined(op: ir.Operation) -> list[int]:
    """The operands behind which XLA must not look."""
    name = op.name
    if name not in JOINED and name not in CHAINED and name != "stablehlo.compare" or not is_float(
            dtype_of(op.operands[0])):
        return []
    makers = [_maker(operand) for operand in op.operands]
    if name == "stablehlo.compare":
        return _compared(op, makers)
    inner = JOINED.get(name)
    found = [] if inner is None else [index for index, names in enumerate(inner) if makers[index] in names]
    if found or name not in CHAINED:
        return found
    if name == "stablehlo.multiply" and makers[0] == makers[1] and makers[0] in PAIRED:
        return [0]
    return [index for index in (0, 1) if makers[1 - index] == _CONSTANT and makers[index] in CHAINED[name]
            and _has_constant(_source(op.operands[index]))]


def _has_constant(made: ir.Operation | None) -> bool:
    return made is not None and any(_maker(operand) == _CONSTANT for operand in made.operands)


def _compared(op: ir.Operation, makers: list[str]) -> list[int]:
    """XLA takes what is never negative to be at least 0, but NaN is not."""
    direction = str(decode(op.attributes["comparison_direction"]))
    if (direction, makers[1]) == ("GE", _CONSTANT):
        return [0] if makers[0] else []
    if (direction, makers[0]) == ("LE", _CONSTANT):
        return [1] if makers[1] else []
    return []


_CONSTANT = "stablehlo.constant"


def _source(value: ir.Value) -> ir.Operation | None:
    while (made := ops.maker(value)) is not None and made.name in SEEN_THROUGH:
        value = made.operands[0]
    return made


def _maker(value: ir.Value) -> str:
    made = _source(value)
    return "" if made is None else made.name
