"""Lists, dicts and objects that are one of two, as run-time values decide: exact, or refused where another name may be
one of them, too."""
import copy

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.frontends.agreement import agree


class Thing:
    def __init__(self, x):
        self.x = x


def list_with_another_name(x, c):
    rows = [x * 1.0, x * 2.0]
    other = rows
    if c.sum() > 0:
        rows = [x * 3.0, x * 4.0]
    rows[0] = x - 1
    return other[0], rows[0]


def dict_with_another_name(x, c):
    table = {"a": x * 1.0}
    other = table
    if c.sum() > 0:
        table = {"a": x * 5.0}
    table["a"] = x - 7
    return other["a"], table["a"]


def object_with_another_name(x, c):
    thing = Thing(x * 1.0)
    other = thing
    if c.sum() > 0:
        thing = Thing(x * 2.0)
    thing.x = x - 3
    return other.x, thing.x


def one_of_two_objects(x, c):
    a, b = Thing(x), Thing(x + 10)
    chosen = a if c.sum() > 0 else b
    chosen.x = x - 3
    return a.x, b.x


def one_of_two_lists(x, c):
    a, b = [x * 1.0], [x * 2.0]
    chosen = a if c.sum() > 0 else b
    chosen.append(x)
    return a[0], len(a), len(b)


def change_of_the_other_name(x, c):
    rows = [x * 1.0, x * 2.0]
    other = rows
    if c.sum() > 0:
        rows = [x * 3.0, x * 4.0]
    other[1] = x - 1
    return rows[1], other[1]


def name_in_a_list(x, c):
    rows = [x * 1.0, x * 2.0]
    keep = [rows]
    for i in range(3):
        if c[i] > 0:
            rows = [x * 3.0 + i, x * 4.0]
        rows[0] = rows[0] - 1
    return keep[0][0], rows[0]


def choice_of_a_choice(x, c):
    a, b, d = [x], [x + 1], [x + 2]
    first = a if c.sum() > 0 else b
    second = first if c[0] > 5 else d
    second[0] = x * 0
    return a[0], b[0], d[0]


def of_the_caller(x, c):
    given = {"u": x * 1.0}

    def inner(state):
        if c.sum() > 0:
            state = {"u": state["u"] * 2}
        state["u"] = x * 0
        return state["u"]
    return inner(given), given["u"]


REFUSED = (list_with_another_name, dict_with_another_name, object_with_another_name, change_of_the_other_name,
           name_in_a_list, of_the_caller)


@pytest.mark.parametrize("function", REFUSED)
def test_a_change_that_another_name_may_see_is_refused(function):
    with pytest.raises(reactant.ControlFlowError, match="only run-time values tell which one it is"):
        reactant.jit(function)(np.arange(3.0), np.array([1.0, -1.0, 1.0]))


@pytest.mark.parametrize("function", [one_of_two_objects, one_of_two_lists, choice_of_a_choice])
def test_one_of_two(function):
    agree(function, [(np.arange(3.0), np.array([c, -1.0, d])) for c in (1.0, 6.0) for d in (1.0, -1.0, -9.0)])


def test_a_list_that_the_caller_knows():
    def rebinds(rows, c):
        if c.sum() > 0:
            rows = [r * 2 for r in rows]
        rows[0] = rows[0] + 1
        return rows[0]
    with pytest.raises(reactant.ControlFlowError, match="another name"):
        reactant.jit(rebinds)([np.arange(3.0)], np.ones(2))


def test_a_loop_that_may_not_run():
    def iterations(x, n):
        rows = [x, x + 1]
        other = rows
        for _ in range(n):
            rows = [rows[1], rows[0] + 1]
        rows[0] = x * 0
        return other[0], rows[0], rows[1]
    x = np.arange(3.0)
    with pytest.raises(reactant.ControlFlowError, match="another name"):
        reactant.jit(iterations, traced_argnames=("n",))(x, 3)
    for got, wanted in zip(reactant.jit(iterations)(x, 3), iterations(x, 3), strict=True):
        assert np.allclose(got, wanted)


def only_name(x, c):
    rows = [x * 1.0, x * 2.0]
    if c.sum() > 0:
        rows = [x * 3.0, x * 4.0]
    rows[0] = x - 1
    rows.append(x)
    return tuple(rows)


def dict_in_a_loop(x, c):
    table = {"a": x}
    for i in range(4):
        if c[i % 3] > 0:
            table = {**table, "a": table["a"] * 2}
        table["a"] = table["a"] + 1
    return (table["a"],)


