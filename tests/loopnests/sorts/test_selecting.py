"""Few places of a sort: medians, percentiles, partitions; keys that are many times the same; what stays a sort."""
import numpy as np
import pytest

import reactant
from reactant.ir.context import building
from reactant.loopnests.sorts import selecting
from reactant.native import numpy_sorts

LONG = 2 * selecting.LEAST + 501
ROWS = {"random": lambda r, s: r.standard_normal(s) * 1e6, "three values": lambda r, s: r.integers(0, 3, s),
        "all the same": lambda r, s: np.full(s, 5), "in order": lambda r, s: np.arange(np.prod(s)).reshape(s),
        "steps": lambda r, s: np.arange(np.prod(s)).reshape(s) % 50,
        "mostly one": lambda r, s: np.where(r.random(s) < 0.9, 3, r.integers(-9, 9, s))}
PLACES = {"the middle": (LONG // 2, LONG // 2 + 2), "the least": (0, 1), "the last": (LONG - 3, LONG)}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), [((LONG,), 0), ((2, LONG, 3), 1)])
def test_places_of_a_sort(row, dtype, shape, axis):
    x = np.abs(ROWS[row](np.random.default_rng(0), shape)).astype(dtype)
    if dtype[0] == "f":
        x.reshape(-1)[::97], x.reshape(-1)[1::89], x.reshape(-1)[2::83] = np.nan, -np.inf, -x.reshape(-1)[2::83]

    def places(x):
        ordered = np.sort(x, axis=axis)
        return [np.moveaxis(ordered, axis, 0)[low:high] for low, high in PLACES.values()]
    compiled = reactant.jit(places)
    for ours, wanted in zip(compiled(x), places(x), strict=True):
        np.testing.assert_array_equal(ours, wanted)


@pytest.mark.skipif(not numpy_sorts.fast("i64", LONG), reason="NumPy has no vector code here")
@pytest.mark.parametrize(("read", "selected"), [
    (np.median, True), (lambda x: np.sort(x)[:7], True), (lambda x: np.sort(x)[: x.size // 2], False),
    (lambda x: np.sort(x) + np.sort(x)[3], False)])
def test_what_is_selected(read, selected):
    lowered = reactant.jit(read).lower(np.ones(LONG))
    with building():
        lowered.native_module(None)
    assert any("selection" in note for note in lowered.notes) == selected


@pytest.mark.parametrize("kth", [3, -1, [2, 900], LONG - 20])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f2", "f8"])
def test_partition(kth, dtype):
    x = (np.random.default_rng(0).standard_normal((2, LONG)) * 40).astype(dtype)
    parts = reactant.jit(lambda x: (np.partition(x, kth), np.argpartition(x, kth)))(x)
    ordered = np.sort(x)
    for part in (parts[0], np.take_along_axis(x, parts[1], -1)):
        np.testing.assert_array_equal(np.sort(part), ordered)
        for k in np.atleast_1d(kth) % LONG:
            np.testing.assert_array_equal(part[:, k], ordered[:, k])
            np.testing.assert_array_equal(np.sort(part[:, :k]), ordered[:, :k])


def test_derivatives_go_to_where_elements_came_from():
    x = np.random.default_rng(0).standard_normal(LONG)
    weights = np.where(np.arange(LONG) < 20, 2.0, np.where(np.arange(LONG) == 20, 5.0, 1.0))   # NumPy defines no order
    place = np.argsort(x)

    def least(x):
        return np.sum(np.partition(x, 20)[:20] ** 2) + np.median(x)
    wanted = np.zeros(LONG)
    wanted[place[:20]] = 2 * x[place[:20]]
    wanted[place[LONG // 2]] += 1
    np.testing.assert_allclose(reactant.grad(least)(x), wanted)
    moved = reactant.jit(lambda x: np.argpartition(x, 20))(x)
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(np.partition(x, 20) * weights))(x)[moved], weights)
