"""Stacks and queues in loops: lists and deques that elements are taken from, however long the loops run."""
from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree


def flood(image, i, j):
    filled, (height, width) = np.zeros(image.shape, int), image.shape
    stack, colour, count = [(i, j)], image[i, j], 0
    while stack:
        i, j = stack.pop()
        if i < 0 or j < 0 or i >= height or j >= width or filled[i, j] or image[i, j] != colour:
            continue
        filled[i, j] = 1
        count += 1
        stack.append((i + 1, j))
        stack.append((i - 1, j))
        stack.extend([(i, j + 1), (i, j - 1)])
    image[filled > 0] = 7
    return filled, count


def breadth_first(links, start):
    n = len(links)
    distance = -np.ones(n, int)
    distance[start] = 0
    queue = deque([start])
    while queue:
        u = queue.popleft()
        for v in range(n):
            if links[u, v] and distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


def topological(links):
    n = len(links)
    waiting, order, count = np.tril(links, -1).sum(axis=0), np.full(n, -1), 0
    queue = deque(i for i in range(n) if waiting[i] == 0)
    while len(queue) > 0:
        u = queue.popleft()
        order[count] = u
        count += 1
        for v in range(u):
            if links[u, v]:
                waiting[v] -= 1
                if waiting[v] == 0:
                    queue.append(v)
    return order, count


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()

    def empty(self):
        return len(self.items) == 0


def depth_first(links, start):
    n = len(links)
    seen, order, count = np.zeros(n, bool), np.full(n, -1), 0
    stack = Stack()
    stack.push(start)
    while not stack.empty():
        u = stack.pop()
        if seen[u]:
            continue
        seen[u] = True
        order[count] = u
        count += 1
        for v in range(n):
            if links[u, v] and not seen[v]:
                stack.push(v)
    return order


GRAPH = np.random.default_rng(3).random((12, 12)) < 0.2
GRAPH |= GRAPH.T


@pytest.mark.parametrize("program, arguments", [
    (flood, (np.random.default_rng(0).integers(0, 2, (6, 7)), 2, 3)), (breadth_first, (GRAPH, 0)),
    (topological, (GRAPH.astype(int),)), (depth_first, (GRAPH, 0))])
def test_graphs(program, arguments):
    agree(program, [arguments])


def quicksort(a):
    stack = [(0, len(a) - 1)]
    while stack:
        low, high = stack.pop()
        if low >= high:
            continue
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        stack.append((low, i - 1))
        stack.append((i + 1, high))


def adaptive_simpson(x):
    stack, total, parts = [(0.0, x[0])], 0.0, 0
    while stack:
        low, high = stack.pop()
        middle = (low + high) / 2
        coarse = (high - low) / 6 * (np.exp(-low * low) + 4 * np.exp(-middle * middle) + np.exp(-high * high))
        fine = (high - low) * np.exp(-middle * middle)
        if abs(coarse - fine) < 1e-4:
            total += coarse
            parts += 1
        else:
            stack += [(low, middle), (middle, high)]
    return total, parts


def spans(x):
    stack, found = [], np.zeros(len(x), int)
    for i in range(len(x)):
        while stack and x[stack[-1]] <= x[i]:
            stack.pop()
        found[i] = i + 1 if not stack else i - stack[-1]
        stack.append(i)
    return found, len(stack)


def window_maxima(x):
    queue, found = deque(), []
    for i in range(len(x)):
        while queue and x[queue[-1]] <= x[i]:
            queue.pop()
        queue.append(i)
        if queue[0] <= i - 3:
            queue.popleft()
        if i >= 2:
            found.append(x[queue[0]])
    return np.array(found)


def last_few(x):
    recent, found = deque(maxlen=4), np.zeros(len(x))
    for i, v in enumerate(x):
        recent.append(v)
        found[i] = sum(recent) / len(recent) + recent[0] - max(recent) * np.mean(recent)
    return found, len(recent)


def rounds(x):
    queue, total = deque(), 0.0
    for i in range(len(x)):
        queue.append(i)
    while len(queue) > 1:
        for _ in range(int(abs(x[queue[0]]) * 3)):
            queue.append(queue.popleft())
        total += x[queue.popleft()]
    return queue[0], total


