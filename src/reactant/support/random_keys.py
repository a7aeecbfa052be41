"""Keys of `jax.random.key` in a trace of ours: their data, which is an array like others, and the generator."""
from __future__ import annotations

from typing import Any

import jax
import numpy as np


class TracedKeys:
    """Keys whose data is traced. To JAX it is a container of its data, which it gives back as keys."""

    def __init__(self, generator: str, data: Any):
        self.generator, self.data = generator, data


def keys_of(generator: str, data: Any) -> Any:
    """Keys with this data: JAX's where JAX can have them, None where there is no data (a gradient, say)."""
    if issubclass(type(data), (np.ndarray, jax.Array, jax.core.Tracer)):      # what we trace says it is an array, too
        return jax.random.wrap_key_data(data, impl=generator)
    return None if data is None else TracedKeys(generator, data)


def is_key(dtype: Any) -> bool:
    """Whether a dtype is that of `jax.random.key`."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def generator_of(dtype: Any) -> str:
    """The random generator of a key dtype, as `jax.random.wrap_key_data` takes it."""
    return dtype._impl.name           # private: jax.random.key_impl asks an array, which there may not be


def key_dtype(generator: str) -> Any:
    """The dtype of keys of a generator."""
    return jax.eval_shape(lambda: jax.random.key(0, impl=generator)).dtype


jax.tree_util.register_pytree_node(TracedKeys, lambda keys: ((keys.data,), keys.generator),
                                   lambda generator, data: keys_of(generator, *data))
