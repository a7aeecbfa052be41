"""Why loops that are left are loops, as `explain` says it."""
from __future__ import annotations

import numpy as np
import pytest

import reactant


def recurrence(x):
    for i in range(2, len(x)):
        x[i] = x[i - 1] + x[i - 2] * x[i // 2]
    return x


def until_small(x):
    while x.sum() > 1:
        x = x / 2
    return x


def given_count(x, n):
    for _ in range(n):
        x = np.sin(x * x)
    return x


def sweeps(u):
    for _ in range(100):
        for i in range(1, len(u) - 1):
            u[i] = u[i - 1] + 0.25 * u[i + 1]
    return u


def at_once(x, y):
    for i in range(len(x)):
        y[i] = np.sin(x[i]) * 2
    return y


CASES = {
    "elements that were written before": (recurrence, (np.ones(50),), [
        ("x[i] = ", "for i in range(2", "elements (50 x f64) that {made} writes and later iterations read")]),
    "a condition on values": (until_small, (np.ones(9),), [
        ("while", "while", "what its iterations compute decides when it ends")]),
    "a whole array": (given_count, (np.ones((2, 3)), np.int64(70)), [
        ("x = np.sin", "for _ in", "an iteration needs what the one before made: 2 x 3 x f64, made in {made}")]),
    "nested": (sweeps, (np.ones(60),), [
        ("for i in", "for _ in", "60 x f64, made in {made}"),
        ("u[i] = ", "for i in", "elements (60 x f64) that {made} writes")]),
    "none": (at_once, (np.ones(60), np.ones(60)), []),
}


@pytest.mark.parametrize("name", CASES)
def test_why(name):
    function, given, expected = CASES[name]
    found = reactant.explain(function, *given)
    lines = {line.source: line.place.rpartition("/")[2] for line in found.lines}
    assert len(found.loops) == len(expected), found.loops
    for loop, (made, at, why) in zip(found.loops, expected, strict=True):
        made, at = (next(place for source, place in lines.items() if source.startswith(each)) for each in (made, at))
        assert loop.place.endswith(at) and why.format(made=made) in loop.why, loop
        assert str(loop) in str(found) and ("Loops that stay loops" in found.html())