def halves(x):
    stack, total, count = [x], 0.0, 0
    while stack:
        part = stack.pop()
        count += 1
        if abs(part).sum() < 0.5:
            total += part.sum()
        else:
            stack.append(part * 0.5)
            stack.append(part * 0.4)
    return total, count


def joined_from_front(x):
    waiting, total = list(x), 0.0
    while len(waiting) > 1:
        a = waiting.pop(0)
        b = waiting.pop(0)
        waiting.append((a + b) * 0.9)
        total += a * b
    return total, waiting[0]


def polish(x):
    stack = []
    for v in x:
        if v > 0 or len(stack) < 2:
            stack.append(v)
        else:
            b = stack.pop()
            a = stack.pop()
            stack.append(a * v - b)
    return stack.pop()


def history(x):
    value, seen = 1.0, [1.0]
    while abs(value * value - abs(x[0])) > 1e-12:
        value = 0.5 * (value + abs(x[0]) / value)
        seen.append(value)
    return value, len(seen), seen[-1], seen[0], np.abs(np.diff(np.array(seen))).max()


def hull(x):
    points = np.stack([x, x[::-1] * np.arange(len(x))], axis=1)
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    lower = []
    for p in points:
        while len(lower) >= 2 and (lower[-1][0] - lower[-2][0]) * (p[1] - lower[-2][1]) \
                <= (lower[-1][1] - lower[-2][1]) * (p[0] - lower[-2][0]):
            lower.pop()
        lower.append(p)
    return len(lower), np.array(lower).sum(axis=0)


@pytest.mark.parametrize("program", [quicksort, adaptive_simpson, spans, window_maxima, last_few, rounds, halves,
                                     joined_from_front, polish, history, hull])
def test_algorithms(program):
    x = np.random.default_rng(1).standard_normal(9)
    agree(program, [(x,), (x[::-1].copy(),)])


