"""What stands for a function is copied and pickled as functions are."""
import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.arange(1.0, 4.0)


def doubled(x):
    return x * 2


def cubes(x):
    return (x**3).sum()


def of_jax(x):
    return jnp.sin(x) * 2


@reactant.jit
def decorated(x, n=3):
    return x + n


class Model:
    def __init__(self, weight):
        self.weight = np.full(3, weight)
        self.step = reactant.jit(self.stepped)
        self.slope = reactant.grad(cubes)

    def stepped(self, x):
        self.weight += x
        return self.weight.sum()


MADE = {"jit": reactant.jit(doubled), "options": reactant.jit(doubled, check=False),
        "grad": reactant.grad(cubes), "value_and_grad": reactant.value_and_grad(cubes, has_aux=False),
        "jacobian": reactant.jacobian(doubled, mode="reverse"), "hessian": reactant.hessian(cubes),
        "sparse": reactant.jacobian(doubled, sparse="dense"), "vmap": reactant.vmap(cubes, 0),
        "of a derivative": reactant.jit(reactant.grad(cubes)), "jax": reactant.jit(of_jax),
        "vmap of jax": reactant.vmap(of_jax)}


@pytest.mark.parametrize("name", MADE)
def test_pickled_and_copied(name):
    made = MADE[name]
    at = np.stack([X, X]) if name == "vmap" else X
    wanted = made(at)
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made)
    for one, other in zip(wanted, again(at), strict=True):
        np.testing.assert_array_equal(one, other)
    assert copy.copy(made) is made and copy.deepcopy(made) is made


def test_decorated_functions_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_copies_of_objects_have_methods_of_their_own():
    one = Model(1.0)
    one.step(X)
    other = copy.deepcopy(one)
    assert other.step(X) == 3 + 2 * X.sum() and one.weight.sum() == 3 + X.sum()
    assert other.slope is one.slope
    third = pickle.loads(pickle.dumps(other))
    assert third.step(X) == 3 + 3 * X.sum() and other.weight.sum() == 3 + 2 * X.sum()


def test_what_pickle_cannot_find_is_said():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(reactant.jit(lambda x: x + 1))
