"""What accompanies a float in more precision: float64 for narrower formats, two limbs of float64 for float64 itself.

A twin does an operation on the wide companions of its operands, says how far a float is from its companion, and rounds
one to the float's own format.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import Span, UnsupportedError
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import dtype_of, is_complex, is_float, shape_and_dtype, tensor_type
from reactant.options import CompileOptions
from reactant.precision import entries, rules
from reactant.precision.accuracy.measures import Row
from reactant.precision.conversion import RULES, Conversion, Format
from reactant.precision.error_free import digits
from reactant.precision.values import Value, WideComplex, flat
from reactant.precision.wide import Wide

FLOAT64, COMPLEX128 = np.dtype(np.float64), np.dtype(np.complex128)
_LAPACK = re.compile(r"lapack_([sc])(\w+)")
assert rules        # loading them declares what limbs can do


SHAKEN = 4.0
"""Units in the last place by which companions are made wrong, to see what they are worth."""


def has_digits(type_: ir.Type) -> bool:
    """Whether values of a type are floats or complex numbers."""
    return isinstance(type_, ir.RankedTensorType) and _is_number(shape_and_dtype(type_)[1])


def _is_number(dtype: np.dtype) -> bool:
    return is_float(dtype) or is_complex(dtype)


def real_format(dtype: np.dtype) -> np.dtype:
    """The float of a complex format; a float itself."""
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64) if is_complex(dtype) else dtype


def digits_of(dtype: np.dtype) -> int:
    """Bits of a format's mantissas, the leading one included."""
    return digits(real_format(dtype))


class Twin:
    """What both kinds share. exponent: bits of the exponents of wide numbers' formats."""

    name = ""

    def widen(self, x: ir.Value) -> Value:
        """A float as its companion, exactly."""
        raise NotImplementedError

    def rounded(self, x: Value, dtype: np.dtype) -> ir.Value:
        """The nearest float of a format."""
        raise NotImplementedError

    def operation(self, op: ir.Operation, operands: Sequence[Value], captured: dict[ir.Value, Value],
                  ) -> list[Value] | None:
        """The results of an operation on companions; None where nothing is computed. captured: of what its regions use
        from outside. Raises `UnsupportedError` for what there is no wide form of."""
        raise NotImplementedError

    def parts(self, x: Value) -> list[ir.Value]:
        """What loops carry of a companion."""
        raise NotImplementedError

    def whole(self, parts: Sequence[ir.Value], dtype: np.dtype) -> Value:
        """A companion from its parts."""
        raise NotImplementedError

    def rows(self, x: ir.Value, wide: Value) -> list[Row]:
        """A float beside its companion, as it is measured; of complex numbers both parts, whose errors are parts of
        the larger one."""
        raise NotImplementedError

    def chosen(self, predicate: ir.Value, yes: Value, no: Value) -> Value:
        """`select`, by one truth."""
        raise NotImplementedError

    def shaken(self, x: Value, part: float) -> Value:
        """A companion that is wrong by such a part, from -1 to 1, of a few units in its last place."""
        raise NotImplementedError


def refusal(op: ir.Operation, why: str) -> UnsupportedError:
    """The error about an operation that cannot be done in more precision."""
    return UnsupportedError(f"reactant.accuracy: {why}.", span=Span.at(file_and_line(op.location)),
                            hint="Give it the part of the program before or after this line.", code="not-measured")


def _pair(re: Row, im: Row) -> list[Row]:
    """Rows of a complex number's parts."""
    scale = ops.maximum(ops.abs(re.head), ops.abs(im.head))
    return [row._replace(scale=scale) for row in (re, im)]


