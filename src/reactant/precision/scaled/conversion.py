"""The conversion of a module to limbs with a power of two for each array, and the rules for it.

Values carry their exponent as one more value (`numbers.Scaled`). Most operations are those of limbs, on mantissas: what
moves or compares elements wants one exponent for all operands, products add them, functions are given numbers without a
power. What has no rule here is refused with its line.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import dtype_of, shape_and_dtype, tensor_type
from reactant.options import CompileOptions
from reactant.precision import rules
from reactant.precision.conversion import RULES, Conversion, Format, Rule
from reactant.precision.left_alone import is_left
from reactant.precision.scaled import numbers
from reactant.precision.scaled.numbers import EXPONENT, Scaled
from reactant.precision.values import Value, flat
from reactant.precision.wide import Wide

SCALED: dict[str, Rule] = {f"stablehlo.{name}": RULES[f"stablehlo.{name}"] for name in ("while", "if", "case")}
"""By the names of operations, as `conversion.RULES`."""
assert rules.__all__        # those of limbs are declared by importing them


class ScaledConversion(Conversion):
    """A conversion whose numbers have an exponent of their own. plain: one without, for mantissas."""

    def __init__(self, module: ir.Module, format_: Format, options: CompileOptions):
        super().__init__(module, format_, options)
        self.became.limbs += " scaled"
        self.plain = Conversion(module, format_, options)
        self.plain.values = self.values

    def run(self) -> None:
        """Make every function anew."""
        modules.inline_calls(self.module)
        super().run()

    def limbs_of_type(self, type_: ir.Type) -> int:
        """One more than there are limbs, for real numbers; complex numbers are refused where they are made."""
        found = super().limbs_of_type(type_)
        return self.count + 1 if found == self.count else found

    def types(self, types: Sequence[ir.Type]) -> list[ir.Type]:
        """The types of limbs and exponents."""
        found: list[ir.Type] = []
        for type_ in types:
            limbs = [tensor_type(tuple(type_.shape), self.limb)] * self.count if self.limbs_of_type(type_) else [type_]
            found += [*limbs, tensor_type((), EXPONENT)] if self.limbs_of_type(type_) else limbs
        return found

    def grouped(self, values: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[Value]:
        """Limbs and exponents as numbers of these types."""
        left = iter(values)
        found: list[Any] = []
        for type_ in types:
            taken = [next(left) for _ in range(max(self.limbs_of_type(type_), 1))]
            found.append(Scaled(Wide(taken[:-1]), taken[-1]) if len(taken) > 1 else taken[0])
        return found

    def operation(self, op: ir.Operation) -> None:
        """Make one operation anew."""
        if not self.concerns(op):
            super().operation(op)
            return
        for value in (*op.operands, *op.results):
            if Conversion.limbs_of_type(self, value.type) == 2 * self.count:
                raise self.refusal(op, "complex numbers have no form with a power of two")
        operands = [self.values[operand] for operand in op.operands]
        rule = None if is_left(file_and_line(op.location), self.options.without_limbs) else SCALED.get(op.name, _none)
        found = None if rule is None else rule(self, op, *operands)
        if found is None:
            self._leave(op, operands)
            return
        self.values.update(zip(op.results, found if isinstance(found, (list, tuple)) else [found], strict=True))

    def split(self, value: ir.Value, name: str = "") -> Value:
        """A value as limbs and an exponent, where it becomes any."""
        if not self.concerns_type(value.type):
            return value
        if shape_and_dtype(value.type)[1] != self.source:
            raise self.refusal(_Here(), "complex numbers have no form with a power of two")
        return _value(numbers.split(value, self.limb, self.count))

    def join(self, value: Value) -> ir.Value:
        """As a value of the source format."""
        return numbers.join(value, self.source) if isinstance(value, Scaled) else value

    def on_mantissas(self, op: ir.Operation, operands: Sequence[Any]) -> list[Any]:
        """What an operation makes of these, as operands without a power."""
        found = RULES[op.name](self.plain, op, *operands)
        return list(found) if isinstance(found, (list, tuple)) else [found]


class _Here:
    """In place of an operation: the location at hand."""

    @property
    def location(self) -> ir.Location:
        """Of what is being made."""
        return ir.Location.current


def _value(found: Scaled) -> Any:
    return found


def _none(c: Conversion, op: ir.Operation, *operands: Value) -> None:
    raise c.refusal(op, f"'{op.name}' has no form with a power of two")


def declare(*names: str) -> Any:
    """Say what operations become; names without a dialect are those of StableHLO."""
    def keep(rule: Rule) -> Rule:
        SCALED.update((name if "." in name else f"stablehlo.{name}", rule) for name in names)
        return rule
    return keep


# ---- one exponent for all ------------------------------------------------------------------------------------------

INVARIANT = {f"stablehlo.{name}" for name in (
    "add", "subtract", "maximum", "minimum", "compare", "select", "and", "or", "not", "xor", "negate", "abs", "return",
    "sign", "is_finite")}
"""Operations in a region that mean the same where all numbers are multiplied with a power of two."""
SAME_EXPONENT = ("reshape", "transpose", "broadcast_in_dim", "reverse", "negate", "abs", "sdy.sharding_constraint")


def _aligned(operands: Sequence[Any]) -> tuple[list[Any], ir.Value | None]:
    """Operands without their powers, for one exponent, and that; None where no operand has one."""
    scaled = [x for x in operands if isinstance(x, Scaled)]
    if not scaled:
        return list(operands), None
    mantissas, top = numbers.aligned(scaled)
    left = iter(mantissas)
    return [next(left) if isinstance(x, Scaled) else x for x in operands], top


@declare("slice", "dynamic_slice", "pad", "concatenate", "dynamic_update_slice", "gather", "select", "maximum",
          "minimum", "clamp", "remainder", *SAME_EXPONENT)
def moved(c: ScaledConversion, op: ir.Operation, *operands: Value) -> list[Any]:
    """The operation on mantissas of one exponent."""
    given, top = _aligned(operands)
    assert top is not None
    found = c.on_mantissas(op, given)
    same = op.name.removeprefix("stablehlo.") in SAME_EXPONENT
    return [Scaled(x, top) if same else numbers.normalised(x, top) for x in found]


@declare("compare", "sign", "is_finite", "atan2", "chlo.is_inf")
def without_power(c: ScaledConversion, op: ir.Operation, *operands: Value) -> list[Any]:
    """What a common power of two changes nothing of."""
    found = c.on_mantissas(op, _aligned(operands)[0])
    return [numbers.normalised(x, numbers.whole(0)) if isinstance(x, Wide) else x for x in found]


@declare("reduce", "reduce_window", "scatter", "sort")
def with_region(c: ScaledConversion, op: ir.Operation, *operands: Value) -> list[Any]:
    """On mantissas, where the region only adds, compares and chooses; products of all elements in a tree."""
    body = [each.operation for each in op.regions[0].blocks[0]]
    if op.name == "stablehlo.reduce" and len(operands) == 2 and [each.name for each in body] == [
            "stablehlo.multiply", "stablehlo.return"]:
        return [_product(op, *operands)]
    if any(each.name not in INVARIANT for each in body) or any(map(c.concerns_type, (
            value.type for value in modules.captured(op)))):
        raise c.refusal(op, f"'{op.name}' by other operations than sums and comparisons has no form with a power of two")
    given, top = _aligned(operands)
    found = c.on_mantissas(op, given)
    return [numbers.normalised(x, top) if isinstance(x, Wide) and top is not None else x for x in found]


def _product(op: ir.Operation, x: Any, init: Any) -> Scaled:
    removed = tuple(np.asarray(op.attributes["dimensions"]).tolist())
    kept = [d for d in range(len(x.shape)) if d not in removed]
    rest = tuple(x.shape[d] for d in kept)
    count = int(np.prod([x.shape[d] for d in removed], dtype=int))
    start = init.each(lambda limb: ops.broadcast_in_dim(limb, rest, ()))
    if not count or 0 in rest:
        return start
    first = x.each(lambda limb: ops.reshape(ops.transpose(limb, (*removed, *kept)), (count, *rest)))
    return numbers.multiply(start, numbers.product(first))


@declare("optimization_barrier")
def barrier(c: ScaledConversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """All limbs and exponents at once."""
    return c.grouped(ops.optimization_barrier(*flat(operands)), [value.type for value in op.results])


# ---- made and given ------------------------------------------------------------------------------------------------

@declare("constant")
def constant(c: ScaledConversion, op: ir.Operation) -> Scaled:
    """Scaled where the program is compiled."""
    content = ops.constant_value(op.results[0])
    if content is None:
        raise c.refusal(op, "a constant has no content")
    return numbers.constant(content, c.limb, c.count)


@declare("iota")
def iota(c: ScaledConversion, op: ir.Operation) -> Scaled:
    """Counted in integers."""
    return numbers.normalised(c.on_mantissas(op, [])[0], numbers.whole(0))


@declare("convert")
def convert(c: ScaledConversion, op: ir.Operation, x: Any) -> Any:
    """Results beyond the range of a narrower format are infinite, as it says."""
    if not isinstance(x, Scaled):
        return numbers.normalised(c.on_mantissas(op, [x])[0], numbers.whole(0))
    dtype = dtype_of(op.results[0])
    if dtype == c.source:
        return x
    return c.on_mantissas(op, [x.mantissa if dtype.kind == "b" else numbers.plain(x)])


@declare("reduce_precision")
def reduce_precision(c: ScaledConversion, op: ir.Operation, x: Scaled) -> Scaled:
    """Rounding to the format itself."""
    found = c.on_mantissas(op, [x.mantissa])[0]
    if found is not x.mantissa:
        raise c.refusal(op, "rounding to another format has no form with a power of two")
    return x


@declare("bitcast_convert")
def bitcast_convert(c: ScaledConversion, op: ir.Operation, x: Value) -> None:
    """Bits are those of the source format."""


# ---- products and sums ---------------------------------------------------------------------------------------------

SCALED |= {"stablehlo.add": lambda c, op, x, y: numbers.add(x, y),
           "stablehlo.subtract": lambda c, op, x, y: numbers.subtract(x, y),
           "stablehlo.multiply": lambda c, op, x, y: numbers.multiply(x, y),
           "stablehlo.divide": lambda c, op, x, y: numbers.divide(x, y),
           "chlo.square": lambda c, op, x: numbers.multiply(x, x),
           "stablehlo.sqrt": lambda c, op, x: numbers.sqrt(x),
           "stablehlo.rsqrt": lambda c, op, x: numbers.divide(_one(x), numbers.sqrt(x))}


def _one(x: Scaled) -> Scaled:
    return Scaled(x.mantissa.of(1.0), numbers.whole(0))


@declare("dot_general", "convolution")
def products(c: ScaledConversion, op: ir.Operation, x: Any, y: Any) -> Scaled:
    """Of mantissas; exponents add."""
    if not isinstance(x, Scaled) or not isinstance(y, Scaled):
        raise c.refusal(op, f"'{op.name}' of two formats has no form with a power of two")
    found = c.on_mantissas(op, [x.mantissa, y.mantissa])[0]
    return numbers.normalised(found, ops.add(x.exponent, y.exponent))


@declare("power")
def power(c: ScaledConversion, op: ir.Operation, x: Scaled, y: Scaled) -> Scaled:
    """By whole numbers that are known, and halves."""
    known = _known(op.operands[1])
    twice = None if known is None else 2 * known
    if twice is None or twice != int(twice) or abs(twice) > 128:
        raise c.refusal(op, "a power has no form with a power of two but of whole numbers and halves up to 64")
    base, left = (numbers.sqrt(x), int(abs(twice))) if twice % 2 else (x, int(abs(twice)) // 2)
    found = None
    while left:
        if left & 1:
            found = base if found is None else numbers.multiply(found, base)
        left >>= 1
        base = numbers.multiply(base, base) if left else base
    found = _one(x) if found is None else found
    return numbers.divide(_one(x), found) if twice < 0 else found


def _known(x: ir.Value) -> float | None:
    """The number that is everywhere in an array."""
    made = ops.maker(x)
    while made is not None and made.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        x, made = made.operands[0], ops.maker(made.operands[0])
    content = ops.constant_value(x)
    found = None if content is None else ops.distinct(content)
    return float(found.reshape(-1)[0]) if found is not None and found.size and np.all(found == found.flat[0]) else None
