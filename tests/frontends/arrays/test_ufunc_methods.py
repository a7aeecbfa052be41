"""reduce, accumulate, reduceat and outer of every binary ufunc; `.at` is tested with index arrays."""
from __future__ import annotations

import functools

import numpy as np
import pytest

import reactant
from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

BINARY = {u.__name__: u for u in (getattr(np, n) for n in dir(np))
          if isinstance(u, np.ufunc) and u.nin == 2 and u.nout == 1 and u.signature is None}
WRONG_IN_NUMPY = {"arctan2", "power", "ldexp"}
"""NumPy's AVX512 loops read stale elements when reduced along a contiguous axis: compared with a plain fold instead."""
X, WHOLE = samples.ordinary("d", 3, 4, 5), samples.ordinary("l", 3, 4, 5)


def arrays_for(ufunc, method):
    """One array of every dtype the method takes; positive for powers."""
    found = []
    for dtype in samples.ALL:
        a = samples.ordinary(dtype, 3, 5)
        if a.dtype.kind in "iu":
            a = a % 7
        a = np.abs(a) + np.array(1, dtype) if "power" in ufunc.__name__ and a.dtype.kind != "b" else a
        try:
            with np.errstate(all="ignore"):
                getattr(ufunc, method)(a)
            found.append(a)
        except TypeError:
            pass
    return found


@pytest.mark.sampled(100)
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("name", sorted(set(BINARY) - WRONG_IN_NUMPY))
def test_every_dtype(name, method):
    ufunc = BINARY[name]
    given = arrays_for(ufunc, method)
    if given:
        check_table([lambda *a, axis=axis: [getattr(ufunc, method)(x, axis=axis) for x in a] for axis in (0, -1)],
                    *given, rtol=1e-11)


@pytest.mark.parametrize("name", ["arctan2", "power"])
def test_order_dependent_reductions_fold_from_the_left(name):
    ufunc, x = BINARY[name], 1 + np.abs(samples.ordinary("d", 3, 40)) / 1000
    expected = [functools.reduce(ufunc, row) for row in x]
    np.testing.assert_allclose(reactant.jit(lambda x: ufunc.reduce(x, axis=1))(x), expected, rtol=1e-11)


@pytest.mark.slow
def test_axes_and_options():
    mask = X > 0
    check_table([
        lambda x, i, m: np.add.reduce(x, axis=(0, 2)), lambda x, i, m: np.add.reduce(x, axis=None),
        lambda x, i, m: np.add.reduce(x, axis=(-1, 0), keepdims=True), lambda x, i, m: np.add.reduce(x, axis=()),
        lambda x, i, m: np.add.reduce(x, axis=None, keepdims=True), lambda x, i, m: np.add.reduce(x, 1, where=m),
        lambda x, i, m: np.add.reduce(x, 1, where=m, initial=3), lambda x, i, m: np.multiply.reduce(i, None, initial=2),
        lambda x, i, m: np.maximum.reduce(x, None, where=m, initial=-1), lambda x, i, m: np.maximum.reduce(i, (0, 1)),
        lambda x, i, m: np.subtract.reduce(x, 2, where=m, initial=1.5), lambda x, i, m: np.gcd.reduce(i, (0, 2)),
        lambda x, i, m: np.add.reduce(i, 1, dtype=np.float32), lambda x, i, m: np.add.reduce(i[0, 0, 0]),
        lambda x, i, m: np.minimum.reduce(m, 1), lambda x, i, m: np.hypot.reduce(x, (0, 1)),
        lambda x, i, m: np.add.reduce([[1, 2], [3, 4]], axis=1) + i[0, 0, :2], lambda x, i, m: np.add.reduce(m),
        lambda x, i, m: np.maximum.reduce(x, where=m[:1], initial=0), lambda x, i, m: np.add.reduce(x, initial=None),
    ], X, WHOLE, mask)


@pytest.mark.slow
def test_not_a_number():
    n = np.array([[1, np.nan, 3], [4, 5, 6.0], [np.inf, -np.inf, np.nan], [np.nan] * 3])
    ufuncs = (np.maximum, np.minimum, np.fmax, np.fmin, np.add, np.multiply, np.logical_and)
    check_table([lambda n, c, u=u, axis=axis: u.reduce(n, axis) for u in ufuncs for axis in (0, 1, None)]
                + [lambda n, c, u=u, axis=axis: u.reduce(c, axis) for u in ufuncs[:4] for axis in (0, 1, None)]
                + [lambda n, c, u=u, axis=axis: u.accumulate(n, axis) for u in ufuncs[:5] for axis in (0, 1)],
                n, n + 1j * np.nan_to_num(n[::-1], posinf=2))


