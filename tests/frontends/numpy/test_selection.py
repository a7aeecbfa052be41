"""where, take, put, select, choose, piecewise and relatives compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ConstantWriteError, UnsupportedError
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(2)
A, B = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 4))

WHERE = [
    lambda a, b: np.where(a > 0, a, b), lambda a, b: np.where(a > 0, a, 0), lambda a, b: np.where(a > 0, 1, 2),
    lambda a, b: np.where(a > 0, 1, 2.5), lambda a, b: np.where(a[0] > 0, a, b[:, :1]),
    lambda a, b: np.where(True, a, b),
    lambda a, b: np.where(a[0, 0] > 0, a[0, 0], 1), lambda a, b: np.where(a.T > 0, a.T, b.T),
    lambda a, b: np.where(a, a, b),
    lambda a, b: np.where(a > 0, np.float32(1), a.astype("f4")), lambda a, b: np.where([True, False, True, True], a, b),
    lambda a, b: np.where(a[:2] > 0, a, b), lambda a, b: np.where(a > 0, a.astype("i4"), b.astype("u1")),
    lambda a, b: np.where(a > 0, True, a > 1), lambda a, b: np.where(a > 0, 1j, a), lambda a, b: np.where(a > 0, a)]
CHOICES = [
    lambda a, b: np.select([a > 0, b > 0], [a, b]), lambda a, b: np.select([a > 0, b > 0], [a, b], -1),
    lambda a, b: np.select([a > 0, b > 0], [1, 2], 3), lambda a, b: np.select([a > 0], [a, b]),
    lambda a, b: np.select([a, b], [a, b]), lambda a, b: np.select([a > 0, b[0] > 0], [a.astype("f4"), 5], 0),
    lambda a, b: np.choose((a > 0).astype(int), [a, b]), lambda a, b: np.choose((a > 0).astype(int) + 1, [a, b, 3.]),
    lambda a, b: np.choose((a > 0).astype(int) * 5, [a, b]), lambda a, b: np.choose(-(a > 0).astype(int), [a, b]),
    lambda a, b: np.choose((a > 0).astype(int) * 5, [a, b], mode="clip"),
    lambda a, b: np.choose((a > 0).astype(int) * 5 - 3, [a, b], mode="wrap"),
    lambda a, b: np.choose([0, 1, 0, 1], [a, b]),
    lambda a, b: np.choose(1, [a, b]), lambda a, b: np.choose((a > 0).astype(int), [a, b], mode="bad"),
    lambda a, b: np.piecewise(a, [a < 0, a >= 0], [-1, 1]), lambda a, b: np.piecewise(a, a < 0, [1, 2]),
    lambda a, b: np.piecewise(a, [a < 0, a >= 0], [lambda x: -x, lambda x: x * 2]),
    lambda a, b: np.piecewise(a, [a < 0], [lambda x: -x, lambda x: x * 2]),
    lambda a, b: np.piecewise(a, [a < 0, a > 1], [1, 2, lambda x: x - x.mean()]),
    lambda a, b: np.piecewise(a, [a < 0], [1, 2, 3]),
    lambda a, b: np.piecewise(a[0, 0], [a[0, 0] < 0], [lambda x: -x, 5])]
TAKE = [
    lambda a, b: np.extract(a > 0, b).sum(), lambda a, b: np.compress([True, False, True], a, 0),
    lambda a, b: np.compress(a[:, 0] > 0, a, 0).sum(0), lambda a, b: a.compress([0, 1, 1], axis=1),
    lambda a, b: np.compress([True] * 5, a, 1), lambda a, b: np.take(a, [0, 2]), lambda a, b: np.take(a, [[0, 2]], 1),
    lambda a, b: np.take(a, 1, 0), lambda a, b: np.take(a, 5), lambda a, b: a.take([-1, 1], axis=1),
    lambda a, b: np.take(a, [7], 1), lambda a, b: np.take(a, [7, -9], 1, mode="wrap"), lambda a, b: np.take(a, 1, 5),
    lambda a, b: np.take(a, [7, -9], 1, mode="clip"), lambda a, b: np.take(a, (a[0] > 0).astype(int), 0),
    lambda a, b: np.take(a, (a[0, 0] > 0).astype(int), 0),
    lambda a, b: np.take(a, (a[0] > 0).astype(int) * 9, 0, mode="clip"),
    lambda a, b: np.take([10, 20, 30], (a > 0).astype(int)), lambda a, b: np.take(a, (a[0] > 0).astype(int) * 9, 0),
    lambda a, b: np.take_along_axis(a, (b > 0).astype(int), 1),
    lambda a, b: np.take_along_axis(a, (b > 0).astype(int)[:1], 0),
    lambda a, b: np.take_along_axis(a, (b > 0).astype(int).ravel(), None),
    lambda a, b: np.take_along_axis(a, np.array([[0, 3, 2]] * 3), 1),
    lambda a, b: np.take_along_axis(a, (b[0] > 0).astype(int), 1),
    lambda a, b: np.unravel_index((a > 0).astype(int) * 7, (3, 4)),
    lambda a, b: np.unravel_index((a > 0).astype(int) * 17, (3, 4)),
    lambda a, b: np.unravel_index((a > 0).astype(int) * 7, (3, 4), order="F"),
    lambda a, b: np.ravel_multi_index(((a > 0).astype(int), (b > 0).astype(int) * 3), (3, 4)),
    lambda a, b: np.ravel_multi_index(((a > 0).astype(int) * 9, (b > 0).astype(int) * 3), (3, 4), mode="clip"),
    lambda a, b: np.ravel_multi_index(((a > 0).astype(int) * 9, (b > 0).astype(int) * 3), (3, 4)),
    lambda a, b: np.ravel_multi_index(((a > 0).astype(int), 2), (3, 4), order="F"),
    lambda a, b: np.ravel_multi_index(((a > 0).astype(int) * 9 - 4, (b > 0).astype(int)), (3, 4),
                                      mode=("wrap", "clip"))]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("table", [WHERE, CHOICES, TAKE], ids=["where", "choices", "take"])
@pytest.mark.parametrize("dtype", ["f8", "i1", "f4"])
def test_table(table, dtype):
    check_table(table, (A * 9).astype(dtype), B, rtol=1e-6)


def put(a, b):
    np.put(a, [0, 5], [7, 8])
    np.put(a, [1, 2, 3], 9)
    a.put([-1], 3)
    np.put(b, (a[0] > 0).astype(int), [1, 2, 3, 4])
    np.put(b, [20, -30], 1, mode="clip")


def put_outside(a, b):
    np.put(a, [20], 1)


def put_mask(a, b):
    np.putmask(a, a > 0, [1, 2, 3])
    np.putmask(b, b < 0, 5)


def put_mask_of_wrong_size(a, b):
    np.putmask(a, (a > 0)[0], 1)


def place(a, b):
    np.place(a, a > 0, [1, 2, 3])
    np.place(b, b < 0, [5])


def copy_to(a, b):
    np.copyto(b, a, where=a > 0)
    np.copyto(b, 3)
    np.copyto(b[0], b[1])


def copy_complex(a, b):
    np.copyto(a, 1j)


def put_along(a, b):
    np.put_along_axis(a, (b > 0).astype(int), 5., 1)
    np.put_along_axis(b, (a > 0).astype(int)[:1], a[:1], 0)
    np.put_along_axis(b, np.array([1, 2]), 7, None)


def put_along_no_view(a, b):
    np.put_along_axis(b.T, np.array([1, 2]), 7, None)


def with_out(a, b):
    np.take(b, [0, 1], 1, out=b[:, :2])
    np.choose((b > 0).astype(int), [b, b * 2], out=b)


def out_of_wider_dtype(a, b):
    np.take(a, [0, 1], 1, out=b[:, :2])


def chosen_into_other_dtypes(a, b):
    np.choose((b > 0).astype(int), [a, a * 2], out=b)
    c = np.zeros(b.shape, np.int16)
    np.choose((b > 0).astype(int), [b, b * 2], out=c)
    return c


def flat(a, b):
    a.flat[3] = 5
    a.flat[::2] = b.flat[1::2]
    a.T.flat[[1, 2]] = 7
    return a.flat[2], b.T.flat[1:4], a.flat[[1, 2]]


@pytest.mark.parametrize("dtype", ["f8", "i1"])
def test_functions_that_write(dtype):
    functions = [put, put_outside, put_mask, put_mask_of_wrong_size, place, copy_to, copy_complex, put_along,
                 put_along_no_view, with_out, out_of_wider_dtype, chosen_into_other_dtypes, flat]
    check_table(functions, (A * 9).astype(dtype), B)


POSITIONS = [
    lambda x: np.nonzero(x > 0)[0].sum(), lambda x: np.where(x > 0)[0].max(), lambda x: np.where(x > 0)[0][0],
    lambda x: np.flatnonzero(x > 0)[-1], lambda x: x[np.nonzero(x > 0)].sum(), lambda x: x[np.nonzero(x > 0)[0][1]],
    lambda x: np.argwhere(x > 0).sum(axis=0), lambda x: np.argwhere(x > 0)[1], lambda x: (x > 0).nonzero()[0].size,
    lambda x: (np.nonzero(x > 0)[0][1:] - np.nonzero(x > 0)[0][:-1]).sum(), lambda x: len(np.where(x > 0)[0]),
    lambda x: np.flatnonzero(x > 100).size, lambda x: np.flatnonzero(x > 100)[0], lambda x: np.flatnonzero(x > -100)[3],
    lambda x: np.nonzero(x.ravel()[0]), lambda x: x[np.where(x[..., 0] > -9)].sum()]


def write_at_positions(x):
    i = np.nonzero(x > 0)
    x[i] = 7
    x[i] += i[0]
    x[x < 0] = 1
    return i[0].size


@pytest.mark.parametrize("x", [A, A.ravel()[None].T, RANDOM.normal(size=(2, 3, 2))], ids=lambda x: str(x.shape))
def test_positions_of_a_run_time_mask(x):
    check_table([*POSITIONS, write_at_positions], x)


def test_positions_cannot_be_returned():
    with pytest.raises(UnsupportedError, match="returns an array whose size depends on run-time values"):
        reactant.jit(lambda a: np.nonzero(a > 0))(A)


def test_positions_of_a_known_mask():
    check_table([lambda a: np.nonzero(np.array([1, 0, 2])), lambda a: a[np.nonzero(np.eye(3))],
                 lambda a: np.where(np.array([True, False]))], A)


def test_writing_into_an_outside_array_is_refused():
    outside = np.zeros(3)
    with pytest.raises(ConstantWriteError, match="the array given to put"):
        reactant.jit(lambda a: np.put(outside, [1], a[0, 0]))(A)


@pytest.mark.parametrize("mask", [[1, 0, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0], [1, 0]])
def test_masks_of_other_lengths(mask):
    """A longer mask that selects nothing beyond the end is fine: it was refused."""
    mask = np.array(mask, bool)
    for x in (np.arange(4.0), np.arange(4.0)[None]):
        check(lambda x, mask: np.extract(mask, x).sum(), x, mask)
        check(lambda x, mask: np.compress(mask, x, axis=-1).sum(axis=-1), x, mask)


@pytest.mark.parametrize("shape", [(3, 2), (4,), (1, 6), (1,), ()])
def test_masks_that_do_not_fit(shape):
    """They made a program that was none."""
    check(lambda x, mask: np.copyto(x, 1, where=mask), np.zeros(shape), np.ones(6, bool))
    check(lambda x, mask: np.interp(x, np.arange(6.0), np.ones(6), left=mask), np.zeros(()), np.ones((), bool))
