"""`reactant.verify` finds every difference a caller could see."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import reactant
from reactant.frontends.trace import is_tracing


@dataclass
class Box:
    content: np.ndarray


def same(x, y):
    x *= 2
    return {"sum": x + y, "parts": [x[0], (y, None, "text")]}


def off_by_one(x):
    return x + (1 if is_tracing() else 0)


def other_shape(x):
    return x[None] if is_tracing() else x


def other_dtype(x):
    return x.astype(np.float32) if is_tracing() else x


def other_structure(x):
    return [x, x] if is_tracing() else (x, x)


def other_text(x):
    return "compiled" if is_tracing() else "plain"


def forgets_to_write(x):
    if not is_tracing():
        x[1] = 5


def raises(x):
    if is_tracing():
        raise KeyError("only compiled")
    return x


def writes_into_a_box(box):
    box.content[...] = 1 if is_tracing() else 2


def test_agreement():
    found = reactant.verify(same, np.arange(3.0), np.ones(3))
    assert found and found.differences == []
    assert str(found) == "same: compiled and plain agree (7 values compared)."


def test_both_raise():
    found = reactant.verify(lambda x: x.reshape(7), np.arange(3.0))
    assert found and "both raise ValueError: cannot reshape array of size 3" in str(found)


def test_arguments_are_left_alone():
    x = np.arange(3.0)
    reactant.verify(same, x, np.ones(3))
    np.testing.assert_array_equal(x, np.arange(3.0))


DIFFERENT = [
    (off_by_one, "result: 3 of 3 elements differ, first at [0]: plain np.float64(0.0), compiled np.float64(1.0), "
                 "largest difference 1"),
    (other_shape, "result: plain gives float64[3], compiled float64[1, 3]"),
    (other_dtype, "result: plain gives float64[3], compiled float32[3]"),
    (other_structure, "result: structure differs: tuple of 2 against list of 2"),
    (other_text, "result: plain gives 'plain', compiled 'compiled'"),
    (forgets_to_write, "argument 0: 1 of 3 elements differ, first at [1]: plain np.float64(5.0), compiled "
                       "np.float64(1.0), largest difference 4"),
    (raises, "exception: plain: no exception; compiled: KeyError: 'only compiled'"),
]


@pytest.mark.parametrize(("function", "text"), DIFFERENT, ids=lambda v: getattr(v, "__name__", ""))
def test_differences_are_named(function, text):
    found = reactant.verify(function, np.arange(3.0))
    assert not found
    assert text in str(found)


def test_objects_and_keyword_arguments_are_compared():
    assert "argument 0.content" in str(reactant.verify(writes_into_a_box, Box(np.zeros(2))))
    assert "argument 'x'" in str(reactant.verify(forgets_to_write, x=np.zeros(2)))


def test_tolerance_and_nan():
    nearly = lambda x: x * (1 + 1e-6) if is_tracing() else x  # noqa: E731
    x = np.array([1.0, np.nan, np.inf])
    assert not reactant.verify(nearly, x)
    assert reactant.verify(nearly, x, rtol=1e-5)
    assert reactant.verify(lambda x: x, x)


def test_same_exception_on_both_sides_agrees():
    assert reactant.verify(lambda x: x + np.ones(5), np.ones(3))