class Doubled(Twin):
    """float64 beside narrower floats: the operation itself, of other types."""

    name = "float64"

    def widen(self, x: ir.Value) -> ir.Value:
        return ops.convert(x, COMPLEX128 if is_complex(dtype_of(x)) else FLOAT64)

    def rounded(self, x: Value, dtype: np.dtype) -> ir.Value:
        assert isinstance(x, ir.Value)
        if is_complex(dtype):
            return ops.complex(*(self.rounded(part, real_format(dtype)) for part in (ops.real(x), ops.imag(x))))
        # compilers take a conversion to and fro for nothing, but not this one
        return ops.convert(ops.reduce_precision(x, entries.EXPONENT_BITS[dtype.name], digits(dtype) - 1), dtype)

    def operation(self, op: ir.Operation, operands: Sequence[Value], captured: dict[ir.Value, Value],
                  ) -> list[Value] | None:
        return retyped(op, dict(zip(op.operands, operands, strict=True)) | captured)

    def parts(self, x: Value) -> list[ir.Value]:
        assert isinstance(x, ir.Value)
        return [x]

    def whole(self, parts: Sequence[ir.Value], dtype: np.dtype) -> Value:
        return parts[0]

    def rows(self, x: ir.Value, wide: Value) -> list[Row]:
        assert isinstance(wide, ir.Value)
        return _pair(*(Row(part(x), part(wide)) for part in (ops.real, ops.imag))) if is_complex(dtype_of(x)) \
            else [Row(x, wide)]

    def chosen(self, predicate: ir.Value, yes: Value, no: Value) -> Value:
        return ops.select(predicate, yes, no)

    def shaken(self, x: Value, part: float) -> Value:
        assert isinstance(x, ir.Value)
        return ops.multiply(x, 1.0 + part * SHAKEN * 2.0**-52)


def wide_type(type_: ir.Type) -> ir.Type:
    """float64 in place of floats."""
    if not has_digits(type_):
        return type_
    shape, dtype = shape_and_dtype(type_)
    return tensor_type(shape, COMPLEX128 if is_complex(dtype) else FLOAT64)


def retyped(op: ir.Operation, mapping: dict[ir.Value, Any]) -> list[ir.Value]:
    """An operation, and those inside it, with float64 in place of floats. Raises `UnsupportedError` for calls of
    libraries that have no such form."""
    known = dict(mapping)
    made = modules.clone_with(op, known)
    for each in (made, *modules.walk(made)):
        _retype(each, op)
    return list(made.results)


def _retype(op: ir.Operation, source: ir.Operation) -> None:
    if op.name == "stablehlo.constant":
        content = ops.constant_value(op.results[0])
        if content is not None and _is_number(content.dtype):
            _replace_constant(op, content)
            return
    if op.name == "stablehlo.custom_call":
        _retarget(op, source)
    if op.name == "stablehlo.dot_general" and "algorithm" in op.attributes:
        del op.attributes["algorithm"]
    for result in op.results:
        result.set_type(wide_type(result.type))
    for region in op.regions:
        for block in region:
            for argument in block.arguments:
                argument.set_type(wide_type(argument.type))


def _replace_constant(op: ir.Operation, content: np.ndarray) -> None:
    made = content.astype(COMPLEX128 if content.dtype.kind == "c" else FLOAT64)
    op.results[0].set_type(wide_type(op.results[0].type))
    if content.dtype.kind == "c":
        with ir.InsertionPoint(op):
            op.results[0].replace_all_uses_with(ops.constant(made))
        return
    op.attributes["value"] = attr.dense(np.ascontiguousarray(made))


def _retarget(op: ir.Operation, source: ir.Operation) -> None:
    target = ops.target_of(op)
    if not any(_is_number(dtype_of(value)) for value in (*op.operands, *op.results)):
        return
    found = _LAPACK.fullmatch(target)
    if found is None:
        raise refusal(source, f"'{target}' is a call of a library, which has no form of more precision here")
    op.attributes["call_target_name"] = ir.StringAttr.get(
        f"lapack_{'d' if found[1] == 's' else 'z'}{found[2]}")


