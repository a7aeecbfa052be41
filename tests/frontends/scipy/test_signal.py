"""Recursive filters of `scipy.signal` in compiled code, against SciPy."""
from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.numpy.tables import check_table

signal = pytest.importorskip("scipy.signal")

X = np.random.default_rng(0).standard_normal((3, 40))
B, A = signal.butter(3, 0.3)
SOS = signal.butter(5, 0.4, output="sos")
ZI, SOS_ZI = signal.lfilter_zi(B, A), signal.sosfilt_zi(SOS)

FILTERS = [
    lambda x: signal.lfilter(B, A, x), lambda x: signal.lfilter(B, A, x, axis=0), lambda x: signal.lfilter(B, A, x[0]),
    lambda x: signal.lfilter([0.5, 0.25], [1.0], x), lambda x: signal.lfilter([2.0], [2.0, -0.5], x[1]),
    lambda x: signal.lfilter(B, A * 2, x, zi=ZI[None] * x[:, :1]), lambda x: signal.lfilter(B, A, x[0], zi=ZI),
    lambda x: signal.lfilter(B, A, x[0, :2], zi=ZI), lambda x: signal.lfilter(np.ones(4) / 4, 1, x),
    lambda x: signal.lfilter(x[0, :3], np.array([1.0, 0.2]), x), lambda x: signal.sosfilt(SOS, x),
    lambda x: signal.sosfilt(SOS, x, axis=0), lambda x: signal.sosfilt(SOS, x[0], zi=SOS_ZI),
    lambda x: signal.lfilter(B, A, x[0], zi=ZI[:2]), lambda x: signal.sosfilt(SOS[0], x)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["d", "D", "l"])
def test_filters(dtype):
    check_table(FILTERS, (X * 3).astype(dtype), rtol=1e-8, atol=1e-10)


def test_single_precision():
    check_table([lambda x: signal.lfilter(B.astype("f"), A.astype("f"), x),
                 lambda x: signal.sosfilt(SOS.astype("f"), x)], X.astype("f"), rtol=1e-4, atol=1e-5)


def test_long():
    check_table(FILTERS[2:3], np.random.default_rng(1).standard_normal((1, 5000)), rtol=1e-7, atol=1e-9)
