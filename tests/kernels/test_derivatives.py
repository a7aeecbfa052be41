"""Derivatives through launches: every program of the corpus against finite differences, adjoints over many launches."""
import importlib

import numpy as np
import pytest

import reactant

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

FAMILIES = ("stencils", "linear_algebra", "patterns", "science")
CASES = {case.name: case for family in FAMILIES
         for case in importlib.import_module(f"tests.kernels.corpus.{family}").CASES}


def compare_with_differences(case, frontend, rtol):
    """The derivative of a weighted sum of all that the program leaves, along a random direction of all that it starts
    from."""
    rng = np.random.default_rng(5)
    start = case.make(np.random.default_rng(7))
    real = [i for i, a in enumerate(start) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    weights = {i: rng.standard_normal(start[i].shape) for i in real}
    directions = {i: rng.standard_normal(start[i].shape) * (np.abs(start[i]).mean() + 0.1) for i in real}
    kernels = case.launchables(frontend, "tensor")

    def loss(*arrays):
        case.host(kernels, *arrays)
        total = 0.0
        for i, w in weights.items():
            total = total + np.sum(arrays[i] * w)
        return total

    def at(s):
        moved = [a.copy() if isinstance(a, np.ndarray) else a for a in start]
        for i in real:
            moved[i] = (moved[i] + s * directions[i]).astype(moved[i].dtype)
        case.reference(*moved)
        return sum(float((moved[i].astype(float) * weights[i]).sum()) for i in real)
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in start]
    gradients = reactant.grad(reactant.jit(loss, frontend="numpy"), argnums=tuple(real))(*copies)
    found = sum(float((g * directions[i]).sum()) for g, i in zip(gradients, real, strict=True))
    step = 1e-6 if all(start[i].dtype == np.float64 for i in real) else 1e-3
    expected = (at(step) - at(-step)) / (2 * step)
    size = sum(float(np.abs(g * directions[i]).sum()) for g, i in zip(gradients, real, strict=True))
    assert size > 0
    assert abs(found - expected) <= rtol * max(size, abs(expected)), (found, expected, size)
