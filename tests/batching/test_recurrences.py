"""Recurrences as scans: the loop is gone, the values are those of NumPy, and nothing happens where it may not."""
import numpy as np
import pytest

import reactant

RNG = np.random.default_rng(11)
LOOSE = {"target": "tpu", "allow": ("rounding", "association"), "finite": True}


def filtered(x):
    out, y = np.zeros(len(x)), 0.25
    for i in range(len(x)):
        y = 0.9 * y + 0.1 * x[i]
        out[i] = y
    return out, y


def gated(x, g):
    out, h = np.zeros(x.shape), np.zeros(x.shape[1])
    for i in range(len(x)):
        h = g[i] * h + (1 - g[i]) * np.tanh(x[i])
        out[i] = 2 * h
    return out


def held(x):
    """Takes a new value only where it is positive."""
    out, h = np.zeros(len(x)), -1.0
    for i in range(len(x)):
        h = np.where(x[i] > 0, x[i], h)
        out[i] = h
    return out


def running_total_and_product(x):
    out, total, product = np.zeros((len(x), 2)), 0.0, 1.0
    for i in range(len(x)):
        out[i, 0], out[i, 1] = total, product
        total = total + x[i]
        product = product * (1 + x[i] / 50)
    return out


def depreciated(x):
    value = 100.0
    for i in range(len(x)):
        value = (value - x[i]) / 1.5 + 3
    return value


def two_stages(x):
    """The second recurrence reads the first one."""
    out, a, b = np.zeros(len(x)), 0.0, 0.0
    for i in range(len(x)):
        a = 0.5 * a + x[i]
        b = 0.25 * b - a
        out[i] = b
    return out


def rotated(x):
    m, state, out = np.array([[0.6, -0.8], [0.8, 0.6]]), np.zeros(2), np.zeros((len(x), 2))
    for i in range(len(x)):
        state = m @ state + x[i]
        out[i] = state
    return out


def rows_by_matrices(ms, x):
    state = np.ones((3, 2))
    for i in range(len(ms)):
        state = state @ ms[i] + x[i]
    return state


def counted(k):
    out, n = np.zeros(len(k), np.int64), np.int64(1)
    for i in range(len(k)):
        n = k[i] - n
        out[i] = n
    return out


def highest(x):
    out, m = np.zeros(len(x)), -np.inf
    for i in range(len(x)):
        m = np.maximum(m, x[i])
        out[i] = m
    return out


def line(n):
    return RNG.normal(size=n)


PROGRAMS = [(filtered, (line(301),)), (gated, (RNG.normal(size=(300, 3)), RNG.uniform(0, 1, (300, 3)))),
            (held, (line(257),)), (running_total_and_product, (line(290),)), (depreciated, (line(300),)),
            (two_stages, (line(320),)), (rotated, (RNG.normal(size=(260, 2)),)),
            (rows_by_matrices, (RNG.normal(size=(280, 2, 2)) * 0.6, RNG.normal(size=(280, 3, 2)))),
            (counted, (RNG.integers(0, 9, 270),)), (highest, (line(300),))]


def whiles(function, arguments, **options):
    return reactant.jit(function, **options).lower(*arguments).operations().get("stablehlo.while", 0)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function, arguments", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_scans(function, arguments):
    assert whiles(function, arguments, **LOOSE) == 0
    found, wanted = reactant.jit(function, **LOOSE)(*arguments), function(*arguments)
    for mine, theirs in zip(found if isinstance(found, tuple) else (found,),
                            wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def squared(x):
    y = 0.5
    for i in range(len(x)):
        y = 0.5 * y * y + x[i] / 10
    return y


def reads_its_past(x):
    a, b = 0.0, 1.0
    for i in range(len(x)):
        a, b = b * 0.5 + x[i], a
    return a + b


@pytest.mark.parametrize("function", [squared, reads_its_past])
def test_what_is_no_such_recurrence_stays_a_loop(function):
    x = line(300)
    assert whiles(function, (x,), **LOOSE) == 1
    np.testing.assert_allclose(reactant.jit(function, **LOOSE)(x), function(x), rtol=1e-9)


def test_floats_need_leave_and_a_cpu_keeps_its_loops():
    x = line(301)
    assert whiles(filtered, (x,), target="tpu") == 1
    assert whiles(highest, (x,), target="tpu") == 0
    assert whiles(counted, (RNG.integers(0, 9, 270),), target="gpu") == 0
    assert whiles(filtered, (x,), allow=("rounding", "association"), finite=True) == 1
