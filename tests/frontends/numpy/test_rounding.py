"""Rounding, clipping, replacing NaN, predicates, closeness."""
from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

EVERY = [samples.awkward(d, 4, 5) for d in samples.ALL]
REAL = [a for a in EVERY if a.dtype.kind != "c"]
NUMBERS = [a for a in EVERY if a.dtype.kind != "b"]
TAME = [samples.ordinary(d, 4, 5) for d in samples.ALL if d != "?"]
X = samples.awkward("d", 4, 5)


@pytest.mark.slow
def test_round():
    check_table([lambda *a, n=n: [np.round(x, n) for x in a] for n in (0, 1, 3)], *NUMBERS)
    check_table([lambda *a: [np.round(x, -1) for x in a], lambda *a: [x.round(2) for x in a]], *TAME)
    check_table([lambda b: np.round(b), lambda b: np.round(b, 1)], EVERY[0])


def test_round_of_scalars_and_out():
    check_table([lambda x, o: np.round(x[1, 1], 1), lambda x, o: np.round(x, 1, out=o),
                 lambda x, o: np.around(x[0], 2)],
                X, np.zeros((4, 5), np.float32))


def test_fix():
    check_table([lambda *a: [np.fix(x) for x in a], lambda *a: np.fix(a[-1], out=a[-1])], *REAL)
    check(lambda z: np.fix(z), EVERY[-1])


@pytest.mark.slow
def test_clip():
    check_table([lambda *a: [np.clip(x, 1, 5) for x in a], lambda *a: [np.clip(x, None, 5) for x in a],
                 lambda *a: [np.clip(x, 2, None) for x in a], lambda *a: [x.clip(1, 5) for x in a],
                 lambda *a: [np.clip(x, min=3) for x in a], lambda *a: [np.clip(x, max=3) for x in a],
                 lambda *a: [np.clip(5, x[0], x[1]) for x in a], lambda *a: [np.clip(2.5, 0, x[1]) for x in a],
                 lambda *a: [np.clip(x, 1.5, 2.5) for x in a], lambda *a: [np.clip(x, x, x[0]) for x in a]], *NUMBERS)


def test_clip_bounds():
    """Bounds no integer passes are ignored; others out of range raise."""
    i = samples.awkward("b", 4, 5)
    check_table([lambda x, i: np.clip(i, -300, 300), lambda x, i: np.clip(i, -128, 3.0), lambda x, i: np.clip(i, x, 5),
                 lambda x, i: np.clip(i, 5, 3000), lambda x, i: np.clip(i, 3000, 5), lambda x, i: np.clip(x, 1),
                 lambda x, i: np.clip(x), lambda x, i: np.clip(x, None, None), lambda x, i: np.clip(x, 0, 1, min=3),
                 lambda x, i: np.clip(x[1, 1], 0, 1), lambda x, i: np.clip(x[1, 1], x[0, 3], 1.0),
                 lambda x, i: np.clip(x, 0, 1, out=x), lambda x, i: x.clip(0, None, x),
                 lambda x, i: np.clip(x, 0, 1, dtype=np.float32)], X, i)


@pytest.mark.slow
def test_nan_to_num():
    check_table([lambda *a: [np.nan_to_num(x) for x in a], lambda *a: [np.nan_to_num(x[0, 0]) for x in a]], *EVERY)
    check_table([lambda x: np.nan_to_num(x, nan=3, posinf=7, neginf=-8), lambda x: np.nan_to_num(x, nan=x[3, 3]),
                 lambda x: np.nan_to_num(x, copy=False), lambda x: np.nan_to_num(x[::2], False)], X)


@pytest.mark.parametrize("name", ["iscomplex", "isreal", "iscomplexobj", "isrealobj", "real", "imag", "isposinf",
"isneginf"])
def test_predicates(name):
    f = getattr(np, name)
    given = EVERY if not name.endswith("inf") else REAL
    check_table([lambda *a: [f(x) for x in a], lambda *a: [f(x[0, 0]) for x in a], lambda *a: f(a[-1].T)], *given)


def test_signed_infinity_details():
    check_table([lambda x, o: np.isposinf(x * 1j), lambda x, o: np.isneginf(x, out=o)], X, np.zeros((4, 5), bool))


def test_parts_are_views():
    def step(z):
        np.real(z)[0] = 5
        np.imag(z)[1] = -1
        np.real(z.real)[2] = 7
    check(step, samples.ordinary("D", 4, 5))


@pytest.mark.slow
def test_closeness():
    check_table([lambda *a: [np.isclose(x, x[::-1]) for x in a], lambda *a: [np.isclose(x, 1) for x in a],
                 lambda *a: [np.isclose(x, x, equal_nan=True) for x in a], lambda *a: [np.allclose(x, x) for x in a],
                 lambda *a: [np.array_equal(x, x) for x in a], lambda *a: [np.array_equal(x, x[0]) for x in a],
                 lambda *a: [np.array_equiv(x, x[0]) for x in a], lambda *a: [np.array_equiv(x, x[:, :3]) for x in a]],
                *EVERY)


def test_closeness_details():
    near = X + 1e-7 * samples.ordinary("d", 4, 5)
    check_table([lambda x, y: np.isclose(x, y), lambda x, y: np.isclose(x, y, 1e-9, 1e-9),
                 lambda x, y: np.isclose(1.0, y),
                 lambda x, y: np.allclose(x, y, equal_nan=True), lambda x, y: np.array_equal(x, x, equal_nan=True),
                 lambda x, y: np.isclose(x[0, 0], 2.0), lambda x, y: np.isclose(x, [1, 2, 3, 4, 5])], X, near)
