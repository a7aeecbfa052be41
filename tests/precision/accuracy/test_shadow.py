import numpy as np
import pytest

from reactant.errors import UnsupportedError
from tests.precision.accuracy.beside_itself import function, program

ABSORBED = function("""
    %one = stablehlo.constant dense<1.0> : tensor<f32> loc("a.py":1:1)
    %more = stablehlo.add %arg0, %one : tensor<f32> loc("a.py":2:1)
    %rest = stablehlo.subtract %more, %arg0 : tensor<f32> loc("a.py":3:1)
    return %rest : tensor<f32>""", ["f32"], ["f32"])


def test_the_program_is_what_it_was_and_its_companion_exact():
    results, exact, measures = program(ABSORBED, np.float32(1e8)).run()
    assert results[0] == 0.0 and exact[0][0] == 1.0
    (_, added, _), (_, subtracted, _) = measures
    assert added[0] < 2.0**-24 and list(subtracted) == [1.0, 1.0, 2.0**24]


def test_a_line_alone_is_rounded():
    made = program(ABSORBED, np.float32(1e8))
    assert made.made.lines == [("a.py", 2), ("a.py", 3)]
    assert [made.run(line)[1][0][0] for line in made.made.lines] == [0.0, 0.0]
    shaken = made.run(shaken=True)[1][0][0]
    assert 0 < abs(shaken - 1.0) < 1e8 * 2.0**-48       # companions are shaken
    made.arguments = [np.float32(3.0)]
    assert made.run(("a.py", 2))[1][0][0] == 1.0


def test_comparisons_that_differ():
    text = function("""
        %many = stablehlo.constant dense<49.0> : tensor<2xf32>
        %part = stablehlo.divide %arg0, %many : tensor<2xf32>
        %whole = stablehlo.multiply %part, %many : tensor<2xf32>
        %same = stablehlo.compare GE, %whole, %arg0, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
        return %same : tensor<2xi1>""", ["2xf32"], ["2xi1"])
    x = np.float32([1.0, 49.0])
    results, exact, measures = program(text, x).run()
    (_, _, counted), = (each for each in measures if each[0].kind == "truth")
    narrow, wide = (y / y.dtype.type(49) * y.dtype.type(49) >= y for y in (x, x.astype(float)))
    assert results[0].tolist() == narrow.tolist() and exact == [None]
    assert counted.tolist() == [np.sum(narrow != wide), 2] == [1, 2]


def test_what_is_no_number_and_not_finite():
    text = function("%y = stablehlo.exponential %arg0 : tensor<3xf32>\nreturn %y : tensor<3xf32>", ["3xf32"],
                    ["3xf32"])
    made = program(text, np.float32([100, -200, np.nan]))
    results, exact, ((_, largest, counted),) = made.run()
    assert np.isinf(results[0][0]) and exact[0][0][0] == pytest.approx(np.exp(100.0))
    # one infinite; a NaN among the operands, so that whoever makes NaN or zero is not known
    assert largest[0] == 1.0 and counted[0] == 0
    made.arguments = [np.float32([100, -200, 0])]
    _, _, ((_, _, counted),) = made.run()
    assert counted[0] == 2


def test_a_custom_call_is_refused_by_its_line():
    text = function('%y = stablehlo.custom_call @mine(%arg0) : (tensor<f32>) -> tensor<f32> loc("b.py":7:1)\n'
                    "return %y : tensor<f32>", ["f32"], ["f32"])
    with pytest.raises(UnsupportedError, match=r"'mine' is a call of a library(.|\n)*b.py:7"):
        program(text, np.float32(1))
