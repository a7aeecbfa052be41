"""Programs for NumPy arrays compute with denormal numbers, as NumPy does."""
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

LARGE = 3_000_000
"""Elements of which XLA gives each of its threads a part."""

FUNCTIONS = {
    "greater": lambda x: x > 0, "equal": lambda x: x == 0, "sign": np.sign, "choice": lambda x: np.where(x > 0, x, -1),
    "maximum": lambda x: np.maximum(x, 0), "clip": lambda x: np.clip(x, 0, 1), "greatest": np.max, "least": np.min,
    "place": np.argmax, "count": np.count_nonzero, "any": np.any, "all": np.all, "truth": lambda x: bool(x[1]),
    "convert": lambda x: x.astype(bool), "root": np.sqrt, "cube root": np.cbrt, "log": np.log, "log2": np.log2,
    "log10": np.log10, "half": lambda x: x / 2, "sum": lambda x: x + x, "difference": lambda x: x - x[1],
    "quotient": lambda x: x / x[1], "reciprocal": lambda x: 1 / x, "sums": np.cumsum, "mantissa": np.frexp,
    "spacing": np.spacing, "next": lambda x: np.nextafter(x, x.dtype.type(1)), "magnitude": lambda x: np.hypot(x, x),
    "scaled": lambda x: np.ldexp(x, 3), "remainder": lambda x: np.mod(x, 2 * x.dtype.type(x[3])),
    "floor of quotient": lambda x: np.floor_divide(x, 2 * x.dtype.type(x[3])), "order": np.argsort, "sorted": np.sort,
    "product": lambda x: x[:, None] @ np.ones((1, 3), x.dtype), "norm": lambda x: np.abs(x + 1j * x),
    "branch": lambda x: x * 4 if x[2] > 0 else x,
}


def numbers(dtype, count=11):
    info = np.finfo(dtype)
    some = [info.tiny, info.tiny / 2, info.tiny / 1024, info.smallest_subnormal, 3 * info.smallest_subnormal,
            -info.tiny / 2, -info.smallest_subnormal, 0, -0.0, 1, 4 * info.tiny]
    return np.resize(np.array(some, dtype), count)


