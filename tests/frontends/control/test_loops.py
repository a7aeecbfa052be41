"""`for` and `while` over run-time values: programs plain and compiled, on counts from 0 to many."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.frontends.control.loops import Loop
from tests.frontends.agreement import DOWN, UP, State, agree, traced_counts


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


def bound_to_another_or_not(x):
    a, b, c = x, np.zeros(3), x
    k = 0
    while k < x[2]:
        b = a
        c = c.copy()
        k += 1
    c[0] = 20
    b[1] = 30
    return a, b, c


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


def nonlocal_in_branch(x):
    best, times = -np.inf, 0

    def look(v):
        nonlocal best, times
        if v > best:
            best = v
            times += 1

    for v in x:
        look(v * v)
    return best, times


def test_nonlocal_in_branch():
    agree(nonlocal_in_branch, [(UP,), (DOWN,), (np.linspace(-1, 1, 40),)])


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


def unrolled_for_sizes_that_follow(n):
    table = np.arange(70.0).reshape(7, 10) * n
    blocks = np.zeros(6)
    for k in range(0, 24, 4):       # the last one is shorter
        blocks[k // 4] = np.fft.rfft(table[0, k % 12:k % 12 + 4], 8)[1].real
    return [np.linalg.slogdet(table[:k, :k] + 50 * np.eye(k))[1] for k in range(1, 7)], blocks


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


def endless(n):
    return 1 if n <= 1 else n * endless(n - 1)


def test_recursion_that_the_run_ends_is_refused():
    with pytest.raises(reactant.UnsupportedError, match="'endless' calls itself without end while it is traced(.|\n)*"
                                                        "endless\\(n - 1\\)"):
        reactant.jit(endless)(np.int64(4))


class Signal:
    pass


def ended_by_its_first_iteration(x):
    rows, signals = list(x), True
    for row in rows:
        if not isinstance(row, Signal):
            signals = False
            break
    while True:
        ready = True
        break
    return [s.values for s in rows] if signals or not ready else np.array(rows).sum(0)


def test_what_the_only_iteration_of_a_loop_finds_out_is_known():
    assert reactant.verify(ended_by_its_first_iteration, np.arange(600.0).reshape(300, 2))


def endless_behind_a_check(x):
    return x[int(x[0])] + endless(x.sum())


def endless_in_a_try(x):
    try:
        return endless(x.sum())
    except RuntimeError:    # as RecursionError is
        return -1


def endless_in_a_try_of_its_own(x):
    try:
        return endless(x.sum())
    except RecursionError:
        x[0] = 7
        return -1


@pytest.mark.parametrize("function", [endless_behind_a_check, endless_in_a_try, endless_in_a_try_of_its_own])
def test_that_tracing_needs_too_much_stack_is_no_exception_of_the_program(function):
    with pytest.raises(reactant.UnsupportedError, match="'endless' calls itself without end while it is traced"):
        reactant.jit(function)(np.arange(3.0))


LOOPS = [for_traced, for_traced_bounds, for_last_index, for_first_assigned, break_continue_else, return_from_loop,
         return_from_nested_loops, nested_loops, while_in_for_in_if, fibonacci, previous_value, rebinding_arrays,
         double_buffer, saved_copy, accumulate_promoting, loop_over_array, over_rows, state_in_objects,
         nonlocal_in_loop, unrolled_for_shapes, unrolled_for_sizes_that_follow, appended, static_generator,
         flags_and_numbers, growing_dtype,
         views_carried, while_true, walrus_test, else_with_return, recursion]
ARRAY_LOOPS = [while_array, while_in_place, while_else, conditional_swap, bound_to_another_or_not,
               hardly_ever_bound_anew,
               conditional_best, previous_and_current]


@pytest.mark.parametrize("program", ARRAY_LOOPS, ids=lambda f: f.__name__)
def test_loops_over_arrays(program):
    agree(program, [(UP,), (DOWN,), (np.array([2.0, 1.0, 0.0]),)])


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


def line_search(x):
    iterations = 0
    while (x * x).sum() > 1e-3 and iterations < 60:
        step = 1.0
        while ((x * (1 - step)) ** 2).sum() > 0.5 * (x * x).sum():
            step *= 0.5
        x = x * (1 - 0.6 * step)
        iterations += 1
    return x, iterations


def bound_anew_after_a_branch_that_may_write_another(x):
    y = np.zeros_like(x)
    k = 0
    while k < 5:
        for i in range(len(x)):
            if x[i] > k:
                y[i] += x[i]
        x = x * 0.9
        k += 1
    return x, y


def test_arrays_that_inner_loops_only_read():
    agree(line_search, [(UP,), (DOWN,)])
    agree(bound_anew_after_a_branch_that_may_write_another, [(UP,), (DOWN,)])


def list_under_another_name(x):
    out, last = [], None
    for _ in range(100):
        x = x * 0.99
        out.append(x.sum())
        last = out
    last[3] = 9.0
    return out[3], out[4], len(out), last[-1]


def test_a_list_that_gets_another_name_in_the_loop():
    agree(list_under_another_name, [(UP,)])


def element_by_element(x, iterations):
    """Loops in loops that write arrays of known content; the last iteration writes another one."""
    total = np.zeros(3)
    for iteration in [*range(iterations)]:
        sums, products = np.zeros(3), np.ones(3)
        for i in range(40):
            for j in range(30):
                (sums if iteration < 2 else products)[j % 3] += x[i % 4] * j
        total = total + sums * products
    return total


def test_arrays_that_a_loop_wrote_before_are_carried_at_once(monkeypatch):
    """A loop that is traced again (an iteration of another one) expects to write what it has written: and finds out
    where it does not."""
    attempts = []
    attempt = Loop.attempt
    monkeypatch.setattr(Loop, "attempt", lambda self: attempts.append(self.count) or attempt(self))
    agree(element_by_element, [(np.arange(1.0, 5.0), 2)])
    assert attempts == [40, 30, 30, 40, 30, 40, 30]     # and not both loops twice in each iteration
    agree(element_by_element, [(np.arange(1.0, 5.0), 4)])


def ends_in_its_first_iteration(x):
    total, place = 0.0, 0
    while x[place] > 0:
        total, found = total + x[place], True
        if found:
            break
    else:
        return -1.0
    return total


def test_a_loop_with_a_test_of_the_run_that_ends_in_its_first_iteration():
    agree(ends_in_its_first_iteration, [(np.array([0.5, 2.0]),), (np.array([-0.5, 2.0]),)])
