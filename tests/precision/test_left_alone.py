"""What keeps its own float format: the lines of a function, lines that a predicate names."""
import numpy as np
import pytest

import reactant
from reactant.precision import left_alone

TWO = {"float64": "float32x2"}
X = np.linspace(1, 2, 300)


def written(function, **options):
    text = str(reactant.code_hlo(reactant.jit(function, floats=TWO, **options), X))
    return [line for line in text.splitlines() if "xf64>" in line]


def of_two_lines(x):
    y = np.abs(x) * 2.0     # as it is
    return np.sqrt(y) + x


def test_lines_by_a_predicate():
    asked = set()

    def as_it_is(file, line, text):
        asked.add((file, line))
        return "as it is" in text
    wide = written(of_two_lines, without_limbs=as_it_is)
    assert any("stablehlo.abs" in line for line in wide) and not any("stablehlo.sqrt" in line for line in wide)
    first = of_two_lines.__code__.co_firstlineno
    assert asked == {(__file__, first + 1), (__file__, first + 2)}


def test_what_is_left_alone_hands_on_all_of_its_digits():
    """The sum has 51 bits, limbs have 48."""
    def f(x):
        y = x + 2.0**-50
        return y - x
    whole = reactant.jit(f, floats=TWO, without_limbs=lambda *place: True)(X)
    np.testing.assert_array_equal(whole, f(X))


def test_functions_that_are_left_alone_later_are_other_programs(tmp_path, monkeypatch):
    def g(x):
        return np.abs(x)
    before = left_alone.told()
    reactant.without_limbs(g)
    assert left_alone.told() != before


@pytest.mark.parametrize(("options", "error", "text"), [
    ({"floats": TWO, "without_limbs": "np.sin"}, TypeError, "function of file, line and text"),
    ({"without_limbs": lambda *place: True}, ValueError, "give floats= too")])
def test_bad_options(options, error, text):
    with pytest.raises(error, match=text):
        reactant.jit(np.sin, **options)


def test_what_is_no_python_function():
    with pytest.raises(TypeError, match="takes a Python function"):
        reactant.without_limbs(np.sin)
