"""Loops strip by strip, and loops exchanged: when, and that results stay."""
import re

import numpy as np
import pytest

import reactant
from tests.loopnests.emission.test_control import native_text, random
from tests.oracle import assert_same


def escape(c, limit):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for _ in range(limit):
        bounded = np.abs(z) <= 2.0
        z[bounded] = z[bounded] ** 2 + c[bounded]
        counts[bounded] += 1
    return counts


def decay(x, rate, steps):
    total = np.zeros_like(x)
    for k in range(steps):
        x = x - rate * x * x / (k + 1)
        total += x
    return x, total


def paths(normals, start):
    value = np.full(normals.shape[1], start)
    for step in range(normals.shape[0]):
        value *= np.exp(0.1 * normals[step])
        value = np.where(value > 1.5, 1.5, value)
    return value.mean()


def roots(a):
    x = a.copy()
    active = np.ones(a.shape, dtype=bool)
    while active.any():
        new = np.where(active, 0.5 * (x + a / x), x)
        active = active & (np.abs(new - x) > 1e-9)
        x = new
    return x


def neighbours(x, steps):
    for _ in range(steps):
        x = 0.5 * x + 0.5 * np.roll(x, 1)
    return x


def counted(x, limit):
    iterations = 0
    while iterations < limit:
        x = x * 0.99 + 0.01 * np.sqrt(x)
        iterations += 1
    return x, iterations


def thomas(lower, diagonal, upper, right):
    n = right.shape[2]
    for k in range(1, n):
        factor = lower[:, :, k] / diagonal[:, :, k - 1]
        diagonal[:, :, k] -= factor * upper[:, :, k - 1]
        right[:, :, k] -= factor * right[:, :, k - 1]
    right[:, :, n - 1] /= diagonal[:, :, n - 1]
    for k in range(n - 2, -1, -1):
        right[:, :, k] = (right[:, :, k] - upper[:, :, k] * right[:, :, k + 1]) / diagonal[:, :, k]
    return right


def across_rows(x):
    for k in range(1, x.shape[1]):
        x[:, k] += 0.5 * x[:, k - 1]
    return x


def from_other_rows(x):
    for k in range(1, x.shape[1]):
        x[1:, k] += 0.5 * x[:-1, k - 1]
    return x


def plane(n, m):
    return np.linspace(-2.0, 0.6, m)[np.newaxis, :] + 1j * np.linspace(-1.2, 1.2, n)[:, np.newaxis]


PROGRAMS = {
    "escape": (escape, lambda: (plane(19, 70), 60), True),
    "escape_odd": (escape, lambda: (plane(7, 33), 60), True),
    "decay": (decay, lambda: (random(333), 0.01, 90), True),
    "paths": (paths, lambda: (random(90, 77) - 0.5, 1.0), True),
    "roots": (roots, lambda: (random(130) * 50 + 0.1,), True),
    "counted": (counted, lambda: (random(21), 300), True),
    "neighbours": (neighbours, lambda: (random(64), 90), False),
    "thomas": (thomas, lambda: tuple(random(5, 6, 80) + k for k in (0, 3, 0, 0)), None),
    "across_rows": (across_rows, lambda: (random(40, 90),), None),
    "from_other_rows": (from_other_rows, lambda: (random(40, 90),), None),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function, make, strips = PROGRAMS[name]
    mine, plain = make(), make()
    wanted = function(*plain)
    assert_same(wanted, reactant.jit(function, native="always")(*mine), rtol=1e-10, atol=1e-12)
    assert_same(plain, mine, rtol=1e-10, atol=1e-12)
    if strips is not None:
        assert ("memref.alloca" in native_text(function, *make())) == strips


def test_a_strip_stops_when_nothing_is_active():
    text = native_text(escape, plane(19, 70), 60)
    assert "arith.ori" in text and text.count("scf.while") <= 2


def test_iterations_go_inside_only_where_that_is_right():
    exchanged = native_text(across_rows, random(400, 90))
    assert exchanged.index("scf.parallel") < exchanged.index("scf.while") or exchanged.count("scf.parallel") > 1
    inner = exchanged[exchanged.rindex("^bb0"):]
    eight = re.search(r"(%\w+) = arith.constant 8 : index", exchanged)
    assert eight is not None and all(f" to {eight[1]} " in line for line in inner.splitlines() if "scf.for" in line)
    kept = native_text(from_other_rows, random(400, 90))
    assert "scf.for" in kept[kept.rindex("^bb0"):] or "scf.parallel" in kept[kept.rindex("^bb0"):]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("last, written_out", [(1, False), (3, True), (4, True), (7, True), (8, False), (40, False)])
def test_vectors_go_over_rows_where_these_are_short(last, written_out, dtype):
    """A strip of three elements is no vector, and its iterations wait for each other."""
    def iterations(a):
        c = np.zeros_like(a[:, 0])
        for _ in range(300):
            c = np.exp(-c * c) + a[:, 0]
        return c
    a = (random(60, 2, last) * 0.1).astype(dtype)
    text = native_text(iterations, a)
    assert (f"native.unroll = {last}" in text) == written_out
    assert ("memref.alloca" in text) == (last > 8)
    np.testing.assert_allclose(reactant.jit(iterations)(a), iterations(a), rtol=1e-4 if dtype == np.float32 else 1e-12)
