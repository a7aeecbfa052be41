"""What would take too long to compile stays with XLA and says so; the estimate decides, before LLVM starts."""
import time

import numpy as np
import pytest

import reactant
from reactant.loopnests.analysis import budget
from reactant.loopnests.analysis.budget import Budget, TooLong
from reactant.native import engine


def turned(x, w):
    for _ in range(20):
        x = (w @ x).T * 0.5 + x
    return x


X, W = np.random.default_rng(0).random((2, 8, 8))


def notes(function, *arguments, **options):
    return [line for line in str(reactant.explain(reactant.jit(function, **options), *arguments)).splitlines()
            if line.startswith(("compiled natively", "left to XLA"))]


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.4])
def test_what_takes_too_long_stays_with_xla(seconds, monkeypatch):
    def refused(text, name, *more, load=engine.load, **named):
        assert not name.startswith("reactant.native.region")
        return load(text, name, *more, **named)
    monkeypatch.setattr(engine, "load", refused)
    found = notes(turned, X, W, native_seconds=seconds)
    assert len(found) == 1 and found[0].startswith("left to XLA: ") and f"(native_seconds={seconds:g})" in found[0]
    np.testing.assert_allclose(reactant.jit(turned, native_seconds=seconds)(X, W), turned(X, W), rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"native_seconds": 30}, {"native_seconds": 0, "native": "always"}])
def test_what_does_not_is_native(options):
    assert notes(turned, X, W, **options)[0].startswith("compiled natively: region0")
    np.testing.assert_allclose(reactant.jit(turned, **options)(X, W), turned(X, W), rtol=1e-12)


def test_all_parts_of_a_program_share_it():
    given = Budget(1.0)
    given.take(0.7)
    with pytest.raises(TooLong, match="1 s or more"):
        given.take(0.4)
    given.take(0.2)
    with given.writing(), pytest.raises(TooLong, match=r"more than 1 s\n"):
        for _ in range(int(0.2 / budget.WRITTEN)):
            budget.count()
    budget.count()                      # of no budget


def test_the_clock_is_the_last_resort(monkeypatch):
    monkeypatch.setattr(budget, "WRITTEN", 0.0)
    given = Budget(0.01)
    with given.writing(), pytest.raises(TooLong, match="on this machine"):
        time.sleep(0.05)
        for _ in range(budget.BETWEEN):
            budget.count()


def test_what_is_very_long_is_not_begun():
    some = Budget(8.0, spent=1.0)
    some.begin(budget.MANY - 1)
    some.begin(int(6.9 / budget.COMPILED))
    with pytest.raises(TooLong, match="^20 s or more"):
        some.begin(int(19.0 / budget.COMPILED))
