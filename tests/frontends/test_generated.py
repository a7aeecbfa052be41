"""`sum`, `any` and `all` of generator expressions: loops where they are long, or as long as only the run knows."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree


def levinson(r):
    order = len(r) - 1
    a = np.zeros(order + 1)
    a[0], e = 1.0, r[0]
    for i in range(1, order + 1):
        k = -(r[i] + sum(a[j] * r[i - j] for j in range(1, i))) / e
        before = a.copy()
        for j in range(1, i):
            a[j] = before[j] + k * before[i - j]
        a[i] = k
        e *= 1 - k * k
    return a, e


def pairs(x):
    return sum(p * q for p, q in zip(x, x[::-1], strict=True)), sum(k * v for k, v in enumerate(x))


def positive(x):
    return sum(v for v in x if v > 0), sum(1 for v in x if v > 0 if v < 2), sum((v for v in x if v > 1), 10.0)


def decisions(x):
    return any(v > 2.5 for v in x), all(v > -10 for v in x), any(v > 0 and k > 3 for k, v in enumerate(x))


def rows(x):
    table = np.outer(x, x)
    return sum(row * 2 for row in table), sum(np.abs(row).max() for row in table)


def known_things(x):
    words = ["a", "bb", "ccc"]
    return sum(len(w) for w in words) * x, any(w == "bb" for w in words), sum(k for k in range(100)) + x[0]


def shadowed(x):
    def sum(items):
        return list(items)[0]

    return sum(v * 2 for v in x)


@pytest.mark.parametrize("program", [levinson, pairs, positive, decisions, rows, known_things, shadowed])
@pytest.mark.parametrize("length", [1, 3, 40])
def test_folds_agree_with_python(program, length):
    x = np.random.default_rng(length).standard_normal(length)
    x[0] = 3.0 + length
    agree(program, [(x,)])


@pytest.mark.parametrize("program", [levinson, pairs, positive, decisions, rows])
def test_long_folds_are_loops(program):
    x = np.random.default_rng(0).standard_normal(300)
    x[0] = 400.0
    operations = reactant.jit(program).lower(x).operations()
    assert sum(operations.values()) < 300


def test_a_fold_over_nothing():
    agree(pairs, [(np.zeros(0),)])
    agree(decisions, [(np.zeros(0),)])
