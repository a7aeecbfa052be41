"""Control flow over run-time values: each program plain and compiled, on arguments that take every path."""
from __future__ import annotations

import copy
import dataclasses
import math

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.support import assert_same

UP, DOWN, ZERO = np.array([1.0, 2.0, 3.0]), np.array([-1.0, -2.0, 4.0]), np.zeros(3)
MANY = [(UP,), (DOWN,), (ZERO,)]
COUNTS = [(0,), (1,), (2,), (7,)]


def traced_counts(*extra):
    return [(np.int64(n), *extra) for n in (0, 1, 2, 3, 9)]


# ---- branches --------------------------------------------------------------------------------------------------

def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def if_only(x):
    y = x + 1
    if x[0] > 0:
        y = y * 3
    return y


def elif_chain(x):
    s = x.sum()
    if s > 5:
        name, y = 1, x
    elif s > 0:
        name, y = 2, x * 2
    elif s < 0:
        name, y = 3, x * 3
    else:
        name, y = 4, x * 4
    return name, y + 1


def early_returns(x):
    if x[0] > 0:
        return x + 1
    if x[1] < 0:
        return x - 1
    return x * 0


def nested_early_return(x):
    total = 0.0
    if x[0] != 0:
        total = total + 1
        if x[2] > 3:
            return total, x
        total = total * 2
    total = total + x[1]
    return total, x * 2


def return_in_both(x):
    if x.min() < 0:
        return -x
    else:
        return x


def write_in_branch(x):
    v = x[1:]
    if x[0] > 0:
        v[0] = 10
        x[0] += v[1]
    else:
        x[::2] = 5
    return v * 2


def write_through_view_made_in_branch(x):
    a = np.zeros((2, 3))
    if x[0] >= 0:
        row = a[1]
        row += x
        row[0] = -1
    return a


def two_names_one_array(x):
    a = np.zeros(3)
    b = a
    if x[0] > 0:
        a += 1
    else:
        b[1] = 7
    return a, b


def rebound_alias_then_write(x):
    a, b = np.ones(3), np.zeros(3)
    c = a
    if x[0] > 0:
        c = b
    c[0] = 9
    b[1] = 4
    return a, b, c


def argument_or_copy_then_write(x):
    if x[0] > 0:
        x = x * 2
    x[0] = 100.0
    return x.sum()


def swapped_in_branch(x):
    a, b = x, x + 1
    if x[0] > 0:
        a, b = b, a
    a[0] = 50
    return a, b


def shared_in_both_branches(x):
    if x[0] > 0:
        a = x + 1
        b = a
    else:
        a = x - 1
        b = a
    b[0] = 3
    return a, b


def views_of_fresh(x):
    if x[0] > 0:
        a = x + 1
        b = a[1:]
    else:
        a = x - 1
        b = a[1:]
    b[:] = 8
    return a, b


def only_one_branch_assigns(x):
    if x[0] > 0:
        y = x * 2
    z = 1.0
    if x[0] > 0:
        z = y.sum()
    return z


def number_types(x):
    n = 0.0
    if x[0] > 0:
        n = 1.5
    k = 1
    if x[1] > 0:
        k = 7
    best = 0.0
    if x[2] > best:
        best = x[2]
    return n, k, best


def containers(x):
    if x[0] > 0:
        pair, d, items = (x, 1), {"a": x, "b": 2.0}, [x[0], 2]
    else:
        pair, d, items = (x + 1, 2), {"a": x * 2, "b": 3.0}, [x[1], 3]
    return pair, d, items


@dataclasses.dataclass
class State:
    position: object
    energy: float = 0.0

    def kick(self, x):
        if x[0] > 0:
            self.position = self.position + x
            self.energy += 1.0
        else:
            self.energy = -1.0
        return self


def dataclasses_and_methods(x):
    s = State(x * 1)
    s.kick(x).kick(x)
    if x[2] > 3:
        s = State(x, 3.0)
    return s.position, s.energy


def changed_list_and_dict(x):
    items, table = [x, 1.0], {"a": x, "n": 1}
    if x[0] > 0:
        items[1] = 2.0
        table["a"] = x * 2
        table["n"] += 1
    else:
        items[0] = x * 3
    return items, table


def closure_counter(x):
    count = 0

    def bump(by):
        nonlocal count
        count += by

    if x[0] > 0:
        bump(2)
    else:
        bump(5)
    bump(1)
    return count


