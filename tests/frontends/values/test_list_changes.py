"""Lists, deques and heaps whose lengths are only known at run time: what Python does with them besides growing."""
from __future__ import annotations

import bisect
import heapq
from collections import deque

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError, UnsupportedError
from tests.frontends.agreement import agree

RNG = np.random.default_rng(0)
X = RNG.standard_normal(9)
WEIGHTS = RNG.random((7, 7)) * (RNG.random((7, 7)) < 0.6)


def dijkstra(weights, start):
    n = len(weights)
    distance = np.full(n, np.inf)
    distance[start] = 0
    heap = [(0.0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for v in range(n):
            if weights[u, v] > 0 and d + weights[u, v] < distance[v]:
                distance[v] = d + weights[u, v]
                heapq.heappush(heap, (distance[v], v))
    return distance


def smallest(x):
    heap = []
    for v in x:
        if len(heap) < 4:
            heapq.heappush(heap, -v)
        elif -v > heap[0]:
            heapq.heapreplace(heap, -v)
    return sum(heap), heap[0], heap[-1]


def events(x):
    waiting = [(x[0] ** 2, 0), (x[1] ** 2, 1), (0.5, 2)]
    heapq.heapify(waiting)
    t, count = 0.0, 0
    while t < 5.0:
        t, k = heapq.heappop(waiting)
        count += k
        heapq.heappush(waiting, (t + x[k] ** 2 + 0.1 * (count % 3), k))
        last = heapq.heappushpop(waiting, (t + 1.0, k))
    return t, count, last[0], len(waiting)


class Line:
    def __init__(self):
        self.heap = []

    def push(self, item):
        heapq.heappush(self.heap, item)


def of_an_object(x):
    line, total = Line(), 0.0
    for v in x:
        if v > 0:
            line.push((v, 1.0))
    while line.heap:
        total = 0.5 * total + heapq.heappop(line.heap)[0]
    return total


def known_length(x):
    heap, total = list(x), 0.0
    heapq.heapify(heap)
    for k in range(3):
        total += heapq.heappop(heap) * k
    heapq.heappush(heap, x[3])
    return total, heap[0], heap[1], len(heap)


def only_pushed(x):
    heap = [0.5, 2.0, x[0]]
    for i in range(5):
        heap.append(i * 1.0)
        heapq.heappush(heap, 0.5)
    return heap


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program, arguments", [
    (only_pushed, (X,)), (dijkstra, (WEIGHTS, 0)), (smallest, (X,)), (events, (X,)),
    (of_an_object, (X,)), (known_length, (X,))])
def test_heaps(program, arguments):
    agree(program, [arguments])


def both_ends(x):
    queue, total = deque(), 0.0
    for v in x:
        if v > 0:
            queue.appendleft(v)
        else:
            queue.append(v)
        queue.rotate(1)
    first = queue[0]
    while queue:
        total = total * 0.5 + queue.popleft()
    return total, first


def turned(x):
    queue, recent, n = deque([1.0, 2.0]), deque(maxlen=3), 0
    while len(queue) < 9 + x[0] * 0:
        queue.extendleft([x[1], x[2] * n])
        queue.rotate(-2)
        recent.appendleft(x[n % 9])
        n += 1
        if n % 3 == 0:
            queue.pop()
    return queue[0], queue[-1], len(queue), sum(queue), recent[0], recent[-1], len(recent)


def in_order(x):
    found = []
    for v in x:
        k = 0
        while k < len(found) and found[k] < v:
            k += 1
        found.insert(k, v)
        if len(found) > 5:
            found.pop(2)
    return found[0], found[1], found[-1], len(found)


def bisected(x):
    found = []
    for v in x:
        if v > -0.5:
            bisect.insort(found, v)
    return len(found), found[0], found[-1], bisect.bisect(found, 0.5), bisect.bisect_left(found, found[1])


def removed(x):
    left, places, most = list(range(6)), [], 0
    for v in x:
        k = int(abs(v) * 6) % 6
        if k in left:
            places.append(left.index(k))
            left.remove(k)
        most = max(most, len(left))
    return len(left), sum(left), sum(places), most


def deleted(x):
    found = [1.0, 1.0, 2.0]
    while sum(found) < 50 + x[0]:
        found.append(found[-1] + found[0])
        if len(found) > 3:
            del found[1]
        if len(found) > 9:
            del found[:-2]
    return found[0], found[-1], len(found)


