"""Variables that loops bind to parts of arrays which they also write: what NumPy's names point to, in every iteration
and after the loop."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.frontends.agreement import agree

TABLE = np.arange(15.0).reshape(3, 5) / 7 + 0.1


def parts_bound_in_each_iteration(u, n):
    for _ in range(n):
        first, second, _last = u
        u += 0.1 * first
    first += 100
    return first, second


def parts_bound_before_and_in_each_iteration(u, n):
    t = 0.0
    first, second, last = u
    while t < n:
        first, second, last = u
        u += 0.1 * first
        t += 1.0
    first += 100
    return first, second, last


def the_same_parts_read_at_the_start(u, n):
    t = 0.0
    first, second, _last = u
    while t < n:
        step = 1.0 / (1 + np.abs(second).max())
        u[1:] += step * first
        first, second, _last = u
        u[0] += 1
        t += 1.0
    first += 100
    return first, second


def something_else_before(u, n):
    t = 0.0
    first = u[0] * 2
    while t < n:
        first = u[0]
        u += 0.1
        t += 1.0
    first += 100
    return first


def read_by_the_test(u, n):
    first = u[0] * 2
    iterations = 0
    while first.max() < 2 * n:
        first = u[0]
        u += 0.1 * first
        iterations += 1
    return first, iterations


def bound_in_some_iterations(u, n):
    t = 0.0
    part = u[0] * 2
    while t < n:
        if u.max() > 3:
            part = u[1]
        u += 0.3
        t += 1.0
    part += 100
    return part


def place_known_at_run_time(u, n):
    part = u[0]
    t = 0.0
    while t < n:
        part = u[int(t) % 3]
        u += 0.1 * part
        t += 1.0
    u *= 2
    return part


def place_of_one_iteration(u, n):
    for k in range(40):
        if k == 2:
            part = u[k]
        u += 0.01 * u[k % 3]
    part += n
    return part


def best_row(u, n):
    best = -1.0
    for k in range(40):
        u += 0.1 * np.sin(u + k)
        row = np.argmax(u.sum(axis=1))
        if u[row].sum() > best:
            best = u[row].sum()
            found = u[row]
    found[1] = n
    return found, best


def found_before_the_break(u, n):
    for k in range(40):
        u[k % 3] += k
        if u.sum() > 10 * n:
            found = u[k % 3]
            break
    else:
        found = u[0]
    u += 1
    return found


def one_of_several(u, n):
    part, other = u[0], np.ones(5)
    t = 0.0
    while t < n:
        if u[0, 0] > 0.3:
            part = u[int(t) % 3] if u[0, 0] > 0.6 else other
        u += 0.1
        t += 1.0
    part *= 2
    return part.sum(), other


def bound_in_a_loop_in_a_branch(u, n):
    held = {"z": np.ones(5)}
    if u[0, 0] < n - 2:
        for _ in range(7):
            held["z"] = u[1]
    u += 1
    return held


LOOPS = [one_of_several, bound_in_a_loop_in_a_branch, parts_bound_in_each_iteration,
         parts_bound_before_and_in_each_iteration,
         the_same_parts_read_at_the_start, something_else_before, read_by_the_test, bound_in_some_iterations,
         place_known_at_run_time, place_of_one_iteration, best_row, found_before_the_break]


@pytest.mark.parametrize("program", LOOPS, ids=lambda f: f.__name__)
def test_what_names_point_to(program):
    number = int if program is parts_bound_in_each_iteration else float
    agree(program, [(TABLE, number(n)) for n in (1, 5, 12)])


@pytest.mark.parametrize("program", [something_else_before, parts_bound_before_and_in_each_iteration, read_by_the_test,
                                     place_known_at_run_time], ids=lambda f: f.__name__)
def test_loops_that_never_run(program):
    agree(program, [(TABLE, 0.0), (TABLE, -1.0)])


OUTSIDE = np.arange(5.0)


def swapping_parts_of_an_array_from_outside(x, most):
    first, second, n = OUTSIDE[1:], OUTSIDE[:4], 0
    while n < 5 and np.max(x) < most:
        first, second = second, first
        x[0] += 1
        n += 1
    return first * 2, second, n


def test_parts_of_arrays_from_outside_may_change_places():
    agree(swapping_parts_of_an_array_from_outside, [(np.zeros(2), most) for most in (-1.0, 0.5, 1.5, 100.0)])


def first_one_then_another(x, y, p):
    a, c = y.copy(), x + 1
    s, i = a, 0
    while i < 7 and x[0] < 50:
        i += 1
        s, a = c, s
    if a.sum() > c[0] - 100:
        c[1] = p
    return a, c


def test_one_of_several_arrays_where_the_loop_may_not_run():
    """Two names begin as one array; which one `a` is after the loop is not followed: once the write was not seen."""
    x, y = np.arange(5.0), np.ones(5)
    with pytest.raises(ControlFlowError, match="'a' was bound to one of several arrays"):
        reactant.jit(first_one_then_another)(x, y, 0.3)


# ---- arrays in objects and dicts, written in place and bound anew in each iteration
# ------------------------------------

class Field:
    def __init__(self, values):
        self.values, self.time = values.copy(), 0.0

    def step(self):
        self.values[1:] += 0.1
        self.values = self.values * 0.99
        self.time += 0.5


def attribute_written_and_bound_anew(x, n):
    field = Field(x)
    for _ in range(n):
        field.step()
    return field


def items_written_and_bound_anew(x, n):
    state = {"u": x.copy(), "v": x * 2}
    for _ in range(n):
        state["u"][1:] += 0.1 * state["v"][:-1]
        state["v"] = state["v"] - 0.1 * state["u"]
        state["u"] = state["u"] * 0.9
    return state


def item_that_others_see(x, n):
    state = {"u": x.copy()}
    part, kept = state["u"][1:3], [state["u"]]
    for _ in range(n):
        state["u"][1:] += 0.1
        state["u"] = state["u"] * 0.99
    return state, part, kept


def item_that_a_generator_sees(x, n):
    def later(array):
        yield 0
        yield array

    state = {"u": x.copy()}
    seen = later(state["u"])
    next(seen)
    for _ in range(n):
        state["u"][1:] += 0.1
        state["u"] = state["u"] * 0.99
    return state, next(seen)


def written_in_an_unrolled_loop_inside(x, n):
    values = np.sum(x, axis=1)
    iterations = 0
    while iterations < n:
        if np.abs(values[0] - values[1:]).max() < 1e-8:
            break
        for j in range(1, 6):
            values[j] = x[j].sum() * 0.5
        values = np.sort(values)
        iterations += 1
    return values, iterations


@pytest.mark.parametrize("program", [attribute_written_and_bound_anew, items_written_and_bound_anew,
                                     item_that_others_see, item_that_a_generator_sees])
def test_arrays_in_containers_that_are_written_and_bound_anew_stay_in_a_loop(program):
    agree(program, [(np.arange(5.0), 200)])
    operations = reactant.jit(program).lower(np.arange(5.0), 200).operations()
    assert operations["stablehlo.while"] == 1 and sum(operations.values()) < 60


def test_what_tracing_a_loop_leaves_behind_keeps_no_array_alive():
    agree(written_in_an_unrolled_loop_inside, [(np.random.default_rng(0).random((6, 5)), 50)])


def stages_of_an_adaptive_step(y, end):
    state = {"t": 0.0, "y": y.copy(), "h": 0.1, "iterations": 0}
    while state["t"] < end:
        h = min(state["h"], end - state["t"])
        stages = [-state["y"]]
        for part in (0.5, 0.75):
            point = state["y"] + h * part * stages[-1]
            stages.append(-point)
        error = np.abs(stages[-1] - stages[0]).max()
        if error <= 0.05:
            state["t"] += h
            state["y"] = point
        else:
            state["iterations"] += 1
        state["h"] = h * min(2.0, 0.9 * 0.05 / error)
    return state


def element_of_a_local_list(y, end):
    state = {"t": 0.0, "y": y * 2}
    while state["t"] < end:
        scaled = [state["y"]]
        for c in (1.0, 0.5):
            scaled.append(state["y"] * c)
        if scaled[-1][0] > 0.25:
            state["y"] = scaled[-1]
        state["t"] += 0.1
    return state


@pytest.mark.parametrize("program", [stages_of_an_adaptive_step, element_of_a_local_list])
def test_items_that_may_be_bound_to_what_a_iteration_made(program):
    agree(program, [(np.array([1.0, 2.0]), 1.0)])


def fixed_point(before):
    for iteration in range(500):
        after = np.cos(before)
        after[0] += 0.1
        if np.abs(after - before).max() < 1e-8:
            return after, iteration
        before = after
    return after, -1


def test_names_that_may_be_one_array_are_read_after_the_loop():
    agree(fixed_point, [(np.array([0.5, 0.7]),)])
    assert reactant.jit(fixed_point).lower(np.array([0.5, 0.7])).operations()["stablehlo.while"] == 1


def bound_or_written_in_a_branch(a, b, s):
    for i in range(len(a) - 1):
        if a[i] > s:
            b = a * 0.5
        else:
            b[0] = 0.5
        b[i] = a[i]
    return a, b


def written_in_a_loop_of_a_branch(a, b, s):
    for i in range(len(a) - 1):
        if i > 4:
            b = a * 0.5 + a[i:].sum()
        else:
            for j in range(3):
                if b[j] > s:
                    b[j] = 0.5
        if b[i % 3] < s:
            for j in range(3):
                b[j] += a[i] * 0.5
    return a, b


@pytest.mark.parametrize("program", [bound_or_written_in_a_branch, written_in_a_loop_of_a_branch])
def test_a_name_is_bound_anew_in_one_branch_and_its_array_written_in_the_other(program):
    """Where a loop cannot carry that, it is no unbound variable that the run meets."""
    a, b = np.sin(np.arange(9.0)), np.cos(np.arange(9.0))
    for compiled in (reactant.jit(program), reactant.jit(program, unroll_limit=0)):
        plain, ours = (a.copy(), b.copy()), (a.copy(), b.copy())
        for found, wanted in zip((*compiled(*ours, 0.3), *ours), (*program(*plain, 0.3), *plain), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def learns(X, w, passes):
    w = w.copy()
    for _ in range(passes):
        for x in X:
            if w @ x < 1:
                w = 0.9 * w + x
            else:
                w *= 0.9
    return w


@pytest.mark.parametrize("passes", [3, 30])
def test_loops_in_loops_that_bind_anew_or_write_stay_loops(passes):
    """The loop around is told that the array it began its iteration with may have been written."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((100, 4)), np.zeros(4)
    compiled = reactant.jit(learns)
    np.testing.assert_allclose(compiled(X, w, passes), learns(X, w, passes), rtol=1e-9)
    assert sum(compiled.lower(X, w, passes).operations().values()) < 60


