"""Reductions and cumulative functions against NumPy: dtypes, axes, NaN, empties, errors."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.frontends.numpy import reduction
from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

PLAIN = ["sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmin", "argmax", "count_nonzero", "ptp",
         "average"]
IGNORING_NAN = ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanstd", "nanvar", "nanargmin", "nanargmax"]
CUMULATIVE = ["cumsum", "cumprod", "nancumsum", "nancumprod"]
EVERY = PLAIN + IGNORING_NAN + CUMULATIVE
PLACES = {"argmin", "argmax", "nanargmin", "nanargmax"}
NAN = np.array([[1, np.nan, 3], [4, 5, 6.0], [np.inf, -np.inf, np.nan], [3, 2, 1]])
MASK = np.random.default_rng(0).integers(0, 2, (4, 3)).astype(bool) | (np.arange(4) == 0)[:, None]
TABLE, DEEP = samples.ordinary("d", 4, 3), samples.ordinary("d", 2, 3, 4)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", EVERY)
def test_every_dtype(name):
    f = getattr(np, name)
    given = [samples.ordinary(d, 3, 5) for d in samples.ALL]
    given = [a % 5 if a.dtype.kind in "iu" and "prod" not in name else a for a in given]
    works = []
    for a in given:
        try:
            f(a, axis=0)
            works.append(a)
        except TypeError:
            check(lambda x: f(x, axis=0), a)
    tolerance = 5e-2 if any(a.dtype == np.float16 for a in works) else 1e-11
    small = [a for a in works if a.dtype != np.float16]
    check_table([lambda *a, axis=axis: [f(x, axis=axis) for x in a] for axis in (None, 0, -1)], *small, rtol=1e-6)
    half = [a for a in works if a.dtype == np.float16]
    check_table([lambda *a, axis=axis: [f(x, axis=axis) for x in a] for axis in (None, 0)], *half, rtol=tolerance,
                atol=1e-2)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", EVERY)
def test_not_a_number(name):
    f = getattr(np, name)
    check_table([lambda a, b, axis=axis: [f(a, axis=axis), f(b, axis=axis)] for axis in (None, 0, 1)], NAN,
                NAN.astype("f"), rtol=1e-6)
    if "prod" not in name:      # a product with a complex infinity is another NaN in every order
        check_table([lambda c: f(c, axis=1)], np.nan_to_num(NAN) - 1j * np.nan_to_num(NAN)[::-1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", EVERY)
def test_small_and_empty(name):
    f, empty = getattr(np, name), np.zeros((0, 3))
    for argument in (np.array(3.5), np.float32(3.5), 2.5, np.zeros(0)):
        check_table([lambda a: f(a)], argument)
    check_table([lambda a: f(a, axis=0), lambda a: f(a, axis=1), lambda a: f(a, axis=3)], empty)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [n for n in EVERY if n not in CUMULATIVE])
def test_axes(name):
    f = getattr(np, name)
    tuples = [] if name in PLACES else [((0, 2), k) for k in (False, True)] + [((-1, 1), False), ((0, 1, 2), True)]
    check_table([lambda a, x=axis, k=keep: f(a, axis=x, keepdims=k) for axis, keep in
                 [(0, True), (1, False), (-1, True), (None, True), *tuples]], DEEP)
    if name not in PLACES:
        check_table([lambda a: f(a, axis=()), lambda a: f(a, axis=(0, 0))], DEEP)


@pytest.mark.parametrize("name", [n for n in EVERY if n not in ("count_nonzero", "average")])
def test_out(name):
    f = getattr(np, name)
    dtype = np.int64 if name in PLACES else bool if name in ("any", "all") else np.float64
    shape = (4, 3) if name in CUMULATIVE else (3,)
    check_table([lambda a, o: f(a, axis=0, out=o), lambda a, o: f(a, axis=1, out=o)], TABLE, np.zeros(shape, dtype))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "std", "var", "any", "all", "nansum", "nanprod", "nanmean",
                                  "nanstd", "nanvar"])
def test_where(name):
    f = getattr(np, name)
    check_table([lambda a, m: f(a, axis=0, where=m), lambda a, m: f(a, where=m),
                 lambda a, m: f(a, axis=1, where=m[:, :1], keepdims=True), lambda a, m: f(a, where=True)], TABLE, MASK)


@pytest.mark.parametrize("dtype", ["d", "i"])
@pytest.mark.parametrize("name", ["min", "max", "nanmin", "nanmax", "sum", "prod", "nansum", "nanprod"])
def test_initial(name, dtype):
    f = getattr(np, name)
    check_table([lambda a, m: f(a, axis=0, where=m, initial=2), lambda a, m: f(a, initial=3),
                 lambda a, m: f(a[:0], axis=0, initial=3), lambda a, m: f(a, where=m)],
                samples.ordinary(dtype, 4, 3), MASK)


@pytest.mark.parametrize("name", ["std", "var", "nanstd", "nanvar"])
def test_degrees_of_freedom(name):
    f = getattr(np, name)
    check_table([lambda a, d: f(a, ddof=1), lambda a, d: f(a, 0, ddof=1), lambda a, d: f(a, 0, ddof=5),
                 lambda a, d: f(a, 1, correction=1), lambda a, d: f(a, axis=0, mean=a.mean(axis=0, keepdims=True)),
                 lambda a, d: f(a, 0, ddof=d), lambda a, d: f(a, ddof=1, correction=1)], TABLE, 1.0)


def test_chosen_dtypes():
    check_table([lambda i, f, f_=f_: f_(i, 0, dtype=np.float32) for f_ in (np.sum, np.mean, np.prod, np.var)]
                + [lambda i, f: np.sum(i, dtype=np.int16), lambda i, f: np.mean(i, 0, int),
                   lambda i, f: i.sum(0, complex),
                   lambda i, f: f.std(dtype=np.float64), lambda i, f: np.cumsum(i, 1, np.float32),
                   lambda i, f: np.nanmean(f, dtype=int)], samples.ordinary("b", 4, 3), TABLE.astype("f"), rtol=1e-6)


def test_half_precision_accumulates_in_single():
    """As NumPy: 4096 + 1 would be lost in half precision."""
    x = np.ones(5000, np.float16)
    found = reactant.jit(lambda x: (np.mean(x), np.sum(x), x.var()))(x)
    assert [f.dtype for f in found] == [np.float16] * 3
    assert float(found[0]) == 1.0 and float(found[1]) == 5000.0 and float(found[2]) == 0.0


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_long_sums_are_accurate(dtype):
    """Compared with the exact sum: XLA's order of additions must not lose more than pairwise summation does."""
    x = np.random.default_rng(0).uniform(0, 1, 1_000_000).astype(dtype)
    exact = x.astype(np.longdouble).sum()
    found = reactant.jit(np.sum)(x)
    assert abs(found - exact) / exact < 50 * np.finfo(dtype).eps


