"""Half precision adds up as in NumPy: what is rounded at every number stays so, sums of arrays are near the truth."""
import ml_dtypes
import numpy as np
import pytest

import reactant

random = np.random.default_rng(4)
ARRAYS = {"ones": np.ones(3000), "uniform": random.random(3000), "normal": random.standard_normal(3000),
          "thousands": np.full(60, 1000.0)}


def _loop(a):
    total = a[0] * 0
    for i in range(len(a)):
        total = total + a[i]
    return total


def _loop_over_elements(a):
    total = np.zeros(1, a.dtype)
    for x in a:
        total[0] += x
    return total


def _while(a):
    total, i = a[0] * 0, 0
    while i < len(a) and total < 60000:
        total, i = total + a[i], i + 1
    return total


def _rows(a):
    total = np.zeros(3, a.dtype)
    for i in range(len(a)):
        total += a[i]
    return total


def _product(a):
    product = a[0] * 0 + 1
    for i in range(len(a)):
        product = product * (1 + a[i] / 1024)
    return product


def _counts(a):
    found = np.zeros(4, a.dtype)
    for i in range(len(a)):
        found[i % 2] += abs(a[i])
    return found


def _under_a_condition(a):
    total = a[0] * 0
    for i in range(len(a)):
        if a[i] > 0:
            total = total + a[i]
    return total


def _nested(a):
    total = a[0] * 0
    for i in range(50):
        for j in range(50):
            total = total + a[i] * a[j].dtype.type(1)
    return total


def _at(a):
    found = np.zeros(3, a.dtype)
    np.add.at(found, (a > 0.5).astype(int), a)
    return found


IN_ORDER = [np.cumsum, np.cumprod, np.add.accumulate, np.multiply.accumulate, np.nancumsum, np.cumulative_sum, sum,
            lambda a: np.cumsum(a.reshape(4, -1, 3), axis=1), lambda a: np.cumsum(a.astype(np.float64), dtype=a.dtype),
            _loop, _loop_over_elements, _while, _rows, _product, _counts, _under_a_condition, _nested, _at]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("native", ["auto", "never", "always"])
@pytest.mark.parametrize("numbers", ["ones", "uniform", "normal"])
@pytest.mark.parametrize("function", IN_ORDER, ids=lambda f: f.__name__)
def test_every_number_is_rounded(function, numbers, native):
    a = ARRAYS[numbers].astype(np.float16)
    with np.errstate(all="ignore"):
        wanted = function(a)
    got = reactant.jit(function, native=native)(a)
    np.testing.assert_array_equal(got, wanted, strict=True)


@pytest.mark.parametrize("function", [np.cumsum, _loop, _rows, _product], ids=lambda f: f.__name__)
def test_bfloat16(function):
    a = ARRAYS["ones"].astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(np.asarray(reactant.jit(function)(a), float), np.asarray(function(a), float))


TRUE = [np.sum, np.mean, np.nansum, lambda a: np.dot(a, a), lambda a: np.inner(a, a),
        lambda a: np.einsum("i,i->", a, a), np.var, np.std, np.trapezoid, np.add.reduce,
        lambda a: np.add.reduceat(a, [0, 5, 40]),
        lambda a: np.mean(a.reshape(-1, 3), axis=0), lambda a: np.sum(a.reshape(-1, 3), axis=0), np.average,
        lambda a: a.reshape(-1, 3).T @ a.reshape(-1, 3), lambda a: np.convolve(a[:50], a[:7]), np.nanmean]


@pytest.mark.parametrize("numbers", ARRAYS)
@pytest.mark.parametrize("function", TRUE)
def test_sums_of_arrays(function, numbers):
    """NumPy's are near the truth along the last axis and in products, ours everywhere."""
    a = ARRAYS[numbers].astype(np.float16)
    with np.errstate(all="ignore"):
        wanted = function(a.astype(np.float64)).astype(np.float16)
    got = reactant.jit(function)(a)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(float), wanted.astype(float), rtol=2e-3, atol=1e-4)


def test_derivatives_of_cumulative_sums():
    weights = np.arange(50.0, dtype=np.float32)

    def loss(a):
        return np.sum(np.cumsum(a).astype(np.float32) * weights)
    np.testing.assert_array_equal(reactant.grad(loss)(np.ones(50, np.float16)), np.cumsum(weights[::-1])[::-1])


def test_batches():
    a = np.stack([ARRAYS["ones"], ARRAYS["uniform"]]).astype(np.float16)
    np.testing.assert_array_equal(reactant.vmap(np.cumsum)(a), np.cumsum(a, axis=1))


def test_only_loops_of_half_precision_stay():
    assert "while" in reactant.jit(_loop).lower(ARRAYS["ones"].astype(np.float16)).as_text()
    assert "while" not in reactant.jit(_loop).lower(ARRAYS["ones"].astype(np.float32)).as_text()


OF_HALVES = {
    "max": lambda a, b: np.max(a), "min": lambda a, b: np.min(a), "argmax": lambda a, b: np.argmax(a),
    "argmin": lambda a, b: np.argmin(a), "ptp": lambda a, b: np.ptp(a), "nanmax": lambda a, b: np.nanmax(a),
    "of rows": lambda a, b: a.reshape(8, -1).max(1), "initial": lambda a, b: np.min(a, initial=b[0]),
    "accumulate": lambda a, b: np.maximum.accumulate(a), "fmax": np.fmax, "fmin": np.fmin,
    "floor": lambda a, b: np.floor(a), "ceil": lambda a, b: np.ceil(a), "trunc": lambda a, b: np.trunc(a),
    "floor_divide": lambda a, b: a // b, "remainder": lambda a, b: a % b, "fmod": np.fmod, "divmod": np.divmod,
    "bytes": lambda a, b: np.floor(np.abs(a) % b.dtype.type(100)).astype(np.uint8),
}


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("name", OF_HALVES)
def test_functions_of_halves(name, dtype):
    """To NumPy bfloat16 is of no kind of its own: it is a float all the same."""
    function = OF_HALVES[name]
    a, b = ((random.standard_normal(2000) * 10.0**random.integers(-3, 3, 2000)).astype(dtype) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = function(a, b)
    got = reactant.jit(function)(a, b)
    for mine, numpys in zip(np.atleast_2d(got), np.atleast_2d(wanted), strict=True):
        assert mine.dtype == numpys.dtype
        np.testing.assert_array_equal(mine.astype(float), numpys.astype(float))


def test_not_a_number_among_bfloat16():
    a = np.array([1.5, -2, np.nan, 7, 3], ml_dtypes.bfloat16)
    for function, wanted in ((np.max, np.nan), (np.min, np.nan), (np.argmax, 2), (np.nanmax, 7), (np.nanmin, -2),
                             (np.fmax.reduce, 7)):
        np.testing.assert_equal(float(reactant.jit(function)(a)), wanted)
