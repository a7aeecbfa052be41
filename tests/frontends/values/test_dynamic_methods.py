"""Lists of which only run-time values tell which one it is: `neighbours[u].append(v)`."""
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.frontends.agreement import agree

X = np.array([0.9, 0.2, 0.7, 0.4, 0.65, 0.3, 0.8, 0.1])
EDGES = np.random.default_rng(3).integers(0, 12, (2, 20))


def distances(u, v):
    count = 12
    neighbours = [[] for _ in range(count)]
    for a, b in zip(u, v):  # noqa: B905
        neighbours[a].append(b)
        neighbours[b].append(a)
    distance = -np.ones(count, dtype=np.int64)
    distance[0] = 0
    queue = [0]
    while queue:
        a = queue.pop(0)
        for b in neighbours[a]:
            if distance[b] < 0:
                distance[b] = distance[a] + 1
                queue.append(b)
    return distance, [len(n) for n in neighbours]


def depth_first(u, v):
    neighbours = {node: [] for node in range(12)}
    for i in range(len(u)):
        neighbours[u[i]].append(v[i])
        neighbours[v[i]].append(u[i])
    seen, order, stack = np.zeros(12, bool), -np.ones(12), [0]
    found = 0
    while stack:
        node = stack.pop()
        if not seen[node]:
            seen[node] = True
            order[found] = node
            found += 1
            for other in reversed(neighbours[node]):
                if not seen[other]:
                    stack.append(other)
    return order, found


def counted(x):
    groups = {0: [], 1: [], 2: []}
    for i in range(len(x)):
        groups[int(x[i] * 9) % 3].append(i)
    return [len(g) for g in groups.values()], [sum(g) for g in groups.values()]


def cells(x):
    grid = [[[] for _ in range(3)] for _ in range(2)]
    for i in range(len(x)):
        grid[int(x[i] * 2)][int(x[i] * 30) % 3].append(x[i])
    return [[(len(c), sum(c, 0.0)) for c in row] for row in grid]


def hash_table(x):
    table, hits = [[] for _ in range(5)], 0
    for i in range(8):
        key = int(x[i % 8] * 97 + i // 3) % 23
        if key in table[key % 5]:
            hits += 1
        else:
            table[key % 5].append(key)
    return hits, [len(bucket) for bucket in table]


def stacks(x, k):
    pegs = [[4.0, 3.0, 2.0], [x[0]], [x[1], 1.0]]
    moved = pegs[k].pop()
    pegs[(k + 1) % 3].append(moved)
    pegs[k - 1].insert(0, x[2])
    return [len(p) for p in pegs], [sum(p, 0.0) for p in pegs], moved


def wider_elements(x, k):
    rows = [[x[0]], [x[1], x[2]], []]
    rows[k].append(1)
    return [len(r) for r in rows], [sum(r, 0.0) for r in rows]


def wider_elements_in_a_loop(x, k):
    rows, flat = [[x[0]], [x[1], x[2]], []], [x[3]]
    for i in range(6):
        rows[(k + i) % 3].append(i)
        if k > i:
            flat.append(i)
    return [len(r) for r in rows], [sum(r, 0.0) for r in rows], len(flat), sum(flat, 0.0)


def read(x, k):
    rows = [[x[0]], [x[1], x[2]], []]
    for i in range(5):
        if x[i] > 0.5:
            rows[int(x[i] * 7) % 2].append(x[i])
    return len(rows[k]), sum(rows[k], 0.0), max(rows[k - 1], default=0.0)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function", [distances, depth_first])
def test_graphs(function):
    agree(function, [tuple(EDGES)])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", [counted, cells, hash_table])
def test_of_numbers(function):
    agree(function, [(X,)])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("function", [stacks, wider_elements, wider_elements_in_a_loop, read])
def test_at_a_place(function, place):
    agree(function, [(X, np.int64(place))])


# ---- refused ------------------------------------------------------------------------------------------------------

def bound_to_a_name(x, k):
    rows = [[x[0]], [x[1], x[2]]]
    row = rows[k]
    row.append(1.0)
    return [len(r) for r in rows]


def an_element_set(x, k):
    rows = [[x[0]], [x[1], x[2]]]
    row = rows[k]
    row[0] = 5.0
    return rows


def known_by_a_name(x, k):
    first, second = [x[0]], [x[1]]
    both = [first, second]
    both[k].append(x[2])
    return len(first), len(second)


def given_while_more_is_computed(x, k):
    def changed(row, value):
        row.append(value)
        return value

    def decided(value):
        if value > 0.5:
            value = value * 2
        return value
    rows = [[], []]
    return changed(rows[k], decided(x[0])), [len(r) for r in rows]


def rows_of_a_temporary(x, k):
    grid = [[[], []], [[], []]]
    total = 0.0
    for row in grid[k]:
        if x[0] > 0.5:
            total += x[1]
        row.append(total)
    return [[len(r) for r in rows] for rows in grid]


@pytest.mark.parametrize("function", [bound_to_a_name, an_element_set, known_by_a_name, given_while_more_is_computed,
                                      rows_of_a_temporary])
def test_changes_of_what_may_have_another_name_are_exact_or_refused(function):
    wanted = function(X.copy(), 1)
    try:
        got = reactant.jit(function)(X.copy(), np.int64(1))
    except ReactantError as error:
        assert function.__name__ in str(error) or "changed" in str(error)
    else:
        np.testing.assert_equal(np.asarray(got, object), np.asarray(wanted, object))


def test_a_place_outside_raises():
    with pytest.raises(IndexError, match="list index out of range"):
        reactant.jit(wider_elements)(X, np.int64(3))


def test_a_key_that_is_not_there_raises():
    def added(x, k):
        groups = {1: [0.0], 2: [1.0]}
        groups[k].append(x[0])
        return sum(groups[1]), sum(groups[2])
    assert np.allclose(reactant.jit(added)(X, np.int64(2)), added(X, 2))
    with pytest.raises(KeyError):
        reactant.jit(added)(X, np.int64(5))


def of_two_precisions(x, k):
    rows, single = [[x[0]], [np.float32(0.5)]], np.float32(0.25)
    for i in range(5):
        if x[i] > 0.5:
            rows[1].append(single)
    return len(rows[k])


def test_numbers_that_have_no_type_together_are_refused():
    with pytest.raises(ReactantError, match="of_two_precisions"):
        reactant.jit(of_two_precisions)(X, np.int64(1))


def of_sets(x):
    seen = [set(), set()]
    for k in range(3):
        seen[int(x[k] > 0.5)].add(k % 2)
    return len(seen[0]), len(seen[1]), 1 in seen[0], 0 in seen[1], len(seen[0] | seen[1]), seen[0] == seen[1]


def test_sets_of_which_the_run_picks_one():
    agree(of_sets, [(np.array(x),) for x in ([0.1, 0.6, 0.7], [0.9, 0.2, 0.3], [0.9, 0.8, 0.6], [0.1, 0.2, 0.3])])
