"""Loops that write rows as a recurrence, one row in each iteration of a loop around: all rows at once."""
import jax
import numpy as np
import pytest

import reactant

RNG = np.random.default_rng(5)
A, X = RNG.standard_normal((70, 160)), RNG.standard_normal(70)


def along(a):
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s = np.sin(s) + a[i, j]
            out[i, j] = s
    return out


def down_backwards(a):
    out, total = a.copy(), 0.0
    for j in range(a.shape[1]):
        s = 0.0
        for i in range(a.shape[0] - 1, -1, -1):
            s = np.exp(-s * s) + a[i, j]
            out[i, a.shape[1] - 1 - j] = s
        total += s
    return out, total


def trajectories(x, steps=150):
    places, speeds = np.zeros((len(x), steps)), np.zeros((len(x), steps))
    for p in range(len(x)):
        place, speed = x[p], 0.0
        places[p, 0] = place
        for t in range(1, steps):
            speed -= 0.1 * np.sin(place)
            place += 0.1 * speed
            places[p, t], speeds[p, t] = place, speed
    return places, speeds


def of_places_before(a):
    for i in range(a.shape[0]):
        for j in range(2, a.shape[1]):
            a[i, j] = np.sqrt(abs(a[i, j - 1])) + 0.5 * a[i, j - 2]
    return a


def middle_of_three(x, steps=150):
    out = np.zeros((4, steps, len(x)))
    for j in range(len(x)):
        s = x[j]
        for t in range(steps):
            s = np.cos(s) + 0.01 * t
            out[2, t, j] = s
    return out


def every_other_row(a):
    out = np.full((2 * a.shape[0], a.shape[1]), 3.0)
    for i in range(a.shape[0]):
        s = 1.0
        for j in range(1, a.shape[1]):
            s = np.tanh(s * a[i, j])
            out[2 * i + 1, j] = s
    return out


ROWS = [(along, A), (down_backwards, A), (trajectories, X), (of_places_before, A), (middle_of_three, X),
        (every_other_row, A)]


def whiles(function, *arguments, **options):
    return reactant.jit(function, **options).lower(*arguments).operations().get("stablehlo.while", 0)


def check(function, argument):
    plain, given = argument.copy(), argument.copy()
    expected, found = function(plain), reactant.jit(function)(given)
    for e, f in zip(jax.tree.leaves((expected, plain)), jax.tree.leaves((found, given)), strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-9)


@pytest.mark.parametrize("function, argument", ROWS)
def test_rows_are_computed_together(function, argument):
    check(function, argument)
    assert whiles(function, argument) == 1 < whiles(function, argument, without=("loop_rows",))


def test_their_derivative():
    def loss(a):
        return (along(a) ** 2).sum()
    found, step = reactant.grad(loss)(A), 1e-6 * RNG.standard_normal(A.shape)
    np.testing.assert_allclose((found * step).sum(), (loss(A + step) - loss(A - step)) / 2, rtol=1e-6)


def reads_the_row_above(a):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = 0.5 * np.sin(a[i, j - 1]) + 0.5 * np.cos(a[i - 1, j])
    return a


def writes_the_next_row(a):
    out = np.zeros_like(a)
    for i in range(a.shape[0] - 1):
        s = 0.0
        for j in range(a.shape[1]):
            s = np.sin(s) + a[i, j]
            out[i + 1, j] = s + out[i, j]
    return out


def goes_on_in_the_next_row(a):
    out, s = np.zeros_like(a), 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = np.sin(s) + a[i, j]
            out[i, j] = s
    return out


def one_row_for_all(a):
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s = np.sin(s) + a[i, j]
            out[3, j] += s
    return out


def read_between(a):
    out, total = np.zeros_like(a), 0.0
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s = np.sin(s) + a[i, j]
            out[i, j] = s
        total += out[i].max() + out[0, 0]
    return out, total


@pytest.mark.parametrize("function", [reads_the_row_above, writes_the_next_row, goes_on_in_the_next_row,
                                      one_row_for_all, read_between])
def test_rows_that_need_others_stay_in_order(function):
    check(function, A)
    assert whiles(function, A) >= 2


def test_cheap_recurrences_are_native_loops_on_a_cpu_only():
    def filtered(a):
        out = np.zeros_like(a)
        for i in range(a.shape[0]):
            s = 0.0
            for j in range(a.shape[1]):
                s = 0.9 * s + a[i, j]
                out[i, j] = s
        return out
    check(filtered, A)
    assert whiles(filtered, A, target="cpu") > 1
    assert whiles(filtered, A, target="gpu") <= 1
