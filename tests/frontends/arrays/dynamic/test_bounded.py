"""Slices whose bounds are only known at run time, compiled against NumPy."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, ControlFlowError, UnsupportedError
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(7)
MATRIX, X, Y = RANDOM.normal(size=(6, 6)), RANDOM.normal(size=8), RANDOM.normal(size=8)
SLICES = [lambda a, b: slice(a, b), lambda a, b: slice(None, b), lambda a, b: slice(a, None),
          lambda a, b: slice(-b, None), lambda a, b: slice(None, -a)]
BOUNDS = [(2, 5), (0, 8), (5, 2), (3, 3), (1, 20), (7, 8)]

REDUCTIONS = [
    lambda v: v.sum(), lambda v: np.prod(v), lambda v: v.any(), lambda v: v.all(), lambda v: np.linalg.norm(v),
    lambda v: (v > 0).sum(), lambda v: np.count_nonzero(v > 0), lambda v: v @ v, lambda v: np.dot(v, v * 2),
    lambda v: np.inner(v, v), lambda v: np.vdot(v, v), lambda v: np.add.reduce(v), lambda v: (v * 2 + 1).sum(),
    lambda v: np.where(v > 0, v, 1.).sum(), lambda v: np.exp(v).sum(dtype="f4"), lambda v: np.outer(v, v).sum(),
    lambda v: np.clip(v, -1, 1).sum(), lambda v: v.size, lambda v: v.shape, lambda v: len(v), lambda v: v[::1].sum(),
    lambda v: np.maximum(v, 0).sum(), lambda v: v.max(initial=-9.), lambda v: (3 - v).sum(),
    lambda v: v.astype(int).sum(),
    lambda v: v[1:].sum(), lambda v: v[:-1].sum(), lambda v: v[-2:].sum(), lambda v: (v[1:] - v[:-1]).sum(),
    lambda v: np.cumsum(v).sum(), lambda v: np.sum(v, keepdims=True), lambda v: v.max(), lambda v: v.min()]
OF_SOME = [
    lambda v: v.mean(), lambda v: np.argmax(v), lambda v: v.argmin(), lambda v: np.median(v), lambda v: v.std(),
    lambda v: v.var(ddof=1), lambda v: np.ptp(v), lambda v: np.sort(v)[0], lambda v: np.sort(v)[-1], lambda v: v[0],
    lambda v: v[-1], lambda v: np.cumsum(v)[-1], lambda v: v[10], lambda v: np.average(v, weights=v**2),
    lambda v: np.average(v), lambda v: v.mean(dtype="f4"), lambda v: np.nanmax(v), lambda v: np.nanmin(v.astype(int)),
    lambda v: np.nanmean(np.where(v > 0, v, np.nan)), lambda v: np.nanstd(v), lambda v: np.diff(v).sum(),
    lambda v: np.diff(v, 2, prepend=0.0, append=v[:2]).max(), lambda v: np.diff(v, append=[1, 2]).sum(),
    lambda v: np.ediff1d(v, to_end=[1.0, 2.0], to_begin=7).sum(), lambda v: np.ediff1d(v).max(),
    lambda v: np.diff(v, 2).max(), lambda v: np.allclose(v, v), lambda v: np.searchsorted(np.sort(v), [0., 9.]),
    lambda v: np.searchsorted(np.sort(v), 0.1, side="right"), lambda v: np.searchsorted(np.sort(v), np.nan)]


@pytest.mark.slow
@pytest.mark.parametrize("sliced", SLICES)
def test_reductions(sliced):
    for a, b in BOUNDS[:1] if sliced is not SLICES[0] else BOUNDS[:4]:
        check_table([lambda x, a, b, f=f: f(x[sliced(a, b)]) for f in REDUCTIONS], X, np.int64(a), np.int64(b))


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [(2, 5), (0, 8), (3, 7)])
def test_reductions_of_something(bounds):
    check_table([lambda x, a, b, f=f: f(x[a:b]) for f in OF_SOME], X, *map(np.int64, bounds), rtol=1e-6)


MATRICES = [
    lambda a, n, m: a[:n, :m].sum(axis=0).max(), lambda a, n, m: a[:n].mean(axis=0), lambda a, n, m: a[:n].max(axis=0),
    lambda a, n, m: a[:n].std(axis=0), lambda a, n, m: a[:n, :m].mean(axis=1, keepdims=True).sum(),
    lambda a, n, m: (a[:n] - a[:n].mean(axis=0)).sum(axis=1).max(), lambda a, n, m: a[:n].T @ a[:n],
    lambda a, n, m: (a[:n] @ a[:n].T).sum(), lambda a, n, m: a[:n].sum(axis=(0, 1)), lambda a, n, m: a[:n][:, :m].sum(),
    lambda a, n, m: np.linalg.norm(a[:n], axis=0), lambda a, n, m: np.cumsum(a[:n], axis=0)[-1],
    lambda a, n, m: a[:n, None, :].sum(axis=0), lambda a, n, m: (a[:n] > 0).sum(axis=0),
    lambda a, n, m: a[1:n, 2].sum(),
    lambda a, n, m: a[-n:, -m:].sum(), lambda a, n, m: (a[:n] + np.arange(6)).sum(),
    lambda a, n, m: np.nanmax(a[:n], axis=0),
    lambda a, n, m: (a[:n] * a[:n, :1]).sum(), lambda a, n, m: np.outer(a[0, :n], a[1, :m]).sum(axis=1).max(),
    lambda a, n, m: np.maximum.reduce(a[:n], axis=0), lambda a, n, m: np.add.outer(a[0, :n], a[1, :m]).sum(),
    lambda a, n, m: np.dot(a[:n, 0], a[:n]), lambda a, n, m: a[:n].T[1].sum(), lambda a, n, m: a[:n][1]]


@pytest.mark.slow
def test_matrices():
    check_table(MATRICES, MATRIX, np.int64(3), np.int64(4))


def store(sliced):
    def write(x, y, a, b):
        x[sliced(a, b)] = 7.
        y[sliced(a, b)] += x[sliced(a, b)] * 2
        x[sliced(a, b)] *= 3
        v = x[sliced(a, b)]
        v += 1
        y[sliced(a, b)] = v[...]
        v[:] = y[sliced(a, b)]
        return v.size
    return write


@pytest.mark.parametrize("bounds", BOUNDS)
def test_stores(bounds):
    check_table([store(s) for s in SLICES], X, Y, *map(np.int64, bounds))


def shift(x, y, a, b):
    x[:b - a] = y[a:b]
    y[a:b] = y[:b - a]
    x[a:b] = x[b - 1]
    return (x[a:b] * y[:b - a]).sum(), (x[:b - a] + y[a:b]).max()


def lengths_differ(x, y, a, b):
    x[a:b] = y[a:b + 1]


def known_length_differs(x, y, a, b):
    x[:4] = y[a:b]


def known_length(x, y, a, b):
    x[:3] = y[a:b]
    y[a:b] = [1., 2., 3.]
    return (x[:3] * y[a:b]).sum()


@pytest.mark.slow
def test_moving_between_extents():
    check_table([shift, lengths_differ, known_length_differs, known_length], X, Y, np.int64(2), np.int64(5))
    check_table([shift, lengths_differ], X, Y, np.int64(1), np.int64(2))


def whole_array_updated(x, y, a, b):
    z = x[:3]
    z += y[a:b]
    np.multiply(y[a:b], 2, out=y[a:b])
    np.add(x[:3], y[a:b], out=z)
    return z


def update_of_integers(x, y, a, b):
    k = x.astype(int)
    k[a:b] += y[a:b]


def update_of_integers_by_number(x, y, a, b):
    k = x.astype(int)
    k[a:b] += 3
    k[a:b] *= True
    return k


def test_updates_and_out():
    check_table([whole_array_updated, update_of_integers, update_of_integers_by_number], X, Y, np.int64(2), np.int64(5))


def test_windows_of_known_length_are_plain_views():
    def windows(x, i):
        w = x[i:i + 3]
        w[0] = 5
        return w, x[i - 2:i + 1] * 2, np.stack([x[i:i + 2], x[i + 1:i + 3]])

    def loop(x):
        total = np.zeros(3)
        for i in range(6):
            total += x[i:i + 3]
        return total
    check(loop, X)
    with pytest.raises(UnsupportedError):      # nothing proves that the window stays inside
        reactant.jit(windows)(X, np.int64(2))


@pytest.mark.parametrize("i", range(6))
def test_lu_step(i):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(lu_step, MATRIX, np.int64(i), np.int64(max(i - 1, 0)), rtol=1e-9)


def lu_step(a, i, j):
    a[i, j] = a[i, j] - a[i, :i] @ a[:i, j]
    a[i + 1:, i] /= a[i, i]
    a[i + 1:, i + 1:] -= np.outer(a[i + 1:, i], a[i, i + 1:])
    a[i, i:] -= a[i, :i] @ a[:i, i:]
    return (a[:i, :i].sum(), (a[i:, :i] @ a[:i, i:]).sum(), a[i:, i].max(), a[:i + 1, :].sum(axis=1).sum(),
            (a[:i] @ a[:, 0]).sum(), a[:i + 1].T.sum(axis=0).max(), a[i:, 0][None].sum())


def triangular_solve(lower, b):
    n = len(b)
    x = b.copy()
    for i in range(n):
        x[i] = (x[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - np.dot(lower[i, i + 1:], x[i + 1:])) / lower[i, i]
        b[:i] -= x[i] * lower[:i, i]
    return x


def cholesky(a):
    n = a.shape[0]
    c = np.zeros_like(a)
    for j in range(n):
        c[j, j] = np.sqrt(a[j, j] - c[j, :j] @ c[j, :j])
        c[j + 1:, j] = (a[j + 1:, j] - c[j + 1:, :j] @ c[j, :j]) / c[j, j]
    return c


@pytest.mark.parametrize("n", [3, 40])
def test_factorisations(n):
    a = RANDOM.normal(size=(n, n)) / n + 2 * np.eye(n)
    check(triangular_solve, a, RANDOM.normal(size=n), rtol=1e-8)
    check(cholesky, a @ a.T, rtol=1e-8, atol=1e-10)


def sparse_product(values, columns, starts, v):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        a, b = starts[i], starts[i + 1]
        y[i] = values[a:b] @ v[columns[a:b]]
    return y


def sparse_row(values, columns, starts, v, i):
    a, b = starts[i], starts[i + 1]
    first = (values[a:b] * v[columns[a:b]]).sum()
    np.add.at(v, columns[a:b], values[a:b])
    v[columns[a:b]] = values[a:b]
    v[columns[a:b]] -= 2 * values[a:b]
    return first, v[columns[a:b]].sum()


VALUES, COLUMNS, STARTS = RANDOM.normal(size=7), np.array([0, 3, 1, 1, 2, 0, 3]), np.array([0, 2, 2, 5, 7])


@pytest.mark.slow
def test_sparse_rows():
    check(sparse_product, VALUES, COLUMNS, STARTS, RANDOM.normal(size=4), rtol=1e-10)
    for i in range(4):
        check(sparse_row, VALUES, COLUMNS, STARTS, RANDOM.normal(size=4), np.int64(i), rtol=1e-10)


def loops_over_slices(x, n):
    total = 0.
    for v in x[:n]:
        total += v * v
    for k, v in enumerate(x[n:]):
        total += k * v
    for v in x[x > 0]:
        total -= v * total / 10
    for u, v in zip(x[:n], x[n:], strict=False):
        total += u * v
    return total


def sparse_product_by_elements(values, columns, starts, v):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        for a, j in zip(values[starts[i]:starts[i + 1]], columns[starts[i]:starts[i + 1]], strict=True):
            y[i] += a * v[j]
    return y


def test_loops():
    check(loops_over_slices, X, np.int64(3), rtol=1e-9)
    check(sparse_product_by_elements, VALUES, COLUMNS, STARTS, RANDOM.normal(size=4), rtol=1e-9)


def pivoted_solution(a, b):
    n = len(a)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        row = a[p].copy()
        a[p] = a[k]
        a[k] = row
        b[[k, p]] = b[[p, k]]
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    for k in range(n):
        b[k] -= a[k, :k] @ b[:k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - a[k, k + 1:] @ b[k + 1:]) / a[k, k]
    return b


def test_pivoting():
    check(pivoted_solution, RANDOM.normal(size=(12, 12)), RANDOM.normal(size=12), rtol=1e-7)


@pytest.mark.parametrize("f, text", [
    (lambda x, n: x[:n], "The compiled function returns an array whose size depends on run-time values"),
    (lambda x, n: np.fft.fft(x[:n]), "numpy.fft.fft of an array of run-time size is not supported"),
    (lambda x, n: np.concatenate([x[:n], x[n:]]), "The compiled function returns an array whose size"),
    (lambda x, n: x[:n].reshape(2, -1), "numpy.reshape of an array of run-time size"),
    (lambda x, n: x[:n:n].sum(), "The step of a slice needs a value"),
    (lambda x, n: [v for v in x[:n]], "The compiled function returns an array whose size")])
def test_what_needs_the_true_size_is_refused(f, text):
    with pytest.raises((UnsupportedError, TypeError, ConcreteValueNeeded), match=f"^{text}"):
        reactant.jit(f)(X, np.int64(3))


def test_the_error_names_the_line():
    with pytest.raises(UnsupportedError, match="test_bounded.py"):
        reactant.jit(lambda x, n: np.fft.fft(x[:n]))(X, np.int64(3))


STEPS = (-10, -3, -2, -1, 1, 2, 3, 10)
ANY_BOUNDS = [(a, b) for a in (-12, -3, 0, 4, 8, 12) for b in (-9, -1, 0, 5, 8)]


def stepped_reads(step):
    def reads(x, a, b):
        y, head = x[a:b:step], x[:b]
        return (y.sum(), y.prod(), y.size, x[a::step].sum(), x[:a:step].max(initial=-9.0), head[::step].sum(),
                head[1:a:step].sum(), head[a::step].sum(), (y * 2 + 1).sum(), np.cumsum(y).sum())
    return reads


def stepped_writes(step):
    def writes(x, a, b):
        x[a:b:step] += 2
        y = x[a:b:step]
        y[...] = y * 3 - 0.5
        x[a::step] = 7
        return x.sum()
    return writes


def stepped_windows(step):
    def windows(x):
        out = np.zeros((6, len(x[0:4:step] if step > 0 else x[4:0:step])))
        for k in range(6):
            out[k] = x[k:k + 4:step] if step > 0 else x[k + 4:k:step]
        return out
    return windows


@pytest.mark.parametrize("step", STEPS)
def test_steps(step):
    for make in (stepped_reads, stepped_writes):
        compiled = reactant.jit(make(step), traced_argnames=("a", "b"))
        for a, b in ANY_BOUNDS:
            mine, theirs = X.copy(), X.copy()
            np.testing.assert_allclose(compiled(mine, a, b), make(step)(theirs, a, b), rtol=1e-12)
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    windows = stepped_windows(step)
    long = np.arange(12.0)
    np.testing.assert_array_equal(reactant.jit(windows, unroll_limit=0)(long), windows(long))


def test_a_dimension_of_many_turned_around():
    def reverse_heads(x, n):
        for k in range(1, n):
            x[:k + 1] = x[:k + 1][::-1]
        return x

    check(reverse_heads, X, 7)


def test_a_loop_over_steps_is_not_unrolled():
    def strided(x, n):
        total = 0.0
        for k in range(n):
            total += x[k::3].sum() - x[:k:-2].sum()
        return total

    x = RANDOM.normal(size=300)
    assert np.isclose(reactant.jit(strided)(x, 250), strided(x, 250))
    assert sum(reactant.jit(strided).lower(x, 250).operations().values()) < 200


def summed_by_python(x, w):
    total = np.float64(0)
    for t in x:
        total += sum(w[(x > t) != (x > 0)])
    return total, sum(x[x > 0], 2.0), sum(x[x > 0] > 1), sum(np.where(x > 0)[0])


def test_pythons_sum():
    x = np.array([1.0, -2.0, 3.0, 0.5, -1.0, 2.25])
    for given in (x, -x):
        assert reactant.verify(summed_by_python, given, np.abs(given))


def written_where_a_mask_selects(x, n, w):
    """Into a copy, into a view of an argument, in place, from another selection."""
    picked, view = x[x > 0], x[1:n]
    picked[picked > 1] = picked[picked > 1][::-1]
    below = picked < 2
    picked[below] *= w[:below.sum()]
    view[view > 0] *= w[1:n][view > 0]
    view[view < -1] = 7.0
    x[:n][x[:n] > 3] += 1
    like = np.zeros_like(picked)
    like[below] = picked[below] - 0.5
    return picked.sum(), picked.max(), like.sum()


def test_writes_where_a_mask_selects():
    x, w = np.array([1.0, -2.0, 3.0, 0.5, 4.0, -6.0]), np.arange(10.0, 16.0)
    compiled = reactant.jit(written_where_a_mask_selects, traced_argnames=("n",))
    for n in (1, 4, 6):
        mine, theirs = x.copy(), x.copy()
        np.testing.assert_allclose(compiled(mine, n, w), written_where_a_mask_selects(theirs, n, w))
        np.testing.assert_allclose(mine, theirs)


@pytest.mark.parametrize("index", [[0, 2], np.array([1, 0])])
def test_writes_at_positions_are_refused(index):
    def write(x):
        picked = x[x > 0]
        picked[index] = 5.0
        return picked.sum()
    with pytest.raises(UnsupportedError, match="Index arrays"):
        reactant.jit(write)(np.arange(4.0))


def slices_of_what_a_mask_selects(x):
    v, total = x[x > 0], 0.0
    first = v[1:].copy()
    np.clip(v, 0.75, 3, out=v)
    for _ in range(3):
        rest = v[1:]
        total += (rest * v[:-1]).sum()
        v = v * 1.5
    last = x[x > 0][1:]
    last[:] = last * 2
    last[0] = 3.0
    return total, first.sum(), v[0], v[-1], last.sum()


def write_to_the_slice(x):
    v = x[x > 0]
    u = v[1:]
    u[0] = 50.0
    return v.sum()


def write_beside_the_slice(x):
    v = x[x > 0]
    u = v[1:]
    v += 1
    return u.sum()


def returned_after_a_write(x):
    """It was forgotten that `v` was written, once nothing referred to it any more."""
    v = x[x > 0]
    u = v[::-1]
    v += 1
    return u


def returned_by_a_helper(x):
    u = returned_after_a_write(x)
    return u.sum()


def view_of_a_view(x):
    v = x[x > 0]
    u = v[::-1][:-1]
    v += 1
    return u.sum()


def test_slices_of_what_a_mask_selects_are_copies_that_are_not_written_unseen():
    x = np.array([1.0, -2.0, 3.0, 0.5, 4.0, -6.0])
    check_table([slices_of_what_a_mask_selects], x)
    for program in (write_to_the_slice, write_beside_the_slice, returned_after_a_write, returned_by_a_helper,
                    view_of_a_view):
        with pytest.raises(ControlFlowError, match="is a copy in compiled code"):
            reactant.jit(program, sized_results=True)(x)


@pytest.mark.slow
def test_places_and_repetitions():
    check_table([
        lambda x, n: np.nonzero(x[x > 0] > 0.5)[0].sum(), lambda x, n: np.flatnonzero(x[n:] > 0).sum(),
        lambda x, n: x[:n].nonzero()[0].sum(), lambda x, n: np.argwhere(x[x > 0] > 0.5).sum(axis=0),
        lambda x, n: [p.sum() for p in np.nonzero(np.outer(x, x)[n:][:, x > 0] > 0)],
        lambda x, n: np.flatnonzero(np.outer(x, x)[n:][:, x > 0] > 0).sum(),
        lambda x, n: x[np.where(np.diff(np.flatnonzero(x > 0)) > 1)[0]].sum(),
        lambda x, n: np.where(x[:n] > 0)[0].sum(), lambda x, n: np.where(x[:n] > 0, x[:n], 7).sum(),
        lambda x, n: np.cumsum(np.repeat(x[x > 0], 3)).sum(), lambda x, n: np.cumsum(np.repeat(x[1:n], 2)).sum(),
        lambda x, n: np.cumsum(x[n:].repeat(2)).sum(), lambda x, n: np.repeat(x[:n], 0).sum(),
        lambda x, n: np.repeat(np.outer(x, x)[n:], 2, axis=0).sum(axis=0),
        lambda x, n: np.cumsum(np.repeat(np.outer(x, x)[:, n:], 2)).sum(),
        lambda x, n: x[:n].clip(0).sum() + x[n:].clip(max=0.5).sum(), lambda x, n: np.float32(x[:n]).sum()],
        np.sin(np.arange(9.0) * 2), np.int64(4))
    with pytest.raises(UnsupportedError, match="np.repeat by run-time counts"):
        reactant.jit(lambda x, k: np.repeat(x[x > 0], k).sum())(X, np.arange(3))


def reshaped(x, m):
    return (x[m].reshape(2, 3) * 2, x[m].reshape(-1).sum(), (x[m].reshape(1, -1) * np.ones((2, 1))).sum(1),
            np.reshape(x[m], (3, 2), order="F"))


def without_a_seam(x, m):
    for _ in range(3):
        x = np.sort(x[m].reshape(3, 2), 0).ravel().repeat(2)
    return x


def rows_reshaped(x, m):
    return x.reshape(4, 3)[m[:4]].reshape(2, 3, 1) + 1, x.reshape(4, 3)[:, m[:3]].reshape(8)


def written_after(x, m):
    y = x[m].reshape(2, 3)
    y += 1
    x[0] = 5
    return y


@pytest.mark.parametrize("program", [reshaped, without_a_seam, rows_reshaped, written_after])
def test_reshape_to_a_known_shape(program):
    compiled = reactant.jit(program)
    for m in ([1, 0, 1, 0] * 3, [1, 1, 0] * 4, [1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1]):
        mine, theirs, mask = np.arange(12.0) + 0.5, np.arange(12.0) + 0.5, np.array(m, bool)
        try:
            wanted = program(mine, mask)
        except ValueError as error:
            with pytest.raises(ValueError) as found:
                compiled(theirs, mask)
            assert str(found.value) == str(error)
            continue
        found = compiled(theirs, mask)
        for a, b in zip(found, wanted, strict=True) if type(wanted) is tuple else [(found, wanted)]:
            np.testing.assert_allclose(a, b, rtol=1e-14)
        np.testing.assert_array_equal(mine, theirs)


def test_reshape_that_cannot_be_known_or_seen_is_refused():
    x, m = np.arange(12.0), np.arange(12) % 2 == 0

    def seen(x, m):
        v = x[m]
        v.reshape(3, 2)[0] = 7
        return v.sum()

    with pytest.raises(NotImplementedError, match="without -1"):
        reactant.jit(lambda x, m: x[m].reshape(2, -1).sum())(x, m)
    with pytest.raises(reactant.ControlFlowError, match="copy"):
        reactant.jit(seen)(x, m)


CUBE = RANDOM.normal(size=(6, 5, 4))
WITH_ARRAYS = {
    "rows": lambda i, a, b: (i, slice(a, b)),
    "rows of a grid": lambda i, a, b: (i[:, None], slice(a, None), i % 4),
    "columns": lambda i, a, b: (slice(a, b), i),
    "apart": lambda i, a, b: (i, slice(None, b), i % 4),
    "from the end": lambda i, a, b: (slice(None, -a), -i, slice(None, None, -1)),
    "with a new dimension": lambda i, a, b: (None, slice(a, b), i),
    "behind an ellipsis": lambda i, a, b: (..., slice(a, b), i % 4),
    "numbers beside it": lambda i, a, b: ([a, b], slice(a, None), 1),
    "every other one": lambda i, a, b: (i, slice(a, None, 2)),
    "of known size": lambda i, a, b: (i, slice(a, a + 2)),
    "mask that is known": lambda i, a, b: (np.arange(6) % 2 == 0, slice(a, b)),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", WITH_ARRAYS)
def test_index_arrays_beside_slices_with_run_time_bounds(name):
    def program(x, i, a, b):
        key = WITH_ARRAYS[name](i, a, b)
        found = x[key]
        total, most = (found * 2).sum(), found.max(initial=-9.0)
        x[key] = found + 1
        x[key] *= 0.5
        x[key] = 7 * x[key] - most
        return total, most

    compiled = reactant.jit(program)
    for a, b in [(1, 3), (2, 2), (3, 1), (1, 4)]:
        places = np.array([0, 3, 1])
        mine, theirs = CUBE.copy(), CUBE.copy()
        wanted = program(mine, places, a, b)
        found = compiled(theirs, places, np.int64(a), np.int64(b))
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
        np.testing.assert_allclose(theirs, mine, rtol=1e-13)


def rows_change_places(x):
    for k in range(len(x) - 1):
        p = k + np.abs(x[k:, k]).argmax()
        x[[k, p], k:] = x[[p, k], k:]
        x[k + 1:, k:] -= np.outer(x[k + 1:, k] / x[k, k], x[k, k:])
    return np.diag(x).prod()


def test_elimination_with_rows_that_change_places():
    big = RANDOM.normal(size=(40, 40))
    assert reactant.jit(rows_change_places).lower(big).operations()["stablehlo.while"] > 0
    mine, theirs = big.copy(), big.copy()
    np.testing.assert_allclose(reactant.jit(rows_change_places)(theirs), rows_change_places(mine), rtol=1e-9)
    np.testing.assert_allclose(theirs, mine, atol=1e-9)


def test_index_arrays_beside_such_slices_that_are_refused():
    def masked(x, i, a):
        return x[x[:, 0] > 0, a:].sum()

    def added(x, i, a):
        np.add.at(x, (i, slice(a, None)), 1.0)

    for program in (masked, added):
        with pytest.raises(UnsupportedError, match="slice"):
            reactant.jit(program)(MATRIX.copy(), np.array([1, 1]), np.int64(2))


def crossing(x, level):
    above = x > level
    return np.flatnonzero(above[1:] & ~above[:-1])[0]


@pytest.mark.parametrize("program", [
    crossing, lambda x, level: np.where(x > level)[0][0], lambda x, level: np.nonzero(x > level)[0][-1],
    lambda x, level: (x[x > level][0], x[x > level][-1]), lambda x, level: np.argwhere(x > level)[0, 0],
    lambda x, level: np.stack([x, 2 * x], axis=1)[x > level][-1].sum(),
    lambda x, level: np.stack([x, 2 * x])[:, x > level][:, 0]])
def test_first_and_last_that_a_mask_selects(program):
    """They are searched for: nothing is moved together."""
    compiled = reactant.jit(program)
    x = np.array([0.5, np.nan, -1.0, 2.0, 3.0, 0.0, 2.5, -2.0])
    for level in (-9.0, 0.4, 1.0, 2.6):
        try:
            wanted = program(x, level)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(x, level)
        else:
            np.testing.assert_array_equal(compiled(x, level), wanted)
    for nothing in (9.0, np.nan):
        with pytest.raises(IndexError):
            compiled(x, nothing)
    made = compiled.lower(x, 1.0).operations()
    assert "stablehlo.scatter" not in made and "stablehlo.reduce_window" not in made
