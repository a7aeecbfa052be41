"""Index arrays and ufunc.at compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

X = np.random.default_rng(0).normal(size=(3, 4, 5))
ROWS, COLUMNS = np.array([0, 2, -1]), np.array([[1], [-2]])
ALL = slice(None)
KEYS = {
    "one": lambda i, j: i, "one in a tuple": lambda i, j: (i,), "second": lambda i, j: (ALL, i),
    "last": lambda i, j: (ALL, ALL, i), "two": lambda i, j: (i, j), "two apart": lambda i, j: (i, ALL, j),
    "number apart": lambda i, j: (0, ALL, i), "number next": lambda i, j: (ALL, 0, i),
    "second and third": lambda i, j: (ALL, i, j), "newaxis between": lambda i, j: (i, None, j),
    "ellipsis": lambda i, j: (..., i), "ellipsis between": lambda i, j: (i, ..., j),
    "newaxis first": lambda i, j: (None, i, slice(1, 3)),
    "slices": lambda i, j: (slice(None, None, -1), i, slice(1, None, 2)), "column": lambda i, j: (j,),
    "three": lambda i, j: (i, i, i), "two and number": lambda i, j: (i, j, 1),
    "number and two": lambda i, j: (1, i, j), "number in the middle": lambda i, j: (i, 1, j),
    "then ellipsis": lambda i, j: (i, ...), "newaxis apart": lambda i, j: (ALL, i, None, j),
    "newaxis last": lambda i, j: (..., i, None), "newaxis, slice": lambda i, j: (None, ALL, i, j),
    "element": lambda i, j: (i[0],), "element and array": lambda i, j: (i[0], i),
    "list": lambda i, j: ([0, 1], i[:2]), "true after": lambda i, j: (i, True), "true before": lambda i, j: (True, i),
    "false": lambda i, j: (False,), "true": lambda i, j: (True,), "slice and true": lambda i, j: (ALL, True),
    "out of bounds": lambda i, j: (i + 1,), "too many": lambda i, j: (i, j, j, j),
    "do not broadcast": lambda i, j: (i, i[:2]), "known mask": lambda i, j: (np.array([True, False, True]),),
    "mask and array": lambda i, j: (np.array([True, False, True]), i[:2]),
    "mask of two": lambda i, j: (ALL, np.ones((4, 5), bool)),
    "mask and number": lambda i, j: (np.ones((3, 4), bool), 1), "empty mask": lambda i, j: (np.zeros(3, bool),),
    "wrong mask": lambda i, j: (np.ones(4, bool),), "empty array": lambda i, j: (np.array([], int),),
    "empty list": lambda i, j: ([],), "with empty list": lambda i, j: (i, []),
    "even list": lambda i, j: (ALL, [0, 1, 3]), "backwards": lambda i, j: (ALL, [3, 1]),
    "float": lambda i, j: (np.float64(1.),), "floats": lambda i, j: (np.array([1., 2.]),),
    "empty slice": lambda i, j: (slice(0, 0), i),
}


def read(key):
    return lambda x, i, j: x[key(i, j)]


def write_number(key):
    def write(x, i, j):
        x[key(i, j)] = 7.5
    return write


def write_array(key):
    """Every element gets another value, so that the order of writes shows."""
    def write(x, i, j):
        found = x[key(i, j)]
        x[key(i, j)] = found * np.arange(found.size, dtype=float).reshape(found.shape)
    return write


def write_through_a_view(key):
    def write(x, i, j):
        y = x.T
        y[key(i, j)] *= 2
        return y[key(i, j)]
    return write


def layout(key):
    """NumPy's results are not always row-major: then a reshape copies."""
    def write(x, i, j):
        y = x[key(i, j)]
        z = y.reshape(-1)
        z[:2] = 0
        return y
    return write


@pytest.mark.slow
@pytest.mark.parametrize("kind", [read, write_number, write_array, write_through_a_view, layout])
def test_keys(kind):
    check_table([kind(key) for key in KEYS.values()], X, ROWS, COLUMNS)


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", [("u1", "i4"), ("i2", "u8")])
def test_index_dtypes(dtypes):
    check_table([read(key) for key in KEYS.values()], X.astype("i1"), ROWS.astype(dtypes[0]) % 3,
                np.abs(COLUMNS).astype(dtypes[1]))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("kind", [read, write_number, write_array])