def swapped_lists(x, c):
    before, now = [x, x + 1], [x * 2, x * 3]
    for i in range(5):
        if c[i % 3] > 0:
            before, now = now, before
        now[0] = before[1] + 1
        before, now = now, before
    now[1] = x * 0
    return before[0], now[0], before[1], now[1]


def objects(x, c):
    thing = Thing(x)
    if c[0] > 0:
        thing = Thing(x * 5)
    thing.x = thing.x - 1
    return (thing.x,)


def best_so_far(x, c):
    best = [x, 0.0]
    for i in range(5):
        score = (x * i).sum() * c[i % 3]
        if score > best[1]:
            best = [x * i, score]
    best[1] = best[1] + 1
    return tuple(best)


def changed_where_it_is_certain(x, c):
    rows = [x * 1.0, x * 2.0]
    other = rows
    if c.sum() > 0:
        rows = [x * 3.0, x * 4.0]
    else:
        rows[1] = x * 8
    return other[1], rows[1]


def copied(x, c):
    rows = [x * 1.0, x * 2.0]
    other = rows
    if c.sum() > 0:
        rows = [x * 3.0, x * 4.0]
    rows = list(rows)
    rows[0] = x - 1
    return other[0], rows[0], copy.copy(rows)[1]


EXACT = (only_name, dict_in_a_loop, swapped_lists, objects, best_so_far, changed_where_it_is_certain, copied)


@pytest.mark.parametrize("sign", (1.0, -1.0))
@pytest.mark.parametrize("function", EXACT)
def test_changes_that_nobody_else_can_see(function, sign):
    x, c = np.arange(3.0), sign * np.array([1.0, -1.0, 1.0])
    for got, wanted in zip(reactant.jit(function)(x, c), function(x, c), strict=True):
        assert np.allclose(got, wanted)


# ---- what random programs (tests/fuzz/containers.py) found: silently wrong before --------------------------------

def in_an_attribute(x, c):
    rows = [x * 1.0]
    thing = Thing(rows)
    if c.sum() > 0:
        thing.x = list(thing.x)
    thing.x[0] = x - 3
    return rows[0], thing.x[0]


def in_a_list(x, c):
    rows = [x * 1.0]
    table = [rows]
    if c.sum() > 0:
        table[0] = list(rows)
    table[0][0] = x - 3
    return rows[0], table[0][0]


def beside_another_change_in_a_loop(x, c):
    rows, thing = [x * 1.0, x * 2.0], Thing([x, x])
    other = rows
    for i in range(20):
        if c[0] > 0:
            if c[1] > i:
                rows = [x * 3.0, x * 4.0]
            else:
                thing.x = list(thing.x)
        else:
            other[0] = np.tanh(x)
    return rows[0], other[0], thing.x[1]


def one_from_before_the_loop(x, c):
    rows, now = [x * 1.0, x * 2.0], [x * 0.3, x * 0.5]
    for i in range(30):
        now[0] = 0.9 * now[0] + c[0] * i
        now = rows
    return rows[0], now[0]


def after_some_iterations(x, c):
    now, last = [[x * 1.0], [x * 2.0]], [x * 2.0]
    for _ in range(200):
        now[0][0] = 0.5 * now[0][0] + 1
        now = [now[1], last]
    return now[0][0], now[1][0], last[0]


def bound_in_every_iteration(x, c):
    now, last = [x * 1.0], [x * 2.0]
    for i in range(30):
        x = x + i * c[0]
        now = last
    now[0] = x - 1
    return now[0], last[0]


def made_and_changed_in_a_branch(x, c):
    thing, table = Thing([x * 1.0, x * 2.0]), {"rows": [x, x]}
    if c.sum() > 0:
        thing.x = [x * 3.0, 0.5 * thing.x[1]]
        thing.x[0] = np.sin(x)
        rows = [x * 5.0, x]
        table["rows"] = rows
        rows[0] = x - 7
    return thing.x[0], thing.x[1], table["rows"][0]


FOUND = (in_an_attribute, in_a_list, beside_another_change_in_a_loop, one_from_before_the_loop, after_some_iterations,
         bound_in_every_iteration, made_and_changed_in_a_branch)


@pytest.mark.parametrize("sign", (1.0, -1.0))
@pytest.mark.parametrize("function", FOUND)
def test_exact_or_refused(function, sign):
    x, c = np.arange(3.0), sign * np.array([1.0, -1.0, 1.0])
    refused = function in (in_an_attribute, in_a_list, beside_another_change_in_a_loop)
    try:
        results = reactant.jit(function)(x, c)
    except reactant.ControlFlowError:
        assert refused
        return
    assert not refused
    for got, wanted in zip(results, function(x, c), strict=True):
        assert np.allclose(got, wanted)


