"""Comparisons of lists of run-time length, of dicts that hold traced values; lists of known texts; joined lists."""
import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.agreement import agree

X = np.array([0.3, 0.5, 0.7])
CASES = [(X * s,) for s in ([1, 1, 1], [1, -1, 1], [-1, 1, -1], [-1, -1, -1])]


def numbers(x, iterations=60):
    found = []
    for k in range(iterations):
        if x[k % 3] > 0:
            found.append(x[k % 3] * (k + 1))
    return found


def equal(x):
    n = numbers(x)
    every = []
    for k in range(60):
        if x[k % 3] < 9:
            every.append(k)
    return (n == n, n == n[:], n == sorted(n), n != sorted(n), n == [], n == [x[0]], n == tuple(n), n == 3,
            tuple(n) == tuple(n[:]), every == list(range(60)), every[:2] == [0, 1], [n, 1] == [n[:], 1],
            {"a": n} == {"a": n[:]}, n == n + [1.0], not n == [])


def ordered(x):
    n = numbers(x)
    return (n < n, n <= n[:], n < n[1:], n > n[:1], n >= [], [] < n, n < [1e9], [0.0] <= n, n < n + [1.0],
            n > [x[0], 2.0])


def in_the_loop(x):
    n, count = [], 0
    for k in range(60):
        if x[k % 3] > 0:
            n.append(k)
        count += n == [0, 1]
        count += n == sorted(n)
        if n and n[-1:] == [k]:
            count += 1
    return count


def joined(x):
    n = numbers(x)
    m = n + [1.0]
    m += n * 2
    return len(m), sum(m), m[-1], ([2.0] + n)[0], any(n), all(n), any(v > 9 for v in n)


def labels(x):
    names = []
    for k in range(60):
        if x[k % 3] > 0:
            names.append("up")
    score, table = 0.0, {"up": 2.0}
    for name in names:
        score += table[name]
        score += name == "up"
    return "up" in names, "down" in names, names.count("up"), score, len(names), names.index("up") if names else -1


@pytest.mark.parametrize("program", [equal, ordered, in_the_loop, joined, labels])
def test_lists_of_run_time_length(program):
    """Two were equal only as objects; those of known elements had no room."""
    agree(program, CASES)


def test_nothing_but_lists_is_ordered_with_lists():
    with pytest.raises(TypeError, match="'<' not supported between instances of 'list' and 'tuple'"):
        reactant.jit(lambda x: numbers(x) < (1.0,))(X)


@pytest.mark.parametrize("program", [lambda x: str(numbers(x)), lambda x: f"{numbers(x)}"])
def test_they_have_no_text(program):
    """It was that of an object of ours."""
    with pytest.raises(UnsupportedError, match="The text of this list"):
        reactant.jit(program)(X)


def dicts(x):
    return ({1: x[0]} == {1: x[0] + 0}, {1: x[0]} == {1: x[1]}, {1: x[0]} != {1: x[1]}, {1: x[0]} == {2: x[0]},
            {1: {2: x[0]}, 3: 4} == {3: 4, 1: {2: x[0] * 1}}, {} == {1: x[0]}, {1: [x[0]]} == {1: [x[0] + 1]})


def test_dicts_of_traced_values():
    agree(dicts, CASES)


def keys_of_one_path(x):
    d, seen = {}, set()
    if x[0] > 0:
        d["a"] = x[1]
    if x[1] > 0:
        d["a"] = d.get("a", 0.0) + x[2]
    if x[2] > 0:
        seen.add("c")
    return len(d), d.get("a", -1.0), "a" in d, sum(d.values(), 0.0), len(seen), "c" in seen


def test_keys_that_one_path_adds():
    agree(keys_of_one_path, CASES)
