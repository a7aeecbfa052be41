"""`jacobian` and `hessian`: dense ones, all columns at once."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError

X = np.linspace(0.1, 1.0, 6)
PARTS = {"w": np.arange(6.0).reshape(2, 3) / 3, "c": np.linspace(0.2, 1, 3)}


def several(parts, y):
    return {"a": parts["w"] @ y, "b": (parts["c"] ** 2).sum() * y}


def scalar(parts, y):
    return ((parts["w"] @ y) ** 3).sum() + (parts["c"] ** 2 * y[0]).sum()


def same(mine, theirs):
    jax.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), mine, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_trees(mode, argnums):
    mine = reactant.jacobian(several, argnums, mode=mode)(PARTS, X[:3])
    with jax.enable_x64(True):
        same(mine, jax.jacrev(several, argnums)(PARTS, jnp.asarray(X[:3])))


@pytest.mark.slow
@pytest.mark.parametrize("argnums", [0, (0, 1)])
def test_hessians_of_trees(argnums):
    with jax.enable_x64(True):
        same(reactant.hessian(scalar, argnums)(PARTS, X[:3]), jax.hessian(scalar, argnums)(PARTS, jnp.asarray(X[:3])))


def stepped(x):
    x = x + 0.0
    for _ in range(12):
        x = x + 0.1 * np.sin(x * x[::-1])
    return x


def conditional(x):
    y = x.copy()
    if x.sum() > 0.5:
        y[1] = x[2] ** 2 * x[0]
    return np.sort(y) @ np.ones((6, 2))


FUNCTIONS = [stepped, conditional, np.cumprod, lambda x: np.linalg.inv(np.outer(x, x) + np.eye(6)),
             lambda x: x.reshape(2, 3)[:, np.array([2, 0, 0])]]


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_both_modes_agree_with_products(function):
    forward, reverse = (reactant.jacobian(function, mode=mode)(X) for mode in ("forward", "reverse"))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-12)
    direction = np.random.default_rng(0).standard_normal(6)
    moved = reactant.jvp(function, (X,), (direction,))[1]
    np.testing.assert_allclose(forward @ direction, moved, rtol=1e-9, atol=1e-12)


def loops(jacobian, *arguments):
    return jacobian.lower(*arguments).as_text().count("stablehlo.while")


def test_there_is_no_loop_over_columns():
    def smooth(x):
        return np.tanh(x[1:] * x[:-1]).cumsum()
    for mode in ("forward", "reverse"):
        assert loops(reactant.jacobian(smooth, mode=mode), X) == 0
    assert loops(reactant.hessian(lambda x: smooth(x).sum()), X) == 0

    def iterations(x, n):
        for i in range(n):
            x = np.sin(x) * x[i % 6]
        return x
    assert loops(reactant.jacobian(iterations, mode="forward"), X, 100) == 1


def test_constants_are_computed_once():
    """What does not depend on the direction keeps its size: one tanh over 40 elements, none over 40 x 40."""
    text = reactant.jacobian(lambda x: np.tanh(np.sin(x)), mode="forward").lower(np.zeros(40)).as_text()
    assert "tanh" in text and not any("tanh" in line and "40x40" in line for line in text.splitlines())


def test_inside_compiled_functions_and_under_grad():
    def total(x):
        return reactant.jacobian(lambda y: y * y[::-1])(x).sum()
    expected = 2 * X.sum()
    assert reactant.jit(total)(X) == pytest.approx(expected)
    np.testing.assert_allclose(reactant.grad(lambda x: reactant.jacobian(np.sin)(x).sum())(X), -np.sin(X))
    third = reactant.jacobian(reactant.hessian(lambda x: (x ** 4).sum()))(X[:3])
    np.testing.assert_allclose(np.einsum("iii->i", third), 24 * X[:3])
    assert np.count_nonzero(third) == 3


def test_numbers_and_empty_arrays():
    assert reactant.jacobian(lambda x: x * x)(3.0) == 6
    assert reactant.hessian(lambda x: x ** 3)(2.0) == 12
    assert reactant.jacobian(lambda x: np.array([x, 2 * x]))(1.0).tolist() == [1, 2]
    assert reactant.jacobian(np.sin)(np.zeros(0)).shape == (0, 0)
    assert reactant.jacobian(lambda x: x[:0])(X).shape == (0, 6)
    assert reactant.jacobian(lambda x: x.astype(np.float32))(X).dtype == np.float32


def test_arguments_that_are_written():
    def advance(u):
        u[1:] += 0.5 * u[:-1]
    result, (matrix,) = reactant.jacobian(advance)(X.copy())
    assert result is None
    np.testing.assert_allclose(matrix, np.eye(6) + 0.5 * np.eye(6, k=-1))


@pytest.mark.parametrize("run, error, text", [
    (lambda: reactant.jacobian(np.sin, mode="both"), ValueError, "mode='both'"),
    (lambda: reactant.jacobian(lambda x: x > 0)(X), TypeError, "returns bool"),
    (lambda: reactant.jacobian(np.sin)(X * 1j), TypeError, "is given complex128"),
    (lambda: reactant.jacobian(lambda x: x * 1j)(X), TypeError, "returns complex128"),
    (lambda: reactant.jacobian(lambda x: (x, "name"))(X), UnsupportedError, "returns 'name'"),
    (lambda: reactant.jacobian(3), TypeError, "not of int"),
    (lambda: reactant.hessian(np.sin)(X), TypeError, "one real number"),
])
def test_errors(run, error, text):
    with pytest.raises(error, match=text):
        run()
