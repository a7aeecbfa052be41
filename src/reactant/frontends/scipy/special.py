"""`scipy.special`: element-wise functions, computed by JAX's functions of the same name and corrected at their edges.

All agree with SciPy to 1e-9 or better over the grid of tests/frontends/scipy/test_special.py. Complex arguments are
refused.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as js
import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.numpy.gamma import gamma
from reactant.frontends.numpy.special import bessel_i0, bessel_i0e
from reactant.frontends.scipy.slopes import with_slopes
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.jax_calls import call_jax
from reactant.frontends.source.conversion import convert

AS_IN_JAX = """betainc entr erf erfc erfcx erfinv expit fresnel gammasgn i1 i1e
    ndtr ndtri sici spence xlog1py xlogy""".split()
"""Functions that agree everywhere."""

def _digamma(x: jax.Array) -> jax.Array:
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), js.digamma(x))


def _exp1(x: jax.Array) -> jax.Array:
    """Below 1 by its series: JAX's goes on for ever where x is tiny (0.10.2)."""
    near = jnp.where((x > 0) & (x < 1), x, 0.5)
    terms = jnp.zeros_like(x)
    for k in range(18, 0, -1):
        terms = near * (1 / (k * math.factorial(k)) - terms)
    series = terms - np.euler_gamma - jnp.log(near)
    far = js.exp1(jnp.where((x >= 1) & (x < jnp.inf), x, 1.0))
    edge = jnp.where(x == 0, jnp.inf, jnp.where(x == jnp.inf, 0.0, jnp.nan))
    return jnp.where((x > 0) & (x < 1), series, jnp.where((x >= 1) & (x < jnp.inf), far, edge))


def _expi(x: jax.Array) -> jax.Array:
    edge = jnp.where(x == 0, -jnp.inf, jnp.where(x > 0, jnp.inf, -0.0))
    return jnp.where((x == 0) | jnp.isinf(x), edge, js.expi(x))


def _exprel(x: jax.Array) -> jax.Array:
    """(exp(x) - 1) / x, near 0 by its series, which has the derivatives too."""
    near = jnp.abs(x) < 0.01
    series = 1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7)))))
    plain = near | (x == jnp.inf)
    return jnp.where(plain, jnp.where(near, series, jnp.inf), jnp.expm1(x) / jnp.where(plain, 1.0, x))


def _by_exprel(log: Callable[[jax.Array], jax.Array], pole: float, theirs: Callable[..., jax.Array]
               ) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """(exp(power log(x)) - 1) / power as log(x) exprel(power log(x)), which has the derivatives where the power is 0.
    pole: of the logarithm; at it, and where numbers are infinite or NaN, `theirs`."""
    def transformed(x: jax.Array, power: jax.Array) -> jax.Array:
        usual = (x > pole) & (x < jnp.inf) & jnp.isfinite(power)
        size = log(jnp.where(usual, x, pole + 1))
        return jnp.where(usual, size * _exprel(jnp.where(usual, power, 0.0) * size), theirs(x, power))
    return transformed


def _dawsn(x: jax.Array) -> jax.Array:
    """Near 0 by its series, which has the derivatives too."""
    near = jnp.abs(x) < 0.1
    y = 2 * x * x
    series = x * (1 - y / 3 * (1 - y / 5 * (1 - y / 7 * (1 - y / 9 * (1 - y / 11 * (1 - y / 13))))))
    return jnp.where(near, series, js.dawsn(jnp.where(near, 1.0, x)))


def _gammainc(a: jax.Array, x: jax.Array) -> jax.Array:
    edge = jnp.where(a == 0, jnp.where(x > 0, 1.0, jnp.nan), jnp.where(x == jnp.inf, jnp.nan, 0.0))
    known = ((a == 0) & (x > 0)) | ((a == jnp.inf) & (x >= 0))
    return jnp.where(known, edge, js.gammainc(jnp.where(known, 1.0, a), x))


def _gammaincc(a: jax.Array, x: jax.Array) -> jax.Array:
    edge = jnp.where(a == 0, 0.0, jnp.where(x == jnp.inf, jnp.nan, 1.0))
    known = ((a == 0) & (x > 0)) | ((a == jnp.inf) & (x >= 0))
    return jnp.where(known, edge, js.gammaincc(jnp.where(known, 1.0, a), x))


def _gammaln(x: jax.Array) -> jax.Array:
    return jnp.where(x == -jnp.inf, -jnp.inf, js.gammaln(x))


