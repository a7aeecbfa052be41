"""Loops over long lists of arrays, against plain NumPy; what only reads the elements stays a loop."""
import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

POINTS = np.random.default_rng(5).normal(size=(70, 3))


def pairs(points):
    points = [2 * p for p in points]
    energy = 0.0
    for p in points:
        for q in points:
            energy += 1 / np.sqrt(np.sum((p - q) ** 2) + 0.1)
    return energy


def normalised(points):
    found = []
    for p in [p + 1 for p in points]:
        found.append(p / np.linalg.norm(p))
    return np.array(found)


def weighted(points):
    total = np.zeros(3)
    for weight, p in [(p.sum(), 2 * p) for p in points]:
        if weight > 0:
            total += weight * p[::-1]
    return total


def matrices(points):
    product = np.eye(3)
    for m in [np.outer(p, p) + np.eye(3) for p in points]:
        product = m @ product / np.linalg.norm(product)
    return product


def written(points):
    points = [2 * p for p in points]
    for p in points:
        p[0] = p.sum()
    return np.array(points)


def views_are_written(points):
    for p in list(points):
        p[0] = p.sum()
    return points


def others_are_written(points):
    points, total = [2 * p for p in points], 0.0
    for p in points:
        points[7][0] += 1
        total += p.sum()
    return total, points[7]


def the_greatest(points):
    points = [2 * p for p in points]
    best = points[0]
    for p in points:
        if p.sum() > best.sum():
            best = p
    best[0] = 99.0
    return best, np.array(points)


def the_last(points):
    points, total = [2 * p for p in points], 0.0
    for p in points:
        total += p[1]
    p[0] = 99.0
    return total, p, np.array(points)


def collected(points):
    points, found = [2 * p for p in points], []
    for p in points:
        found.append(p)
    found[3][0] = 7.0
    return np.array(found), np.array(points)


def told_apart(points):
    points, number = [2 * p for p in points], 0
    for p in points:
        for q in points:
            if p is not q:
                number += p @ q
    return number


def twice_in_it(points):
    points = [2 * p for p in points]
    points[4] = points[3]
    for p in points:
        p += 1
    return np.array(points)


def of_two_shapes(points):
    total = 0.0
    for p in [p[:2] if k % 2 else p for k, p in enumerate(points)]:
        total += p.sum()
    return total


@pytest.mark.slow
@pytest.mark.parametrize("program", [
    pairs, normalised, weighted, matrices, written, views_are_written, others_are_written, the_greatest, the_last,
    collected, told_apart, twice_in_it, of_two_shapes], ids=lambda f: f.__name__)
def test_programs(program):
    agree(program, [(POINTS,), (POINTS[:17],)])


@pytest.mark.parametrize("program", [pairs, normalised, weighted, matrices], ids=lambda f: f.__name__)
def test_loops_stay_loops(program):
    """40 times 40 iterations were unrolled: 40 s."""
    assert "stablehlo.while" in reactant.code_hlo(program, POINTS, optimize=False)


@pytest.mark.slow
def test_gradients():
    assert reactant.check_derivatives(pairs, POINTS)
    assert reactant.check_derivatives(matrices, POINTS)