EMPTY_AND_WRONG = {
    "empty": lambda e: (np.add.reduce(e), np.multiply.reduce(e), np.add.reduce(e, 1), np.logical_or.reduce(e),
                        np.maximum.reduce(e, 1), np.maximum.reduce(e, 0, initial=4), np.add.accumulate(e)),
    "no identity": lambda e: np.maximum.reduce(e), "order": lambda e: np.subtract.reduce(e, (0, 1)),
    "axis": lambda e: np.add.reduce(e, 5), "duplicate": lambda e: np.add.reduce(e, (0, 0)),
    "no loop": lambda e: np.less.reduce(e), "unary": lambda e: np.sin.reduce(e),
    "kind": lambda e: np.bitwise_or.reduce(e),
    "mask": lambda e: np.maximum.reduce(e, 1, where=e > 0), "float axis": lambda e: np.add.reduce(e, axis=1.5),
    "two results": lambda e: np.divmod.reduce(e), "two axes": lambda e: np.add.accumulate(e, axis=(0, 1)),
    "scalar": lambda e: np.add.accumulate(np.add.reduce(e, None)), "scalar at": lambda e: np.add.reduceat(e[0, 0], [0]),
    "out shape": lambda e: np.add.reduce(e, axis=1, out=np.zeros(3)), "generalised": lambda e: np.matmul.reduce(e),
    "mask dtype": lambda e: np.add.reduce(e, where=e),
}


@pytest.mark.parametrize("name", EMPTY_AND_WRONG)
def test_empty_arrays_and_errors(name):
    check(EMPTY_AND_WRONG[name], np.zeros((0, 3)))


def test_out():
    def step(x, sums, narrow, partial):
        np.add.reduce(x[:, :, 0], axis=0, out=sums)
        np.add.reduce(x * 10, axis=1, out=narrow, keepdims=True)
        np.add.accumulate(x, axis=1, out=partial)
    check(step, X, np.zeros(4), np.zeros((3, 1, 5), np.int8), np.zeros((3, 4, 5), np.float32))


def test_long_scans():
    x = np.random.default_rng(0).normal(size=5000)
    i = np.random.default_rng(0).integers(-5, 5, 5000)
    check_table([lambda x, i: np.add.accumulate(x), lambda x, i: np.maximum.accumulate(x), lambda x, i: np.cumsum(i),
                 lambda x, i: np.subtract.accumulate(i), lambda x, i: np.logaddexp.accumulate(x)], x, i)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.maximum, np.multiply, np.logical_or])
def test_reduceat_with_known_indices(ufunc):
    x = samples.ordinary("d", 60)
    check_table([lambda x: ufunc.reduceat(x[:20], [0, 4, 1, 5, 2, 6, 3, 19]),
                 lambda x: ufunc.reduceat(x.reshape(12, 5), [0, 3, 1], axis=1), lambda x: ufunc.reduceat(x, [60]),
                 lambda x: ufunc.reduceat(x, np.arange(60)[::-1])], x)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.logical_or])
def test_reduceat_with_run_time_indices(ufunc):
    x, starts = samples.ordinary("d", 20), np.array([0, 4, 1, 5, 2, 6, 3, 19])
    check_table([lambda x, i: ufunc.reduceat(x, i), lambda x, i: ufunc.reduceat(x.reshape(2, 10), i % 10, axis=1),
                 lambda x, i: ufunc.reduceat(x, i + 5)], x, starts)


def test_reduceat_that_depends_on_order_needs_known_indices():
    with pytest.raises(NotImplementedError, match="subtract.reduceat needs indices that are known while tracing"):
        reactant.jit(lambda x, i: np.subtract.reduceat(x, i))(np.ones(5), np.array([0, 2]))


def test_outer():
    check_table([lambda x, y: np.subtract.outer(x, y), lambda x, y: np.add.outer(x, y[0]),
                 lambda x, y: np.less.outer(x[0], y), lambda x, y: np.multiply.outer(x[0], y[0]),
                 lambda x, y: np.add.outer([1, 2], y), lambda x, y: np.add.outer(x.reshape(2, 2), y),
                 lambda x, y: np.sin.outer(x, y)], np.arange(4.0), np.arange(3.0))


def test_results_keep_the_layout():
    """A reduction of a transposed array is laid out as NumPy's: its flattening is a view in the same cases."""
    def step(x):
        y = x.transpose(2, 1, 0).sum(0)
        y.ravel(order="K")[1] = 100
        return y, y.flags.f_contiguous, np.add.accumulate(x.T, 1).flags.f_contiguous
    check(step, X)


@pytest.mark.parametrize("ufunc, dtype", [(np.hypot, np.float64), (np.hypot, np.float32), (np.gcd, np.int8),
                                          (np.gcd, np.uint8), (np.lcm, np.int64)])
def test_reductions_of_one_element_begin_with_zero(ufunc, dtype):
    def reductions(x):
        return (ufunc.reduce(x, axis=1), ufunc.reduce(x[:1, 0]), ufunc.reduce(x[:, 0]),
                ufunc.reduceat(x, [0, 1], axis=0), ufunc.reduce(x[0], initial=None))

    x = np.array([[-3], [6], [0]]).astype(dtype)
    for found, wanted in zip(reactant.jit(reductions)(x), reductions(x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
