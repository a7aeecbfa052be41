"""Changes of lists and arrays that are elements of lists whose length, or order, only run-time values tell."""
import numpy as np
import pytest

import reactant


def chosen(x, t, make=lambda a, i: [a, i]):
    found = []
    for i in range(len(x)):
        if x[i] > t:
            found.append(make(x[i], i))
    return found


def pairs(x):
    return [[x[i], x[i] * 2] for i in range(len(x))]


def total(rows):
    return sum(r[0] * (r[1] + 1) for r in rows)


# ---- changes that are followed ------------------------------------------------------------------------------------

def intervals(x, t):
    merged = [[x[0], x[0] + t]]
    for i in range(1, len(x)):
        if x[i] <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], x[i] + t)
        else:
            merged.append([x[i], x[i] + t])
    return len(merged), sum(b - a for a, b in merged), merged[-1][0]


def each_in_a_loop(x, t):
    rows = chosen(x, t)
    for row in rows:
        row[0] = row[0] + 1
    for k, row in enumerate(rows):
        row[1] += k
    return total(rows)


def the_last_within_loops(x, t):
    rows = []
    for i in range(len(x)):
        if x[i] > t:
            rows.append([x[i], i])
            rows[-1][1] = rows[-1][1] * 2
            first = rows[0]
            first[0] += 1.0
        for j in range(3):
            if rows:
                rows[-1][0] = rows[-1][0] * 1.5 + j
    return total(rows)


def stack(x, t):
    waiting, n = [[x[0], 0]], 0
    while len(waiting) > 0 and n < 40:
        n += 1
        top = waiting[-1]
        if top[1] >= 2 or top[0] < t:
            waiting.pop()
        else:
            top[1] += 1
            waiting.append([top[0] * 0.6, 0])
    return n


def in_a_dict(x, t):
    state = {"rows": [[x[0], 1.0]]}
    for i in range(len(x)):
        if x[i] > t:
            state["rows"].append([x[i], i * 1.0])
        state["rows"][0][1] += 1.0
    return total(state["rows"])


def by_a_function(x, t):
    def bump(row):
        row[0] += 1

    rows = chosen(x, t)
    bump(rows[0])
    bump(rows[-1])
    return total(rows)


def in_a_branch(x, t):
    rows = chosen(x, t)
    first = rows[0]
    if x[0] > t:
        first[0] = 9.0
    else:
        first[0] = 8.0
    return total(rows)


def put_and_popped(x, t):
    rows, row = chosen(x, t), [5.0, 1]
    rows.append(row)
    row[0] = 7.0
    other = [6.0, 1]
    rows[0] = other
    other[1] = 4
    last = rows.pop()
    last[0] = 50.0
    rows.append(last)
    return total(rows)


def after_sorting(x, t):
    rows = chosen(x, t)
    rows.sort(key=lambda row: -row[1])
    rows[0][0] = 7.0
    return total(rows)


def arrays_in_a_loop(x, t):
    rows = chosen(x, t, lambda a, i: np.array([a, i]))
    for row in rows:
        row[0] += 1
    rows[-1][1] = 9
    return total(rows)


def arrays_in_tuples(x, t):
    rows = chosen(x, t, lambda a, i: (np.array([a, i]), i))
    rows[0][0][1] = 9
    return sum(row[0] * (k + 1) for row, k in rows)


def sorted_in_place(x, t):
    rows = pairs(x)
    rows.sort(key=lambda row: -row[0])
    for row in rows:
        row[1] += t
    arrays = [x * k for k in range(4)]
    arrays.sort(key=lambda a: -a[1])
    arrays[0][1] = 100.0
    return sum(row[0] * row[1] * k for k, row in enumerate(rows)), sum(a * k for k, a in enumerate(arrays))




# ---- changes that are right or refused -----------------------------------------------------------------------------

def first_has_a_name(x, t):
    first = [x[0], x[1]]
    rows = [first]
    for i in range(len(x)):
        if rows[-1][0] + x[i] > t:
            rows.append([x[i], 0.0])
    first[0] = 100.0
    return total(rows)


def first_has_a_name_in_the_loop(x, t):
    first = [x[0], x[1]]
    rows = [first]
    for i in range(len(x)):
        first[0] = first[0] + 1.0
        if rows[-1][0] + x[i] > t:
            rows.append([x[i], 0.0])
    return total(rows)


def first_array_has_a_name(x, t):
    first = x.copy()
    rows = [first]
    for i in range(len(x)):
        if np.sum(rows[-1]) + x[i] > t:
            rows.append(x * i)
    first[0] = 100.0
    return total(rows)


def first_array_is_written_as_an_element(x, t):
    first = x.copy()
    rows = [first]
    for i in range(len(x)):
        if x[i] > t:
            rows.append(x * i)
    rows[0][0] = 100.0
    rows[-1][1] = 50.0
    return total(rows), first[0]


def twice(x, t):
    rows = chosen(x, t)
    rows.append(rows[0])
    rows[0][0] = 7.0
    return total(rows)


def in_a_copy(x, t):
    rows = chosen(x, t)
    others = list(rows)
    rows[0][0] = 7.0
    return total(others)


def in_a_slice(x, t):
    rows = chosen(x, t)
    for row in rows[1:]:
        row[0] = 0.0
    return total(rows)


def in_a_sorted_copy(x, t):
    rows = chosen(x, t)
    sorted(rows)[0][0] = 7.0
    return total(rows)


def in_a_sum_of_lists(x, t):
    rows = chosen(x, t)
    others = rows + [[1.0, 2]]
    others[0][0] = 7.0
    return total(rows)


def swapped(x, t):
    rows = chosen(x, t)
    rows[0], rows[1] = rows[1], rows[0]
    rows[0][0] = 3.0
    return total(rows)


