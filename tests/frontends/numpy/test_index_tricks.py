"""`np.r_`, `np.c_`, `np.mgrid`, `np.ogrid` against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

M, V = np.arange(9.0).reshape(3, 3), np.array([4.0, 5.0, 6.0])

TABLE = [
    lambda m, v: np.c_[m, v], lambda m, v: np.c_[v, v * 2, np.ones(3)], lambda m, v: np.r_[v, 1, 2:5, v[::-1]],
    lambda m, v: np.r_["0,2", m, v], lambda m, v: np.r_["-1,2", m, m], lambda m, v: np.r_["0,3,1", v, v],
    lambda m, v: np.r_["1,3,0", v, v], lambda m, v: np.c_[1:4, v], lambda m, v: np.c_[m, m], lambda m, v: np.r_[m, m],
    lambda m, v: np.r_[v[0], v[1]], lambda m, v: np.r_[0, np.cumsum(v)], lambda m, v: np.r_[True, v[1:] > v[:-1]],
    lambda m, v: np.r_[np.float64(1), v], lambda m, v: np.r_[v, np.float32(2), np.int8(3)],
    lambda m, v: np.r_[v], lambda m, v: np.c_[v], lambda m, v: np.c_[v[0], 3], lambda m, v: np.r_[-v[0]:v[1]:4j],
    lambda m, v: np.mgrid[-v[0]:v[0]:5j, 0:1:3j], lambda m, v: np.ogrid[0:v[1]:2j, 0:3],
    lambda m, v: np.mgrid[0:v[1]:2j]]


@pytest.mark.parametrize("dtype", ["d", "f", "l", "?", "D"])
def test_joined(dtype):
    check_table(TABLE[:-4], M.astype(dtype), V.astype(dtype))


def test_between_run_time_numbers():
    check_table(TABLE[-4:], M, V)


def written(m):
    a = np.r_[0:5]
    a[0] = 9
    x, y = np.mgrid[0:3, 0:4]
    x[0] = 5
    y += 1
    b = np.c_[np.arange(3), np.ones(3)]
    b[1] = 7
    return a, x, y, b, m * x[:, :3]


def test_what_they_make_can_be_written():
    check(written, M)


@pytest.mark.parametrize("f, text", [(lambda v: np.r_["c", v], "make matrices"),
                                     (lambda v: np.r_[0:v[0]], "size known only")])
def test_refusals(f, text):
    with pytest.raises(reactant.UnsupportedError, match=text):
        reactant.jit(f)(V)
