"""Loops that pass arrays of the caller around: contents end up where NumPy leaves them, and the loops stay loops."""
import linecache
import warnings

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree


def step(source, target, amount=0.0):
    target[1:-1] = 0.5 * (source[2:] + source[:-2]) + amount


def swapped(u, v, n):
    for k in range(n):
        step(u, v, 0.01 * k)
        u, v = v, u
    return u


def swapped_by_a_third_name(u, v, n):
    for _ in range(n):
        old = u
        u = v
        v = old
        u[1:] += 0.5 * v[:-1]
    return u - v


def ring_of_three(u, v, n):
    w = np.ones_like(u)
    w0 = w
    for _ in range(n):
        w[...] = 0.5 * u + 0.25 * v
        u, v, w = v, w, u
    return u * 1, v * 2, w * 3, w0 * 4


def rings_of_two_and_three(u, v, n):
    a, b, c = u[::2].copy(), u[::2] + 1, u[::2] + 2
    kept = [a, b, c]
    for _ in range(n):
        step(u, v)
        a[0] += 1
        b[1] *= 0.5
        u, v = v, u
        a, b, c = b, c, a
    return a + b, kept[0] * 1, kept[1] * 1, kept[2] * 1, u * 1


def own_buffer(u, v, n):
    new = np.zeros_like(u)
    for _ in range(n):
        step(u, new)
        u, new = new, u
    return new + v


def not_all_in_the_ring(u, v, n):
    total = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u, v = v, u
        total += u
        scaled = total * 0.5
    return total, scaled + u


def view_from_before(u, v, n):
    w = u[2:5]
    for _ in range(n):
        step(u, v)
        u, v = v, u
    w[0] = 9.0
    return u.sum(), v * 1, w * 1


def nested(u, v, n):
    for _ in range(12):
        for _ in range(n):
            step(u, v)
            u, v = v, u
        u += 1
        step(v, u)
    return v * 1


def stops_early(u, v, n):
    iterations = 0
    for _ in range(1000):
        step(u, v)
        change = np.abs(u - v)[1:-1].max()
        u, v = v, u
        iterations += 1
        if change < 0.2 / (n + 1):
            break
    u[0] = 7.0
    return u * 2, iterations


def while_loop(u, v, n):
    while np.abs(u[1:-1] - v[1:-1]).max() > 0.2 / (n + 1):
        step(u, v)
        u, v = v, u
        v[0], v[-1] = u[0], u[-1]
    return v - u


def swapped_sometimes(u, v, n):
    w = u[:3]
    for k in range(n):
        v[k % 4] += u[k % 3]
        if v[k % 4] > 1.5:
            u, v = v, u
        v *= 0.9
    return u * 1, v * 2, w * 3


def integers(u, v, n):
    u, v = u.astype(np.int32), v.astype(np.int32)
    first = u
    for _ in range(n):
        v[:] = u * 3 + 1
        u, v = v, u
    return first * 1, u * 2


PROGRAMS = [swapped, swapped_by_a_third_name, ring_of_three, rings_of_two_and_three, own_buffer, not_all_in_the_ring,
            view_from_before, nested, stops_early, while_loop, swapped_sometimes, integers]


def arguments(length=9):
    generator = np.random.default_rng(length)
    return generator.random(length), generator.random(length)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy_with_a_known_count(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # one compilation a count
        agree(program, [(*arguments(), n) for n in (0, 1, 2, 6, 7)], unroll_limit=0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy_with_a_run_time_count(program):
    agree(program, [(*arguments(), n) for n in (0, 1, 2, 3, 4, 5, 12)], traced_argnames=("n",))


@pytest.mark.parametrize("program", [swapped, ring_of_three, own_buffer, nested])
def test_the_loop_stays_a_loop(program):
    counts = [reactant.jit(program).lower(*arguments(), n).operations() for n in (400, 800)]
    assert counts[0] == counts[1]
    assert counts[0]["stablehlo.while"] >= 1


def test_one_array_given_twice():
    def both(x, n):
        return swapped(x, x, n)

    agree(both, [(arguments()[0], n) for n in (3, 30)], unroll_limit=0)


def read_through_a_view(u, v, n):
    w = u[2:5]
    for _ in range(n):
        step(u, v, w.sum())
        u, v = v, u
    return u


def read_through_a_list(u, v, n):
    pair = [u, v]
    for _ in range(n):
        step(u, v, pair[0][0])
        u, v = v, u
    return u


def bound_again_from_before(u, v, n):
    first, w = u, v
    for _ in range(n):
        step(u, v)
        u, v = v, u
        w = first
    return u, w


def kept_in_the_loop(u, v, n):
    last = v
    for _ in range(n):
        step(u, v)
        last = u
        u, v = v, u
    return last


def one_name_for_both(u, v, n):
    for _ in range(n):
        step(u, v)
        u = v
        v = u
    return u


def test_a_name_that_no_iteration_reads():
    agree(bound_again_from_before, [(*arguments(), n) for n in (0, 1, 4, 41)], max_unroll=3, unroll_limit=0)


@pytest.mark.parametrize("program", [
    read_through_a_view, read_through_a_list, kept_in_the_loop, one_name_for_both])
def test_other_ways_to_reach_the_arrays_are_noticed(program):
    """Few iterations are unrolled; a loop is refused."""
    agree(program, [(*arguments(), n) for n in (0, 3, 6)])
    with pytest.raises(reactant.ReactantError, match=f"test_carried_permutations.py:.*in {program.__name__}"):
        reactant.jit(program, max_unroll=3, unroll_limit=0)(*arguments(), 40)


@pytest.mark.slow
def test_many_choices_in_one_iteration_cost_what_each_costs():
    """Every choice is of the two before it: followed one by one they would be millions."""
    body = "".join(f"        if x[{k % 4}] + i > {k % 7}:\n            u, v = v, u\n"
                   f"        u[{k % 4}] += 0.5 * v[{(k + 1) % 4}]\n" for k in range(24))
    text = f"def program(x, u, v, n):\n    for i in range(n):\n{body}    return u * 1, v * 2\n"
    linecache.cache["<choices>"] = (len(text), None, text.splitlines(True), "<choices>")
    namespace: dict = {}
    exec(compile(text, "<choices>", "exec"), namespace)
    arrays = np.random.default_rng(0).uniform(-3, 6, (3, 4))
    agree(namespace["program"], [(*arrays, np.int64(n)) for n in (0, 5)], traced_argnames="n")
