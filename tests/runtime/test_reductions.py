"""Reductions of big NumPy arrays read in place: right, as accurate as NumPy's, only where they fit, without copies."""
from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.ir import context, modules
from reactant.runtime import pool, reductions
from reactant.runtime.executable import Executable
from reactant.runtime.facts import facts_of


def module_of(function, *arguments):
    with jax.enable_x64(True):
        text = jax.jit(function, keep_unused=True).lower(*arguments).as_text()
    with context.building():
        return ir.Module.parse(text)


def sample(*shape, dtype="float64"):
    return np.random.default_rng(0).random(shape).astype(dtype)


FITS = {
    "all": (lambda a, b: a.sum(), True),
    "rows": (lambda a, b: a.sum(1), True),
    "no split": (lambda a, b: a.reshape(-1, 7).sum(1), True),
    "max": (lambda a, b: (a.max(), b.min(1)), True),
    "distance": (lambda a, b: ((a - b) ** 2).sum(), True),
    "mean and spread": (lambda a, b: ((a - a.mean(1, keepdims=True)) ** 2).mean(1), True),
    "any, all": (lambda a, b: ((a > 2).any(), (b < 2).all(1)), True),
    "count": (lambda a, b: (a > 0.5).sum(), True),
    "matrix, vector": (lambda a, b: a @ b[0], True),
    "vector, matrix": (lambda a, b: b[0] @ a.T, False),
    "vectors": (lambda a, b: a.reshape(-1) @ b.reshape(-1), True),
    "columns": (lambda a, b: a.sum(0), False),
    "matrices": (lambda a, b: (a @ b.T)[0], False),
    "with exponentials": (lambda a, b: jnp.exp(a - b).sum(), False),
    "argmax": (lambda a, b: a.argmax(1), False),
    "not a sum from zero": (lambda a, b: jax.lax.reduce(a, a[0, 0], jax.lax.add, (0, 1)), False),
    "no reduction": (lambda a, b: a + b, False),
}


@pytest.mark.parametrize(("name", "shape"), [
    *((name, (700, 1030)) for name in FITS),
    *((name, shape) for name in ("all", "rows", "max", "matrix, vector") for shape in ((3, 262147), (262144, 3)))])
def test_where_it_fits(name, shape):
    function, expected = FITS[name]
    a, b = sample(*shape), sample(*shape) + 0.25
    module = module_of(function, a, b)
    assert reductions.fits(module, facts_of(module)) == expected
    run = Executable(module)
    assert (reductions.OPTIONS.items() <= run.xla_options.items()) == expected
    with jax.enable_x64(True):
        right = jax.tree.leaves(jax.jit(function)(a, b))
    for _ in range(2):
        for mine, other in zip(run([a, b]), right, strict=True):
            np.testing.assert_allclose(mine, np.asarray(other), rtol=1e-12)
            assert mine.dtype == other.dtype


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 1009, 4096, 262144, 262147, 64 ** 3 + 1, 3 * 87383])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_steps_of_every_length(length, dtype):
    x = sample(2, length, dtype=dtype)
    module = module_of(lambda a: a.sum(1), x)
    changed = reductions.in_steps(module)
    with context.building():
        modules.verify(changed)
        depths = [r.depth for r in facts_of(changed).reductions]
    assert max(depths) <= reductions.DEPTH
    with jax.enable_x64(True):
        np.testing.assert_allclose(Executable(changed)([x])[0], x.sum(1), rtol=1e-5)


@pytest.mark.parametrize("values", [np.full(1 << 22, 0.1, np.float32), sample(1 << 22, dtype="float32")])
def test_sums_stay_accurate(values):
    result = Executable(module_of(lambda a: a.sum(), values))([values])[0]
    exact = values.astype(np.float64).sum()
    assert abs(result - exact) / exact <= 1e-6


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values(special):
    x = sample(1000, 600)
    x[17, 300] = special
    run = Executable(module_of(lambda a: (a.sum(), a.max(1), a @ a[0], (a * 0 - 0.0).sum(1)), x))
    assert reductions.OPTIONS.items() <= run.xla_options.items()
    with np.errstate(invalid="ignore"):
        expected = x.sum(), x.max(1), (x * x[0]).sum(1), (x * 0 - 0.0).sum(1)
    for mine, right in zip(run([x]), expected, strict=True):
        np.testing.assert_allclose(mine, right)


def test_nothing_is_copied():
    raw = np.zeros(300_000 * 8 + 128, np.uint8)
    start = -raw.ctypes.data % 64 + 16
    x = raw[start:start + 2_400_000].view(np.float64)
    pool.release_memory()
    run = Executable(module_of(lambda a: (a * a).sum(), x))
    run([x])
    assert run.memory_analysis().temp_size_in_bytes < 100_000
    assert pool.SCRATCH.release() == 0


def test_threads_can_share_a_sum_of_everything():
    x = sample(1000, 600)
    run = Executable(module_of(lambda a: (a * a).sum(), x))
    assert "outer_dimension_partitions" in run.compile().as_text() or len(os.sched_getaffinity(0)) == 1

