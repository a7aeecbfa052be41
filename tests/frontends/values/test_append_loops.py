"""Lists that loops append to, against plain Python: values, identity of arrays, and that the loops stay loops."""
from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

X = np.array([0.5, -1.25, 2.0, 3.5, -0.75])
N = 300


def norms(x):
    history = [x.sum()]
    for _ in range(N):
        x = x * 0.99 + 0.1
        history.append((x * x).sum())
    return x, np.array(history), len(history), history[-1], history[3]


def records(x):
    log, times = [], []
    t = 0.0
    for i in range(N):
        x = np.roll(x, 1) * 0.99
        t += 0.1
        log.append((i, x.copy(), {"time": t, "first": [x[0], "name"]}))
        times.append(t)
    return log[0], log[-1], log[17], np.array(times)


def appended_before_it_is_bound_anew(x):
    states = []
    for _ in range(N):
        states.append(x)
        x = x * 0.9 + 1
    states[0][0] = 100.0
    x[1] = 50.0
    return states[0], states[1], states[-1], x


def the_last_one_is_the_variable(x):
    states = []
    for _ in range(N):
        x = x * 0.9 + 1
        states.append(x)
    x[0] = 100.0
    return states[-1], states[-2], x


def the_last_one_is_a_view_of_the_variable(x):
    states, tails = [], []
    for _ in range(N):
        new = x * 0.99
        tails.append(new[1:])
        states.append(np.sqrt(new * new))
        x = new
    x[1] = 77.0
    tails[-1][1] = 66.0
    return tails[0], tails[-1], states[-1], x


def one_array_many_times(x):
    states = []
    for _ in range(N):
        x *= 0.99
        x += 1
        states.append(x)
    return states[0] is states[5], states[0], states[-1]


def written_in_the_next_iteration(x):
    states = []
    for i in range(6):
        x[0] = i
        x = x + 1
        states.append(x)
    return states


def rows(m):
    found = []
    for i in range(len(m)):
        found.append(m[i])
    return np.stack(found), len(found)


def nested(x):
    out = []
    for i in range(12):
        for j in range(30):
            out.append(x[j % 5] * i)
    return np.array(out)


def several(x):
    a, b, c = [], [0], [None]
    for i in range(N):
        a.append(x[i % 5])
        a.append(i)
        b.append(i * 2)
        c.append("same")
    return a[0], a[1], a[-2], a[-1], len(a), b[-1], c[-1], sum(b)


class Recorder:
    def __init__(self):
        self.values = []

    def note(self, v):
        self.values.append(v)


def looked_at_in_the_loop(x):
    values = [1.0]
    for i in range(8):
        values.append(values[-1] * x[i % 5])
    return values


def through_another_name(x):
    values = []
    alias = values
    for i in range(8):
        values.append(x[i % 5])
        if len(alias) > 3:
            x = x + 1
    return values, x


def in_a_function(x):
    recorder = Recorder()
    for i in range(8):
        recorder.note(x[i % 5])
    return recorder.values


def conditionally(x):
    kept = []
    for i in range(20):
        x = x * 0.9
        if i % 5 == 0:
            kept.append(x)
    return kept


@pytest.mark.parametrize("program", [
    norms, records, appended_before_it_is_bound_anew, the_last_one_is_the_variable, one_array_many_times,
    the_last_one_is_a_view_of_the_variable, written_in_the_next_iteration, nested, several, looked_at_in_the_loop,
    through_another_name, in_a_function, conditionally], ids=lambda f: f.__name__)
def test_programs(program):
    agree(program, [(X,)])


def test_rows():
    agree(rows, [(np.arange(900.0).reshape(300, 3),)])


LOG: list = []


def logged():
    return len(LOG)


class Slots:
    __slots__ = ("items",)


def _watched_by(holder):
    """A program that appends to a list which it also looks at through something that has it."""
    def program(x):
        log = LOG
        log.clear()
        length, total = holder(log), 0.0
        for _ in range(N):
            log.append(x[0])
            total = total + length() * x[1]
        log.clear()
        return total
    return program


