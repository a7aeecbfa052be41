"""What may be among the arguments of a derivative, what else a function may return, and arguments by name."""
import dataclasses
from collections import namedtuple

import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.arange(3.0)


class Network:
    def __init__(self):
        self.weight, self.iterations, self.activation = np.full((3, 2), 0.3), 2, np.tanh
        self.name, self.rate, self.sizes, self.bias = "network", 0.5, [3, 2], None

    def loss(self, x):
        for _ in range(self.iterations):
            x = self.activation(x @ self.weight) @ self.weight.T
        return np.sum(x * self.rate)


@dataclasses.dataclass
class Settings:
    rate: float
    steps: int = 3
    name: str = "x"


State = namedtuple("State", "u mask")


def loss(network, x):
    return network.loss(x)


@pytest.mark.slow
def test_constant_parts_have_no_derivative():
    network, x = Network(), np.ones((4, 3))
    gradient = reactant.grad(loss)(network, x)
    assert type(gradient) is Network and gradient.sizes == [None, None]
    assert gradient.name is gradient.activation is gradient.iterations is gradient.bias is None
    step = 1e-6
    moved = Network()
    moved.weight = network.weight + step
    np.testing.assert_allclose(gradient.weight.sum() * step, moved.loss(x) - network.loss(x), rtol=1e-4)
    _, along = reactant.jvp(loss, (network, x), (gradient, None))
    _, pull = reactant.vjp(loss, network, x, argnums=0)
    _, push = reactant.linearize(loss, network, x, argnums=0)
    wanted = np.sum(gradient.weight ** 2) + gradient.rate ** 2
    np.testing.assert_allclose([along, push(gradient)], wanted)
    np.testing.assert_allclose(pull(1.0).weight, gradient.weight)
    assert reactant.grad(lambda s, x: s.rate ** s.steps * x)(Settings(2.0), 1.5).rate == 18.0
    found = reactant.value_and_grad(lambda s: np.sum(s.u ** 2))(State(X, None))[1]
    assert found.mask is None and np.array_equal(found.u, 2 * X)
    block = reactant.jacobian(lambda s: s.u * 2)(State(X, None))
    assert block.mask is None and np.array_equal(block.u, 2 * np.eye(3))


@pytest.mark.parametrize("argument", [{"w": X, "n": 3}, [X, np.arange(3)], (X, True), "name", None, 3])
def test_whole_numbers_among_arrays_raise(argument):
    with pytest.raises(TypeError, match="has no derivative"):
        reactant.grad(lambda p: np.sum(X))(argument)


def test_a_missing_tangent_is_zero():
    assert reactant.jvp(lambda p: p["a"] * p["b"], ({"a": 2.0, "b": 3.0},), ({"a": None, "b": 1.0},))[1] == 2.0


def test_a_missing_tree_of_cotangents_is_zero():
    def parts(x):
        return {"square": x * x, "name": "x"}, np.sum(x)

    for gradient, in inside_and_outside(lambda x: reactant.vjp(parts, x)[1]((None, 2.0))):
        np.testing.assert_array_equal(gradient, np.full(3, 2.0))


def with_more(x, k=2.0):
    return x ** 2 * k, {"sum": np.sum(x), "nothing": None, "shape": x.shape}


def check_aux(aux):
    assert aux["sum"] == 3.0 and aux["nothing"] is None and aux["shape"] == (3,)


def inside_and_outside(derive):
    """What a derivative gives as a program of its own, and as part of one."""
    yield derive(X)
    yield reactant.jit(derive)(X)


def test_aux_beside_products():
    for value, moved, aux in inside_and_outside(lambda x: reactant.jvp(with_more, (x,), (x,), has_aux=True, k=3.0)):
        np.testing.assert_allclose([value, moved], [3 * X ** 2, 6 * X ** 2])
        check_aux(aux)

    def pulled(x):
        value, pull, aux = reactant.vjp(with_more, x, has_aux=True)
        return value, pull(x)[0], aux

    def pushed(x):
        value, push, aux = reactant.linearize(with_more, x, has_aux=True)
        return value, push(x), aux

    for derive in (pulled, pushed):
        for value, moved, aux in inside_and_outside(derive):
            np.testing.assert_allclose([value, moved], [2 * X ** 2, 4 * X ** 2])
            check_aux(aux)


def test_aux_beside_matrices():
    for matrix, aux in inside_and_outside(lambda x: reactant.jacobian(with_more, has_aux=True)(x)):
        np.testing.assert_allclose(matrix, np.diag(4 * X))
        check_aux(aux)

    def energy(x, y):
        return np.sum(x ** 2 * y), x[0] + 1

    for matrix, aux in inside_and_outside(lambda x: reactant.hessian(energy, has_aux=True)(x, 2.0)):
        np.testing.assert_allclose(matrix, 4 * np.eye(3))
        assert aux == 1.0
    product, aux = reactant.hvp(energy, (X, 2.0), (np.ones(3), None), has_aux=True)
    np.testing.assert_allclose(product, 4 * np.ones(3))
    assert aux == 1.0


