"""Maps that make too much for one batch run in chunks, on targets that want that."""
from dataclasses import replace

import numpy as np
import pytest

import reactant
from reactant.simplify.control import loop_maps
from reactant.simplify.facts import target_costs

X = np.random.default_rng(2).normal(size=401)


def nearest(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        away = (x - x[i]) ** 2
        out[i] = np.max(np.exp(-away)) * np.sum(away)
    return out


def two_arrays_backwards(x):
    near, last = np.zeros(len(x)), np.zeros((len(x), 2))
    for i in range(len(x) - 1, -1, -1):
        away = np.abs(x - x[i])
        near[i] = np.max(away)
        last[i, 0], last[i, 1] = np.min(away), away[0]
    return near, last


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setitem(target_costs.BY_PLATFORM, "tpu", replace(target_costs.TPU, chunk_bytes=1 << 17))
    monkeypatch.setattr(loop_maps, "BATCH_BYTES", 1 << 17)
    target_costs.forget()
    yield
    target_costs.forget()


@pytest.mark.parametrize("function", [nearest, two_arrays_backwards])
def test_chunks(little_memory, function):
    compiled = reactant.jit(function, target="tpu")
    text = compiled.lower(X).as_text()
    # ten chunks of forty, one iteration is left
    assert text.count("stablehlo.while") == 1 and "tensor<40x401xf64>" in text
    for mine, theirs in zip(np.atleast_1d(compiled(X)), np.atleast_1d(function(X)), strict=True) \
            if function is nearest else zip(compiled(X), function(X), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_a_cpu_runs_the_loop_and_what_fits_is_one_batch(little_memory):
    assert "tensor<40x401xf64>" not in reactant.jit(nearest, target="cpu").lower(X).as_text()
    assert "stablehlo.while" not in reactant.jit(nearest, target="tpu").lower(X[:20]).operations()
