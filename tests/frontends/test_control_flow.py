"""Control flow over run-time values: errors at run time, what is refused, which loops stay loops, leaks."""
from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, ControlFlowError
from reactant.ir.context import building
from tests.frontends.agreement import DOWN, MANY, UP, State, agree
from tests.frontends.control.test_branches import if_else
from tests.frontends.control.test_loops import while_array
from tests.oracle import assert_same

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


def test_handlers_that_need_no_decision_at_run_time():
    assert_same(handled_without_a_decision(np.ones(3)), reactant.jit(handled_without_a_decision)(np.ones(3)))


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


def number_or_text(x):
    return "up" if x[0] > 0 else 3


def returned_types_differ(x):
    if x[0] > 0:
        return x
    return x[0]


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


def rebound_and_written(x):
    k, y = 0, x
    while y.sum() < x[2]:
        x[0] += 1.5
        y = y if k < 5 else y + 1
        k += 1
        if k == 4:
            x = x + 0.1
    return x, y


def written_and_then_rebound(x):
    k = 0
    while k < x[1]:
        x[0] = k
        x = x + 0.25
        k += 1
    return x


def test_written_and_then_rebound():
    agree(written_and_then_rebound, [(UP,), (-UP,), (UP * 3,)])


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
        k = k + last  # noqa: F821
        last = k
    return last


def refusal_below_any_handler(x):
    try:
        y = np.trim_zeros(x)
    except Exception:
        y = x
    return y


def appends_in_branch_to_a_list_with_two_names(x):
    out, last = [1.0], None
    if x[0] > 0:
        out.append(2.0)
        last = out
    return len(out), last


def next_in_branch(x):
    it = iter([1.0, 2.0])
    if x[0] > 0:
        x = x + next(it)
    return x + next(it)


def iterator_used_up_in_branch(x):
    it = iter([1.0, 2.0])
    if x[0] > 0:
        x = x + sum(it)
    return x + next(it, 5.0)


def iterator_unpacked_in_branch(x):
    it = iter([1.0, 2.0])
    if x[0] > 0:
        first, *_ = it
        x = x + first
    return x + next(it, 5.0)


def iterator_used_up_in_loop(x):
    it = iter([1.0, 2.0])
    while x[0] < 9:
        for step in it:
            x = x + step
        x = x + 1
    return x


def list_by_traced_index(x):
    table = [1, "b", [2]]
    k = 0
    while k < x[2]:
        table[k]
        k += 1
    return k


def iterators_made_in_a_branch(x):
    def doubled(values):
        for v in values:
            yield v * 2
    y = x
    if x[0] > 0:
        mine = iter([x + 1, x + 2])
        y = next(mine) + next(mine) + next(doubled(x), None) + sum(v for v in doubled([3, 4]))
    return y


def test_iterators_made_in_a_branch():
    agree(iterators_made_in_a_branch, [(UP,), (-UP,)])


