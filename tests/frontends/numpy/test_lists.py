"""Lists and tuples of run-time values in the place of arrays, as NumPy takes them everywhere."""
import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded
from tests.oracle import check

X = np.array([0.7, -0.2, 1.5, 0.4])
M = np.array([[2.0, 0.3], [0.1, 1.0]])

CALLS = [
    lambda x, m: np.sum([x, x * 2], axis=0), lambda x, m: np.mean([x[0], x[1], 3.0]), lambda x, m: np.max((x, 1 - x)),
    lambda x, m: np.argmin([x[0], x[1], x[2]]), lambda x, m: np.median([x[0], 0.1, x[3]]),
    lambda x, m: np.std([x, x + 1, x * x], axis=0), lambda x, m: np.any([x[0] > 1, x[1] > 1]),
    lambda x, m: np.all(((x > 0), (x > -9)), axis=0), lambda x, m: np.sort([x[2], x[0], x[1]]),
    lambda x, m: np.dot([x[0], x[1]], [x[2], 1.0]), lambda x, m: np.linalg.norm([x[0], x[1]]),
    lambda x, m: np.cross([x[0], x[1], 0.0], [0.0, 1.0, x[2]]), lambda x, m: np.outer([x[0], 1], x),
    lambda x, m: np.cumsum([x[0], x[1], x[2]]), lambda x, m: np.prod([[x[0], 2], [x[1], 3]], axis=1),
    lambda x, m: np.sqrt([abs(x[0]), abs(x[1])]), lambda x, m: np.arctan2([x[0], 1.0], [1.0, x[1]]),
    lambda x, m: np.linalg.det([[x[0], x[1]], [x[2], x[3]]]), lambda x, m: np.linalg.solve(m, [x[0], x[1]]),
    lambda x, m: np.linalg.inv([[x[0], 0.0], [1.0, x[2]]]), lambda x, m: m @ [x[0], x[1]],
    lambda x, m: np.add([x, x * 2], 1), lambda x, m: np.maximum.reduce([x, x * 2, 1 - x]),
    lambda x, m: np.add.accumulate([x, x]), lambda x, m: np.logical_or.reduce((x > 0.5, x < 0.1)),
    lambda x, m: np.multiply.outer([x[0], 2.0], x), lambda x, m: np.subtract.reduceat([x[0], x[1], x[2]], [0, 2]),
    lambda x, m: np.clip([x[0], x[1]], 0, 1), lambda x, m: np.where([x[0] > 0, x[1] > 0], 1.0, [x[2], x[3]]),
    lambda x, m: np.interp([x[0], 0.5], [0.0, 1.0], [x[1], x[2]]), lambda x, m: np.polyval([x[0], x[1]], x),
    lambda x, m: np.concatenate([[x[0]], x]), lambda x, m: np.stack([(x[0], x[1]), (1.0, x[2])]),
    lambda x, m: np.einsum("i,i", [x[0], x[1]], [x[2], 1.0]), lambda x, m: np.trapezoid([x[0], x[1]], [0.0, x[2]]),
    lambda x, m: np.transpose([[x[0], x[1]], [1.0, 2.0]]), lambda x, m: np.ravel([[x[0]], [x[1]]]),
    lambda x, m: np.sum([[x[0], 1], [2, x[1]]], axis=(0, 1)), lambda x, m: np.hypot(*[x, x]),
    lambda x, m: np.roll([x[0], x[1], x[2]], 1), lambda x, m: np.histogram([x[0], x[1]], bins=3, range=(0, 1))[0],
]


@pytest.mark.parametrize("call", CALLS)
def test_lists_are_arrays(call):
    check(call, X, M, rtol=1e-12, atol=1e-15)  # LAPACK of NumPy and of JAX round a zero differently


def test_what_really_needs_known_values_still_says_so():
    with pytest.raises(ConcreteValueNeeded, match="test_lists.py"):
        reactant.jit(lambda x: np.reshape(x, [x[0].astype(int), 2]))(X)


def otsu(counts):
    """The threshold that parts a histogram best."""
    share = counts / counts.sum()
    best, at = 0.0, 0
    for k in range(1, len(counts)):
        low, high = share[:k].sum(), share[k:].sum()
        if low > 0 and high > 0:
            first = (np.arange(k) * share[:k]).sum() / low
            second = (np.arange(k, len(counts)) * share[k:]).sum() / high
            if low * high * (first - second) ** 2 > best:
                best, at = low * high * (first - second) ** 2, k
    return at, best


def test_counting_up_to_a_loop_index():
    # No empty class between the two: the best threshold is one, on every machine.
    check(otsu, np.array([0, 3, 9, 4, 1, 0.5, 0.25, 2, 8, 7, 1]))
    few, many = (sum(reactant.jit(otsu).lower(np.ones(n)).operations().values()) for n in (50, 100))
    assert few == many


RANGES = [lambda a, b: np.arange(a), lambda a, b: np.arange(a, b), lambda a, b: np.arange(a, b, 3),
          lambda a, b: np.arange(b, a), lambda a, b: np.arange(a, 5, dtype=np.float32)]


@pytest.mark.parametrize("made", RANGES)
def test_ranges_of_loop_indices(made):
    def program(n):
        out = np.zeros((n, 4))
        for a in range(n):
            for b in range(n):
                v = made(a - 2, b + 1)
                out[a] += np.array([v.sum(), v.size, (v * v).sum(), v.max(initial=-5)])
        return out

    for n in (6, 9):
        np.testing.assert_array_equal(reactant.jit(program, unroll_limit=0)(n), program(n))


def test_a_range_without_bounds_is_refused():
    with pytest.raises(ConcreteValueNeeded, match="(?s)np.arange needs a value .* Its bounds decide the size"):
        reactant.jit(lambda x: np.arange(x[0]).sum())(X)


def missing(k):
    try:
        return list(k).index(77)
    except ValueError:
        return -5


@pytest.mark.parametrize("program", [
    lambda k: (list(k).index(max(k)), tuple(k).index(5), [v for v in k].count(1), tuple(k).index(1, 2, 7)),
    lambda k: ([1, 2, 3].index(int(k[1])), (1, 2, 1).count(int(k[3])), [float(v) for v in k].index(9)),
    lambda k: [(int(a), int(b)) for a, b in zip(k[::2], k[1::2], strict=True)].index((5, 9)),
    lambda k: [(a, b) for a, b in zip(k[::2], k[1::2], strict=True)].count((4, 1)), missing])
def test_places_of_run_time_numbers_in_lists(program):
    check(program, np.array([3, 1, 4, 1, 5, 9, 2, 6]))


def test_a_number_that_is_in_no_list_raises():
    with pytest.raises(ValueError, match="not in list"):
        reactant.jit(lambda x: list(x).index(7.0))(X)
