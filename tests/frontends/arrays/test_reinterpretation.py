"""`ndarray.view(dtype)` and the packing of bits."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

X = np.array([[0.5, -1.5, 3.0, 300.7], [1.0, 2.0, -0.0, np.inf]])


@pytest.mark.parametrize("old, new", [
    (np.float64, np.int64), (np.float64, np.uint64), (np.float64, np.float32), (np.float64, np.uint8),
    (np.int32, np.int64), (np.uint8, np.float32), (np.complex128, np.float64), (np.float64, np.complex128),
    (np.complex64, np.int64), (np.complex128, np.float32), (np.bool_, np.uint8), (np.uint8, np.bool_),
    (np.complex128, np.complex64), (np.int64, np.int64), (np.float16, np.complex64)])
def test_views_alias(old, new):
    """Reading, and writing through the view."""
    with np.errstate(all="ignore"):
        source = (X > 0 if old is np.bool_ else X.astype(np.int64) % 2 if new is np.bool_ else X).astype(old)

    def f(a):
        view = a.view(new)
        before = view.copy()
        view[0, 1] = 1
        a[1, 0] = 0
        return before, view
    check(f, source)


@pytest.mark.parametrize("f", [
    lambda a: a.view(), lambda a: a.view(np.ndarray), lambda a: a.view(dtype="i8"), lambda a: a[0, 0].view(np.int64),
    lambda a: a.T.view(np.int64), lambda a: a.T.view(np.int32), lambda a: a[:, :3].view(np.complex128),
    lambda a: a.view(np.int32).view(np.float64), lambda a: a[:, ::2].view(np.float32)])
def test_which_views_exist(f):
    check(f, X)


def test_other_classes():
    with pytest.raises(reactant.errors.UnsupportedError, match="view of the class"):
        reactant.jit(lambda a: a.view(np.int64, np.recarray))(X)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, 2])
@pytest.mark.parametrize("bitorder", ["big", "little", "middle"])
def test_packbits(axis, bitorder):
    check(lambda a: np.packbits(a, axis=axis, bitorder=bitorder), (np.arange(60) % 7 > 2).reshape(5, 12))
    check(lambda a: np.packbits(a, axis=axis, bitorder=bitorder), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": 1, "count": 5}, {"axis": 1, "count": 40}, {"count": -3},
                                     {"bitorder": "little"}])
def test_unpackbits(options):
    check(lambda a: np.unpackbits(a, **options), np.array([[1, 200], [37, 255]], np.uint8))


def test_bits_of_other_dtypes():
    check(lambda a: np.packbits(a), X)
    check(lambda a: np.unpackbits(a), np.arange(3))
