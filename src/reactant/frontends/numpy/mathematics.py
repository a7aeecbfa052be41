"""Functions of Python's `math` module on run-time numbers that no ufunc computes, and `complex(re, im)`.

They give Python numbers and raise as `math` does. (Those that are a ufunc stand in `overlay`.)
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.python_overflow import ROOT
from reactant.frontends.arrays.tensor import PYTHON, SCALAR, Tensor, is_tensor, python_number
from reactant.frontends.numpy.gamma import gamma
from reactant.frontends.numpy.overlay import as_python_float, on_numbers, to_python
from reactant.frontends.session import calls
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops


def _require(condition: Any, message: str, kind: type[Exception] = ValueError) -> None:
    """Raise at run time where a condition on numbers does not hold."""
    if is_tensor(condition):
        current_trace().check(condition.value(), lambda: kind(message))
    elif not condition:
        raise kind(message)


def _of_value(function: Callable, operation: Callable[[ir.Value], ir.Value]) -> None:
    @on_numbers(function)
    def compute(x: Any) -> Any:
        return python_number(operation(as_python_float(x).value()))


_of_value(math.erf, ops.erf)
_of_value(math.erfc, ops.erfc)


def _is_pole(x: Any) -> Any:
    return np.logical_and(x <= 0, np.floor(x) == x)


def _log_gamma(x: Any) -> Any:
    value = python_number(ops.lgamma(x.value()))
    return np.where(np.isinf(x), np.inf, value)


@on_numbers(math.lgamma)
def _lgamma(x: Any) -> Any:
    x = as_python_float(x)
    _require(np.logical_or(np.isinf(x), np.logical_not(_is_pole(x))), "math domain error")
    return to_python(_log_gamma(x))


@on_numbers(math.gamma)
def _gamma(x: Any) -> Any:
    x = as_python_float(x)
    _require(np.logical_not(_is_pole(x)), "math domain error")
    value = python_number(gamma(x.value()))
    _require(np.logical_or(np.isfinite(value), np.logical_not(np.isfinite(x))), "math range error", OverflowError)
    return to_python(value)


def _of_iterables(function: Callable) -> Callable[[Callable], Callable]:
    """Replace `function` where run-time numbers are in the lists or arrays it is given."""
    def register(ours: Callable) -> Callable:
        @calls.replace(function)
        def choose(*arguments: Any, **keywords: Any) -> Any:
            found = [a if is_tensor(a) or isinstance(a, np.ndarray) else list(a) for a in arguments]
            return (ours if calls.ag__.involves_tracing((found,), {}) else function)(*found, **keywords)
        return ours
    return register


@_of_iterables(math.dist)
def _dist(p: Any, q: Any) -> Any:
    p, q = list(p), list(q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return calls.call(math.hypot, *(as_python_float(a) - as_python_float(b) for a, b in zip(p, q, strict=True)))


@_of_iterables(math.fsum)
def _fsum(numbers: Any) -> Any:
    raise UnsupportedError("math.fsum adds without rounding, which compiled code cannot.", hint="Use sum or np.sum.",
                           code="function-not-compiled")


@on_numbers(math.isclose)
def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    a, b = as_python_float(a), as_python_float(b)
    near = np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    finite = np.logical_and(np.isfinite(a), np.isfinite(b))
    return to_python(np.logical_or(np.equal(a, b), np.logical_and(finite, near)))


@on_numbers(math.modf)
def _modf(x: Any) -> tuple:
    fraction, whole = np.modf(as_python_float(x))
    return to_python(fraction), to_python(whole)


@on_numbers(math.frexp)
def _frexp(x: Any) -> tuple:
    mantissa, exponent = np.frexp(as_python_float(x))
    return to_python(mantissa), calls.call(int, exponent)


@on_numbers(math.ldexp)
def _ldexp(x: Any, exponent: Any) -> Any:
    x = as_python_float(x)
    result = np.ldexp(x, exponent)
    _require(np.logical_or(np.isfinite(result), np.logical_not(np.isfinite(x))), "math range error", OverflowError)
    return to_python(result)


@on_numbers(math.nextafter)
def _nextafter(x: Any, towards: Any) -> Any:
    return to_python(np.nextafter(as_python_float(x), as_python_float(towards)))


def _integer(x: Any) -> Any:
    if is_tensor(x) and x.dtype.kind not in "iub":
        raise TypeError(f"'{x.__class__.__name__}' object cannot be interpreted as an integer")
    return calls.call(int, x)


@on_numbers(math.isqrt)
def _isqrt(n: Any) -> Any:
    n = _integer(n)
    _require(n >= 0, "isqrt() argument must be nonnegative")
    exact = Tensor.of_value(n.value(), SCALAR)      # NumPy's integers: what is beyond the range does not count
    root = np.minimum(np.sqrt(as_python_float(n)), ROOT).astype(np.int64)
    root = root - (root * root > exact)
    return calls.call(int, root + np.logical_and(root < ROOT, (root + 1) * (root + 1) <= exact))


@on_numbers(math.gcd)
def _gcd(*numbers: Any) -> Any:
    result = abs(_integer(numbers[0]))
    for n in numbers[1:]:
        result = to_python(np.gcd(result, _integer(n)))
    return result


@on_numbers(math.lcm)
def _lcm(*numbers: Any) -> Any:
    result = abs(_integer(numbers[0]))
    for n in numbers[1:]:
        common = to_python(np.maximum(np.gcd(result, _integer(n)), 1))
        result = result // common * abs(_integer(n))
    return result


def _refused(function: Callable) -> None:
    @on_numbers(function)
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise UnsupportedError(f"math.{function.__name__} of a value known only at run time is not supported.",
                               hint="Write it with NumPy, or make the argument static (static_argnames=...).",
                               code="argument-must-be-static")


for _function in (math.comb, math.perm, math.factorial, math.remainder, math.ulp):
    _refused(_function)


_one_number = calls.REPLACEMENTS[complex]


@on_numbers(complex)
def _complex(real: Any = 0, imag: Any = None) -> Any:
    if imag is None:
        return _one_number(real)
    parts = [p.item() if isinstance(p, np.generic) else p for p in (real, imag)]
    if any(is_tensor(p) and p.dtype.kind == "c" for p in parts):
        return calls.call(complex, parts[0]) + 1j * calls.call(complex, parts[1])
    pair = [as_python_float(p) if is_tensor(p) else python_number(ops.constant(float(p))) for p in parts]
    return Tensor.of_value(ops.complex(pair[0].value(), pair[1].value()), PYTHON)