def seen_by_another_name(X, w):
    w = w.copy()
    v = w
    for _ in range(5):
        for x in X:
            if w @ x < 1:
                w = 0.9 * w + x
            else:
                w *= 0.9
    return w, v


def bound_in_the_loop_around(X, w):
    w = w.copy()
    v = np.zeros(3)
    for _ in range(5):
        v = w
        for x in X:
            if w @ x < 1:
                w = 0.9 * w + x
            else:
                w *= 0.9
        v = v + 1
    return w, v


def seen_by_a_part(X, w):
    w, s = w.copy(), 0.0
    for _ in range(5):
        u = w[1:]
        for x in X:
            if w @ x < 1:
                w = 0.9 * w + x
            else:
                w *= 0.9
        s += u.sum()
    return w, s


def kept_behind_each_pass(X, w):
    w = w.copy()
    v = np.zeros(3)
    for _ in range(5):
        for x in X:
            if w @ x < 1:
                w = 0.9 * w + x
            else:
                w *= 0.9
            if x[0] > 0:
                v = w
    return w, v


@pytest.mark.parametrize("program", [seen_by_another_name, bound_in_the_loop_around, seen_by_a_part,
                                     kept_behind_each_pass])
def test_arrays_that_loops_in_loops_write_may_have_other_names(program):
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((3, 3)), rng.standard_normal(3)
    for found, wanted in zip(reactant.jit(program)(X, w), program(X, w), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def written_and_left(x, n):
    y = x
    for _ in range(n):
        x[0] += 1.5
        if x.sum() > 9:
            x = x[::-1] * 0.5
        x *= 0.9
    return x, y, x is y


def left_in_every_iteration(x, n):
    for _ in range(n):
        x[0] += 1.5
        x = x * 0.9
        x[1] -= 1
    return x


def attribute_that_is_left(x, n):
    field = Field(x)
    field.values = x
    for k in range(n):
        field.values += 0.3
        if field.values.sum() > 9:
            field.values = field.values / 2 + k
    return field.values


def left_in_a_loop_inside(x, n):
    for t in range(n):
        x[1] *= 0.99
        for k in range(30):
            x[0] += 0.5
            if x.sum() > 9 + k:
                x = x * 0.5
                if t > 5 and k > 7:
                    break
            x[2] += 0.1
    return x


def left_in_a_while(x, n):
    iterations = 0
    while x.sum() < n:
        x[0] += 1.5
        iterations += 1
        if iterations % 4 == 0:
            x = x + 0.1
    return x, iterations


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [written_and_left, left_in_every_iteration, attribute_that_is_left,
                                     left_in_a_loop_inside, left_in_a_while])