def lbfgs(x):
    steps, changes, scales = [], [], np.arange(1.0, len(x) + 1)
    gradient = scales * x - np.sin(x)
    for k in range(20):
        q, weights = gradient.copy(), []
        for s, y in zip(reversed(steps), reversed(changes), strict=True):
            weights.append(s @ q / (y @ s))
            q = q - weights[-1] * y
        if steps:
            q = q * (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
        for (s, y), a in zip(zip(steps, changes, strict=True), reversed(weights), strict=True):
            q = q + s * (a - y @ q / (y @ s))
        new = x - q * (1.0 if k else 0.1)
        after = scales * new - np.sin(new)
        steps.append(new - x)
        changes.append(after - gradient)
        if len(steps) > 3:
            steps.pop(0)
            changes.pop(0)
        x, gradient = new, after
        if np.linalg.norm(gradient) < 1e-6:
            break
    return x, k


@pytest.mark.slow
def test_a_history_of_arrays():
    x = np.linspace(1, 2, 5)
    np.testing.assert_allclose(reactant.jit(lbfgs)(x)[0], lbfgs(x)[0], atol=1e-12)


def pushed(x):
    stack = [0]
    while len(stack) < x[0]:
        stack.append(len(stack))
    x[1] = stack[-1]
    return sum(stack)


def test_room_grows_with_what_is_needed():
    compiled = reactant.jit(pushed, list_capacity=8)
    for wanted in (5.0, 100.0, 3000.0, 7.0):
        x, y = np.array([wanted, 0.0]), np.array([wanted, 0.0])
        assert compiled(x) == pushed(y) and x[1] == y[1]
    assert compiled.cache_size() == 1 and compiled.options.list_capacity == 8


def test_what_never_ends_is_refused_and_later_calls_work():
    compiled = reactant.jit(pushed, list_capacity=2**24)
    with pytest.raises(reactant.ReactantError, match="(?s)A list gets longer than the .* elements .* list_capacity="):
        compiled(np.array([2.0**40, 0.0]))
    assert compiled(np.array([3.0, 0.0])) == 3


def test_pop_from_nothing_raises_as_python_does():
    def taken(x):
        stack = []
        for v in x:
            if v > 0:
                stack.append(v)
            else:
                stack.pop()
        return len(stack)

    assert reactant.jit(taken)(np.array([1.0, 1.0, -1.0])) == 1
    with pytest.raises(IndexError, match="pop from empty list"):
        reactant.jit(taken)(np.array([1.0, -1.0, -1.0]))


def known_tree(x):
    tree, stack, total = {0: [1, 2], 1: [3, 4], 2: [5], 3: [], 4: [], 5: []}, [0], 0.0
    while stack:
        node = stack.pop()
        total = 0.5 * total + x[node]
        stack.extend(tree[node])
    return total


def known_parts(x):
    sums, stack = [], [(0, len(x))]
    while stack:
        low, high = stack.pop()
        if high - low <= 2:
            sums.append(x[low:high].sum())
            continue
        stack.append(((low + high) // 2, high))
        stack.append((low, (low + high) // 2))
    return np.array(sums)


@pytest.mark.parametrize("program", [known_tree, known_parts])
def test_what_follows_from_known_values_runs_as_python(program):
    lowered = reactant.jit(program).lower(np.arange(9.0))
    assert "stablehlo.while" not in lowered.operations(optimized=False)
    agree(program, [(np.arange(9.0),)])


def asked_for_types(x):
    kept, all_of_them, recent, total = [], [], deque(), 0.0
    for v in x:
        all_of_them.append(v)
        if v > 0:
            kept.append(v)
        recent.append(v)
        if len(recent) > 2:
            recent.popleft()
        if isinstance(kept, list) and type(all_of_them) is list and isinstance(recent, deque) \
                and not isinstance(kept, (np.ndarray, tuple)) and isinstance(v, np.floating):
            total += v
    return total, isinstance(kept, list), type(kept) is list, isinstance(recent, deque)


def test_types_of_lists_that_change():
    agree(asked_for_types, [(np.random.default_rng(2).standard_normal(300),)])


def last_ones(x):
    states, recent = [x], deque(maxlen=3)
    for k in range(300):
        states.append(states[-1] * 0.9)
        recent.append(x[0] * k)
        if len(states) > 4:
            states.pop(0)
    return np.array(states), list(recent), len(states)


def written_afterwards(x):
    states = [x]
    for k in range(len(x)):
        if x[k] > 100:
            states.append(states[-1] * 2)
    states[0][0] = 5.0
    return len(states)


def test_lengths_that_the_iterations_tell_are_known():
    agree(last_ones, [(np.linspace(1, 2, 3),)])


def test_an_element_that_is_an_array_from_before_is_not_written_apart():
    with pytest.raises(reactant.ReactantError, match="states"):
        reactant.jit(written_afterwards)(np.ones(40))


LINKS = [np.array([1, 2]), np.array([0]), np.array([0, 1, 3, 4]), np.array([2]), np.array([3, 0])]
NEIGHBOURS = [row.tolist() for row in LINKS]


def walked(x):
    place, total = 0, 0.0
    for _ in range(40):
        near = LINKS[place]
        total += x[near].sum() + near.max()
        place = near[int(x[place] * 100) % len(near)]
    return total, place


def searched(x):
    distance, queue = np.full(len(x), -1), deque([int(x[0]) % 5])
    distance[queue[0]] = 0
    while queue:
        u = queue.popleft()
        for v in NEIGHBOURS[u]:
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance, max(x[v] for v in NEIGHBOURS[queue[0] if queue else 2]), NEIGHBOURS[int(x[1]) % 5][-1]


def parts(x):
    pieces = [x[:2] * 1, x[2:], x[:0]]
    piece = pieces[int(x[0]) % 3]
    return piece.sum(), len(piece)


def edges(x):
    found, total, last = [(x[i] * x[j], i, j) for i in range(5) for j in range(i + 4)
                          if j < 5], 0.0, 0
    for weight, i, j in found:
        if weight > 2:
            total += weight * x[j]
            last = i
    return total, last


@pytest.mark.parametrize("program", [walked, searched, parts, edges])
def test_rows_of_different_lengths(program):
    agree(program, [(np.array([2.5, 1.25, 3.0, 0.5, 4.75]),), (np.array([1.5, 4.25, 3.0, 0.5, 4.75]),)])


def appends_to_what_it_runs_over(x):
    found = [0]
    for _ in range(50):
        for k in found:
            if x[k] > 0 and len(found) < 5:
                found.append(k + 1)
    return len(found)


def test_a_list_does_not_grow_under_a_loop_over_it():
    with pytest.raises(reactant.ControlFlowError, match="grows while a loop runs over it"):
        reactant.jit(appends_to_what_it_runs_over)(np.ones(9))