def assert_alike(got, wanted):
    for mine, theirs in zip(*(each if isinstance(each, tuple) else (each,) for each in (got, wanted)), strict=True):
        mine, theirs = np.asarray(mine), np.asarray(theirs)
        least = np.finfo(theirs.dtype).smallest_subnormal if theirs.dtype.kind in "fc" else 0
        np.testing.assert_array_equal(mine == 0, theirs == 0)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6 if theirs.dtype.itemsize < 8 else 1e-13, atol=least)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("native", ["auto", "never"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, native, dtype):
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        assert_alike(reactant.jit(FUNCTIONS[name], native=native)(x), FUNCTIONS[name](x))


@pytest.mark.parametrize("name", ["greater", "maximum", "log", "half", "count", "greatest"])
def test_arrays_that_several_threads_work_on(name):
    x = numbers(np.float64, LARGE)
    with np.errstate(all="ignore"):
        assert_alike(reactant.jit(FUNCTIONS[name], native="never")(x), FUNCTIONS[name](x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("native", ["always", "never"])
def test_functions_that_halve_or_square(native, dtype):
    """Twice half a denormal is not it; the modulus of denormal parts is all that XLA computes in its program."""
    x = numbers(dtype)
    for function in (np.sinh, np.arcsin, np.arctanh, np.arcsinh):
        assert_alike(reactant.jit(function, native=native)(x[:9]), function(x[:9]))
    z = x + 1j * x[::-1]
    np.testing.assert_allclose(reactant.jit(np.abs, native=native)(z), np.abs(z), rtol=1e-6,
                               atol=np.finfo(dtype).smallest_subnormal)
    assert reactant.jit(np.abs, native=native)(z).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("native", ["always", "never"])
def test_constants(native, dtype):
    """LLVM folds what float32 numbers are compared, multiplied or divided by."""
    tiny, least = np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal

    def with_constants(x):
        return (x * least == 0, np.isnan(x / least), x / (tiny / 2) == 0, np.clip(x, -least, least), x - least == 0,
                np.fmin(x, least), np.abs(x) < tiny, x > least, x + least, np.maximum(x, tiny / 4))

    x = numbers(dtype)
    compiled = reactant.jit(with_constants, native=native)
    with np.errstate(all="ignore"):
        for given in (x, *x):
            for got, wanted in zip(compiled(given), with_constants(given), strict=True):
                np.testing.assert_array_equal(got, wanted)


EXPONENTIALS = {
    "exp": np.exp, "exp2": lambda x: np.exp2(1.4 * x), "power": lambda x: 2.718**x,
    "bell": lambda x: np.exp(-np.abs(x)), "complex": lambda x: np.exp(x + 1j),
    "log of softmax": lambda x: np.log(np.exp(x) / np.exp(x).sum()),
    "logistic": lambda x: 1 / (1 + np.exp(-x)), "hyperbolic": lambda x: 1 / np.cosh(x),
}


@pytest.mark.parametrize("native", ["auto", "never"])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_exponentials(name, native):
    function = EXPONENTIALS[name]
    x = np.array([-703.0, -708, -708.3, -709, -715, -725, -740, -744, -750, -1, 0, 700])
    with np.errstate(all="ignore"):
        compiled = reactant.jit(function, native=native)
        if name.startswith("log"):
            np.testing.assert_allclose(compiled(x[:-1]), function(x[:-1]), rtol=1e-6)
        else:
            assert_alike(compiled(x), function(x))
            assert_alike(compiled(x[3]), function(x[3]))
        single = np.array([-86.0, -88, -90, -95, -101, -1, 0, 80], np.float32)
        np.testing.assert_array_equal(reactant.jit(np.exp, native=native)(single) == 0, np.exp(single) == 0)
        np.testing.assert_allclose(reactant.jit(np.exp, native=native)(single), np.exp(single), rtol=1e-6, atol=2e-45)


def test_ordinary_exponentials_keep_their_digits():
    x = np.linspace(-700, 700, 1001)
    plain = reactant.jit(np.exp, native="never", denormals=False)
    np.testing.assert_array_equal(reactant.jit(np.exp, native="never")(x), plain(x))


def test_on_demand_they_are_zero():
    x = numbers(np.float64)
    assert not reactant.jit(lambda x: x[:4] > 1e-320, native="never", denormals=False)(x)[2:].any()


def test_jax_is_as_it_was():
    """Neither its programs that run afterwards, nor NumPy in this thread."""
    x = numbers(np.float32, LARGE)
    before = jax.jit(lambda x: (x > 0).sum())(x)
    assert reactant.jit(lambda x: np.count_nonzero(x > 0), native="never")(x) > int(before)
    assert jax.jit(lambda x: (x > 0).sum())(x) == before
    assert np.float64(1e-310) * 0.5 > 0
    assert jnp.float32(1e-40) * 1 == 0


def test_what_computes_with_integers_has_no_call():
    def text(function, *given):
        return reactant.jit(function, native="never").lower(*given).compile().as_text()

    assert "reactant.keep" not in text(lambda x: x[::-1] + 1, np.arange(5))
    assert "reactant.keep" not in text(lambda x: x.T, np.ones((2, 3)))
    assert "reactant.keep" in text(lambda x: x + 1, np.ones(3))


def test_writes_into_arguments_copy_no_more():
    def zeroed(x):
        x[5] = np.sqrt(x[4])

    def copies(**options):
        return reactant.jit(zeroed, native="never", **options).lower(np.ones(LARGE)).compile().as_text().count(" copy(")

    assert copies() == copies(denormals=False)


@pytest.mark.slow
def test_first_calls_from_several_threads():
    """In a process of its own, where XLA's threads have not been set yet."""
    code = """
        import threading
        import numpy as np
        import reactant
        x = np.full(3_000_000, 1e-310)
        def program(shift):
            return lambda x: np.count_nonzero(x > shift)
        compiled = [reactant.jit(program(k * 1e-320), native="never") for k in range(3)]
        found = []
        threads = [threading.Thread(target=lambda f=f: found.append(int(f(x)))) for f in compiled]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert found == [3_000_000] * 3, found
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)


def test_long_sums_of_exponentials_stay_one_operation():
    """XLA's library takes them whole, without comparisons."""
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def comparisons(shape):
        return reactant.jit(softmax, native="never").lower(np.ones(shape)).compile().as_text().count(" compare(")

    assert comparisons((100, 100)) == 0
    assert comparisons((5, 10)) > 0


@pytest.mark.parametrize("native", ["auto", "never", "always"])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_sizes_of_complex_numbers(dtype, native):
    """The size alone, and with parts that native code makes."""
    least = float(np.finfo(dtype).smallest_subnormal)
    z = np.array([3 + 4j, 6 - 8j, 5 + 0j, -12j], dtype) * np.array(least, dtype).real
    x, y = z.real.copy(), z.imag.copy()
    np.testing.assert_array_equal(reactant.jit(np.abs, native=native)(z), np.abs(z))
    np.testing.assert_array_equal(reactant.jit(lambda x, y: np.abs(x + 1j * y), native=native)(x, y), np.abs(z))