def test_aux_of_functions_that_write_and_of_jax():
    def doubling(x):
        x *= 2
        return np.sum(x), x[1]

    (value, (final,)), pull, aux = reactant.vjp(doubling, X, has_aux=True)
    assert value == 6.0 and aux == 2.0 and np.array_equal(final, 2 * X)
    np.testing.assert_allclose(pull((1.0, (None,)))[0], 2 * np.ones(3))
    value, moved, aux = reactant.jvp(lambda x: (jnp.sin(x), {"x": x}), (X,), (X,), has_aux=True)
    np.testing.assert_allclose(moved, X * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(aux["x"], X)
    for derive in (reactant.vjp, reactant.linearize):
        with pytest.raises(TypeError, match="has_aux=True needs"):
            derive(lambda x: x, X, has_aux=True)


def test_matrices_in_arguments_by_name():
    def f(x, *, scale):
        return x ** 2 * scale

    np.testing.assert_allclose(reactant.jacobian(f, argnames="scale")(X, scale=2.0), X ** 2)
    both = reactant.jacobian(f, argnames=["scale", "x"])(X, scale=2.0)
    np.testing.assert_allclose(both["x"], np.diag(4 * X))
    np.testing.assert_allclose(both["scale"], X ** 2)
    second = reactant.hessian(lambda x, scale: np.sum(f(x, scale=scale)), argnames=("x", "scale"))(X, scale=2.0)
    np.testing.assert_allclose(second["x"]["scale"], 2 * X)
    assert second["scale"]["scale"] == 0.0
    with pytest.raises(TypeError, match="not both"):
        reactant.jacobian(f, 0, argnames="scale")
    with pytest.raises(TypeError, match="sparse"):
        reactant.jacobian(f, argnames="scale", sparse=True)
    np.testing.assert_allclose(reactant.hvp(lambda x, scale: np.sum(f(x, scale=scale)), (X,), (X,), scale=3.0), 6 * X)


def with_history(x):
    state = {"u": x.copy(), "history": []}
    for _ in range(4):
        if np.sum(state["u"]) > 0:
            state["u"][::2] *= 1.5
        else:
            state["u"][1::2] += x[1::2] ** 2
        state["history"].append(np.max(state["u"]))
    return sum(state["history"])


class Part:
    pass


def with_objects(x):
    whole = Part()
    whole.u, whole.sides, whole.inner = x.copy(), [x[0], x[1]], Part()
    whole.inner.total = np.sum(x)
    for i in range(9):
        if whole.u[i % 3] > 1:
            whole.inner.total *= 0.9
            whole.u[0] -= 1
            whole.sides[0] = whole.u[1]
        else:
            whole.sides[1] = whole.sides[1] + whole.inner.total
            whole.u = whole.u + 0.2
    return whole.inner.total + whole.sides[0] * whole.sides[1]


@pytest.mark.slow
@pytest.mark.parametrize("function", [with_history, with_objects])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_the_function_makes_may_be_changed_in_branches(function, sign):
    x = sign * np.array([0.5, 1.2, -0.3])
    assert reactant.check_derivatives(function, x)
    np.testing.assert_allclose(reactant.value_and_grad(function)(x)[0], function(x))


def weighted(p):
    return np.sum(np.sin(p["w"]) * p["v"] ** 2)


def named_parts(p):
    return {"sum": weighted(p), "parts": [p["v"] * 2, p["w"]]}


def test_keys_say_what_belongs_together():
    """Not the order in which dictionaries were filled: `jax.tree.map` gives them back sorted."""
    given = {"w": np.arange(3.0), "v": np.arange(3.0) + 1}
    other = {"v": np.full(3, 0.5), "w": np.array([1.0, 2.0, 3.0])}
    same = {"w": other["w"], "v": other["v"]}
    expected = reactant.jvp(weighted, (given,), (same,))[1]
    moved = np.sum(np.cos(given["w"]) * same["w"] * given["v"] ** 2 + 2 * np.sin(given["w"]) * given["v"] * same["v"])
    np.testing.assert_allclose(expected, moved)
    np.testing.assert_allclose(reactant.jvp(weighted, (given,), (other,))[1], expected)
    np.testing.assert_allclose(reactant.linearize(weighted, given)[1](other), expected)
    hessian = [reactant.hvp(weighted, (given,), (t,)) for t in (same, other)]
    for key in given:
        np.testing.assert_allclose(hessian[0][key], hessian[1][key])
    pull = reactant.vjp(named_parts, given)[1]
    one, = pull({"sum": 1.0, "parts": [np.ones(3), np.zeros(3)]})
    two, = pull({"parts": [np.ones(3), np.zeros(3)], "sum": 1.0})
    np.testing.assert_allclose(one["v"], 2 * np.sin(given["w"]) * given["v"] + 2)
    for key in given:
        np.testing.assert_array_equal(one[key], two[key])
    with pytest.raises(reactant.ReactantError, match=r"keys \['w', 'x'\]"):
        reactant.jvp(weighted, (given,), ({"w": other["w"], "x": other["v"]},))
    with pytest.raises(reactant.ReactantError, match="list is given for a dictionary"):
        reactant.jvp(weighted, (given,), ([other["v"], other["w"]],))
