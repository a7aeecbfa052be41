"""Generators as loops run them, also through `enumerate`, `islice` and `zip`: one loop, however many its iterations
are."""
# ruff: noqa: B007, B905
from __future__ import annotations

import itertools

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.frontends.agreement import agree

H = np.exp(-np.linspace(-3, 3, 24) ** 2)
CASES = [(H, 7), (H, 1), (H, 0)]


def wave(height, speed):
    flux, first = np.zeros_like(height), True
    while True:
        flux[1:-1] = 0.5 * (height[2:] - height[:-2])
        if first:
            speed[1:-1] -= 0.1 * flux[1:-1]
            first = False
        else:
            speed[1:-1] -= 0.2 * flux[1:-1]
        height[1:-1] -= 0.2 * (speed[2:] - speed[:-2])
        yield height, speed


def steps(x, n):
    for i in range(n):
        x = x + 0.1 * np.sin(x) * (i + 1) - 0.01 * x ** 3 + np.roll(x, 1) * 0.1
        yield x


def begun(h):
    return wave(h.copy(), np.zeros_like(h))


def counted(h, n):
    k, a, b = 0, h, h
    for a, b in begun(h):
        k += 1
        if k > n:
            break
    return a, b, k


def enumerated(h, n):
    for k, (a, b) in enumerate(begun(h)):
        if k == n:
            break
    return a, b, k


def enumerated_from(h, n):
    a = h
    for k, (a, _) in enumerate(begun(h), 5):
        if k >= n + 5:
            break
    return a


def zipped(h, n):
    a = b = h
    for k, (a, b) in zip(range(n), begun(h)):
        a = a * k
    return a, b


def zipped_behind(h, n):
    """The generator goes on once more before the range turns out to be at its end."""
    copy, total = h.copy(), 0.0
    for (a, _), k in zip(wave(copy, np.zeros_like(h)), range(n)):
        total = total + a.sum() * k
    return copy, total


def zipped_between(h, n):
    copy, total = h.copy(), 0.0
    for k, (a, _), c in zip(range(n), wave(copy, np.zeros_like(h)), np.arange(5.0)):
        total = total + a.sum() * k * c
    return copy, total


def zipped_with_a_count(h, n):
    total = 0.0
    for k, x in zip(itertools.count(3), steps(h, n)):
        total = total + k * x.sum()
    return total


def sliced(h, n):
    a = b = h
    for a, b in itertools.islice(begun(h), n):
        pass
    return a, b


def sliced_from(h, n):
    total = h * 0
    for a, _ in itertools.islice(begun(h), 2, n + 2):
        total = total + a
    return total


def enumerated_slice(h, n):
    t, a = 0, h
    for k, (a, _) in enumerate(itertools.islice(begun(h), n)):
        t += k
    return a, t


def slice_of_an_enumeration(h, n):
    t = 0
    for k, (a, _) in itertools.islice(enumerate(begun(h)), n):
        t = t + k * a.sum()
    return t


def finite(h, n):
    x = h
    for x in steps(h, n):
        pass
    return x


def finite_enumerated(h, n):
    t = 0.0
    for k, x in enumerate(steps(h, n)):
        t = t + k * x.max()
    return t


def finite_left_early(h, n):
    for k, x in enumerate(steps(h, n)):
        if x[0] > 1.0:
            return k, x
    return -1, h


def collected(h, n):
    return [x.sum() for x in steps(h, n)], sum(x.sum() for x in steps(h, n))


def through_another(h, n):
    def scaled(source):
        for x in source:
            yield 2 * x
    t = h * 0
    for x in scaled(steps(h, n)):
        t = t + x
    return t


def delegated(h, n):
    def twice():
        yield from steps(h, n)
        yield from steps(2 * h, n)
    t = h * 0
    for x in twice():
        t = t * 0.5 + x
    return t


