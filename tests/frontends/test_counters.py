"""Attributes of functions and classes, cached properties and methods with a cache, in branches and loops."""
import functools

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

X = np.array([1.0, 2.0, 0.5])


def counted(function):
    @functools.wraps(function)
    def wrapper(*args):
        wrapper.calls += 1
        return function(*args)
    wrapper.calls = 0
    return wrapper


def differences(x):
    f = counted(lambda v: np.sum(v**2))
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        e = np.zeros_like(x)
        e[i] = 1e-3
        gradient[i] = (f(x + e) - f(x - e)) / 2e-3
    return gradient, f.calls


def many_iterations(x):
    f = counted(np.sum)
    for _ in range(300):
        x = x - 1e-4 * f(x)
    return x, f.calls


def in_branches(x):
    f = counted(np.sum)
    if x[0] > 0:
        y = f(x) + f(x)
    else:
        y = f(x)
    return y, f.calls


def of_a_class(x):
    class Particle:
        count = 0

        def __init__(self, mass):
            Particle.count += 1
            self.mass = mass

    total = 0.0
    for _ in range(7):
        total += Particle(x[0]).mass + Particle(x[1]).mass
    if x[0] > 0:
        total += Particle(x[2]).mass
    return total, Particle.count


class Doubled:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def twice(self):
        return self.x * 2


def cached(x):
    d = Doubled(x)
    for _ in range(20):
        x = x + d.twice
    return x


class Knapsack:
    def __init__(self, x):
        self.held = Doubled(x)

    @functools.lru_cache  # noqa: B019
    def best(self, item, room):
        if item == 0 or room == 0:
            return 0.0
        most = self.best(item - 1, room)
        if room >= item:
            taken = self.best(item - 1, room - item) + self.held.x[item - 1]
            if taken > most:
                most = taken
        return most


def methods_with_a_cache(x):
    sack, total = Knapsack(x), 0.0
    if x[0] > 0:
        total = sack.best(3, 5)
    for i in range(30):
        total = total + sack.best(2, 4) * i
    return total, sack.best(3, 5)


@pytest.mark.parametrize("program", [differences, many_iterations, in_branches, of_a_class, cached,
                                     methods_with_a_cache],
                         ids=lambda p: p.__name__)
def test_what_is_counted(program):
    agree(program, [(X,), (-X,)])


@counted
def outside(x):
    return x.sum()


def test_counters_from_outside_that_only_the_run_knows_are_refused():
    def until(x):
        while x[0] < 10:
            x = x + outside(x)
        return x

    with pytest.raises(reactant.ReactantError, match="outside.calls|wrapper.calls"):
        reactant.jit(until)(X)
    assert outside.calls == 0