def two_names(x, t):
    rows = chosen(x, t)
    a, b = rows[0], rows[-len(rows)]
    a[0] = 7.0
    return b[0]


def one_of_two(x, t):
    rows = chosen(x, t)
    row = rows[0] if x[0] > t else rows[1]
    row[0] = 9.0
    return total(rows)


def best_of_a_loop(x, t):
    rows = chosen(x, t)
    best = rows[0]
    for row in rows:
        if row[0] > best[0]:
            best = row
    best[1] = 100.0
    return total(rows)


def longer_elements(x, t):
    rows = chosen(x, t)
    for row in rows:
        row.append(1.0)
    return sum(len(row) for row in rows)


def array_before_a_pop(x, t):
    rows = chosen(x, t, lambda a, i: np.array([a, i]))
    first = rows[0]
    rows.pop()
    first[0] = 50.0
    return total(rows)


def array_in_a_slice(x, t):
    rows = chosen(x, t, lambda a, i: np.array([a, i]))
    others = rows[1:]
    rows[1][0] = 50.0
    return total(others)


def array_before_another_loop(x, t):
    rows = chosen(x, t, lambda a, i: np.array([a, i]))
    first = rows[0]
    for i in range(len(x)):
        if x[i] > 2 * t:
            rows.append(np.array([x[i], 1.0]))
    first[0] = 50.0
    return total(rows)


def read_before_the_loop(x, t):
    rows = chosen(x, t)
    first = rows[0]
    while len(rows) > 1:
        first[0] += 1.0
        rows.pop(0)
    return total(rows), first[0]


def read_before_an_inner_loop(x, t):
    rows = []
    for i in range(len(x)):
        rows.append([x[i], i])
        first = rows[0]
        for _j in range(3):
            first[0] += 1.0
            if len(rows) > 1 and x[i] > t:
                rows.pop(0)
    return total(rows)


def first_array_is_read_in_a_loop(x, t):
    first = x.copy()
    rows = [first]
    for i in range(len(x)):
        if np.sum(rows[-1]) + x[i] > t:
            rows.append(x * i)
    y = first * 0
    for j in range(len(rows)):
        y = y + rows[j] * first
    return y


def first_array_is_written_in_a_loop(x, t):
    first = x.copy()
    rows = [first]
    for i in range(len(x)):
        if np.sum(rows[-1]) + x[i] > t:
            rows.append(x * i)
    y = first * 0
    for _ in range(30):
        y = y + rows[0]
        first += 1
    return y


def greatest(x, t):
    rows = pairs(x)
    best = max(rows, key=lambda row: -row[0])
    best[1] = 100.0
    return total(rows)


def least(x, t):
    rows = pairs(x)
    best = min(rows)
    rows[2][1] = 100.0
    return best[1]


def sorted_lists(x, t):
    rows = pairs(x)
    others = sorted(rows, key=lambda row: -row[0])
    others[0][1] = 100.0
    return total(rows)


def sorted_lists_behind_it(x, t):
    rows = pairs(x)
    others = sorted(rows)
    rows[0][1] = 100.0
    return sum(row[0] * row[1] * k for k, row in enumerate(others))


def sorted_with_a_name(x, t):
    rows = pairs(x)
    first = rows[0]
    rows.sort()
    rows.sort(key=lambda row: -row[0])
    first[1] = 100.0
    return sum(row[0] * row[1] * k for k, row in enumerate(rows))


def greatest_array(x, t):
    rows = [x * k for k in range(4)]
    best = max(rows, key=lambda row: -row[0])
    best[1] = 100.0
    return sum(rows)


def sorted_arrays(x, t):
    rows = [x * k for k in range(4)]
    others = sorted(rows, key=lambda row: -row[1])
    rows[0][1] = 100.0
    return sum(row * k for k, row in enumerate(others))


FOLLOWED = [intervals, each_in_a_loop, the_last_within_loops, stack, in_a_dict, by_a_function, in_a_branch,
            put_and_popped, after_sorting, arrays_in_a_loop, arrays_in_tuples, sorted_in_place,
            first_array_is_read_in_a_loop]

SEEN = [first_has_a_name, first_has_a_name_in_the_loop, first_array_has_a_name, first_array_is_written_as_an_element,
        twice, in_a_copy, in_a_slice, in_a_sorted_copy, in_a_sum_of_lists, swapped, two_names, one_of_two,
        best_of_a_loop, first_array_is_written_in_a_loop, longer_elements, array_before_a_pop,
        array_in_a_slice, array_before_another_loop, read_before_the_loop, read_before_an_inner_loop,
        greatest, least, sorted_lists, sorted_lists_behind_it, sorted_with_a_name, greatest_array,
        sorted_arrays]

X = np.array([0.3, 1.2, -0.4, 2.2, 0.9, 0.1])


def same(found, wanted):
    for a, b in zip(*((t if isinstance(t, tuple) else (t,)) for t in (found, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("function", FOLLOWED, ids=lambda f: f.__name__)
def test_changes_are_followed(function):
    compiled = reactant.jit(function)
    for x, t in ((X, 0.2), (X, -1.0), (np.sort(X), 0.25), (np.sort(X), 0.0)):
        same(compiled(x.copy(), t), function(x.copy(), t))


@pytest.mark.parametrize("function", SEEN, ids=lambda f: f.__name__)
def test_changes_are_followed_or_refused(function):
    compiled = reactant.jit(function)
    try:
        found = compiled(X.copy(), 0.2)
    except reactant.ReactantError as error:
        assert "test_element_copies.py" in str(error)
    else:
        same(found, function(X.copy(), 0.2))
