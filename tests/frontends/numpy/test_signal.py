"""interp, gradient, convolve, correlate and apply_along_axis compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.numpy.tables import check_table

RANDOM = np.random.default_rng(6)
XS, YS = np.sort(RANDOM.normal(size=6)), RANDOM.normal(size=6)
POINTS = RANDOM.normal(size=(2, 7)) * 2
POINTS[0, :2], POINTS[1, 1:4] = [np.nan, np.inf], [XS[2], XS[-1], XS[0]]
A = RANDOM.normal(size=(4, 5))


@pytest.mark.slow
def test_interp():
    check_table([
        lambda p, x, y: np.interp(p, x, y), lambda p, x, y: np.interp(p, x, y, left=-5, right=9),
        lambda p, x, y: np.interp(1.5, x, y),
        lambda p, x, y: np.interp(p, x, y + 1j * x), lambda p, x, y: np.interp(p, x, y, period=3.),
        lambda p, x, y: np.interp(p[0, 3], x, y), lambda p, x, y: np.interp(p, x[:1], y[:1]),
        lambda p, x, y: np.interp(p, x, y[:3]),
        lambda p, x, y: np.interp(p, x[:0], y[:0]), lambda p, x, y: np.interp(p, np.floor(x * 2), y),
        lambda p, x, y: np.interp(p, x, y, period=0),
        lambda p, x, y: np.interp(p.astype("f4"), x.astype("f4"), y.astype("i4"))],
        POINTS, XS, YS)


@pytest.mark.slow
def test_interp_between_points_that_a_mask_selects():
    def filled(x):
        gone = np.isnan(x)
        x[gone] = np.interp(np.flatnonzero(gone), np.flatnonzero(~gone), x[~gone])
        return x
    table = [lambda p, x, y, m: np.interp(p, x[m], y[m]), lambda p, x, y, m: np.interp(p, x[m], y[m], left=-5, right=9),
             lambda p, x, y, m: np.interp(p, x[m], y[m] + 1j), lambda p, x, y, m: np.interp(p, x[m], x[:m.sum()]),
             lambda p, x, y, m: np.interp(p, x[m], x[:2]), lambda p, x, y, m: np.interp(0.5, x[m], y[m]),
             lambda p, x, y, m: np.interp(x[m], x, y).sum(), lambda p, x, y, m: np.searchsorted(x, y[m]).sum()]
    for mask in (XS > XS[1], XS == XS[3], XS < XS[0], XS > -9):
        check_table(table, POINTS, XS, YS, mask)
    gaps = np.array([np.nan, 1, np.nan, np.nan, 4, 5, np.nan])
    check_table([filled], gaps)
    check_table([filled], gaps * 0 + np.nan)
    check_table([filled], np.where(np.arange(7) == 2, 3.0, np.nan))


@pytest.mark.slow
def test_gradient():
    check_table([
        lambda a, x: np.gradient(a), lambda a, x: np.gradient(a, 2.), lambda a, x: np.gradient(a, 1., 3.),
        lambda a, x: np.gradient(a, axis=1), lambda a, x: np.gradient(a, axis=0, edge_order=2),
        lambda a, x: np.gradient(a, x[:5], axis=1), lambda a, x: np.gradient(a, x[:4], x[:5], edge_order=2),
        lambda a, x: np.gradient(a[:, 0]), lambda a, x: np.gradient(a[0], np.array([0, 1, 3, 4, 8.])),
        lambda a, x: np.gradient((a * 9).astype(int)), lambda a, x: np.gradient(a[:1]), lambda a, x: np.gradient(a, x),
        lambda a, x: np.gradient(a, edge_order=3), lambda a, x: np.gradient(a, axis=(1, 0))], A, XS)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "i1", "?"])
@pytest.mark.parametrize("n, m", [(5, 3), (3, 5), (6, 2), (6, 4), (4, 4), (1, 4), (9, 3), (50, 40), (40, 50),
                                  (130, 34)])
def test_convolutions(n, m, dtype):
    u, v = ((RANDOM.normal(size=k) * 3).astype(dtype) for k in (n, m))
    if dtype == "c16":
        u, v = u + 1j * u[::-1], v * 1j + v[::-1]**2
    check_table([f for mode in ("full", "same", "valid") for f in (
        lambda u, v, mode=mode: np.convolve(u, v, mode), lambda u, v, mode=mode: np.correlate(u, v, mode))], u, v)


@pytest.mark.slow
def test_infinities_and_nans_stay_where_they_belong():
    x = np.arange(200.)
    x[50], x[90] = np.inf, np.nan
    check_table([lambda x: np.convolve(x, x[100:150]), lambda x: np.convolve(x, x[:120]),
                 lambda x: np.convolve(x, x[45:60]), lambda x: np.convolve(x[100:], x[:45] * 1j),
                 lambda x: np.convolve(x[100:], x[:45])], x)


def test_convolution_arguments():
    check_table([lambda u: np.convolve(u, u[:0]), lambda u: np.convolve(u, [1, 2, 1]),
                 lambda u: np.correlate(u, [1., 2, 1]),
                 lambda u: np.convolve(u, u, "bogus"), lambda u: np.convolve(u[:, None], u),
                 lambda u: np.convolve(u, 2.)], YS)


def test_functions_along_axes():
    check_table([lambda a: np.apply_along_axis(lambda v: v.sum(), 0, a),
                 lambda a: np.apply_along_axis(lambda v: v * 2, 1, a),
                 lambda a: np.apply_along_axis(lambda v: np.outer(v, v), 0, a),
                 lambda a: np.apply_along_axis(np.diag, 1, a),
                 lambda a: np.apply_over_axes(np.sum, a, [0, 1])], A)
