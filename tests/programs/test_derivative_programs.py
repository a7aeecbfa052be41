"""What other systems get wrong or slow, right: loops of JAX in 32 bits, loops on data, nested gradients, and the gain
of differentiating after simplification."""
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shallow_water_adjoint
from jax import lax

import reactant


def fori(x):
    return lax.fori_loop(0, 5, lambda i, v: jnp.sin(v) * x + i, x).sum()


def scan(x):
    last, seen = lax.scan(lambda c, a: (jnp.tanh(c * a) + c, c ** 2), x[0], x)
    return last + seen.sum()


def scan_of_pairs(x):
    def iteration(carry, row):
        a, b = carry
        return (jnp.cos(a) * row, b + a * row), {"a": a, "row": row * b}
    carry, seen = lax.scan(iteration, (x, x * 2), jnp.stack([x, x + 1, x * x]))
    return carry[0].sum() + (carry[1] * seen["a"][1]).sum() + seen["row"].sum()


def cumulated(x):
    return (jnp.cumprod(x) * jnp.cumsum(x) + lax.cummax(x) * lax.cumlogsumexp(x)).sum()


def sorted_(x):
    return (jnp.sort(x) * jnp.arange(6.0)).sum() + jnp.median(x * x)


def hyperbolic(x):
    return (jnp.arccosh(x + 2) * jnp.arctanh(x / 3) + jnp.arcsinh(x)).sum()


def factored(x):
    a = jnp.outer(x, x) + 3 * jnp.eye(6)
    return (jnp.linalg.cholesky(a) ** 3).sum() + jnp.linalg.solve(a, x).sum()


def complex_parts(x):
    z = jnp.exp(1j * x) * (x + 2j)
    return (jnp.abs(jnp.fft.fft(z)) ** 2 * jnp.arange(6)).sum() + (z * z.conj()).real.sum()


def nested(x):
    return jax.grad(lambda y: (jax.grad(lambda z: jnp.sum(jnp.sin(z) * z ** 2))(y) * y).sum())(x).sum()


PEERS = (fori, scan, scan_of_pairs, cumulated, sorted_, hyperbolic, factored, complex_parts, nested)
X = np.array([0.7, 0.3, 1.1, 0.5, 0.9, 0.2], np.float32)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function", PEERS, ids=lambda f: f.__name__)
def test_jax_functions_in_32_bits(function):
    expected = jax.grad(function)(jnp.asarray(X))
    found = reactant.grad(function)(jnp.asarray(X))
    assert isinstance(found, jax.Array) and found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4 * float(np.abs(expected).max()))


@pytest.mark.slow
def test_while_loops_of_jax_that_jax_refuses():
    def settle(x):
        return lax.while_loop(lambda v: jnp.sum(v * v) > 0.1, lambda v: jnp.sin(v) * 0.9, x).sum()
    with pytest.raises(ValueError, match="[Rr]everse-mode"):
        jax.grad(settle)(jnp.asarray(X))
    np.testing.assert_allclose(reactant.grad(settle)(jnp.asarray(X)), jax.jacfwd(settle)(jnp.asarray(X)), rtol=1e-4)


# ---- the order matters ---------------------------------------------------------------------------------------------

def normalize(x):
    """Every element divided by a norm that is computed again for each: O(n^2) as it is written."""
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] / np.sqrt(np.sum(x * x))
    return np.sum(out ** 3)


def test_normalize_differentiates_to_order_n():
    """Nothing is summed in a loop any more."""
    gradient = reactant.grad(normalize)
    flops = []
    for n in (512, 1024, 2048):
        lowered = gradient.lower(np.ones(n))
        flops.append(lowered.cost()["flops"])
    assert flops[2] < 2.2 * flops[1] < 4.84 * flops[0] and flops[2] < 100 * 2048
    x = np.linspace(0.1, 1.0, 40)
    norm = np.sqrt(np.sum(x * x))
    np.testing.assert_allclose(gradient(x), 3 * x ** 2 / norm ** 3 - 3 * x * np.sum(x ** 3) / norm ** 5)


def diagonal_product(v, a):
    """A diagonal matrix that is made by assignment, times a matrix."""
    d = np.zeros((len(v), len(v)))
    i = np.arange(len(v))
    d[i, i] = v
    return np.sum((d @ a) ** 2)


def test_the_gradient_of_a_diagonal_product_has_no_gather_and_no_product():
    v, a = np.linspace(1, 2, 64), np.random.default_rng(0).standard_normal((64, 64))
    gradient = reactant.grad(diagonal_product)
    found = Counter(gradient.lower(v, a).operations())
    assert not {"stablehlo.gather", "stablehlo.scatter", "stablehlo.dot_general"} & set(found)
    np.testing.assert_allclose(gradient(v, a), 2 * v * np.sum(a * a, axis=1))


@pytest.mark.slow
def test_updates_of_slices_in_place_cost_the_slice_in_reverse_too():
    """Nothing in the reverse loop is as large as the array: neither an operation nor a buffer."""
    def filled(x, n):
        y = np.zeros(n)
        for i in range(1, n // 4):
            y[4 * i:4 * i + 4] = np.sin(y[4 * i - 4:4 * i]) * x + 0.1
        return np.sum(y * y)
    gradient = reactant.grad(reactant.jit(filled, native="never"))
    small, large = (gradient.lower(np.ones(4), n).cost()["bytes"] for n in (10_000, 40_000))
    assert large < 4.2 * small and large < 600 * 40_000        # a copy an iteration would be 10,000 * 8 * 40,000
    x = np.linspace(0.5, 1.0, 4)
    assert reactant.check_derivatives(lambda v: filled(v, 400), x)


# ---- the shallow-water adjoint -------------------------------------------------------------------------------------

@pytest.mark.slow
def test_the_shallow_water_benchmark_runs():
    rows = shallow_water_adjoint.main(["--tiny"])
    assert [row["program"] for row in rows] == ["primal", "every step kept", "sqrt", "budget 40kB"]
    assert rows[2]["megabytes"] < 0.7 * rows[1]["megabytes"]
    function, arguments = shallow_water_adjoint.make(12, "float64")
    assert reactant.check_derivatives(function, *arguments, 30, argnums=(0, 1, 2))
