"""Products that something is added to are rounded first, as NumPy rounds them."""
import numpy as np
import pytest

import reactant

RANDOM = np.random.default_rng(0)
X = np.abs(RANDOM.standard_normal(1000)) + 0.5

FUNCTIONS = {
    "squares": lambda x: x * x,
    "cube": lambda x: x**3,
    "power": lambda x: x**2.5,
    "constant factor": lambda x: x * 0.1,
    "known divisor": lambda x: x / 3.0,
    "degrees": lambda x: np.degrees(x),
    "chain": lambda x: 0.1 * x * 0.7,
    "reversed": lambda x: (x * 0.1)[::-1],
    "transposed": lambda x: (x.reshape(20, 50) * 0.3).T,
    "chosen": lambda x: np.where(x > 1, x * 1.1, x * 1.2),
    "joined": lambda x: np.concatenate([x * 1.1, x]),
    "padded": lambda x: np.pad(x * 1.1, 2),
    "updated": lambda x: updated(x),
    "gathered": lambda x: (x * 1.1)[np.arange(0, 1000, 3)],
    "negated": lambda x: -(x * 1.1),
    "mean": lambda x: np.mean(np.stack([x] * 3), 0),
    "sine": np.sin, "cosine": np.cos, "tangent": np.tan, "exponential": np.exp, "expm1": np.expm1, "logarithm": np.log,
    "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "tanh": np.tanh, "sinh": np.sinh, "arctan": np.arctan,
    "arcsin": lambda x: np.arcsin(x / 10), "cbrt": np.cbrt, "inverse root": lambda x: 1 / np.sqrt(x),
    "hypot": lambda x: np.hypot(x, 2),
}


def updated(x):
    y = x * 1.3
    y[3:40] = x[3:40] * 1.7
    return y


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("native", ["auto", "never"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_equal_things_differ_by_zero(name, native, dtype):
    function, x = FUNCTIONS[name], X.astype(dtype)
    compiled = reactant.jit(lambda x, y: function(x) - function(y), native=native)
    assert not compiled(x, x.copy()).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_what_numpy_computes(dtype):
    """Without a transcendental function the results are NumPy's, bit by bit."""
    def expressions(a, b, c, d):
        return (a * b - c * d, a * b + c, c - a * b, a * b + c * d + a * c, b * b - 4 * a * c, (a * b)[::-1] - c,
                np.where(a > b, a * b, c * d) + d, (a * 0.1 + b * 0.2) - (c * 0.3 + 0.7))

    given = RANDOM.standard_normal((4, 3000)).astype(dtype)
    for native in ("auto", "never"):
        for got, wanted in zip(reactant.jit(expressions, native=native)(*given), expressions(*given), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_in_loops_and_branches():
    def signs(a, b, steps):
        total = np.zeros_like(a)
        for _ in range(steps):
            total += np.sign(a * a - b * b)
            a = a + 1e-3
            b = b + 1e-3
        if a.sum() > 0:
            total = total + (a * b - b * a)
        return total

    assert not reactant.jit(signs, native="never", unroll_limit=0)(X, X.copy(), 50).any()


def test_sums_of_products():
    x = RANDOM.standard_normal((500, 2))
    turned = np.stack([x[:, 1], -x[:, 0]], 1)
    assert not reactant.jit(lambda x, y: (x * y).sum(axis=1), native="never")(x, turned).any()


def test_complex_numbers():
    def parts(z):
        return (z[3] * np.conj(z[3])).imag, z[5] * z[7] - z[7] * z[5]

    z = RANDOM.standard_normal(10) + 1j * RANDOM.standard_normal(10)
    assert [*reactant.jit(parts, native="never")(z)] == [0, 0]


def test_contraction_on_demand():
    def difference(x, y):
        return x * x - y * y

    def multiplications(**options):
        lowered = reactant.jit(difference, native="never", **options).lower(X, 2 * X)
        return lowered.compile().as_text().count("multiply(")

    assert multiplications(allow=("rounding", "contraction")) == 2
    assert multiplications() == 4


def test_exact_products_need_nothing():
    def masked(x, y):
        return x * (y > 1) + y, x - y * -1.0

    assert "constant({1, 1.5})" not in reactant.jit(masked, native="never").lower(X, X.copy()).compile().as_text()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_doubles_overflow_and_halves_are_rounded(dtype):
    def sums(x, y):
        return 2 * x - y, x / 2 + y, x * 4 - x * 3, x * 0.25 - y

    limits = np.finfo(dtype)
    x = np.array([limits.max / 1.5, 3 * limits.smallest_subnormal, -limits.max, limits.tiny * dtype(1.1)], dtype)
    y = np.array([limits.max, limits.smallest_subnormal, 1, limits.tiny / 4], dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for got, wanted in zip(reactant.jit(sums, native="never")(x, y), sums(x, y), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_jax_functions_stay_as_they_are():
    import jax
    import jax.numpy as jnp

    def difference(x, y):
        return jnp.abs(x * x - y * y)

    x = X.astype(np.float32)
    assert jax.jit(difference)(x, x.copy()).any()
    np.testing.assert_array_equal(reactant.jit(difference, native="never")(x, x.copy()),
                                  jax.jit(difference)(x, x.copy()))


def orbit(x, y, vx, vy, iterations):
    """A body around another."""
    for _ in range(iterations):
        square = x * x + y * y
        vx = vx - 0.01 * (x / square)
        vy = vy - 0.01 * (y / square)
        x = x + 0.01 * vx
        y = y + 0.01 * vy
    return x, y, vx, vy


def horner(x, limit):
    total, iterations = x * 0, 0
    while iterations < limit:
        total = total * x + 0.3
        iterations += 1
    return total


def determinants(x, y, iterations):
    """A product of each kind of small loop and branch inside another."""
    found = x * 0
    for iteration in range(iterations):
        difference = x * y - y * x
        if difference > 0:
            found = found + x
        elif difference < 0:
            found = found - y
        while found > 3:
            found = found * 0.3 - 0.1
        x = y * 0.7 + x * 0.4 if x * x > y * y * 1.1 else x * 1.3 - 0.1 * iteration
    return found, x


def short_rows(x, iterations):
    for _ in range(iterations):
        x[1:-1] = x[1:-1] + 0.1 * (x[2:] - 2.1 * x[1:-1] + x[:-2])
    return x


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("native", ["auto", "never", "always"])
@pytest.mark.parametrize(("function", "arguments"), [
    (orbit, (1.0, 0.2, 0.1, 0.9, 50)), (horner, (0.77, 40.0)), (determinants, (0.9, 1.3, 60)),
    (short_rows, (X[:5], 40)), (short_rows, (X, 40))], ids=lambda value: getattr(value, "__name__", None))
def test_it_is_what_numpy_computes_in_loops(function, arguments, native, dtype):
    """XLA compiles small loops as one kernel, whose constants LLVM knows."""
    given = [a if isinstance(a, int) else np.array(a, dtype)[()] for a in arguments]
    wanted = function(*[np.copy(a)[()] if not isinstance(a, int) else a for a in given])
    got = reactant.jit(function, native=native)(*given)
    np.testing.assert_array_equal(np.array(got), np.array(wanted))
