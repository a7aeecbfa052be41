"""Functions of Python's `cmath` module on run-time numbers. They give Python numbers and raise as `cmath` does."""
from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.frontends.arrays.tensor import is_tensor
from reactant.frontends.numpy.overlay import as_python_float, logarithm, on_numbers, to_python
from reactant.frontends.session import calls
from reactant.frontends.session.trace import current_trace

_UFUNC_OF = {cmath.sqrt: np.sqrt, cmath.exp: np.exp, cmath.sin: np.sin, cmath.cos: np.cos, cmath.tan: np.tan,
             cmath.sinh: np.sinh, cmath.cosh: np.cosh, cmath.tanh: np.tanh, cmath.asin: np.arcsin,
             cmath.acos: np.arccos, cmath.atan: np.arctan, cmath.asinh: np.arcsinh, cmath.acosh: np.arccosh,
             cmath.atanh: np.arctanh, cmath.log10: np.log10, cmath.isnan: np.isnan, cmath.isinf: np.isinf,
             cmath.isfinite: np.isfinite}
_POLES: dict[Callable, Callable[[Any], Any]] = {
    cmath.log: lambda z: z != 0, cmath.log10: lambda z: z != 0, cmath.atanh: lambda z: np.abs(z * z - 1) != 0,
    cmath.atan: lambda z: np.abs(z * z + 1) != 0}
"""Where they have a value."""
_GROWING = (cmath.exp, cmath.sin, cmath.cos, cmath.sinh, cmath.cosh)
"""Those that raise where a finite number gives none."""


def _complex(x: Any) -> Any:
    return calls.call(complex, x)


def _require(ok: Any, error: Exception) -> None:
    kind, arguments = type(error), error.args
    if is_tensor(ok):
        current_trace().check(ok.value(), lambda: kind(*arguments))


def _require_value(function: Callable, number: Any) -> None:
    if function in _POLES:
        _require(_POLES[function](number), ValueError("math domain error"))


def _function(function: Callable, ufunc: np.ufunc) -> None:
    @on_numbers(function)
    def compute(x: Any) -> Any:
        number = _complex(x)
        _require_value(function, number)
        result = ufunc(number)
        if function in _GROWING:
            _require(np.logical_or(np.isfinite(result), np.logical_not(np.isfinite(number))),
                     OverflowError("math range error"))
        return to_python(result)


for _original, _ufunc in _UFUNC_OF.items():
    _function(_original, _ufunc)


logarithm(cmath.log, _complex, _require_value)


@on_numbers(cmath.phase)
def _phase(x: Any) -> Any:
    number = _complex(x)
    return calls.call(math.atan2, number.imag, number.real)


@on_numbers(cmath.polar)
def _polar(x: Any) -> Any:
    return abs(_complex(x)), _phase(x)


@on_numbers(cmath.rect)
def _rect(radius: Any, angle: Any) -> Any:
    r, phi = as_python_float(radius), as_python_float(angle)
    return calls.call(complex, r * calls.call(math.cos, phi), r * calls.call(math.sin, phi))
