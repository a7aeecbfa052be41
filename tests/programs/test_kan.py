"""examples/kan: the splines, steps of training as JAX has them, and a formula that is found."""
import jax
import numpy as np
import pytest
from scipy.interpolate import BSpline

import reactant
from examples.kan import in_jax, measure
from examples.kan.network import Layer, Network, b_splines, train

RANDOM = np.random.default_rng(0)


def test_the_splines_are_those_of_scipy():
    knots = np.sort(RANDOM.standard_normal((2, 12)), axis=1)
    x = np.stack([RANDOM.uniform(k[3], k[-4], 30) for k in knots], axis=1)
    for i in range(2):
        expected = BSpline.design_matrix(x[:, i], knots[i], 3).toarray()
        np.testing.assert_allclose(b_splines(x, knots, 3)[:, i], expected, atol=1e-14)


def test_refined_splines_are_the_same_functions():
    layer, spline = Layer(2, 5), RANDOM.standard_normal((2, 8, 3))
    line, x = np.zeros((2, 3)), RANDOM.uniform(-0.9, 0.9, (50, 2))
    before = layer(line, spline, x)
    after = layer.refine(spline, 40)
    assert after.shape == (2, 43, 3)
    np.testing.assert_allclose(layer(line, after, x), before, atol=2e-3)


@pytest.mark.parametrize("widths", [(2, 1), pytest.param((2, 1, 1), marks=pytest.mark.slow)])
def test_steps_are_those_of_jax(widths):
    """The state that the class keeps is changed as in plain Python: weights, moments, counter and ranges."""
    network = Network(widths, 5, seed=1)
    x, y = measure.points(200, 2, seed=0)
    batches = np.random.default_rng(2).integers(0, 200, (300, 50))
    losses = reactant.jit(train)(network, x, y, batches, 0.02)
    with jax.enable_x64(True):
        state, theirs = in_jax.train(in_jax.state_of(Network(widths, 5, seed=1)), x, y, batches, 0.02)
    np.testing.assert_allclose(losses, theirs, rtol=1e-6)
    np.testing.assert_allclose(network.weights[-1][1], state["weights"][-1][1], rtol=1e-6)
    np.testing.assert_allclose(network.layers[-1].high, state["layers"][-1]["high"], rtol=1e-9)
    assert network.steps == 300 and losses[-50:].mean() < 0.1 * losses[:5].mean()


@pytest.mark.slow
def test_more_intervals_find_it_better(tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.kan.picture import draw

    errors = []
    network, losses = measure.learned(1000, lambda intervals, count, losses, error: errors.append(error))
    assert errors[1] < 0.3 * errors[0] and errors[2] < 2e-3
    draw(network, losses, tmp_path / "kan.png")
    assert (tmp_path / "kan.png").stat().st_size > 5000
