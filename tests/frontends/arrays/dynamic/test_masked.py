"""Boolean masks known only at run time, compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(8)
X, Y = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 4))
REDUCTIONS = [
    lambda v: v.sum(), lambda v: v.mean(), lambda v: v.min(), lambda v: v.max(), lambda v: v.prod(), lambda v: v.any(),
    lambda v: v.all(), lambda v: v.size, lambda v: v.shape, lambda v: len(v), lambda v: v.std(), lambda v: np.median(v),
    lambda v: (v * 2 - v.mean()).sum(), lambda v: np.sort(v)[1], lambda v: np.argmax(v), lambda v: v[v > 0.5].sum(),
    lambda v: v @ v, lambda v: np.count_nonzero(v), lambda v: np.cumsum(v).sum(), lambda v: np.linalg.norm(v),
    lambda v: np.where(v > 1, 1, v).sum(), lambda v: np.nansum(v),
    lambda v: v[0], lambda v: v[-1], lambda v: v[1:3].sum(), lambda v: v[:2].max(), lambda v: v[100]]


@pytest.mark.parametrize("x", [X, X.ravel(), X.T, RANDOM.normal(size=(2, 3, 2))], ids=lambda x: str(x.shape))
def test_reductions(x):
    check_table([lambda x, f=f: f(x[x > 0]) for f in REDUCTIONS], x)


@pytest.mark.parametrize("dtype", ["i4", "c16", "f4", "?"])
def test_dtypes(dtype):
    check_table([lambda x, y, f=f: f(x[y > 0]) for f in REDUCTIONS[:5] + REDUCTIONS[7:10] + REDUCTIONS[17:18]],
                (X * 9).astype(dtype), Y, rtol=1e-5)


def test_nothing_selected():
    check_table([lambda x, f=f: f(x[x > 100]) for f in (
        lambda v: v.sum(), lambda v: v.min(), lambda v: v.max(), lambda v: v.size, lambda v: v.any(), lambda v: v.all(),
        lambda v: np.argmax(v), lambda v: v @ v, lambda v: v.prod())], X)


def numbers(x, y):
    x[x > 0] = 5
    y[y < 0] = x[y < 0]
    y[y > 0.5] *= 2
    x[y > 0] = np.sqrt(y[y > 0])
    x[x == 5] = np.nan
    x[np.isnan(x)] = y[np.isnan(x)]


def parts(x, y):
    x[:2][x[:2] > 0] = 7
    x[:, 1][x[:, 1] < 0] = 3
    x[x[:, 0] > 0] = y[0]
    x[:, y[0] > 0] = 1.
    x[x[:, 0] > 0, 2] += 5
    y[0, y[0] > 0] = -2
    return (x[x[:, 0] > 0].sum(axis=0), x[x[:, 0] > 0, 1].sum(), x[:, x[0] > 0].sum(axis=1), x[1, x[0] > 0].sum(),
            x[x[:, 0] > 0][:, 1].sum(), y.T[y.T > 0].sum(), x[..., x[0] > 0].max())


def all_of_another(x, y):
    y[y[:, 0] > -9] = x


def other_mask(x, y):
    y[x > 0] = x[x > 0]
    y[np.abs(x) == x] = x[y == x]


def counts_differ(x, y):
    x[x > 0] = y[y > 100]


def too_many_values(x, y):
    x[x > 0] = np.ones(11)


def mask_of_wrong_shape(x, y):
    x[(x > 0)[:2]] = 1


def flags(x, y):
    x[x.sum() > 0] = 1
    x[x.sum() < 0] = y
    y[y.sum() > 100] = x[0]


def between_masks_and_slices(x, y):
    u, v = x.ravel(), y.ravel()
    n = (u > 0).sum()
    v[:n] = u[u > 0]
    u[u > 0] = v[:n]
    return (v[:n] + u[u > 0]).sum()


def whole_arrays(x, y):
    x += y[y > -100].sum()
    z = x.ravel()
    z += y[y > -100]
    return (x.ravel() + y[y > -100]).sum()


def too_few(x, y):
    return (x[0, :3] + y[y > -100]).sum()


@pytest.mark.slow
def test_assignments():
    check_table([numbers, parts, all_of_another, other_mask, counts_differ, too_many_values, mask_of_wrong_shape, flags,
                 between_masks_and_slices, whole_arrays, too_few], X, Y)


@pytest.mark.parametrize("count", [1, 6, 7])
def test_vectors_of_exactly_the_count(count):
    x = np.array([3., -1, 2, 5, -7, 1, 4, 2])       # six are positive

    def write(x, values):
        x[x > 0] = values
    check(write, x, np.arange(float(count)))


def test_elementwise_patterns_become_one_select():
    def clip(x):
        x[x > 1] = np.sqrt(x[x > 1])
    text = reactant.code_hlo(clip, X, optimize=False)
    assert "scatter" not in text and "gather" not in text and text.count("stablehlo.select") == 1


def test_masks_beside_masks_and_indices():
    """Their positions go together, as those of index arrays."""
    def write(x, fixed, other, labels):
        x[fixed, fixed] = 1
        x[fixed, other] += x[fixed, fixed].sum()
        x[fixed, labels[fixed]] -= 2
        np.add.at(x, (other, other), 0.5)
        whole = np.zeros((2, *x.shape))
        whole[:, fixed, other] = 3
        whole[1, fixed, fixed] = x[fixed, fixed]
        return whole
    fixed = np.array([True, False, True, False])
    for other in (~fixed, fixed[::-1].copy(), fixed):
        check(write, RANDOM.normal(size=(4, 4)), fixed, other, np.array([3, 0, 1, 1]))


@pytest.mark.parametrize("f, text", [
    (lambda x, y: x[x > 0], "The compiled function returns an array whose size depends on run-time values"),
    (lambda x, y: x[x.sum() > 0], "The compiled function returns an array whose size depends on run-time values"),
    (lambda x, y: x[x > 0].__setitem__(1, 5), "Writing to an element by position of what a run-time mask selects"),
    (lambda x, y: x[x > 0].reshape(2, -1), "numpy.reshape of an array of run-time size")])
def test_refusals(f, text):
    with pytest.raises(UnsupportedError, match="^" + text):
        reactant.jit(f)(X, Y)


def _read_under_a_flag(x, c):
    b = np.asarray(c > 0)
    y = x[b]
    return y.sum(), y.size, len(y), y.shape[0], (y * 2 + 1).max(initial=0), np.concatenate([y, y]).sum()


def _written_under_flags(x, c):
    b = np.asarray(c > 0)
    out = np.zeros_like(x)
    out[b] = x[b] * 3
    out[~b] = -x[~b]
    x[b] += 1
    return out


def _flags_beside_others(x, c):
    b = c > 0
    x[b, 1] = 7
    x[b, ...] *= 2
    return x[b, 0].sum(), x[1:, b].sum(), x[b][:, 1:].sum(), x[b, np.newaxis].sum(), x[None, b].sum()


@pytest.mark.parametrize("c", [1.0, -1.0])
@pytest.mark.parametrize("x", [np.arange(5.0), np.arange(6.0).reshape(3, 2), np.zeros((0, 3)), np.array(3.0),
                               np.array(2 + 1j), np.arange(4)], ids=str)
def test_a_0d_mask_selects_all_or_nothing(x, c):
    check(_written_under_flags, x, c)
    if x.dtype.kind != "c":
        check(_read_under_a_flag, x, c)
    if x.ndim == 2:
        check(_flags_beside_others, np.arange(12.0).reshape(4, 3), c)


def test_masks_on_known_arrays_in_any_layout():
    def picked(x):
        known = np.arange(20.0).reshape(4, 5)
        wide = np.broadcast_to(np.arange(5.0), (4, 5))
        return known.T[x.T > 0].sum(), wide[x > 0].sum(), known[:, ::2][x[:, ::2] > 0].sum()

    def written(x):
        known = np.arange(20.0).reshape(4, 5).T
        known[x.T > 0] = -1.0
        known.flat[3] = x[0, 0]
        return known
    check_table([picked, written, lambda x: x.clip(0) + x.clip(max=0.5) + x.clip(None, 0.3) + x.clip(-0.1, 0.1)],
                np.sin(np.arange(20.0)).reshape(4, 5))


def test_places_in_an_empty_array():
    """The program did not compile."""
    def chosen(x, mask, places):
        x[places[:1]] = 1
        x[np.flatnonzero(mask)] += 1
        return x.sum()
    check(chosen, np.zeros(0), np.array([False, True]), np.array([1]))
    check(chosen, np.zeros(2), np.array([False, True]), np.array([1]))


HIDDEN = np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])


@pytest.mark.parametrize("program", [
    lambda x: x * HIDDEN, lambda x: (x + HIDDEN).sum(), lambda x: np.add(HIDDEN, x),
    lambda x: np.where(x > 0, HIDDEN, 0), lambda x: x * np.ma.array(np.ones(3), mask=[True, False, False]),
    lambda x: x @ np.matrix(np.eye(3))])
def test_masked_arrays_from_outside_are_refused(program):
    """The mask was lost."""
    with pytest.raises(UnsupportedError, match="cannot be compiled"):
        reactant.jit(program)(np.ones(3))


def test_known_masked_arrays():
    check(lambda x: x * HIDDEN.sum(), np.ones(3))
