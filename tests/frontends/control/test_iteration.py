"""What `for` and the builtins around it take their elements from, where run-time values decide how many there are."""
import numpy as np
import pytest

from tests.frontends.agreement import agree, traced_counts


class Index:
    """A whole number of another type than int."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


TWO, THREE = Index(2), Index(3)


def numbers_of_other_types(n):
    found = np.zeros(8, np.int64)
    for i in range(n, 10, TWO):
        found[0] += i
    for i in range(TWO, n, THREE):
        found[1] += i
    for i in range(9, n, Index(-2)):
        found[2] += i
    for i in range(np.int8(1), n, np.uint8(2)):
        found[3] += i
    for i in range(n, True, -1):
        found[4] += i
    for i in range(n, 10, np.array(4)):
        found[5] += i
    for i in range(n, np.int64(12), True):
        found[6] += i
    for i in reversed(range(TWO, n)):
        found[7] = 3 * found[7] + i
    return found


def test_ranges_take_whole_numbers_of_any_type():
    agree(numbers_of_other_types, traced_counts())


REFUSED = [
    lambda n: range(n, 10, 0), lambda n: range(n, 10, Index(0)), lambda n: range(n, 10, False),
    lambda n: range(n, 10.5), lambda n: range(0.5, n), lambda n: range(10, n, 2.5), lambda n: range(n, 10, 1.0),
    lambda n: range(n, None), lambda n: range(n, 10, "2"), lambda n: range(n, np.float64(3.0)),
]


@pytest.mark.parametrize("made", REFUSED)
def test_what_a_range_refuses_is_what_python_refuses(made):
    def looped(n):
        total = 0
        for i in made(n):
            total += i
        return total
    agree(looped, [(np.int64(3),)])


def test_strict_zip_compares_each_length_with_the_first():
    def zipped(x, y, n, m):
        total = 0.0
        for a, b, c in zip(x, y[:n], y[:m], strict=True):
            total += a * b - c
        return total
    x, y = np.arange(3.0), np.arange(5.0) + 1.0
    compiled = agree(zipped, [(x, y, np.int64(3), np.int64(3))])
    for n, m in ((3, 2), (4, 3), (4, 4)):
        with pytest.raises(ValueError, match="different lengths"):
            compiled(x, y, np.int64(n), np.int64(m))
