"""Lists, dicts, objects and arrays that loops and branches leave in several places are one after them, too; where it is
only known at run time whether they are, changing one of them is refused."""
import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.oracle import check

X = np.linspace(0.0, 1.0, 300)
ITERATIONS = len(X)
"""Too many to be unrolled for another reason."""


class Thing:
    def __init__(self, v):
        self.v = v


def dicts(x):
    before = {"t": 0.0}
    for i in range(ITERATIONS):
        now = {"t": np.sin(before["t"]) + x[i]}
        before = now
    before["t"] = 7.0
    return now, now is before


def lists(x):
    before = [0.0]
    for i in range(ITERATIONS):
        now = [np.sin(before[0]) + x[i]]
        before = now
    before[0] = 7.0
    return now, now is before


def objects(x):
    before = Thing(0.0)
    for i in range(ITERATIONS):
        now = Thing(np.sin(before.v) + x[i])
        both = {"before": before, "now": now}
        before = now
    before.v = 7.0
    return now.v, both["before"].v, both["now"].v, now is before


def in_containers(x):
    state, thing = {"a": [0.0], "b": None}, Thing([0.0])
    for i in range(ITERATIONS):
        state["a"] = [np.sin(state["a"][0]) + x[i]]
        state["b"] = state["a"]
        thing.v = [thing.v[0] * 0.5 + x[i]]
        kept = thing.v
    state["b"][0] = 5.0
    kept[0] = 4.0
    return state, thing.v, kept is thing.v


def elements(x):
    total, found = 0.0, []
    for i in range(ITERATIONS):
        total = np.sin(total) + x[i]
        last = {"n": total}
        found.append(last)
    last["n"] = 77.0
    return found, found[-1] is last


def elements_of_two(x):
    total, first, second = 0.0, [], []
    for i in range(ITERATIONS):
        total = np.sin(total) + x[i]
        made = {"n": total}
        first.append((made, i, made))
        second.append([made])
    first[5][0]["n"] = 77.0
    return first, second, first[3][0] is second[3][0]


def elements_twice(x):
    found = []
    for i in range(ITERATIONS):
        made = Thing(x[i])
        found.append(made)
        found.append(made)
    found[0].v = 5.0
    return [thing.v for thing in found]


def elements_of_two_iterations(x):
    now, found, other = {"t": 0.0}, [], []
    first = now
    for i in range(ITERATIONS):
        found.append(now)
        now = {"t": np.sin(now["t"]) + x[i]}
        other.append(now)
    other[5]["t"] = 5.0
    first["t"] = 6.0
    return found, other, found[6] is other[5]


def elements_of_some_iterations(x):
    now, found = {"t": 0.0}, []
    for i in range(ITERATIONS):
        if i % 2:
            now = {"t": x[i]}
        found.append(now)
    found[0]["t"] = found[7]["t"] = 5.0
    return found


def elements_handed_on(x):
    path, place = [], {"a": 0.0, "b": 0.0}
    first = place
    for i in range(ITERATIONS):
        path.append(place)
        place = {"a": place["a"] + x[i], "b": np.sin(place["b"]) + x[i]}
    path[0]["a"] = 5.0
    path[3]["a"] = 6.0
    place["b"] = 7.0
    return path, place, first


def test_elements_handed_on_are_rows_of_a_loop():
    assert sum(reactant.jit(elements_handed_on).lower(X).operations().values()) < 10 * ITERATIONS
    check(elements_handed_on, X)


def arrays(x):
    place, thing, rows = {"at": x[:3].copy()}, Thing(x[:3].copy()), []
    for _ in range(ITERATIONS):
        place["at"] = place["at"] + 1.0
        thing.v = thing.v * 0.5 + place["at"]
        rows.append((place["at"], thing.v, thing.v[1:]))
    place["at"][0] = 9.0
    rows[-1][1][1] = 8.0
    return rows, place, thing.v


def nested_loops(x):
    now = [0.0]
    kept = first = now
    for i in range(30):
        for j in range(100):
            now = [np.sin(now[0]) + x[j]]
        if i == 4:
            kept = now
    now[0] = 4.0
    return now, kept, first


def searched(x):
    best = now = Thing(-1.0)
    for i in range(ITERATIONS):
        now = Thing(np.sin(now.v) + x[i])
        if now.v > best.v:
            best = now
    return best, now


def best_so_far(x):
    best, now = searched(x)
    return best.v, now.v


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [
    dicts, lists, objects, in_containers, elements, elements_of_two, elements_twice, elements_of_two_iterations,
    elements_of_some_iterations, arrays, nested_loops, best_so_far])
def test_what_the_last_iteration_leaves_is_one(program):
    check(program, X)


def bound_in_both_branches(x):
    if x[1] > 0.5:
        a = {"t": x[1]}
        b, many = a, [a, a]
    else:
        a = {"t": x[2]}
        b, many = a, [a, a]
    b["t"] = x[3]
    return a, b, many, many[1] is a


class Search:
    def __init__(self, x):
        self.best = Thing(x[0])

    def offer(self, thing):
        if thing.v > self.best.v:
            self.best = thing
        return self.best


def chosen_by_a_method(x):
    search = Search(x)
    found = search.offer(Thing(x[1] * 3))
    found.v = found.v + x[5]
    return search.best.v, found.v, found is search.best


def left_by_one_branch(x):
    if x[0] > 2:
        raise ValueError("no")
    else:
        a = [x[1]]
        b = a
    a[0] = x[4]
    return a, b, a is b


def in_a_loop_that_may_not_run(x):
    total, i, a = 0.0, 0, {"v": 0.0}
    b = a
    while total < 5.0:
        a = {"v": x[i] + 1}
        b = a
        total += b["v"]
        i += 1
    b["v"] = x[7]
    return total, a, b, a is b


def bound_to_what_it_holds(x):
    tally, other, total, iterations = [x[0]], [0.5], 0.0, 0
    while total < 100.0:
        total = total + tally[0] * 2.0
        for k in range(30):
            tally = other
            tally[0] += x[k]
        iterations += 1
    return total, tally, other, iterations


@pytest.mark.parametrize("program", [
    bound_in_both_branches, chosen_by_a_method, left_by_one_branch, in_a_loop_that_may_not_run,
    bound_to_what_it_holds])
@pytest.mark.parametrize("x", [X, X[::-1].copy() * 1.5])
def test_what_paths_leave_is_one(program, x):
    check(program, x)


def changes_the_best(x):
    best, now = searched(x)
    now.v = 3.0
    return best.v, now.v


def asks_for_the_best(x):
    best, now = {"t": -1.0}, {"t": 0.0}
    for i in range(ITERATIONS):
        now = {"t": np.sin(now["t"]) + x[i]}
        if now["t"] > best["t"]:
            best = now
    return best is now


@pytest.mark.parametrize("program", [changes_the_best, asks_for_the_best])
def test_what_is_only_known_at_run_time_is_refused(program):
    with pytest.raises(ControlFlowError, match="only run-time values tell|known only at run time"):
        reactant.jit(program)(X)