REFUSED = {
    shapes_differ: "'y' has no single type after an `if` that is decided at run time: it holds a float64 array of "
                   r"shape \(3,\) and a float64 array of shape \(2,\)",
    dtypes_differ: r"a float64 array of shape \(3,\) and a int32 array of shape \(3,\)",
    number_or_text: "The two sides of an expression that is decided at run time differ: 'up' and a Python int",
    returned_types_differ: r"The returned value has no single type .* array of shape \(3,\) and a float64 scalar",
    new_attribute_in_loop: "changes an object of type State in a way that a loop cannot carry",
    shape_changes_in_loop: r"'y' changes its type in a loop .* shape \(3,\) and a float64 array of shape \(6,\)",
    refusal_below_any_handler: "the size of the result depends on run-time values",
    appends_in_branch_to_a_list_with_two_names: "changes a list of 1 elements differently in its branches",
    rebound_and_written: r"'x' is bound to another array in a loop .* Start from a copy: x = x.copy\(\)",
    bound_to_an_outer_array_and_written: "'b' may be bound to an array from outside of the loop",
    used_before_assignment: "'last' is read in a loop that runs inside compiled code before it is assigned there",
    next_in_branch: "An iterator that was made before a branch or loop",
    iterator_used_up_in_branch: "An iterator that was made before a branch or loop",
    iterator_unpacked_in_branch: "An iterator that was made before a branch or loop",
    iterator_used_up_in_loop: "An iterator that was made before a branch or loop",
    list_by_traced_index: "A list index or a size must be known while tracing",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_refused(program):
    with pytest.raises(reactant.ReactantError, match=REFUSED[program]) as caught:
        reactant.jit(program)(UP)
    lines = program.__code__.co_firstlineno, max(line for *_, line in program.__code__.co_lines() if line)
    span = caught.value.span
    assert span.file == __file__ and lines[0] <= span.line <= lines[1]
    assert program.__name__ in span.function and f"--> {__file__}:{span.line}, in" in str(caught.value)


def test_handlers_that_name_our_errors_see_them():
    def f(x):
        try:
            y = np.trim_zeros(x)
        except reactant.ReactantError:
            y = x * 3
        try:
            z = {}["missing"]
        except KeyError:
            z = y + 1
        return z
    np.testing.assert_array_equal(reactant.jit(f)(UP), UP * 3 + 1)


@pytest.mark.slow
def test_a_loop_that_needs_its_index_is_unrolled_up_to_a_limit():
    def growing(x):
        total = 0.0
        for k in range(1, 40):
            total = total + (np.hanning(k) * x[0]).sum()
        return total

    agree(growing, [(UP,)])
    with pytest.raises(reactant.ReactantError, match="must be known while tracing") as caught:
        reactant.jit(growing, max_unroll=20)(UP)
    assert "total = total + (np.hanning(k) * x[0]).sum()" in str(caught.value)


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


@pytest.mark.slow
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


def test_operations_know_their_lines():
    with building():
        text = reactant.jit(while_array).lower(UP).module.operation.get_asm(enable_debug_info=True)
    lines = inspect.getsource(while_array).splitlines()
    line = next(n for n, source in enumerate(lines, while_array.__code__.co_firstlineno) if "while " in source)
    assert f'test_loops.py":{line}:' in text


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


def test_truths_that_one_known_operand_decides():
    def program(x, policy):
        found = x.sum() > 1
        if any([found]) and policy == "omit":
            x = x[:1]       # another shape: the run cannot come here
        if found or policy == "all":
            x = x + 1
        return x * 2 if np.any(x > 0) and policy == "none" else x

    for policy in ("omits", "all"):
        for value in (0.0, 1.0):
            assert reactant.verify(program, np.full(3, value), policy)


def truths_of_several_types(weights, changes, n):
    count = 0
    for k in range(len(changes)):
        if weights[k] and changes[k] < 0:
            count += 1
        if not (weights[k] or changes[k] > 2 or count):
            count += 10
        step = 1 if weights[k] and n[k] else 2
        while n[k] and weights[k] and count < 100:
            count += 7
        assert count or weights[k] or True
        count += step
    if weights[0] and [1]:
        return count + 1
    if weights[1] and None:
        return count + 2
    return count


def test_only_the_truth_counts_in_a_test():
    """`and` and `or` give one of their operands; in a test these may be numbers of several types, lists or None."""
    rng = np.random.default_rng(0)
    cases = [(rng.integers(0, 2, 6) * 1.5, rng.standard_normal(6) * 2, rng.integers(0, 2, 6)) for _ in range(6)]
    agree(truths_of_several_types, cases)


def test_conditions_in_comprehensions_say_what_to_do():
    with pytest.raises(ConcreteValueNeeded, match="(?s)A condition in a comprehension .* Write a `for` loop"):
        reactant.jit(lambda x: [w for v in x if (w := 2 * v) > 0])(UP)
