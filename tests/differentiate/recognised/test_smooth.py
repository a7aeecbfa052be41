"""log(exp a + exp b) has all its derivatives where a = b, however it is computed."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.array([[0.5, -1.0], [2.0, 0.3], [-0.7, 0.9]])
TABLE = np.linspace(-1.0, 1.0, 3)

FORMS = {
    "logistic_loss": lambda w: np.sum(np.logaddexp(0, -(X @ w))),
    "constant": lambda w: np.sum(np.logaddexp(X @ w + 1.5, 1.5)),
    "negated": lambda w: np.sum(np.logaddexp(0.5, 0.5 - X @ w)),
    "two": lambda w: np.sum(np.logaddexp(X @ w, 2 * (X @ w)) * TABLE),
    "elements": lambda w: np.logaddexp(w[0], w[1]) * 3,
    "log_cosh": lambda w: np.sum(np.logaddexp(X @ w, -(X @ w))),
    "by_hand": lambda w: np.sum(np.maximum(X @ w, 0) + np.log1p(np.exp(-np.abs(X @ w)))),
    "base_2": lambda w: np.sum(np.logaddexp2(X @ w, w.sum())),
    "softplus": lambda w: jnp.sum(jax.nn.softplus(X @ w)),
    "log_sigmoid": lambda w: jnp.sum(jax.nn.log_sigmoid(X @ w)),
    "in_a_loop": lambda w: jax.lax.fori_loop(0, 3, lambda i, s: s + jnp.logaddexp(s, s + jnp.asarray(X)[i] @ w),
                                             0.5 * w.sum()),
    "so_far": lambda w: jnp.sum(jax.lax.cumlogsumexp(jnp.asarray(X @ w)) * TABLE),
    "masked": lambda w: np.sum(np.where(w > -1, np.logaddexp(w, 0), 0) ** 2),
}


def by_differences(f, w, h=1e-4):
    steps = h * np.eye(len(w))
    value = lambda *ds: float(f(w + sum(ds)))          # noqa: E731
    gradient = np.array([value(d) - value(-d) for d in steps]) / (2 * h)
    return gradient, np.array([[value(a, b) - value(a, -b) - value(-a, b) + value(-a, -b) for a in steps]
                               for b in steps]) / (4 * h * h)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FORMS)
def test_ties(name):
    f = FORMS[name]
    w = np.zeros(2)
    with jax.enable_x64(True):
        gradient, matrix = by_differences(f, w)
        np.testing.assert_allclose(reactant.grad(f)(w), gradient, atol=1e-6)
        np.testing.assert_allclose(reactant.hessian(f)(w), matrix, atol=1e-5)
        reverse = reactant.jacobian(reactant.grad(f), mode="reverse")
        np.testing.assert_allclose(reverse(w), matrix, atol=1e-5)


def test_third_order_and_infinities():
    f = lambda x: np.logaddexp(x, 0.0)                 # noqa: E731
    third = reactant.grad(reactant.grad(reactant.grad(reactant.grad(f))))
    np.testing.assert_allclose(third(0.0), -0.125)
    gradient = reactant.grad(lambda x: np.sum(np.logaddexp(x, np.array([np.inf, -np.inf, 0.0]))))
    np.testing.assert_array_equal(gradient(np.array([np.inf, -np.inf, -np.inf])), [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(np.logaddexp([np.inf, -np.inf, 1], [np.inf, -np.inf, -np.inf]),
                                  reactant.jit(lambda x, y: np.logaddexp(x, y))(np.array([np.inf, -np.inf, 1]),
                                                                                np.array([np.inf, -np.inf, -np.inf])))


def test_what_only_looks_like_it():
    """Another difference in the tail: the kinks are there."""
    f = lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x - 1)))          # noqa: E731
    np.testing.assert_allclose(reactant.grad(f)(1.0), 1.0)
    np.testing.assert_allclose(reactant.grad(f)(2.0), 1 - 1 / (1 + np.e))
    g = lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(2 * x)))          # noqa: E731
    np.testing.assert_allclose(reactant.grad(g)(1.0), 1 - 2 / (1 + np.e ** 2))


def test_no_marks_are_left():
    operations = reactant.value_and_grad(FORMS["logistic_loss"]).lower(np.zeros(2)).operations()
    assert "stablehlo.optimization_barrier" not in operations
