"""Zero times an infinite slope: zero where a choice makes it so, else no number, in both modes and orders."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant


def products(function, x):
    """(forward, reverse) of first order, then of second."""
    gradient = reactant.grad(function)
    return (reactant.jvp(function, (x,), (1.0,))[1], gradient(x), reactant.jvp(gradient, (x,), (1.0,))[1],
            reactant.grad(gradient)(x))


CHOSEN = {                                                      # of a number x = 0; derivatives are 0
    "where": lambda x: np.where(x > 0, np.sqrt(x), 0.0),
    "masked_then_used": lambda x: np.tanh(np.where(x > 0, np.sin(np.log(x)) * np.sqrt(x), 3.0)) * 2,
    "negative": lambda x: np.where(x > 1, np.tanh(np.log(x - 1)) * np.log(x - 1), 0.0),
    "entropy": lambda x: np.where(x > 0, x * np.log(x), 0.0),
    "entropy_written_first": lambda x: -np.where(x == 0, 0.0, x * np.log(x)),
    "product_with_a_mask": lambda x: (x > 0) * np.sqrt(x),
    "constant_mask": lambda x: np.sum(np.array([0.0, 1.0]) * np.sqrt(np.stack([x, x + 1.0]))) - 0.5 * x + x * x / 8,
    "maximum": lambda x: np.maximum(np.sqrt(x), 1.0),
    "clip": lambda x: np.clip(np.sqrt(x), 0.5, 1.0),
    "largest": lambda x: np.max(np.sqrt(np.stack([x, 1.0]))),
    "slice": lambda x: np.sum(np.sqrt(np.stack([x, 1.0]))[1:]),
    "two_choices": lambda x: np.where(x < 1, np.where(x > 0, np.cbrt(x), 1.0), np.log(x)),
    "overflow": lambda x: np.where(x + 800 > 700, 0.0, np.exp(x + 800) * x),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_not_chosen_stays_out(name):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(products(CHOSEN[name], 0.0), 0.0, atol=1e-15)


VALUES = {                                                      # forward mode has no number for these, nor has jax.grad
    "exp_of_log": lambda lib, x: lib.tanh(lib.exp(lib.log(x))),
    "log_sum": lambda lib, x: lib.log(lib.sum(lib.exp(lib.log(lib.stack([x, x + 1.0]))))),
    "root_by_weight": lambda lib, x: lib.sum(x * lib.sqrt(lib.stack([x, x + 1.0]))),
    "parts": lambda lib, x: (lambda y: lib.exp(y[0]) + y[1])(lib.log(lib.stack([x, x + 1.0]))),
    "chosen_otherwise": lambda lib, x: lib.where(x > 1, 0.0, x * lib.log(x)),
}


@pytest.mark.parametrize("name", VALUES)
def test_zeros_that_are_values_are_no_choice(name):
    function = VALUES[name]
    found = products(lambda x: function(np, x), 0.0)
    assert np.isnan(jax.grad(lambda x: function(jnp, x))(0.0)) and np.isnan(found).all()


def test_zero_cotangents_and_rows():
    """A seed that is zero asks for nothing; the rows of a Jacobian are sweeps from such."""
    def function(x):
        return np.stack([np.sqrt(x[0]) * 2, x[1] ** 2])

    x = np.array([0.0, 3.0])
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(reactant.jacobian(function, mode=mode)(x), [[np.inf, 0], [0, 6]])
    (pulled,) = reactant.vjp(function, x)[1](np.array([0.0, 1.0]))
    np.testing.assert_array_equal(pulled, [0, 6])


def test_in_loops():
    def function(x):
        total = 0.0
        for i in range(len(x)):
            y = 1.0 * np.where(x[i] > 0, np.sqrt(x[i]) * np.log(x[i]), 0.0)
            if x[i] > 0.5:
                y = y + np.sqrt(x[i] - 1)
            total = total + y * y
        return total

    x = np.array([0.0, 2.0, 0.25])
    gradient = reactant.grad(function)(x)
    np.testing.assert_allclose(gradient, reactant.jacobian(function, mode="forward")(x))
    assert gradient[0] == 0 and np.isfinite(gradient).all()


@pytest.mark.slow
def test_chains_of_choices_are_short():
    """Each step reads what the one before says of them all."""
    def function(x):
        for i in range(30):
            x = jnp.where(x > 0.01 * i, jnp.sqrt(x), 0.25)
        return x

    gradient = reactant.grad(function)
    operations = gradient.lower(0.0).operations()
    assert operations["stablehlo.select"] <= 90 and operations["stablehlo.and"] <= 60
    assert gradient(0.0) == 0 and gradient(-1.0) == 0
    np.testing.assert_allclose(gradient(0.5), jax.grad(function)(0.5), rtol=1e-5)
