"""JAX programs that call Python at run time: simplified around the calls, which run as often as `jax.jit` runs them."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4)), jnp.float32)


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def test_a_program_is_simplified_around_its_calls():
    def f(x):
        y = jax.pure_callback(lambda a: np.sin(a) * 2, like(x), x)
        both = jax.pure_callback(lambda a: (a + 1, a.sum()), (like(x), jax.ShapeDtypeStruct((), x.dtype)), y)
        return x @ x.T + (x @ x.T).T, y, both

    compiled = reactant.jit(f)
    assert compiled.lower(X).operations()["stablehlo.dot_general"] == 1
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), compiled(X), jax.jit(f)(X))
    assert compiled.reasons == []


def test_calls_run_where_they_stand():
    """A call that raises may be all that a branch does; one in a loop runs in each iteration, or in none."""
    iterations = []

    def note(a):
        iterations.append(float(a.sum()))
        if a.sum() > 100:
            raise ValueError("too much")
        return np.ones(3)                       # float64, which jax takes for float32 here

    def told(x):
        return jax.pure_callback(note, jax.ShapeDtypeStruct((3,), jnp.float32), x)

    @reactant.jit
    def guarded(x, n):
        x = jax.lax.cond(x.sum() > 50, told, lambda x: x * 2, x)
        return jax.lax.fori_loop(0, n, lambda i, c: c + told(jnp.full(3, 200.0)), x)

    np.testing.assert_array_equal(guarded(jnp.ones(3), 0), 2 * np.ones(3))
    assert not iterations
    np.testing.assert_array_equal(guarded(jnp.full(3, 20.0), 0), np.ones(3))
    assert iterations == [60]
    with pytest.raises(jax.errors.JaxRuntimeError, match="too much"):
        jax.block_until_ready(guarded(jnp.ones(3), 2))

    counted = reactant.jit(lambda x: jax.lax.fori_loop(0, 4, lambda i, c: c + told(c), x))
    iterations.clear()
    np.testing.assert_array_equal(counted(jnp.zeros(3)), 4 * np.ones(3))
    assert iterations == [0, 3, 6, 9]


def test_calls_of_several_programs_in_one():
    inner = reactant.jit(lambda x: jax.pure_callback(lambda a: a * 3, like(x), x) + 1)

    @jax.jit
    def outer(x):
        first = jax.pure_callback(lambda a: a - 7, like(x), x)
        return first, inner(x), inner(first), jax.pure_callback(lambda a: a * 100, like(x), x)

    for got, want in zip(outer(X), (X - 7, 3 * X + 1, 3 * (X - 7) + 1, 100 * X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_effects_are_left_to_jax(capfd):
    f = reactant.jit(lambda x: (jax.debug.print("sum {}", x.sum()), jnp.sin(x))[1])
    f(jnp.ones(3))
    jax.effects_barrier()
    assert "sum 3.0" in capfd.readouterr().out and "effects" in f.reasons[0]


def test_a_program_of_its_own_cannot_take_calls_along():
    f = reactant.jit(lambda x: jax.pure_callback(np.sin, like(x), x))
    with pytest.raises(reactant.ReactantError, match="calls Python at run time"):
        reactant.export(f, X)