def conditional_expressions(x):
    a = x if x[0] > 0 else x * 2
    b = 1 if x[1] > 0 else 2
    c = (x + 1 if x[2] > 3 else x + 2) if x[0] != 0 else x + 3
    return a, b, c


def logic(x):
    a = x[0] > 0 and x[1] > 0
    b = x[0] > 0 or x[1] < 0
    c = not x[0]
    d = x[0] > 0 and x[1] > 0 and not x[2] < 0
    e = x[0] or x[1]
    f = 0 < x[0] < 5
    g = -5 < x[1] <= x[0] < 3
    return 1 if a else 0, 1 if b else 0, c, 1 if d else 0, e, 1 if f else 0, 1 if g else 0


def effects_in_short_circuit(x):
    def bump(a):
        a += 1
        return a[0] > 0

    if x[1] > 0 and bump(x):
        return x * 2
    return x


def membership(x):
    return 1 if 2.0 in x else 0, 1 if x[0] in (1.0, 5.0) else 0, 1 if x[0] not in [-1.0] else 0


def nothing_returned(x):
    if x[0] > 0:
        x[0] = 5
        return
    x[1] = 6


def none_or_value(x, flag=None):
    if flag is None:
        flag = x[0] > 0
    if flag:
        return x
    return -x


BRANCHES = [if_else, if_only, elif_chain, early_returns, nested_early_return, return_in_both, write_in_branch,
            write_through_view_made_in_branch, two_names_one_array, rebound_alias_then_write,
            argument_or_copy_then_write, swapped_in_branch, shared_in_both_branches, views_of_fresh,
            only_one_branch_assigns, number_types, containers, dataclasses_and_methods, changed_list_and_dict,
            closure_counter, conditional_expressions, logic, effects_in_short_circuit, membership, nothing_returned,
            none_or_value]


# ---- loops -----------------------------------------------------------------------------------------------------

def while_array(x):
    k = 0
    while abs(x).sum() < 100 and k < 20:
        x = x * 2
        k += 1
    return x, k


def while_in_place(x):
    while x[0] < 10 and x[0] > -1:
        x *= 2
        x[0] += 1
    return x


def conditional_swap(x):
    a, b = x + 1, x * 2
    k = 0
    while k < x[2]:
        a[k % 3] += k
        if x[k % 3] > 1:
            a, b = b, a
        k += 1
    return a, b


def hardly_ever_bound_anew(x):
    a, b = x * 2, x
    k = 0
    while k < x[2]:
        if k > 100:
            a = a.copy()
        if 1 > 2:
            b = b.copy()
        a[k % 3] += k + 1
        b[k % 3] -= 1
        k += 1
    return a, b


def conditional_best(x):
    best, value = x * 0, -10.0
    k = 0
    while k < 3 + x[2]:
        trial = x * k - k * k
        if trial.sum() > value:
            best, value = trial, trial.sum()
        k += 1
    best[0] = 17
    return best, value


def previous_and_current(x):
    current = x * 2
    previous = current
    k = 0
    while k < x[2]:
        previous = current
        current = current + k
        k += 1
    return previous, current - previous


def while_else(x):
    k = 0
    while k < x[2]:
        if k == x[0]:
            found = k
            break
        k += 1
    else:
        found = -1
    return found, k


def for_traced(n):
    total, product = 0, 1.0
    for i in range(n):
        total += i
        product *= i + 1.0
    return total, product


def for_traced_bounds(n):
    out = np.zeros(12)
    for i in range(n, 10):
        out[i] = i
    for i in range(n - 1, -1, -1):
        out[i] -= 2 * i
    for i in range(1, n, 2):
        out[i] *= 10
    return out


def for_last_index(n):
    i = -1
    for i in range(n):  # noqa: B007
        pass
    return i


def for_first_assigned(n):
    total = 0
    for i in range(n):
        last = i * 2
        total += last
    if n > 0:
        total += last
    return total


def break_continue_else(n):
    total = 0
    for i in range(n):
        if i == 2:
            continue
        if i == 6:
            break
        total += i
    else:
        total += 1000
    return total


def return_from_loop(n):
    for i in range(10):
        if i == n:
            return i * 10
    return -1