def _stirling_rest(x: jax.Array) -> jax.Array:
    """gammaln(x) - ((x - 1/2) log x - x + log(2 pi) / 2) for x >= 8: Stirling's series."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))) / x


def _betaln(a: jax.Array, b: jax.Array) -> jax.Array:
    """Without the differences of large gammaln that cancel (JAX's function has 7 places). Chosen, not by min and max,
    which share the slope where they are equal."""
    ordered = a <= b
    small, large = jnp.where(ordered, a, b), jnp.where(ordered, b, a)
    far = jnp.where(large < 8, 8.0, jnp.where(large > 1e300, 1e300, large))
    series = js.gammaln(small) + _stirling_rest(far) - _stirling_rest(small + far) + small - \
        small * jnp.log(small + far) - (far - 0.5) * jnp.log1p(small / far)
    value = jnp.where(large >= 8, series, js.gammaln(a) + js.gammaln(b) - js.gammaln(a + b))
    value = jnp.where(large == jnp.inf, jnp.where(small < jnp.inf, -jnp.inf, jnp.nan), value)
    return jnp.where((a == 0) | (b == 0), jnp.inf, value)


def _poch(z: jax.Array, m: jax.Array) -> jax.Array:
    """gamma(z + m) / gamma(z), by Stirling's series where both are large, reflected where both have poles."""
    far = jnp.minimum(z, z + m) >= 8
    a, b = jnp.where(far, z, 8.0), jnp.where(far, m, 0.0)
    series = (a - 0.5) * jnp.log1p(b / a) + b * jnp.log(a + b) - b + _stirling_rest(a + b) - _stirling_rest(a)
    poles = (z <= 0) & (z == jnp.floor(z)) & (z + m <= 0) & (m == jnp.floor(m))
    top, bottom = jnp.where(poles, 1 - z, z + m), jnp.where(poles, 1 - z - m, z)
    sign = jnp.where(poles, 1 - 2 * jnp.mod(m, 2), js.gammasgn(z) * js.gammasgn(z + m))
    near = jnp.where(jnp.isnan(sign), 1.0, sign) * jnp.exp(js.gammaln(top) - js.gammaln(bottom))     # NaN: a pole
    return jnp.where((m == 0) & ~jnp.isfinite(z), 1.0, jnp.where(far, jnp.exp(series), near))


def _rel_entr(x: jax.Array, y: jax.Array) -> jax.Array:
    inside = (x > 0) & (y > 0)
    value = jnp.where(inside, x, 1.0) * jnp.log(jnp.where(inside, x, 1.0) / jnp.where(inside, y, 1.0))
    outside = jnp.where((x == 0) & (y >= 0), 0.0, jnp.inf)
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, jnp.where(inside, value, outside))


def _kl_div(x: jax.Array, y: jax.Array) -> jax.Array:
    inside = (x > 0) & (y > 0)
    value = jnp.where(inside, x, 1.0) * jnp.log(jnp.where(inside, x, 1.0) / jnp.where(inside, y, 1.0)) - x + y
    outside = jnp.where((x == 0) & (y >= 0), y, jnp.inf)
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, jnp.where(inside, value, outside))


def _log_ndtr(x: jax.Array) -> jax.Array:
    """Beyond -1 and 1 by erfcx, which is exp(x**2) erfc(x); above, the square is taken in two parts."""
    low, high = jnp.where(x < -1, x, -1.0), jnp.where(x > 1, jnp.minimum(x, 50.0), 1.0)
    below = jnp.log(0.5 * js.erfcx(-low / np.sqrt(2))) - 0.5 * low * low
    main = jnp.floor(16 * high) / 16
    density = jnp.exp(-0.5 * main * main) * jnp.exp(-0.5 * (high - main) * (high + main))
    above = jnp.log1p(-0.5 * js.erfcx(high / np.sqrt(2)) * density)
    middle = jnp.log1p(-0.5 * js.erfc(jnp.clip(x, -1.0, 1.0) / np.sqrt(2)))
    return jnp.where(x < -1, below, jnp.where(x > 1, above, middle))


def _logit(p: jax.Array) -> jax.Array:
    """Near 1/2, where p / (1 - p) is near 1, by its distance from that."""
    near = jnp.abs(p - 0.5) < 0.2
    middle = jnp.where(near, p, 0.5)
    return jnp.where(near, jnp.log1p((2 * middle - 1) / (1 - middle)), js.logit(p))


