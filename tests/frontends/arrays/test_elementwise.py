"""Every ufunc on every dtype: values at the edges, the sign of zeros, and accuracy in units of the last place."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.frontends.arrays.elementwise import LOOPS
from tests.frontends.numpy import samples

UFUNCS = {u.__name__: u for u in (getattr(np, n) for n in dir(np)) if isinstance(u, np.ufunc) and u.signature is None
          and u is not np.isnat}
UNSIGNED_ZERO = {"maximum", "minimum", "fmax", "fmin"}     # which of two equal zeros wins differs between CPUs
NEXT_OF_ZERO = {"nextafter"}
INACCURATE_IN_NUMPY = {"log1p": "FD"}       # NumPy takes log(hypot(1 + x, y)); ours is right near zero
POWERS_OF_INFINITY = {"power", "float_power"}    # of complex numbers: the C library's table is not followed


def operands(ufunc: np.ufunc, dtype: str) -> tuple[np.ndarray, ...]:
    if ufunc.nin == 1:
        return (samples.edges(dtype),)
    x, y = samples.pairs(dtype)
    kind = np.dtype(dtype).kind
    if ufunc is np.ldexp:
        return x, np.clip(np.nan_to_num(y.real.astype(float)), -100, 100).astype(np.int32)
    if ufunc is np.power and kind == "i":
        return x[y >= 0], y[y >= 0]
    if ufunc.__name__ in POWERS_OF_INFINITY and kind == "c":
        keep = np.isfinite(x) & np.isfinite(y) & (x != 0) & (abs(y) < 40)
        return x[keep], y[keep]
    return x, y


def units_apart(expected: np.ndarray, found: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Distance of finite results in units of the last place of `scale`; infinite where only one is finite."""
    both = np.isfinite(expected) & np.isfinite(found)
    same = (expected == found) | (np.isnan(expected) & np.isnan(found))
    size = np.abs(np.where(np.isfinite(scale), scale, 1)).astype(expected.dtype)
    size = np.clip(size, np.finfo(size.dtype).smallest_normal * 2, np.finfo(size.dtype).max / 2)
    apart = np.abs(np.where(both, expected, 0) - np.where(both, found, 0)) / np.spacing(size)
    return np.where(same, 0, np.where(both, apart, np.inf))


def assert_close(name: str, dtype: str, given: tuple, expected: np.ndarray, found: np.ndarray) -> None:
    assert expected.dtype == found.dtype, f"{name} of {dtype}: {expected.dtype} against {found.dtype}"
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} of {dtype}")
        return
    complex_ = expected.dtype.kind == "c"
    parts = [(expected.real, found.real), (expected.imag, found.imag)] if complex_ else [(expected, found)]
    limit = 8 if name not in POWERS_OF_INFINITY | {"logaddexp2"} else 100
    for a, b in parts:
        with np.errstate(all="ignore"):
            apart = units_apart(a, b, np.maximum(abs(expected.real), abs(expected.imag)) if complex_ else a)
        worst = int(np.argmax(apart))
        assert apart[worst] <= limit, (f"{name} of {dtype} at {[g[worst] for g in given]}: {expected[worst]} against "
                                       f"{found[worst]}, {apart[worst]} units of the last place")


CORNERS = {      # (ufunc, where the sign of a zero or an infinity beside NaN is left open by C99)
    name: lambda z: ~np.isfinite(z) for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh", "exp", "exp2")
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_every_dtype(name):
    ufunc, cases = UFUNCS[name], []
    with np.errstate(all="ignore"):
        for dtype in samples.ALL:
            if dtype in INACCURATE_IN_NUMPY.get(name, ""):
                continue
            given = operands(ufunc, dtype)
            if np.dtype(dtype).kind == "c" and name in CORNERS:
                given = (given[0][~CORNERS[name](given[0])],)
            try:
                cases.append((dtype, given, ufunc(*given)))
            except (TypeError, ValueError) as error:
                with pytest.raises(type(error)):
                    reactant.jit(lambda *g: ufunc(*g))(*given)

    def compute(*flat):
        given = iter(flat)
        return [ufunc(*[next(given) for _ in range(ufunc.nin)]) for _ in cases]
    found = reactant.jit(compute)(*(g for _, given, _ in cases for g in given))
    for (dtype, given, expected), got in zip(cases, found, strict=True):
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, got)), strict=True):
            assert_close(name, dtype, given, a, b)
            if a.dtype.kind == "f" and name not in UNSIGNED_ZERO | NEXT_OF_ZERO:
                zero = a == 0
                np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]), err_msg=f"{name} of {dtype}")


