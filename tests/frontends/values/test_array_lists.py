"""Lists of numbers that loops index by run-time values, against plain Python; that the loops stay loops."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.agreement import agree

U = np.array([0.5, -1.25, 2.0, 3.5, -0.75])


def longest_common_part(u):
    s = (u * 10).astype(int)
    t = np.roll(s, 1)
    n = len(s)
    m = len(t)
    rows = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if s[i - 1] == t[j - 1]:
                rows[i][j] = rows[i - 1][j - 1] + 1
            else:
                rows[i][j] = max(rows[i - 1][j], rows[i][j - 1])
    return (rows[n][m], rows)


def knapsack(u):
    w = [3, 4, 5, 9, 4, 2, 7]
    v = [3.0, 4.0, 4.0, 10.0, 4.0, 1.5, 7.0]
    W = 40
    dp = [0.0] * (W + 1)
    for i in range(len(w)):
        for c in range(W, w[i] - 1, -1):
            dp[c] = max(dp[c], dp[c - w[i]] + v[i] * u[2])
    return (dp, dp[W], sum(dp), max(dp))


def one_row_many_times(u):
    n = 20
    rows = [[0.0] * n] * n
    for i in range(n):
        for j in range(n):
            rows[i][j] = rows[i][j] + i * u[0]
    return (rows[0], rows[3])


def whole_numbers_become_floats(u):
    n = 30
    t = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if u[i % 5] > u[j % 5]:
                t[i][j] = i * 0.5
            else:
                t[i][j] += j
    return np.array(t)


def through_a_row(u):
    n = 30
    t = [[0.0] * n for _ in range(n)]
    for i in range(n):
        row = t[i]
        for j in range(n):
            row[j] = i * j * u[0]
    return np.array(t)


def only_read(u):
    w = [1.5 * k for k in range(50)]
    tot = 0.0
    for i in range(50):
        for j in range(50):
            tot += w[i] * w[j] * u[0]
    return tot


def shortest_paths(u):
    n = 12
    dist = [[abs(i - j) * 1.0 + u[(i + j) % 5] for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i][k] + dist[k][j] < dist[i][j]:
                    dist[i][j] = dist[i][k] + dist[k][j]
    return (dist[-1][-2], np.array(dist))


def seen_by_others(u):
    t = [0.0] * 30
    other = [t]
    for i in range(30):
        t[i] = i * u[0]
        other[0][3] = 7.0
    return (t, other)


def in_a_function(u):

    def relax(d, k):
        d[k] = d[k - 1] * 0.5 + u[k % 5]
    d = [1.0] * 60
    for k in range(1, 60):
        relax(d, k)
    return (d[59], d)


def looked_at_in_the_loop(u):
    d = [0.0] * 40
    for k in range(1, 40):
        d[k] = d[k - 1] + u[k % 5]
        if k % 10 == 0:
            d[0] = sum(d[:5])
    return (d, len(d))


def counts(u):
    counts = [0] * 10
    for k in range(500):
        counts[int(abs(u[k % 5] * k)) % 10] += 1
    return counts


def in_a_while(u):
    d = [0.0] * 40
    k = 0
    while k < 39 and d[k] < 50 * u[0]:
        k += 1
        d[k] = d[k - 1] + k
    return (d, k)


def outside_of_loops(u):
    d = [1.0, 2.0, 3.0]
    k = int(abs(u[0]) * 3)
    d[k] = 9.0
    if u[0] > 0:
        d[k - 1] = 4.0
    return (d, d[k])


def of_an_object(u):

    class G:

        def __init__(s):
            s.d = [0.0] * 30

        def put(s, k, v):
            s.d[k] = v
    g = G()
    for k in range(30):
        g.put(k, u[k % 5])
    return g.d


def borders(u):
    n = 25
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        grid[i][0] = 1
        grid[0][i] = 1
    for i in range(1, n):
        for j in range(1, n):
            grid[i][j] = grid[i - 1][j] + grid[i][j - 1] if i * j % 3 else 0
    return grid[n - 1][n - 1]


def rows_that_are_swapped(u):
    n = 25
    prev = [0.0] * n
    for i in range(n):
        cur = [0.0] * n
        for j in range(1, n):
            cur[j] = prev[j - 1] + u[(i + j) % 5]
        prev = cur
    return prev


PROGRAMS = [
    longest_common_part, knapsack, one_row_many_times, whole_numbers_become_floats, through_a_row,
    only_read, shortest_paths, seen_by_others, in_a_function, looked_at_in_the_loop, counts, in_a_while,
    outside_of_loops, of_an_object, borders, rows_that_are_swapped]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    agree(program, [(U,)])


@pytest.mark.parametrize("program", [longest_common_part, knapsack, whole_numbers_become_floats, through_a_row,
                                     only_read, shortest_paths, in_a_function, looked_at_in_the_loop, counts,
                                     in_a_while, borders, rows_that_are_swapped], ids=lambda f: f.__name__)
def test_loops_stay_loops(program):
    assert "stablehlo.while" in reactant.code_hlo(program, U, optimize=False)


def test_places_outside():
    def program(u):
        table = [0.0] * 30
        for k in range(31):
            table[k] = k * u[0]
        return table
    with pytest.raises(IndexError):
        reactant.jit(program)(U)


def test_a_table_is_one_value_of_its_loops():
    def program(u):
        n = 40
        table = [[0.0] * n for _ in range(n)]
        for i in range(1, n):
            for j in range(1, n):
                table[i][j] = max(table[i - 1][j], table[i][j - 1]) + u[(i * j) % 5]
        return np.array(table)
    lowered = reactant.jit(program).lower(U)
    assert sum(lowered.operations(optimized=False).values()) < 100
    agree(program, [(U,)])


def kept_after_its_loop(u):
    table = [[0.0] * 6 for _ in range(8)]
    for i in range(20):
        row = table[2]
        table[i % 8][i % 6] = u[i % 5] * i
    row[0] = 5.0
    return table


def kept_over_a_change(u):
    table = [[1.0 * i + j for i in range(6)] for j in range(8)]
    row = table[int(abs(u[0] * 4))]
    table[2][1] = 77.0
    return row[1]


@pytest.mark.parametrize("program", [kept_after_its_loop, kept_over_a_change], ids=lambda f: f.__name__)
def test_rows_that_are_kept_are_not_out_of_date(program):
    with pytest.raises(UnsupportedError, match="Take it from the list again"):
        reactant.jit(program).lower(U)


class Holder:
    def __init__(self, items):
        self.items = items


def rows_that_are_results(u, holder):
    rows = [[u[0], 1.5], [u[1], 2.5]]
    tables = [rows, [[u[2], u[3]], [0.5, u[4]]]]
    best = max([Holder([v, 0.25]) for v in u], key=lambda h: h.items[0])
    holder.items = rows[np.argmin(u) % 2]
    return rows[np.argmax(u) % 2], {"a": (tables[np.argmax(u) % 2], 1)}, best.items


def test_rows_that_are_results():
    agree(rows_that_are_results, [(u, Holder([1.0])) for u in (U, -U)])


class Pair(NamedTuple):
    a: float
    b: int = 2

    def total(self):
        return self.a + self.b


def rows_that_are_tuples(u):
    k = np.argmax(u) % 2
    rows, pairs = [(u[0], 1), (u[1], 2)], [Pair(u[2], 1), Pair(u[3], 3)]
    grid = [[(u[0], u[1]), (u[2], u[3])], [(0.5, u[4]), (u[1], 1.5)]]
    row, pair = rows[k], pairs[k]._replace(a=u[4])
    alike = [row == (u[1], 2), row < (u[1], 3), [*u[:2]] == [u[0], 1.0], isinstance(row, tuple), type(pairs[k]) is Pair]
    return row, pair, pair.total(), pairs[k].b, grid[k], grid[k][1 - k], row + (1.0,), u[row[1]], alike


def rows_that_hold_lists(u):
    k, rows = np.argmax(u) % 2, [([u[0], 1.5], [u[1], 2.5]), ([u[2], 3.5], [u[3], 4.5])]
    rows[k][1][0] = u[4]
    row = rows[k]
    return row[0][1], rows, len(row)


def rows_that_are_compared(u):
    rows = [[u[0], 1.0], [u[1], 2.0]]
    row = rows[np.argmax(u) % 2]
    return row == [u[0], 1.0], [u[0], 1.0] == row, row != [u[1], 2.0], row == [1.0], row < [5.0], row == (u[0], 1.0)


@pytest.mark.parametrize("program", [rows_that_are_tuples, rows_that_hold_lists, rows_that_are_compared])
def test_rows_are_what_they_are(program):
    agree(program, [(U,), (-U,)])


def test_copies_that_are_appended():
    def program(u):
        seen, values = [], [0.0] * 10
        for i in range(30):
            values[i % 10] = u[i % 5] * i
            if i % 3 == 0:
                seen.append(list(values))
        return seen
    agree(program, [(U,)])


# ---- lists that are no variables of the loop ------------------------------------------------------------------------

class Counts:
    def __init__(self, n):
        self.counts, self.calls = [0] * n, 0

    def hit(self, k):
        self.counts[k] += 1
        self.calls += 1


class UnionFind:
    def __init__(self, n):
        self.parent, self.rank, self.sets = list(range(n)), [0] * n, n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.rank[a] < self.rank[b]:
            a, b = b, a
        self.parent[b] = a
        if self.rank[a] == self.rank[b]:
            self.rank[a] += 1
        self.sets -= 1
        return True


def attribute(places):
    counts = Counts(9)
    for k in places:
        counts.hit(k % 9)
    return counts.counts, counts.calls


def rows_in_a_dictionary(places):
    table = {"rows": [[0] * 3 for _ in range(9)]}
    for k in places:
        if k % 2 == 0:
            table["rows"][k % 9][1] += 1
    return table


def two_lists_of_an_object(places):
    sets, joined = UnionFind(40), 0
    for k in range(len(places)):
        if sets.union(places[k], (places[k] * 7 + k) % 40):
            joined += 1
    return sets.sets, joined, np.array(sets.parent)


def of_a_closure(places):
    parent = list(range(40))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    joined = 0
    for k in range(len(places)):
        a, b = find(places[k]), find((places[k] * 3 + k) % 40)
        if a != b:
            parent[a] = b
            joined += 1
    return joined, np.array(parent)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [attribute, rows_in_a_dictionary, two_lists_of_an_object, of_a_closure])
def test_lists_in_objects_dicts_and_closures_stay_in_a_loop(program):
    compiled = agree(program, [(np.random.default_rng(k).integers(0, 40, 120),) for k in range(2)])
    assert sum(compiled.lower(np.zeros(120, int)).operations().values()) < 400


def seen_twice(places):
    counts = Counts(9)
    seen = counts.counts
    for k in places:
        counts.hit(k % 9)
    return seen, seen is counts.counts


def test_lists_in_objects_that_others_see():
    agree(seen_twice, [(np.arange(20),)])


def read_often(u, iterations):
    steps = [u[k + 1] - u[k] for k in range(4)]
    total = 0.0
    for i in range(iterations):
        if steps[i % 4] > 0:
            total = total + steps[i % 4] * steps[(i + 1) % 4]
    late = [*steps]
    late[0] = late[0] + total
    for i in range(iterations):
        total = total + late[i % 4] * steps[i % 4]
    return total


def test_a_list_that_is_read_often_is_put_together_once_where_it_is_the_same():
    compiled = agree(read_often, [(U, np.int64(n)) for n in (0, 1, 7)])
    raw = compiled.lower(U, np.int64(3)).operations(optimized=False)
    assert raw["stablehlo.concatenate"] == 3    # before the loops, in the branch, and after it; and not for each read


# ---- nested lists at places only known at run time, where no loop is traced again ---------------------------------

PLACES = np.array([0, 1, 3, 2, 1, 0])
OTHERS = np.array([2, 1, 0, 1, 2, 2])


def few_iterations(u):
    rows = [[0.0] * 3 for _ in range(4)]
    for i in range(len(u)):
        rows[PLACES[int(u[i] > 0)]][OTHERS[i]] += u[i]
    return rows


def a_row_has_a_name(u):
    rows = [[0.0] * 3 for _ in range(4)]
    row = rows[1]
    rows[int(abs(u[1]))][int(abs(u[2]))] = 5.0
    row[0] = 2.0
    return rows, row[2]


def a_row_is_taken(u):
    rows = [[0, 1.0] for _ in range(4)]
    row = rows[int(abs(u[2]))]
    row[0] = u[0]
    row[1] = row[0] + 1
    return rows, row[1]


def in_branches(u):
    rows = [[0, 1] for _ in range(4)]
    if u[0] > 0:
        rows[int(u[2])][0] = 5
    else:
        rows[int(u[3])][1] = 7
    return rows


def three_deep(u):
    boxes = [[[0.0, 1.0], [2.0, 3.0]] for _ in range(3)]
    boxes[int(u[2])][int(u[0])][int(-u[1])] = u[1]
    boxes[int(u[2])][0][int(u[0])] += u[1]
    return boxes


def lists_in_a_dict(u):
    table = {0: [1.0, 2.0], 1: [3.0, 4.0], 2: [5.0, 6.0]}
    table[int(u[2])][0] = u[0]
    return list(table.values())


def before_and_in_a_loop(u):
    rows, n = [[0.0] * 3 for _ in range(4)], 0
    rows[int(u[2])][1] = 3.0
    while n < 5:
        rows[int(abs(u[n]))][n % 3] += u[n]
        n += 1
    rows[int(u[3])][int(u[2])] = 4.0
    return rows


@pytest.mark.parametrize("program", [few_iterations, a_row_has_a_name, a_row_is_taken, in_branches, three_deep,
                                     lists_in_a_dict, before_and_in_a_loop], ids=lambda f: f.__name__)
def test_nested_lists_without_a_loop(program):
    agree(program, U)


def test_what_is_no_list_or_another_row_is_not_written():
    with pytest.raises(UnsupportedError, match="used after the list has changed"):
        @reactant.jit
        def two_names(u):
            rows = [[0.0, 1.0] for _ in range(4)]
            first, second = rows[int(u[2])], rows[int(u[2])]
            first[0] = 5.0
            return second[0]
        two_names(U)
    with pytest.raises(TypeError, match="'tuple' object does not support item assignment"):
        reactant.jit(written_tuples)(U)
    with pytest.raises(reactant.ReactantError, match="A list index"):
        reactant.jit(written_in_one_row_that_stands_in_several_places)(U)


def written_tuples(u):
    rows = [(0.0, 1.0), (2.0, 3.0)]
    rows[int(u[0])][0] = u[0]
    return rows[1][0]


def written_in_one_row_that_stands_in_several_places(u):
    rows = [[0.0] * 3] * 4
    rows[int(u[2])][0] += u[0]
    return rows[0][0]


def test_rows_that_a_loop_writes_are_indices():
    def program(u):
        rows, found = [[0, 1], [2, 3], [1, 2]], 0.0
        for i in range(40):
            rows[PLACES[i % 6] % 3][0] = i % 5
            found += u[rows[OTHERS[i % 6]]].sum() + np.take(u, rows[1]).sum()
        return found
    np.testing.assert_allclose(reactant.jit(program)(U), program(U), rtol=1e-12)