def sorted_again(x):
    found, total = [], 0.0
    while len(found) < 8 + 0 * x[0]:
        found.append((x[len(found) % 5], len(found)))
        found.sort()
        total += found[len(found) // 2][0]
    found.sort(key=lambda item: -item[1] % 3, reverse=True)
    first = found[0]
    found.reverse()
    return total, found[0][1], first[1], sorted(found)[-1][0]


def sliced(x):
    found, total = [], 0.0
    while total < 10:
        found.append(x[len(found) % len(x)] ** 2)
        total += sum(found[-3:]) + len(found[1:-1]) * 0.01 + found[::-1][0]
    return total, len(found), list(found)[0]


def elements_that_change(x):
    found = [0.0]
    for v in x:
        found.append(v)
        found[0] = found[0] + v
        found[len(found) // 2] = v
    return found[0], found[1], found[-1], len(found)


def compared_as_tuples(x):
    best = (x[0], 0)
    for k in range(len(x)):
        if (x[k], k) < best and (x[k], 0) != (x[1], 0):
            best = (x[k], k)
    return best


def counted(x):
    """How often an element is there: while the list grows, after it, and for pairs in a `while`."""
    items, met, k = [], 0, 0
    for v in x:
        met += items.count(round(4 * v))
        items.append(round(4 * v))
        if v > 0.9:
            items.pop()
    pairs, twice = [(0, 1)], 0
    while k < len(x) - 1 and twice < 20:
        twice += pairs.count((int(5 * x[k]), int(3 * x[k + 1])))
        pairs.append((int(5 * x[k]), int(3 * x[k + 1])))
        k += 1
    return met, items.count(3), items.count(9), items.index(2), twice, k, pairs.count((0, 1))


@pytest.mark.parametrize("program", [both_ends, turned, in_order, bisected, counted, removed, deleted, sorted_again,
                                     sliced, elements_that_change, compared_as_tuples])
def test_changes(program):
    agree(program, [(X,), (X[::-1].copy(),)])


def test_elements_from_before_a_loop_that_change_in_it():
    x = RNG.random(300)
    agree(elements_that_change, [(x,)])


@pytest.mark.slow
def test_elements_of_a_long_list_are_counted():
    agree(counted, [(RNG.random(300),)])


def taken(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    found.remove(x[0])
    return len(found)


def test_what_is_not_there_raises_as_python_does():
    assert reactant.jit(taken)(np.array([1.0, -1.0, 2.0])) == 1
    with pytest.raises(ValueError, match="not in list"):
        reactant.jit(taken)(np.array([-1.0, 1.0, 2.0]))


def levels(links, start):
    n = len(links)
    distance, level, frontier = np.full(n, -1), 0, [start]
    distance[start] = 0
    while frontier:
        level += 1
        found = []
        for u in frontier:
            for v in range(n):
                if links[u, v] and distance[v] < 0:
                    distance[v] = level
                    found.append(v)
        frontier = found
    return distance, level


def swapped_levels(links, start):
    n = len(links)
    distance, level, frontier, found = np.full(n, -1), 0, [start], []
    distance[start] = 0
    while len(frontier) > 0:
        level += 1
        for u in frontier:
            for v in range(n):
                if links[u, v] and distance[v] < 0:
                    distance[v] = level
                    found.append(v)
        frontier, found = found, []
    return distance, level


@pytest.mark.slow
@pytest.mark.parametrize("program", [levels, swapped_levels])
def test_graphs_by_levels(program):
    agree(program, [(WEIGHTS > 0, 0), (np.eye(7, k=1) > 0, 2)])


def survivors(x):
    alive, rounds = list(range(len(x))), 0
    while len(alive) > 1:
        rounds += 1
        kept = []
        for i in alive:
            if abs(x[i]) * rounds % 1.0 < 0.6:
                kept.append(i)
        if not kept:
            break
        alive = kept
    return alive[0], rounds, len(alive)


def weighted(x):
    front, iterations, total = [(0, 1.0)], 0, 0.0
    while front and iterations < 5:
        iterations += 1
        after = []
        for k, w in front:
            total += w
            for d in (1, 2):
                if k + d < len(x) and x[k + d] > -0.2:
                    after.append((k + d, w * x[k]))
        front = after
    return iterations, total, len(front)


def beam(x):
    paths = [(0.0, 0)]
    for _ in range(6):
        candidates = []
        for score, k in paths:
            for d in range(3):
                j = (k * 2 + d) % len(x)
                if x[j] > -0.5:
                    candidates.append((score + x[j], j))
        candidates.sort(reverse=True)
        paths = candidates[:4]
    return len(paths), paths[0][1] if paths else -1


@pytest.mark.parametrize("program", [survivors, weighted, beam])
def test_names_bound_to_what_has_grown(program):
    agree(program, [(X,), (np.abs(X),)])


def doubled(x):
    front, iterations = [0], 0
    while len(front) < x[0]:
        after = []
        for k in front:
            after.append(k + 1)
            if k % 2 == 0:
                after.append(k + 2)
        front, iterations = after, iterations + 1
    return iterations, len(front), front[0], front[-1]


def test_they_get_room_as_they_need_it():
    compiled = reactant.jit(doubled, list_capacity=8)
    for wanted in (3.0, 500.0):
        x = np.array([wanted])
        assert compiled(x) == doubled(x)


def known_by_two_names(x):
    first, iterations = [1.0], 0
    kept = first
    while iterations < x[0]:
        iterations, new = iterations + 1, []
        for v in x:
            if v > 0.5:
                new.append(v)
        first = new
    for v in x:
        if v > 0.1:
            first.append(v)
    return len(first), len(kept)


def test_a_list_that_may_be_known_by_another_name_is_not_changed_apart():
    with pytest.raises(reactant.ReactantError, match="changes a list of which only run-time values tell which one it "
                                                     "is"):
        reactant.jit(known_by_two_names)(np.array([2.0, 1.0, 0.3, 0.7, 0.9, 0.2]))


def known_and_long(x):
    found = []
    for k in range(200):
        found.append(x[0] * k)
        if k % 3 == 0:
            found.pop()
    return found[-1], len(found), sum(found)


def test_known_lengths_beyond_the_room():
    x = np.array([0.5])
    np.testing.assert_allclose(reactant.jit(known_and_long, list_capacity=8)(x), known_and_long(x))


def in_a_dict_made_anew(x):
    held = {"n": 0, "found": []}
    for i in range(80):
        for k in range(6):
            if x[(i + k) % len(x)] > 0:
                held["found"].append(x[k % len(x)])
        held = {**held, "n": held["n"] + 2}
    return len(held["found"]), sum(held["found"], 0.0), held["n"]


def test_a_list_in_a_dict_that_each_iteration_makes_anew():
    """What had been appended was lost."""
    agree(in_a_dict_made_anew, [(X,), (-X,)], list_capacity=500)


class Part:
    def __init__(self, mass, age):
        self.mass, self.age = mass, age


def parts_that_may_go(x):
    parts = [Part(x[0], x[1]), Part(x[2], x[3])]
    tables = [{"a": x[0], "n": x[1]}, {"a": x[2], "n": x[3]}]
    for k in range(80):
        if x[k % 9] > 2:
            parts.pop()
            tables.pop()
    parts[-1].mass += 1.0
    tables[-1]["a"] *= 2.0
    for part in parts:
        part.age = part.age - 0.5
    first = parts[0]
    first.mass = first.mass + first.age
    return [(p.mass, p.age) for p in parts][0], sum([t["a"] for t in tables]), len(parts)


def test_dicts_and_objects_in_lists_of_run_time_length_are_changed_there():
    """Copies of them were changed."""
    agree(parts_that_may_go, [(X,), (-X,)])


def changed_by_one_name(x):
    parts = [Part(x[0], x[1]), Part(x[2], x[3])]
    first = parts[0]
    for k in range(80):
        if x[k % 9] > 2:
            parts.pop()
    parts[0].mass += 1.0
    return first.mass


def rows_by_one_name(x):
    rows = [[x[0], x[1]], [x[2], x[3]]]
    first = rows[0]
    for k in range(80):
        if x[k % 9] > 2:
            rows.pop()
    rows[0][0] += 1.0
    return first[0]


@pytest.mark.parametrize("program", [changed_by_one_name, rows_by_one_name])
def test_an_element_known_by_another_name_from_before_is_not_changed_apart(program):
    with pytest.raises(ControlFlowError, match="that is an element of a list whose length is only known at run time"):
        reactant.jit(program)(X)


def latest(x):
    last = deque(maxlen=4)
    for k in range(60):
        if x[k % len(x)] > 0.2:
            last.append(x[k % len(x)] * k)
    last.append(3.0)
    before = len(last), last[0], sum(last), last.maxlen
    last.extend([4.0, 5.0])
    again = last.copy()
    again.append(6.0)
    if x[0] > 0:
        last.append(7.0)
    return before, len(last), sum(last), len(again), again[0], deque(last) == last


def test_deques_of_a_greatest_length_after_a_loop():
    """They grew beyond it."""
    agree(latest, [(np.abs(X) + 0.3,), (X,), (-np.abs(X),)])


def test_deques_are_not_joined():
    def twice(x):
        last = deque()
        for v in x:
            if v > 0:
                last.append(v)
        return len(last + last)
    with pytest.raises(UnsupportedError, match="Deques of run-time length are joined"):
        reactant.jit(twice)(X)