def test_known_indices(kind):
    check_table([lambda x, a, key=key: kind(lambda i, j: key(ROWS, COLUMNS))(x, a, a) for key in KEYS.values()], X, 1.5)


REPEATED = np.array([1, 1, 0, -1, 2, 1])


def assign(x, k, v):
    x[k] = v


def assign_two(x, k, v):
    y = x.reshape(2, 2)
    y[k % 2, k[::-1] % 2] = v


def test_last_of_repeated_writes_wins():
    check_table([assign, assign_two], np.zeros(4), REPEATED, np.arange(6.))
    check_table([assign], np.zeros((4, 2)), REPEATED, np.arange(12.).reshape(6, 2))
    check_table([lambda x, v: assign(x, REPEATED, v)], np.zeros(4), np.arange(6.))


def test_values_must_fit():
    def broadcast(x, i, j):
        x[i] = np.ones((4, 5))
        x[:, i, 0] = x[:, 1, :1]
        x[i, 0, 0] = [1, 2, 3]

    def too_short(x, i, j):
        x[i[:2]] = np.ones(3)

    def leading_ones(x, i, j):
        x[i, j] = np.ones((1, 1, 2, 3, 5))

    def wrong(x, i, j):
        x[i, j, :] = np.ones((2, 3, 4))
    check_table([broadcast, too_short, leading_ones, wrong], X, ROWS, COLUMNS)


UFUNCS = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.divide, np.power, np.logaddexp, np.arctan2]


def at(ufunc, value=None):
    def apply(x, k, v):
        ufunc.at(x, k, v if value is None else value)
    return apply


def at_columns(ufunc):
    def apply(x, k, v):
        ufunc.at(x.reshape(2, 2), (slice(None), k % 2), 2.)
    return apply


def test_ufunc_at_counts_every_occurrence():
    check_table([at(u) for u in UFUNCS] + [at_columns(u) for u in UFUNCS], np.arange(1, 5.), REPEATED, np.arange(1, 7.))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", ["i8", "u1", "c16", "f4", "?"])
def test_ufunc_at_dtypes(dtype):
    check_table([at(u, 2) for u in UFUNCS] + [at(u, 1.5) for u in UFUNCS] + [at(np.logical_or), at(np.bitwise_xor)],
                np.arange(1, 5).astype(dtype), REPEATED, (np.arange(6) % 2).astype(dtype), rtol=1e-5)


def test_unary_and_basic_at():
    def apply(x, k):
        np.negative.at(x, k)
        np.add.at(x, 2, 1.5)
        np.add.at(x, slice(1, 3), 1.5)
    check(apply, np.arange(1., 5.), REPEATED)


def test_empty_dimensions():
    for shape, k in [((0, 3), REPEATED[:0]), ((0, 3), REPEATED), ((3, 0), REPEATED % 3)]:
        check(lambda x, k: (x[k], x[k, 0] if x.shape[1] else x[k]), np.zeros(shape), k)


def test_repeated_writes_do_not_depend_on_the_order_of_a_scatter():
    """Every scatter takes a maximum, or is left with one write for each element."""
    many = reactant.code_hlo(assign, np.zeros(4), REPEATED, np.arange(6.), optimize=False)
    assert many.count('"stablehlo.scatter"(') == 1 and "stablehlo.maximum" in many
    few = reactant.code_hlo(assign, np.zeros(40), REPEATED, np.arange(6.), optimize=False)
    assert few.count('"stablehlo.scatter"(') == 2 and "stablehlo.maximum" in few
    check(assign, np.zeros(40), REPEATED, np.arange(6.))


def test_indices_in_range_need_no_check():
    def modulo(x, k):
        return x[k % 3]
    text = reactant.code_hlo(modulo, X, ROWS, optimize=False)
    results = text.split("->")[1].split("{")[0]
    assert results.count("tensor<") == 1, "no flag of a check is returned"
