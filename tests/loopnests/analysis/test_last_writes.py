"""`out[i] = b` where indices repeat: the last write wins, written in order by one loop, few updates or many."""
import numpy as np
import pytest

import reactant
from reactant.loopnests.analysis import last_writes


def put(a, b, i):
    out = a.copy()
    out[i] = b
    return out


def put_and_read(a, b, i):
    a[i] = b
    return a[i[::-1]]


@pytest.fixture
def written(monkeypatch):
    found = []
    monkeypatch.setattr(last_writes, "_scatter", lambda *given, scatter=last_writes._scatter:
                        found.append(given) or scatter(*given))
    return found


@pytest.mark.parametrize(("n", "count", "chosen"), [(3000, 9000, True), (40, 40_000, True), (30_000, 29_999, True),
                                                    (40_000, 400, False), (1, 70_000, True)])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16", "u1", "f2"])
@pytest.mark.sampled(20)
def test_vectors(n, count, chosen, dtype, written):
    random = np.random.default_rng(0)
    a, b = (100 * random.random(n)).astype(dtype), (100 * random.random(count)).astype(dtype)
    i = random.integers(-n, n, count)
    for function in (put, put_and_read):
        ours, numpys = a.copy(), a.copy()
        np.testing.assert_array_equal(reactant.jit(function, native="always")(ours, b, i), function(numpys, b, i))
        np.testing.assert_array_equal(ours, numpys)
    assert bool(written) == chosen


@pytest.mark.parametrize("count", [900, 20_000])
def test_matrices(count):
    random = np.random.default_rng(1)
    m, rows, columns = random.random((200, 50)), random.integers(0, 200, count), random.integers(0, 50, count)

    def pairs(m, v):
        out = m.copy()
        out[rows, columns] = v
        return out

    def whole_rows(m, v):
        out = m.copy()
        out[rows] = v[:, None] * m[0]
        return out
    v = random.random(count)
    for function in (pairs, whole_rows):
        np.testing.assert_array_equal(reactant.jit(function)(m, v), function(m, v))


def test_indices_outside_are_errors():
    with pytest.raises(IndexError):
        reactant.jit(put)(np.zeros(3000), np.ones(9000), np.full(9000, 3000))


def test_choices_that_are_no_writes_stay(written):
    """What is chosen by another test, or fetched from other places."""
    def other(a, b, i):
        last = np.full(a.size, -1)
        np.maximum.at(last, i, np.arange(i.size))
        return np.where(last >= 1, b[np.maximum(last, 0)], a), np.where(last >= 0, b[np.maximum(last - 1, 0)], a)
    random = np.random.default_rng(2)
    given = random.random(3000), random.random(9000), random.integers(0, 3000, 9000)
    for ours, wanted in zip(reactant.jit(other, native="always")(*given), other(*given), strict=True):
        np.testing.assert_array_equal(ours, wanted)
    assert not written