def test_methods():
    check(lambda x: (x.sum(), x.mean(0), x.std(1), x.var(), x.max(0), x.argmax(1), x.cumsum(0), x.cumprod(), x.any(),
                     x.all(0), x.prod(1), x.min(), x.argmin(), x.ptp if hasattr(x, "ptp") else 0), TABLE, rtol=1e-11)


def test_average():
    w = np.array([1.0, 2, 3])
    check_table([lambda x, w, v: np.average(x, 1, w), lambda x, w, v: np.average(x, None, v),
                 lambda x, w, v: np.average(x, 0, v, returned=True), lambda x, w, v: np.average(x, returned=True),
                 lambda x, w, v: np.average(x, 1, [1, 2, 3], True), lambda x, w, v: np.average(x, 1, w, keepdims=True),
                 lambda x, w, v: np.average(x, 1, w - w), lambda x, w, v: np.average(x, None, w),
                 lambda x, w, v: np.average(x, 0, w), lambda x, w, v: np.average(x, (0, 1), v)],
                samples.ordinary("l", 4, 3), w, np.abs(TABLE))


def test_cumulative_sum_and_prod():
    check_table([lambda x: np.cumulative_sum(x, axis=1), lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
                 lambda x: np.cumulative_prod(x[0]), lambda x: np.cumulative_prod(x, axis=-1, include_initial=True),
                 lambda x: np.cumulative_sum(x)], samples.ordinary("b", 4, 3))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_places_of_extremes_in_long_rows(dtype):
    """Found by blocks, of which the last one may be shorter."""
    random = np.random.default_rng(0)
    for shape in ((reduction.BLOCKS_FROM,), (2, reduction.BLOCKS_FROM + 130)):
        for x in (random.random(shape) * 200, random.integers(0, 2, shape), np.zeros(shape),
                  np.where(random.random(shape) < 1e-4, np.nan if dtype != "u1" else 9, random.random(shape))):
            check_table([np.argmax, np.argmin, lambda x: np.argmax(x, axis=-1),
                         lambda x: np.argmin(x[..., ::-1], axis=-1)], x.astype(dtype))
