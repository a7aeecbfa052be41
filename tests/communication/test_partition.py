"""Programs of NumPy on meshes of eight devices, against NumPy: results, and what is sent."""
from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

import reactant
from reactant.communication.traffic import traffic
from tests.oracle import assert_same

pytestmark = [pytest.mark.devices8, pytest.mark.usefixtures("poison")]

MESHES = {"8": {"x": 8}, "4x2": {"x": 4, "y": 2}, "2x2x2": {"x": 2, "y": 2, "z": 2}}


def rolls(x):
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 3, 1) - np.roll(np.roll(x, 2, 0), -2, 1)


def interior(x):
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]
    return y


def neumann(x):
    x[0], x[-1], x[:, 0], x[:, -1] = x[1], x[-2], x[:, 1], x[:, -2]
    return x * 2


def ghosts(x):
    x[:3], x[-3:] = x[-6:-3].copy(), x[3:6].copy()
    x[:, :2], x[:, -2:] = x[:, -4:-2].copy(), x[:, 2:4].copy()
    return np.diff(x, axis=0), x


def steps(u):
    for _ in range(7):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[0], u[-1] = u[-2], u[1]
    return u


def until(u):
    n = 0
    while np.abs(u).max() > 0.2 and n < 50:
        u = 0.25 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)) * 0.9
        n += 1
    return u, n


def branches(u):
    if u.sum() > 0:
        u = np.roll(u, 1, 0)
    else:
        u = u[::-1] * 2
    return u - u.mean(axis=0)


def reductions(x):
    return (x.sum(), x.mean(axis=0), x.max(axis=1), np.abs(x).min(), x.argmax(axis=0), x.std(), (x > 0).any(axis=0),
            (x > 9).all(), np.prod(1 + 0.01 * x, axis=1), x.var(axis=(0, 1)))


def normalised(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-3) + x[0] - x[:, :1]


def products(x):
    return x @ x.T, x.T @ x, x @ np.ones(x.shape[1]), np.einsum("ij,ij->i", x, x)


def shapes(x):
    return x.T + 1, x.reshape(-1)[3:], x.ravel()[::3], np.stack([x, -x]), np.concatenate([x, x[:2]]), x[::2], \
        x[1::3, ::2]


def padded(x):
    return np.pad(x, 2), np.pad(x, ((0, 3), (1, 0)), mode="edge"), np.pad(x, 2, mode="wrap"), \
        np.pad(x, ((2, 1), (0, 2)), mode="reflect")


def counted(x):
    i = np.arange(x.shape[0])[:, None]
    return np.where(i % 3 == 1, x, -x) + i * np.arange(x.shape[1])


def sorted_(x):
    return np.sort(x, axis=1), np.sort(x, axis=0), np.cumsum(x, axis=0), np.cumsum(x, axis=1), np.fft.fft(x, axis=1)


def at_run_time(x):
    k = int(np.abs(x[0, 0]) * 3)
    x[k] = 5.0
    x[k + 1:k + 3] *= 2
    return x, x[k + 1].copy()


FUNCTIONS = [rolls, interior, neumann, ghosts, steps, until, branches, reductions, normalised, products, shapes, padded,
             counted, sorted_, at_run_time]
SHAPES = [(64, 48), (61, 53), (17, 16), (125, 9)]


def on_mesh(name, x):
    mesh = reactant.mesh(**MESHES[name])
    if name == "2x2x2":
        return reactant.array(x, sharding=mesh.sharding(("x", "z"), "y"))
    return reactant.array(x, sharding=mesh.sharding("x", "y") if name == "4x2" else mesh.sharding("x"))


@pytest.mark.sampled(60)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(function, mesh, shape):
    x = np.random.default_rng(3).normal(size=shape)
    given = on_mesh(mesh, x)
    found = jax.tree.map(np.asarray, reactant.jit(function)(given))
    written = x.copy()
    assert_same(function(written), found, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(np.asarray(given), written, rtol=1e-9, atol=1e-10)


SENT = [
    (rolls, "8", {"collective-permute": 2}),
    (interior, "8", {"collective-permute": 2}),
    (interior, "4x2", {"collective-permute": 4}),
    (neumann, "8", {}),
    (neumann, "4x2", {}),
    (counted, "4x2", {}),
    (normalised, "8", {"all-reduce": 2, "collective-permute": 3}),
]


@pytest.mark.parametrize(("function", "mesh", "expected"), SENT, ids=lambda v: getattr(v, "__name__", str(v)[:20]))
@pytest.mark.parametrize("shape", [(64, 48), (61, 53)], ids=str)
def test_collectives(function, mesh, expected, shape):
    given = on_mesh(mesh, np.random.default_rng(3).normal(size=shape))
    found = traffic(reactant.jit(function).lower(given).compile().executable.as_text())
    assert found.count <= sum(expected.values())


def coupled(h, u, v):
    for f in (h, u, v):
        f[:3], f[-3:] = f[-6:-3].copy(), f[3:6].copy()
        f[:, :3], f[:, -3:] = f[:, -6:-3].copy(), f[:, 3:6].copy()
    h[3:-3, 3:-3] += u[2:-4, 3:-3] * v[3:-3, 4:-2]
    u[3:-3, 3:-3] += h[3:-3, 2:-4]
    return h.sum(), v[5] - u[5]


PLACES = {"rows": ("x",), "columns": (None, "x"), "whole": ()}


@pytest.mark.parametrize("places", list(itertools.product(PLACES, repeat=3)), ids="-".join)
def test_fields_that_lie_differently(places):
    mesh, fields = reactant.mesh(x=8), np.random.default_rng(0).normal(size=(3, 61, 53))
    given = [reactant.array(f, sharding=mesh.sharding(*PLACES[p])) for f, p in zip(fields, places, strict=True)]
    found = jax.tree.map(np.asarray, reactant.jit(coupled, mesh=mesh)(*given))
    assert_same(coupled(*fields), found, rtol=1e-9, atol=1e-10)
    for one, other in zip(given, fields, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9, atol=1e-10)
