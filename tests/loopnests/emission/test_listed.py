"""Loops over what a mask has left: which steps run over lists, and that results stay NumPy's."""
import copy
import re
import time

import numpy as np
import pytest

import reactant
from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.emission import listed
from tests.loopnests.emission.test_control import native_text
from tests.oracle import assert_same

RANDOM = np.random.default_rng(7)


def escape(c, iterations):
    counts = np.zeros(c.shape, dtype=np.int64)
    left_at = np.zeros(c.shape, np.complex128)
    z, places = np.zeros(c.shape, np.complex128), np.arange(len(c))
    for k in range(iterations):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        gone = abs(z) > 2.0
        counts[places[gone]] = k + 1
        left_at[places[gone]] = z[gone]
        np.logical_not(gone, gone)
        z, places, c = z[gone], places[gone], c[gone]
    return counts, left_at


def rebound(x, iterations):
    steps, places, total = np.zeros(len(x), int), np.arange(len(x)), 0.0
    for k in range(iterations):
        x = x * 1.02 + 0.01
        keep = x < 2.0
        steps[places[~keep]] = k + 1
        total += x[keep].sum()
        x, places = x[keep], places[keep]
    return steps, total


def read_afterwards(x, iterations):
    for _ in range(iterations):
        x = x * 1.02
        x = x[x < 2.0]
    return x.sum(), len(x), (x > 1).any()


def while_any(x):
    iterations, total = 0, 0.0
    while len(x) > 0:
        x = x - 0.05
        x = x[x > 0]
        total += x.sum()
        iterations += 1
    return iterations, total


def rows(points, iterations):
    total = 0.0
    for _ in range(iterations):
        points = points * 1.02
        points = points[np.sqrt((points**2).sum(axis=1)) < 4.0]
        total += points.sum()
    return total, len(points)


def into_bins(x, label, iterations):
    found = np.zeros(10)
    for _ in range(iterations):
        x = x + 0.1 * np.sin(x)
        gone = x > 1.0
        np.add.at(found, label[gone], x[gone])
        x, label = x[~gone], label[~gone]
    return found


def last_wins(x, label, iterations):
    found = np.zeros(10)
    for _ in range(iterations):
        x = x * 1.02
        keep = x < 2
        x, label = x[keep], label[keep]
        found[label] = x
    return found


def extremes(x, iterations):
    low, high, seen = np.inf, -np.inf, False
    for _ in range(iterations):
        x = x * 1.03
        x = x[np.abs(x) < 2]
        if len(x):
            low, high, seen = min(low, x.min()), max(high, x.max()), seen or (x < -1).any()
    return low, high, seen


def other_places(x, place, table, iterations):
    total = 0.0
    for _ in range(iterations):
        x = x + table[place]
        keep = x < 9
        x, place = x[keep], (place[keep] * 7 + 1) % len(table)
        total += x.sum()
    return total, len(place)


def two_masks(x, y, iterations):
    total = 0.0
    for _ in range(iterations):
        x, y = x * 1.02, y * 1.03
        x, y = x[x < 2], y[y < 2]
        total += x.sum() * y.sum()
    return total, len(x), len(y)


