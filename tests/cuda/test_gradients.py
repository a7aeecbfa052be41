"""Derivatives of host functions against differences."""
import numpy as np
import pytest

from reactant.cuda.arguments import HostArgumentError


@pytest.mark.slow
def test_heat_equation(heat):
    """A time loop, numbers that the host computes for launches, a sum that it finishes."""
    rod, at = np.sin(0.01 * np.arange(200)), (200, 20, 0.4, 1.0, 1.1)
    slope = heat.grad("heat", ("rod", "alpha", "dx"))
    value, (by_rod, by_alpha, by_dx) = slope.value_and_grad(rod, *at)
    before = rod.copy()
    assert value == heat.heat(before, *at) and rod[7] == np.sin(0.07)

    def moved(x=0.0, where=0, alpha=0.0, dx=0.0):
        changed = rod.copy()
        changed[where] += x
        return float(heat.heat(changed, 200, 20, 0.4 + alpha, 1.0, 1.1 + dx))
    step = 1e-6
    for where in (0, 1, 100, 199):
        difference = (moved(step, where) - moved(-step, where)) / (2 * step)
        np.testing.assert_allclose(by_rod[where], difference, rtol=1e-6)
    np.testing.assert_allclose(by_alpha, (moved(alpha=step) - moved(alpha=-step)) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(by_dx, (moved(dx=step) - moved(dx=-step)) / (2 * step), rtol=1e-6)
    assert by_rod.shape == rod.shape and by_rod.dtype == rod.dtype


@pytest.mark.parametrize(("arguments", "words"), [
    (("heat", "n"), "wrt='n': int n holds no floating-point numbers"),
    (("heat", "heat"), "no parameter of 'double heat"),
    (("heat", ()), "wrt names parameters"),
    (("heat", "rod", "alpha"), "of='alpha': double alpha holds no floating-point numbers that")])
def test_what_has_no_derivative(heat, arguments, words):
    with pytest.raises(HostArgumentError) as caught:
        heat.grad(*arguments)
    assert words in str(caught.value)


@pytest.mark.slow
def test_host_arithmetic_and_constants(more):
    """Host vectors, memcpy, libm, __constant__ memory, copies on the device, atomics, a result by pointer."""
    rng = np.random.default_rng(0)
    x, w, result = rng.standard_normal(200).astype(np.float32), np.array([0.2, 0.5, 0.3], np.float32), np.zeros(1, "f4")

    def moved(x, scale, w):
        out = np.zeros(1, np.float32)
        more.mean_square(x.astype(np.float32), 200, scale, w.astype(np.float32), out)
        return float(out[0])
    slope = more.grad("mean_square", ("x", "w", "scale"), of="result")
    value, (by_x, by_w, by_scale) = slope.value_and_grad(x, 200, 1.5, w, result)
    assert value == np.float32(moved(x, 1.5, w)) and result[0] == 0
    step = 1e-2
    for k in (0, 1, 7):
        d = step * np.eye(200)[k]
        np.testing.assert_allclose(by_x[k], (moved(x + d, 1.5, w) - moved(x - d, 1.5, w)) / (2 * step), atol=2e-5)
    for k in range(3):
        d = step * np.eye(3)[k]
        np.testing.assert_allclose(by_w[k], (moved(x, 1.5, w + d) - moved(x, 1.5, w - d)) / (2 * step), rtol=1e-3)
    np.testing.assert_allclose(by_scale, (moved(x, 1.5 + step, w) - moved(x, 1.5 - step, w)) / (2 * step), rtol=1e-3)


@pytest.mark.slow
def test_integers_of_the_device_may_be_read(more):
    made = np.zeros(1, np.int32)
    x = np.arange(5.0)
    np.testing.assert_array_equal(more.grad("loops", "x")(x, 5, made), np.full(5, 5.0))