def by_default(log):
    def length(items=log):
        return len(items)
    return length


def by_attribute(log):
    made = Slots()
    made.items = log
    return lambda: len(made.items)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("holder", [by_default, by_attribute, lambda log: log.__len__, lambda log: partial(len, log),
                                    lambda log: logged], ids=["default", "slots", "bound", "partial", "global"])
def test_lists_that_others_look_at(holder):
    agree(_watched_by(holder), [(X,)])


@pytest.mark.parametrize("program", [norms, records, appended_before_it_is_bound_anew, the_last_one_is_the_variable,
                                     one_array_many_times, nested, several], ids=lambda f: f.__name__)
def test_loops_stay_loops(program):
    assert "stablehlo.while" in reactant.code_hlo(program, X, optimize=False)


def test_rows_of_an_array_are_not_aliased_silently():
    def f(m):
        found = []
        for i in range(len(m)):
            found.append(m[i])
        m[0] = 7
        return found[0]
    with pytest.raises(reactant.ControlFlowError, match="written in place"):
        reactant.jit(f)(np.ones((300, 3)))


def the_one_before(x, write):
    states, before = [], x
    for _ in range(N):
        new = x * 0.99
        states.append(new)
        before = x
        x = new
    if write:
        before[0] = 5.0
    return states[-2], before


def begun_with(x, write):
    states, before = [], x
    for _ in range(N):
        states.append(x)
        before = x
        x = x * 0.99
    if write:
        before[0] = 5.0
    return states[-1], before


@pytest.mark.parametrize("program", [the_one_before, begun_with], ids=lambda f: f.__name__)
def test_other_variables_that_may_hold_an_element(program):
    agree(program, [(X, False)])
    with pytest.raises(reactant.ControlFlowError, match="written in place"):
        reactant.jit(program)(X, True)


# ---- one of several arrays ---------------------------------------------------------------------------------------

def sometimes_halved(x, write=None):
    states = []
    for _ in range(N):
        x = x * 0.9 + 0.3
        x[0] += 0.1
        if x.sum() > 3:
            x = x * 0.5
        states.append(x)
    if write is not None:
        x[1] = 9.0
        states[write][0] = 5.0
    return np.array(states), x, states[-1]


def best_so_far(x, write=None):
    states, best = [], x
    for i in range(N):
        new = x + np.sin(i + x)
        best = new if new.sum() < best.sum() else best
        states.append((i, best, best.sum()))
        x = new
    if write is not None:
        states[write][1][0] = 5.0
    return [s[1] for s in states], best, states[7][2]


def made_or_given(x, write=None):
    states, zeros = [], np.zeros_like(x)
    for _ in range(N):
        states.append(x * 0.5 if x.sum() > 1 else zeros)
        x = x * 0.9 + 0.01
    if write is not None:
        zeros[write] = 5.0
    return np.array(states)


def by_two_names(x):
    states, y = [], x
    for _ in range(N):
        x = x * 0.99 + 0.1
        if x.sum() > 3:
            x = x * 0.5
        states.append(x)
        y = x
    y[0] = -1.0
    return np.array(states), x, y


def one_of_two_goes_on(x, limit, write=None):
    states, kept = [], x
    for i in range(N):
        first, second = x * 2 + i, x * 3
        kept = first if x[0] > limit else second
        states.append(first)
        x = x + 0.1
    if write is not None:
        kept[write] = 5.0
    return np.array(states), kept


def turned(m, write=None):
    states = []
    for _ in range(N):
        new = m * 0.99 + 1
        states.append(new)
        m = new.T
    if write is not None:
        m[0, write] = 3.0
    return states[-1], states[-2], m


def whole_and_parts(x, write=None):
    states, tails, log = [], [], []
    for _ in range(N):
        x = x * 0.9 + 0.1
        states.append(x)
        tails.append(x[1:])
        log.append((x.sum(), x))
    if write is not None:
        states[write][2] = 5.0
    return np.array(states), np.array(tails), log[9][1], x


