"""Basic indexing compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

X = np.random.default_rng(9).normal(size=(4, 5, 6))
ALL = slice(None)
KEYS = [(), 0, -1, (1, 2), (1, 2, 3), (..., 0), (0, ...), (0, ..., 1), (1, 2, 3, ...), None, (None, 0), (0, None),
        (ALL, None, 2),
        (ALL, ALL, ALL), slice(1, 3), slice(None, None, -1), slice(3, 0, -2),
        (slice(1, 9), slice(-2, None)), slice(5, 2),
        (slice(None, None, 3), slice(4, None, -3), 0), (np.int8(2), np.uint64(1)), (slice(2, 2), 0), np.array(1),
        (0, np.array(-1)),
        4, -5, (0, 7), (0, 0, 0, 0), (..., ...), "x", 1.0, (ALL, "x"), slice(None, None, 0), slice(1.5)]


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
def test_keys(write):
    def reading(key):
        return lambda x: x[key]

    def writing(key):
        def put(x):
            y = x.T
            x[key] = 5
            y[key if not isinstance(key, tuple) or len(key) < 3 else key[:2]] += 1
            return y
        return put
    check_table([(writing if write else reading)(key) for key in KEYS], X)


RUN_TIME = [lambda x, i, j: x[i], lambda x, i, j: x[i, j], lambda x, i, j: x[i, 1:3, j], lambda x, i, j: x[:, i, ::-1],
            lambda x, i, j: x[..., j], lambda x, i, j: x[None, i], lambda x, i, j: x[i, j, 2],
            lambda x, i, j: x[i][j][1],
            lambda x, i, j: x.T[j, i], lambda x, i, j: x[::2, i], lambda x, i, j: x[i - 3], lambda x, i, j: x[i + 100],
            lambda x, i, j: x[-i - 1, -j - 1], lambda x, i, j: x.item(i), lambda x, i, j: x.item(i, j, 0),
            lambda x, i, j: x.flat[i], lambda x, i, j: x[i, j].item(2)]


def assign(x, i, j):
    x[i] = 1
    x[i, j] += 2
    x[:, j, ::2] = x[i, j, ::2]
    row = x[i]
    row[j] = -7
    x[-i - 1][1:] *= 3
    x.T[j, i] = 9
    return row


@pytest.mark.sampled(100)
@pytest.mark.parametrize("i, j", [(0, 0), (1, 3), (2, 4), (3, 1), (3, 5)])
def test_run_time_integers(i, j):
    check_table([*RUN_TIME, assign], X, np.int64(i), np.int32(j))


def test_out_of_bounds_says_which_axis():
    with pytest.raises(IndexError, match="index is out of bounds for axis 1 with size 5"):
        reactant.jit(lambda x, i: x[0, i])(X, np.int64(5))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 5"):
        reactant.jit(lambda x: x[0, 5])(X)


def test_values_are_broadcast_and_cast():
    def put(x, y):
        y[0] = x[0, :, 0]
        y[1:] = [[1], [2], [3]]
        y[..., 0] = True
        y[2, 3] = np.float32(3.7)
        x[...] = np.ones((1, 1, 4, 5, 6))

    def too_big(x, y):
        y[0] = np.ones(4)

    def complex_into_real(x, y):
        y[0] = 1j

    def overflow(x, y):
        y[0, 0] = 2**40

    def nan(x, y):
        y[0, 0] = np.nan
    check_table([put, too_big, complex_into_real, overflow, nan], X, np.zeros((4, 5), np.int16))


def test_flat_iterates_in_row_major_order():
    def walk(x):
        total = 0.
        for n, v in enumerate(x.T.flat):
            total += n * v
        return total, len(x.flat), x.flat.copy(), np.array(x.flat[2:4])
    check(walk, X[:2, :2, 0].copy())


def test_flat_stands_for_a_copy_where_an_array_is_wanted():
    def f(x):
        return (np.interp(x.T.flat, [0.0, 5.0, 9.0], [0.0, 1.0, 3.0]), np.sum(x.flat), np.asarray(x.T.flat) * 2,
                np.sqrt(x.flat), x.T.flat > 2, np.add(x.flat, 1))
    check(f, np.arange(6.0).reshape(2, 3))


def write_flat(x, values):
    x.flat[::2] = values
    x.flat[1] = 7
    x.T.flat[-2:] = 3


@pytest.mark.sampled(6)
@pytest.mark.parametrize("values", [np.arange(2.0), np.arange(30.0), np.zeros(0), np.ones((2, 2)), np.float64(4)])
@pytest.mark.parametrize("shape", [(4, 3), (6,), (2, 3, 4)])
def test_flat_assignment_repeats_or_cuts_the_values(shape, values):
    check(write_flat, np.arange(np.prod(shape), dtype=float).reshape(shape), values)
    check(write_flat, np.arange(np.prod(shape), dtype=float).reshape(shape[::-1]).T, values)
