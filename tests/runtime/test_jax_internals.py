"""The 64-bit switch is thread-local and undone; our CPU client is ours and leaves jax's alone."""
from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.runtime.jax_internals import X64, synchronous_cpu


def test_x64_is_undone_and_stays_in_its_thread():
    before, elsewhere = jax.config.jax_enable_x64, []
    with pytest.raises(KeyError), X64():
        assert jnp.arange(3.0).dtype == np.float64
        thread = threading.Thread(target=lambda: elsewhere.append(jnp.arange(3.0).dtype))
        thread.start()
        thread.join()
        raise KeyError
    assert jax.config.jax_enable_x64 == before
    assert elsewhere == [np.float64 if before else np.float32]


def test_the_synchronous_client_is_one_and_not_jaxs():
    assert synchronous_cpu() is synchronous_cpu() and synchronous_cpu(99) is synchronous_cpu()
    assert synchronous_cpu().client is not jax.devices("cpu")[0].client
    assert synchronous_cpu() not in jax.devices()
    assert jnp.zeros(3).devices() == {jax.devices()[0]}


def test_arrays_that_jax_has_taken_in_32_bits():
    """jax takes an array for what it made of it with 64 bits off, as long as that is in use."""
    x, device = np.array([0.3, 0.7, 1.1]), jax.device_put(np.float32(2.0))
    _, pull = jax.vjp(lambda x: x * x, x)
    np.testing.assert_array_equal(reactant.jit(lambda x: x * 2)(x), x * 2)
    np.testing.assert_array_equal(reactant.jit(lambda x, y: x * y)(x, device), x * 2)
    doubled = reactant.jit(lambda x: x * 2)
    for _ in range(2):
        jax.vmap(lambda s: doubled(x) * s)(jnp.ones(3))
        jax.grad(lambda s: jnp.sum(doubled(x) * s))(1.0)
    np.testing.assert_allclose(pull(x)[0], 2 * x * x, rtol=1e-6)
