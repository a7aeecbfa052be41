"""New arrays of a size only known at run time, against NumPy."""
import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, UnsupportedError
from tests.frontends.numpy.tables import check_table

RANDOM = np.random.default_rng(12)
X = RANDOM.normal(size=12)
A = RANDOM.normal(size=(12, 12)) + 9 * np.eye(12)
MASKS = [np.arange(12) % 3 == 0, np.ones(12, bool), np.arange(12) == 11]
PLACES, OTHERS = np.array([0, 2, -1, 2]), np.array([1, 0, -1, 1])


def check_each(functions):
    """With arrays of four, twelve and one elements."""
    for mask in MASKS:
        check_table([lambda *a, f=f: f(*a) for f in functions], X, A, mask, rtol=1e-12)


def laid_out(values, n=40):
    room = np.zeros(n, values.dtype)
    room[:len(values)] = values
    return room


def test_uniform():
    check_each([
        lambda x, a, m: laid_out(np.zeros(len(x[m]), np.float32)), lambda x, a, m: laid_out(np.ones(m.sum()) * x[m]),
        lambda x, a, m: laid_out(np.full(x[m].size, 2.5)), lambda x, a, m: np.full((m.sum(), 3), [1, 2, 3]).sum(axis=0),
        lambda x, a, m: laid_out(np.full(m.sum(), x[m])), lambda x, a, m: np.ones((3, m.sum()), bool).sum(axis=1),
        lambda x, a, m: np.zeros((np.count_nonzero(m), 4)).shape, lambda x, a, m: np.zeros(x[m].shape).sum(),
        lambda x, a, m: laid_out(np.full_like(x, 3, shape=m.sum())), lambda x, a, m: np.full(m.sum(), 1j).sum(),
        lambda x, a, m: laid_out(np.arange(int(m.sum())) ** 2), lambda x, a, m: np.arange(1, int(m.sum()) + 1).prod()])


@pytest.mark.slow
def test_matrices():
    check_each([
        lambda x, a, m: np.eye(m.sum()).sum(axis=0).max(),
        lambda x, a, m: np.eye(m.sum(), 5, 1, dtype=int).sum(axis=0),
        lambda x, a, m: np.trace(np.identity(m.sum())), lambda x, a, m: np.tri(m.sum(), k=-1).sum(),
        lambda x, a, m: np.linalg.det(a[m][:, m] + 2 * np.eye(m.sum())),
        lambda x, a, m: np.tri(3, m.sum()).sum(axis=1)])


@pytest.mark.slow
def test_points():
    """One point is the first, none are no points."""
    check_each([
        lambda x, a, m: laid_out(np.linspace(0.5, 3.0, m.sum())),
        lambda x, a, m: laid_out(np.linspace(x[0], x[1], m.sum())),
        lambda x, a, m: laid_out(np.linspace(3, -7, m.sum(), endpoint=False)),
        lambda x, a, m: np.linspace(3, -7, m.sum() + 1, retstep=True)[1],
        lambda x, a, m: laid_out(np.linspace(0, 9, m.sum(), dtype=int)),
        lambda x, a, m: np.linspace(0, 9, m.sum() - np.count_nonzero(m)).sum(),
        lambda x, a, m: laid_out(np.logspace(0, 2, m.sum())),
        lambda x, a, m: np.linspace(x, 2 * x, m.sum()).sum(axis=0)])


def table_of(x, a, m):
    """A table over what a mask selects, filled by loops and by index arrays."""
    chosen, n = x[m], m.sum()
    table, order = np.zeros((n, n)), np.zeros(n, int)
    for i in range(n):
        for j in range(i):
            table[i, j] = chosen[i] - chosen[j]
    order[np.argsort(chosen)] = np.arange(n)
    return np.abs(table).sum(axis=0).max(), laid_out(order)