PROGRAMS = [counted, enumerated, enumerated_from, zipped, zipped_behind, zipped_between, zipped_with_a_count, sliced,
            sliced_from, enumerated_slice, slice_of_an_enumeration, finite, finite_enumerated, finite_left_early,
            collected, through_another, delegated]


@pytest.mark.parametrize("program", PROGRAMS)
def test_agrees(program):
    agree(program, [(h, n) for h, n in CASES if n or program is not enumerated])


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in (zipped_between, collected, finite_left_early)])
def test_iterations_of_one_loop(program):
    sizes = [sum(reactant.jit(program).lower(H, n).operations().values()) for n in (150, 300)]
    assert sizes[0] == sizes[1] < 400


@pytest.mark.slow
def test_loops_are_right():
    agree(enumerated, [(H, 150)])
    agree(zipped_behind, [(H, 150)])
    agree(finite_left_early, [(H, 150), (H - 4, 40)])


def resumed(h, n):
    g = begun(h)
    first = [a.sum() for a, _ in itertools.islice(g, 3)]
    second = [a.sum() for a, _ in itertools.islice(g, 2)]
    return first, second, next(g)[0]


def left_and_resumed(h, n):
    g = begun(h)
    for k, (a, _) in enumerate(g):
        if k == 2:
            break
    return a.copy(), next(g)[0]


def next_before(h, n):
    g = steps(h, n + 3)
    first, total = next(g), 0.0
    for k, x in enumerate(g):
        total = total + k * x.sum()
    return first, total


def number_is_a_size(h, n):
    for k, (a, _) in enumerate(begun(h)):
        if k == 3:
            break
    return np.ones(k) * a[:k]


def number_is_a_size_in_iterations(h, n):
    total = 0.0
    for k, (a, _) in enumerate(itertools.islice(begun(h), 4)):
        total = total + np.ones(k).sum() * a.sum()
    return total


def mapped(h, n):
    """The generator writes into the array that it has given before."""
    return [a.sum() for a in map(lambda pair: pair[0], itertools.islice(begun(h), 1, 6, 2))], \
        {k: a[0] for k, a in enumerate(map(np.copy, steps(h, 3)))}


def with_a_condition(h, n):
    return [a.sum() for a, _ in itertools.islice(begun(h), 1, 6, 2) if a.shape[0] > 2]


def texts(h, n):
    table = {"a": h, "b": 2 * h}

    def of_table():
        for name in table:
            yield name, table[name]
    return {name + str(k): x + k for k, (name, x) in enumerate(of_table())}


def two_generators(h, n):
    t = 0.0
    for x, y in zip(steps(h, n), steps(2 * h, 3)):
        t = t + (x * y).sum()
    return t


def stepped(h, n):
    return [a.sum() for a, _ in itertools.islice(begun(h), 1, 6, 2)]


def held_enumeration(h, n):
    e = enumerate(steps(h, 6))
    k, x = next(e)
    for k, x in e:
        if k > 3:
            break
    return k, x, [j for j, _ in e]


@pytest.mark.parametrize("program", [resumed, left_and_resumed, next_before, number_is_a_size, mapped, stepped,
                                     number_is_a_size_in_iterations, texts, two_generators, held_enumeration])
def test_one_by_one(program):
    """Where a loop cannot do it, Python's own generators give what is known."""
    agree(program, CASES[:2])


def test_what_is_written_later_is_no_list():
    with pytest.raises(ControlFlowError, match="writes into arrays which it has given before"):
        reactant.jit(with_a_condition)(H, 1)


def test_gradients_of_a_sliced_generator():
    def loss(x):
        for y in steps(x, 60):
            x = y
        return (x ** 2).sum()

    def of_a_for(x):
        for i in range(60):
            x = x + 0.1 * np.sin(x) * (i + 1) - 0.01 * x ** 3 + np.roll(x, 1) * 0.1
        return (x ** 2).sum()
    np.testing.assert_allclose(reactant.grad(loss)(H), reactant.grad(of_a_for)(H), rtol=1e-12)