def _stdtr(df: jax.Array, t: jax.Array) -> jax.Array:
    """By the incomplete beta function; near 0, where that has no derivative, by the hypergeometric series."""
    b = (df + 1) / 2
    near = (t * t * b <= 1e-3 * df) & (df < jnp.inf)
    z = jnp.where(near, t * t / df, 0.0)
    series = 1 - b * z / 3 * (1 - (b + 1) * z * 3 / 10 * (1 - (b + 2) * z * 5 / 21 * (1 - (b + 3) * z * 7 / 36)))
    central = 0.5 + t * _poch(df / 2, jnp.full_like(df, 0.5)) / jnp.sqrt(df * np.pi) * series
    u = jnp.where(near, 1.0, t)
    far = 0.5 * js.betainc(df / 2, 0.5, jnp.where(jnp.isinf(u), 0.0, df / (df + u * u)))
    tail = jnp.where(df == jnp.inf, js.ndtr(-jnp.abs(u)), far)
    outer = jnp.where(u > 0, 1 - tail, jnp.where(jnp.isnan(u), jnp.nan, tail))
    return jnp.where(df > 0, jnp.where(near, central, outer), jnp.nan)


def _fdtr(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    share = jnp.where(x == jnp.inf, 1.0, a * x / (b + a * x))
    return jnp.where((a > 0) & (b > 0) & (x >= 0), js.betainc(a / 2, b / 2, share), jnp.nan)


def _fdtrc(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    rest = jnp.where(x == jnp.inf, 0.0, b / (b + a * x))
    return jnp.where((a > 0) & (b > 0) & (x >= 0), js.betainc(b / 2, a / 2, rest), jnp.nan)


def _huber(delta: jax.Array, r: jax.Array) -> jax.Array:
    inside = jnp.where(jnp.abs(r) <= delta, 0.5 * r * r, delta * (jnp.abs(r) - 0.5 * delta))
    return jnp.where(delta < 0, jnp.inf, inside)


def _zeta(s: jax.Array, q: jax.Array) -> jax.Array:
    """Infinite at the poles, NaN where a power of a negative number is no real one."""
    whole = q == jnp.floor(q)
    pole = (s == 1) | (~(s < 1) & (((q <= 0) & whole) | ((s == jnp.inf) & (q < 1))))
    none = jnp.isnan(s) | jnp.isnan(q) | (s < 1) | ((q < 0) & ~whole & (s != jnp.floor(s)))
    edge = jnp.where(pole, jnp.inf, jnp.where(none, jnp.nan, jnp.where(q == 1, 1.0, 0.0)))
    edge = jnp.where((s == jnp.inf) & (q > 1) & (q < jnp.inf), jnp.nan, edge)                     # as SciPy says
    known = pole | none | jnp.isinf(s) | jnp.isinf(q)
    return jnp.where(known, edge, js.zeta(jnp.where(known, 2.0, s), jnp.where(known, 1.0, q)))


CORRECTED: dict[str, Callable[..., jax.Array]] = {
    "betaln": _betaln, "digamma": _digamma, "psi": _digamma, "exp1": _exp1, "expi": _expi, "exprel": _exprel,
    "gammainc": _gammainc, "gammaincc": _gammaincc, "gammaln": _gammaln, "poch": _poch, "rel_entr": _rel_entr,
    "kl_div": _kl_div, "boxcox": _by_exprel(jnp.log, 0.0, js.boxcox),
    "boxcox1p": _by_exprel(jnp.log1p, -1.0, js.boxcox1p), "zeta": _zeta,
    "log_ndtr": _log_ndtr, "logit": _logit, "huber": _huber, "cbrt": jnp.cbrt, "exp2": lambda x: jnp.power(2.0, x),
    "expm1": jnp.expm1, "log1p": jnp.log1p,
    "exp10": lambda x: jnp.power(10.0, x), "cosm1": lambda x: -2 * jnp.sin(x / 2) ** 2,
    "chdtr": lambda v, x: jnp.where(x < 0, 0.0, _gammainc(v / 2, jnp.where(x < 0, 0.0, x) / 2)),
    "chdtrc": lambda v, x: jnp.where(x < 0, 1.0, _gammaincc(v / 2, jnp.where(x < 0, 0.0, x) / 2)),
    "pdtr": lambda k, m: jnp.where((k < 0) | (m < 0), jnp.nan, _gammaincc(jnp.floor(k) + 1, m)),
    "pdtrc": lambda k, m: jnp.where((k < 0) | (m < 0), jnp.nan, _gammainc(jnp.floor(k) + 1, m)),
    "dawsn": _dawsn, "stdtr": _stdtr, "fdtr": _fdtr, "fdtrc": _fdtrc,
    "log_expit": jax.nn.log_sigmoid, "betaincc": lambda a, b, x: js.betainc(b, a, 1 - x),
}

_HIDDEN = {"_zeta": "zeta"}
"""Ufuncs behind a Python function of `scipy.special`."""

OURS: dict[str, Callable[[ir.Value], ir.Value]] = {"i0": bessel_i0, "i0e": bessel_i0e, "gamma": gamma}
"""Functions of float64 that are ours."""
SHORT = frozenset("""cbrt cosm1 entr erf exp2 expit expm1 gammasgn huber kl_div log1p log_expit rel_entr xlog1py xlogy
    """.split())
"""Functions that keep the digits of float32 when they are computed in it. SciPy computes all in float64."""
_FUNCTIONS: dict[str, Callable] = {**{n: f for n in AS_IN_JAX if (f := getattr(js, n, None))}, **CORRECTED}


def name_of(ufunc: np.ufunc) -> str | None:
    """The name of a ufunc of `scipy.special`, None for others."""
    module = sys.modules.get("scipy.special")
    if module is None:
        return None
    name = _HIDDEN.get(ufunc.__name__, ufunc.__name__)
    return name if getattr(getattr(module, "_ufuncs", module), ufunc.__name__, None) is ufunc else None


@means("special_function")
def loop(ufunc: np.ufunc) -> Callable[[Sequence[ir.Value], tuple[np.dtype, ...]], list[ir.Value]]:
    """The loop of a ufunc of `scipy.special`. Raises `UnsupportedError` naming it where there is none."""
    name = name_of(ufunc)
    ours, function = OURS.get(name or ""), _FUNCTIONS.get(name or "")
    if ours is None and function is None:
        raise UnsupportedError(f"{'scipy.special' if name else 'numpy'}.{ufunc.__name__} is not supported in "
                               "compiled code.",
                               hint="Write it with functions that docs/numpy.md lists, or call it outside of the "
                                    "compiled function.", code="function-not-compiled")

    def run(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> list[ir.Value]:
        kind = dtypes[-1]
        if kind.kind != "f" or any(d.kind == "c" for d in dtypes):
            raise UnsupportedError(f"scipy.special.{name} of complex numbers is not supported in compiled code.",
                                   hint="Write it with functions that docs/numpy.md lists, or call it outside of the "
                                        "compiled function.", code="function-not-compiled")
        if ours is not None:
            return [cast(ours(cast(values[0], np.float64)), kind)]
        assert function is not None
        wide = kind if name in SHORT else np.dtype(np.float64)
        inputs = [cast(v, wide) for v in values]
        results = with_slopes(str(name), inputs, [cast(v, wide) for v in call_jax(function, *inputs)])
        return [cast(v, kind) for v in results]
    return run


def _log_sum_exp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """`logsumexp`: log1p(rest / m) + log m + max. SciPy's m is the number of greatest elements, here the sum of their
    exponentials, which is the same and varies with them: all derivatives are right at equal elements. Where that is
    no number it is the logarithm of the sum, which is of zeros elsewhere."""
    a, weights = wrap(a), 1 if b is None else wrap(b)
    if np.result_type(a, weights).kind == "c":
        return convert(sys.modules["scipy.special._logsumexp"].logsumexp)(a, axis, b, keepdims, return_sign)
    a = a if a.dtype.kind == "f" else a.astype(np.float64)
    if b is not None:
        shape = np.broadcast_shapes(a.shape, weights.shape)
        a, weights = np.broadcast_to(a, shape), np.broadcast_to(weights.astype(np.result_type(a, weights)), shape)
    axes = tuple(range(a.ndim)) if axis is None else axis

    def total(terms: Any) -> Any:
        return np.sum(terms, axis=axes, keepdims=True)

    terms = a if b is None else np.where(weights == 0, -np.inf, a)
    greatest = np.max(terms, axis=axes, keepdims=True, initial=-np.inf)
    size, largest = np.exp(terms - greatest) * weights, terms == greatest
    m, rest = total(np.where(largest, size, 0)), total(np.where(largest, 0, size))
    rest = np.where(rest == 0, rest, rest / m)
    sign = np.sign(rest + 1) * np.sign(m)
    found = np.log1p(np.where(rest < -1, -rest - 2, rest)) + np.log(np.abs(m)) + greatest
    found = found if return_sign else np.where(sign < 0, np.nan, found)
    usual = np.isfinite(found)
    plain = total(np.exp(np.where(usual, 0, a)) * weights)
    found = np.where(usual, found, np.log(np.abs(plain) if return_sign else plain))
    sign = np.where(usual, sign, np.sign(plain))
    found, sign = (x if keepdims else np.squeeze(x, axis=axes)[()] for x in (found, sign))
    return (found, sign) if return_sign else found


LOGARITHMS = {"logsumexp": _log_sum_exp}
