"""Comparisons of tuples and lists of run-time numbers."""
import numpy as np
import pytest

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
