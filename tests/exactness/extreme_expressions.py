"""The part of the table with operands at the ends of the floats, functions other than sums and products, and whole
arrays."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.exactness.expressions import DOUBLE, PAIR, SINGLE, Operands, family, of

HALF = np.finfo(np.float16)


def edges(limits: Any) -> np.ndarray:
    """Zeros, denormal, least, great and greatest numbers, infinity and NaN."""
    t = limits.dtype.type
    return np.array([0.0, -0.0, 1, -1, limits.smallest_subnormal, -limits.smallest_subnormal, limits.tiny / t(8),
                     limits.tiny, -limits.tiny, np.sqrt(limits.tiny) / t(4), np.sqrt(limits.max) * t(4),
                     -np.sqrt(limits.max) * t(4), limits.max / t(3), limits.max, -limits.max, np.inf, -np.inf, np.nan,
                     0.1, 3, -7.3], limits.dtype)


def at_edges(limits: Any) -> tuple[np.ndarray, ...]:
    return (edges(limits),)


def pairs(limits: Any) -> tuple[np.ndarray, ...]:
    x = edges(limits)
    return np.repeat(x, len(x)), np.tile(x, len(x))


def triples(limits: Any) -> tuple[np.ndarray, ...]:
    """Numbers of which pairs overflow and underflow, and all three together do not."""
    t = limits.dtype.type
    x = np.array([0.3, limits.tiny * t(3), limits.tiny / t(16), np.sqrt(limits.max) * t(5), limits.max / t(5), -7, 0],
                 limits.dtype)
    a, b, c = np.meshgrid(x, x, x, indexing="ij")
    return a.ravel(), b.ravel(), c.ravel()


# ---- sums and products whose order is what counts ------------------------------------------------------------------

family("order", triples, {
    "quotient of quotient": lambda x, y, z: x / y / z,
    "by a quotient": lambda x, y, z: x / (y / z),
    "of quotients": lambda x, y, z: (x / y) / (z / x),
    "product over factor": lambda x, y, z: x * y / y,
    "quotient times divisor": lambda x, y, z: x / y * y,
    "products": lambda x, y, z: x * y * z,
    "product of quotients": lambda x, y, z: (x / y) * (y / z),
    "over product": lambda x, y, z: x / (y * z),
    "sums": lambda x, y, z: (x + y) - y,
    "sum of products": lambda x, y, z: x * y + z * y,
    "sum of quotients": lambda x, y, z: x / y + z / y,
    "reciprocals": lambda x, y, z: 1 / (1 / x),
    "reciprocal of quotient": lambda x, y, z: 1 / (x / y),
    "product of reciprocals": lambda x, y, z: (1 / x) * (1 / y),
    "negated": lambda x, y, z: (-x / y) * -z - (x * z) / y,
    "square": lambda x, y, z: (x / y) * (x / y),
}, plain=True)
family("order", triples, {
    "root of product": lambda x, y, z: np.sqrt(x * y),
    "product of roots": lambda x, y, z: np.sqrt(np.abs(x)) * np.sqrt(np.abs(y)),
    "root of square": lambda x, y, z: np.sqrt(x * x),
    "square of root": lambda x, y, z: np.sqrt(x) * np.sqrt(x),
    "over root": lambda x, y, z: x / np.sqrt(np.abs(y)),
    "over its root": lambda x, y, z: x / np.sqrt(x),
    "root over": lambda x, y, z: np.sqrt(np.abs(x)) / x,
    "reciprocal of root": lambda x, y, z: 1 / np.sqrt(np.abs(x)),
    "root of reciprocal": lambda x, y, z: np.sqrt(1 / np.abs(x)),
    "length": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
    "normalised": lambda x, y, z: x / np.sqrt(x * x + y * y),
    "size": lambda x, y, z: np.abs(x) * np.abs(y) / np.abs(x),
    "sign": lambda x, y, z: x / np.abs(x),
}, ulps=0)
family("order", triples, {
    "hypotenuse": lambda x, y, z: np.hypot(x, y),
    "square by power": lambda x, y, z: (x / y)**2,
    "root by power": lambda x, y, z: np.abs(x * y)**0.5,
    "reciprocal by power": lambda x, y, z: (x * y)**-1,
}, ulps=2)
MAGIC = {52: DOUBLE, 23: SINGLE}
for bits, limits in MAGIC.items():
    family(f"constants of {bits} bits", of([0.3, 1.7, 2.5, -3.49, 0.0, -0.0, 1e-30, 7.0, 1.5, -1e3, 0.1]), {
        "rounded": lambda x, m=1.5 * 2.0**bits: (x + m) - m,
        "rounded down": lambda x, m=1.5 * 2.0**bits: (x - m) + m,
        "of constants": lambda x, m=1.5 * 2.0**bits: m - (m - x),
        "to a grid": lambda x, m=1.5 * 2.0**(bits - 3): ((x + m) - m) - x,
        "twice": lambda x, m=2.0**bits: ((x + m) + 1) - m,
        "absorbed": lambda x, m=2.0**(bits + 1): (x + m) == m,
        "of two": lambda x, m=2.0**bits: (x + m) + (x - m),
        "negated": lambda x, m=2.0**bits: -(x + m) + m,
        "through functions": lambda x, m=2.0**bits: np.add(np.reshape(np.add(x, m), np.shape(x)), -m),
        "in a branch of arrays": lambda x, m=2.0**bits: np.where(x > 0, x + m, x + m) - m,
        "made of constants": lambda x, m=2.0**bits: (x + m * np.ones(3)[0]) - (m + np.zeros(2)[1]),
        "great factor": lambda x, m=2.0**(1000 if bits == 52 else 120): (x * m) * 4096 * 4096 / m,
        "small factor": lambda x, m=2.0**(-1000 if bits == 52 else -120): (x * m) * m / m,
        "great divisor": lambda x, m=2.0**(1000 if bits == 52 else 120): x / m / m * m,
        "small divisor": lambda x, m=2.0**(-1000 if bits == 52 else -120): x / m / m,
        "multiple": lambda x, m=3.0: x * m / m - x,
        "part": lambda x, m=3.0: x / m * m - x,
        "thirds": lambda x, m=3.0: x / m / 7.0 - x / (7.0 * m),
        "tenths": lambda x, m=0.1: x * m * 10 - x,
        "over a quotient": lambda x, m=3.0: m / (7.0 / x),
    }, plain=bits == 52, limits=(limits,))
family("epsilon", of([1.0, 3.0, 0.1, 7.0, 49.0, 1e3, 0.3]), {
    "third": lambda x: abs(3 * (4 * x / 3 - x) - x),
    "unit": lambda x: ((x / 49) * 49) - x,
    "shifted": lambda x: ((x + 1) - 1) - x,
    "halved": lambda x: (x * 0.5 + x * 0.5) - x,
    "tenth": lambda x: (x * 0.1 + x * 0.2) - x * 0.3,
    "sevenths": lambda x: x / 7 + x / 7 * 2 + x / 7 * 4 - x,
}, plain=True, smooth=True)

# ---- quotients and reciprocals -------------------------------------------------------------------------------------

family("edges", pairs, {
    "sum": lambda x, y: x + y, "difference": lambda x, y: x - y, "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / y, "cross": lambda x, y: x * y - y * x, "mean": lambda x, y: (x + y) / 2,
    "middle": lambda x, y: x + (y - x) / 2, "relative": lambda x, y: (x - y) / (x + y),
}, plain=True)
family("edges", pairs, {
    "greater": lambda x, y: x > y, "equal": lambda x, y: x == y, "not less": lambda x, y: ~(x < y),
    "by difference": lambda x, y: x - y > 0, "by product": lambda x, y: x * y > y * y,
    "sign": lambda x, y: np.sign(x - y), "copied sign": np.copysign,
    "guarded quotient": lambda x, y: np.where(y != 0, x / np.where(y != 0, y, 1), 0.0),
    "unguarded quotient": lambda x, y: np.where(y > 0, x / y, x),
    "step": np.heaviside, "next": np.nextafter,
    "remainder": np.fmod, "modulo": np.mod, "floor of quotient": np.floor_divide,
})
family("edges", pairs, {
    "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "clipped": lambda x, y: np.clip(x, y, 1.0),
}, zeros="NumPy's maximum of 0 and -0 is the one or the other by where it stands in a vector")
family("edges", pairs, {"arctan2": np.arctan2, "hypot": np.hypot}, ulps=4)
family("edges", pairs, {"logaddexp": np.logaddexp}, ulps=8)
family("edges", pairs, {"power": np.power}, ulps=8)
family("edge", at_edges, {
    "reciprocal": lambda x: 1 / x, "over largest": lambda x: x / np.finfo(x.dtype).max,
    "over least": lambda x: x / np.finfo(x.dtype).tiny,
    "over denormal": lambda x: x / np.finfo(x.dtype).smallest_subnormal,
    "over zero": lambda x: x / 0.0, "over negative zero": lambda x: x / -0.0, "over infinity": lambda x: x / np.inf,
    "plus zero": lambda x: x + 0.0, "minus zero": lambda x: x - 0.0, "zero minus": lambda x: 0.0 - x,
    "times zero": lambda x: x * 0.0, "minus itself": lambda x: x - x, "over itself": lambda x: x / x,
    "times truth": lambda x: x * (x > 0), "square is positive": lambda x: x * x >= 0,
    "is itself": lambda x: x == x, "size is positive": lambda x: np.abs(x) >= 0, "root": np.sqrt,
    "root of square": lambda x: np.sqrt(x * x), "square": np.square, "sign": np.sign, "negative": lambda x: -x,
    "signbit": np.signbit, "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "trunc": np.trunc,
    "negated ceil": lambda x: -np.ceil(-x), "round": lambda x: np.round(x), "mantissa": lambda x: np.frexp(x)[0],
    "exponent": lambda x: np.where(np.isfinite(x), np.frexp(x)[1], 0), "scaled": lambda x: np.ldexp(x, 3),
    "spacing": np.spacing,
    "fraction": lambda x: np.modf(x)[0], "whole": lambda x: np.modf(x)[1],
    "known": lambda x: np.nan_to_num(x), "finite": np.isfinite, "truth": lambda x: x.astype(bool),
    "fourth power": lambda x: x * x * x * x, "size of negative": lambda x: np.abs(-x),
    "positive part": lambda x: np.where(x > 0, x, 0.0), "negative part": lambda x: -np.where(x < 0, -x, 0.0),
})
family("edge", at_edges, {
    "square by power": lambda x: x**2, "cube": lambda x: x**3, "power of 4": lambda x: x**4,
    "power of 5": lambda x: x**5, "power of 0": lambda x: x**0.0, "power of -1": lambda x: x**-1.0,
    "power of -2": lambda x: x**-2.0, "power of -3": lambda x: x**-3.0, "power of 1/2": lambda x: x**0.5,
    "power of -1/2": lambda x: x**-0.5,
    "power of 3/2": lambda x: x**1.5, "power of 5/2": lambda x: x**2.5, "power of -3/2": lambda x: x**-1.5,
    "power of 1/3": lambda x: x**(1 / 3), "power of 100": lambda x: x**100.0,
    "power of two": lambda x: 2.0**x, "power of one": lambda x: 1.0**x, "power of -1 to": lambda x: (-1.0)**x,
    "power of zero to": lambda x: 0.0**x, "square of power": lambda x: (x**0.5)**2,
    "root of power": lambda x: np.sqrt(x**2),
    "cube root": np.cbrt, "logarithm": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh, "arccosh": np.arccosh,
    "arctanh": np.arctanh, "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "sinc": np.sinc,
}, ulps=8)
family("edge", lambda limits: (edges(limits)[np.abs(edges(limits)) < 1e4],), {
    "sine": np.sin, "cosine": np.cos, "tangent": np.tan,
}, ulps=8)

# ---- exponentials and logarithms -----------------------------------------------------------------------------------


def exponents(limits: Any) -> tuple[np.ndarray, ...]:
    most = float(np.log(limits.max))
    return (np.array([0.0, -0.0, 1, -1, most - 1, most + 1, 1 - most, -most - 1, -most - 8, 0.4 * most, -0.4 * most,
                      np.inf, -np.inf, np.nan, 1e-9, 0.3], limits.dtype),)


def two_exponents(limits: Any) -> tuple[np.ndarray, ...]:
    x, = exponents(limits)
    return np.repeat(x, len(x)), np.tile(x, len(x))


family("exponential", two_exponents, {
    "product": lambda x, y: np.exp(x) * np.exp(y), "quotient": lambda x, y: np.exp(x) / np.exp(y),
    "over": lambda x, y: x / np.exp(y), "over negative": lambda x, y: x / np.exp(-y),
    "difference": lambda x, y: np.sign(np.exp(x) - np.exp(y)),
    "ratio": lambda x, y: np.exp(x) / (np.exp(x) + np.exp(y)),
}, ulps=32)
family("exponential", exponents, {
    "logarithm": lambda x: np.log(np.exp(x)), "of logarithm": lambda x: np.exp(np.log(x)),
    "square": lambda x: np.exp(x)**2, "root": lambda x: np.sqrt(np.exp(x)),
    "inverse": lambda x: 1 / np.exp(x), "inverse of negative": lambda x: 1 / np.exp(-x),
    "bell": lambda x: np.exp(-x * x),
    "logistic": lambda x: 1 / (1 + np.exp(-x)), "soft plus": lambda x: np.log(1 + np.exp(x)),
    "tanh": lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
    "swish": lambda x: x / (1 + np.exp(-x)), "times": lambda x: x * np.exp(-x), "overflow": lambda x: np.exp(x) > 1e30,
    "log of power": lambda x: np.log(x**2), "log of square": lambda x: np.log(x * x),
    "log of root": lambda x: np.log(np.sqrt(x)),
    "log of inverse": lambda x: np.log(1 / x), "log of exp2": lambda x: np.log2(np.exp2(x)),
    "log of general power": lambda x: np.log(np.abs(x)**1.7), "exp of product": lambda x: np.exp(x * 0.5)**2.0,
    "entropy": lambda x: x * np.log(x),
    "guarded entropy": lambda x: np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0.0),
}, ulps=32)
family("exponential", two_exponents, {"power": lambda x, y: np.exp(x)**y}, ulps=4000)
family("exponential", exponents, {
    "minus one": lambda x: np.exp(x) - 1, "log of sum": lambda x: np.log(1 + x),
}, near=4, ulps=4)
family("softmax", lambda limits: (exponents(limits)[0][:11],), {
    "plain": lambda x: np.exp(x) / np.exp(x).sum(),
    "shifted": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
    "log": lambda x: x - x.max() - np.log(np.exp(x - x.max()).sum()),
    "log of softmax": lambda x: np.log(np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
    "logsumexp": lambda x: x.max() + np.log(np.sum(np.exp(x - x.max()))),
    "entropy": lambda x: entropy(np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
    "guarded": lambda x: np.where(x.max() < 10, np.exp(x), np.exp(x - x.max())),
}, each=False, ulps=32)


def entropy(p):
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0))


family("powers of whole numbers", of(np.arange(1.0, 22)), {
    "of two": lambda x: 2.0**x, "of ten": lambda x: np.where(x < 11, 10.0**np.minimum(x, 10), x),
    "exp2": np.exp2, "log2": lambda x: np.log2(np.exp2(x)) - x, "floor of log2": lambda x: np.floor(np.log2(2.0**x)),
    "square": lambda x: x**2 - x * x, "root of square": lambda x: np.sqrt(x * x) - x,
    "half": lambda x: (x * x)**0.5 - x,
    "bits": lambda x: np.ceil(np.log2(2.0**x)),
})
family("powers of whole numbers", of(np.arange(1.0, 11)), {
    "floor of log10": lambda x: np.floor(np.log10(10.0**x)), "log10": lambda x: np.log10(10.0**x) - x,
    "floor of cube root": lambda x: np.floor(np.cbrt(x * x * x)),
}, limits=(DOUBLE,))

# ---- rounding to whole numbers -------------------------------------------------------------------------------------

GRID = of(np.arange(-12, 13) * 0.1)
family("grid", GRID, {
    "floor": lambda x: np.floor(x / 0.1), "ceil": lambda x: np.ceil(x / 0.1),
    "floor of multiple": lambda x: np.floor(x * 10),
    "floor division": lambda x: x // 0.1, "remainder": lambda x: x % 0.1, "fmod": lambda x: np.fmod(x, 0.1),
    "rest": lambda x: np.divmod(x, 0.3)[1], "index": lambda x: ((x + 1.2) / 0.1).astype(np.int64),
    "round": lambda x: np.round(x, 1) - x,
    "half": lambda x: np.round(x * 5), "snapped": lambda x: np.round(x / 0.1) * 0.1 - x,
    "cell": lambda x: np.floor((x - 0.1) / 0.3),
    "wrapped": lambda x: x - np.floor(x / 0.4) * 0.4, "integral": lambda x: x / 0.1 == np.rint(x / 0.1),
    "rint": lambda x: np.rint(x * 10) / 10 - x, "decimals": lambda x: np.round(x * 1.05, 2),
    "fix": lambda x: np.fix(x / 0.1),
    "negative": lambda x: -(x // -0.1), "phase": lambda x: np.mod(x + 0.6, 1.2) - 0.6,
    "forty-ninth": lambda x: np.floor(x / 49 * 49),
})
BINS = of(np.arange(11) * 0.1, np.linspace(0, 1, 11))
family("bins", BINS, {
    "searchsorted": lambda x, e: np.searchsorted(e, x), "right": lambda x, e: np.searchsorted(e, x, "right"),
    "digitize": lambda x, e: np.digitize(x, e), "histogram": lambda x, e: np.histogram(x, bins=10, range=(0, 1))[0],
    "of edges": lambda x, e: np.histogram(x, e)[0],
    "bincount": lambda x, e: np.bincount((x * 10).astype(np.int64), minlength=12),
    "edges": lambda x, e: np.linspace(0, 1, 11) - e, "arange": lambda x, e: np.arange(0, 1, 0.1)[:10] - x[:10],
    "equal": lambda x, e: (x == e).sum(), "isclose": lambda x, e: np.isclose(x, e, rtol=0, atol=1e-16),
    "above": lambda x, e: np.count_nonzero(x > e),
    "distinct": lambda x, e: np.count_nonzero(np.diff(np.sort(np.concatenate([x, e])))),
    "interp": lambda x, e: np.interp(x, e, np.arange(11.0)) - np.arange(11.0).astype(x.dtype),
}, each=False)
family("order of numbers", lambda limits: (edges(limits), edges(limits)[::-1].copy()), {
    "sort": lambda x, y: np.sort(x), "argsort": lambda x, y: np.argsort(x, kind="stable"),
    "argmax": lambda x, y: np.argmax(x[:10]),
    "argmin": lambda x, y: np.argmin(x[:10]), "argmax of products": lambda x, y: np.argmax(x * 0.1 - y * 0.1),
    "max": lambda x, y: np.max(x), "nanmax": lambda x, y: np.nanmax(x),
    "accumulate": lambda x, y: np.maximum.accumulate(x[2:]), "count": lambda x, y: np.count_nonzero(x),
    "any": lambda x, y: np.any(x[4:9]), "all": lambda x, y: np.all(x[4:9]),
    "least of denormals": lambda x, y: np.min(np.abs(x[4:9])), "nonzero": lambda x, y: np.sum(x != 0),
    "product": lambda x, y: np.prod(x[2:9]), "cumulative": lambda x, y: np.cumsum(x[:9]),
    "products": lambda x, y: np.cumprod(x[2:12]), "differences": lambda x, y: np.diff(x),
    "median": lambda x, y: np.median(x[:9]), "range": lambda x, y: np.ptp(x[:9]),
    "mean of great": lambda x, y: np.mean(x[12:14] / 2), "nan to zero": lambda x, y: np.nansum(x[:9]),
    "masked": lambda x, y: np.sum(x * 0.0),
    "masked sum": lambda x, y: np.sum(np.where(np.isfinite(x), x, 0) * (np.abs(x) < 2)),
    "equal": lambda x, y: np.array_equal(x, y[::-1]),
}, each=False, zeros="sorts and extremes take 0 and -0 for the same")

# ---- statistics ----------------------------------------------------------------------------------------------------

CONSTANT = of([0.1] * 8, [3.0] * 4 + [5.0] * 4, [49.7] * 4)
family("statistics", CONSTANT, {
    "variance by squares": lambda x, y, z: np.mean(x * x) - np.mean(x)**2,
    "deviation by squares": lambda x, y, z: np.sqrt(np.mean(x * x) - np.mean(x)**2),
    "of sums": lambda x, y, z: np.sqrt((z * z).sum() / 4 - (z.sum() / 4)**2),
    "of powers": lambda x, y, z: np.sqrt((z**2).mean() - z.mean()**2),
    "variance": lambda x, y, z: np.var(x), "deviation": lambda x, y, z: np.std(z),
    "z score": lambda x, y, z: (y - y.mean()) / y.std(),
    "z score of constant": lambda x, y, z: (x - x.mean()) / x.std(),
    "covariance": lambda x, y, z: np.cov(np.stack([y, y])),
    "columns": lambda x, y, z: np.std(np.stack([y, y, y]), axis=0),
    "weighted": lambda x, y, z: np.average(y, weights=y) - (y * y).sum() / y.sum(),
    "root mean square": lambda x, y, z: np.sqrt(np.mean(z * z)) - z, "mean": lambda x, y, z: z - z.mean(),
    "coefficient": lambda x, y, z: z.std() / z.mean(),
    "cauchy-schwarz": lambda x, y, z: np.dot(y, y) * np.dot(2 * y, 2 * y) - np.dot(y, 2 * y)**2,
    "gram": lambda x, y, z: np.sqrt(np.dot(y, y) - np.dot(y, y)),
    "slope of line": lambda x, y, z: (8 * (y * y).sum() - y.sum() * y.sum()) / (8 * (y * y).sum() - y.sum()**2),
    "residual": lambda x, y, z: y - (y * y).sum() / (y * y).sum() * y,
    "orthogonal": lambda x, y, z: np.dot(y, np.concatenate([-y[4:] * 3, y[:4] * 5])),
    "distance": lambda x, y, z: np.sqrt(((y[:, None] - y[None, :])**2).sum(0)),
    "by squares": lambda x, y, z:
        np.sqrt(np.maximum((y * y)[:, None] + (y * y)[None, :] - 2 * y[:, None] * y[None, :], 0)),
    "unguarded": lambda x, y, z: np.sqrt((y * y)[:, None] + (y * y)[None, :] - 2 * y[:, None] * y[None, :]),
    "outer": lambda x, y, z: np.outer(x, y) - np.outer(y, x).T,
    "cosine": lambda x, y, z: np.dot(y, y) / (np.sqrt(np.dot(y, y)) * np.sqrt(np.dot(y, y))),
    "correlation": lambda x, y, z: ((y - y.mean()) * (y - y.mean())).sum() / ((y - y.mean())**2).sum(),
    "running": lambda x, y, z: np.cumsum(y) / np.arange(1, 9) - y,
    "diff of sums": lambda x, y, z: np.diff(np.cumsum(y)) - y[1:], "welford": lambda x, y, z: welford(y),
    "autocorrelation": lambda x, y, z: np.correlate(y, y, "full") - np.convolve(y, y[::-1]),
    "gradient": lambda x, y, z: np.gradient(y),
    "trapezoid": lambda x, y, z: np.trapezoid(y) - y.sum() + (y[0] + y[-1]) / 2,
}, each=False)
family("statistics", CONSTANT, {
    "correlation matrix": lambda x, y, z: np.corrcoef(np.stack([y, 2 * y])),
}, each=False, ulps=4)


def welford(x):
    mean, total = x[0] * 0, x[0] * 0
    for i in range(len(x)):
        step = x[i] - mean
        mean = mean + step / (i + 1)
        total = total + step * (x[i] - mean)
    return np.sqrt(total / len(x))


# ---- complex numbers -----------------------------------------------------------------------------------------------

AXES = of([0.0, -0.0, 1, -1, 0.0, 0.0, -0.0, 3.0, np.inf], [0.0, 0.0, 0.0, 0.0, 1, -1, -2, 4.0, 0.0])
family("complex", AXES, {
    "modulus": lambda x, y: np.abs(made(x, y)), "conjugate": lambda x, y: np.conj(made(x, y)),
    "sum with conjugate": lambda x, y: (made(x, y) + np.conj(made(x, y))).imag,
    "real of square": lambda x, y: (made(x, y) * np.conj(made(x, y))).real,
    "is real": lambda x, y: made(x, y).imag == 0, "twice": lambda x, y: made(x, y) * 2.0,
    "equal": lambda x, y: made(x, y) == made(x, -y), "minus": lambda x, y: made(x, y) - made(x, y),
    "parts": lambda x, y: np.real(made(x, y)) + np.imag(made(y, x)),
})
family("complex", AXES, {
    "angle": lambda x, y: np.angle(made(x, y)), "root": lambda x, y: np.sqrt(made(x, y)),
    "exponential": lambda x, y: np.exp(made(x, y)),
    "logarithm": lambda x, y: np.log(made(x, y)), "over itself": lambda x, y: made(x, y) / made(x, y),
    "reciprocal": lambda x, y: 1 / made(x, y),
    "direction": lambda x, y: made(x, y) / np.abs(made(x, y)),
}, ulps=8)
family("complex", AXES, {
    "square": lambda x, y: made(x, y)**2,
}, zeros="NumPy's scalars begin their powers with 1 + 0i")
family("complex", lambda limits: (
        np.array([limits.max / 4, limits.tiny * 4, limits.tiny / 8, 1, limits.max / 2], limits.dtype),
        np.array([limits.max / 4, limits.tiny * 2, limits.tiny / 4, 1, 1], limits.dtype)), {
    "great modulus": lambda x, y: np.abs(made(x, y)), "great quotient": lambda x, y: made(x, y) / made(y, x),
    "great angle": lambda x, y: np.angle(made(x, y)),
}, ulps=8)


def made(x, y):
    """x + i y, with all signs: 1j * y has its own zeros."""
    z = np.zeros(np.shape(x) or 1, np.result_type(x, np.complex64))
    z.real = x
    z.imag = y
    return z if np.shape(x) else z[0]


# ---- linear algebra ------------------------------------------------------------------------------------------------

MATRICES = of([[1, 2], [2, 4]], [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]], [[2.0, 0], [0, 4]], [[0.1, 0.2], [0.3, 0.6]])
family("matrices", MATRICES, {
    "determinant of 2": lambda a, b, c, d: np.linalg.det(a),
    "by hand": lambda a, b, c, d: a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0],
    "of tenths": lambda a, b, c, d: d[0, 0] * d[1, 1] - d[0, 1] * d[1, 0],
    "sign": lambda a, b, c, d: np.linalg.slogdet(a)[0], "logarithm": lambda a, b, c, d: np.linalg.slogdet(a)[1],
    "inverse": lambda a, b, c, d: np.linalg.inv(c), "solution": lambda a, b, c, d: np.linalg.solve(c, a),
    "trace": lambda a, b, c, d: np.trace(a @ c - c @ a), "rank": lambda a, b, c, d: np.linalg.matrix_rank(a),
    "symmetric": lambda a, b, c, d: (a @ a.T - (a @ a.T).T),
    "product": lambda a, b, c, d: a @ np.linalg.inv(c) - a / np.diag(c),
    "norm": lambda a, b, c, d: np.linalg.norm(c - c), "rows": lambda a, b, c, d: a / a.sum(1, keepdims=True),
    "einsum": lambda a, b, c, d: np.einsum("ij,ji->", a, c) - np.trace(a @ c),
    "cofactors": lambda a, b, c, d: by_cofactors(b),
    "eigenvalues by hand": lambda a, b, c, d:
        (c[0, 0] + c[1, 1]) / 2 + np.sqrt((c[0, 0] - c[1, 1])**2 / 4 + c[0, 1] * c[1, 0]),
    "kernel": lambda a, b, c, d: a @ np.array([2, -1], a.dtype),
    "triangular": lambda a, b, c, d: np.linalg.cholesky(c),
    "power": lambda a, b, c, d: np.linalg.matrix_power(a, 3) - a @ a @ a,
    "outer": lambda a, b, c, d: np.outer(a[0], a[1]) - np.outer(a[1], a[0]),
}, each=False, ulps=1)
family("matrices", MATRICES, {
    "determinant of 3": lambda a, b, c, d: np.linalg.det(b),
    "determinant of tenths": lambda a, b, c, d: np.linalg.det(d),
    "least singular value": lambda a, b, c, d: np.linalg.svd(c)[1],
    "eigenvalues": lambda a, b, c, d: np.linalg.eigvalsh(c),
}, each=False, ulps=2)


def by_cofactors(b):
    return b[0, 0] * (b[1, 1] * b[2, 2] - b[1, 2] * b[2, 1]) - b[0, 1] * (b[1, 0] * b[2, 2] - b[1, 2] * b[2, 0]) \
        + b[0, 2] * (b[1, 0] * b[2, 1] - b[1, 1] * b[2, 0])


# ---- other dtypes --------------------------------------------------------------------------------------------------

HALVES: Operands = of([0.1, 0.3, 1.7, -2.3, 49.7, 6e-8, 6e4], [0.1, 0.3, 1.7, -2.3, 49.7, 6e-8, 6e4])
family("half", HALVES, {
    "squares": lambda x, y: x * x - y * y, "root": lambda x, y: np.sqrt(x * x - y * y),
    "quotient": lambda x, y: x / y - y / x, "reciprocal": lambda x, y: 1 / x,
    "rounded": lambda x, y: (x + 1536) - 1536, "tenths": lambda x, y: x * 0.1 - y * 0.1,
    "third": lambda x, y: x / 3 * 3 - y, "compared": lambda x, y: x * x > y * 2,
    "great": lambda x, y: x * 1000 / 1000,
    "floor": lambda x, y: np.floor(x / 0.1), "power": lambda x, y: x**2 - y * y,
    "two sum": lambda x, y: two_sum_error(x, y * 100),
}, limits=(HALF,))


def two_sum_error(a, b):
    s = a + b
    t = s - a
    return (a - (s - t)) + (b - t)


family("mixed", PAIR, {
    "whole numbers": lambda x, y: x * 3 - y * 3, "truths": lambda x, y: x * (y > 0) - y * (x > 0),
    "narrowed": lambda x, y: x.astype(np.float32) * x - y * y.astype(np.float32),
    "widened": lambda x, y: np.asarray(x, np.float64) * y - np.asarray(y, np.float64) * x,
    "integers": lambda x, y: (x * 10).astype(np.int64) * x - (y * 10).astype(np.int64) * y,
    "half": lambda x, y: x.astype(np.float16) * x.astype(np.float16) - y.astype(np.float16) * y.astype(np.float16),
    "of integers": lambda x, y: np.floor((x * 10).astype(np.int64) / 3) - (y * 10).astype(np.int64) // 3,
    "double rounding": lambda x, y: (x * y).astype(np.float32).astype(np.float16) - (x * y).astype(np.float16),
    "back": lambda x, y: x.astype(np.float32).astype(x.dtype) - y,
})
family("guards", of([0.0, -0.0, 1.0, -1.0, 4.0, 0.1, 1e-300], [0.0, 2.0, 0.0, -3.0, 0.5, 0.1, 7.0]), {
    "normalised": lambda x, y: np.where(np.hypot(x, y) > 0, x / np.hypot(x, y), x),
    "root": lambda x, y: np.where(x > 0, np.sqrt(x), 0.0), "logarithm": lambda x, y: np.where(x > 0, np.log(x), -1.0),
    "ratio": lambda x, y: np.where(y == 0, 0.0, x / y), "sinc": lambda x, y: np.where(x == 0, 1.0, np.sin(x) / x),
    "relu": lambda x, y: np.maximum(x, 0) * (y > 0), "product": lambda x, y: np.where(x * y - y * x == 0, x, y),
    "leaky": lambda x, y: np.where(x < 0, 0.01 * x, x),
    "difference": lambda x, y: np.where(x - y > 0, x, y) - np.maximum(x, y),
    "masked": lambda x, y: np.where(x > 0, x * y, 0) - (x * y) * (x > 0),
    "huber": lambda x, y: np.where(np.abs(x - y) <= 1, 0.5 * (x - y) * (x - y), np.abs(x - y) - 0.5),
    "step": lambda x, y: np.where(y != 0, np.sign(x) / np.where(y != 0, y, 1), 0.0),
}, ulps=4)
