"""Functions under `numba.njit` in compiled programs: their Python functions are traced."""
import numpy as np
import pytest

import reactant

numba = pytest.importorskip("numba")


@numba.njit
def ratio(e1, e2):
    size = min(np.sqrt(e1**2 + e2**2), 0.9999)
    return np.arctan2(e2, e1) / 2, (1 - size) / (1 + size)


@numba.njit(cache=False, parallel=True)
def smoothed(row):
    out = np.zeros_like(row)
    for i in numba.prange(1, len(row) - 1):
        out[i] = (row[i - 1] + row[i] + row[i + 1]) / 3
    return out


@numba.njit
def first_above(row, least):
    for i in range(len(row)):
        if row[i] > least:
            return i
    return -1


def lensed(x, e1, e2):
    angle, q = ratio(e1, e2)
    return smoothed(np.cos(angle) * x / q)


X = np.linspace(-1.0, 1.0, 30)


def test_called_in_a_program():
    assert np.allclose(reactant.jit(lensed)(X, 0.1, 0.2), lensed(X, 0.1, 0.2))


def test_compiled_themselves():
    assert np.allclose(reactant.jit(smoothed)(X), smoothed(X), rtol=1e-14)
    assert [int(reactant.jit(first_above)(X, least)) for least in (0.5, 2.0)] == [int(first_above(X, 0.5)), -1]


def test_differentiated():
    slope = reactant.grad(lambda e1: lensed(X**2, e1, 0.2).sum())(0.1)
    step = 1e-6
    assert np.isclose(slope, (lensed(X**2, 0.1 + step, 0.2).sum() - lensed(X**2, 0.1 - step, 0.2).sum()) / (2 * step))


def test_on_constants_they_run_as_they_are():
    def scaled(x):
        return x * ratio(3.0, 4.0)[1] + first_above(np.arange(5.0), 2.5)
    assert np.allclose(reactant.jit(scaled)(X), scaled(X))


def test_the_cache_knows_what_they_do():
    def uses(x):
        return smoothed(x)
    assert reactant.explain(uses, X).not_kept == ""