class Held:
    def __init__(self, items):
        self.items = items


def written_before_it_is_another_list(x):
    rows = [x[0] * 1, x[1] * 1]
    held = Held(rows)
    for _ in range(20):
        for _ in range(20):
            held.items[0][:] = 1.0
            held.items = [q * 0.5 for q in rows]
    return rows[0], rows[1], held.items[0]


def test_a_list_of_two_names_whose_arrays_a_loop_writes_before_one_name_is_another_list():
    x = np.random.default_rng(0).random((3, 4))
    agree(written_before_it_is_another_list, [(x,)])


def which_array(x, c):
    a, b = x, x.copy()
    w = a if c.sum() > 0 else b
    v = w
    if c.sum() > 0:
        v = b
    return w is a, v is a, w is not b, a is x[:]


def buffers_in_iteration(x, c):
    u, v = x, np.zeros(len(x))
    first, n = u, 0
    for _ in range(40):
        v[1:] = u[:-1] * 0.5
        u, v = v, u
        n += 1
        if abs(u[1] + c[0]) < 1:
            break
    return u is first, v is first, u is v, n


def copied_unless_new(x, c):
    y = x
    if c.sum() > 0:
        y = y + 1
    if y is x:
        y = y.copy()
    y[0] = 50
    return y


def counted_in_a_loop(x, c):
    u, v, n = x, np.zeros(len(x)), 0
    for _ in range(6):
        if u is x:
            n += 1
        u, v = v, u
    return n


def one_made_in_branches(x, c):
    if c.sum() > 0:
        a = b = np.zeros(3)
    else:
        a, b = np.ones(3), np.ones(3)
    return a is b


@pytest.mark.parametrize("program", [which_array, buffers_in_iteration, copied_unless_new, counted_in_a_loop,
                                     one_made_in_branches])
def test_is(program):
    agree(program, [(np.array([1.0, 2.0, 3.0]), c) for c in (np.ones(3), -np.ones(3))])


def test_which_list_it_is():
    def program(x):
        a, b = [x[0]], [x[1]]
        chosen = a if x[0] > 0 else b
        return chosen is a

    agree(program, [(np.ones(3),), (-np.ones(3),)])


class Recorded:
    def __init__(self, x):
        self.x = x
        self.history = {"sum": [], "mean": []}
        self.parts = {"twice": x * 2, "rows": [x + 1, x + 2]}

    def run(self, iterations):
        for _ in range(iterations):
            self.x = self.x * 0.5 + 1
            self.history["sum"].append(self.x.sum())
            self.history["mean"].append(self.x.mean())

    def settle(self, iterations):
        for _ in range(iterations):
            self.x = self.x * 0.5 + 1


def lists_in_a_dict_of_an_object(x, iterations):
    thing = Recorded(x)
    thing.run(iterations)
    return thing.x, {k: np.array(v) for k, v in thing.history.items()}


def containers_beside_what_a_loop_changes(x, iterations):
    thing = Recorded(x)
    parts, rows = thing.parts, thing.parts["rows"]
    thing.settle(iterations)
    thing.parts["twice"] = x + 5
    rows[0] = x - 5
    return thing.x, parts["twice"], thing.parts["rows"][0], rows is thing.parts["rows"]


def changed_beside_it_in_the_loop(x, iterations):
    thing = Recorded(x)
    rows = thing.parts["rows"]
    for k in range(iterations):
        thing.x = 0.5 * thing.x + rows[1]
        rows[1] = 0.5 * thing.parts["rows"][1] + k
    rows[0] += 1
    return thing.x, thing.parts["rows"], rows is thing.parts["rows"]


@pytest.mark.parametrize("program", [lists_in_a_dict_of_an_object, containers_beside_what_a_loop_changes,
                                     changed_beside_it_in_the_loop])
def test_what_an_object_holds_stays_in_it_where_a_loop_changes_the_object(program):
    agree(program, [(np.arange(4.0) / 3, iterations) for iterations in (0, 3, 300)])


# ---- tuples ------------------------------------------------------------------------------------------------------

def pairs_of_others(c):
    """The loops over so many tuples of numbers would be loops of the program, if nobody asked which tuple it is."""
    pairs = [(a, b) for a, b in zip(c[:-1], c[1:], strict=True)]
    total = 0.0
    for p in pairs:
        for q in pairs:
            if p is q:
                continue
            total += 1 / (0.1 + abs(p[0] - q[1]))
    return total


def tuple_that_stays(c):
    limits = p = (c[0], c[1])
    n = 0
    while c[n] < 0.9:
        if p is limits:
            c[n] = c[n] * 0.5
        n += 1
    return n


