"""What leaves the range of limbs is an error that names the operation and the line, and what does not is none."""
import numpy as np
import pytest

import reactant
from reactant.precision.ranges import COMPLEX, GROWING

TWO = {"float64": "float32x2"}
LARGE = np.array([1.0, 2e20, 3.0])


def told(function, *arguments, **options):
    """What the error says: the operation, and the text of its line."""
    with pytest.raises(FloatingPointError) as caught:
        reactant.jit(function, floats=TWO, **options)(*arguments)
    what = str(caught.value).removeprefix("overflow encountered in ").split(":")[0]
    notes = [note for note in caught.value.__notes__ if note.startswith("in ")] if hasattr(
        caught.value, "__notes__") else []
    return what, notes[0].split(": ", 1)[1] if notes else ""


def given(function, *arguments, **options):
    return reactant.jit(function, floats=TWO, **options)(*arguments)


def straight(x):
    y = x + 1
    z = y * y               # here
    return z / y


def in_a_loop(x):
    for _ in range(1000):
        x = x * x           # here
    return x


def in_a_condition(x):
    n = 0
    while x * x < np.inf:   # here
        x = x * 10
        n += 1
    return n


def in_a_branch(x):
    if x[1] > 0:
        for _ in range(400):
            x = np.exp(np.minimum(x, 100.0))   # here
    return x


def behind_a_check(x):
    assert x[0] > 0, "no"
    return np.isfinite(x * x).all()     # here


@pytest.mark.parametrize(("function", "what"), [
    (straight, "multiply"), (in_a_loop, "multiply"), (in_a_branch, "exponential"), (behind_a_check, "multiply"),
    pytest.param(in_a_condition, "multiply", marks=pytest.mark.slow)])
def test_the_line_and_the_operation(function, what):
    found, line = told(function, 1e10 if function is in_a_condition else LARGE)
    assert found == what and line.endswith("# here")


@pytest.mark.slow
@pytest.mark.parametrize(("what", "function", "arguments"), [
    ("reduce", np.sum, [np.full(100, 1e37)]), ("dot_general", np.dot, [np.full(100, 1e19)] * 2),
    ("argument 0", np.negative, [np.array([1e300])]), ("constant 1e+100", lambda x: x + 1e100, [LARGE]),
    ("constant 1e+100", lambda x: np.where(x > 2, x, 1e100), [LARGE]), ("divide", np.divide, [LARGE, 1e-30]),
    ("power", np.power, [np.array([10.0]), np.array([39.0])]), ("exponential", np.cosh, [np.array([90.0])]),
    ("multiply", np.multiply, [LARGE + 1j, LARGE + 1j])])
def test_what_leaves_the_range(what, function, arguments):
    assert told(function, *arguments)[0] == what


@pytest.mark.parametrize(("function", "wanted"), [
    (lambda x: x / 0.0, np.inf), (lambda x: np.log(x * 0), -np.inf), (lambda x: np.exp(x * 1000), np.inf),
    (lambda x: np.power(x * 0, -1.0), np.inf), (lambda x: x + np.inf, np.inf),
    (lambda x: np.minimum(x, 1e100), 1.0), (lambda x: np.where(x < 1e30, x, x * x), 1.0)])
def test_what_is_infinite_in_float64_too_or_not_taken_is_no_error(function, wanted):
    with np.errstate(all="ignore"):
        assert given(function, LARGE)[0] == wanted


@pytest.mark.slow
def test_what_is_not_chosen_does_not_matter():
    def f(x):
        if x[1] > 1e10:
            y = x
        else:
            y = x * x
        return np.nan_to_num(y), np.where(x < 1e10, np.exp(np.minimum(x, 80.0) * np.sqrt(x * x)), 0.0)
    assert given(f, LARGE[:2])[0][1] == 2e20
    assert told(lambda x: np.where(x > 1e10, x * x + 1, 0.0), LARGE)[0] == "multiply"


def test_without_check_there_are_infinities():
    np.testing.assert_array_equal(given(np.square, LARGE, check=False), [1.0, np.inf, 9.0])


def test_formats_of_the_same_range_are_not_looked_at():
    text = str(reactant.code_hlo(reactant.jit(straight, floats={"float64": "float64x2"}), LARGE))
    assert "xi1>)" not in text.split("->")[1].split("{")[0]


def test_nothing_is_written_where_it_is_an_error():
    def f(x):
        x[0] = 7.0
        return x * x
    x = LARGE.copy()
    with pytest.raises(FloatingPointError):
        given(f, x)
    assert x[0] == 1.0


def test_every_operation_that_grows_has_a_form():
    from reactant.precision import rules
    from reactant.precision.rules.elementwise import COMPLEX as OF_COMPLEX
    from reactant.precision.rules.elementwise import REAL
    assert rules
    for table, known in ((GROWING, REAL), (COMPLEX, OF_COMPLEX)):
        assert {f"stablehlo.{name}" for name in table} | {f"chlo.{name}" for name in table} & known.keys()
        assert all(f"stablehlo.{name}" in known or f"chlo.{name}" in known for name in table)