def test_every_ufunc_has_a_loop():
    assert set(UFUNCS.values()) <= set(LOOPS)


RANGES = {
    "exp": (-700, 700), "exp2": (-1000, 1000), "expm1": (-2, 2), "log": (1e-3, 1e3), "log2": (1e-3, 1e3),
    "log10": (1e-3, 1e3), "log1p": (-0.9, 2), "sin": (-1e4, 1e4), "cos": (-1e4, 1e4), "tan": (-100, 100),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-10, 10), "sinh": (-700, 700), "cosh": (-700, 700),
    "tanh": (-20, 20), "arcsinh": (-10, 10), "arccosh": (1, 10), "arctanh": (-1, 1), "sqrt": (0, 1e3), "cbrt": (-9, 9),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_accuracy(dtype):
    random = np.random.default_rng(0)
    given = {}
    for name, (low, high) in RANGES.items():
        low, high = (low, high) if dtype == "d" or abs(high) < 300 else (max(low, -80), min(high, 80))
        given[name] = random.uniform(low, high, 4000).astype(dtype)
    found = reactant.jit(lambda **g: {n: UFUNCS[n](x) for n, x in g.items()})(**given)
    for name, x in given.items():
        truth = UFUNCS[name](x.astype(np.longdouble))
        apart = np.abs(found[name] - truth) / np.spacing(np.abs(truth).astype(dtype))
        assert apart.max() < 7, f"{name}: {apart.max()} units of the last place at {x[np.argmax(apart)]!r}"


@pytest.mark.parametrize("dtype", ["d", "f", "e"])
def test_arctan_of_many(dtype):
    x = np.random.default_rng(0).uniform(-10, 10, 1000).astype(dtype)
    np.testing.assert_allclose(reactant.jit(np.arctan)(x), np.arctan(x), rtol=2e-3 if dtype == "e" else 1e-6)


BESIDE_CONSTANTS = {
    "sum": lambda x: x + 1e16 - 1e16, "difference": lambda x: (x - 1e16) + 1e16, "from": lambda x: 1e16 - (1e16 - x),
    "overflow": lambda x: x * 1e300 * 1e300, "underflow": lambda x: x * 1e-200 * 1e-200,
    "quotient": lambda x: x / 1e200 * 1e-200, "view": lambda x: (x + 1e16)[::-1].reshape(2, 4) - 1e16,
    "negative": lambda x: -(x + 1e16) + 1e16,
}


@pytest.mark.parametrize("name", BESIDE_CONSTANTS)
def test_constants_are_not_merged(name):
    """Left alone, XLA computes x + (1e16 - 1e16) and x * (1e-200 * 1e-200)."""
    f, x = BESIDE_CONSTANTS[name], np.array([1.0, 2.5, 1e-3, 0.1, 0.0, -0.0, 1e300, np.inf])
    with np.errstate(all="ignore"):
        expected = f(x)
    np.testing.assert_array_equal(reactant.jit(f)(x), expected)


def test_integer_power_wraps():
    base = np.arange(-5, 6)
    expected = base ** 63, base ** 41
    found = reactant.jit(lambda x, n: (x ** n, x ** 41))(base, np.full(11, 63))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_negative_integer_power_raises():
    power = reactant.jit(lambda x, n: x ** n)
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        power(np.arange(3), np.array([1, -1, 2]))
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        reactant.jit(lambda x: x ** -2)(np.arange(3))


def test_unknown_ufunc_is_refused():
    from scipy import special
    with pytest.raises(NotImplementedError, match="scipy.special.j0 is not supported in compiled code"):
        reactant.jit(lambda x: special.j0(x))(np.ones(3))
