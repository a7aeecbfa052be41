"""Derivatives of special functions in closed form, where those of how they are computed are wrong or have fewer digits.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import jax
from jaxlib.mlir import ir

from reactant.differentiate.declare import plus, times
from reactant.frontends.numpy.known_derivatives import Values, with_derivative
from reactant.frontends.session.jax_calls import call_jax
from reactant.ir import ops


def with_slopes(name: str, inputs: Values, results: Values) -> Values:
    """The results of a special function, with their derivative where that is said here."""
    if name not in SLOPES:
        return results

    def partials(x: Values, y: Values) -> list[list[ir.Value]]:
        return [slope(y, *x) for slope in SLOPES[name]]

    return with_derivative(
        name, inputs, results,
        lambda x, y, t: [_sum(row, t) for row in partials(x, y)],
        lambda x, y, g: [_sum(column, g) for column in zip(*partials(x, y), strict=True)])


def _sum(partials: Sequence[ir.Value], directions: Values) -> ir.Value:
    found = None
    for partial, direction in zip(partials, directions, strict=False):
        found = plus(found, times(partial, direction, strong=True))
    assert found is not None
    return found


# ---- the partials --------------------------------------------------------------------------------------------------

def _fresnel_angle(x: ir.Value) -> ir.Value:
    """pi x**2 / 2 but for whole revolutions: with x = r + 2 n it is pi r**2 / 2 + 2 pi n r."""
    n = ops.round_nearest_even(ops.multiply(x, 0.5))
    r = ops.subtract(x, ops.multiply(n, 2))
    revolutions = ops.multiply(n, r)
    revolutions = ops.subtract(revolutions, ops.round_nearest_even(revolutions))
    return ops.add(ops.multiply(ops.multiply(r, r), math.pi / 2), ops.multiply(revolutions, 2 * math.pi))


def _sinc(x: ir.Value) -> ir.Value:
    """sin(x) / x, in the form whose derivatives at 0 are known (`differentiate.smooth`)."""
    zero = ops.compare(x, 0, "EQ")
    safe = ops.select(zero, ops.splat(1, x), x)
    return ops.select(zero, ops.splat(1, x), ops.divide(ops.sine(safe), safe))


def _asymptotic(x: ir.Value, far: ir.Value, edge: float, factors: Sequence[float]) -> tuple[ir.Value, ...]:
    """Where `far`, else of `edge`: x, v = 1 / x**2, and 1 - c v (1 - d v (1 - ...)) with the factors c, d..."""
    large = ops.select(far, x, ops.splat(edge, x))
    inverse = ops.divide(ops.splat(1, x), ops.multiply(large, large))
    series = ops.splat(1, x)
    for factor in reversed(factors):
        series = ops.subtract(1, ops.multiply(ops.multiply(series, inverse), factor))
    return large, inverse, series


FAR, FAR_TERMS = 30.0, 6
"""From where on the derivative of erfcx is by its asymptotic series, and how many terms of that."""


def _erfcx(y: Values, x: ir.Value) -> list[ir.Value]:
    """2 x y - 2 / sqrt(pi); where that cancels -(1 - 3 / (2 x**2) + 15 / (4 x**4) - ...) / (sqrt(pi) x**2)."""
    far = ops.compare(x, FAR, "GT")
    _, inverse, series = _asymptotic(x, far, FAR, [k + 0.5 for k in range(1, FAR_TERMS + 1)])
    near = ops.subtract(ops.multiply(ops.multiply(x, y[0]), 2), 2 / math.sqrt(math.pi))
    return [ops.select(far, ops.multiply(ops.multiply(series, inverse), -1 / math.sqrt(math.pi)), near)]


def _entr(y: Values, x: ir.Value) -> list[ir.Value]:
    """-log x - 1; minus infinity below 0 is constant."""
    return [ops.select(ops.compare(x, 0, "LT"), ops.splat(0, x), ops.subtract(ops.negate(ops.log(x)), 1))]


NEAR_ONE, NEAR_TERMS = 0.125, 20
"""Where log(x) / (x - 1) is by its series, and how many terms of that."""


def _spence(y: Values, x: ir.Value) -> list[ir.Value]:
    """-log(x) / (x - 1); near 1 the series -1 + u / 2 - u**2 / 3 + ... in u = x - 1, which has all derivatives."""
    u = ops.subtract(x, 1)
    near = ops.compare(ops.abs(u), NEAR_ONE, "LT")
    small = ops.select(near, u, ops.splat(0, u))
    series = ops.splat(0, x)
    for k in range(NEAR_TERMS, 0, -1):
        series = ops.subtract(1 / k, ops.multiply(series, small))
    far = ops.select(near, ops.splat(2, x), x)
    return [ops.negate(ops.select(near, series, ops.divide(ops.log(far), ops.subtract(far, 1))))]


LOW, LOW_TERMS = -20.0, 9
"""From where down the derivative of log_ndtr is by its asymptotic series, and how many terms of that."""


def _log_ndtr(y: Values, x: ir.Value) -> list[ir.Value]:
    """exp(-x**2 / 2 - y) / sqrt(2 pi); where that cancels -x / (1 - 1 / x**2 + 3 / x**4 - ...)."""
    low = ops.compare(x, LOW, "LE")
    large, _, series = _asymptotic(x, low, LOW, range(1, 2 * LOW_TERMS, 2))
    power = ops.subtract(ops.multiply(ops.multiply(x, x), -0.5), y[0])
    near = ops.multiply(ops.exponential(ops.select(low, ops.splat(0, x), power)), 1 / math.sqrt(2 * math.pi))
    return [ops.select(low, ops.divide(ops.negate(large), series), near)]


def _density(a: ir.Value, x: ir.Value) -> ir.Value:
    """That of the gamma distribution: x**(a - 1) exp(-x) / gamma(a), its limit at 0, and 0 below."""
    inside = ops.compare(x, 0, "GT")
    safe, less = ops.select(inside, x, ops.splat(1, x)), ops.subtract(a, 1)
    power = ops.subtract(ops.subtract(ops.multiply(less, ops.log(safe)), safe), ops.lgamma(a))
    limit = ops.select(ops.compare(a, 1, "EQ"), ops.splat(1, x),
                       ops.select(ops.compare(a, 1, "LT"), ops.splat(math.inf, x), ops.splat(0, x)))
    beside = ops.select(ops.compare(x, 0, "EQ"), limit, ops.splat(0, x))
    return ops.select(inside, ops.exponential(power), beside)


def _gamma_slopes(sign: int, scale: float = 1.0) -> Callable[..., list[ir.Value]]:
    """Of sign * gammainc(scale a, scale x), but for a constant."""
    def slopes(y: Values, a: ir.Value, x: ir.Value) -> list[ir.Value]:
        a, x = ops.multiply(a, scale), ops.multiply(x, scale)
        (along,) = call_jax(jax.lax.igamma_grad_a, a, x)
        return [ops.multiply(each, sign * scale) for each in (along, _density(a, x))]
    return slopes


def _poisson_slopes(sign: int) -> Callable[..., list[ir.Value]]:
    """Of sign * gammainc(floor(k) + 1, x), but for a constant."""
    def slopes(y: Values, k: ir.Value, x: ir.Value) -> list[ir.Value]:
        return [ops.splat(0, k), ops.multiply(_density(ops.add(ops.floor(k), 1), x), sign)]
    return slopes


def _ratio(x: ir.Value, y: ir.Value) -> ir.Value:
    """x / y, 0 where x is."""
    return ops.select(ops.compare(x, 0, "EQ"), ops.splat(0, x), ops.divide(x, y))


SLOPES: dict[str, tuple[Callable[..., list[ir.Value]], ...]] = {
    "fresnel": (lambda y, x: [ops.sine(_fresnel_angle(x))], lambda y, x: [ops.cosine(_fresnel_angle(x))]),
    "sici": (lambda y, x: [_sinc(x)], lambda y, x: [ops.divide(ops.cosine(x), x)]),
    "erfcx": (_erfcx,),
    "entr": (_entr,),
    "exp1": (lambda y, x: [ops.divide(ops.negate(ops.exponential(ops.negate(x))), x)],),
    "expi": (lambda y, x: [ops.divide(ops.exponential(x), x)],),
    "log_ndtr": (_log_ndtr,),
    "logit": (lambda y, p: [ops.divide(ops.splat(1, p), ops.multiply(p, ops.subtract(1, p)))],),
    "spence": (_spence,),
    "gammainc": (_gamma_slopes(1),),
    "gammaincc": (_gamma_slopes(-1),),
    "chdtr": (_gamma_slopes(1, 0.5),),
    "chdtrc": (_gamma_slopes(-1, 0.5),),
    "pdtr": (_poisson_slopes(-1),),
    "pdtrc": (_poisson_slopes(1),),
    "xlogy": (lambda y, a, b: [ops.log(b), _ratio(a, b)],),
    "xlog1py": (lambda y, a, b: [ops.log_plus_one(b), _ratio(a, ops.add(b, 1))],),
}
"""By name: for each result, its partials from (the results, *arguments)."""