def collatz(x, iterations):
    total = 0
    for _ in range(iterations):
        x = np.where(x % 2 == 0, x // 2, 3 * x + 1)
        x = x[x != 1]
        total += len(x)
    return total, x.sum()


def inner_loops(x, iterations):
    found = np.zeros(iterations, int)
    for i in range(iterations):
        z, k = x * (1 + i / iterations), 0
        while len(z) > 0 and k < 40:
            z = z * 1.1
            z = z[z < 3.0]
            k += 1
        found[i] = k
    return found


def neighbours_of_all(x, iterations):
    left, most = np.ones(len(x), bool), 0.0
    for k in range(iterations):
        left = left & (x * (k + 1.0) < 20)
        z = np.where(left, x * (k + 1.0), 0.0)
        most += (z + np.roll(z, 1)).max()
    return most


def all_of_it(x, iterations):
    left, total = np.ones(len(x), bool), 0.0
    for _ in range(iterations):
        x = x + 0.1
        left = left & (x < 3)
        total += x.sum() + left.sum()
    return total, x, left


def grows(x, iterations):
    chosen, total = np.zeros(len(x), bool), 0.0
    for k in range(iterations):
        chosen = chosen | (x > 2 - 0.05 * k)
        total += x[chosen].sum()
    return total


def uniform(n):
    return RANDOM.random(n)


def plane(n):
    return RANDOM.random(n) * 3 - 2.2 + 1j * (RANDOM.random(n) * 2.4 - 1.2)


PROGRAMS = {
    "escape": (escape, lambda n: (plane(n), 60), True),
    "rebound": (rebound, lambda n: (2 * uniform(n), 40), True),
    "read_afterwards": (read_afterwards, lambda n: (2 * uniform(n), 60), False),
    "while_any": (while_any, lambda n: (3 * uniform(n),), True),
    "rows": (rows, lambda n: (RANDOM.normal(size=(n, 3)), 40), True),
    "into_bins": (into_bins, lambda n: (uniform(n), RANDOM.integers(0, 10, n), 40), True),
    "last_wins": (last_wins, lambda n: (uniform(n), RANDOM.integers(0, 10, n), 50), True),
    "extremes": (extremes, lambda n: (RANDOM.normal(size=n), 40), True),
    "other_places": (other_places, lambda n: (uniform(n), RANDOM.integers(0, 50, n), uniform(50), 40), True),
    "two_masks": (two_masks, lambda n: (uniform(n), uniform(2 * n), 50), True),
    "collatz": (collatz, lambda n: (RANDOM.integers(2, 1000, n), 60), True),
    "inner_loops": (inner_loops, lambda n: (uniform(n), 40), True),
    "neighbours_of_all": (neighbours_of_all, lambda n: (uniform(n), 60), False),
    "float32": (rebound, lambda n: (2 * uniform(n).astype(np.float32), 40), True),
    "few": (rebound, lambda n: (2 * uniform(n)[:200], 40), False),
    "all_of_it": (all_of_it, lambda n: (uniform(n), 50), False),
    "grows": (grows, lambda n: (3 * uniform(n), 40), False),
}


@pytest.fixture
def listed_steps(monkeypatch):
    """The masks over whose lists nests run."""
    found, write = [], listed.emit_listed

    def noted(compiler, step, targets):
        found.append(step.listed)
        return write(compiler, step, targets)
    monkeypatch.setattr(listed, "emit_listed", noted)
    return found


def compare(name, arguments):
    function = PROGRAMS[name][0]
    wanted = function(*copy.deepcopy(arguments))
    assert_same(wanted, reactant.jit(function, native="always")(*copy.deepcopy(arguments)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lists(name, listed_steps):
    compare(name, PROGRAMS[name][1](1000))
    assert bool(listed_steps) == PROGRAMS[name][2]


def with_nan(arguments, seed):
    chosen = np.random.default_rng(seed)
    return tuple(np.where(chosen.random(x.shape) < 0.1, np.nan, x).astype(x.dtype)
                 if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in arguments)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("n", "what"), [(257, "nan"), (4000, "nan"), (300, "all"), (300, "none"), (5001, "mixed")])
def test_what_is_left(name, n, what):
    if name == "extremes" and what == "nan":
        pytest.skip("extremes of Python's numbers, which NaN passes by")
    arguments = PROGRAMS[name][1](n)
    if what == "nan":
        arguments = with_nan(arguments, n)
    elif what in ("all", "none"):
        # 0 stays in most programs for ever, 50 leaves at once
        arguments = tuple(np.full_like(x, 0 if what == "all" else 50) if isinstance(x, np.ndarray)
                          and x.dtype.kind in "fc" else x for x in arguments)
    compare(name, arguments)


def masks(*kinds):
    """A mask, and what is made of it and another value, as a tree of (kind, operands)."""
    mask, other = (Node("argument", shape=(300,), dtype=np.dtype(bool)) for _ in range(2))

    def made(tree):
        if tree in ("mask", "other"):
            return mask if tree == "mask" else other
        return Node(tree[0], [made(t) for t in tree[1:]], (300,), np.dtype(bool))
    return mask, [made(t) for t in kinds]


def test_implies():
    mask, values = masks("mask", ("and", "other", "mask"), ("and", ("not", "mask"), "mask"),
                         ("or", "mask", ("and", "mask", "other")),
                         ("select", "other", "mask", ("and", "mask", "other")))
    assert all(listed.implies(v, mask) for v in values)
    mask, values = masks("other", ("not", "mask"), ("or", "mask", "other"), ("select", "mask", "other", "mask"))
    assert not any(listed.implies(v, mask) for v in values)


def on_a_grid(places, iterations):
    rows, columns = (each.ravel() for each in places)
    counts, x = np.zeros(places.shape[1:], int), rows * 0.01 + columns * 0.02
    for k in range(iterations):
        x = x * 1.02
        keep = x < 3.0
        counts[rows[~keep], columns[~keep]] = k
        x, rows, columns = x[keep], rows[keep], columns[keep]
    return counts


def test_no_place_is_divided():
    """Arrays that are seen flat, by a list of places: quotients and remainders are put together again."""
    places = np.mgrid[0:40, 0:30]
    text = native_text(on_a_grid, places, 90)
    made_of_quotients = re.findall(r"(%x\d+) = arith.muli %q", text)
    assert "scf.while" in text and not made_of_quotients
    assert_same(on_a_grid(places, 90), reactant.jit(on_a_grid, native="always")(places, 90))


def time_of(function, arguments):
    best = np.inf
    for _ in range(7):
        start = time.process_time()
        function(*arguments)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.slow
def test_costs_what_is_left():
    """Many iterations of few elements take as long as these do."""
    compiled = reactant.jit(escape)
    few, many = plane(200_000), plane(200_000)
    few[100:] = 9.0         # leave in the first iteration
    many[:] = 0.1
    compiled(few, 200), compiled(many, 200)
    assert 10 * time_of(compiled, (few, 200)) < time_of(compiled, (many, 200))
