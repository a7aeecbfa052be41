"""dtype functions, scalar types and small conversions."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

X, COUNTS = np.array([0.5, -1.5, 3.0, 300.7]), np.array([1, 0, 4])
KINDS = [np.bool_, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32,
         np.float64, np.complex64, np.complex128, np.intp, np.single, np.longlong]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_scalar_types_convert(kind):
    def convert(x, i, number):
        return kind(x[2]), kind(i), kind(number), kind(3), kind(x[0]) + x
    with np.errstate(all="ignore"):
        check(convert, X, COUNTS, 2.5)


def test_scalar_types_of_known_values_stay_numpy():
    def scale(x):
        factor = np.float32(2)
        assert type(factor) is np.float32
        return x * factor
    check(scale, X.astype(np.float32))


@pytest.mark.parametrize("kind", [np.longdouble, np.datetime64])
def test_scalar_types_without_tensor_type(kind):
    with pytest.raises(reactant.errors.UnsupportedError):
        reactant.jit(lambda x: kind(x[0]))(X)


@pytest.mark.parametrize("operands", [lambda x, i: (x, i), lambda x, i: (i, np.float32), lambda x, i: (i, 1.0),
                                      lambda x, i: (x[0], 3), lambda x, i: (i, "u1")])
def test_result_type(operands):
    check(lambda x, i: x.astype(np.result_type(*operands(x, i))), X, COUNTS)


def test_casts_and_kinds():
    def kinds(x, i):
        assert np.can_cast(x, np.float32) is False and np.can_cast(i, np.float64) is True
        assert np.common_type(x, i) is np.float64 and np.isfortran(x) is False
        assert np.may_share_memory(x, x[1:]) is True and np.may_share_memory(x, x + 1) is False
        return np.astype(x, np.int32), np.astype(x, np.float64, copy=False)
    check(kinds, X, COUNTS)


@pytest.mark.parametrize("requirements", [None, "C", ["F"], ["C_CONTIGUOUS", "W", "O"], ["C", "F"]])
def test_require(requirements):
    check(lambda m: np.require(m, np.float32, requirements), np.arange(6.0).reshape(2, 3))


def test_asarray_chkfinite():
    f = reactant.jit(lambda x: np.asarray_chkfinite(x) * 2)
    np.testing.assert_array_equal(f(X), X * 2)
    with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
        f(np.array([1.0, np.nan, 2.0, 3.0]))
    check(lambda i: np.asarray_chkfinite(i, np.float64), COUNTS)


def test_fromiter():
    check(lambda x: np.fromiter((v * v for v in x), np.float32), X)
    check(lambda x: np.fromiter((v for v in x), float, count=2), X)
    check(lambda x: np.fromiter((v for v in x), float, count=9), X)
    check(lambda x: x[:3] * np.fromiter(range(3), int), X)


def test_ndarray_and_ndenumerate():
    def fill(x):
        out = np.ndarray((2, 2), np.float32)
        for (i, j), v in np.ndenumerate(x.reshape(2, 2)):
            out[j, i] = v
        return out
    check(fill, X)
    with pytest.raises(reactant.errors.UnsupportedError, match="over given memory"):
        reactant.jit(lambda x: np.ndarray((2,), buffer=x))(X)


def over_indices(m):
    out, total = np.zeros_like(m), 0.0
    for index in np.ndindex(m.shape):
        out[index] = m[index] * (index[0] + 1) - sum(index)
    for (i, j), v in np.ndenumerate(m):
        total += v * (i - j)
        out[j % 2, i % m.shape[1]] += v
    for k, (i, j) in enumerate(np.ndindex(2, 3)):
        if m[i, j] > 0.5:
            continue
        total += k * i - j
    for _ in np.ndindex():
        total += 10
    return out, total, list(np.ndindex(2, 2)), [v for _, v in np.ndenumerate(m[:2, :2])]


def test_indices_of_many_elements_stay_a_loop():
    rng = np.random.default_rng(0)
    check(over_indices, rng.random((3, 4)))
    check(over_indices, rng.random((30, 20)), rtol=1e-9)
    operations = reactant.jit(over_indices).lower(rng.random((30, 20))).operations(optimized=False)
    assert operations["stablehlo.while"] == 2 and sum(operations.values()) < 300
    check(lambda m: sum(1 for _ in np.ndindex(m.shape)) + sum(v for _, v in np.ndenumerate(m)), np.zeros((0, 3)))
