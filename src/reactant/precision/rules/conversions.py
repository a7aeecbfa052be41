"""Constants, and conversions between dtypes."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import dtype_of, is_complex, is_float, shape_and_dtype
from reactant.precision import entries, rounding
from reactant.precision.conversion import Conversion, declare
from reactant.precision.error_free import digits
from reactant.precision.ranges import Place
from reactant.precision.values import Value, WideComplex
from reactant.precision.wide import Wide


@declare("constant")
def constant(c: Conversion, op: ir.Operation) -> Value:
    """The limbs of each element, as they are split when the program is compiled."""
    content = ops.constant_value(op.results[0])
    if content is None:
        raise c.refusal(op, "a constant has no content")
    found = WideComplex(c.wide(content.real), c.wide(content.imag)) if content.dtype.kind == "c" else c.wide(content)
    if c.watch is not None:
        c.watch.constant(content, found, Place(f"constant {_told(content)}", file_and_line(op.location)))
    return found


def _told(content: np.ndarray) -> str:
    """A constant as text: its largest number."""
    finite = content[np.isfinite(content)]
    return f"{finite[np.argmax(np.abs(finite))]:.4g}" if finite.size else ""


@declare("iota")
def iota(c: Conversion, op: ir.Operation) -> Value:
    """Counted in integers."""
    shape, dtype = shape_and_dtype(op.results[0].type)
    dimension = attr.decode(op.attributes["iota_dimension"])
    counted = entries.from_integer(ops.iota(shape, np.int32, dimension), c.limb, c.count)
    return WideComplex(counted, counted.of(0.0)) if is_complex(dtype) else counted


@declare("convert")
def convert(c: Conversion, op: ir.Operation, x: Value) -> Value:
    """From and to the format, exactly or rounded once."""
    found = _converted(c, dtype_of(op.results[0]), x)
    if c.watch is not None and isinstance(x, ir.Value):
        c.watch.split(x, found, Place("convert", file_and_line(op.location)))
    return found


def _converted(c: Conversion, dtype: np.dtype, x: Value) -> Value:
    if isinstance(x, WideComplex):
        if dtype == c.complex:
            return x
        if is_complex(dtype):
            half = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
            return ops.complex(entries.narrowed(x.re, half), entries.narrowed(x.im, half))
        x = x.re
    if isinstance(x, Wide):
        if dtype == c.source:
            return x
        if dtype == c.complex:
            return WideComplex(x, x.of(0.0))
        if is_float(dtype):
            return entries.narrowed(x, dtype)
        if dtype.kind == "b":
            return entries.compare(x, x.of(0.0), "NE")
        return entries.to_integer(rounding.truncate(x), dtype)
    if is_complex(dtype_of(x)):
        re, im = ops.real(x), ops.imag(x)
        return WideComplex(*(entries.split(part, c.limb, c.count) for part in (re, im)))
    if not is_float(dtype_of(x)):
        found = entries.from_integer(x, c.limb, c.count)
    elif digits(dtype_of(x)) > digits(c.source):
        found = entries.split(ops.reduce_precision(x, entries.EXPONENT_BITS[c.source.name],
                                                   digits(c.source) - 1), c.limb, c.count)
    else:
        found = entries.split(x, c.limb, c.count)
    return WideComplex(found, found.of(0.0)) if is_complex(dtype) else found


@declare("bitcast_convert")
def bitcast_convert(c: Conversion, op: ir.Operation, x: Value) -> None:
    """Numbers from bits and bits of numbers are those of the source format: they are asked for as such."""


@declare("reduce_precision")
def reduce_precision(c: Conversion, op: ir.Operation, x: Wide) -> Value:
    """Rounding to a format of fewer digits than a limb has."""
    exponent, mantissa = (attr.decode(op.attributes[name]) for name in ("exponent_bits", "mantissa_bits"))
    if mantissa >= digits(c.source) - 1 and exponent >= entries.EXPONENT_BITS[c.source.name]:
        return x
    if mantissa + 2 > digits(c.limb):
        raise c.refusal(op, f"reduce_precision to {mantissa} digits is not what limbs are rounded to")
    return Wide([ops.reduce_precision(entries.rounded_to_odd(x), exponent, mantissa)]).first(c.count)
