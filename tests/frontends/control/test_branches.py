"""`if`, conditional expressions, `and`/`or`/`not` over run-time values: programs plain and compiled, on every path."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.frontends.agreement import MANY, State, agree
from tests.oracle import check


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


def part_of_an_array_on_one_path(x):
    if x[0] > 0:
        y = x[1:]
    x *= 2
    if x[0] > 0:
        y += 1
    return x


def part_at_a_run_time_place(x):
    y = x[:2]
    if x[0] > 0:
        k = np.argmin(x) % 2
        y = x[k:k + 2]
    y += 1
    return x


def part_at_a_run_time_place_on_one_path(x):
    z = np.zeros(3)
    if x[0] > 0:
        k = np.argmin(x) % 2
        z[0] = k
        y, part = x[k:k + 2], z[k:k + 2]
        x[0] += 1
    x *= 2
    if x[0] > 0:
        part += 5
        y += 1
    return x, z


def two_names_one_array_on_one_path(x):
    z = x[1:]
    if x[0] > 0:
        y = z = np.zeros(2)
    z[1] = 7
    if x[0] > 0:
        y += 1
    return z


def parts_in_a_list_on_one_path(x):
    if x[2] > 0:
        if x[0] > 0:
            parts = [x[1:], x[:1]]
        else:
            parts = [x[:2], x[2:]]
    x += 1
    if x[2] > 1:
        parts[0][...] = 5
        parts[1] -= 1
    return x


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


def a_number_called_where_the_run_does_not_get(x, jacobian=False):
    """As solvers do, to which `jacobian` may be given."""
    fresh, iterations = True, 0
    while iterations < 3 and x[0] < 100:
        if not fresh:
            x[1] = jacobian(x)
        x[0] += 1
        iterations += 1
        fresh = x[0] < 1000
    return x


def part_of_what_may_be_one_of_two(x):
    u, v = x * 1.0, x * 2.0
    chosen = v
    if x[0] > 0:
        chosen = u
    part = chosen[1:3]
    before = part.sum()
    u += 10
    return before, part.sum(), part


BRANCHES = [part_of_what_may_be_one_of_two, a_number_called_where_the_run_does_not_get,
            if_else, if_only, elif_chain, early_returns, nested_early_return, return_in_both, write_in_branch,
            part_of_an_array_on_one_path, part_at_a_run_time_place, part_at_a_run_time_place_on_one_path,
            two_names_one_array_on_one_path, parts_in_a_list_on_one_path,
            write_through_view_made_in_branch, two_names_one_array, rebound_alias_then_write,
            argument_or_copy_then_write, swapped_in_branch, shared_in_both_branches, views_of_fresh,
            only_one_branch_assigns, number_types, containers, dataclasses_and_methods, changed_list_and_dict,
            closure_counter, conditional_expressions, logic, effects_in_short_circuit, membership, nothing_returned,
            none_or_value]


@pytest.mark.parametrize("program", BRANCHES, ids=lambda f: f.__name__)
def test_branches(program):
    agree(program, MANY)


def perhaps_copied(m, s):
    w = m.diagonal()
    if s > 0:
        w = w.copy()
    w += 1
    return w


def perhaps_a_diagonal(m, s):
    w = m[0] if s > 0 else m.diagonal()
    w[0] = 1
    return w


@pytest.mark.parametrize("program", [perhaps_copied, perhaps_a_diagonal])
def test_writes_to_what_may_be_read_only(program):
    """They raised NumPy's error, also in runs in which NumPy raises none."""
    with pytest.raises(ControlFlowError, match="It is only known at run time whether an array that is written"):
        reactant.jit(program)(np.ones((3, 3)), 1.0)


def test_reads_of_what_may_be_read_only():
    def read(m, s):
        w = np.broadcast_to(m[0, 0], (3,)) if s > 0 else m[1]
        return w.sum(), w * 2
    for s in (0.0, 1.0):
        check(read, np.arange(9.0).reshape(3, 3), s)


def not_there(x, table, box):
    found = 1.0
    if x[0] > 0:
        found = table["b"]
    if x[1] > 0:
        found += box.missing
    if x[2] > 0:
        import a_module_that_nobody_has
        found += a_module_that_nobody_has.value
    return found + table["a"]


def not_there_yet(x, box):
    total = 0.0
    for k in range(60):
        if k > 4 and x[k % 3] > 0:
            total += box["before"]
        box["before"] = x[k % 3] + k
    return total


def test_keys_attributes_and_modules_that_are_missing_are_missed_where_they_are_asked_for():
    """They were missed while tracing, on whichever path."""
    compiled = reactant.jit(lambda x: not_there(x, {"a": 2.0}, State(x)))
    assert compiled(-np.ones(3)) == 3.0
    for x, error in (([1.0, -1, -1], KeyError), ([-1.0, 1, -1], AttributeError), ([-1.0, -1, 1], ModuleNotFoundError)):
        with pytest.raises(error):
            compiled(np.array(x))


def test_a_key_that_the_first_iteration_adds_is_there_in_the_others():
    x = np.array([0.5, -0.25, 0.75])
    assert reactant.jit(lambda x: not_there_yet(x, {}))(x) == pytest.approx(not_there_yet(x, {}), rel=1e-14)


def misused(x, text, n):
    if x[0] > 0:
        return float(x)                          # an array of three
    if x[1] > 0:
        return text + n
    if x[2] > 0:
        return undefined_name + len(n)           # noqa: F821
    return 1.0


@pytest.mark.parametrize("x", [[-1.0, -1, -1], [1, 1, 1], [-1, 1, 1], [-1, -1, 1]])
def test_what_values_do_not_know_fails_where_it_is_asked_of_them(x):
    """Such errors were raised while tracing, on whichever path."""
    outcomes = []
    for function in (misused, reactant.jit(misused)):
        try:
            outcomes.append(function(np.array(x), "a", 1))
        except (TypeError, NameError) as error:
            outcomes.append((type(error), str(error).splitlines()[0]))
    assert outcomes[0] == outcomes[1]
