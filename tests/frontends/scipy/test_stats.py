"""scipy.stats: distributions over points inside, outside and at the edges of their support."""
from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import reactant
from tests.oracle import check

X = np.array([-2.5, -1.0, -0.0, 0.0, 0.3, 0.5, 1.0, 1.7, 4.0, 30.0, np.inf, -np.inf, np.nan])
Q = np.array([-0.1, 0.0, 0.01, 0.4, 0.5, 0.93, 1.0, 1.2, np.nan])
CONTINUOUS = {"norm": (), "uniform": (), "expon": (), "logistic": (), "laplace": (), "cauchy": (), "gumbel_r": (),
              "rayleigh": (), "gamma": (2.3,), "chi2": (3.0,), "t": (4.0,), "lognorm": (0.7,), "weibull_min": (1.4,),
              "pareto": (2.5,),
              "halfnorm": (), "maxwell": (), "invgamma": (2.2,), "beta": (2.0, 3.5), "f": (4.0, 6.0), "triang": (0.4,)}
INVERTIBLE = ("norm", "uniform", "expon", "logistic", "rayleigh", "lognorm", "weibull_min", "pareto", "halfnorm",
              "laplace", "triang")
MASSES = {"poisson": (2.2,), "geom": (0.3,), "randint": (1, 6)}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities(name):
    shapes, distribution = CONTINUOUS[name], getattr(stats, name)
    if name not in ("beta", "f"):
        check(lambda x: distribution.pdf(x, *shapes, 0.3, 1.5), X, rtol=1e-11, atol=1e-300)
    check(lambda x: distribution.logpdf(x, *shapes), X[4:9] / 31, rtol=1e-10, atol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(CONTINUOUS.keys() - {"invgamma", "maxwell", "beta"}))
def test_probabilities(name):
    shapes, distribution = CONTINUOUS[name], getattr(stats, name)
    check(lambda x: (distribution.cdf(x, *shapes, scale=2.0), distribution.sf(x, *shapes, loc=-0.5)), X,
          rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", INVERTIBLE)
def test_quantiles(name):
    shapes, distribution = CONTINUOUS[name], getattr(stats, name)
    check(lambda q: (distribution.ppf(q, *shapes, 0.5, 2.0), distribution.isf(q, *shapes)), Q, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", MASSES)
def test_masses(name):
    k = np.array([-2, -1, 0, 1, 2, 3, 5, 6, 9])
    shapes, distribution = MASSES[name], getattr(stats, name)
    check(lambda k: (distribution.pmf(k, *shapes), distribution.logpmf(k, *shapes, loc=1),
                     distribution.cdf(k, *shapes)), k, rtol=1e-9, atol=1e-12)
    check(lambda k: (distribution.pmf(k / 2, *shapes), distribution.sf(k / 2, *shapes)), k, rtol=1e-9, atol=1e-12)


def test_parameters_of_the_run_and_scalars():
    def black_scholes(spot, strike, rate, volatility, years):
        spread = volatility * np.sqrt(years)
        d1 = (np.log(spot / strike) + (rate + volatility ** 2 / 2) * years) / spread
        return spot * stats.norm.cdf(d1) - strike * np.exp(-rate * years) * stats.norm.cdf(d1 - spread)
    check(black_scholes, np.array([90.0, 100.0, 130.0]), 100.0, 0.03, 0.2, 1.5, rtol=1e-12)
    check(lambda x, mean, sd: (stats.norm(mean, sd).logpdf(x), stats.norm.pdf(1.0, mean[0], sd)), X, X[1:2], 0.7,
          rtol=1e-12)
    check(lambda x, sd: stats.norm.cdf(x, 0, sd), X[:3, None], np.array([1.0, -1.0, 0.0, np.nan]), rtol=1e-12)


def test_derivatives_pass_through():
    slope = reactant.grad(lambda x: stats.norm.cdf(x, 0.2, 1.3).sum())(X[:9])
    np.testing.assert_allclose(slope, stats.norm.pdf(X[:9], 0.2, 1.3), rtol=1e-11)
    slope = reactant.grad(lambda x: stats.gamma.logpdf(x, 2.5).sum())(X[4:9])
    np.testing.assert_allclose(slope, 1.5 / X[4:9] - 1, rtol=1e-11)


def test_a_distribution_of_the_user():
    class Ramp(stats.rv_continuous):
        def _pdf(self, x):
            return 2 * x

        def _cdf(self, x):
            return x ** 2
    ramp = Ramp(a=0, b=1, name="ramp")
    check(lambda x: (ramp.pdf(x), ramp.cdf(x, 0.1, 2.0), ramp.logpdf(x / 40)), X, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method):
    x = np.round(np.random.default_rng(0).normal(size=(3, 12)), 1)
    check(lambda x: stats._stats_py._rankdata(x, method), x)
    check(lambda x: stats._stats_py._rankdata(x[:, :1], method), x)
    check(lambda x: stats._stats_py._rankdata(x.T, method, return_ties=method != "ordinal"), x)
    if method == "average":     # of the others it depends on run-time values whether they are integers
        check(lambda x: (stats.rankdata(x), stats.rankdata(x, axis=1)), x)


@pytest.mark.slow
def test_tests_of_ranks():
    x, y = np.random.default_rng(1).normal(size=(2, 20))
    check(lambda x, y: (*stats.spearmanr(x, np.round(y, 1)), *stats.friedmanchisquare(x, y, x + y), *stats.mood(x, y)),
          x, y, rtol=1e-10)
