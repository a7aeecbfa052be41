"""Chains of nests in tiles: the same numbers as the reference interpreter, bit for bit."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.loopnests.emission import control, keeping, tiles
from tests.loopnests.running import run, written


def moved(a, rows, columns):
    """`a` moved down and right, zeros in what becomes free."""
    n, m = a.shape
    padded = jnp.pad(a, ((max(rows, 0), max(-rows, 0)), (max(columns, 0), max(-columns, 0))))
    return padded[max(-rows, 0):max(-rows, 0) + n, max(-columns, 0):max(-columns, 0) + m]


def program(seed):
    """A loop whose iteration is a chain of stencils of random shape."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 7))
    steps = [(*map(int, rng.integers(0, k + 2, 2)), *map(int, rng.integers(-2, 3, 2))) for k in range(count)]
    other = int(rng.integers(count))

    def iteration(x, y):
        made = [x, y]
        for a, b, r, c in steps:
            edge = jnp.sqrt(1.0 + moved(made[a], r, c) ** 2) * made[b] + moved(made[b], -r, 0)
            made.append(0.3 * (moved(edge, 1, 0) - moved(edge, -1, 0)) + 0.5 * edge)
        return made[-1] + 0.1 * made[other], made[-2]

    def repeated(x, y):
        return jax.lax.fori_loop(0, 5, lambda _, state: iteration(*state), (x, y))
    return repeated


@pytest.fixture
def small(monkeypatch):
    """Tiles of eight rows, for arrays of any size; the chains that were found."""
    found = []

    def chain_at(*arguments):
        found.append(tiles.chain_at(*arguments))
        return found[-1]
    monkeypatch.setattr(tiles, "LEAST_BYTES", 0)
    monkeypatch.setattr(tiles, "LEAST_ROWS", 12)
    monkeypatch.setattr(tiles, "TILE_BYTES", 0)
    monkeypatch.setattr(tiles, "OVERLAP", 0)
    monkeypatch.setattr(control, "chain_at", chain_at)
    return found


def module_of(seed, arguments):
    with building():
        module = modules.parse(jax.jit(program(seed)).lower(*arguments).as_text())
        pipelines.run(module, ("inline", "simplify"))
        return module


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_tiles_compute_the_same(small, seed):
    rng = np.random.default_rng(seed)
    arguments = list(rng.standard_normal((2, int(rng.integers(12, 45)), 9)).astype("float32"))
    module = module_of(seed, arguments)
    found = run(module, arguments)
    assert any(len(chain) > 1 for chain in small)
    with building():
        exact = evaluate(module, arguments)
    for mine, expected in zip(found, exact, strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_what_a_chain_makes_for_itself_is_memory_of_the_tile(small):
    made = written(module_of(1, np.ones((2, 40, 9), "float32")))
    assert "memref.alloca" in made.text and len(made.workspace) < 6


def test_arrays_that_are_small_stay(monkeypatch):
    found = []
    monkeypatch.setattr(control, "chain_at", lambda *a: found.append(tiles.chain_at(*a)) or found[-1])
    written(module_of(2, np.ones((2, 70, 9), "float32")))
    assert found and not any(found)


@pytest.mark.slow
@pytest.mark.parametrize("far", [False, True])
def test_rows_of_memory_far_away_are_asked_for_before_they_are_read(small, monkeypatch, far):
    monkeypatch.setattr(tiles, "FAR", 0 if far else 1 << 40)
    arguments = list(np.random.default_rng(3).standard_normal((2, 40, 23)).astype("float32"))
    module = module_of(1, arguments)
    assert ("memref.prefetch" in written(module).text) == far
    with building():
        exact = evaluate(module, arguments)
    for mine, expected in zip(run(module, arguments), exact, strict=True):
        np.testing.assert_array_equal(mine, expected)


def staggered(h, u, top, steps):
    """Two arrays in place by iterations; each window reads its array above and below, which no update in place
    could."""
    h, u = h.copy(), u.copy()
    for _ in range(steps):
        u[top:-1] -= 0.1 * (h[top:] - h[top - 1:-1]) + u[top:-1] * (u[top + 1:] - u[top - 1:-2]) * 0.05
        h -= 0.1 * (u[1:] - u[:-1])
    return h, u


@pytest.mark.parametrize("top", [1, 3, 30])
def test_windows_that_read_their_array_elsewhere_are_in_chains(small, top):
    rng = np.random.default_rng(top)
    h, u = rng.standard_normal((40, 7)), rng.standard_normal((41, 7))
    found = reactant.jit(staggered, native="always")(h, u, top, 5)
    for mine, expected in zip(found, staggered(h, u, top, 5), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-12)
    assert any(len(chain) > 1 for chain in small) == (top < 30)        # nine rows of 41 are put where they go


def eliminated(a, steps):
    """Windows that read their array at their own places, and beside them: these stay in place."""
    a = a.copy()
    for k in range(steps):
        a[1:, 1:] -= 0.1 * a[1:, 1:] + 0.01 * a[1:, :1] * a[:1, 1:] * k
    return a


def test_windows_that_read_their_array_in_place_or_beside_are_not_written_whole(monkeypatch):
    found = []

    def noted(update, reads=keeping._reads_elsewhere):
        found.append(reads(update))
        return found[-1]
    monkeypatch.setattr(keeping, "_reads_elsewhere", noted)
    a = np.random.default_rng(3).standard_normal((40, 41))
    np.testing.assert_allclose(reactant.jit(eliminated, native="always")(a, 30), eliminated(a, 30), rtol=1e-12)
    assert found and not any(found)


def unrolled(h, u, steps):
    """Steps one after the other: many nests, each of which may begin a chain."""
    for _ in [None] * steps:
        h, u = h.copy(), u.copy()
        u[1:-1] -= 0.1 * (h[1:] - h[:-1]) + u[1:-1] * (u[2:] - u[:-2]) * 0.05
        h -= 0.1 * (u[1:] - u[:-1])
    return np.sum(h * h) + np.sum(u * u)


@pytest.mark.slow
def test_each_nest_is_looked_at_once_for_all_chains(small, monkeypatch):
    """Those behind the end of a chain that does not pay were looked at again for every nest before them: under a
    profiler 51 s for the gradient of three steps of shallow water on 512 x 512, now 12.5."""
    looked = []

    def offsets(nest, before=tiles.TileNest.offsets):
        looked.append(tuple(root.node for root in nest.roots))
        return before(nest)
    monkeypatch.setattr(tiles.TileNest, "offsets", offsets)
    monkeypatch.setattr(tiles, "OVERLAP", 3)                 # a chain of many nests does not pay
    rng = np.random.default_rng(0)
    h, u = rng.standard_normal((20, 7)), rng.standard_normal((21, 7))
    reactant.grad(unrolled, (0, 1), checkpoint="all").lower(h, u, 4).compile()
    assert len(looked) == len(set(looked)) > 8
