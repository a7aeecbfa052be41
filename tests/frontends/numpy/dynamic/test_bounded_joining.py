"""Joining arrays of run-time size, and their order statistics, compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.numpy.tables import check_table

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=20)
M = RANDOM.normal(size=(5, 4))
K = RANDOM.integers(0, 6, 20)


def positive(x):
    return x[x > 0]


def laid_out(values, n=40):
    room = np.zeros(n, values.dtype)
    room[:len(values)] = values
    return room


def at_positions(x):
    v = positive(x)
    return v[[0, -1]], v[np.array([[1, 0], [2, -1]])], v[np.argsort(x)[:3] // 7], laid_out(v[np.argsort(v)[::-1]])


def rows(x, m):
    total = 0
    for i, j in np.argwhere(m > 0):
        total += 10 * i + j
    for i, j in zip(*np.nonzero(m < 0), strict=True):
        total = total * 3 % 1000 + i - j
    return total, m[m[:, 0] > -9][[0, -1]]


def test_joining():
    check_table([
        lambda x: laid_out(np.concatenate([positive(x), x[x < 0]])),
        lambda x: laid_out(np.concatenate([positive(x), [1.0, 2.0], x[x < -1]])),
        lambda x: laid_out(np.append(positive(x), 7)), lambda x: laid_out(np.hstack([positive(x), x])),
        lambda x: laid_out(np.sort(np.concatenate((x[:3], positive(x))))[1:]),
        lambda x: np.stack([positive(x), positive(x) ** 2]).sum(axis=1),
        lambda x: np.vstack([positive(x), positive(x) ** 2]) @ positive(x),
        lambda x: np.column_stack([positive(x), x[x < 0][:x[x > 0].size] if False else positive(x)]).T @ positive(x),
        lambda x: np.concatenate([positive(x)[None], positive(x)[None] * 2], axis=0).max(axis=1)], X)


def lists_of(x):
    places = np.where(x > 0)[0]
    total = 0
    for i in list(places):
        total = total * 10 % 1000 + i
    return (total, max(places), min(x[x > 0]), max(x[x > 9], default=-1.0), sum(list(x[x < 0])), len(tuple(places)),
            sorted(x[x > 0])[0], sorted(x[x > 0], reverse=True)[-1], x[x > 0].__array__().sum(), x.__array__()[0])


@pytest.mark.slow
def test_elements_are_put_in_and_taken_out():
    def inserted(x):
        v = positive(x)
        return (laid_out(np.insert(v, 0, 7.0)), laid_out(np.insert(v, 3, [1, 2])), laid_out(np.insert(v, 2, v[:2])),
                laid_out(np.delete(v, 0)), laid_out(np.delete(v, -1)), laid_out(np.delete(v, -2)),
                laid_out(np.delete(v, 3)), laid_out(np.pad(v[1:], (2, 1), constant_values=5)),
                laid_out(np.pad(v[2:-1], 1)), laid_out(np.r_[v, 1.0, v[::-1]]), laid_out(np.r_[3:5, v[:-1]]))

    def matrices(m, n):
        a = m[:n, 1:]
        out = np.zeros((9, 9))
        padded = np.pad(a, ((1, 2), (0, 1)))
        out[:n + 3, :4] = padded
        out[:n - 1, 4:7] += np.delete(a, 1, axis=0)
        return out, padded.sum()

    check_table([(inserted, (X,)), (inserted, ((X * 9).astype(np.int32) + 3,))])
    for n in (2, 4, 5):
        for found, wanted in zip(reactant.jit(matrices, traced_argnames="n")(M, n), matrices(M, n), strict=True):
            np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("f", [
    lambda v: np.insert(v, 30, 1.0), lambda v: np.delete(v, 30), lambda v: np.delete(v, -30)])
def test_positions_that_are_not_there(f):
    with pytest.raises(IndexError):
        reactant.jit(lambda x: f(positive(x)).sum())(X)


@pytest.mark.slow
def test_lists_of_what_is_selected():
    check_table([lists_of], X)


def placed(x):
    y = x * 1
    np.place(y, x > 0.5, np.extract(x > 0.5, x) * 10)
    return y


def test_place():
    check_table([placed], X)


@pytest.mark.slow
def test_positions():
    check_table([at_positions, lambda x: positive(x)[[0, 99]].sum()], X)
    check_table([rows], X, M)


@pytest.mark.slow
def test_order_statistics():
    check_table([
        lambda x: np.percentile(positive(x), 30), lambda x: np.percentile(positive(x), [5, 50, 95]),
        lambda x: np.quantile(positive(x), 0.3), lambda x: np.quantile(x[x > x.max() - 1e-9], 0.9),
        lambda x: np.percentile(np.floor(x * 9).astype(int)[x > 0], 40), lambda x: np.percentile(x[x > 99], 50),
        lambda x: np.percentile(np.where(x > 1, np.nan, x)[x > 0], 50), lambda x: np.percentile(
            positive(x.astype("f")), 25), lambda x: np.percentile(positive(x), 50, method="lower")], X)


@pytest.mark.slow
def test_counting():
    check_table([
        lambda x, k: np.bincount(k[x > 0], minlength=6), lambda x, k: np.bincount(k[x > 0], x[x > 0], 6),
        lambda x, k: np.histogram(positive(x), 5), lambda x, k: np.histogram(positive(x), [0, 0.5, 1, 3]),
        lambda x, k: np.histogram(positive(x), 4, (0, 2)), lambda x, k: np.histogram(positive(x), 4, density=True),
        lambda x, k: np.histogram(x[x > 99], 3), lambda x, k: np.histogram(k[x > 0], 3),
        lambda x, k: np.isin(k[x > 0], k[x < 0]).sum(), lambda x, k: np.isin(k, k[x > 1], invert=True)], X, K)


def test_covariance():
    check_table([lambda x, k: np.cov(positive(x)), lambda x, k: np.cov(x[x > 0], k[x > 0]),
                 lambda x, k: np.cov(np.vstack([x[x > 0], k[x > 0]]), ddof=0),
                 lambda x, k: np.corrcoef(x[x > 0], k[x > 0])], X, K)


@pytest.mark.parametrize("f, text", [
    (lambda x: np.percentile(positive(x).astype(int), 3, method="lower"), "method='linear'"),
    (lambda x: np.vstack(x[x > 0][:, None]), "Iterating over an array of run-time size")])
def test_refusals(f, text):
    with pytest.raises(UnsupportedError, match=rf"^.*{text}"):
        reactant.jit(f)(X)


def of_one_extent(x):
    v = positive(x)
    kind, kept = np.result_type(v, np.float32, 1j), np.result_type(v.astype(np.float32), 1.5)
    like = np.empty_like(v, dtype=bool)
    like[:] = np.asarray(v) > np.array(v, dtype=int)
    return [*map(laid_out, np.broadcast_arrays(v, 2.0)), laid_out(v.astype(kind)), laid_out(like)], v.sum().astype(kept)


def test_broadcast_arrays_and_result_type():
    check_table([of_one_extent], X)
