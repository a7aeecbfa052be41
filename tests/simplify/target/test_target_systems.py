"""Tridiagonal systems and long Toeplitz products on a CPU, by XLA."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

GROUND = np.random.default_rng(0)
N = 40
LOW, MIDDLE, UP, B = (GROUND.normal(size=n) for n in (N - 1, N, N - 1, N))


def matrix(low, middle, up):
    return jnp.diag(middle) + jnp.diag(up, 1) + jnp.diag(low, -1)


PROGRAMS = {
    "tridiagonal": lambda low, middle, up, b: jnp.linalg.solve(matrix(low, middle, up), b),
    "columns": lambda low, middle, up, b: jnp.linalg.solve(matrix(low, middle, up), jnp.stack([b, 2 * b, b - 1], 1)),
    "symmetric": lambda low, middle, up, b: jnp.linalg.solve(matrix(low, middle, low), b),
    "bidiagonal": lambda low, middle, up, b: jnp.linalg.solve(jnp.diag(middle) + jnp.diag(up, 1) + jnp.diag(up, -1), b),
    "implicit step": lambda low, middle, up, b: jnp.linalg.solve(
        jnp.eye(N) * 3 - 0.1 * (jnp.eye(N, k=1) + jnp.eye(N, k=-1)) * middle[0], b),
    "masked": lambda low, middle, up, b: jnp.linalg.solve(jnp.triu(jnp.tril(jnp.outer(b, middle), 1), -1), b),
    "inverse": lambda low, middle, up, b: jnp.linalg.inv(matrix(low, middle, up)),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("pivots", [False, True])
def test_tridiagonal_systems(name, pivots):
    middle = MIDDLE / 50 if pivots else MIDDLE + 4 * np.sign(MIDDLE)    # small diagonals need exchanged rows
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(PROGRAMS[name])(LOW, middle, UP, B))
        compiled = reactant.jit(PROGRAMS[name], frontend="jax", target="cpu")
        text = compiled.lower(LOW, middle, UP, B).as_text()
        found = np.asarray(compiled(LOW, middle, UP, B))
    assert ("gtsv" in text) != ("getrf" in text) and "gtsv" in text
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * abs(expected).max())


@pytest.mark.slow
def test_gradients_go_through_the_system():
    def loss(low, middle, up, b):
        return jnp.sum(jnp.linalg.solve(matrix(low, middle, up), b) ** 2)

    middle = MIDDLE + 4 * np.sign(MIDDLE)
    with jax.enable_x64(True):
        expected = jax.jit(jax.grad(loss, (0, 1, 2, 3)))(LOW, middle, UP, B)
        compiled = reactant.grad(reactant.jit(loss, frontend="jax"), argnums=(0, 1, 2, 3))
        for ours, theirs in zip(compiled(LOW, middle, UP, B), expected, strict=True):
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("place", ["low", "middle", "up", "b"])
def test_what_is_not_finite_is_nan(place):
    arguments = {"low": LOW, "middle": MIDDLE + 9, "up": UP, "b": B}
    arguments[place] = arguments[place].copy()
    arguments[place][20] = np.inf
    with jax.enable_x64(True):
        found = np.asarray(reactant.jit(PROGRAMS["tridiagonal"], frontend="jax", target="cpu")(*arguments.values()))
    assert np.isnan(found).all()


def test_singular_systems_are_not_solved():
    with jax.enable_x64(True):
        solve = reactant.jit(PROGRAMS["tridiagonal"], frontend="jax", target="cpu")
        found = np.asarray(solve(0 * LOW, np.where(np.arange(N) == 7, 0, MIDDLE), UP, B))
    assert not np.isfinite(found).all()


def test_a_long_toeplitz_product_is_a_convolution():
    i, j = jnp.arange(700)[:, None], jnp.arange(700)[None, :]

    def product(c, x):
        return c[i - j + 699] @ x

    c, x = GROUND.normal(size=1399), GROUND.normal(size=700)
    with jax.enable_x64(True):
        compiled = reactant.jit(product, frontend="jax", target="cpu")
        text, found = compiled.lower(c, x).as_text(), np.asarray(compiled(c, x))
        expected = np.asarray(jax.jit(product)(c, x))
    assert "stablehlo.convolution" in text and "gather" not in text
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


CLASS_SUMS = {
    "means of clusters": lambda i, x: (h := jax.nn.one_hot(i, 30, dtype=x.dtype)).T @ x / (1 + h.sum(0))[:, None],
    "columns": lambda i, x: jnp.einsum("nd,nk->dk", x, jax.nn.one_hot(i, 30, dtype=x.dtype)),
    "of batches": lambda i, x: jnp.einsum("bnk,bnd->kbd", jax.nn.one_hot(i.reshape(4, -1), 30, dtype=x.dtype),
                                          x.reshape(4, -1, x.shape[1])),
    "over batches": lambda i, x: jnp.einsum("bnk,bnd->kd", jax.nn.one_hot(i.reshape(4, -1), 30, dtype=x.dtype),
                                            x.reshape(4, -1, x.shape[1])),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", CLASS_SUMS)
@pytest.mark.parametrize("bad", [None, np.inf, np.nan])
def test_class_sums_keep_what_is_not_finite(name, bad):
    places, x = GROUND.integers(-3, 32, 1600), GROUND.normal(size=(1600, 9))
    x[:, 2] = -0.0
    if bad is not None:
        x[5, 3] = x[700, 7] = bad
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(CLASS_SUMS[name])(places, x))
        compiled = reactant.jit(CLASS_SUMS[name], frontend="jax", target="cpu")
        assert "stablehlo.scatter" in compiled.lower(places, x).as_text()
        found = np.asarray(compiled(places, x))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0]))


ORDERS = {
    "from the right": (lambda x, y, u: (x @ y) @ u, "chain_from_the_right_if_finite"),
    "from the left": (lambda x, y, u: u @ (x @ y), "chain_from_the_left_if_finite"),
    "summed": (lambda x, y, u: jnp.sum(x @ y, 0), "sum_of_products_if_finite"),
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("bad", [None, np.inf, np.nan])
def test_products_in_another_order_keep_what_is_not_finite(name, bad):
    function, rule = ORDERS[name]
    x, y, u = (GROUND.normal(size=shape) for shape in ((128, 128), (128, 128), 128))
    y[3, 5] = u[7] = 0.0
    if bad is not None:
        x[2, 3], y[90, 17] = bad, bad
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(x, y, u))
        compiled = reactant.jit(function, frontend="jax", target="cpu")
        fired = dict(compiled.lower(x, y, u).report.counts())
        found = np.asarray(compiled(x, y, u))
    assert rule in fired and "chain_from_the_right" not in fired
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


COMPLEX = {
    "both": (lambda x, y: x @ y, 4), "hermitian": (lambda x, y: x @ x.conj().T, 4),
    "real left": (lambda x, y: x.real @ y, 2), "real right": (lambda x, y: x @ y.imag.astype(y.dtype), 2),
}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("bad", [None, np.inf, np.nan, 3e200])
def test_products_of_complex_matrices_are_of_real_ones_where_they_are_finite(name, bad):
    function, products = COMPLEX[name]
    x, y = (GROUND.normal(size=shape) + 1j * GROUND.normal(size=shape) for shape in ((150, 90), (90, 140)))
    if bad is not None:
        x[2, 3], y[17, 90] = bad, bad * 1j
        x[5, 17] = bad - bad * 1j
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(x, y))
        compiled = reactant.jit(function, frontend="jax", target="cpu", native="never")
        found, text = np.asarray(compiled(x, y)), compiled.lower(x, y).as_text()
    assert text.count("stablehlo.dot_general") == products + 1      # the one is for what is not finite
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shapes", [((64, 64), (64, 64)), ((2000, 700), (700,)), ((4, 128, 128), (4, 128, 128))])
def test_other_complex_products_stay(shapes):
    x, y = (np.ones(shape, np.complex64) for shape in shapes)
    assert reactant.jit(jnp.matmul, target="cpu").lower(x, y).operations()["stablehlo.dot_general"] == 1
