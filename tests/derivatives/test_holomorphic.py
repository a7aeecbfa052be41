"""Complex derivatives of holomorphic functions (`holomorphic=True`), against JAX."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

Z = np.array([0.3 + 0.4j, -1 + 0.2j, 2 - 1j])


def mapped(lib):
    return lambda z: lib.fft.fft(lib.exp(z) * z**2)


def summed(lib):
    return lambda z: (lib.sin(z) * z).sum()


@pytest.fixture(autouse=True)
def in_double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("lib", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobian(lib, mode):
    found = reactant.jacobian(mapped(lib), mode=mode, holomorphic=True)(Z)
    np.testing.assert_allclose(found, jax.jacfwd(mapped(jnp), holomorphic=True)(Z), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("lib", [np, jnp], ids=["numpy", "jax"])
def test_gradient_and_hessian(lib):
    wanted = np.cos(Z) * Z + np.sin(Z)
    np.testing.assert_allclose(reactant.grad(summed(lib), holomorphic=True)(Z), wanted, rtol=1e-10)
    value, gradient = reactant.value_and_grad(summed(lib), holomorphic=True)(Z)
    np.testing.assert_allclose(value, summed(np)(Z), rtol=1e-10)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-10)
    second = reactant.hessian(summed(lib), holomorphic=True)(Z)
    np.testing.assert_allclose(second, np.diag(2 * np.cos(Z) - Z * np.sin(Z)), rtol=1e-10, atol=1e-12)


def test_of_a_number_and_inside():
    assert np.isclose(reactant.grad(lambda z: z * z, holomorphic=True)(1 + 2j), 2 + 4j)
    inside = reactant.jit(lambda z: reactant.grad(lambda w: (w**3).sum(), holomorphic=True)(z) + 1)
    np.testing.assert_allclose(inside(Z), 3 * Z**2 + 1, rtol=1e-12)


@pytest.mark.parametrize("derivative, of, at, text", [
    (reactant.grad, summed(np), Z.real, "holomorphic=True is of complex numbers"),
    (reactant.grad, lambda z: abs(z).sum(), Z, "returns one complex number"),
    (reactant.jacobian, abs, Z, "returns float64"),
    (reactant.jacobian, np.sqrt, Z.real, "given float64"),
], ids=["real argument", "real result", "real results", "real arguments"])
def test_what_is_refused(derivative, of, at, text):
    with pytest.raises(TypeError, match=text):
        derivative(lambda z: of(z), holomorphic=True)(at)
    if at is Z:
        with pytest.raises(TypeError, match="real number"):
            derivative(mapped(np))(at)
