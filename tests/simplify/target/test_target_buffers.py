"""Loops with two buffers for the arrays they rewrite: the same results, and no whole-array copy in an iteration."""
from __future__ import annotations

import re

import numpy as np
import pytest

import reactant
from tests.oracle import check


def shortest_paths(d):
    for k in range(d.shape[0]):
        np.minimum(d, d[:, k, None] + d[None, k, :], out=d)


def mirror(a, steps):
    for i in range(steps):
        a = np.maximum(a, a[::-1]) - i
    return a


def two_fields(u, v, steps):
    for _ in range(steps):
        u = u + 0.1 * (v[:, ::-1] - u.T)
        v = v - 0.1 * u.T
    return u, v


@pytest.mark.parametrize("n", [33, 40])
def test_shortest_paths(n):
    check(shortest_paths, np.random.default_rng(n).uniform(1, 10, (n, n)))


@pytest.mark.parametrize("steps", [0, 1, 7, 8, 9, 50])
def test_any_number_of_iterations(steps):
    check(mirror, np.random.default_rng(0).random((70, 30)), steps)


@pytest.mark.parametrize("steps", [9, 40])
def test_several_arrays(steps):
    u, v = np.random.default_rng(1).random((2, 48, 48))
    check(two_fields, u, v, steps, rtol=1e-9)


def test_nothing_is_copied_in_a_iteration():
    text = reactant.code_xla(shortest_paths, np.ones((256, 256)))
    bodies = [block for block in text.split("\n\n") if not block.lstrip().startswith("ENTRY")]
    assert not any(re.search(r"= f64\[256,256\]\S* copy\(", block) for block in bodies)
