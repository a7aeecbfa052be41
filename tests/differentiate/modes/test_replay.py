"""Reverse mode that runs loops again: the schedule, and every number of turns around the sizes of its parts."""
from functools import cache

import numpy as np
import pytest

import reactant
from reactant.differentiate.modes.replay import REPETITIONS, schedule
from tests.differentiate.executed import executions

CHEAP = {"native": "never"}


@cache
def best(left, rows):
    """The fewest iterations run again to reverse `left` iterations from the first state with `rows` rows, that one
    included."""
    if left <= 1:
        return 0
    if rows == 1:
        return left * (left - 1) // 2
    return min(d + best(left - d, rows - 1) + best(d, rows) for d in range(1, left))


def run_again(left, rows, tables):
    """What the built schedule runs again; the arithmetic of `Replayed.distance`."""
    if left <= 1:
        return 0
    if rows == 1:
        return left * (left - 1) // 2
    reach, steps = tables
    few, early, many, late, rest = steps[rows][min(int((reach[rows] < left).sum()), REPETITIONS - 1)]
    distance = int(np.clip(early if left <= few else late if left >= many else left - rest, 1, left - 1))
    return distance + run_again(left - distance, rows - 1, tables) + run_again(distance, rows, tables)


@pytest.mark.parametrize("rows", [2, 3, 5, 8])
def test_the_schedule_is_the_best_there_is(rows):
    tables = schedule(rows)
    for left in range(2, 60):
        assert run_again(left, rows, tables) == best(left, rows), (left, rows)


def decay(x, n):
    y = x * 1.0
    for i in range(n):
        y = np.sin(y) * 0.99 + 0.01 * x[::-1] * (i % 3)
    return np.sum(y * x)


def written_out(x, n):
    """The gradient of `decay` by hand, iteration for iteration."""
    states = [x * 1.0]
    for i in range(n):
        states.append(np.sin(states[-1]) * 0.99 + 0.01 * x[::-1] * (i % 3))
    g, direct = x.copy(), states[-1].copy()
    for i in reversed(range(n)):
        direct += (0.01 * g * (i % 3))[::-1]
        g = g * 0.99 * np.cos(states[i])
    return direct + g


X = np.linspace(0.2, 1.4, 5)
WAYS = {"unknown": {}, "binomial": {"checkpoint": "binomial"}, "groups": {"checkpoint": 7},
        "budget": {"memory_budget": 600}}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("way", WAYS)
def test_every_number_of_iterations(way):
    gradient = reactant.jit(reactant.grad(decay, **WAYS[way]), traced_argnames="n", **CHEAP)
    for n in (0, 1, 2, 6, 7, 8, 63, 64, 65, 130, 1000):
        np.testing.assert_allclose(gradient(X, n), written_out(X, n), rtol=1e-12, atol=1e-14, err_msg=f"{n} iterations")


def nested(x, n):
    y = x * 1.0
    for _ in range(n):
        for _ in range(n):
            y = np.sin(y) * 0.99 + 0.01 * x
        y = y * x
    return np.sum(y * x)


def sines(function, **way):
    """How often the gradient computes the sine of an iteration, as a function of the number of iterations."""
    gradient = reactant.jit(reactant.grad(function, **way), traced_argnames="n", **CHEAP)
    count = executions(gradient.lower(X, np.int64(3)), "stablehlo.sine")
    return lambda n: count(X, np.int64(n))


@pytest.mark.slow
def test_how_often_a_iteration_is_run():
    """Once forwards, where states are left on the way, and once to keep what the sweep needs. What an inner loop runs
    again is added to that, not multiplied."""
    count = sines(decay)
    assert count(40) == 2 * 40 and count(3000) == 2 * 3000
    count = sines(nested)
    assert count(10) <= 3 * 100 and count(40) <= 3 * 1600


@pytest.mark.slow
def test_memory_does_not_depend_on_the_number_of_iterations():
    """The same program reverses 10 iterations and 100,000."""
    gradient = reactant.jit(reactant.grad(decay), traced_argnames="n", **CHEAP)
    compiled = gradient.lower(X, 3).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 100_000
    np.testing.assert_allclose(gradient(X, 20_000), written_out(X, 20_000), rtol=1e-9, atol=1e-12)


def root(a):
    x = a * 1.0
    while np.abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


@pytest.mark.slow
def test_a_search_that_ends_when_it_is_near_enough():
    assert reactant.grad(reactant.jit(root, **CHEAP))(2.0) == pytest.approx(0.5 / np.sqrt(2.0))


@pytest.mark.slow
def test_second_derivatives_of_a_search():
    assert reactant.grad(reactant.grad(root))(2.0) == pytest.approx(-0.25 * 2.0 ** -1.5)
    assert reactant.hessian(root)(2.0) == pytest.approx(-0.25 * 2.0 ** -1.5)
    assert reactant.check_derivatives(root, 3.0)
