"""sorted, list.sort, min and max where the order is known at run time only."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.oracle import check

ARRAYS = [np.array([3.0, 1.0, 2.0, 1.0, 5.0]), np.array([3, 1, 2, 1, 5]), np.array([2, 2, 2], np.int8)]


def sorted_list(x):
    values = [(x[k], k) for k in range(len(x))]
    values.sort(key=lambda pair: pair[0])
    return [k for _, k in values], values


def numbers(x):
    values = [float(v) for v in x]
    values.sort(reverse=True)
    return values[0] * 2, values


FUNCTIONS = [
    lambda x: (sorted(x), sorted(x, reverse=True)), lambda x: np.array(sorted(x[k] for k in range(len(x)))),
    sorted_list, numbers, lambda x: sorted([(x[k], float(-k)) for k in range(len(x))]),
    lambda x: sorted([(x[k] > 2, k) for k in range(len(x))], reverse=True),
    lambda x: (min(range(len(x)), key=lambda k: x[k]), max([(x[k], k) for k in range(len(x))], key=lambda t: t[0])),
    lambda x: max(range(len(x)), key=lambda k: (x[k], -k)), lambda x: min(x, key=lambda v: abs(v - 2)),
    lambda x: sorted([x[:2] * k for k in (3, 1, 2)], key=lambda row: row.sum() * x[0]),
    lambda x: sorted(x, key=lambda v: -v)[:2] + sorted([3, 1, 2]) + sorted({"b": 1, "a": 2}.values()),
    lambda x: [name for name in sorted("hello")].index("l") + x,
]


@pytest.mark.parametrize("x", ARRAYS, ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("f", FUNCTIONS)
def test_against_python(f, x):
    check(f, x)


@pytest.mark.parametrize("f", [lambda x: sorted([x[0], 1, 2.5]), lambda x: sorted(["a", "b"], key=lambda s: x[len(s)]),
                               lambda x: sorted([x, x]), lambda x: sorted([(x[0], 1), (x[1],)])])
def test_what_is_refused(f):
    with pytest.raises((UnsupportedError, ValueError)):
        reactant.jit(f)(np.array([3.0, 1.0, 2.0]))


def test_names_that_differ_decide():
    def by_name(state):
        return [v * 2 for k, v in sorted(state.items())], sorted(state.items(), reverse=True)[0][0]

    assert reactant.verify(by_name, {"b": np.ones(2), "a": np.zeros(3), "c": 4.0})


NOT_NUMBERS = np.concatenate([np.arange(9.0)[::-1], [np.nan, -1.0, np.inf, -np.inf]])


def extremes(x):
    return min(x), max(x)


@pytest.mark.parametrize("x", [
    np.arange(40.0)[::-1] % 7, np.arange(40) % 7, np.arange(40, dtype=np.uint8), np.arange(40) % 3 > 1, NOT_NUMBERS,
    np.roll(NOT_NUMBERS, 4), np.full(20, np.nan), np.array([0.0, -0.0] * 9), np.array([-0.0, 0.0] * 9, np.float32)])
def test_extremes_of_many_numbers_are_the_first_best_ones(x):
    compiled, plain = reactant.jit(extremes)(x), extremes(x)
    assert list(map(repr, compiled)) == list(map(repr, plain))
    assert sum(reactant.jit(extremes).lower(x).operations().values()) < 60


def test_keys_that_are_no_numbers_are_never_the_best_but_where_they_are_first():
    for x in (NOT_NUMBERS, np.roll(NOT_NUMBERS, 4)):
        check(lambda x: (min(range(len(x)), key=lambda k: x[k]), max(range(len(x)), key=lambda k: x[k])), x)


def popped(x, i):
    numbers, rows, pairs = list(x), [x, x * 2, x + 1], [(v, k, [v * 2, 1.0]) for k, v in enumerate(x)]
    whole, row, (a, b, (c, _)) = numbers.pop(i), rows.pop(i), pairs.pop(i)
    return whole, np.array(numbers), row, rows[0] + rows[1], a, b, c, pairs[0][2][0], len(pairs)


@pytest.mark.parametrize("place", [0, 2, -1, -3, 3, -4, 99])
def test_pop_at_a_place_of_the_run(place):
    check(popped, np.arange(3.0), np.int64(place))


def test_index_of_an_array_of_one_element():
    check(lambda x: [1.0, x[0], x[1]].index(x[:1]), np.arange(3.0) + 5)
    check(lambda x: [1.0, x[0], x[1]].index(x[:2]), np.arange(3.0) + 5)


def of_both_kinds(x):
    cells = [[0.0] * 2 for _ in range(3)]
    for k, v in enumerate(x):
        cells[k % 3][k % 2] += v
    numbers = [v for row in cells for v in row]
    numbers.append(-0.25)
    pairs = sorted([(0.0, 1), (x[0], 2), (x[1], 3)], reverse=True)
    numbers.sort(key=lambda v: -abs(v))
    return np.array(numbers), np.array([a * b for a, b in pairs]), sorted([1.0, x[0] * 2, 2.5])[1] * 2


@pytest.mark.parametrize("x", [np.array([0.5, -1.5, 2.0, -0.125]), np.array([-3.0, 0.75, 0.5, 1.0])])
def test_numbers_of_python_among_those_of_numpy(x):
    """As after an `if`: the ones take the type of the others, where that is as precise. They were not alike."""
    check(of_both_kinds, x)
    for f in (lambda x: sorted([np.float32(1.0), x[0]]), lambda x: sorted([0.1, np.float32(x[0])])):
        with pytest.raises(UnsupportedError, match="Sorting items that are not alike"):
            reactant.jit(f)(x)
