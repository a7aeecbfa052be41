"""A function changes objects from outside while its derivative is taken: as in plain Python, at each call."""
import numpy as np
import pytest

import reactant
from reactant.errors import StateChangeError

RANDOM = np.random.default_rng(0)
WEIGHTS, X = RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((6, 4))


class Layer:
    def __init__(self):
        self.low, self.calls, self.total, self.seen = np.zeros(3), 0, 0.0, {"last": np.zeros(3)}
        self.parts, self.weights = [np.zeros(3), np.zeros(2)], None

    def loss(self, weights, x):
        y = np.tanh(x @ weights)
        self.low = np.minimum(self.low, y)
        self.calls += 1
        self.total = self.total + y.sum()
        self.seen["last"] = 2.0 * y
        self.parts = [y, y[1:]]
        self.weights = weights
        return np.sum(y**2)


def gradient(weights, x):
    y = np.tanh(x @ weights)
    return np.outer(x, 2.0 * y * (1.0 - y * y))


def same(one, other):
    assert (one.calls, list(one.seen)) == (other.calls, list(other.seen))
    for a, b in ((one.low, other.low), (one.total, other.total), (one.seen["last"], other.seen["last"]),
                 (one.parts[0], other.parts[0]), (one.parts[1], other.parts[1])):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def by_grad(layer, weights, x):
    return reactant.value_and_grad(layer.loss)(weights, x)


def by_jvp(layer, weights, x):
    value, _ = reactant.jvp(layer.loss, (weights, x), (weights, x))
    return value, None


def by_vjp(layer, weights, x):
    value, pullback = reactant.vjp(layer.loss, weights, x)
    return value, pullback(1.0)[0]


@pytest.mark.parametrize("way", [by_grad, pytest.param(by_jvp, marks=pytest.mark.slow),
                                 pytest.param(by_vjp, marks=pytest.mark.slow)])
def test_each_call_changes_the_object(way):
    ours, plain, compiled = Layer(), Layer(), reactant.jit(way)
    for x in X[:3]:
        weights = WEIGHTS.copy()
        value, slope = compiled(ours, weights, x)
        assert value == pytest.approx(plain.loss(WEIGHTS, x), rel=1e-13)
        if slope is not None:
            np.testing.assert_allclose(slope, gradient(WEIGHTS, x), rtol=1e-12)
        same(ours, plain)
        assert np.shares_memory(*ours.parts) and ours.weights is weights


def descend(layer, weights, x):
    losses = np.zeros(len(x))
    for i in range(len(x)):
        losses[i], slope = reactant.value_and_grad(layer.loss)(weights, x[i])
        weights -= 0.1 * slope
    return losses


def test_each_iteration_of_a_loop_changes_the_object():
    ours, plain, mine, weights = Layer(), Layer(), WEIGHTS.copy(), WEIGHTS.copy()
    ours.weights = mine
    losses = reactant.jit(descend)(ours, mine, X)
    for i, x in enumerate(X):
        assert losses[i] == pytest.approx(plain.loss(weights, x), rel=1e-12)
        weights -= 0.1 * gradient(weights, x)
    np.testing.assert_allclose(mine, weights, rtol=1e-12)
    same(ours, plain)


def kept_view(box, x):
    box["view"] = x[1:]
    return np.sum(x**2)


def kept_and_returned(box, x):
    y = x * 2.0
    box["y"] = y
    return np.sum(y), y


def kept_list(box, parts):
    box["parts"] = parts
    return np.sum(parts[0])


@pytest.mark.parametrize("function, argument, words", [
    (kept_view, np.ones(3), "a view of one"), (kept_and_returned, np.ones(3), "both returns"),
    (kept_list, [np.ones(3)], "of its arguments"),
])
def test_what_would_be_another_array_is_refused(function, argument, words):
    def outer(box, x):
        return reactant.grad(lambda y: function(box, y), has_aux=function is kept_and_returned)(x)
    with pytest.raises(reactant.ReactantError, match=words):
        reactant.jit(outer)({}, argument)


def test_outside_of_compiled_functions_it_would_happen_once():
    layer = Layer()
    with pytest.raises(StateChangeError, match="Layer.*a new value"):
        reactant.grad(layer.loss)(WEIGHTS, X[0])
    assert layer.calls == 0 and not layer.low.any()


def test_functions_with_rules_of_their_own_change_nothing():
    def noted(box):
        def square(x):
            box["twice"] = 2.0 * x
            return x * x
        rule = reactant.custom_derivative(square, jvp=lambda primals, tangents: (primals[0] ** 2, tangents[0]))
        return lambda x: np.sum(rule(x))
    with pytest.raises(reactant.UnsupportedError, match="a derivative of its own and writes .* or changes lists"):
        reactant.jit(lambda box, x: reactant.grad(noted(box))(x))({}, np.ones(3))
