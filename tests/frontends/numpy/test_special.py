"""sinc, i0, angle, unwrap, and differences along an axis."""
from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

EVERY = [samples.awkward(d, 4, 5) for d in samples.ALL]
X = samples.ordinary("d", 4, 5)


def test_sinc():
    check_table([lambda *a: [np.sinc(x) for x in a], lambda *a: np.sinc(a[0][0, 0])],
                *[samples.ordinary(d, 4, 5) for d in "blBfd"], rtol=1e-6)
    check(lambda x: np.sinc(x), np.array([0.0, -0.0, 1e-300, 0.5, 1, np.nan]), atol=1e-16)


def test_i0():
    x = np.concatenate([np.linspace(-30, 30, 61), [0, 1e-8, 8, -8, 100, 700, -700, 8.0001]])
    check_table([lambda x, f, i: np.i0(x), lambda x, f, i: np.i0(i), lambda x, f, i: np.i0(x[3])], x, x, np.arange(5),
                rtol=1e-13)
    check_table([lambda f: np.i0(f)], np.clip(x, -80, 80).astype("f"), rtol=1e-5)
    check(lambda x: np.i0(x * 1j), x)


def test_angle():
    check_table([lambda *a: [np.angle(x) for x in a], lambda *a: [np.angle(x, deg=True) for x in a]], *EVERY, rtol=1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", samples.ALL)
def test_differences(dtype):
    check_table([lambda x: np.diff(x), lambda x: np.diff(x, n=2, axis=0), lambda x: np.diff(x, n=0),
                 lambda x: np.diff(x, n=7), lambda x: np.diff(x, prepend=x[:, :2], append=x[:, :1]),
                 lambda x: np.ediff1d(x),
                 lambda x: np.ediff1d(x[0], to_begin=x[0, 1], to_end=x[1])], samples.awkward(dtype, 4, 5))


def test_differences_details():
    check_table([lambda x: np.diff(x, append=0), lambda x: np.diff(x, prepend=1.5, axis=0), lambda x: np.diff(x, -1),
                 lambda x: np.diff(x[0, 0]), lambda x: np.ediff1d(x, to_end=[1, 2]), lambda x: np.diff(x, axis=3)], X)
    check(lambda i: np.ediff1d(i, to_end=[1.5, 2]), np.arange(4))


@pytest.mark.parametrize("dtype", samples.ALL[1:])
def test_trapezoid(dtype):
    tolerance = {"e": 2e-2, "f": 1e-5, "F": 1e-5}.get(dtype, 1e-12)
    check_table([lambda y: np.trapezoid(y), lambda y: np.trapezoid(y, axis=0), lambda y: np.trapezoid(y, dx=2.5),
                 lambda y: np.trapezoid(y, y[0]), lambda y: np.trapezoid(y, y[::-1], axis=0),
                 lambda y: np.trapezoid(y[0])],
                samples.ordinary(dtype, 4, 5), rtol=tolerance, atol=tolerance)


@pytest.mark.slow
def test_unwrap():
    phase = np.cumsum(np.random.default_rng(0).random((3, 30)) * 4, axis=1)
    steps = np.random.default_rng(0).integers(0, 20, (3, 30))
    check_table([lambda p, i: np.unwrap(p % (2 * np.pi)), lambda p, i: np.unwrap(p.T, axis=0),
                 lambda p, i: np.unwrap(p[0]),
                 lambda p, i: np.unwrap(p, period=3.0), lambda p, i: np.unwrap(i, period=7),
                 lambda p, i: np.unwrap(i, period=8), lambda p, i: np.unwrap(p, discont=4)], phase, steps)
