"""Comparisons of tuples and lists of run-time numbers."""
import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

X = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
CASES = [(X,), (-X,), (np.zeros(5),), (np.array([3.0, 2.0, 1.0, 0.0, 9.0]),)]


def walk(x, y=4, n=0):
    """Until a place is reached: tuples in the test of a `while`."""
    z = y + x[1] - 1
    while (y, z) != (0, 0) and n < 20:
        y, z, n = y - 1, z - (z > 0), n + 1
    return n


def compared(x):
    one, other = (x[0], 2, x[1]), (x[1], x[2] - 2, 1.0)
    return [one == other, one != other, one < other, one <= other, one > other, one >= other]


def lengths(x):
    return (x[0], 1) == (x[0], 1, 2), (x[0], 1) < (3.0, 1, 2), [x[0]] > [], [x[1]] != (x[1],)


def best_so_far(x):
    best, low = (0.0, -1), [1e9, 0]
    for i in range(len(x)):
        if (x[i], i) > best:
            best = (x[i], i)
        if [x[i], -i] < low:
            low = [x[i], -i]
    return best, low


def extremes(x):
    value, place = min((v, i) for i, v in enumerate(x))
    return value, place, max([(x[i], -i) for i in range(5)]), max(zip(x, range(5), strict=True))[1]


def members(x):
    return ((x[0], 1) in [(1, 1), (3, 1)], x[1] in {1.0, 2.0}, x[2] not in {4.0: "a"}, (x[0], x[3]) in {(3, 1), (0, 0)},
            [[x[0]], 1] in [[0.0], [[3.0], 1]], x[4] in ())


def not_numbers(x):
    return (x, 1) == (x * 1, 1)


def lists_and_tuples(x):
    return (x[0], 1) < [x[0], 1]


@pytest.mark.parametrize("program", [walk, compared, lengths, best_so_far, extremes, members, not_numbers,
                                     lists_and_tuples], ids=lambda p: p.__name__)
def test_tuples_and_lists_compare_as_in_python(program):
    agree(program, CASES)


def repeated(x):
    n = int(x[0]) % 4
    row, many = [0] * n, np.int64(n) * [x[1], 2.0]
    row.append(7)
    table = [1] * (n + 2)
    table[n] += 5
    return (len(row), sum(row), sum(many) + 0.5, len((1, 2) * n), sum(table), max([0.5] * n, default=-1.0),
            len([3] * -n), len([1] * bool(x[1] > 2)), [0] * n == [0, 0])


def repeated_in_a_loop(x):
    total = 0.0
    for i in range(60):
        zeros = [x[i % 5]] * int(abs(x[i % 5]))
        total += sum(zeros) + len(zeros)
    return total


def no_array(x):
    n = int(x[0])
    return n == [3, 3], [3] != n, n == (3,), n in [3, 4], n == range(3)


@pytest.mark.parametrize("program", [repeated, repeated_in_a_loop, no_array], ids=lambda p: p.__name__)
def test_lists_and_numbers_of_python(program):
    """They were taken for arrays, which `[0] * n` was then."""
    agree(program, CASES)


@pytest.mark.parametrize("apply", [
    lambda n, x: [1] + n, lambda n, x: n - (1, 2), lambda n, x: [1] < n, lambda n, x: divmod(n, [1]),
    lambda n, x: range(3) * n, lambda n, x: [1] * (n * 1.0), lambda n, x: [1] * x[0], lambda n, x: (x[0] > 0) * [1]])
def test_lists_and_numbers_that_do_not_go_together(apply):
    with pytest.raises(TypeError):
        apply(int(X[0]), X)
    with pytest.raises(TypeError):
        reactant.jit(lambda x: apply(int(x[0]), x))(X)