def test_a_name_leaves_an_argument_that_it_has_written(program):
    start = np.arange(5.0) / 3
    agree(program, [(start, n) for n in (0, 1, 3, 40)])
    agree(program, [(start.astype(np.float32), 40)])
    assert reactant.jit(program).lower(start, 5000).operations()["stablehlo.while"] > 0


def left_while_another_name_looks(x, n):
    y, s = x, 0.0
    for _ in range(n):
        x[0] += 1.5
        if x.sum() > 9:
            x = x * 0.5
        s += y[0]
    return x, y, s


def left_and_shared(x, n):
    z = x
    for _ in range(n):
        x[0] += 1.5
        if x.sum() > 9:
            x = z = x * 0.5
        x *= 0.9
    return x, z


@pytest.mark.parametrize("program", [left_while_another_name_looks, left_and_shared])
def test_a_name_leaves_an_array_that_others_look_at_meanwhile(program):
    agree(program, [(np.arange(5.0) / 3, n) for n in (0, 1, 12)])


def written_and_turned_round(x, n):
    for _ in range(n):
        k = 0
        while k < 3 and n > 0:
            k += 1
            x += 1
            x = x[::-1]
    return x


def test_what_a_loop_inside_writes_before_it_binds_anew_is_not_lost():
    """The caller's array was left as it was."""
    with pytest.raises(ControlFlowError, match="'x' is bound to another array in a loop"):
        reactant.jit(written_and_turned_round)(np.arange(4.0), np.int64(1))