def return_from_nested_loops(n):
    for i in range(5):
        for j in range(6):
            if i * j == n and n > 0:
                return i, j
        if i == n:
            return i, -1
    return -1, -1


def nested_loops(n):
    a = np.zeros((6, 6))
    for i in range(n):
        for j in range(i):
            a[i % 6, j % 6] += i * j
            if j > 3:
                break
    return a


def while_in_for_in_if(n):
    steps = 0
    if n > 1:
        for i in range(n):
            k = i
            while k != 1 and k != 0:
                if k % 2 == 0:
                    k = k // 2
                else:
                    k = 3 * k + 1
                steps += 1
    return steps


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def previous_value(n):
    for i in range(9):
        if i > 0 and n > 0:
            previous = previous + i  # noqa: F821
        else:
            previous = i
    return previous


def rebinding_arrays(n):
    a, b = np.arange(3.0), np.ones(3)
    for _ in range(n):
        a, b = b, a + b
    return a, b


def double_buffer(n):
    a, b = np.arange(8.0), np.zeros(8)
    for _ in range(n):
        b[1:-1] = (a[:-2] + a[2:]) / 2
        a, b = b, a
    return a, b


def saved_copy(n):
    x = np.arange(4.0)
    old = x.copy()
    for _ in range(n):
        old = x.copy()
        x[1:] += x[:-1]
    return x, old


def accumulate_promoting(n):
    total, best = 0.0, 0.0
    for i in range(n):
        total = total + i / 2
        best = max(best, total)
    return total, best


def loop_over_array(n):
    total, where = 0.0, -1
    for i, v in enumerate(np.arange(20.0) * 2):
        if i < n:
            total += v
            where = i
    for v, w in zip(np.arange(7.0), range(3, 20)):  # noqa: B905
        total += v * w
    for v in reversed(np.arange(6.0)):
        total = total * 0.5 + v
    return total, where


def over_rows(n):
    a = np.arange(12.0).reshape(6, 2)
    out = np.zeros(2)
    for row in a:
        row += n
        out += row
    return a, out


def state_in_objects(n):
    s = State(np.arange(3.0), 1.0)
    counts = [0, 0.0]
    for i in range(n):
        s.position = s.position * 2
        s.energy += i
        counts[0] += 1
        counts[1] = counts[1] + 0.5
    return s.position, s.energy, counts


def nonlocal_in_loop(n):
    count = 0

    def bump():
        nonlocal count
        count = count + 2

    for _ in range(n):
        bump()
    return count


def unrolled_for_shapes(n):
    out = []
    for k in range(1, 7):
        out.append(np.ones(k) * n)
    return out


def appended(n):
    out = []
    for i in range(6):
        if i % 2:
            out.append(n + i)
    return out, [n * i for i in range(8) if i > 5]


def static_generator(n):
    def pairs(k):
        for i in range(k):
            if i % 2 == 0:
                yield i, i + 1

    return sum(a * b + n for a, b in pairs(6))


def flags_and_numbers(n):
    done, k = False, 0
    while not done:
        k += 1
        done = k >= n
    return k, done


def growing_dtype(n):
    x = np.zeros(3, dtype=np.int32)
    y = 1
    for i in range(n):
        x = x + np.int32(i)
        y = y * 2
        if y > 20:
            y = 1
    return x, y


def views_carried(n):
    a = np.arange(10.0)
    v = a[2:6]
    for i in range(n):
        v[i % 4] = -i
        v += 1
    return a, v


def while_true(n):
    k = 0
    while True:
        if k >= n:
            break
        k += 2
        if k == 3:
            continue
    return k


def walrus_test(n):
    k, total = n, 0
    while (k := k - 1) > 0:
        total += k
    return total, k


def else_with_return(n):
    for i in range(4):
        if i == n:
            break
    else:
        return "none found" if n is None else -5
    return i


