"""Arrays made inside compiled functions."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, UnsupportedError
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

X = np.random.default_rng(10).normal(size=(3, 4))
MAKERS = [
    lambda x: np.zeros(3), lambda x: np.zeros((2, 3), int), lambda x: np.zeros((), "c8"), lambda x: np.zeros(-1),
    lambda x: np.ones((2, 3), bool), lambda x: np.ones(3, dtype=np.float32), lambda x: np.full((2, 2), 7),
    lambda x: np.full(3, 1.5, int), lambda x: np.full((2, 3), [x[0, 0], 1, 2]),
    lambda x: np.full_like(x[0, :2], (1, x[0, 0])),
    lambda x: np.full((2, 4), x[0]), lambda x: np.full(3, x[0, 0]), lambda x: np.zeros_like(x),
    lambda x: np.zeros_like(x, dtype=int),
    lambda x: np.ones_like(x, shape=(2, 2)), lambda x: np.full_like(x, 3),
    lambda x: np.full_like(x, x[0, 0], dtype="f4"),
    lambda x: np.zeros((300, 2)), lambda x: np.arange(5), lambda x: np.arange(2, 10, 3),
    lambda x: np.arange(0, 1, 0.25), lambda x: np.arange(2, stop=9), lambda x: np.arange(7, step=2),
    lambda x: np.arange(start=2, stop=9, step=3), lambda x: np.arange(5, None, 2), lambda x: np.arange(1, 5, 2, "f4"),
    lambda x: np.arange(1, start=2), lambda x: np.arange(), lambda x: np.arange(3, width=1),
    lambda x: np.array(x, copy=np._CopyMode.IF_NEEDED), lambda x: np.array(x, copy=np._CopyMode.ALWAYS),
    lambda x: np.arange(3, dtype="f4"), lambda x: np.arange(1000), lambda x: np.eye(3),
    lambda x: np.eye(2, 4, 1), lambda x: np.eye(20, k=-1),
    lambda x: np.identity(3, int), lambda x: np.array([x[0, 0], 2, x[1, 1]]),
    lambda x: np.array([[x[0], x[1]], [x[1], x[2]]]),
    lambda x: np.array([x, x]), lambda x: np.array(x), lambda x: np.array(x, dtype="f4"),
    lambda x: np.array(x, ndmin=4),
    lambda x: np.array([1, 2.5]), lambda x: np.array([x[0], x[1, :2]]), lambda x: np.asarray(x),
    lambda x: np.asarray([x[0, 0], 1]),
    lambda x: np.asarray(x, int), lambda x: np.array(x[0, 0]), lambda x: np.array(3), lambda x: np.copy(x),
    lambda x: x.copy(),
    lambda x: np.array([]), lambda x: np.array([[]]) + x[0, 0], lambda x: np.ascontiguousarray(x.T),
    lambda x: np.asfortranarray(x),
    lambda x: np.array([i * x[0, 0] for i in range(3)]), lambda x: np.array((x[0, 0], x[0, 1])),
    lambda x: np.array(range(4)) * x[0]]


@pytest.mark.slow
def test_makers():
    check_table(MAKERS, X)
    check_table(MAKERS, np.asfortranarray(X.astype("f4")))


def test_arrays_of_objects_are_refused_as_such():
    with pytest.raises(UnsupportedError, match="Arrays of dtype object cannot be compiled"):
        reactant.jit(lambda x: np.array([x[0], x[1, :2]], dtype=object).sum())(X)


def test_none_among_floats_is_nan():
    check_table([lambda x: np.asarray(None, float) + x, lambda x: np.array([x[0, 0], None, 2], np.float32),
                 lambda x: np.array([[x[0, 0], None], [1, 2]], dtype=float), lambda x: np.array([None, x[0, 0]], bool),
                 lambda x: np.array([None, x[0, 0]], complex), lambda x: np.array([[1, x[1, 0]], [0.7, 2]], int),
                 lambda x: np.array([None, x[0, 0]], int)], X)


def test_made_arrays_are_written():
    def work(x):
        a, b, c, d = np.zeros(3), np.zeros_like(x), np.arange(300), np.array([1., 2.])
        a[1] = x[0, 0]
        b[1:] = x[:-1]
        c[::2] = 7
        d += x[0, :2]
        e = np.array(x)
        e[0] = 0
        f = np.asarray(x)
        f[1] = -1
        return a, b, c, d, e
    check(work, X)


def test_known_numbers_stay_known():
    def work(x):
        sizes = np.array([1, 2])
        sizes[0] += 2
        return x[:int(sizes[0])], np.zeros(sizes), [0] * len(np.arange(3))
    check(work, X)


def test_run_time_sizes_are_refused():
    with pytest.raises(ConcreteValueNeeded, match="Its bounds decide the size"):
        reactant.jit(lambda n: np.arange(n))(np.int64(3))


@pytest.mark.parametrize("dtype", ["O", "M8[s]", "U3", np.longdouble])
def test_dtypes_without_a_tensor_type_are_refused(dtype):
    with pytest.raises(UnsupportedError, match="cannot be compiled"):
        reactant.jit(lambda x: np.zeros(3, dtype))(X)


ORDERED = [lambda x: np.array(x, order="F").ravel(order="K")[1:], lambda x: np.array(x, order="C").ravel(order="K"),
           lambda x: np.array(x.T, order="F").ravel(order="K"), lambda x: np.array(x.T).ravel(order="K"),
           lambda x: np.array(x, order="F", copy=None).T.reshape(-1), lambda x: np.array(x.T, order="A").ravel("A")]


@pytest.mark.parametrize("number", range(len(ORDERED)))
def test_array_order(number):
    for shape in ((2, 3), (4, 1, 3), (3,), (2, 3, 4)):
        check(ORDERED[number], np.arange(np.prod(shape), dtype=float).reshape(shape))


def test_array_without_copy_is_the_same_array():
    def same(x):
        np.array(x, copy=None)[0] = 7
        np.array(x)[1] = 8
        return x

    check(same, np.zeros(3))
    check(lambda x: np.array(x, order="F", copy=False), np.zeros((2, 3)))
