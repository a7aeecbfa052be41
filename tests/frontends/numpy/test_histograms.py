"""Histograms and bincount: values on the edges fall where NumPy puts them."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(0)
X, Y, W = RANDOM.normal(size=200), RANDOM.normal(size=200), RANDOM.random(200)
WHOLE = RANDOM.integers(-20, 30, 200)
EDGES = np.array([-2, -1, 0, 0.5, 1, 3.0])


@pytest.mark.parametrize("a", [X, WHOLE, X.astype("f"), X > 0, np.ones(4)], ids=lambda a: str(a.dtype))
def test_histogram(a):
    check_table([lambda x: np.histogram(x), lambda x: np.histogram(x, 20), lambda x: np.histogram(x, 7, (-1, 1)),
                 lambda x: np.histogram(x, 5, density=True), lambda x: np.histogram(x, EDGES),
                 lambda x: np.histogram(x, EDGES, density=True), lambda x: np.histogram_bin_edges(x, 4),
                 lambda x: np.histogram(x[:0]), lambda x: np.histogram(x.reshape(2, -1), [0, 1, 2])], a, rtol=1e-6)


def test_weights():
    check_table([lambda x, w, i: np.histogram(x, 9, weights=w), lambda x, w, i: np.histogram(x, EDGES, weights=w),
                 lambda x, w, i: np.histogram(x, 9, weights=i), lambda x, w, i: np.histogram(x, 5, weights=w * 1j),
                 lambda x, w, i: np.histogram(x, 30, weights=w, density=True),
                 lambda x, w, i: np.histogram(x, 3, weights=w[:3])], X, W, WHOLE)


@pytest.mark.slow
def test_values_on_edges():
    grid = np.arange(0, 1.01, 0.1).repeat(2)
    check_table([lambda g, n=n, r=r: np.histogram(g, n, r) for n in (3, 5, 10, 7, 30)
                 for r in (None, (0, 1), (0, 0.9))], grid)


def test_limits_known_at_run_time():
    check_table([lambda x, e, a, b: np.histogram(x, e), lambda x, e, a, b: np.histogram(x, e[::-1]),
                 lambda x, e, a, b: np.histogram(x, 8, (a, b)), lambda x, e, a, b: np.histogram(x, 8, (b, a))],
                X, EDGES, -1.0, 1.0)


def test_not_a_number():
    holes = np.where(np.arange(200) == 3, np.nan, X)
    check_table([lambda x: np.histogram(x), lambda x: np.histogram(x, 5, (-1, 1)),
                 lambda x: np.histogram(x, EDGES)], holes)


WRONG = {
    "no bins": lambda x: np.histogram(x, 0), "half a bin": lambda x: np.histogram(x, 1.5),
    "falling": lambda x: np.histogram(x, [3, 2, 1]), "table": lambda x: np.histogram(x, [[1, 2]]),
    "range": lambda x: np.histogram(x, 3, (2, 1)), "infinite": lambda x: np.histogram(x, 3, (2, np.inf)),
    "dimensions": lambda x: np.histogramdd(x.reshape(-1, 2), [3]), "lengths": lambda x: np.histogram2d(x, x[:3]),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(WRONG[name], X)


@pytest.mark.slow
def test_more_dimensions():
    check_table([lambda x, y, w: np.histogram2d(x, y), lambda x, y, w: np.histogram2d(x, y, [3, 4], [[-1, 1], [-2, 2]]),
                 lambda x, y, w: np.histogram2d(x, y, EDGES),
                 lambda x, y, w: np.histogram2d(x, y, [EDGES, 5], weights=w),
                 lambda x, y, w: np.histogram2d(x, y, 4, density=True), lambda x, y, w: np.histogramdd([x, y, w], 2),
                 lambda x, y, w: np.histogramdd(x.reshape(-1, 4), 3),
                 lambda x, y, w: np.histogramdd(x.reshape(-1, 2), (3, 4), density=True)], X, Y, W)


def test_estimated_bin_counts_are_refused():
    with pytest.raises(NotImplementedError, match="(?s)makes the number of bins depend on the data.*Pass their number"):
        reactant.jit(lambda x: np.histogram(x, "auto"))(X)


def test_bincount():
    b = np.append(RANDOM.integers(0, 9, 300), 8)
    check_table([lambda b, w: np.bincount(b, minlength=9), lambda b, w: np.bincount(b, w, 9),
                 lambda b, w: np.bincount(b.astype(np.uint8), b, minlength=20),
                 lambda b, w: np.bincount(b % 4, minlength=4),
                 lambda b, w: np.bincount(np.array([1, 2, 2])) + b[0], lambda b, w: np.bincount(b[:0], minlength=3),
                 lambda b, w: np.bincount(-b, minlength=4), lambda b, w: np.bincount(b + 0.5, minlength=4),
                 lambda b, w: np.bincount(b[:, None], minlength=4), lambda b, w: np.bincount(b, b[:3], minlength=4),
                 lambda b, w: np.bincount(b, minlength=-4)], b, np.linspace(0, 1, 301))


def test_bincount_needs_a_size():
    with pytest.raises(NotImplementedError, match="Pass minlength=n with n above every element"):
        reactant.jit(lambda b: np.bincount(b))(np.array([1, 2]))
    with pytest.raises(NotImplementedError, match="an element is not below minlength=2"):
        reactant.jit(lambda b: np.bincount(b, minlength=2))(np.array([1, 2]))
