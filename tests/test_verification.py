"""`reactant.verify` finds every difference a caller could see."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import reactant
from reactant.frontends.session.trace import is_tracing


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


EPS = np.finfo(float).eps
APART = {                   # (plain, compiled, what the text says; None: they agree to the last bit)
    "same": ([1.0, np.nan, np.inf, -0.0], [1.0, np.nan, np.inf, 0.0], None),
    "near_zero": ([1.0, 1e-17, 0.0], [1.0, -3e-16, 2e-16], "rounding only, at most 3.1e-16 of an array's scale: result "
                                                          "at [1]"),
    "few_ulps": ([1e6, 3.0], [1e6 * (1 + 2 * EPS), 3.0], "rounding only, at most 4.7e-16 of an array's scale: result "
                                                         "at [0]"),
    "within": ([1.0, 2.0], [1.0, 2.0 + 1e-9], "within the tolerance, at most 5e-10 of an array's scale: result at [1]"),
    "halves": (np.array([60000, 0.01], "e"), np.array([60000, 9], "e"), "rounding only, at most 0.00015 of an array"),
    "complex": ([1 + 1j, 1e-17j], [1 + 1j, -1e-16 + 0j], "rounding only"),
    "number": (2.0, 2.0 * (1 + EPS), "rounding only, at most 2.2e-16 of an array's scale: result)"),
    "zeros": ([0.0, 0.0], [0.0, 0.0], None),
    "empty": ([], [], None),
}


def given(plain, compiled):
    """A function with these results."""
    plain, compiled = np.asarray(plain), np.asarray(compiled)
    return lambda: compiled + 0 if is_tracing() else plain + 0


@pytest.mark.parametrize("name", APART)
def test_rounding_is_no_difference(name):
    plain, compiled, text = APART[name]
    found = reactant.verify(given(plain, compiled))
    assert found and found.compared == 1
    assert (found.largest is None) == (text is None) and (text or "(1 values compared)") in str(found)


WRONG = {
    "not_a_number": ([1.0, 2.0], [1.0, np.nan], "1 of 2 elements differ, first at [1]: plain np.float64(2.0), compiled "
                                               "np.float64(nan); 1 infinite or no numbers in one of the two"),
    "lost_nan": ([np.nan, 2.0], [0.0, 2.0], "1 infinite or no numbers"),
    "infinity": ([1e308, 2.0], [np.inf, 2.0], "1 infinite or no numbers"),
    "sign_of_infinity": ([np.inf], [-np.inf], "1 infinite or no numbers"),
    "part_of_complex": ([complex(1, np.inf)], [complex(1, np.nan)], "1 infinite or no numbers"),
    "other_branch": ([np.pi, 0.0], [-np.pi, 0.0], "largest difference 6.28 at [0], 2 of the array's scale"),
    "sign": ([1.0, 1e-3], [1.0, -1e-3], "largest difference 0.002 at [1], 0.002 of the array's scale"),
    "lost": ([1.0, 1e-12], [1.0, 0.0], "largest difference 1e-12 at [1], 1e-12 of the array's scale"),
    "all_small": ([1e-300, 2e-300], [1e-300, 2.001e-300], "0.0005 of the array's scale"),
    "flushed": ([1e-310, 0.0], [0.0, 0.0], "1 of the array's scale"),
    "from_zero": ([0.0, 0.0], [0.0, 1e-30], "largest difference 1e-30 at [1]"),
    "single": (np.float32([1, 0]), np.float32([1, 1e-4]), "0.0001 of the array's scale"),
    "halves": (np.array([60000, 1], "e"), np.array([-60000, 1], "e"), "largest difference 1.2e+05 at [0]"),
    "number": (1e-17, -3e-16, "plain np.float64(1e-17), compiled np.float64(-3e-16), largest difference 3.1e-16, "),
    "small_half": (np.array([60000, 0], "e"), np.array([60000, 600], "e"), "largest difference 600 at [1], 0.01 of"),
    "whole": ([10 ** 6, 1], [10 ** 6, 0], "1 of 2 elements differ, first at [1]: plain np.int64(1), compiled np.int"),
    "boolean": ([True, True], [True, False], "1 of 2 elements differ"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_rounding(name):
    plain, compiled, text = WRONG[name]
    if np.asarray(plain).dtype == bool:
        plain, compiled = np.asarray(plain, np.uint8), np.asarray(compiled, np.uint8)
    found = reactant.verify(given(plain, compiled))
    assert not found and text in str(found), found


def test_the_largest_deviation_of_all_results():
    first, second = np.array([1.0, 0.0]), np.array([1.0, 2.0, -1.0])
    both = lambda: {"a": first + 0, "b": (second + 1e-14 if is_tracing() else second) + 0}  # noqa: E731
    assert "(2 values compared; rounding only, at most 5.1e-15 of an array's scale: result['b'] at [1])" \
        in str(reactant.verify(both))