def recursion(n):
    def power(base, exponent):
        if exponent == 0:
            return 1.0
        half = power(base, exponent // 2)
        return half * half * (base if exponent % 2 else 1)

    return power(n * 1.0, 9)


LOOPS = [for_traced, for_traced_bounds, for_last_index, for_first_assigned, break_continue_else, return_from_loop,
         return_from_nested_loops, nested_loops, while_in_for_in_if, fibonacci, previous_value, rebinding_arrays,
         double_buffer, saved_copy, accumulate_promoting, loop_over_array, over_rows, state_in_objects,
         nonlocal_in_loop, unrolled_for_shapes, appended, static_generator, flags_and_numbers, growing_dtype,
         views_carried, while_true, walrus_test, else_with_return, recursion]
ARRAY_LOOPS = [while_array, while_in_place, while_else, conditional_swap, hardly_ever_bound_anew,
               conditional_best, previous_and_current]


def agree(program, cases, **options):
    """One compiled function; each case gives what plain Python gives, in results, arguments and exceptions."""
    compiled = reactant.jit(program, **options)
    for case in cases:
        mine, theirs = copy.deepcopy(case), copy.deepcopy(case)
        try:
            with np.errstate(all="ignore"):
                plain = program(*mine)
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                compiled(*theirs)
            assert str(caught.value).split("\n")[0] == str(error).split("\n")[0]
            continue
        assert_same(plain, compiled(*theirs))
        assert_same(mine, theirs, path="arguments")
    return compiled


@pytest.mark.parametrize("program", BRANCHES, ids=lambda f: f.__name__)
def test_branches(program):
    agree(program, MANY)


@pytest.mark.parametrize("program", ARRAY_LOOPS, ids=lambda f: f.__name__)
def test_loops_over_arrays(program):
    agree(program, [(UP,), (DOWN,)])


@pytest.mark.parametrize("program", LOOPS, ids=lambda f: f.__name__)
def test_loops(program):
    agree(program, traced_counts(), traced_argnames=("n",))


@pytest.mark.parametrize("program", [for_traced, break_continue_else, nested_loops, double_buffer, rebinding_arrays,
                                     fibonacci, state_in_objects, for_first_assigned, loop_over_array],
                         ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 70])
@pytest.mark.parametrize("unroll_limit", [0, 256])
def test_static_trip_counts(program, n, unroll_limit):
    if n == 70 and program in (for_traced, nested_loops):
        pytest.skip("overflows 64 bits, or writes outside")
    agree(program, [(n,)], unroll_limit=unroll_limit)


# ---- errors at run time ----------------------------------------------------------------------------------------

class TooCold(Exception):
    pass


def assertion(x):
    assert x[0] > 0, "must be positive"
    assert x[1] > 0
    return x


def raise_in_branch(x):
    if x[0] < 0:
        raise TooCold("below zero")
    if x[1] == 0:
        raise ValueError
    return x * 2


def raise_or_return(x):
    if x[0] > 0:
        y = x * 2
    elif x[1] < 0:
        raise KeyError("second")
    else:
        y = x + 1
    return y


def raise_in_loop(x):
    total = 0.0
    for v in x:
        if v < -1:
            raise ValueError("first kind")
        if v == 0:
            raise TooCold("second kind")
        total += v
    return total


def first_failure_wins(x):
    for k in range(100):
        if k == 7 + x[0]:
            raise ValueError("early in the body, later")
        if k == 3 + x[0]:
            raise TooCold("late in the body, earlier")
    return x


def endless_unless_raised(x):
    k = 0
    while True:
        k += 1
        if k > x[2] + 5:
            raise TooCold("enough")
        if k == 6 and x[0] > 0:
            return k


def unbound(x):
    if x[0] > 0:
        y = x
    if x[2] > 3:
        return x
    return y


def both_raise(x):
    if x[0] > 0:
        raise TooCold("up")
    else:
        raise ValueError("down")


def raise_through_call(x):
    def check(v):
        if v < 0:
            raise TooCold("deep")
        return math.pi

    if x[2] > 0:
        return check(x[0])
    return 0.0


def handled_without_a_decision(x):
    try:
        y = x["name"]
    except (IndexError, TypeError, KeyError):
        y = x
    try:
        raise TooCold("caught while tracing")
    except TooCold:
        return y + 1


RAISING = [assertion, raise_in_branch, raise_or_return, raise_in_loop, first_failure_wins, endless_unless_raised,
           unbound, both_raise, raise_through_call]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", RAISING, ids=lambda f: f.__name__)
def test_errors_at_run_time(program):
    compiled = reactant.jit(program)
    for (x,) in [*MANY, (np.array([1.0, 0.0, 2.0]),), (np.array([-2.0, 1.0, 5.0]),)]:
        try:
            expected = program(x.copy())
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                compiled(x.copy())
            if not isinstance(error, (AssertionError, UnboundLocalError)):     # pytest writes into the first
                assert str(caught.value).split("\n")[0] == str(error)
        else:
            assert_same(expected, compiled(x.copy()))