def by_places(x, a, m):
    made, rows = np.zeros((m.sum(), m.sum()), int), np.zeros((m.sum(), 4))
    made[PLACES % m.sum(), OTHERS % m.sum()] = 3
    np.add.at(made, (OTHERS % m.sum(), 0), 1)
    rows[:, [0, 2]] += 1.5
    rows[PLACES % m.sum()] -= x[:4]
    rows[-1, [1, 3]] = -2
    return made.sum(), made[PLACES % m.sum(), 0], rows.sum(axis=0)


@pytest.mark.slow
def test_writes():
    check_each([table_of, by_places])


@pytest.mark.slow
def test_what_crosses_masks():
    """`np.ix_` of masks, and index arrays of different run-time sizes."""
    def written(x, a, m):
        a = a.copy()
        a[np.ix_(m, m)] += 1.5
        a[np.ix_(m, [0, 1])] = a[np.ix_(m, [2, 3])]
        a[np.ix_([4, 5], ~m)] = 0
        return a

    def solved(x, a, m):
        found = np.zeros(len(x))
        found[m] = np.linalg.solve(a[np.ix_(m, m)], x[m])
        return found

    check_each([
        written, solved, lambda x, a, m: a[np.ix_(m, m)].sum(axis=0).max(), lambda x, a, m: a[np.ix_(m, ~m)].shape,
        lambda x, a, m: a[np.ix_([0, 2, 3], m)].sum(axis=1), lambda x, a, m: a[m][:, m].sum() - a[np.ix_(m, m)].sum(),
        lambda x, a, m: laid_out(a[np.flatnonzero(m), 3])])


@pytest.mark.parametrize("dtype", ["uint16", "int8", "float32", "float64", "int64"])
def test_counts_of_other_dtypes(dtype):
    def counted(m):
        counts, places = np.zeros(12, dtype), np.flatnonzero(m) // 2
        np.add.at(counts, places, 1)
        np.maximum.at(counts, places, 3)
        np.subtract.at(counts, places, np.ones(m.sum(), dtype))
        return counts
    for mask in MASKS:
        check_table([counted], mask)


@pytest.mark.slow
def test_draws():
    def drawn(m):
        rng, n = np.random.default_rng(5), m.sum()
        sample, pairs, order = rng.integers(0, 3, size=n), rng.normal(2.0, 0.1, (n, 2)), rng.permutation(n)
        picked = rng.choice([4.0, 5.0], n)
        return (sample.shape[0], ((sample >= 0) & (sample < 3)).all(), pairs.shape, np.abs(pairs - 2).max() < 1,
                (np.sort(order) == np.arange(n)).all(), ((picked == 4) | (picked == 5)).all())
    for mask in MASKS:
        check_table([drawn], mask)
    with pytest.raises(UnsupportedError, match=r"rng\.permutation\(a\)"):
        reactant.jit(lambda m: np.random.default_rng(0).choice(9, m.sum(), replace=False).sum())(MASKS[0])


def test_sizes_that_numbers_bound():
    def counted(places):
        counts = np.zeros(min(int(places.max()) + 1, 50), int)
        np.add.at(counts, places, 1)
        return counts.argmax(), len(counts), np.zeros(np.minimum(places.max(), 50)).shape[0]
    check_table([counted], np.array([3, 7, 7, 1]))


def test_what_is_no_size():
    short = reactant.jit(lambda m: np.zeros(m.sum() - 3).sum())
    assert short(MASKS[1]) == 0
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        short(MASKS[2])
    with pytest.raises(IndexError, match="out of bounds"):
        reactant.jit(lambda m: np.zeros(m.sum())[PLACES].sum())(MASKS[2])


def test_sizes_that_nothing_bounds_are_refused():
    with pytest.raises(ConcreteValueNeeded, match=r"(?s)test_run_time_shapes.py.*min\(n, 1000\)"):
        reactant.jit(lambda places: np.zeros(places.max() + 1).sum())(np.arange(4))
    with pytest.raises(ConcreteValueNeeded, match="at most"):
        reactant.jit(lambda m: np.zeros((m.sum(), m.sum())).sum())(np.ones(5000, bool))
