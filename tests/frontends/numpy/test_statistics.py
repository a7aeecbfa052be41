"""Order statistics by every method, medians, covariances."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.frontends.numpy.statistics import PLACES
from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

X = samples.ordinary("d", 4, 7)
HOLES = X.copy()
HOLES[0, 2] = HOLES[1] = HOLES[3, :4] = np.nan
WHOLE, SINGLE, BYTES = samples.ordinary("l", 4, 7), X.astype("f"), samples.ordinary("b", 4, 7)
FRACTIONS = np.array([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 1 / 3, 2 / 7])


def quantiles(f, of_hundred, method):
    return [lambda *a: [f(x, FRACTIONS, method=method) for x in a],
            lambda *a: [f(x, FRACTIONS, method=method, axis=0) for x in a],
            lambda *a: [f(x, 0.3, method=method, axis=1) for x in a],
            lambda *a: [f(x, np.float64(0.3), method=method) for x in a],
            lambda *a: [of_hundred(x, 50, method=method) for x in a],
            lambda *a: [of_hundred(x, [25, 75], axis=0, method=method, keepdims=True) for x in a]]


def test_every_method_is_there():
    from numpy.lib import _function_base_impl as numpys
    assert set(PLACES) == set(numpys._QuantileMethods)


@pytest.mark.slow
@pytest.mark.parametrize("method", PLACES)
def test_quantiles(method):
    check_table(quantiles(np.quantile, np.percentile, method), X, HOLES, WHOLE, SINGLE, BYTES, rtol=1e-6)
    check_table(quantiles(np.nanquantile, np.nanpercentile, method), X, HOLES, WHOLE, SINGLE, rtol=1e-6)


@pytest.mark.parametrize("method", ["linear", "inverted_cdf", "averaged_inverted_cdf", "closest_observation"])
def test_fractions_known_at_run_time(method):
    check_table([lambda x, q, p: np.quantile(x, q, method=method),
                 lambda x, q, p: np.quantile(x, q, axis=0, method=method),
                 lambda x, q, p: np.quantile(x, p, method=method), lambda x, q, p: np.quantile(x, q[0], method=method),
                 lambda x, q, p: np.percentile(x, p * 100, axis=1, method=method),
                 lambda x, q, p: np.quantile(x, q * 2)], X, FRACTIONS, 0.3)


def test_axes():
    deep = X.reshape(2, 2, 7)
    check_table([lambda x, a=axis, k=keep: np.quantile(x, 0.2, axis=a, keepdims=k)
                 for axis in ((0, 1), (0, 2), (2,), -1) for keep in (False, True)], deep)


WRONG = {
    "above": lambda x: np.quantile(x, 1.2), "below": lambda x: np.percentile(x, -1),
    "axis": lambda x: np.median(x, axis=4),
    "method": lambda x: np.quantile(x, 0.5, method="foo"), "complex": lambda x: np.quantile(x * 1j, 0.5),
    "empty": lambda x: np.quantile(x[:, :0], 0.5), "bool": lambda x: np.quantile(x > 0, 0.5),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(WRONG[name], X)


def test_weights_are_refused():
    with pytest.raises(NotImplementedError, match="argument 'weights' is not supported"):
        reactant.jit(lambda x: np.quantile(x, 0.5, weights=np.ones(7), axis=1, method="inverted_cdf"))(X)


INFINITE = np.array([[np.inf, np.inf], [1, -np.inf]])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("a", [X, HOLES, WHOLE, SINGLE, X + 1j * HOLES, WHOLE > 0, INFINITE],
                         ids=lambda a: str(a.dtype))
def test_medians(a):
    check_table([lambda a, f=f, x=axis, k=keep: f(a, axis=x, keepdims=k) for axis in (None, 0, 1, (0, 1))
                 for keep in (False, True) for f in (np.median, np.nanmedian)], a, rtol=1e-6)


def test_medians_of_few():
    check_table([lambda x: np.median(x[:, :0]), lambda x: np.median(x[:, :0], axis=1), lambda x: np.median(x[0, 0]),
                 lambda x: np.nanmedian(x[:, :0], axis=1), lambda x: np.nanquantile(x[:, :0], 0.5, axis=1)], X)


def test_out():
    check_table([lambda x, o: np.median(x, axis=0, out=o), lambda x, o: np.quantile(x, 0.1, axis=0, out=o),
                 lambda x, o: np.nanmedian(x, axis=0, out=o), lambda x, o: np.median(x, axis=1, out=o)], X, np.zeros(7))


@pytest.mark.slow
def test_covariances():
    y, counts, weights = samples.ordinary("d", 4, 7, seed=1), np.array([1, 2, 0, 1, 3, 1, 1]), np.arange(7) / 7
    check_table([
        lambda x, y, c, w: np.cov(x), lambda x, y, c, w: np.cov(x, y), lambda x, y, c, w: np.cov(x[0]),
        lambda x, y, c, w: np.cov(x, rowvar=False), lambda x, y, c, w: np.cov(x, bias=True),
        lambda x, y, c, w: np.cov(x, ddof=0), lambda x, y, c, w: np.cov(x, fweights=c),
        lambda x, y, c, w: np.cov(x, aweights=w), lambda x, y, c, w: np.cov(x, fweights=c, aweights=w, bias=True),
        lambda x, y, c, w: np.cov(x[0], y[0]), lambda x, y, c, w: np.cov(x + 1j * y), lambda x, y, c, w: np.corrcoef(x),
        lambda x, y, c, w: np.corrcoef(x, y), lambda x, y, c, w: np.corrcoef(x[0]),
        lambda x, y, c, w: np.corrcoef(x + 1j * y, rowvar=False), lambda x, y, c, w: np.cov(c),
        lambda x, y, c, w: np.cov(x, fweights=-c), lambda x, y, c, w: np.cov(x, fweights=c[:3]),
        lambda x, y, c, w: np.cov(x, fweights=c + 0.5), lambda x, y, c, w: np.cov(x, ddof=0.5),
        lambda x, y, c, w: np.cov(x, aweights=w - 1), lambda x, y, c, w: np.cov(x.reshape(2, 2, 7)),
    ], X, y, counts, weights)
