"""Kernels launched on arrays that lie on several devices."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant import kernel_calls

cuda = pytest.importorskip("numba.cuda")
pytestmark = pytest.mark.devices8


@cuda.jit
def axpy(n, a, x, y):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@cuda.jit
def stencil(u, w):
    i, j = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and j < u.shape[1]:
        w[i, j] = u[i - 1, j] - 2 * u[i, j] + u[i + 1, j]


@cuda.jit
def total(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])


@pytest.mark.parametrize("size", [1024, 1021])
def test_integers_that_change(size):
    place = reactant.mesh(x=8).sharding("x")
    x, y = np.random.default_rng(0).random((2, size))
    mine, other = reactant.array(x, sharding=place), reactant.array(y, sharding=place)
    for iteration in range(4):
        reactant.kernel(axpy)[-(-size // 128), 128](size - iteration, 2.0, mine, other)
        y[:size - iteration] += 2 * x[:size - iteration]
    np.testing.assert_allclose(other, y, rtol=1e-13)
    assert other.sharding == mine.sharding == place
    latest = [entry.lowered for jitted in kernel_calls._compiled.values() for entry in jitted._entries.values()
              if entry.lowered.placement is not None]
    assert latest and not any("stablehlo.custom_call" in each.operations() for each in latest)


@pytest.mark.parametrize("shape", [(64, 32), (61, 13)], ids=str)
def test_stencil(shape):
    place = reactant.mesh(x=4, y=2).sharding("x", "y")
    u = np.random.default_rng(0).random(shape)
    w = np.zeros(shape)
    mine, other = reactant.array(u, sharding=place), reactant.array(w, sharding=place)
    reactant.kernel(stencil)[(8, 4), (8, 8)](mine, other)
    w[1:-1] = u[:-2] - 2 * u[1:-1] + u[2:]
    np.testing.assert_allclose(other, w, atol=1e-13)
    assert other.sharding == place


def test_atomics():
    x = np.random.default_rng(0).random(1021)
    mine = reactant.array(x, sharding=reactant.mesh(x=8).sharding("x"))
    out = reactant.array(np.zeros(1))
    reactant.kernel(total)[8, 128](mine, out)
    np.testing.assert_allclose(np.asarray(out)[0], x.sum())


def test_in_compiled_code():
    place = reactant.mesh(x=8).sharding("x")
    u = np.random.default_rng(0).random((61, 4))

    def program(u, w):
        for _ in range(3):
            stencil[(8, 1), (8, 4)](u, w)
            u += 0.1 * w
        return u.sum()

    mine = reactant.array(u, sharding=place)
    got = reactant.jit(program)(mine, np.zeros_like(u))
    w = np.zeros_like(u)
    for _ in range(3):
        w[1:-1] = u[:-2] - 2 * u[1:-1] + u[2:]
        u += 0.1 * w
    np.testing.assert_allclose(mine, u, rtol=1e-12)
    np.testing.assert_allclose(got, u.sum(), rtol=1e-12)
    assert mine.sharding == place
