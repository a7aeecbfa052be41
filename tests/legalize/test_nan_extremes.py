"""NaN wins among the numbers whose extreme a program asks for, whoever computes it."""
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.legalize import nan_extremes


def scattered(*shape, dtype=np.float64):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    x[rng.random(shape) < 2 / max(shape)] = np.nan
    return x


FUNCTIONS = {
    "greatest of rows": lambda x: x.max(1), "least of rows": lambda x: np.min(x, axis=1),
    "greatest of columns": lambda x: x.max(0), "least of all": lambda x: x[:1].min() + x.max(),
    "of what is computed": lambda x: np.abs(2 * x + 1).max(axis=1),
    "after a product": lambda x: (x @ np.ones((x.shape[1], 64))).max(1),
    "place of the least": lambda x: np.argmin(x, axis=1), "place of the greatest": lambda x: x.argmax(0),
    "reach": lambda x: np.ptp(x, axis=0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape, dtype", [((64, 64), np.float32), ((1000, 8), np.float64), ((50, 131), np.float32)])
@pytest.mark.parametrize("native", ["auto", "never"])
def test_of_numpy(name, shape, dtype, native):
    x = scattered(*shape, dtype=dtype)
    function = FUNCTIONS[name]
    np.testing.assert_allclose(reactant.jit(function, native=native)(x), function(x), rtol=1e-4)


def test_windows_side_by_side():
    def pooled(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 4), (2, 4), "VALID")

    x = scattered(64, 64, dtype=np.float32)
    found = reactant.jit(pooled, native="never")(x)
    np.testing.assert_array_equal(found, x.reshape(32, 2, 16, 4).max((1, 3)))


def labelled(x, labels):
    return jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1).mean()


def scores(q, k):
    return jnp.where(jnp.tril(jnp.ones((64, 64), bool)), q @ k.T, -jnp.inf)


def of_other_rows(x):
    """Where row i has NaN and row j has none, the sum is not NaN at (i, j), but its extreme is."""
    most = jnp.max(x, 1)
    return most[:, None] + jnp.sum(jnp.exp(x - most[:, None]), 1)[None, :]


X, LABELS = np.ones((64, 64), np.float32), np.arange(64, dtype=np.int32) % 10
DECISIONS = {
    "softmax": (jax.nn.softmax, (X,), False), "softmax of columns": (lambda x: jax.nn.softmax(x, 0), (X,), False),
    "softmax of scores": (lambda q, k: jax.nn.softmax(scores(q, k)) @ k, (X, X), False),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, axis=1), (X,), False),
    "log-likelihood of short rows": (labelled, (np.ones((300, 10), np.float32), LABELS[np.arange(300) % 64]), False),
    "diagonal of log-softmax": (lambda x: jnp.diagonal(jax.nn.log_softmax(x)).sum(), (X,), False),
    "diagonal of the numbers": (lambda x: jnp.diagonal(x - x.max(1, keepdims=True)) + jnp.sum(
        jnp.exp(x - x.max(1, keepdims=True)), 1)[::-1], (X,), True),
    "greatest": (lambda x: x.max(1), (X,), True), "of other rows": (of_other_rows, (X,), True),
    "softmax beside its greatest": (lambda x: (jax.nn.softmax(x), x.max(1)), (X,), True),
    "sum of half": (lambda x: jnp.sum(jnp.exp(x - x.max(1, keepdims=True))[:, :32], 1), (X,), True),
    "sum of columns": (lambda x: jnp.sum(jnp.exp(x - x.max(1, keepdims=True)), 0), (X,), True),
    "integers": (lambda x: x.astype(int).max(1), (X,), False), "few": (lambda x: x[:8].max(1), (X,), False),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_what_the_library_may_not_have(name):
    function, arguments, taken = DECISIONS[name]
    text = reactant.jit(function, frontend="jax").lower(*arguments).as_text()
    with building():
        module = modules.parse(text)
        assert (nan_extremes.kept(module) is not module) == taken


SEVERAL = """
import jax, numpy as np, reactant
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
functions = [np.max, np.min, np.argmax, np.ptp, lambda a: np.max(a, axis=0), lambda a: np.min(a, axis=1),
             lambda a: np.max(np.abs(a), axis=0, keepdims=True) - a, lambda a: np.maximum.accumulate(a, axis=0),
             lambda a: np.sort(a, axis=0), lambda a: np.max(a[:, 3:], axis=1)]
for dtype in (np.float32, np.float16):
    for rows in (16, 512):
        a = np.random.default_rng(1).standard_normal((rows, 8)).astype(dtype)
        a[5, 3], a[7, 0] = np.nan, -np.inf
        for parts in (P("d"), P(None, "d"), P()):
            there = jax.device_put(a, NamedSharding(mesh, parts))
            for function in functions:
                np.testing.assert_array_equal(np.asarray(reactant.jit(function)(there)), function(a))
                inner = jax.jit(reactant.jit(function))(there)
                np.testing.assert_array_equal(np.asarray(inner), function(a))
"""


@pytest.mark.slow
def test_over_several_devices():
    """XLA's all-reduce alone passes NaN over."""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SEVERAL], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
