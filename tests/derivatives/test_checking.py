"""`check_derivatives`: three ways to the same number, and rules that are a little wrong."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.linspace(-0.9, 1.3, 6)


def looping(x, iterations):
    y, k = x.copy(), 0
    while y.sum() > 0.1 and k < iterations:
        y *= 0.9 * np.cos(y)
        if y[0] < 0.3:
            y[1:] += 0.01 * y[:-1]
        k += 1
    x[0] = y[1]
    return y, k


def in_a_real_buffer(x):
    buffer = np.zeros(x.size + 1)
    buffer[1:] = x ** 3
    return buffer * np.linalg.norm(x)


EXACT = {
    "sine": np.sin, "tangent": np.tan, "cube root": np.cbrt, "absolute": np.abs, "steps": np.floor,
    "clip": lambda x: np.clip(x, -0.5, 0.5), "powers of negative numbers": lambda x: x ** 3 + x ** -2.0,
    "run-time powers": lambda x: abs(x) ** x, "products in order": np.cumprod,
    "choice": lambda x: np.where(x > 0, x * x, x),
    "places": lambda x: x[np.array([0, 3, 3])] * x.max(), "buffer": in_a_real_buffer,
    "loop": lambda x: looping(x, 30), "jax": lambda x: jnp.sin(x) * x[0],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", EXACT)
def test_the_complex_step_is_exact(name):
    with jax.enable_x64(True):
        found = reactant.check_derivatives(EXACT[name], X)
    assert found and found.complex_step_error < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("function", [lambda x: np.linalg.solve(np.outer(x, x) + np.eye(6), x),
                                      lambda x: np.fft.fft(x).real, lambda x: x.astype(np.float32) * 2,
                                      lambda x: np.exp(1j * x)])
def test_where_it_does_not_apply_differences_are_left(function):
    found = reactant.check_derivatives(function, X)
    assert found and found.complex_step_error is None


def test_a_rule_that_is_wrong_in_the_eighth_digit_is_found():
    @reactant.custom_derivative
    def sine(x):
        return np.sin(x)

    @sine.jvp
    def rule(arguments, tangents):
        return np.sin(arguments[0]), tangents[0] * np.cos(arguments[0]) * (1 + 1e-7)

    found = reactant.check_derivatives(lambda x: sine(x), X)
    assert not found and found.forward_error < found.tolerance and found.complex_step_error > 1e-9
    assert "DIFFER" in str(found) and "complex step" in str(found)


@pytest.mark.parametrize("factor", [2, 3])
def test_rules_for_reverse_mode_alone_are_compared_with_differences(factor):
    twice = reactant.custom_derivative(lambda x: 2 * x, vjp=lambda a, y, g: (factor * g,))
    found = reactant.check_derivatives(lambda x: twice(x) * x, X)
    assert bool(found) == (factor == 2) and found.forward_error is None
    assert "reverse against differences" in str(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_steps_fit_the_precision(dtype):
    x = X.astype(dtype)
    assert reactant.check_derivatives(lambda x: np.tanh(x) * x, x)
    assert not reactant.check_derivatives(lambda x: np.tanh(x) * reactant.stop_gradient(x), x)


def test_parts_that_are_constant():
    assert reactant.check_derivatives(lambda p: p["w"] ** 2 * p["scale"], {"w": X, "name": "layer", "scale": 2.0})


def test_functions_of_which_nothing_varies():
    assert reactant.check_derivatives(lambda x: x > 0, X)
    assert reactant.check_derivatives(lambda x: None, X)
