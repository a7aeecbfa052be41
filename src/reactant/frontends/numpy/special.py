"""Functions of one variable that are not ufuncs (`sinc`, `i0`, `angle`, `unwrap`) and differences along an axis."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.complex_functions import size_of
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.frontends.arrays.ufunc_methods import scan
from reactant.frontends.arrays.ufuncs import as_value, cast, weak_type
from reactant.frontends.numpy.rounding import like
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

_ABSENT = np._NoValue
I0_NEAR = (
    0.2070019212239867, -0.11300432688620549, 0.09451562853995128, -0.08904344136075963, 0.08734341617550435,
    -0.08496338091616289, 0.07927522590771639, -0.06954119561719706, 0.056777032011386216, -0.04298594945476025,
    0.030177912102218134, -0.019682654690840354, 0.011960077426792047, -0.006792399871927492, 0.0036171284436899067,
    -0.0018118867976067608, 0.0008563094235043086, -0.0003829020871854531, 0.00016241773604398465,
    -6.55086273259746e-05, 2.518366139612992e-05, -9.251665226971573e-06, 3.249540060602951e-06,
    -1.0883515439592516e-06, 3.523604963439924e-07, -1.1383482679942732e-07, 3.385378043608712e-08,
    -7.725039968045779e-09, 2.2221132168174095e-09, -1.1849657986148584e-09, 2.997850940661288e-10)
"""exp(-x) I0(x) on [0, 8], in x / 4 - 1: through Chebyshev's points, in 50 digits of mpmath."""
I0_FAR = (
    0.4021765094450081, 0.003360551983667854, 0.00013621607439232746, 1.1143033791556743e-05, 1.4838475473607391e-06,
    2.973598432479169e-07, 8.87225351128584e-08, 3.932602459703109e-08, 2.1545177650836005e-08,
    7.553516470355896e-09, -6.729724111923548e-09, -1.3404241991980871e-08, -5.4685974495866e-09,
    7.540601378890834e-09, 7.58022133915272e-09, -3.4857887470034955e-09, -6.188265090497361e-09,
    1.497880830187091e-09, 3.881151253996067e-09, -5.562201990080394e-10, -1.7789375042917173e-09,
    1.4672236659214398e-10, 5.181936971288284e-10, -1.9216763724933513e-11, -7.06893851181878e-11)
"""sqrt(x) exp(-x) I0(x) from 8 on, in 16 / x - 1."""


@implements(np.sinc)
def sinc(x: object) -> Any:
    """sin(pi x) / (pi x), 1 at 0."""
    x = wrap(x)
    if x.dtype.kind in "biu":
        x = like(x, cast(x.value(), np.float64))
    scaled = np.multiply(x, np.pi)
    value = scaled.value()
    zero = ops.compare(value, 0, "EQ")
    safe = ops.select(zero, 1, value)           # derivatives: `differentiate.smooth`
    return like(x, ops.select(zero, 1, ops.divide(ops.sine(safe), safe)))


