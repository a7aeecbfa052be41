"""What devices make together is the same elements on all of them, and grids that do not go together."""
import jax
import numpy as np
import pytest

import reactant
from tests.oracle import assert_same

pytestmark = [pytest.mark.devices8, pytest.mark.usefixtures("poison")]

FIELD = np.random.default_rng(0).normal(size=(16, 64))
FEW = np.array([3, 9, 1])


def on_mesh(function, arrays, ways, **axes):
    """Results are NumPy's."""
    mesh = reactant.mesh(**axes)
    expected = function(*(x.copy() for x in arrays))
    found = reactant.jit(function)(*(reactant.array(x, sharding=mesh.sharding(*w))
                                     for x, w in zip(arrays, ways, strict=True)))
    assert_same(expected, jax.tree.map(np.asarray, found), rtol=1e-9, atol=1e-9)


def deposited(a):
    total = np.zeros((3, a.shape[1]))
    np.add.at(total, (np.abs(a[:, 0]) * 2).astype(int) % 3, a)
    return total[1]


TOGETHER = {
    "sum": lambda a: a.sum(0), "max": lambda a: a.max(0), "product": lambda a: a.prod(0),
    "any": lambda a: (a > 1).any(0), "argmax": lambda a: a.argmax(0), "dot": lambda a: np.cos(a[:, 0]) @ a,
    "looked up": lambda a: a[FEW][1], "row": lambda a: a[int(abs(a[0, 0]) * 10) % 9], "deposited": deposited,
    "sort": lambda a: np.sort(a, 0), "running": lambda a: np.cumsum(a, 0),
    "running along rows": lambda a: np.cumsum(a, 1), "transform": lambda a: np.fft.fft(a, axis=0).real,
    "gathered beside": lambda a: (a + a.T[:, :1].T @ a.T @ a)[0],
}


@pytest.mark.parametrize("ways", [("x", "y"), ("y", "x")], ids=str)
@pytest.mark.parametrize("name", TOGETHER)
def test_parts_of_what_is_made_together(name, ways):
    """Each device needs another part of it."""
    def parts(a):
        made, out = a * TOGETHER[name](a), np.zeros_like(a)
        out[0:4, 0:3] = made[0:4, 0:3]
        out[4:8, 29:32] = made[4:8, 29:32]
        return out
    on_mesh(parts, [FIELD], [ways], x=4, y=2)


def marked(a, b):
    """Positions that count are shared by arrays that lie otherwise."""
    b[np.arange(7), b.argmax(1)] = 1
    a[np.arange(7), a.argmax(1)] = 3
    return a, b


def columns(a, b):
    k = int(np.abs(a).sum()) % 5
    b[:, :, 0] = a[:, :, k + 1]
    return b


def searched(a):
    return np.searchsorted(np.sort(a), a)


def slices_of_slices(a):
    for _ in range(3):
        a = np.take(a, np.abs(a).ravel()[:12].astype(int) % 12, axis=0)
        a[:-3] -= 0.5
    return a


def shifted_lookup(a):
    b = np.sort(a)[3:]
    b[0] = b[int(np.abs(b).sum()) % 12 + 1]
    return b[np.abs(b).astype(int)[:2] % 13]


QUARTERS = np.random.default_rng(2).integers(-16, 17, (12, 9, 12)) / 4
CASES = {       # function, arrays, how they lie, axes of the mesh
    "marked": (marked, [QUARTERS[0, :7], QUARTERS[1, :7] > 1], [("x",), (None, "x")], {"x": 8}),
    "columns": (columns, [QUARTERS, QUARTERS + 1], [(None, "x", "y"), ("y",)], {"x": 4, "y": 2}),
    **{f"searched {n}": (searched, [QUARTERS.ravel()[:n]], [("x",)], {"x": 8}) for n in (7, 8, 17)},
    "slices of slices": (slices_of_slices, [QUARTERS], [("x",)], {"x": 4, "y": 2}),
    "lookup": (shifted_lookup, [QUARTERS.ravel()[40:56]], [("x",)], {"x": 8}),
    "running, of complex numbers": (np.maximum.accumulate, [QUARTERS[0] + 1j * QUARTERS[1]], [("x",)], {"x": 8}),
}


@pytest.mark.parametrize("name", CASES)
def test_grids_that_differ(name):
    function, arrays, ways, axes = CASES[name]
    on_mesh(function, arrays, ways, **axes)
