"""The 64-bit switch is thread-local and undone; our CPU client is ours and leaves jax's alone."""
from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
