"""`np.random.default_rng(seed)` inside compiled code: a generator whose state is part of the program.

The stream is Threefry's (`stablehlo.rng_bit_generator`): reproducible for a seed, known or traced, advancing in loops
and branches like any array that is written to; not NumPy's numbers. What the arguments mean, result types, shapes and
errors are NumPy's; the distributions are exact (up to rounding), only the numbers drawn differ. The state starts again
at every call of the compiled function, so give it the seed as an argument.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded, Reason, UnsupportedError
from reactant.frontends.arrays.creation import shape_tuple
from reactant.frontends.arrays.dynamic.run_time_shapes import sized
from reactant.frontends.arrays.implements import implements, refuse
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.numpy import random_samplers as samplers
from reactant.frontends.numpy.random_stream import (
    Stream,
    array_of_value,
    check_bounds,
    count_between,
    delivered,
    drawn_shape,
    integer_bound,
    not_negative,
    parameter,
    positive,
    positive_probability,
    probability,
    require,
    spread,
)
from reactant.frontends.numpy.refused import OUTSIDE_GENERATOR
from reactant.frontends.session.jax_calls import call_jax
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of

UNSEEDED = Reason("np.random.default_rng() without a seed inside compiled code would repeat the same numbers in every "
                  "call.", "Give it a seed, for instance an argument of the compiled function.", "random-generator")
NOT_COMPILED = Reason("np.random.Generator.{name} is not supported in compiled code.",
                      "Draw before the call and pass the array.", "random-generator")


# ---- the generator ---------------------------------------------------------------------------------------------

class Generator(Stream):
    """A traced `numpy.random.Generator`."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance() answers as for NumPy's
        return np.random.Generator

    def __repr__(self) -> str:
        return "<traced Generator(Threefry)>"

    # -- standard distributions

    def random(self, size: object = None, dtype: object = np.float64, out: Tensor | None = None) -> Any:
        return self._standard(self._uniforms, "random", size, dtype, out)

    def standard_normal(self, size: object = None, dtype: object = np.float64, out: Tensor | None = None) -> Any:
        return self._standard(self._normals, "standard_normal", size, dtype, out)

    def standard_exponential(self, size: object = None, dtype: object = np.float64, method: str = "zig",
                             out: Tensor | None = None) -> Any:
        return self._standard(self._exponentials, "standard_exponential", size, dtype, out)

    def standard_gamma(self, shape: object, size: object = None, dtype: object = np.float64,
                       out: Tensor | None = None) -> Any:
        a = not_negative(parameter(shape), "shape")
        size = out.shape if size is None and out is not None else size
        return self._standard(lambda s, d: self._gammas(s, a, d), "standard_gamma", drawn_shape(size, [a]), dtype, out,
                              scalar=size is None)

    def _standard(self, draw: Callable, name: str, size: object, dtype: object, out: Tensor | None,
                  scalar: bool = False) -> Any:
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise TypeError(f"Unsupported dtype {dtype!r} for {name}")
        if out is not None:
            if size is not None and shape_tuple(size) != out.shape:
                raise ValueError("size must match out.shape when used together")
            if out.dtype != dtype:
                raise TypeError(f"Supplied output array has the wrong type. Expected {dtype}, got {out.dtype}")
            size = out.shape
        return delivered(draw(drawn_shape(size, []), dtype), None if scalar else size, out)

    # -- continuous distributions: a standard draw, transformed

    def uniform(self, low: object = 0.0, high: object = 1.0, size: object = None) -> Any:
        low, high = parameter(low), parameter(high)
        require(np.isfinite(high - low), "high - low range exceeds valid bounds", OverflowError)
        require(high - low >= 0, "high - low < 0")
        return delivered(low + (high - low) * self._uniforms(drawn_shape(size, [low, high])), size)

    def normal(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        return self._location_scale(self._normals, loc, scale, size)

    def exponential(self, scale: object = 1.0, size: object = None) -> Any:
        scale = not_negative(parameter(scale), "scale")
        return delivered(scale * self._exponentials(drawn_shape(size, [scale])), size)

    def laplace(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        """An exponential with a random sign."""
        def draw(shape: Shape) -> Any:
            sign = np.where(self._uniforms(shape) < 0.5, -1.0, 1.0)
            return sign * self._exponentials(shape)
        return self._location_scale(draw, loc, scale, size)

    def logistic(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        def draw(shape: Shape) -> Any:
            u = self._uniforms(shape) + 2.0**-54      # not 0
            return np.log(u) - np.log1p(-u)
        return self._location_scale(draw, loc, scale, size)

    def gumbel(self, loc: object = 0.0, scale: object = 1.0, size: object = None) -> Any:
        return self._location_scale(lambda shape: -np.log(self._exponentials(shape) + 2.0**-54), loc, scale, size)

    def _location_scale(self, draw: Callable, loc: object, scale: object, size: object) -> Any:
        loc, scale = parameter(loc), not_negative(parameter(scale), "scale")
        return delivered(loc + scale * draw(drawn_shape(size, [loc, scale])), size)

    def lognormal(self, mean: object = 0.0, sigma: object = 1.0, size: object = None) -> Any:
        mean, sigma = parameter(mean), not_negative(parameter(sigma), "sigma")
        return delivered(np.exp(mean + sigma * self._normals(drawn_shape(size, [mean, sigma]))), size)

    def rayleigh(self, scale: object = 1.0, size: object = None) -> Any:
        scale = not_negative(parameter(scale), "scale")
        return delivered(scale * np.sqrt(2.0 * self._exponentials(drawn_shape(size, [scale]))), size)

    def weibull(self, a: object, size: object = None) -> Any:
        a = not_negative(parameter(a), "a")
        powers = self._exponentials(drawn_shape(size, [a])) ** (1.0 / np.where(a == 0, 1.0, a))
        return delivered(np.where(a == 0, 0.0, powers), size)

    def pareto(self, a: object, size: object = None) -> Any:
        a = positive(parameter(a), "a")
        return delivered(np.expm1(self._exponentials(drawn_shape(size, [a])) / a), size)

    def power(self, a: object, size: object = None) -> Any:
        a = positive(parameter(a), "a")
        return delivered((-np.expm1(-self._exponentials(drawn_shape(size, [a])))) ** (1.0 / a), size)

    def standard_cauchy(self, size: object = None) -> Any:
        shape = drawn_shape(size, [])
        return delivered(self._normals(shape) / self._normals(shape), size)

    def triangular(self, left: object, mode: object, right: object, size: object = None) -> Any:
        left, mode, right = parameter(left), parameter(mode), parameter(right)
        require(left <= mode, "left > mode")
        require(mode <= right, "mode > right")
        require(left < right, "left == right")
        u = self._uniforms(drawn_shape(size, [left, mode, right]))
        base, below = right - left, mode - left
        return delivered(np.where(u <= below / base, left + np.sqrt(u * below * base),
                                   right - np.sqrt((1.0 - u) * base * (right - mode))), size)

    # -- distributions made of gammas

    def gamma(self, shape: object, scale: object = 1.0, size: object = None) -> Any:
        a, scale = not_negative(parameter(shape), "shape"), not_negative(parameter(scale), "scale")
        return delivered(scale * self._gammas(drawn_shape(size, [a, scale]), a), size)

    def beta(self, a: object, b: object, size: object = None) -> Any:
        a, b = positive(parameter(a), "a"), positive(parameter(b), "b")
        return delivered(self._betas(drawn_shape(size, [a, b]), a, b), size)

    def _betas(self, shape: Shape, a: Any, b: Any) -> Tensor:
        first, second = spread(a, shape), spread(b, shape)
        return array_of_value(first) if 0 in shape else self._stepped(samplers.beta, first, second)

    def chisquare(self, df: object, size: object = None) -> Any:
        df = positive(parameter(df), "df")
        return delivered(2.0 * self._gammas(drawn_shape(size, [df]), df / 2.0), size)

    def standard_t(self, df: object, size: object = None) -> Any:
        df = positive(parameter(df), "df")
        shape = drawn_shape(size, [df])
        return delivered(np.sqrt(df / 2.0) * self._normals(shape) / np.sqrt(self._gammas(shape, df / 2.0)), size)

    def f(self, dfnum: object, dfden: object, size: object = None) -> Any:
        n, d = positive(parameter(dfnum), "dfnum"), positive(parameter(dfden), "dfden")
        shape = drawn_shape(size, [n, d])
        return delivered(self._gammas(shape, n / 2.0) * d / (self._gammas(shape, d / 2.0) * n), size)

    def noncentral_chisquare(self, df: object, nonc: object, size: object = None) -> Any:
        df, nonc = positive(parameter(df), "df"), not_negative(parameter(nonc), "nonc")
        return delivered(self._noncentral(drawn_shape(size, [df, nonc]), df, nonc), size)

    def _noncentral(self, shape: Shape, df: Any, nonc: Any) -> Any:
        """A chi-square whose degrees of freedom are raised by twice a Poisson number."""
        raised = df + 2.0 * self._poissons(shape, nonc / 2.0)
        return 2.0 * self._gammas(shape, raised / 2.0)

    def noncentral_f(self, dfnum: object, dfden: object, nonc: object, size: object = None) -> Any:
        n, d = positive(parameter(dfnum), "dfnum"), positive(parameter(dfden), "dfden")
        nonc = not_negative(parameter(nonc), "nonc")
        shape = drawn_shape(size, [n, d, nonc])
        return delivered(self._noncentral(shape, n, nonc) * d / (2.0 * self._gammas(shape, d / 2.0) * n), size)

    def wald(self, mean: object, scale: object, size: object = None) -> Any:
        """By Michael, Schucany and Haas (1976)."""
        mean, scale = positive(parameter(mean), "mean"), positive(parameter(scale), "scale")
        shape = drawn_shape(size, [mean, scale])
        y = mean * self._normals(shape) ** 2
        ratio = y / (2.0 * scale)
        # mean (1 + r - sqrt(r (2 + r))) without cancellation
        x = mean / (1.0 + ratio + np.sqrt(ratio * (2.0 + ratio)))
        return delivered(np.where(self._uniforms(shape) <= mean / (mean + x), x, mean * mean / x), size)

    def vonmises(self, mu: object, kappa: object, size: object = None) -> Any:
        mu, kappa = parameter(mu), not_negative(parameter(kappa), "kappa")
        shape = drawn_shape(size, [mu, kappa])
        angle = self._stepped(samplers.vonmises, spread(kappa, shape)) + mu
        return delivered(angle - 2.0 * np.pi * np.floor((angle + np.pi) / (2.0 * np.pi)), size)

    def dirichlet(self, alpha: object, size: object = None) -> Any:
        alpha = parameter(alpha)
        require(~(alpha < 0), "alpha < 0")
        shape = (*(() if size is None else shape_tuple(size)), *np.shape(alpha))
        draws = self._gammas(shape, alpha)
        return delivered(draws / np.sum(draws, axis=-1, keepdims=True), shape)

    def multivariate_normal(self, mean: object, cov: object, size: object = None, check_valid: str = "warn",
                            tol: float = 1e-8, *, method: str = "svd") -> Any:
        """The mean plus a factor of the covariance times standard normals. `check_valid="warn"` does not check: a
        compiled program cannot warn; "raise" does."""
        if method not in ("svd", "eigh", "cholesky"):
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        mean, cov = wrap(mean).astype(np.float64), wrap(cov).astype(np.float64)
        if mean.ndim != 1:
            raise ValueError("mean must be 1 dimensional")
        if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if mean.shape[0] != cov.shape[0]:
            raise ValueError("mean and cov must have same length")
        shape = (*(() if size is None else shape_tuple(size)), mean.shape[0])
        if check_valid == "raise":
            values, vectors = np.linalg.eigh(cov)
            rebuilt = np.matmul(vectors * np.abs(values), vectors.T)
            require(np.abs(rebuilt - cov) <= tol + tol * np.abs(cov),
                     "covariance is not symmetric positive-semidefinite.")
        factor = self._factor(cov, method)
        return delivered(mean + np.matmul(self._normals(shape), np.swapaxes(factor, 0, 1)), shape)

    @staticmethod
    def _factor(cov: Tensor, method: str) -> Any:
        """F with F F^T = cov."""
        if method == "cholesky":
            return np.linalg.cholesky(cov)
        if method == "svd":
            found = np.linalg.svd(cov)
            return found.U * np.sqrt(found.S)
        values, vectors = np.linalg.eigh(cov)
        return vectors * np.sqrt(np.maximum(values, 0.0))

    # -- discrete distributions

    def integers(self, low: object, high: object = None, size: object = None, dtype: object = np.int64,
                 endpoint: bool = False) -> Any:
        """Exactly uniform integers in [low, high), or [low, high] with `endpoint`."""
        if high is None:
            low, high = 0, low
        python = dtype in (int, bool)
        dtype = np.dtype(dtype)
        if dtype.kind not in "iub" or not dtype.isnative:
            raise TypeError(f"Unsupported dtype {dtype!r} for integers")
        low, high = integer_bound(low), integer_bound(high)
        check_bounds(low, high, dtype, endpoint)
        shape = drawn_shape(size, [low, high])
        narrow, span = count_between(low, high, dtype, endpoint)
        if 0 in shape:
            return Tensor.of_value(ops.constant(0, dtype, shape))
        offsets = self._stepped(samplers.below, span, shape=shape, narrow=narrow)
        low = spread(low, shape, dtype if dtype.kind == "i" else np.uint64)
        found = cast(offsets.value(), dtype_of(low))
        found = cast(ops.add(found, low), dtype)
        if shape or size is not None:
            return Tensor.of_value(found)
        return Tensor.of_value(found, PYTHON if python else SCALAR)

    def poisson(self, lam: object = 1.0, size: object = None) -> Any:
        lam = parameter(lam)
        require(lam >= 0, "lam < 0 or lam is NaN")
        require(lam <= 9.223372006484771e18, "lam value too large")
        return delivered(self._poissons(drawn_shape(size, [lam]), lam), size)

    def binomial(self, n: object, p: object, size: object = None) -> Any:
        n, p = parameter(n), probability(parameter(p))
        require(n >= 0, "n < 0")
        return delivered(self._binomials(drawn_shape(size, [n, p]), n, p), size)

    def geometric(self, p: object, size: object = None) -> Any:
        """ceil(E / -log(1 - p)) for an exponential E."""
        p = positive_probability(parameter(p))
        certain = p == 1.0
        rate = -np.log1p(-np.where(certain, 0.5, p))
        draws = np.ceil(self._exponentials(drawn_shape(size, [p])) / rate)
        limited = np.minimum(np.where(certain, 1.0, np.maximum(draws, 1.0)), 2.0**63 - 1024)
        return delivered(wrap(limited).astype(np.int64), size)

    def negative_binomial(self, n: object, p: object, size: object = None) -> Any:
        """Poisson with a gamma-distributed rate."""
        n, p = positive(parameter(n), "n"), positive_probability(parameter(p))
        shape = drawn_shape(size, [n, p])
        return delivered(self._poissons(shape, self._gammas(shape, n) * ((1.0 - p) / p)), size)

    def logseries(self, p: object, size: object = None) -> Any:
        """By Kemp (1981)."""
        p = parameter(p)
        require((p >= 0) & (p < 1), "p < 0, p >= 1 or p is NaN")
        shape = drawn_shape(size, [p])
        q = -np.expm1(np.log1p(-p) * self._uniforms(shape))
        v = 1.0 - self._uniforms(shape)
        tiny = q < 1e-300
        found = np.where(tiny, 1.0, np.floor(1.0 + np.log(v) / np.log(np.where(tiny, 0.5, q))))
        return delivered(wrap(found).astype(np.int64), size)

    def zipf(self, a: object, size: object = None) -> Any:
        a = parameter(a)
        require(a > 1, "a <= 1 or a is NaN")
        return delivered(self._stepped(samplers.zipf, spread(a, drawn_shape(size, [a]))), size)

    def multinomial(self, n: object, pvals: object, size: object = None) -> Any:
        """Binomials one category after another, each of what is left."""
        p = parameter(pvals)
        require((p >= 0) & (p <= 1), "pvals < 0, pvals > 1 or pvals contains NaNs")
        left = parameter(n)
        require(left >= 0, "n < 0")
        *batch, categories = np.shape(p)
        total = sum((p[..., k] for k in range(categories - 1)), 0.0)
        require(total <= 1.0 + 1e-12, "sum(pvals[:-1].astype(np.float64)) > 1.0. The pvals array is cast to 64-bit "
                                       "floating point prior to checking the sum. Precision changes when casting may "
                                       "cause problems even if the sum of the original pvals is valid.")
        shape = np.broadcast_shapes(tuple(batch), np.shape(left)) if size is None else shape_tuple(size)
        rest, counts = 1.0, []
        for k in range(categories - 1):
            share = np.where(rest > 0, np.minimum(p[..., k] / np.where(rest > 0, rest, 1.0), 1.0), 0.0)
            drawn = self._binomials(shape, left, share)
            counts.append(drawn)
            left, rest = left - drawn, rest - p[..., k]
        counts.append(np.broadcast_to(wrap(left).astype(np.int64), shape))
        return delivered(np.stack([wrap(c) for c in counts], axis=-1), shape)

    # -- permutations and choices

    def permutation(self, x: object, axis: int = 0) -> Any:
        if isinstance(x, (int, np.integer)) and not is_tensor(x):
            return Tensor.of_value(self._order((int(x),), 0))
        a = wrap(x)
        if (whole := sized(a)) is not None:        # the first numbers, in the order of all that there may be
            order = Tensor.of_value(self._order(whole.frame, 0))
            return order[order < a]
        if a.kind != ARRAY and a.dtype.kind in "iu":
            return Tensor.of_value(self._order((a.__index__(),), 0))
        axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
        return np.take(a, Tensor.of_value(self._order((a.shape[axis],), 0)), axis=axis)

    def shuffle(self, x: object, axis: int = 0) -> None:
        """In place; `x` must be a traced array."""
        if not isinstance(x, np.ndarray):
            if not hasattr(x, "__len__"):
                raise TypeError(f"object of type '{type(x).__name__}' has no len()")
            raise UnsupportedError("rng.shuffle of a Python sequence is not supported in compiled code, since its "
                                   "order is known only at run time.",
                                   hint="Shuffle an array, or use rng.permutation.", code="list-of-run-time-length")
        a = wrap(x)
        axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
        a[...] = np.take(a, Tensor.of_value(self._order((a.shape[axis],), 0)), axis=axis)

    def permuted(self, x: object, *, axis: int | None = None, out: Tensor | None = None) -> Tensor:
        a = wrap(x)
        if axis is None:
            found = np.reshape(self.permutation(np.ravel(a)), a.shape)
        else:
            axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
            found = np.take_along_axis(a, Tensor.of_value(self._order(a.shape, axis)), axis)
        if out is None:
            return found
        if out.shape != a.shape:
            raise ValueError("out must have the same shape as x")
        out[...] = found
        return out

    def choice(self, a: object, size: object = None, replace: bool = True, p: object = None, axis: int = 0,
               shuffle: bool = True) -> Any:
        """Elements of `a` (or of range(a)), with or without replacement, with probabilities `p`."""
        source, population = _population(a, axis)
        shape = () if size is None else shape_tuple(size)
        count = int(np.prod(shape, dtype=np.int64))
        if population == 0 and count:
            raise ValueError("a must be a positive integer unless no samples are taken" if source is None else
                             "a cannot be empty unless no samples are taken")
        p = None if p is None else _probabilities(p, population)
        if replace:
            index = self._chosen(population, shape, p)
        else:
            if count > population:
                raise ValueError("Cannot take a larger sample than population when replace is False")
            index = array_of_value(ops.reshape(self._distinct(population, count, p), shape))
        if source is not None:
            found = np.take(source, index, axis=axis)
            return found if not is_tensor(found) or found.shape else Tensor.of_value(found.value(), SCALAR)
        return delivered(index, size)

    def _chosen(self, population: int, shape: Shape, p: Any) -> Tensor:
        if p is None:
            span = ops.constant(population, np.uint64)
            drawn = self._stepped(samplers.below, span, shape=shape, narrow=population <= 2**32)
            return drawn.astype(np.int64)
        cumulative = np.cumsum(p)
        cumulative = cumulative / cumulative[-1]
        values = spread(cumulative, (population,)), self._uniforms(shape).value()
        return array_of_value(ops.minimum(call_jax(samplers.positions, *values)[0], population - 1))

    def _distinct(self, population: int, count: int, p: Any) -> ir.Value:
        """The first `count` of a random order; with probabilities, of a race of exponential clocks with these rates
        (which picks as drawing one after the other does)."""
        if p is None:
            order = self._order((population,), 0)
        else:
            possible = p > 0
            enough = np.sum(possible)
            require(enough >= count, "Fewer non-zero entries in p than size")
            clock = np.where(possible, self._exponentials((population,)) / np.where(possible, p, 1.0), np.inf)
            order = ops.sort([wrap(clock).value(), ops.iota((population,), np.int64, 0)], 0)[1]
        return ops.slice(order, [0], [count])

    # -- what is left

    def spawn(self, n_children: int) -> list[Generator]:
        """Independent generators, keyed from this one's stream."""
        keys = self._bits((int(n_children),), np.uint64)
        return [Generator(ops.reshape(ops.slice(keys, [k], [k + 1]), ())) for k in range(int(n_children))]

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.random.Generator, name):
            raise NOT_COMPILED.named(name).error()
        raise AttributeError(f"'numpy.random.Generator' object has no attribute '{name}'")


def _in_frames(draw: Callable) -> Callable:
    """A method whose `size` only run-time values may tell: as many are drawn as there can be."""
    signature = inspect.signature(draw)

    @functools.wraps(draw)
    def choose(*args: Any, **kwargs: Any) -> Any:
        size = kwargs.get("size") if kwargs else None
        if size is None and not any(type(a) in (Tensor, tuple, list) for a in args[1:]):
            return draw(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        whole = sized(bound.arguments.get("size"))
        if whole is None:
            return draw(*args, **kwargs)
        if not bound.arguments.get("replace", True):
            raise UnsupportedError("rng.choice without replacement of a run-time number of elements.",
                                   hint="Write rng.permutation(a)[:n].", code="size-decided-at-run-time")
        bound.arguments["size"] = whole.frame
        return whole.array(lambda frame: draw(*bound.args, **bound.kwargs))
    return choose


for _name, _draw in list(vars(Generator).items()):
    if not _name.startswith("_") and "size" in inspect.signature(_draw).parameters:
        setattr(Generator, _name, _in_frames(_draw))


UNSUPPORTED_METHODS = ("bytes", "bit_generator", "hypergeometric", "multivariate_hypergeometric")


# ---- choices ---------------------------------------------------------------------------------------------------

def _population(a: object, axis: int) -> tuple[Tensor | None, int]:
    """(the array chosen from, or None for range(a); how many)."""
    a = wrap(a)
    if a.ndim == 0:
        if a.dtype.kind not in "iu":
            raise ValueError(f"a must be a sequence or an integer, not {a.__class__}")
        population = a.__index__()
        if population < 0:
            raise ValueError("a must be a positive integer unless no samples are taken")
        return None, population
    return a, a.shape[axis]


def _probabilities(p: object, population: int) -> Any:
    p = parameter(p)
    if np.ndim(p) != 1:
        raise ValueError("p must be 1-dimensional")
    if np.shape(p)[0] != population:
        raise ValueError("a and p must have same size")
    require(~np.isnan(p), "Probabilities contain NaN")
    require(p >= 0, "Probabilities are not non-negative")
    require(np.abs(np.sum(p) - 1.0) <= max(np.sqrt(np.finfo(np.float64).eps), 1e-8),
             "Probabilities do not sum to 1. See Notes section of docstring for more information.")
    return p


# ---- seeding ---------------------------------------------------------------------------------------------------

class _Seeded:
    """What `np.random.PCG64(seed)` and the other bit generators stand for in compiled code: their seed."""

    def __init__(self, seed: object):
        self.seed = seed


def _key_of(seed: Any) -> ir.Value:
    if seed is None:
        raise UNSEEDED.error()
    if isinstance(seed, (np.random.BitGenerator, np.random.RandomState)):
        raise OUTSIDE_GENERATOR.error()
    if is_tensor(seed) and not seed.is_concrete():
        if seed.shape or seed.dtype.kind not in "iu":
            raise ConcreteValueNeeded("A seed that is not a single integer", "Use one integer as the seed.",
                                      code="random-generator")
        if seed.dtype.kind == "i":
            require(seed >= 0, "expected non-negative integer")
        return cast(seed.value(), np.dtype(np.uint64))
    if is_tensor(seed):
        seed = seed.numpy()[()] if seed.shape else int(seed.numpy())
    if isinstance(seed, (int, np.integer)) and 0 <= int(seed) < 2**64:
        return ops.constant(int(seed), np.uint64)
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return ops.constant(sequence.generate_state(1, np.uint64)[0])


@implements(np.random.default_rng, creation=True)
def default_rng(seed: Any = None) -> Any:
    if isinstance(seed, np.random.Generator):
        if type(seed) is not Generator:
            raise OUTSIDE_GENERATOR.error()
        return seed
    return Generator(_key_of(seed.seed if isinstance(seed, _Seeded) else seed))


@implements(np.random.Generator, creation=True)
def generator(bit_generator: Any) -> Any:
    return default_rng(bit_generator)


@implements(np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.MT19937, creation=True)
def bit_generator(seed: Any = None, **options: Any) -> Any:
    if options:
        raise UnsupportedError("Bit generators take only a seed in compiled code.",
                               hint="Use np.random.default_rng(seed).", code="random-generator")
    if seed is None:
        raise UNSEEDED.error()
    return _Seeded(seed)


refuse(Reason("np.random.SeedSequence works on plain integers.", "Give the seed to np.random.default_rng directly.",
              "random-generator"), np.random.SeedSequence)

