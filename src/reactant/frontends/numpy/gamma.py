"""The gamma function to the last digits, for `math` and `scipy.special`: exp(lgamma(x)) would lose those that the size
of the logarithm takes."""
from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import times
from reactant.frontends.numpy.known_derivatives import Values, with_derivative
from reactant.frontends.session.jax_calls import call_jax
from reactant.ir import ops

FAR, LAST = 8, 172
"""From where on gamma is that of the nearest whole number, times a ratio; from where on it is infinite."""
FACTORIALS = np.array([math.factorial(k) for k in range(LAST - 1)], float)
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""Of Stirling."""


def gamma(x: ir.Value) -> ir.Value:
    """gamma(x) of float64, with its derivative."""
    def slope(inputs: Values, results: Values, directions: Values) -> list[ir.Value]:
        return [times(ops.multiply(results[0], ops.digamma(inputs[0])), directions[0], strong=True)]
    return with_derivative("gamma", [x], call_jax(gamma_of_array, x), slope, slope)[0]


def gamma_of_array(x: jax.Array) -> jax.Array:
    """On [1, 2] by a polynomial, a whole distance away times a product; from 8 on (n - 1)! exp(lgamma(x) - lgamma(n))
    with the nearest n, the difference by Stirling's series; below 0 -pi / (x sin(pi x) gamma(-x))."""
    size = jnp.abs(x)
    far = size >= FAR
    large = jnp.where(far & (size < LAST), size, FAR + 0.25)
    n = jnp.minimum(jnp.round(large), LAST - 1)
    f = large - n
    ratio = f * jnp.log(n) + ((large - 0.5) * jnp.log1p(f / n) - f) + (_series(large) - _series(n))
    distant = jnp.asarray(FACTORIALS)[n.astype(jnp.int32) - 1] * jnp.exp(ratio)
    distant = jnp.where(size >= LAST, jnp.inf, distant)

    small = jnp.where(far, 1.5, size)
    less = jnp.maximum(jnp.floor(small) - 1, 0)
    y = small - less + (small < 1)
    product = jnp.ones_like(x)
    for k in range(1, FAR - 1):
        product = jnp.where(small - k >= 1, product * (small - k), product)
    near = _polynomial(GAMMA, 2 * y - 3) * product / jnp.where(small < 1, small, 1.0)
    found = jnp.where(far, distant, near)

    rest = jnp.where(x < 0, x - jnp.round(x), 0.5)
    sine = jnp.sin(jnp.pi * rest) * jnp.where(jnp.mod(jnp.round(x), 2) == 0, 1.0, -1.0)
    found = jnp.where(x < 0, -jnp.pi / (x * sine) / found, found)
    found = jnp.where((x < 0) & (rest == 0), jnp.nan, jnp.where(x == 0, jnp.copysign(jnp.inf, x), found))
    return jnp.where(jnp.isnan(x), x, jnp.where(jnp.isinf(x), jnp.where(x > 0, jnp.inf, jnp.nan), found))


def _series(x: jax.Array) -> jax.Array:
    """lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)."""
    return _polynomial(SERIES, 1 / (x * x)) / x


def _polynomial(coefficients: Sequence[float], t: jax.Array) -> jax.Array:
    found = jnp.full_like(t, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        found = found * t + c
    return found


GAMMA = (
    0.886226925452758, 0.01616919872444251, 0.10370336342207545, -0.01341185057059658, 0.009040334940281114,
    -0.0024225953843678666, 0.0009157859972871906, -0.0002968901215703209, 0.00010092814883874258,
    -3.363758374630023e-05, 1.1252464220855473e-05, -3.75498861201985e-06, 1.252814898212055e-06,
    -4.178133192643162e-07, 1.3938306853004366e-07, -4.6469676482828825e-08, 1.5384082326038672e-08,
    -5.128375924618212e-09, 1.8220041028737747e-09, -6.073486906367263e-10, 1.2786323743890479e-10,
    -4.26216211088947e-11, 4.262222028457249e-11, -1.420743529591811e-11)
"""gamma(x) on [1, 2], in 2 x - 3: through Chebyshev's points, in 50 digits of mpmath."""
