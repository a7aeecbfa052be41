"""Arrays of integers at equal distances as indices: the slices that they are, of known steps and of such as are only
known at run time."""
import time

import numpy as np
import pytest

import reactant
from reactant.frontends.arrays.indexing import LEAST_EVEN


def sieve(n, start):
    s = np.ones(n, bool)
    s[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            s[np.arange(start * i, n, i)] = False
    return s


def sieve_by_slices(n):
    s = np.ones(n, bool)
    s[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            s[2 * i::i] = False
    return np.flatnonzero(s)


def of_all(x):
    s = x.copy()
    for i in range(1, len(x)):
        s[np.arange(i, len(x), i)] = s[i] + 0.5
    return s


def of_rows(x):
    s = x.copy()
    for i in range(1, len(x)):
        s[np.arange(0, len(x) - 1, i)] = x[i]
    return s


@pytest.mark.parametrize("n", [3, 10, 101, 1500, 4001])
def test_sieves(n):
    for start in (1, 2, 3):
        f, begun = reactant.jit(sieve), time.process_time()
        np.testing.assert_array_equal(f(n, start), sieve(n, start))
        assert time.process_time() - begun < 30
    f = reactant.jit(sieve_by_slices, sized_results=True)
    np.testing.assert_array_equal(f(n), sieve_by_slices(n))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, complex])
def test_other_arrays(dtype):
    for n in (2, 30, 1200):
        x = np.arange(n).astype(dtype)
        np.testing.assert_array_equal(reactant.jit(of_all)(x), of_all(x))
    x = np.arange(1200 * 3).reshape(1200, 3).astype(dtype)
    np.testing.assert_array_equal(reactant.jit(of_rows)(x), of_rows(x))


def test_few_copies():
    lowered = reactant.jit(sieve).lower(5_000, 2)
    assert sum(lowered.operations(optimized=False).values()) < 300


INDICES = [np.arange(4, 60, 2), np.arange(0, 64, 3), np.arange(60, 3, -2), np.arange(63, -1, -1), np.arange(16),
           np.arange(48, 64), np.arange(20) * 0 + 3, np.r_[np.arange(16), 17], np.arange(-20, 0), np.arange(-4, 20),
           np.arange(LEAST_EVEN - 1), np.arange(20).astype(np.uint8), np.arange(40, 20, -1).astype(np.uint16),
           np.arange(20.0).astype(np.int8)[::-1], np.arange(2, 34, 2)[None], np.r_[0:32:2, 0:32:2]]


@pytest.mark.parametrize("number", range(len(INDICES)))
def test_known_indices(number):
    index = INDICES[number]
    x = np.arange(64.0)
    y = np.arange(64.0 * 64).reshape(64, 64)

    def program(x, y):
        read, a, b, c = x[index], x.copy(), y.copy(), x.copy()
        read += 1.0
        a[index] = np.arange(float(index.size)).reshape(index.shape)
        b[index] = -1.0
        b[:, index] = 2.0
        b[..., index] = b[..., index] + 3.0
        c[index] += 1.0
        a[3:][index % 60] = a[index]
        return read, a, b, c, y[:, index], y[index], y[index, 3], y[2, index], y[None, index]

    for found, wanted in zip(reactant.jit(program)(x, y), program(x, y), strict=True):
        np.testing.assert_array_equal(found, wanted)
    f = reactant.jit(program)
    f(x, y)
    assert x[3] == 3 and y[0, 3] == 3


@pytest.mark.parametrize("index", [np.arange(40, 70), np.arange(-70, -40), np.arange(70, 40, -1)])
def test_outside(index):
    def program(x):
        x[index] = 0.0
        return x

    with pytest.raises(IndexError):
        reactant.jit(program)(np.zeros(64))
    with pytest.raises(IndexError):
        reactant.jit(lambda x: x[index])(np.zeros(64))


def test_bounds_that_are_not_within():
    """Indices behind the end raise, where a slice would be cut."""
    def program(x, n):
        s = x.copy()
        for i in range(2, n):
            s[np.arange(i, 70, i)] = i
        return s

    with pytest.raises((IndexError, reactant.ReactantError)):
        reactant.jit(program)(np.zeros(64), 6)
    np.testing.assert_array_equal(reactant.jit(program)(np.zeros(70), 6), program(np.zeros(70), 6))
