"""Sorting and searching against NumPy, with ties, NaN, signed zeros and extremes of every dtype."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

SMALL = [samples.awkward(d, 6, 4) for d in samples.ALL]
FOUR = np.array([3.0, 1, 2, 0])


@pytest.mark.slow
def test_sort_and_argsort():
    check_table([lambda *a: [np.sort(x) for x in a], lambda *a: [np.sort(x, axis=0) for x in a],
                 lambda *a: [np.sort(x, axis=None) for x in a], lambda *a: [np.argsort(x, kind="stable") for x in a],
                 lambda *a: [np.argsort(x, axis=0, stable=True) for x in a],
                 lambda *a: [np.argsort(x, axis=None, kind="mergesort") for x in a]], *SMALL)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", samples.ALL)
def test_long_axes(dtype):
    """Long axes sort packed integers: another path."""
    check_table([lambda x: np.sort(x), lambda x: np.argsort(x, kind="stable"),
                 lambda x: np.argsort(x.reshape(2, 600).T.copy(), axis=0, kind="stable"),
                 lambda x: np.argsort(x.reshape(2, 600), axis=1, kind="stable")], samples.awkward(dtype, 1200))


@pytest.mark.slow
def test_long_axes_with_ties():
    x = np.random.default_rng(0).normal(size=5000).astype("f").astype("d")
    x[::7] = x[1]
    check_table([lambda x, i: np.argsort(x, kind="stable"), lambda x, i: np.argsort(i, kind="stable")],
                x, (x * 1e18).astype(np.int64))


def test_lexsort():
    random = np.random.default_rng(0)
    check_table([lambda x, y, z: np.lexsort((x, y)), lambda x, y, z: np.lexsort((x, y, z)),
                 lambda x, y, z: np.lexsort((x.reshape(5, -1), z.reshape(5, -1)), axis=0),
                 lambda x, y, z: np.lexsort(()),
                 lambda x, y, z: np.lexsort(np.stack([x, x // 2])), lambda x, y, z: np.lexsort((x, y[:3]))],
                random.integers(0, 5, 100), random.integers(0, 3, 100).astype(np.uint8), random.integers(0, 5, 100) / 2)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", samples.ALL)
def test_searchsorted(dtype):
    check_table([lambda a, v: np.searchsorted(a, v), lambda a, v: np.searchsorted(a, v, side="right"),
                 lambda a, v: np.searchsorted(a, v[0, 0]), lambda a, v: a.searchsorted(a, "right")],
                np.sort(samples.awkward(dtype, 40)), samples.awkward(dtype, 5, 6, seed=1))


def test_searchsorted_options():
    check_table([lambda a, v: np.searchsorted(a, v, sorter=np.argsort(a)), lambda a, v: np.searchsorted(a[:0], v),
                 lambda a, v: np.searchsorted(a, 1.5, sorter=np.argsort(a)),
                 lambda a, v: np.searchsorted(np.sort(a), [1, 2]),
                 lambda a, v: np.searchsorted(a.astype(np.uint8)[::-1], v),
                 lambda a, v: np.searchsorted(a, 1, side="up"),
                 lambda a, v: np.searchsorted(a.reshape(2, 2), 1), lambda a, v: np.searchsorted(a, v, sorter=a),
                 lambda a, v: np.searchsorted(a, v, sorter=np.argsort(a)[:2])], FOUR, np.array([-1.0, 0.5, 1, 300]))


WRONG = {
    "axis": lambda a: np.sort(a, axis=3), "kind": lambda a: np.sort(a, kind="foo"),
    "order": lambda a: np.sort(a, order="x"),
    "place": lambda a: np.partition(a, 7), "places": lambda a: np.argpartition(a, [0, 9]),
    "number": lambda a: np.sort(a[0]), "kind and stable": lambda a: np.sort(a, kind="stable", stable=True),
    "float place": lambda a: np.partition(a, 1.5),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(WRONG[name], FOUR)


def test_partition():
    def step(a):
        places = np.argpartition(a, 0)
        return np.partition(a, 2)[2], np.sort(np.partition(a, (1, 2))), a[places[0]], np.sort(places)
    check(step, FOUR)


def test_in_place():
    def step(a, b):
        a[1].sort()
        b.T.sort(axis=0)
        a.sort(axis=0)
        return a[0, 0]
    check(step, samples.ordinary("d", 4, 5), samples.ordinary("d", 3, 5))


def test_digitize():
    x, edges = np.array([-1.0, 0, 0.5, 1, 2.5, 7]), np.array([0, 1, 2.5])
    check_table([lambda x, b: np.digitize(x, [0, 1, 2.5]), lambda x, b: np.digitize(x, [2.5, 1, 0], right=True),
                 lambda x, b: np.digitize(x, b), lambda x, b: np.digitize(x, b[::-1], True),
                 lambda x, b: np.digitize(x[0], b), lambda x, b: np.digitize(x, [1, 3, 2.0]),
                 lambda x, b: np.digitize(x, b * np.array([1, 5, 1])), lambda x, b: np.digitize(x * 1j, b),
                 lambda x, b: np.digitize(x, b[0])], x, edges)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", "lBfdD")
def test_isin(dtype):
    random = np.random.default_rng(0)
    x, y = random.integers(0, 9, (3, 40)).astype(dtype), random.integers(0, 9, 100).astype(dtype)
    check_table([lambda x, y: np.isin(x, y), lambda x, y: np.isin(x, y[:3], invert=True),
                 lambda x, y: np.isin(x, [1, 2]),
                 lambda x, y: np.isin(x[0, 0], y), lambda x, y: np.isin(x, y[:0]), lambda x, y: np.isin(x, 1),
                 lambda x, y: np.isin(x, y, kind="other")], x, y)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("where", ["near", "far", "least", "greatest", "both ends"])
def test_isin_of_integers(dtype, where):
    """In a table from the least to the greatest where that is small, else by bisection."""
    random, limits = np.random.default_rng(0), np.iinfo(dtype)
    near = random.integers(0, 300, 100).astype(dtype)
    every = random.integers(limits.min, limits.max, 2000, dtype=dtype, endpoint=True)
    tests = {"near": near, "far": every[:100], "least": limits.min + near, "greatest": limits.max - near,
             "both ends": np.resize([limits.min, limits.max], 100)}[where].astype(dtype)
    first = np.arange(400).astype(dtype)
    x = np.concatenate([near, every, limits.min + first, limits.max - first]).astype(dtype)
    wanted = np.isin(x, tests)
    np.testing.assert_array_equal(reactant.jit(lambda x, y: np.isin(x, y))(x, tests), wanted)
    np.testing.assert_array_equal(reactant.jit(lambda x: np.isin(x, tests, invert=True))(x), ~wanted)


def test_isin_of_nan():
    check(lambda a: np.isin(a, a), np.array([np.nan, 1]))


@pytest.mark.slow
def test_sort_complex():
    check(lambda *a: [np.sort_complex(x) for x in a], *SMALL)


def test_small():
    check_table([lambda a: np.sort(a), lambda a: np.argsort(a, axis=0), lambda a: np.argsort(a.reshape(3, 0))],
                np.zeros((0, 3)))
    check_table([lambda a: np.argsort(a), lambda a: np.sort(a, axis=None)], np.array(3))


@pytest.mark.parametrize("f", [
    lambda a, x: np.searchsorted(a, 0.1, "right"), lambda a, x: np.searchsorted(a, float(x[0]), "right"),
    lambda a, x: np.digitize(0.1, a), lambda a, x: np.searchsorted(a, x[0], "right")])
def test_python_numbers_are_searched_as_arrays_of_theirs(f):
    """0.1 in float32 is more than 0.1; a Python float was rounded first."""
    check(f, np.array([0.1, 0.5], np.float32), np.array([0.1]))
