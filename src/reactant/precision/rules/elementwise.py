"""Elementwise operations of real numbers, by what computes them."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.precision import (
    complexes,
    entries,
    error_functions,
    exponential,
    gamma_functions,
    hyperbolic,
    rounding,
    trigonometric,
    wide,
)
from reactant.precision.conversion import RULES, Conversion, declare
from reactant.precision.values import Value, WideComplex, conjugate
from reactant.precision.wide import Wide

REAL: dict[str, Callable[..., Any]] = {
    "stablehlo.add": wide.add, "stablehlo.subtract": wide.subtract, "stablehlo.multiply": wide.multiply,
    "stablehlo.divide": wide.divide, "stablehlo.sqrt": wide.sqrt, "stablehlo.negate": lambda x: -x,
    "stablehlo.abs": rounding.absolute, "stablehlo.sign": rounding.sign,
    "stablehlo.maximum": rounding.maximum, "stablehlo.minimum": rounding.minimum,
    "stablehlo.floor": rounding.floor, "stablehlo.ceil": rounding.ceil,
    "stablehlo.round_nearest_even": rounding.round_nearest_even,
    "stablehlo.round_nearest_afz": rounding.round_nearest_away,
    "stablehlo.remainder": rounding.remainder,
    "stablehlo.is_finite": lambda x: ops.is_finite(x.head),
    "chlo.is_inf": lambda x: ops.is_inf(x.head),
    "chlo.square": wide.square,
}
"""Of real operands."""
COMPLEX: dict[str, Callable[..., Any]] = {}
"""Of complex ones."""


ARITHMETIC = frozenset(REAL) - {"stablehlo.remainder"}
"""What coarse limbs do themselves: tables and reductions of arguments want more digits in each limb."""


def elementwise(c: Conversion, op: ir.Operation, *operands: Value) -> Value | None:
    """What the tables say."""
    if op.name not in ARITHMETIC and c.is_coarse:
        return None
    complex_ = any(isinstance(v, WideComplex) for v in operands)
    function = (COMPLEX if complex_ else REAL).get(op.name)
    if function is None:
        raise c.refusal(op, f"'{op.name}' of {'complex' if complex_ else 'real'} numbers has no form for them")
    return function(*operands)


def offer(real: dict[str, Callable[..., Any]], complex_: dict[str, Callable[..., Any]] | None = None) -> None:
    """Add functions to the tables, by the names of operations."""
    REAL.update(real)
    COMPLEX.update(complex_ or {})
    for name in (*real, *(complex_ or {})):
        RULES.setdefault(name, elementwise)


offer(REAL)


@declare("compare")
def compare(c: Conversion, op: ir.Operation, x: Any, y: Any) -> ir.Value:
    """By IEEE or in total order."""
    direction = attr.enumerator(op.attributes["comparison_direction"])
    if isinstance(x, WideComplex):
        parts = [entries.compare(a, b, direction) for a, b in ((x.re, y.re), (x.im, y.im))]
        return ops.and_(*parts) if direction == "EQ" else ops.or_(*parts)
    total = "compare_type" in op.attributes and attr.enumerator(op.attributes["compare_type"]) == "TOTALORDER"
    return (entries.total_order if total else entries.compare)(x, y, direction)


@declare("clamp")
def clamp(c: Conversion, op: ir.Operation, low: Wide, x: Wide, high: Wide) -> Wide:
    """Minimum and maximum; bounds may be numbers."""
    bounds = [bound if bound.shape == x.shape else bound.each(lambda v: ops.broadcast_in_dim(v, x.shape, ()))
              for bound in (low, high)]
    return rounding.minimum(rounding.maximum(x, bounds[0]), bounds[1])


offer({
    "stablehlo.exponential": exponential.exp, "stablehlo.exponential_minus_one": exponential.expm1,
    "stablehlo.log": exponential.log, "stablehlo.log_plus_one": exponential.log1p, "stablehlo.power": exponential.power,
    "stablehlo.logistic": hyperbolic.logistic, "stablehlo.tanh": hyperbolic.tanh, "stablehlo.cbrt": hyperbolic.cbrt,
    "stablehlo.rsqrt": hyperbolic.rsqrt, "chlo.sinh": hyperbolic.sinh, "chlo.cosh": hyperbolic.cosh,
    "chlo.asinh": hyperbolic.asinh, "chlo.acosh": hyperbolic.acosh, "chlo.atanh": hyperbolic.atanh,
    "stablehlo.sine": trigonometric.sine, "stablehlo.cosine": trigonometric.cosine, "stablehlo.tan": trigonometric.tan,
    "stablehlo.atan2": trigonometric.atan2, "chlo.atan": trigonometric.atan, "chlo.asin": trigonometric.asin,
    "chlo.acos": trigonometric.acos, "chlo.erf": error_functions.erf, "chlo.erfc": error_functions.erfc,
    "chlo.erf_inv": error_functions.erf_inv, "chlo.lgamma": gamma_functions.lgamma,
    "chlo.digamma": gamma_functions.digamma,
})


offer({}, {
    "stablehlo.add": operator.add, "stablehlo.subtract": operator.sub, "stablehlo.multiply": operator.mul,
    "stablehlo.divide": complexes.divide, "stablehlo.negate": operator.neg, "chlo.conj": conjugate,
    "stablehlo.abs": complexes.absolute, "stablehlo.exponential": complexes.exp, "stablehlo.log": complexes.log,
    "stablehlo.sqrt": complexes.sqrt, "stablehlo.rsqrt": complexes.rsqrt, "stablehlo.power": complexes.power,
    "stablehlo.sine": complexes.sine, "stablehlo.cosine": complexes.cosine, "stablehlo.tan": complexes.tan,
    "stablehlo.tanh": complexes.tanh, "stablehlo.sign": complexes.sign,
    "stablehlo.exponential_minus_one": complexes.expm1, "stablehlo.log_plus_one": complexes.log1p,
    "stablehlo.is_finite": complexes.is_finite, "chlo.square": lambda x: x * x,
})
