"""Derivatives of JAX functions that call Python at run time: JAX takes them, `reactant.jit` compiles them."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import reactant

X = jnp.linspace(0.2, 1.0, 5)


def on_host(of, x):
    return jax.pure_callback(of, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")


@jax.custom_jvp
def sine(x):
    return on_host(np.sin, x)


@jax.custom_jvp
def cosine(x):
    return on_host(np.cos, x)


sine.defjvp(lambda x, t: (sine(*x), cosine(*x) * t[0]))
cosine.defjvp(lambda x, t: (cosine(*x), -sine(*x) * t[0]))


def ruled(x):
    return jnp.sum(sine(x) * x ** 2)


def stopped(x):
    return jnp.sum(on_host(np.exp, jax.lax.stop_gradient(x)) * x ** 3)


def in_a_loop(x):
    return jax.lax.fori_loop(0, 3, lambda i, c: sine(c) + i * c, x).sum()


def printing(x):
    jax.debug.callback(lambda v: None, x[0])
    return jnp.sum(jnp.sin(x) * x)


def agree(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found, expected)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(found))


@pytest.mark.slow
@pytest.mark.parametrize("f", [ruled, stopped, in_a_loop, printing])
def test_every_derivative(f):
    slope = jax.grad(f)(X)
    agree(reactant.value_and_grad(f)(X), jax.value_and_grad(f)(X))
    agree(reactant.jit(reactant.grad(f))(X), slope)
    agree(jax.jit(reactant.grad(f))(X), slope)
    agree(reactant.vjp(f, X)[1](2.0), (2 * slope,))
    agree(reactant.linearize(f, X)[1](X), slope @ X)
    if f is in_a_loop:
        return
    agree(reactant.jvp(f, (X,), (2 * X,)), jax.jvp(f, (X,), (2 * X,)))
    if f is not stopped:                            # JAX has no second derivative of a call without a rule
        agree(reactant.hessian(f)(X), jax.hessian(f)(X))
        agree(reactant.hvp(f, (X,), (X,)), jax.hessian(f)(X) @ X)
    nested, theirs = ((lambda x, by=by: jnp.sum(by(f)(x) * x)) for by in (reactant.grad, jax.grad))
    agree(reactant.grad(nested)(X), jax.grad(theirs)(X))
    agree(reactant.vmap(reactant.grad(f))(jnp.stack([X, 2 * X])), jax.vmap(jax.grad(f))(jnp.stack([X, 2 * X])))


def test_compiled_functions():
    compiled = reactant.jit(ruled)
    for scale in (1.0, 2.0):
        agree(reactant.jvp(compiled, (scale * X,), (X,)), jax.jvp(ruled, (scale * X,), (X,)))
        agree(reactant.vjp(compiled, scale * X)[1](1.0), (jax.grad(ruled)(scale * X),))
        agree(reactant.linearize(compiled, scale * X)[1](X), jax.grad(ruled)(scale * X) @ X)


@pytest.mark.slow
def test_trees_and_constants():
    def loss(p, name, power, scale):
        assert name == "text"
        return {"loss": jnp.sum(sine(p["a"]) ** power) * scale + p["b"][1], "number": jnp.sum(p["a"] > 0)}, p["a"]

    def plain(p):
        found, aux = loss(p, "text", 2, 3.0)
        return found["loss"], aux

    p = {"b": (jnp.ones(2), 0.5), "a": X}
    gradient = reactant.grad(lambda *a: plain(*a), has_aux=True)
    agree(gradient(p), jax.grad(plain, has_aux=True)(p))
    (outputs, pull, aux), (slope, _) = reactant.vjp(loss, p, "text", 2, 3.0, argnums=0, has_aux=True), gradient(p)
    agree((aux, outputs["number"]), (X, 5))
    agree(pull({"loss": 1.0, "number": None}), slope)
    by_name = reactant.jacobian(loss, argnames=["p", "scale"], has_aux=True)
    with pytest.raises(TypeError, match="returns others, too"):
        by_name(p, "text", 2, scale=3.0)
    found, _ = reactant.jacobian(lambda p, scale: (sine(p["a"]) * scale, 0), argnames=["p", "scale"],
                                 has_aux=True)({"a": X, "none": None}, scale=2.0)
    agree(found["p"]["a"], np.diag(2 * np.cos(X)))
    agree(found["scale"], jnp.sin(X))
    assert found["p"]["none"] is None


def test_effects_are_kept():
    seen = []

    def written(x):
        return jnp.sum(io_callback(np.sin, x, x) * x)

    def noisy(x):
        jax.debug.callback(lambda v: seen.append(float(v)), x[0])
        return jnp.sum(x ** 2)

    gradient = reactant.grad(noisy)
    for start in (1.0, 2.0):
        agree(gradient(X + start), 2 * (X + start))
    jax.effects_barrier()
    np.testing.assert_allclose(seen, [1.2, 2.2], rtol=1e-6)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):          # JAX's own words
        reactant.grad(written)(X)


def test_errors_of_the_host_reach_the_caller():
    def check(v):
        if np.any(v < 0):
            raise ValueError("negative input")
        return v

    def loss(x):
        return jnp.sum(jnp.sqrt(x + 0 * on_host(check, jax.lax.stop_gradient(x))))

    gradient = reactant.grad(loss)
    agree(gradient(X), jax.grad(loss)(X))
    with pytest.raises(jax.errors.JaxRuntimeError, match="negative input"):
        jax.block_until_ready(gradient(-X))


def test_what_is_said():
    assert "differentiated: by JAX. The JAX function 'ruled' cannot be differentiated by reactant: the program calls " \
           "Python at run time" in str(reactant.explain(reactant.grad(ruled), X))
    assert "has effects (Debug)" in str(reactant.explain(reactant.grad(printing), X))
    with pytest.raises(TypeError, match="returns one real number; 'sine' returns"):
        reactant.grad(sine)(X)
    with pytest.raises(reactant.ReactantError, match="A cotangent has shape"):
        reactant.vjp(sine, X)[1](X[:2])


def test_inside_numpy_functions_it_is_refused():
    def double(x):
        return 2 * reactant.grad(ruled)(x)

    with pytest.raises(reactant.UnsupportedError, match='or compile with frontend="jax"'):
        reactant.jit(double)(X)
    agree(reactant.jit(double, frontend="jax")(X), 2 * jax.grad(ruled)(X))