@pytest.mark.parametrize("program", [pairs_of_others, tuple_that_stays])
def test_is_of_tuples(program):
    agree(program, np.random.default_rng(3).random(20))


def tuple_of_a_branch(c):
    p, q = (c[0], c[1]), (c[1], c[2])
    best = p
    if q[0] > p[0]:
        best = q
    return 1 if best is p else 2


def tuple_of_a_choice(c):
    p, q = (c[0], (c[1],)), (c[1], (c[2],))
    return 1 if (p if p[0] > q[0] else q)[1] is p[1] else 2


def tuple_of_a_loop(c):
    p = q = (c[0], c[1])
    n = 0
    while c[n] < 0.9:
        if q is p:
            c[n] = c[n] * 0.5
        n += 1
        if c[n] > 0.5:
            q = (c[n], c[n])
    return n


def tuple_of_many(c):
    pairs = [(a, b) for a, b in zip(c[:-1], c[1:], strict=True)]
    best = pairs[0]
    for p in pairs:
        if p[0] > best[0]:
            best = p
    return sum(1 for p in pairs if p is best)


@pytest.mark.parametrize("program", [tuple_of_a_branch, tuple_of_a_choice, tuple_of_a_loop, tuple_of_many])
def test_which_tuple_it_is(program):
    with pytest.raises(ControlFlowError, match="Which of several tuples"):
        reactant.jit(program)(np.random.default_rng(3).random(20))


# ---- attributes in slots, and objects that conditional expressions make --------------------------------------------

class Slotted:
    __slots__ = ("__scale", "x")

    def __init__(self, x, scale=1.0):
        self.x, self.__scale = x, scale


def slot_with_another_name(x, c):
    holder = Slotted([x * 1.0, x * 2.0])
    rows = holder.x
    if c.sum() > 0:
        rows = [x * 3.0, x * 4.0]
    rows[0] = x - 1
    return holder.x[0], rows[0]


def test_what_slots_hold_is_known_by_another_name():
    with pytest.raises(ControlFlowError, match="only run-time values tell which one it is"):
        reactant.jit(slot_with_another_name)(np.ones(3), np.ones(3))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_object_of_a_choice(sign):
    def program(x):
        first = Thing(x[0])
        last = first if x[2] > 0 else Thing(x[2] - 1)
        return first.x, last.x

    agree(program, np.arange(1.0, 4.0) * sign)


def added(thing, value):
    thing.y = value
    return thing


def test_a_choice_that_changes_an_object_of_outside():
    def program(x):
        thing = Thing(x[0])
        other = added(thing, x[1]) if x[0] > 0 else thing
        return other.x, len(vars(thing))

    with pytest.raises(ControlFlowError, match="differently in its branches"):
        reactant.jit(program)(np.ones(2))


def rows_of_lists(x, c):
    rows, deep, i = [[1.0, 2.0], [3.0, x[0]], [1.0, 2.0]], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], int(c.sum()) % 2
    other, held = rows[i], [Thing([x[0], 1.0]), Thing([2.0, 3.0])]
    return (other is rows[0], other is rows[1], rows[i] is rows[i], rows[i - 1] is rows[2], rows[i] is not held,
            [row is rows[i] for row in rows], deep[i][1 - i] is deep[1][0], deep[i] is deep[0],
            held[i].x is held[1].x, rows[i] is rows[i - 2])


def numbers_of_objects(x, c):
    one, other = [x[0]], [x[1]]
    found = one if c.sum() > 0 else other
    some = x[0] if c.sum() > 0 else None
    return id(found) == id(one), id(other) == id(found), id(some) == id(None), id(one) == id(other), \
        len({id(one), id(other), id(one)})


@pytest.mark.parametrize("program", [rows_of_lists, numbers_of_objects], ids=lambda p: p.__name__)
def test_which_row_and_whose_number(program):
    agree(program, [(np.ones(3), np.array([float(k)])) for k in (0, 1, -1, 2)])


@pytest.mark.parametrize("which", [lambda x, i: [(1, x[0]), (2, x[1])][i], lambda x, i: x if i else x + 1])
def test_id_of_one_of_several(which):
    with pytest.raises(ControlFlowError, match=r"Which object this is \(`id`\) is known only at run time"):
        reactant.jit(lambda x: id(which(x, int(x[0]))) == id(x))(np.ones(3))


def test_which_tuple_of_a_list():
    with pytest.raises(ControlFlowError, match=r"Which of several tuples this is \(`is`\)"):
        reactant.jit(lambda x, ts: ts[int(x[0])] is ts[1])(np.ones(3), [(1, 2.0), (3, 4.0)])