@implements(np.i0)
def i0(x: object) -> Any:
    """Modified Bessel function of the first kind, order 0."""
    x = wrap(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if x.dtype.kind != "f":
        x = like(x, cast(x.value(), np.float64))
    return Tensor.of_value(cast(bessel_i0(cast(x.value(), np.float64)), x.dtype))           # an array also when 0-d


def bessel_i0(x: ir.Value) -> ir.Value:
    """I0 of float64."""
    wide = size_of(x)
    return ops.multiply(ops.exponential(wide), _scaled_i0(wide))


def bessel_i0e(x: ir.Value) -> ir.Value:
    """exp(-|x|) I0(x) of float64."""
    return _scaled_i0(ops.abs(x))


def _polynomial(coefficients: Sequence[float], t: ir.Value) -> ir.Value:
    found = ops.splat(coefficients[-1], t)
    for c in reversed(coefficients[:-1]):
        found = ops.add(ops.multiply(found, t), c)
    return found


def _scaled_i0(wide: ir.Value) -> ir.Value:
    close = ops.compare(wide, 8.0, "LE")        # at 8 the slope is that of the inner one, by min and max half of it
    small, large = ops.select(close, wide, 8.0), ops.select(close, 8.0, wide)
    near = _polynomial(I0_NEAR, ops.subtract(ops.divide(small, 4.0), 1.0))
    far = ops.divide(_polynomial(I0_FAR, ops.subtract(ops.divide(ops.splat(16.0, large), large), 1.0)), ops.sqrt(large))
    return ops.select(close, near, far)


@implements(np.angle)
def angle(z: object, deg: bool = False) -> Any:
    """The argument of complex numbers, in radians or degrees."""
    z = wrap(z)
    im = z.imag if z.dtype.kind == "c" else 0
    found = np.arctan2(im, z.real)
    return np.multiply(found, 180 / np.pi) if deg else found


# ---- differences -----------------------------------------------------------------------------------------------

def _between(x: ir.Value, axis: int, low: int, high: int) -> ir.Value:
    shape = shape_of(x)
    start, limit = [0] * len(shape), list(shape)
    start[axis], limit[axis] = low, max(high, low)
    return ops.slice(x, start, limit)


def _steps(x: ir.Value, axis: int) -> ir.Value:
    """x[i + 1] - x[i] along `axis` (for bool: whether they differ)."""
    extent = shape_of(x)[axis]
    if extent == 0:
        return x
    after, before = _between(x, axis, 1, extent), _between(x, axis, 0, extent - 1)
    return ops.xor(after, before) if dtype_of(x).kind == "b" else ops.subtract(after, before)


def _end(given: object, a: Tensor, axis: int) -> Tensor | None:
    """`prepend`/`append`: numbers are one element along the axis."""
    if given is _ABSENT:
        return None
    end = wrap(given)
    if not end.ndim:
        shape = (*a.shape[:axis], 1, *a.shape[axis + 1:])
        end = Tensor.of_value(ops.broadcast_in_dim(end.value(), shape, []))
    return end


@implements(np.diff)
def diff(a: object, n: int = 1, axis: int = -1, prepend: object = _ABSENT, append: object = _ABSENT) -> Any:
    n = int(n)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = wrap(a)
    if not a.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    along = axis_in(axis, a.ndim)
    parts = [p for p in (_end(prepend, a, along), a, _end(append, a, along)) if p is not None]
    if len(parts) > 1:
        a = np.concatenate(parts, along)
    value = a.value()
    for _ in range(n):
        value = _steps(value, along)
    return like(a, value)


@implements(np.ediff1d)
def ediff1d(ary: object, to_end: object = None, to_begin: object = None) -> Any:
    a = np.ravel(wrap(ary))
    begin, end = ends_of_steps(a.dtype, to_begin, to_end)
    parts = [*begin, Tensor.of_value(_steps(a.value(), 0)), *end]
    return Tensor.of_value(ops.concatenate([as_value(part, a.dtype) for part in parts], 0))


def ends_of_steps(dtype: np.dtype, to_begin: Any, to_end: Any) -> tuple[list[Any], list[Any]]:
    """What `ediff1d` puts before the differences of numbers of a dtype, and behind them: a vector each, or nothing."""
    if dtype.kind == "b":
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` "
                        "operator, or the logical_xor function instead.")
    ends: dict[str, list[Any]] = {"to_begin": [], "to_end": []}
    for name, given in zip(ends, (to_begin, to_end), strict=True):
        if given is None:
            continue
        end = np.ravel(given if hasattr(given, "dtype") else wrap(given))
        if not np.can_cast(end.dtype if hasattr(given, "dtype") else np.asanyarray(given), dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        ends[name].append(end)
    return ends["to_begin"], ends["to_end"]


@implements(np.trapezoid)
def trapezoid(y: object, x: object = None, dx: object = 1.0, axis: int = -1) -> Any:
    """Integral by the trapezoidal rule: sum of dx (y[i] + y[i + 1]) / 2."""
    y = wrap(y)
    along = axis_in(axis, y.ndim)
    if x is not None:
        x = wrap(x)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[along] = max(x.size - 1, 0)
            dx = np.reshape(diff(x), shape)
        else:
            dx = diff(x, axis=along)
    value, extent = y.value(), y.shape[along]
    left = Tensor.of_value(_between(value, along, 0, extent - 1))
    right = Tensor.of_value(_between(value, along, 1, extent))
    return np.sum(np.true_divide(np.multiply(dx, np.add(right, left)), 2.0), axis=along)


if hasattr(np, "trapz"):      # until NumPy 2.3
    implements(np.trapz)(trapezoid)


@implements(np.unwrap)
def unwrap(p: object, discont: object = None, axis: int = -1, *, period: object = 2 * np.pi) -> Any:
    """Add multiples of `period` so that neighbours differ by at most half of it (or less than `discont`)."""
    p = wrap(p)
    along = axis_in(axis, p.ndim)
    steps = Tensor.of_value(_steps(p.value(), along))
    dtype = result_type((steps.dtype, weak_type(period)))
    discont = np.true_divide(period, 2) if discont is None else discont
    if dtype.kind in "iu":
        low, remainder = divmod(period, 2)
        half, ambiguous = low, remainder == 0
    else:
        half, ambiguous = np.true_divide(period, 2), True
    bottom = np.negative(half)
    wrapped = np.add(np.mod(np.subtract(steps, bottom), period), bottom)
    if ambiguous:
        edge = np.logical_and(np.equal(wrapped, bottom), np.greater(steps, 0))
        wrapped = _select(edge, half, wrapped)
    correction = np.subtract(wrapped, steps)
    correction = _select(np.less(np.abs(steps), discont), 0, correction)
    total = scan(np.add, correction.value(), along) if correction.size else correction.value()
    value = cast(p.value(), dtype)
    first = _between(value, along, 0, 1)
    rest = ops.add(_between(value, along, 1, p.shape[along]), cast(total, dtype))
    return Tensor.of_value(ops.concatenate([first, rest], along))


def _select(condition: Tensor, chosen: object, otherwise: Tensor) -> Tensor:
    picked = as_value(chosen, otherwise.dtype)
    return like(otherwise, ops.select(condition.value(), ops.broadcast_in_dim(picked, otherwise.shape, []),
                                      otherwise.value()))