def test_checks_of_the_user_stay_without_our_own():
    with pytest.raises(AssertionError, match="must be positive"):
        reactant.jit(assertion, check=False)(DOWN)


# ---- what cannot be compiled -----------------------------------------------------------------------------------

def shapes_differ(x):
    if x[0] > 0:
        y = x
    else:
        y = x[1:]
    return y


def dtypes_differ(x):
    if x[0] > 0:
        y = x
    else:
        y = x.astype(np.int32)
    return y


def strings_differ(x):
    name = "up" if x[0] > 0 else "down"
    return name


def returned_types_differ(x):
    if x[0] > 0:
        return x
    return x[0]


def returns_on_some_paths(x):
    if x[0] > 0:
        return x


def appends_in_branch(x):
    out = []
    if x[0] > 0:
        out.append(x)
    return out


def appends_in_loop(x):
    out = []
    k = 0
    while k < x[2]:
        out.append(k)
        k += 1
    return out


def new_attribute_in_loop(x):
    s = State(x)
    k = 0
    while k < x[2]:
        s.extra = k
        k += 1
    return k


def shape_changes_in_loop(x):
    y = x
    k = 0
    while k < x[2]:
        y = np.concatenate([y, y])
        k += 1
    return y


def raise_in_try(x):
    try:
        if x[0] > 0:
            raise ValueError("lost")
    except ValueError:
        return x
    return x * 2


def rebound_and_written(x):
    k = 0
    while k < x[2]:
        x[0] = k
        x = x + 1
        k += 1
    return x


def buffers_of_the_caller(x):
    y = np.zeros(3)
    k = 0
    while k < x[2]:
        y[1:] = x[:-1]
        x, y = y, x
        k += 1
    return x


def bound_to_an_outer_array_and_written(x):
    a, b = np.zeros(3), np.ones(3)
    k = 0
    while k < x[2]:
        b[0] += 1
        if x[k] > 1:
            b = a
        k += 1
    return a, b


def used_before_assignment(x):
    k = 0
    while k < x[2]:
        if k > 0:
            k = k + last  # noqa: F821
        last = k
        k += 1
    return last


def next_in_branch(x):
    it = iter([1.0, 2.0])
    if x[0] > 0:
        x = x + next(it)
    return x + next(it)


def list_by_traced_index(x):
    table = ["a", "b", "c"]
    k = 0
    while k < x[2]:
        table[k]
        k += 1
    return k


