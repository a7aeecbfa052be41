"""Rounding and clipping, replacing NaN, and tests of closeness and equality."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import layouts, python_overflow, ufuncs
from reactant.frontends.arrays.elementwise import is_inf, is_nan, sign_bit
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.indexing import store
from reactant.frontends.arrays.promotion import loop_dtypes
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor, python_number, wrap
from reactant.frontends.numpy.reduction import all as all_of
from reactant.ir import ops
from reactant.ir.types import dtype_of

_ABSENT = np._NoValue
_CLIP = np._core.umath.clip      # the ufunc behind np.clip


def like(a: Tensor, value: ir.Value) -> Tensor:
    """A result of the shape of `a`: a scalar for 0-d, the layout of `a` otherwise."""
    if not a.shape:
        return Tensor.of_value(value, SCALAR)
    return Tensor.of_value(value, ARRAY, strides=a.strides_ if layouts.is_permuted(a.shape, a.strides_) else None)


def into(out: object, result: Any) -> Any:
    """The result, or `out` after it was stored there."""
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return result
    store(out, result)
    return out


# ---- rounding --------------------------------------------------------------------------------------------------

@implements(np.round, np.around)
def round(a: object, decimals: int = 0, out: object = None) -> Any:  # noqa: A001
    """Round half to even at a decimal: scale by a power of ten, round, scale back, as NumPy does."""
    a, decimals = wrap(a), int(decimals)
    if a.kind == PYTHON:
        a = Tensor.of_value(a.value(), SCALAR)
    if a.dtype.kind in "iu" and decimals >= 0:
        return into(out, like(a, a.value()))
    if a.dtype.kind == "c":
        value = a.value()
        parts = [wrap(round(like(a, part), decimals)).value() for part in (ops.real(value), ops.imag(value))]
        return into(out, like(a, ops.complex(*parts)))
    if decimals == 0:
        return into(out, np.rint(a))
    if a.dtype == bool:
        loop_dtypes(np.multiply, (a.dtype, np.dtype(float), a.dtype))      # raises NumPy's casting error
    power = float(10.0 ** abs(decimals))
    scale, back = (np.multiply, np.true_divide) if decimals > 0 else (np.true_divide, np.multiply)
    rounded = back(np.rint(scale(a, power)), power)
    return into(out, rounded.astype(a.dtype) if a.dtype.kind in "iu" and out is None else rounded)


@implements(np.fix)
def fix(x: object, out: object = None) -> Any:
    return np.trunc(x, out=out)


def _no_further(bound: Any, extreme: Callable, limit: int) -> Any:
    """A run-time Python integer that bounds integers up to `limit`."""
    if not is_tensor(bound) or bound.kind != PYTHON or bound.dtype != np.int64 or limit > python_overflow.MOST:
        return bound
    return Tensor.of_value(extreme(bound.value(), int(limit)), PYTHON, interval=bound.interval)


@implements(np.clip)
def clip(a: object, a_min: object = _ABSENT, a_max: object = _ABSENT, out: object = None, **kwargs: object) -> Any:
    min, max = (kwargs.pop(name, _ABSENT) for name in ("min", "max"))      # keywords from NumPy 2.1 on
    if a_min is _ABSENT and a_max is _ABSENT:
        low, high = (None if bound is _ABSENT else bound for bound in (min, max))
    elif a_min is _ABSENT or a_max is _ABSENT:
        raise TypeError(f"clip() missing 1 required positional argument: {'a_min' if a_min is _ABSENT else 'a_max'!r}")
    elif min is not _ABSENT or max is not _ABSENT:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    else:
        low, high = a_min, a_max
    a = wrap(a)
    if a.kind == PYTHON:        # an array, which is not weak
        a = wrap(a.numpy()) if a.is_concrete() else Tensor.of_value(a.value(), SCALAR)
    if a.dtype.kind in "iu":      # bounds no element can pass
        limits = np.iinfo(a.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
        low, high = _no_further(low, ops.maximum, limits.min), _no_further(high, ops.minimum, limits.max)
    if out is not None:
        kwargs["out"] = out
    if low is None and high is None:
        return ufuncs.call(np.positive, "__call__", (a,), kwargs)
    if low is None:
        return ufuncs.call(np.minimum, "__call__", (a, high), kwargs)
    if high is None:
        return ufuncs.call(np.maximum, "__call__", (a, low), kwargs)
    return ufuncs.call(_CLIP, "__call__", (a, low, high), kwargs)


@implements(np.nan_to_num, aliases=True)
def nan_to_num(x: object, copy: bool = True, nan: object = 0.0, posinf: object = None, neginf: object = None) -> Any:
    x = wrap(x)
    if x.dtype.kind not in "fc":
        return like(x, x.value()) if copy or not x.ndim else x
    value = x.value()
    parts = [_numbers(p, nan, posinf, neginf) for p in
             ((ops.real(value), ops.imag(value)) if x.dtype.kind == "c" else (value,))]
    new = ops.complex(*parts) if x.dtype.kind == "c" else parts[0]
    if copy or x.kind != ARRAY:
        return like(x, new)
    x.assign(new)
    return x


def _numbers(x: ir.Value, nan: object, posinf: object, neginf: object) -> ir.Value:
    """A real value without NaN and infinities."""
    limits, dtype = np.finfo(dtype_of(x)), dtype_of(x)
    shape = x.type.shape

    def number(given: object, default: float) -> ir.Value:
        return layouts.broadcast(ufuncs.as_value(default if given is None else given, dtype), shape)
    endless = is_inf(x)
    finite = ops.select(endless, ops.select(sign_bit(x), number(neginf, float(limits.min)),
                                            number(posinf, float(limits.max))), x)
    return ops.select(is_nan(x), number(nan, 0.0), finite)


# ---- predicates ------------------------------------------------------------------------------------------------

def _signed_infinity(x: object, out: object, negative: bool) -> Any:
    x = wrap(x)
    if x.dtype.kind == "c":
        raise TypeError(f"This operation is not supported for {x.dtype} values because it would be ambiguous.")
    if x.dtype.kind != "f":
        return into(out, like(x, ops.constant(False, bool, x.shape)))
    value = x.value()
    return into(out, like(x, ops.compare(value, -np.inf if negative else np.inf, "EQ")))


@implements(np.isposinf)
def isposinf(x: object, out: object = None) -> Any:
    return _signed_infinity(x, out, negative=False)


@implements(np.isneginf)
def isneginf(x: object, out: object = None) -> Any:
    return _signed_infinity(x, out, negative=True)


def _imaginary_test(x: object, direction: str) -> Any:
    x = wrap(x)
    if x.dtype.kind != "c":
        return like(x, ops.constant(direction == "EQ", bool, x.shape))
    return like(x, ops.compare(ops.imag(x.value()), 0, direction))


@implements(np.iscomplex)
def iscomplex(x: object) -> Any:
    return _imaginary_test(x, "NE")


@implements(np.isreal)
def isreal(x: object) -> Any:
    return _imaginary_test(x, "EQ")


@implements(np.iscomplexobj)
def iscomplexobj(x: object) -> bool:
    return wrap(x).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x: object) -> bool:
    return wrap(x).dtype.kind != "c"


@implements(np.real, aliases=True)
def real(val: object) -> Any:
    return wrap(val).real


@implements(np.imag, aliases=True)
def imag(val: object) -> Any:
    return wrap(val).imag


# ---- closeness and equality ------------------------------------------------------------------------------------

@implements(np.isclose)
def isclose(a: object, b: object, rtol: object = 1e-05, atol: object = 1e-08, equal_nan: bool = False) -> Any:
    """|a - b| <= atol + rtol |b| where b is finite, else a == b."""
    x, y = (v if isinstance(v, (bool, int, float, complex)) and not is_tensor(v) else wrap(v) for v in (a, b))
    if is_tensor(y) and y.dtype.kind in "biu":
        y = y.astype(np.float64)
    elif not is_tensor(y) and isinstance(y, int):
        y = float(y)
    near = np.less_equal(np.abs(np.subtract(x, y)), np.add(atol, np.multiply(rtol, np.abs(y))))
    close = np.logical_or(np.logical_and(near, np.isfinite(y)), np.equal(x, y))
    if equal_nan:
        close = np.logical_or(close, np.logical_and(np.isnan(x), np.isnan(y)))
    return close


@implements(np.allclose)
def allclose(a: object, b: object, rtol: object = 1e-05, atol: object = 1e-08, equal_nan: bool = False) -> Any:
    return python_number(wrap(all_of(isclose(a, b, rtol, atol, equal_nan))).value())


@implements(np.array_equal)
def array_equal(a1: object, a2: object, equal_nan: bool = False) -> Any:
    a, b = wrap(a1), wrap(a2)
    if a.shape != b.shape:
        return False
    same = np.equal(a, b)
    if equal_nan:
        same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
    return python_number(wrap(all_of(same)).value())


@implements(np.array_equiv)
def array_equiv(a1: object, a2: object) -> Any:
    a, b = wrap(a1), wrap(a2)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return python_number(wrap(all_of(np.equal(a, b))).value())
