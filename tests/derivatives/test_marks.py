"""What a program says about its own derivative: stop_gradient, checkpoint, custom_derivative."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.array([0.3, 0.7, 1.1])


def test_stop_gradient():
    assert reactant.grad(lambda x: reactant.stop_gradient(x) * x)(3.0) == 3.0
    assert reactant.jvp(lambda x: reactant.stop_gradient(x) * x, (3.0,), (1.0,))[1] == 3.0
    assert reactant.hessian(lambda x: reactant.stop_gradient(x * x) * x * x)(3.0) == 18.0
    tree = reactant.jit(lambda x: reactant.stop_gradient({"a": x, "n": 2}))(X)
    np.testing.assert_array_equal(tree["a"], X)
    assert tree["n"] == 2 and reactant.stop_gradient(X) is X


@reactant.checkpoint
def layer(x, w):
    return np.tanh(x @ w) * np.exp(-x)


def plain(x, w):
    return np.tanh(x @ w) * np.exp(-x)


W = np.random.default_rng(0).standard_normal((3, 3))


@pytest.mark.parametrize("derive", [
    lambda f: f(X, W), lambda f: reactant.grad(f, (0, 1))(X, W), lambda f: reactant.jvp(f, (X, W), (X, W)),
    lambda f: reactant.hessian(f)(X, W), lambda f: reactant.grad(lambda x: np.sum(reactant.grad(f)(x, W) * X))(X),
    lambda f: jax.grad(reactant.jit(f))(jnp.asarray(X), W.astype(np.float32))], ids=range(6))
def test_checkpointed_functions_have_the_derivatives_of_plain_ones(derive):
    def loss(inner):
        def function(x, w):
            for _ in range(3):
                x = inner(x, w) + x
            return np.sum(x * x)
        return function
    jax.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), derive(loss(plain)),
                           derive(loss(layer)))


def test_checkpointed_functions_keep_their_arguments_only():
    def loss(inner):
        def function(x, w):
            for i in range(50):
                x = inner(x, w[i])
            return np.sum(x * x)
        return reactant.grad(reactant.jit(function, native="never"))

    def deep(x, w):
        a = np.tanh(x @ w)
        b = np.sin(a @ w)
        return np.cos(b @ w) * b
    x, w = np.ones((20, 3)) * 0.1, np.random.default_rng(0).standard_normal((50, 3, 3))

    def buffers(gradient):
        text = gradient.lower(x, w).as_text()
        return sum(f"tensor<5{extra}x20x3xf64>" in line and "constant" in line for line in text.splitlines()
                   for extra in "01")
    some, none = loss(reactant.checkpoint(deep)), loss(deep)
    np.testing.assert_allclose(some(x, w), none(x, w), rtol=1e-10, atol=1e-14)
    assert buffers(some) < buffers(none)


def test_checkpointed_functions_may_write_into_arrays():
    @reactant.checkpoint
    def fill(a, x):
        a[1:] = a[:-1] * x[1:]

    def loss(x):
        a = x * x
        fill(a, x)
        return np.sum(a * a)
    assert reactant.check_derivatives(loss, X)
    np.testing.assert_allclose(reactant.jit(loss)(X), loss(X))


def test_loops_without_bounds_in_checkpointed_functions():
    @reactant.checkpoint
    def settle(x):
        while np.sum(x * x) > 0.5:
            x = np.sin(x) * 0.9
        return x
    assert reactant.check_derivatives(lambda x: np.sum(settle(x) * x), X)


# ---- derivatives by the user ---------------------------------------------------------------------------------------

@reactant.custom_derivative
def steep(x):
    return np.sin(x)


@steep.jvp
def steep_tangent(arguments, tangents):
    (x,), (t,) = arguments, tangents
    return np.sin(x), 5 * t * np.cos(x)


@steep.vjp
def steep_cotangent(arguments, outputs, cotangents):
    return (7 * cotangents * np.cos(arguments[0]) + 0 * outputs,)


def test_each_mode_takes_its_rule():
    assert reactant.jvp(steep, (X,), (np.ones(3),))[1] == pytest.approx(5 * np.cos(X))
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(steep(x)))(X), 7 * np.cos(X))
    np.testing.assert_array_equal(steep(X), np.sin(X))
    np.testing.assert_allclose(reactant.jit(steep)(X), np.sin(X))


def test_rules_are_differentiated_for_higher_orders():
    first = reactant.grad(lambda x: np.sum(steep(x)))
    np.testing.assert_allclose(np.diag(reactant.hessian(lambda x: np.sum(steep(x)))(X)), -7 * np.sin(X))
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(first(x)))(X), -7 * np.sin(X))


only_jvp = reactant.custom_derivative(lambda x: np.exp(x), jvp=lambda a, t: (only_jvp(*a), 3 * t[0] * only_jvp(*a)))


def test_a_rule_for_tangents_alone_is_transposed_and_may_use_the_function_itself():
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(only_jvp(x)))(X), 3 * np.exp(X))
    assert reactant.grad(reactant.grad(lambda x: only_jvp(x)))(0.5) == pytest.approx(9 * np.exp(0.5))


def test_structures_integers_and_constants_from_outside():
    table = np.arange(3.0) + 1

    @reactant.custom_derivative
    def scaled(p, n):
        return {"y": p["a"] * table * n, "n": n}

    @scaled.vjp
    def _(arguments, outputs, cotangents):
        p, n = arguments
        return {"a": 2 * cotangents["y"] * table * n, "b": None}, None

    def loss(a, b, n):
        return np.sum(scaled({"a": a, "b": b}, n)["y"])
    for n in (3, np.arange(3)):
        ga, gb = reactant.grad(loss, (0, 1))(X, X.copy(), n)
        np.testing.assert_allclose(ga, 2 * table * n)
        np.testing.assert_array_equal(gb, 0)


def test_in_loops_and_branches():
    def loss(rule):
        def function(x):
            for _i in range(40):
                if x[0] > 0.2:
                    x = rule(x) * 0.9
                else:
                    x = x * 1.1
            return np.sum(x)
        return function
    exact = reactant.custom_derivative(lambda x: np.sin(x), vjp=lambda a, y, g: (g * np.cos(a[0]),))
    np.testing.assert_allclose(reactant.grad(loss(exact))(X), reactant.grad(loss(np.sin))(X))


def test_jax_uses_the_rules():
    compiled = reactant.jit(lambda x: np.sum(steep(x)))
    np.testing.assert_allclose(jax.grad(compiled)(jnp.asarray(X)), 7 * np.cos(X), rtol=1e-5)
    held = reactant.jit(lambda x: np.sum(reactant.stop_gradient(x) * x))
    np.testing.assert_allclose(jax.grad(held)(jnp.asarray(X)), X, rtol=1e-6)


REFUSED = [
    (lambda: reactant.jit(reactant.custom_derivative(lambda x: x))(X), "has no rule yet"),
    (lambda: reactant.jvp(reactant.custom_derivative(lambda x: x, vjp=lambda a, y, g: (g,)), (X,), (X,)),
     "reverse mode only"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: y * x, vjp=lambda a, y, g: (g,))(x)))(X), "uses a traced array from outside"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        np.sin, vjp=lambda a, y, g: g)(x)))(X), "returns a tuple of 1 cotangents"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: np.sin(y), vjp=lambda a, y, g: (g[:2],))(x)))(X), "has shape"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    run, words = REFUSED[number]
    with pytest.raises(reactant.ReactantError, match=words):
        run()


def test_marked_functions_of_constants():
    """A call that is given no traced value is an ordinary one."""
    @reactant.checkpoint
    def layer(y):
        return np.sin(y) * y

    @reactant.custom_derivative
    def ruled(y):
        return y * y
    ruled.jvp(lambda arguments, tangents: (ruled(arguments[0]), 2 * arguments[0] * tangents[0]))

    def loss(x):
        return np.sum(layer(np.ones(3)) * ruled(np.ones(3)) * x)
    np.testing.assert_allclose(reactant.jit(loss)(np.ones(3)), 3 * np.sin(1.0))
    np.testing.assert_allclose(reactant.grad(loss)(np.ones(3)), np.full(3, np.sin(1.0)))
