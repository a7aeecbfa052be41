"""Compiled JAX programs called with trees, static values and keys."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant


def power(x, n):
    return {"y": x["a"] ** n}


def test_a_program_takes_what_it_was_lowered_for():
    jitted = reactant.jit(jax.jit(power, static_argnums=1))
    compiled = jitted.lower({"a": jnp.arange(3.0)}, 2).compile()
    assert compiled({"a": jnp.arange(3.0)}, 2)["y"].tolist() == [0, 1, 4]
    assert compiled({"a": np.arange(3, dtype=np.float32)}, 2)["y"].tolist() == [0, 1, 4]
    with pytest.raises(TypeError, match="static values 1=2; 3 was given"):
        compiled({"a": jnp.arange(3.0)}, 3)
    with pytest.raises(TypeError, match="was compiled for arguments like"):
        compiled([jnp.arange(3.0)], 2)


def test_keys_go_in_and_come_out():
    def draw(key):
        return jax.random.split(key), jax.random.normal(key, (2,))
    key = jax.random.key(3)
    (found, numbers), (wanted, others) = reactant.jit(draw)(key), draw(key)
    assert (jax.random.key_data(found) == jax.random.key_data(wanted)).all() and np.allclose(numbers, others)
    compiled = reactant.jit(draw).lower(key).compile()
    assert (jax.random.key_data(compiled(key)[0]) == jax.random.key_data(wanted)).all()
