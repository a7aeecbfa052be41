"""Different values and sets, whose number is known only at run time, compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(5)
INTEGERS = RANDOM.integers(-4, 5, (5, 6))
OTHERS = RANDOM.integers(0, 9, 7)
FLOATS = np.array([2.0, np.nan, -0.0, 1.5, 0.0, np.nan, 2.0, -np.inf, 1.5])
PAIRS = RANDOM.integers(0, 3, (12, 2))


def laid_out(values, n):
    """The elements at the front of an array of known size, and their number."""
    room = np.zeros((n, *np.shape(values)[1:]), values.dtype)
    room[:len(values)] = values
    return room, len(values)


def everything(x):
    values, first, each, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    n = x.size
    return laid_out(values, n), laid_out(first, n), each, laid_out(counts, n)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", samples.ALL)
def test_unique_of_every_dtype(dtype):
    """Ties, NaN and signed zeros: counts and values agree with NumPy's."""
    x = np.concatenate([samples.awkward(dtype, 6, 4).ravel()[:13], samples.awkward(dtype, 6, 4).ravel()[:7]])
    check_table([everything, lambda x: np.unique(x).size, lambda x: np.unique(x).shape], x)


@pytest.mark.parametrize("x", [INTEGERS, INTEGERS.T, INTEGERS[::2, ::-1], FLOATS, FLOATS[:1], FLOATS[:0], OTHERS > 4],
                         ids=lambda x: f"{x.dtype}{x.shape}")
def test_shapes(x):
    check_table([everything, lambda x: np.unique(x, equal_nan=False).size], x)


@pytest.mark.slow
def test_long():
    x = RANDOM.integers(0, 90, 3000)
    check_table([everything, lambda x: everything(x * 0.5)], x)


def entropy(x):
    _, counts = np.unique(x, return_counts=True)
    p = counts / counts.sum()
    return -(p * np.log(p)).sum()


def most_frequent(x):
    values, counts = np.unique(x, return_counts=True)
    return values[np.argmax(counts)], values[np.argsort(counts, kind="stable")[-1]]


def means_of_groups(x):
    values, each = np.unique(x, return_inverse=True)
    out = np.zeros(x.shape)
    for k, v in enumerate(values):
        out[x == v] = x[each == k].mean() + k
    return out


def relabelled(x):
    labels = np.unique(x)
    return np.searchsorted(labels, x), labels[0], labels[-1], labels[[0, 1]], np.diff(labels).min()


def rows_by_rows(x):
    total = np.zeros(2)
    for row in np.unique(x, axis=0):
        total = total * 2 + row
    return total


@pytest.mark.slow
def test_uses():
    check_table([entropy, most_frequent, means_of_groups, relabelled], INTEGERS)


@pytest.mark.slow
def test_along_an_axis():
    def whole(x):
        values, first, each, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=0)
        return laid_out(values, 12), laid_out(first, 12), each, laid_out(counts, 12)
    check_table([whole, rows_by_rows, lambda x: np.unique(x.T, axis=1).sum(axis=1), lambda x: whole(x * 0.5)], PAIRS)


@pytest.mark.slow
def test_of_what_a_mask_selects():
    def masked(x):
        values, first, each, counts = np.unique(x[x > 0], return_index=True, return_inverse=True, return_counts=True)
        return laid_out(values, 30), first.sum(), (each * np.arange(30)[:each.size]).sum(), laid_out(counts, 30)
    check_table([masked, lambda x: np.unique(x[x > 99]).size, lambda x: np.unique(x[x > 1] / 2.0).sum()], INTEGERS)


SETS = [
    lambda x, y: laid_out(np.union1d(x, y), 40), lambda x, y: laid_out(np.intersect1d(x, y), 40),
    lambda x, y: laid_out(np.setdiff1d(x, y), 40), lambda x, y: laid_out(np.setxor1d(x, y), 40),
    lambda x, y: [laid_out(v, 40) for v in np.intersect1d(x, y, return_indices=True)],
    lambda x, y: laid_out(np.setdiff1d(x.ravel(), y, assume_unique=True), 40),
    lambda x, y: laid_out(np.union1d(np.unique(x), y[y > 4]), 40), lambda x, y: np.isin(x, np.unique(y)),
    lambda x, y: np.isin(x, y[y > 99]), lambda x, y: laid_out(np.setdiff1d(np.unique(y), x), 40)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["l", "d"])
def test_set_functions(kind):
    check_table(SETS, INTEGERS.astype(kind), OTHERS.astype(kind))
    check_table(SETS[:4], FLOATS, FLOATS[2:5])


def test_named_results():
    check(lambda x: np.unique_counts(x).counts.max(), INTEGERS)
    check(lambda x: np.unique_inverse(x).inverse_indices, INTEGERS)
    check(lambda x: np.unique_all(x).indices.sum(), INTEGERS)


@pytest.mark.parametrize("f, text", [
    (lambda x: np.unique(x), "The compiled function returns an array whose size depends on run-time values"),
    (lambda x: np.unique_values(x).sum(), "order of its own"),
    (lambda x: [v for v in np.unique(x)], "The compiled function returns an array whose size"),
    (lambda x: np.unique(np.tile(x, 9), axis=0).sum(), "compares rows of 1 to 32 elements")])
def test_refusals(f, text):
    with pytest.raises(UnsupportedError, match=rf"(?s)^.*{text}"):
        reactant.jit(f)(INTEGERS)


def test_of_known_values():
    assert reactant.jit(lambda x: x + np.unique([3, 1, 3]).size)(np.zeros(1))[0] == 2
