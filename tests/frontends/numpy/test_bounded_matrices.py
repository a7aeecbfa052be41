"""Matrices of run-time size: masks over all their elements, order along each axis, and all of them in one row."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError

X = np.random.default_rng(0).normal(size=(5, 6)).round(1)


def masks_of_elements(x, n, m):
    part = x[:n, :m]
    part[part > 0] = 7
    part[part < -0.5] *= 2
    return part.sum(), part[part > 1].sum(), part[np.abs(part) < 2].mean()


def masks_of_rows_and_columns(x, n, m):
    part = x[:n]
    rows = part[part[:, 0] > 0]
    rows[rows > 0] = 3.0
    part[part[:, 1] > 0, 2] = 9
    part[part[:, 1] > 0] += np.arange(6.0)
    part[:, part[0] > 1] *= 2
    return rows.sum(), rows.shape[0], part[:, 1:][part[:, 0] < 1].sum(axis=0), part[part[:, 1] > 0, 3].sum(), m


def order_along_axes(x, n, m):
    part = x[1:n, m:]
    down, across = np.argmax(part, 0), part.argmin(1)
    return (np.sort(part, axis=0).cumsum(1).sum(), np.sort(part).cumsum(1).sum(), (np.argsort(part, 0) * part).sum(),
            np.argmax(part), part.argmin(), np.argmax(part, keepdims=True), (down * part[0]).sum(),
            (across * part[:, 0]).sum(), np.sort(part, axis=None)[1])


def medians(x, n, m):
    part = x[:n, :m]
    return (np.median(part), np.median(part, axis=0).sum(), np.median(part, 1, keepdims=True).sum(),
            np.median(part, keepdims=True), np.percentile(part, 30), np.percentile(part, 30, axis=1).sum(),
            np.quantile(part, [0.1, 0.4]))


def elements_in_a_row(x, n, m):
    part = x[:n, :m]
    return (part.flatten().cumsum().sum(), part.flatten().shape[0], np.cumsum(part).sum(), part.ravel()[2],
            part.T.ravel()[2], part.flatten("F")[2], np.trace(part), part.trace(1), np.diff(part, axis=0).sum())


def sorted_in_place(x, n, m):
    part = x[:n, :m]
    part.sort(axis=0)
    x[n:].sort()
    x[0, :m].sort()
    x[n:, m - 1:].fill(0.5)
    return part.sum(), part.swapaxes(0, 1)[0].sum()


def dimensions_of_one(x, n, m):
    column = x[:n, 2:3]
    flat = np.squeeze(column)
    return (flat.sum(), flat.ndim, column.squeeze(axis=1)[1], np.expand_dims(flat, 1).sum(0),
            np.atleast_2d(flat).sum(1), np.atleast_1d(flat)[0],
            np.swapaxes(x[:n, :m], 0, 1)[0].sum(), np.expand_dims(flat, (0, -1)).ndim)


@pytest.mark.parametrize("program", [
    dimensions_of_one, masks_of_elements, masks_of_rows_and_columns, order_along_axes, medians, elements_in_a_row,
    sorted_in_place], ids=lambda f: f.__name__)
def test_programs(program):
    compiled = reactant.jit(program, traced_argnames=("n", "m"))
    for n, m in ((4, 3), (3, 2), (5, 5)):
        mine, theirs = X.copy(), X.copy()
        for got, wanted in zip((*compiled(mine, n, m), mine), (*program(theirs, n, m), theirs), strict=True):
            np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_missing_numbers_spread():
    x = X.copy()
    x[1, 2] = np.nan
    wanted, got = medians(x, 4, 3), reactant.jit(medians, traced_argnames=("n", "m"))(x, 4, 3)
    np.testing.assert_allclose(np.hstack([np.ravel(g) for g in got]), np.hstack([np.ravel(w) for w in wanted]))


@pytest.mark.filterwarnings("ignore")
def test_medians_of_nothing():
    def program(x, n):
        return np.median(x[:n]), np.median(x[:n], axis=1).size, np.median(x[:n, 1:1], axis=1).sum()
    for n in (0, 2):
        got = reactant.jit(program, traced_argnames=("n",))(X, n)
        np.testing.assert_array_equal(got, program(X, n))


def test_squeezed_where_the_length_is_one():
    compiled = reactant.jit(lambda x, n: np.squeeze(x[:n, 0]).sum(), traced_argnames=("n",))
    assert compiled(X, 2) == X[:2, 0].sum()
    with pytest.raises(reactant.UnsupportedError, match="whose run-time length is 1"):
        compiled(X, 1)


def wrong_mask(x, n):
    return x[:n][np.array([True, False, True])].sum()


def test_masks_of_another_size():
    compiled = reactant.jit(wrong_mask, traced_argnames=("n",))
    assert compiled(X, 3) == pytest.approx(wrong_mask(X, 3))
    with pytest.raises(IndexError, match="boolean index did not match"):
        compiled(X, 4)


def written_through_a_ravel(x, n):
    flat = x[:n].ravel()
    flat *= 2
    return x.sum()


def test_a_ravel_may_be_a_view():
    with pytest.raises(ControlFlowError, match="is a copy in compiled code"):
        reactant.jit(written_through_a_ravel, traced_argnames=("n",))(X.copy(), 3)


def the_only_one(x, n):
    places = np.flatnonzero(x[:, 0] > n)
    first = places.item() if places.size == 1 else -1
    return first, x[:n + 1, 2].item(0), x[:n + 1].item(1), np.iscomplexobj(places), np.isrealobj(x[:n])


def test_items():
    compiled = reactant.jit(the_only_one, traced_argnames=("n",))
    for n in range(4):
        assert compiled(X, n) == the_only_one(X, n)
    alone = reactant.jit(lambda x, n: x[:n, 0].item(), traced_argnames=("n",))
    assert alone(X, 1) == X[0, 0]
    with pytest.raises(ValueError, match="size 1"):
        alone(X, 2)
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        for number in (lambda x, n: float(x[:n, 0]), lambda x, n: float(x[:1, 0])):
            with pytest.raises(TypeError, match="only 0-dimensional"):
                reactant.jit(number, traced_argnames=("n",))(X, 1)
