"""`vjp` and `linearize` keep what the derivative needs: programs are divided where outputs and derivative share ops."""
import jax
import numpy as np
import pytest

import reactant

X, W = np.array([0.3, -0.4, 0.5, 0.2, 0.9]), np.array([0.7, -0.2, 0.4])
ORDER = np.array([4, 2, 1, 0, 3])


def rebound(x, w):
    """Outputs and derivative are in branches of one condition, which are put together."""
    x[0] += w[0] * x[1]
    if x.sum() > 0.5:
        x = x[ORDER] * np.sin(x)
    return x


def nested(x, w):
    if x.sum() > 0.5:
        if w[0] > 0:
            x[1] *= w[1] * x[2]
            y = np.exp(x) * w[2]
        else:
            y = np.cos(x)
    else:
        y = x * w.sum()
    return y * x, w[0]


def three_ways(x, w):
    if x[0] > 1:
        y = x * w[0]
    elif x[0] > 0.2:
        x[:3] *= w
        y = np.tanh(x) * w[1]
    else:
        y = x ** 2
    return y


def in_a_loop(x, w):
    for k in range(30):
        x[0] += w[k % 3] * x[1]
        if x.sum() > 0.5 + 0.01 * k:
            x = x[ORDER] * 0.9
    return x


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree_util.tree_leaves(tree)])


def outputs(f, x, w):
    """What `f` returns, and what is in `x` then, one after the other."""
    x = x.copy()
    return flat((f(x, w), x))


@pytest.mark.parametrize("f", [rebound, nested, three_ways, in_a_loop])
@pytest.mark.parametrize("x", [X, -X, 4 * X, X - 0.2])
def test_branches_with_outputs_and_derivatives(f, x):
    dx, dw = np.linspace(-1, 1, 5), np.array([0.5, 1.0, -0.3])
    differences = (outputs(f, x + 1e-6 * dx, W + 1e-6 * dw) - outputs(f, x - 1e-6 * dx, W - 1e-6 * dw)) / 2e-6
    found, linear = reactant.linearize(f, x.copy(), W)
    np.testing.assert_allclose(flat(found), outputs(f, x, W), rtol=1e-12)
    moved = linear(dx, dw)
    np.testing.assert_allclose(flat(moved), differences, rtol=1e-6, atol=1e-7)
    found, pull = reactant.vjp(f, x.copy(), W)
    np.testing.assert_allclose(flat(found), outputs(f, x, W), rtol=1e-12)
    weights = jax.tree_util.tree_map(np.cos, found)
    gx, gw = pull(weights)
    np.testing.assert_allclose(flat(weights) @ flat(moved), gx @ dx + gw @ dw, rtol=1e-10)
