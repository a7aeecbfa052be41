"""exponential, log, sqrt, rsqrt, cbrt, sine, cosine, tan, tanh, logistic, rounding, sign and their relatives.

Compositions of transcendental functions are equal only up to rounding, and mostly only where nothing overflows; the
rules say which. Symmetries (odd, even) and idempotences are exact.
"""
from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex
from reactant.rewrite import equations, match, one_of, rewrite, variables

x, y, t = variables("x y t")
ROUNDING = ("stablehlo.floor", "stablehlo.ceil", "stablehlo.round_nearest_even", "stablehlo.round_nearest_afz")
ODD = tuple(f"stablehlo.{n}" for n in ("sine", "tan", "tanh", "cbrt", "sign", "round_nearest_even",
                                       "round_nearest_afz"))


# ---- exact ---------------------------------------------------------------------------------------------------------

equations(
    dtypes="float",
    cosine_of_negate=(match.cosine(match.negate(x)), match.cosine(x)),
    sign_of_sign=(match.sign(match.sign(x)), match.sign(x)),
    abs_of_logistic=(match.abs(match.logistic(x)), match.logistic(x)),
    floor_of_negate=(match.floor(match.negate(x)), match.negate(match.ceil(x))),
    ceil_of_negate=(match.ceil(match.negate(x)), match.negate(match.floor(x))),
    is_finite_of_negate=(match.is_finite(match.negate(x)), match.is_finite(x)),
)
equations(
    dtypes="real",
    example=lambda a: ops.square(a(6, dtype="float32")),
    square_is_product=(match.square(x), match.multiply(x, x)),      # of complex numbers XLA makes another form
)
equations(
    example=lambda a: ops.real(ops.complex(a(6, dtype="float32"), a(6, dtype="float32"))),
    real_of_complex=(match.real(match.complex(x, y)), x),
)
equations(
    example=lambda a: ops.imag(ops.complex(a(6, dtype="float32"), a(6, dtype="float32"))),
    imag_of_complex=(match.imag(match.complex(x, y)), y),
)
equations(
    example=lambda a: ops.complex(ops.real(v := a(6, dtype="complex64")), ops.imag(v)),
    complex_of_parts=(match.complex(match.real(x), match.imag(x)), x),
)
equations(
    dtypes="complex",
    conjugate_of_conjugate=(match.conj(match.conj(x)), x),
    real_of_conjugate=(match.real(match.conj(x)), match.real(x)),
    imag_of_conjugate=(match.imag(match.conj(x)), match.negate(match.imag(x))),
)


def _complex_size(a: Callable) -> ir.Value:
    return ops.abs(a(6, dtype="complex64"))


@rewrite(match.cosine(match.abs(x)), dtypes="float", counter=lambda a: ops.cosine(_complex_size(a)))
def cosine_of_abs(x):
    """cos(|x|) = cos(x) for real x"""
    return None if is_complex(dtype_of(x)) else ops.cosine(x)


@rewrite(match.is_finite(match.abs(x)), dtypes="float", counter=lambda a: ops.is_finite(_complex_size(a)))
def is_finite_of_abs(x):
    """is_finite(|x|) = is_finite(x) for real x"""
    return None if is_complex(dtype_of(x)) else ops.is_finite(x)


@rewrite(one_of(ROUNDING, one_of(ROUNDING, x, template="t")), dtypes="float",
         example=lambda a: ops.floor(ops.ceil(a(6))))
def rounding_of_rounding(x, t, result_shape):
    """floor(ceil(x)) = ceil(x): a rounded number rounds to itself"""
    return t.build((x,), result_shape)


@rewrite(one_of(ODD, match.negate(x), template="t"), dtypes="float")
def odd_function_of_negate(x, t, result_shape):
    """f(-x) = -f(x) for sine, tan, tanh, cbrt, sign and symmetric rounding"""
    return ops.negate(t.build((x,), result_shape))


# ---- up to rounding ------------------------------------------------------------------------------------------------

equations(
    dtypes="float", changes="rounding",
    divide_by_rsqrt=(match.divide(x, match.rsqrt(y)), match.multiply(x, match.sqrt(y))),
    sine_over_cosine=(match.divide(match.sine(x), match.cosine(x)), match.tan(x)),
)
# Rounded once where NumPy rounds twice, or more accurate where digits cancel: not what NumPy computes, so not done
# unasked.
equations(
    dtypes="float", changes="association",
    one_over_square_root=(match.divide(1, match.sqrt(x)), match.rsqrt(x)),
    exponential_minus_one_fused=(match.subtract(match.exponential(x), 1), match.exponential_minus_one(x)),
    exponential_plus_minus_one_fused=(match.add(match.exponential(x), -1), match.exponential_minus_one(x)),
    log_plus_one_fused=(match.log(match.add(x, 1)), match.log_plus_one(x)),
    logistic_recognised=(match.divide(1, match.add(match.exponential(match.negate(x)), 1)), match.logistic(x)),
)
equations(
    dtypes="float", changes="association", assumes="finite",
    product_of_exponentials=(match.multiply(match.exponential(x), match.exponential(y)),
                             match.exponential(match.add(x, y))),
    product_of_square_roots=(match.multiply(match.sqrt(x), match.sqrt(y)), match.sqrt(match.multiply(x, y))),
    log_of_exponential=(match.log(match.exponential(x)), x),
    square_of_square_root=(match.multiply(match.sqrt(x), match.sqrt(x)), x),
)
