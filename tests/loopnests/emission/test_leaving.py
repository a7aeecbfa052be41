"""Reductions that the first element of a kind decides leave there."""
import time

import numpy as np
import pytest

import reactant
from reactant.loopnests.emission.leaving import LEAST, STEP
from tests.loopnests.emission.test_control import native_text


def crossing(x, t):
    above = x > t
    return np.flatnonzero(above[1:] & ~above[:-1])[0]


def any_(x, t):
    return np.any(x > t)


def all_(x, t):
    return (x <= t).all()


def place(x, t):
    return np.nonzero(x > t)[0][0]


def of_rows(x, t):
    return (x.reshape(3, -1) > t).any(axis=1), (x.reshape(3, -1) <= t).all(axis=-1)


def places_of_rows(x, t):
    return np.argmax(x.reshape(3, -1) > t, axis=1)


def of_columns(x, t):
    return (x.reshape(-1, 3) > t).any(axis=0), np.argmax(x.reshape(-1, 3) > t, axis=0)


def inside(x, t):
    return (x == t).any() if len(x) else False


def in_a_loop(x, t):
    total = 0
    for k in range(3):
        total += np.argmax(x + k > t) + np.any(x - k > t)
    return total


def backwards(x, t):
    return np.argmax(x[::-1] > t), np.any(x[::2] > t), np.all(x[::-3] <= t)


PROGRAMS = [any_, all_, of_rows, places_of_rows, of_columns, inside, in_a_loop, backwards]
SIZES = [3, 3 * LEAST + 3, 12_003]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, np.int16])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values(program, dtype):
    for n in SIZES:
        f = reactant.jit(program)
        for hits in ([], [0], [n - 1], [n // 2], [STEP, STEP + 1], [STEP - 1, n - 1], [n - 2, n // 3], list(range(n))):
            x = np.zeros(n, dtype)
            x[[h for h in hits if h < n]] = 5
            if dtype(0.5):
                x[n // 4:n // 4 + 2] = np.nan
            found, wanted = f(x, dtype(2)), program(x, dtype(2))
            np.testing.assert_equal(found, wanted)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize("program", [crossing, place])
def test_first_places(program):
    for n in SIZES:
        f = reactant.jit(program)
        for hits in ([1], [n - 1], [n // 2], [STEP, STEP + 1], [STEP - 1, n - 1], [n - 2, n // 3]):
            x = np.zeros(n)
            x[[h for h in hits if 0 < h < n] or [n - 1]] = 5.0
            np.testing.assert_equal(f(x, 2.0), program(x, 2.0))
        with pytest.raises(IndexError):
            f(np.zeros(n), 2.0)
        np.testing.assert_equal(f(x, 2.0), program(x, 2.0))


def test_nothing_to_look_at():
    for program in (any_, all_, inside):
        np.testing.assert_equal(reactant.jit(program)(np.zeros(0), 1.0), program(np.zeros(0), 1.0))


def test_threads():
    n = 1 << 23
    f = reactant.jit(lambda x, t: (np.any(x > t), np.nonzero(x > t)[0][0]))
    for hit in (0, 5_000_000, n - 1):
        x = np.zeros(n, np.float32)
        x[hit] = 5
        assert f(x, 2.0) == (True, hit)


def test_it_leaves():
    x = np.zeros(400_000)
    f = reactant.jit(place)
    taken = []
    for hit in (399_999, 20):
        x[:] = 0.0
        x[hit] = 5.0
        f(x, 2.0)
        least = 1.0
        for _ in range(10):
            begun = time.process_time()
            f(x, 2.0)
            least = min(least, time.process_time() - begun)
        taken.append(least)
    assert taken[1] < taken[0] / 4


@pytest.mark.parametrize(("program", "leaves"), [
    (any_, True), (all_, True), (crossing, True), (place, True), (of_columns, False),
    (lambda x, t: (x > t).sum(), False),
    (lambda x, t: x.min(), False), (lambda x, t: np.flatnonzero(x > t)[-1], False)])
def test_where_it_fires(program, leaves):
    x = np.zeros(3 * LEAST)
    x[5] = 3
    assert ("scf.while" in native_text(program, x, 2.0)) == leaves
    assert "scf.while" not in native_text(program, x[:LEAST - LEAST % 3], 2.0) or LEAST % 3 == 0