def _whole_exponent(op: ir.Operation) -> int | None:
    """The exponent of a power, where it is one small whole number."""
    if op.name != "stablehlo.power" or is_complex(dtype_of(op.operands[0])):
        return None
    base: ir.Value | None = op.operands[1]
    while base is not None and ops.made_by(base, "broadcast_in_dim", "convert", "reshape"):
        base = base.owner.operands[0]
    content = ops.constant_value(base)
    if content is None or not content.size or content.dtype.kind not in "fi":
        return None
    first = float(content.flat[0])
    return int(first) if np.all(content == first) and first == round(first) and 1 <= abs(first) <= MOST_POWER else None


def _power(x: Value, times: int) -> Value:
    """By products: two limbs have a power of their own, but it takes compilers a minute."""
    assert isinstance(x, Wide)
    found, square, left = None, x, abs(times)
    while left:
        if left & 1:
            found = square if found is None else found * square
        left >>= 1
        square = square * square if left else square
    assert found is not None
    return found if times > 0 else 1.0 / found


MOST_POWER = 64


class Limbs(Twin):
    """Two limbs of float64 beside float64; narrower floats of the same program have them too."""

    name = "float64x2"

    def __init__(self, module: ir.Module, options: CompileOptions):
        self.conversion = Conversion(module, Format(FLOAT64, FLOAT64, 2), options)

    def widen(self, x: ir.Value) -> Value:
        return self.conversion.split(ops.convert(x, COMPLEX128 if is_complex(dtype_of(x)) else FLOAT64))

    def rounded(self, x: Value, dtype: np.dtype) -> ir.Value:
        if isinstance(x, WideComplex):
            return ops.complex(*(self.rounded(part, real_format(dtype)) for part in (x.re, x.im)))
        assert isinstance(x, Wide)
        return x.head if dtype == FLOAT64 else entries.narrowed(x, dtype)

    def operation(self, op: ir.Operation, operands: Sequence[Value], captured: dict[ir.Value, Value],
                  ) -> list[Value] | None:
        rule = RULES.get(op.name)
        if rule is None:
            raise refusal(op, f"'{op.name}' has no form of more precision than float64 here")
        made = None
        if any(has_digits(v.type) and dtype_of(v) not in (FLOAT64, COMPLEX128) for v in (*op.operands, *op.results)):
            op = made = modules.clone_with(op, {})      # rules look at attributes and types alone
            for each in (made, *modules.walk(made)):
                _retype(each, op)
        self.conversion.values.update(captured)
        times = _whole_exponent(op)
        found = rule(self.conversion, op, *operands) if times is None else _power(operands[0], times)
        if found is None:
            return None
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        if op.name in ops.ELEMENTWISE:
            results = [self.conversion.cut(op, operands, each) for each in results]
        if made is not None:
            made.erase()
        return results

    def parts(self, x: Value) -> list[ir.Value]:
        return flat([x])

    def whole(self, parts: Sequence[ir.Value], dtype: np.dtype) -> Value:
        return WideComplex(Wide(parts[:2]), Wide(parts[2:])) if is_complex(dtype) else Wide(parts)

    def rows(self, x: ir.Value, wide: Value) -> list[Row]:
        if isinstance(wide, WideComplex):
            return _pair(*(self.rows(part, each)[0] for part, each in ((ops.real(x), wide.re), (ops.imag(x), wide.im))))
        assert isinstance(wide, Wide)
        return [Row(x, wide.head, wide.limbs[1])]

    def chosen(self, predicate: ir.Value, yes: Value, no: Value) -> Value:
        if isinstance(yes, ir.Value):
            return ops.select(predicate, yes, no)
        pairs = zip(flat([yes]), flat([no]), strict=True)
        return self.whole([ops.select(predicate, a, b) for a, b in pairs],
                          COMPLEX128 if isinstance(yes, WideComplex) else FLOAT64)

    def shaken(self, x: Value, part: float) -> Value:
        if isinstance(x, WideComplex):
            return WideComplex(self._shaken(x.re, part), self._shaken(x.im, part))
        assert isinstance(x, Wide)
        return self._shaken(x, part)

    def _shaken(self, x: Wide, part: float) -> Wide:
        return Wide([x.head, ops.add(x.limbs[1], ops.multiply(x.head, part * SHAKEN * 2.0**-105))])
