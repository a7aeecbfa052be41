"""Functions of arrays of run-time size that are made of slices, joins, sums and products, against NumPy."""
import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(12)
X = RANDOM.normal(size=20)
Y = RANDOM.normal(size=20)
M = RANDOM.normal(size=(9, 4))


def laid_out(values, n=60):
    room = np.zeros(n, values.dtype)
    room[:len(values)] = values
    return room


def count_of(x):
    k = 0
    while k < len(x) and k < 4 + 3 * x[0] ** 2:
        k += 1
    return k


def both(function):
    """Of what a mask selects, and of windows that begin at different places."""
    def run(x, y):
        k = count_of(x)
        return function(x[x > 0], y[x > 0]), function(x[1:k], y[2:1 + k])
    return run


def check_both(functions):
    check_table([both(f) for f in functions], X, Y, rtol=1e-9)


@pytest.mark.slow
def test_moving():
    check_both([
        lambda v, w: laid_out(np.roll(v, 1)), lambda v, w: laid_out(np.roll(v, -2)),
        lambda v, w: laid_out(np.roll(v, 1000)), lambda v, w: laid_out(np.roll(v, len(v) // 2)),
        lambda v, w: np.dot(v, np.roll(w, -1)) - np.dot(w, np.roll(v, -1)),
        lambda v, w: laid_out(np.tile(v, 2)), lambda v, w: np.tile(v, (3, 2)).sum(axis=1),
        lambda v, w: np.moveaxis(np.multiply.outer(v, w), 0, 1).max(), lambda v, w: np.broadcast_to(v, (3, len(v))) @ w,
        lambda v, w: laid_out(np.pad(v, 1)), lambda v, w: np.array([v, w]).sum(axis=1),
        lambda v, w: np.array([v, w], np.float32) @ w, lambda v, w: np.asarray([v, w]).min()])


@pytest.mark.slow
def test_empty():
    def empty(x, y):
        v, w = x[x > 99], y[x > 99]
        return (np.roll(v, 1).sum(), np.tile(v, 3).sum(), np.trapezoid(v), np.polyval([1.0, 2.0], v).sum(),
                np.digitize(v, [0.0]).sum(), np.einsum("i,i", v, w), np.array_equal(v, w), np.array_equal(v, x),
                np.array_equal(v, np.zeros(0)), np.tensordot(v, w, 1), np.kron(v, w).sum(),
                np.array([v, w]).sum(axis=1),
                [p.sum() for p in np.array_split(v, 3)], np.extract(v > 0, v).sum())
    check_table([empty], X, Y)


@pytest.mark.slow
def test_parts():
    check_both([
        lambda v, w: [laid_out(p) for p in np.split(v, [2, -1])], lambda v, w: [laid_out(p) for p in np.split(v, [1])],
        lambda v, w: [laid_out(p) for p in np.array_split(v, 3)],
        lambda v, w: laid_out(np.take(v, [0, -1, 1])), lambda v, w: np.take(v, 0),
        lambda v, w: np.take(v, [7, 99, -50], mode="clip"), lambda v, w: np.take(v, [7, 99, -50], mode="wrap"),
        lambda v, w: laid_out(np.take(w, np.argsort(v))), lambda v, w: laid_out(np.compress(w > 0, v)),
        lambda v, w: laid_out(np.extract(w > 0, v)), lambda v, w: np.partition(v, 1)[1],
        lambda v, w: v[np.argpartition(v, -1)[-1]], lambda v, w: laid_out(np.lexsort((v, w > 0)))])


@pytest.mark.slow
def test_element_by_element():
    check_both([
        lambda v, w: laid_out(np.digitize(v, [-1.0, 0.0, 0.5])), lambda v, w: laid_out(np.polyval([1.0, -2.0, 3.0], v)),
        lambda v, w: laid_out(np.select([v > 0.5, w > 0.2], [v, -v], 7.0)),
        lambda v, w: laid_out(np.piecewise(v, [v > 0.5, w > 0], [lambda t: t * t, -1.0, 3.0])),
        lambda v, w: np.vander(v, 3).sum(axis=0), lambda v, w: np.vander(v, 4, increasing=True).T @ w,
        lambda v, w: (np.array_equal(v, v.copy()), np.array_equal(v, w), np.array_equal(v, v[1:])),
        lambda v, w: (np.allclose(v, v + 1e-12), np.allclose(v, w))])


@pytest.mark.slow
def test_sums():
    check_both([
        lambda v, w: np.trapezoid(v), lambda v, w: np.trapezoid(v, dx=0.1), lambda v, w: np.trapezoid(v, np.sort(w)),
        lambda v, w: laid_out(np.gradient(v)), lambda v, w: laid_out(np.gradient(v, 0.5)),
        lambda v, w: laid_out(np.gradient(v, np.sort(w))),
        lambda v, w: laid_out(np.convolve(v, [1.0, 2.0, -1.0])), lambda v, w: laid_out(np.convolve(v, w)),
        lambda v, w: laid_out(np.convolve(v, [1.0, 2.0, -1.0], "same")),
        lambda v, w: laid_out(np.convolve([1.0, 2.0], v, "valid")), lambda v, w: laid_out(np.correlate(v, w)),
        lambda v, w: laid_out(np.correlate(v, w[1:], "full")),
        lambda v, w: np.polyfit(v, w, 1), lambda v, w: np.polyfit(v, w, 2, w=np.abs(v)),
        lambda v, w: np.linalg.lstsq(np.column_stack([v, v * v]), w, rcond=None)[0]])


@pytest.mark.slow
def test_products():
    check_both([
        lambda v, w: np.einsum("i,i->", v, w), lambda v, w: np.einsum("i,i", v, w),
        lambda v, w: np.einsum("i,j->ij", v, w).sum(axis=0).max(), lambda v, w: np.einsum("i,j,i->j", v, w, w).sum(),
        lambda v, w: np.tensordot(v, w, 1), lambda v, w: np.tensordot(v, w, 0).sum(),
        lambda v, w: np.tensordot(v[:, None], w[None], ((1, 0), (0, 1))), lambda v, w: laid_out(np.kron(v, [1.0, 2.0])),
        lambda v, w: [g.sum() for g in np.meshgrid(v, w)], lambda v, w: (lambda a, b: (a * b).max(axis=1).sum())(
            *np.meshgrid(v, w, indexing="ij")), lambda v, w: sum(g.sum() for g in np.meshgrid(v, w, sparse=True))])


@pytest.mark.slow
def test_matrices():
    def rows(x, m):
        k = count_of(x)
        a, chosen = m[:k], m[m[:, 0] > 0]
        return (np.roll(chosen, 1, axis=0)[0], np.roll(a, 2, axis=1).sum(axis=0), np.trapezoid(a, axis=0),
                np.trapezoid(chosen, dx=0.5).sum(), np.einsum("ij,ik->jk", chosen, chosen),
                np.einsum("ij,kj->ik", a, m[:, :]).sum(axis=0), np.tensordot(a, chosen, ((1,), (1,))).sum(),
                np.array_equal(a, chosen), np.array_equal(a, a.copy()), [p.sum() for p in np.split(a, [1, 2])],
                np.take(chosen, [2, 0], axis=1).sum(axis=0), np.compress(a[:, 1] > 0, a, axis=0).sum(axis=0),
                np.linalg.lstsq(chosen[:, :2], chosen[:, 2], rcond=None)[0],
                np.linalg.lstsq(m[:, :3], m[:, 3], rcond=None)[0], np.moveaxis(a, 0, -1).shape[0])
    check_table([rows], X, M, rtol=1e-8)


def test_columns_by_arrays_of_positions():
    def columns(x, m):
        a, chosen, i = m[:count_of(x)], m[m[:, 0] > 0], np.array([2, 0])
        return (chosen[:, [2, 0]].sum(axis=0), chosen[:, i, None].sum(axis=0), a[:, [1, 1, 3]].max(axis=0),
                a[:-1, i].sum(axis=0), chosen[1:, [0]].sum(), a[None, :, i].sum(axis=1),
                chosen[..., [1, -1]].sum(axis=0),
                chosen[:, [[0, 1], [2, 3]]].sum(axis=0), chosen.T[[2, 0]].sum(axis=1),
                chosen[:, np.argsort(m[0])].T @ chosen[:, i], a[:, m[0] > 0].sum())
    check_table([columns], X, M)

    with pytest.raises(IndexError):
        reactant.jit(lambda m: m[m[:, 0] > 0][:, [0, 4]].sum())(M)


def test_splitting_an_array_where_the_run_says():
    check_table([lambda x: [laid_out(p) for p in np.split(x, [np.argmax(x), 18])] if np.argmax(x) < 18 else None,
                 lambda x: [laid_out(p) for p in np.split(x, [count_of(x)])]], X)


@pytest.mark.slow
def test_errors_of_the_run():
    for function, error in [(lambda x: [p.sum() for p in np.split(x[:count_of(x)], 100)], ValueError),
                            (lambda x: np.take(x[x > 0], [0, 19]).sum(), IndexError),
                            (lambda x: np.partition(x[x > 0], 19)[0], ValueError),
                            (lambda x: np.polyfit(x[x > 99], x[x > 99], 1), TypeError),
                            (lambda x: np.gradient(x[x > x.max() - 1e-9]).sum(), ValueError)]:
        with pytest.raises(error):
            function(X)
        with pytest.raises(error):
            reactant.jit(function)(X)


def test_what_is_refused():
    for function in (lambda x: np.roll(x[x > 0], (1, 2), (0, 0)), lambda x: np.polyval(x[x > 0], 2.0),
                     lambda x: np.vander(x[x > 0]).sum(), lambda x: np.einsum("...i->i", x[x > 0]).sum(),
                     lambda x: np.gradient(x[x > 0], edge_order=2).sum(), lambda x: np.digitize(x, x[x > 0]).sum(),
                     lambda x: np.polyfit(x[x > 0], x[x > 0], 1, cov=True)[0],
                     lambda x: np.correlate(x[x > 0], x, "same").sum()):
        with pytest.raises(UnsupportedError, match="run-time"):
            reactant.jit(function)(X)


@pytest.mark.parametrize("mask", [[1, 0, 1], [0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]])
def test_masks_of_other_lengths(mask):
    """A mask of another length was refused, though NumPy looks only at what it selects."""
    def selected(x, mask, n):
        return np.extract(mask, x[n:]).sum(), np.compress(mask, x[n:]).sum()
    check(selected, np.arange(6.0), np.array(mask, bool), np.int64(2))


def test_a_product_of_vectors_in_place():
    def multiply(x, n):
        v = x[n:]
        v @= v
    check(multiply, np.arange(6.0), np.int64(2))