def before_and_after(x, write=None):
    states = []
    for _ in range(N):
        states.append(x)
        x = x * 0.9 + 0.1
        states.append(x)
    x = None
    if write is not None:
        states[write][2] = 5.0
    return np.array(states)


@pytest.mark.parametrize(("program", "arguments"), [
    (sometimes_halved, (X,)), (sometimes_halved, (X, 3)), (sometimes_halved, (X, -1)), (best_so_far, (X,)),
    (whole_and_parts, (X,)), (before_and_after, (X,)), (made_or_given, (X,)), (by_two_names, (X,)),
    (one_of_two_goes_on, (X, 1.0)), (one_of_two_goes_on, (X, 99.0)),
    (turned, (np.arange(9.0).reshape(3, 3),))], ids=lambda v: getattr(v, "__name__", str(v)[-5:]))
def test_one_of_several_arrays(program, arguments):
    """`one_of_two_goes_on` and `turned` gave the variable's array for the last element, whichever it was."""
    agree(program, [arguments])
    assert "stablehlo.while" in reactant.code_hlo(program, *arguments, optimize=False)


@pytest.mark.parametrize(("program", "arguments"), [
    (best_so_far, (X, 3)), (whole_and_parts, (X, 4)), (before_and_after, (X, 4)), (made_or_given, (X, 1)),
    (one_of_two_goes_on, (X, 99.0, 0)),
    (turned, (np.arange(9.0).reshape(3, 3), 1))], ids=lambda v: getattr(v, "__name__", ""))
def test_one_of_several_arrays_is_written(program, arguments):
    with pytest.raises(reactant.ControlFlowError, match="written in place"):
        reactant.jit(program)(*arguments)


def given_by_name(x, y, write=None):
    states = []
    for i in range(N):
        states.append(x[1:])
        x = y * 0.9 + i if x.sum() > 1 else y
    if write is not None:
        states[write][0] = 66.0
    return states[1], y


def bound_to_another(x, y, write=None):
    states = []
    for _ in range(N):
        states.append(x)
        x = y
    if write is not None:
        y[write] = 66.0
    return states[1], states[0], x


def passed_from_name_to_name(x, y, write=None):
    states, z = [], x * 3
    for _ in range(N):
        states.append(x)
        x, y, z = y, z, z * 0.5
    if write is not None:
        y[write] = 66.0
    return states[1], states[0], states[-1], x


@pytest.mark.parametrize("program", [given_by_name, bound_to_another, passed_from_name_to_name],
                         ids=lambda f: f.__name__)
def test_other_arrays_that_a_variable_begins_a_iteration_with(program):
    agree(program, [(X, X + 0.5)])
    if program in (given_by_name, passed_from_name_to_name):
        with pytest.raises(reactant.ControlFlowError, match="written in place"):
            reactant.jit(program)(X.copy(), X + 0.5, 1)
    else:
        agree(program, [(X, X + 0.5, 1)])


@pytest.mark.parametrize("joined", [
    np.array, np.stack, np.vstack, np.asarray, np.hstack, lambda s: np.concatenate(s).reshape(-1, 5),
    lambda s: np.array(s[10:]), lambda s: np.array([*s[20:50], *s[5:9], s[3], s[60]]), lambda s: np.stack(s, axis=1),
    lambda s: np.array(s, np.float32), lambda s: np.stack([v.reshape(5, 1) for v in s], axis=2),
    lambda s: np.concatenate([v[:, None] for v in s[1:]], axis=1), lambda s: np.column_stack(s)])
def test_elements_that_are_joined_are_a_slice(joined):
    """They were taken apart and joined again, one by one: 10,000 took 15 s to compile."""
    def f(x):
        states = []
        for _ in range(N):
            x = x * 0.9 + 0.1
            states.append(x)
        return joined(states)
    agree(f, [(X,)])
    made = reactant.jit(f).lower(X)
    assert sum(made.operations().values()) < 30
    if joined in (np.array, np.stack, np.vstack):
        assert made.as_text(optimized=False).count("concatenate") == 1
