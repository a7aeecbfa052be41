"""What dicts hold under keys only known at run time."""
from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, UnsupportedError
from tests.frontends.agreement import agree

X = np.array([3.0, 1.0, 2.0, -1.0, 4.0, -2.0])
CASES = [(X.copy(),), (X[::-1].copy(),), (X + 1,), (-X,)]


def number_or_default(x):
    prices = {1: 2.0, 2: 3.0, 7: x.max()}
    k = int(x[0])
    return prices.get(k, 5.0), prices.get(k + 1, x[1]), Counter({3: 5, 4: 1}).get(k, 0), k in prices


def looked_up(x):
    prices = {1: 2.0, 2: 3.0, 7: 1}
    return sum(prices[int(v)] if int(v) in prices else -1.0 for v in x), {k: k * k for k in range(-400, 400)}[int(x[2])]


def tuples(x):
    cost = {(0, 0): 1, (0, 1): 5, (1, 0): 7, (1, 1): 0, "a": 4, (1, 1, 1): 9, (0, "b"): 2}
    total, before = 0, 0
    for v in x:
        now = int(v > 0)
        total += cost[before, now] + cost.get((before, 2), 10) + cost[0, "b"]
        before = now
    return total


def counted(x):
    count = {k: 0 for k in range(-6, 7)}
    for v in x:
        count[int(v)] += 1
    return count


def other_numbers(x):
    halves, wide = {0.5: 1, 1.5: 2, 2: 3, True: 4}, np.uint64(2**63) + np.abs(x[:1]).astype(np.uint64)
    return halves.get(float(x[0]) / 2, -1), {True: 1.0, False: 2.0}[bool(x[0] > 0)], halves.get(bool(x[1] > 1), 0), \
        {1j: 1.0, 1.0: 2.0}.get(complex(0, abs(x[1])), 0.0), {-(2**63) + 3: 1}.get(wide[0], 0), {None: 1}.get(x[0], 2)


def arrays(x):
    states = {0: x * 2, 1: x + 1, 2: x.copy()}
    chosen = states[int(abs(x[1])) % 3]
    chosen[0] = 9.0
    return states


def functions(x):
    return {0: np.sin, 1: np.cos, 2: np.tan}[int(abs(x[2])) % 3](x)


def neighbours(x):
    links = {0: [1, 2], 1: [2], 2: [0, 1, 3], 3: []}
    total, u = 0, int(abs(x[2])) % 4
    for v in links[u]:
        total += v
    return total, len(links[u])


def nested(x):
    parts = {0: {"mass": 1.0, "force": x}, 1: {"mass": 2.0, "force": x + 1}}
    part = parts[int(x[0] > 0)]
    return part["mass"] * part["force"]


def caught(x):
    try:
        return {1: 2.0}[int(x[0])]
    except KeyError:
        return -7.0


def until_full(x):
    parts = dict.fromkeys(range(4), 0.0)
    while sum(parts.values()) < 10:
        k = int(sum(parts.values())) % 4
        parts[k] += x[k] ** 2 + 1
    return parts


@pytest.mark.parametrize("program", [number_or_default, looked_up, tuples, counted, other_numbers, arrays, functions,
                                     neighbours, nested, caught, until_full])
def test_as_python(program):
    agree(program, CASES)


def test_keys_that_are_not_there():
    with pytest.raises(KeyError, match="not in the dict"):
        reactant.jit(lambda x: {1: 2.0}[int(x[0])])(X)

    def added(x):
        found = {1: 2.0}
        found[int(x[0])] = 3.0
        return found

    agree(added, [(np.array([1.9]),)])
    with pytest.raises(UnsupportedError, match="^A dict gets a key only known at run time"):
        reactant.jit(added)(X)


def test_dicts_that_grow_are_refused():
    def grown(x):
        found = defaultdict(float)
        for v in x:
            found[int(v)] += v
        return found

    with pytest.raises(ConcreteValueNeeded, match="^hash"):
        reactant.jit(grown)(X)


def by_iteration(x):
    weights = {k: x + k for k in range(5)}
    for k in range(5):
        x = np.tanh(weights[k] * x)
    return x


def test_known_keys_stay_known():
    operations = reactant.jit(by_iteration).lower(X).operations(optimized=False)
    assert "stablehlo.while" not in operations and "stablehlo.select" not in operations
