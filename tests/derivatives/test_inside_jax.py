"""Derivatives of ours inside JAX functions that we differentiate, map or compile."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = jnp.linspace(0.2, 1.0, 5)


@reactant.jit
def loop(x):
    out = x.copy()
    for i in range(1, len(x)):
        out[i] = np.sin(out[i]) * out[i - 1] + out[i]
    return out


stopped = reactant.jit(lambda x: reactant.stop_gradient(x) * x)


def network(p, x):
    return jnp.sum(p["outer"] * jnp.tanh(p["inner"] * x))


def residual(by):
    """The loss of a physics-informed network: derivatives in x, of a function that closes over its parameters."""
    def loss(p):
        slope = by(lambda x: network(p, x))
        return jnp.mean(jax.vmap(lambda x: (by(slope)(x) + network(p, x)) ** 2)(X))
    return loss, {"inner": 1.3 * X, "outer": jnp.cos(X)}


def pulled(of):
    def loss(x):
        return jnp.sum(jnp.sin(of(lambda y: y * x * x, x)[1](x)[0]))
    return loss, X


def stopping(by):
    def loss(x):
        return jnp.sum(by(lambda y: jnp.sum(jax.lax.stop_gradient(y) * y * y))(x) * x)
    return loss, X


PROGRAMS = [(residual, reactant.grad, jax.grad), (pulled, reactant.vjp, jax.vjp), (stopping, reactant.grad, jax.grad)]


@pytest.mark.slow
@pytest.mark.parametrize("make, ours, theirs", PROGRAMS, ids=lambda f: getattr(f, "__name__", ""))
def test_derivatives_of_ours_in_jax_functions(make, ours, theirs):
    mine, argument = make(ours)
    expected = jax.grad(make(theirs)[0])(argument)
    for found in (reactant.grad(mine)(argument), jax.jit(jax.grad(mine))(argument)):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5), found, expected)


@pytest.mark.slow
def test_numpy_functions_in_jax_functions():
    def loss(x):
        return jnp.sum(jnp.sin(loop(x)))

    np.testing.assert_allclose(reactant.grad(loss)(X), jax.grad(loss)(X), rtol=1e-4)
    found = reactant.grad(lambda x: jnp.sum(jnp.sin(stopped(x))))(X)         # the mark is not lost on the way
    np.testing.assert_allclose(found, jnp.cos(X * X) * X, rtol=1e-5)


def test_what_jax_traces_is_in_no_cache():
    scale = [X]
    gradient = reactant.grad(lambda y: jnp.sum(y ** 2 * scale[0]))

    def scaled(x):
        scale[0] = x
        return gradient(x)

    np.testing.assert_allclose(jax.jit(scaled)(X), 2 * X * X, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda x: scaled(2 * x))(X), 8 * X * X, rtol=1e-6)
    scale[0] = X
    np.testing.assert_allclose(gradient(X), 2 * X * X, rtol=1e-6)


def test_derivatives_in_compiled_functions_are_part_of_the_program():
    """What `native` and other options say holds for them, too; they are simplified with what is around them."""
    table = jnp.asarray(np.random.default_rng(1).standard_normal((64, 64)), jnp.float32)

    def loss(x):
        return jnp.sum(jnp.sin(table * x[:, None]) ** 2.5)

    x = jnp.ones(64)
    with_calls = reactant.jit(reactant.grad(loss), native="always").lower(x).compile()
    without = reactant.jit(reactant.grad(loss), native="never").lower(x)
    assert "reactant.native" in with_calls.as_text() and "reactant.native" not in without.as_text()
    twice = reactant.jit(lambda x: reactant.grad(loss)(x) - reactant.grad(loss)(x), native="never").lower(x).as_text()
    assert twice.count("stablehlo.cosine") <= 1


@pytest.mark.slow
def test_calls_that_name_functions_keep_them():
    """XLA's approximate top_k names its comparator: without it XLA ends the process."""
    def largest(a):
        return jax.lax.approx_max_k(a, 2, reduction_dimension=0)[0]

    a = jnp.sin(jnp.arange(12.0)).reshape(4, 3)
    wanted = jax.grad(lambda a: jnp.sum(largest(a) ** 2))(a)
    loaded = reactant.load(jax.jit(largest).lower(a).as_text())
    for function in (largest, loaded):
        total = reactant.jit(lambda a, function=function: np.sum(function(a) ** 2))
        np.testing.assert_allclose(total(a), jnp.sum(largest(a) ** 2), rtol=1e-6)
        np.testing.assert_allclose(reactant.grad(total)(a), wanted, rtol=1e-6)
        np.testing.assert_allclose(reactant.jvp(total, (a,), (a,))[1], jnp.sum(wanted * a), rtol=1e-5)
        assert np.isfinite(reactant.hessian(total)(a)).all()


def raised(x, i):
    return x.at[i].multiply(3.0)[i]


def squares(y):
    return jnp.sum(y * y)


def by_helpers(x, i):
    return squares(raised(x, i))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("of", [reactant.grad, reactant.jacobian, reactant.hessian, reactant.value_and_grad])
def test_a_function_that_only_what_it_calls_tells_to_be_of_jax(of):
    """It is JAX's from its first line on, as for `jit`: `raised` loads nothing of JAX, and is not NumPy's."""
    theirs = {reactant.grad: jax.grad, reactant.jacobian: jax.jacobian, reactant.hessian: jax.hessian,
              reactant.value_and_grad: jax.value_and_grad}[of]
    places = jnp.array([0, 3])
    for a, b in zip(jax.tree.leaves(of(by_helpers)(X, places)), jax.tree.leaves(theirs(by_helpers)(X, places)),
                    strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
