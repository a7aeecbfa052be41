"""Compiled NumPy functions in JAX programs: `jax.jit`, `jax.vmap`, and the derivatives that JAX takes of them."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reactant

S = np.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], np.float32)


@reactant.jit
def numpy_function(x, y):
    total = np.zeros_like(x)
    for i in range(3):
        total[i] = np.sin(x[i]) * y
    return total, x.sum() * y


def same_in_jax(x, y):
    return jnp.sin(x[:3]) * y, x.sum() * y


Y = jnp.array([2.0, 3.0, 4.0])


@pytest.mark.parametrize("transformation, y", [
    (lambda f: jax.jit(f), Y[0]), (lambda f: jax.vmap(f, in_axes=(0, None)), Y[0]), (lambda f: jax.vmap(f), Y),
    (lambda f: jax.vmap(f, (1, 0)), Y), (lambda f: jax.vmap(f, (None, 0), out_axes=(1, 0)), Y),
    (lambda f: jax.jit(jax.vmap(f)), Y), (lambda f: jax.vmap(jax.vmap(f, (None, 0)), (0, None)), Y),
    (lambda f: lambda x, y: lax.map(lambda v: f(*v), (x, y)), Y), (lambda f: jax.checkpoint(jax.vmap(f)), Y)])
def test_numpy_functions_in_jax_transformations(transformation, y):
    x = jnp.asarray(S)
    for a, b in zip(transformation(same_in_jax)(x, y), transformation(numpy_function)(x, y), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_vmap_over_nothing_and_of_writing_functions():
    assert jax.vmap(reactant.jit(lambda x: np.sin(x)))(jnp.zeros((0, 2))).shape == (0, 2)

    def writes(x):
        x[0] = 1
        return x
    with pytest.raises(reactant.ReactantError, match="cannot be part of a jax.jit program"):
        jax.vmap(reactant.jit(writes))(jnp.ones((2, 2)))


@reactant.jit
def curve(x, k):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = np.sin(x[i]) * k + x[0] * x[i]
    return out


def same_curve(x, k):
    return jnp.sin(x) * k + x[0] * x


CURVE_AT, CURVE_SCALE, ROWS = jnp.array([0.1, 0.2, 0.3]), jnp.float32(2), jnp.asarray(S)
DERIVATIVES = {
    "grad": lambda f, x, k: jax.grad(lambda v, w: f(v, w).sum(), (0, 1))(x, k),
    "jvp": lambda f, x, k: jax.jvp(f, (x, k), (x, k)),
    "jvp of one": lambda f, x, k: jax.jvp(lambda v: f(v, k), (x,), (x,)),
    "vjp": lambda f, x, k: jax.vjp(f, x, k)[1](x),
    "linearize": lambda f, x, k: jax.linearize(f, x, k)[1](x, k),
    "jacfwd": lambda f, x, k: jax.jacfwd(f)(x, k),
    "jacrev": lambda f, x, k: jax.jacrev(f, 1)(x, k),
    "jit of jacrev": lambda f, x, k: jax.jit(jax.jacrev(f))(x, k),
    "hessian": lambda f, x, k: jax.hessian(lambda v: f(v, k).sum())(x),
    "reverse over reverse": lambda f, x, k: jax.jacrev(jax.jacrev(lambda v: f(v, k)))(x),
    "third": lambda f, x, k: jax.grad(lambda a: jax.grad(lambda b: jax.grad(lambda c: f(x * c, k).sum())(b))(a))(1.5),
    "vmap of grad": lambda f, x, k: jax.vmap(jax.grad(lambda v: f(v, k).sum()))(ROWS),
    "grad of vmap": lambda f, x, k: jax.grad(lambda v: jax.vmap(f, (0, None))(v, k).sum())(ROWS),
    "checkpoint": lambda f, x, k: jax.grad(lambda v: jax.checkpoint(f)(v, k).sum())(x),
    "in scan": lambda f, x, k: jax.grad(lambda v: lax.scan(lambda c, _: (f(c, k), 0), v, length=3)[0].sum())(x),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_jax_derivatives_of_numpy_functions(name):
    expected, got = (DERIVATIVES[name](f, CURVE_AT, CURVE_SCALE) for f in (same_curve, curve))
    jax.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5), expected, got)


@pytest.mark.slow
def test_jax_derivatives_of_complex_and_mixed_functions(x64):
    def formula(z, n):
        return z * (2j + 1) * z.conj() ** 2 + z, n + 1
    ours = reactant.jit(formula)
    z, n = jnp.array([1 + 2j, 3.0 - 1j]), jnp.arange(2)
    for derivative in (lambda f: jax.grad(lambda v: jnp.abs(f(v, n)[0]).sum())(z),
                       lambda f: jax.jvp(lambda v: f(v, n)[0], (z,), (z,))[1],
                       lambda f: jax.value_and_grad(lambda v: (f(v, n)[0].real.sum(), f(v, n)[1]), has_aux=True)(z)):
        jax.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(b, a, rtol=1e-5), derivative(formula),
                               derivative(ours))


@pytest.mark.slow
def test_jax_derivatives_at_python_numbers(x64):
    cube = reactant.jit(lambda x: np.power(x, 3))
    for derivative in (jax.grad(cube), jax.jit(jax.grad(cube)), jax.jacfwd(cube),
                       lambda x: jax.jvp(cube, (x,), (1.0,))[1]):
        found = derivative(2.0)
        assert found == 12 and found.dtype == (np.float64 if x64 else np.float32)
    assert jax.hessian(cube)(2.0) == 12 and jax.grad(cube)(np.float32(2)).dtype == np.float32


def test_what_has_no_derivative_says_so():
    ours = reactant.jit(lambda a: np.frexp(a)[0])
    with pytest.raises(reactant.UnsupportedError, match="(?s)JAX cannot differentiate.*jax.custom_jvp"):
        jax.grad(lambda a: ours(a).sum())(jnp.asarray(S))


def test_jax_derivatives_where_the_user_gives_them():
    @jax.custom_jvp
    def with_derivative(x):
        return curve(x, 1.0)

    @with_derivative.defjvp
    def _(primals, tangents):
        return curve(primals[0], 1.0), 5 * tangents[0]
    x = jnp.arange(3.0)
    np.testing.assert_allclose(jax.grad(lambda v: with_derivative(v).sum())(x), np.full(3, 5.0))
    np.testing.assert_allclose(jax.grad(lambda v: (v * curve(lax.stop_gradient(v), 1.0)).sum())(x), np.sin(x), 1e-6)


@reactant.jit
def product(matrix, vector):
    out = np.zeros_like(vector)
    for i in range(len(vector)):
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]
    return out


@pytest.mark.slow
def test_jax_transposes_of_linear_functions():
    b = jnp.arange(1.0, 4)
    np.testing.assert_allclose(jax.linear_transpose(lambda v: product(S, v), b)(b)[0], S.T @ b, rtol=1e-6)
    np.testing.assert_allclose(jax.linear_transpose(lambda m: product(m, b), S)(b)[0], jnp.outer(b, b), rtol=1e-6)

    def solved(times):
        return jax.grad(lambda m, b: jax.scipy.sparse.linalg.gmres(lambda v: times(m, v), b)[0][0], (0, 1))
    for found, wanted in zip(solved(product)(jnp.asarray(S), b), solved(jnp.matmul)(jnp.asarray(S), b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert np.isnan(jax.linear_transpose(reactant.jit(lambda x: np.sin(x)), b)(b)[0]).all()       # not linear


def test_vmap_has_no_loop():
    def layer(x, w):
        return np.tanh(w @ x).sum()

    mapped = jax.jit(jax.vmap(reactant.jit(layer), in_axes=(0, None)))
    text = mapped.lower(jnp.ones((8, 3)), jnp.ones((2, 3))).as_text()
    assert "stablehlo.while" not in text and "stablehlo.dot_general" in text


@pytest.mark.slow
def test_numbers_of_jax_are_numbers():
    """Kernels take them as such, and they may be bound anew in place: as JAX's arrays do not change, nobody sees it."""
    cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda")

    @cuda.jit
    def scaled(a, x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = a * x[i] ** 2

    @reactant.jit
    def f(a, x):
        a += 1
        out = np.empty_like(x)
        scaled[1, 32](a, x, out)
        return np.sum(out)

    x = jnp.arange(3.0)
    for a in (2.0, jnp.asarray(2.0)):
        slopes = jax.jit(jax.grad(f, (0, 1)))(a, x)
        np.testing.assert_allclose(slopes[0], 5)
        np.testing.assert_allclose(slopes[1], 6 * np.arange(3.0))
    assert f(jnp.asarray(2.0), x) == 15 and jax.vmap(f, (0, None))(jnp.arange(2.0), x).tolist() == [5, 10]


@pytest.mark.slow
def test_inside_shard_map():
    """What differs along an axis of the mesh has a type of its own, and what does not, a sum of cotangents."""
    def ours(x, w):
        return np.tanh(x @ w) * x.sum()

    def theirs(x, w):
        return jnp.tanh(x @ w) * x.sum()

    compiled, mesh = reactant.jit(ours), jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    x, w = np.arange(12.0).reshape(4, 3) / 7, np.arange(6.0).reshape(3, 2) - 2

    def gradients(function):
        parts = jax.shard_map(function, mesh=mesh, in_specs=(jax.P("i"), jax.P()), out_specs=jax.P("i"))
        total = jax.shard_map(lambda x: jax.lax.psum(function(x, w).sum(), "i"), mesh=mesh, in_specs=jax.P("i"),
                              out_specs=jax.P())
        each = jax.shard_map(jax.vmap(function, (0, None)), mesh=mesh, in_specs=(jax.P("i"), jax.P()),
                             out_specs=jax.P("i"))
        loss = lambda x, w: (parts(x, w) ** 2).sum() + each(x[:, None], w).sum()  # noqa: E731
        return [jax.jit(jax.grad(loss, (0, 1)))(x, w), jax.grad(total)(x), jax.jvp(jax.grad(loss), (x, w), (x, w)),
                jax.jvp(parts, (x, w), (x, w))]
    with jax.enable_x64(True):
        for one, other in zip(jax.tree.leaves(gradients(compiled)), jax.tree.leaves(gradients(theirs)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="native code is the CPU's")
@pytest.mark.parametrize("derived", [
    lambda f: jax.grad(lambda x: f(x).sum()), lambda f: lambda x: jax.jvp(f, (x,), (x,))[1],
    lambda f: jax.vmap(f, 1)])
def test_what_jax_makes_of_a_function_has_native_code_as_the_function_has(derived):
    """A recurrence: a loop of XLA's takes a hundred times as long."""
    @reactant.jit
    def running(x):
        out = x.copy()
        for i in range(1, len(x)):
            out[i] = 0.5 * out[i - 1] + np.sin(out[i])
        return out

    x = jnp.asarray(np.random.default_rng(0).standard_normal((3000, 8)))
    made = jax.jit(derived(running)).lower(x).compile()
    assert "reactant" in made.as_text() and " while(" not in made.as_text()

    def by_jax(x):
        step = lambda last, own: (both := 0.5 * last + jnp.sin(own), both)       # noqa: E731
        return jnp.concatenate([x[:1], lax.scan(step, x[0], x[1:])[1]])

    np.testing.assert_allclose(made(x), derived(by_jax)(x), rtol=1e-5, atol=1e-5)


def test_value_and_gradient_of_a_number_are_one_program(x64):
    """Not the value in one, and once more with the gradient in another; also batched, twice, and of what is masked."""
    @reactant.jit
    def loss(x, y):
        return (np.sin(x) * y).sum() * 0.5

    def by_jax(x, y):
        return (jnp.sin(x) * y).sum() * 0.5

    x = jnp.linspace(0.0, 1.0, 5)
    y = 2.0 * x + 1.0
    text = jax.jit(jax.value_and_grad(loss, argnums=(0, 1))).lower(x, y).as_text()
    assert text.count("stablehlo.sine") == 1 and text.count("stablehlo.cosine") == 1
    for of in (lambda f: jax.value_and_grad(f, argnums=(0, 1)), lambda f: jax.jit(jax.hessian(f)),
               lambda f: jax.grad(lambda x, y: 3.0 * f(x, y) ** 2),
               lambda f: jax.vmap(jax.grad(lambda x, y: f(x[None], y)), (0, None)),
               lambda f: jax.grad(lambda x, y: jnp.where(x[0] > 5, f(x, y), 0.0)),
               lambda f: lambda x, y: jax.grad(f, argnums=1)(x, 2.0)):       # of two dtypes where JAX has 32 bits
        for a, b in zip(jax.tree.leaves(of(loss)(x, y)), jax.tree.leaves(of(by_jax)(x, y)), strict=True):
            assert a.dtype == b.dtype and a.weak_type == b.weak_type
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)