REFUSED = {
    shapes_differ: "'y' has no single type after an `if` that is decided at run time: it holds a float64 array of "
                   r"shape \(3,\) and a float64 array of shape \(2,\)",
    dtypes_differ: r"a float64 array of shape \(3,\) and a int32 array of shape \(3,\)",
    strings_differ: "The two sides of an expression that is decided at run time differ: 'up' and 'down'",
    returned_types_differ: r"The returned value has no single type .* array of shape \(3,\) and a float64 scalar",
    returns_on_some_paths: "returns a value on some paths and nothing on others",
    appends_in_branch: "changes a list of 0 elements differently in its branches",
    appends_in_loop: "changes a list of 0 elements in a way that a loop cannot carry",
    new_attribute_in_loop: "changes an object of type State in a way that a loop cannot carry",
    shape_changes_in_loop: r"'y' changes its type in a loop .* shape \(3,\) and a float64 array of shape \(6,\)",
    raise_in_try: "This `raise` depends on a value known only at run time, and stands inside a `try` with handlers",
    rebound_and_written: r"'x' is bound to another array in a loop .* Start from a copy: x = x.copy\(\)",
    buffers_of_the_caller: r"'x' is bound to another array in a loop .* Start from a copy: x = x.copy\(\)",
    bound_to_an_outer_array_and_written: "'b' may be bound to an array from outside of the loop",
    used_before_assignment: "'last' is read in a loop that runs inside compiled code before it is assigned there",
    next_in_branch: r"next\(\) inside a branch or loop",
    list_by_traced_index: "A list index or a size must be known while tracing",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_refused(program):
    with pytest.raises(reactant.ReactantError, match=REFUSED[program]) as caught:
        reactant.jit(program)(UP)
    lines = program.__code__.co_firstlineno, max(line for *_, line in program.__code__.co_lines() if line)
    place = str(caught.value).split(f"at {__file__}:")[1]
    assert lines[0] <= int(place.split(",")[0]) <= lines[1]
    assert f"in {program.__name__}" in place


def test_a_loop_that_needs_its_index_is_unrolled_up_to_a_limit():
    def growing(x):
        total = 0.0
        for k in range(1, 40):
            total = total + (np.ones(k) * x[0]).sum()
        return total

    agree(growing, [(UP,)])
    with pytest.raises(reactant.ReactantError, match="must be known while tracing") as caught:
        reactant.jit(growing, max_unroll=20)(UP)
    assert "total = total + (np.ones(k) * x[0]).sum()" in str(caught.value)


# ---- what becomes of loops -------------------------------------------------------------------------------------

def heat(u, steps):
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def operations(program, *args, **options):
    return reactant.jit(program, **options).lower(*args).operations(optimized=False)


def test_long_loops_stay_loops():
    few, many = operations(heat, np.ones(50), 100), operations(heat, np.ones(50), 10_000)
    assert few == many
    assert many["stablehlo.while"] == 1
    agree(heat, [(np.arange(20.0), 10_000)])


def test_long_while_loops_stay_loops():
    def heat_while(u, steps):
        k = 0
        while k < steps:
            u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            k += 1
        return u, k

    counted = operations(heat_while, np.ones(50), 10_000)
    assert counted["stablehlo.while"] == 1
    assert counted == operations(heat_while, np.ones(50), 20_000)
    agree(heat_while, [(np.arange(20.0), 500), (np.arange(20.0), 3)])


@pytest.mark.parametrize("steps, limit, loops", [(4, 0, 0), (5, 0, 1), (40, 256, 1), (40, 4096, 0)])
def test_unrolling_rule(steps, limit, loops):
    counted = operations(heat, np.ones(50), steps, unroll_limit=limit)
    assert counted.get("stablehlo.while", 0) == loops


def test_known_numbers_stay_known():
    def table(x):
        total = 0
        for i in range(1000):
            total += i
        k = 1
        while k < 5000:
            k += 1
        return np.zeros(total % 7 + k % 3) + x[0]

    agree(table, [(UP,)])
    assert "stablehlo.while" not in operations(table, UP)


def test_invariant_values_are_not_carried():
    def invariant(x, y):
        out = np.zeros(3)
        for i in range(100):
            scale = y
            out += x * scale[i % 3]
        return out

    lowered = reactant.jit(invariant).lower(UP, DOWN).as_text(optimized=False)
    (line,) = [text for text in lowered.splitlines() if "stablehlo.while" in text]
    assert line.count("tensor<3xf64>") == 1


def test_counters_keep_their_bounds():
    def guarded(x):
        i = 0
        while i < 50:
            if i > 0:
                x = x + i
            i += 1
            if x[0] > 300:
                break
        return x, i

    agree(guarded, [(UP,), (UP * 100,), (UP * 400,)])
    assert "stablehlo.if" not in operations(guarded, UP)


def test_small_branches_are_selected_from():
    assert "stablehlo.if" not in operations(lambda x: x[0] * 2 if x[1] > 0 else x[2] + 1, UP)
    assert operations(if_else, UP)["stablehlo.if"] == 1


# ---- leaks -----------------------------------------------------------------------------------------------------

KEPT: list = []


def test_leak_out_of_a_branch():
    class Box:
        __slots__ = ("value",)

    box = Box()

    def leaking(x):
        if x[0] > 0:
            object.__setattr__(box, "value", x * 2)       # not seen by the converter
        return box.value + 1

    with pytest.raises(reactant.LeakError, match="outside the compiled call, branch or loop body"):
        reactant.jit(leaking)(UP)


def test_state_is_clean_after_an_error():
    state = State(UP)

    def failing(x):
        k = 0
        while k < x[2]:
            state.energy = k
            state.extra = k
            k += 1
        return k

    for _ in range(2):
        with pytest.raises(ControlFlowError):
            reactant.jit(failing)(UP)
        assert vars(state) == {"position": UP, "energy": 0.0} or state.energy == 0.0
    agree(if_else, MANY)
