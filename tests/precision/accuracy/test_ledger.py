import numpy as np
import pytest

from reactant.precision.accuracy import ledger
from tests.precision.accuracy.beside_itself import function, program

CHAIN = function("""
    %c = stablehlo.constant dense<3.0> : tensor<3xf32>
    %a = stablehlo.divide %arg0, %c : tensor<3xf32>
    %b = stablehlo.subtract %a, %arg1 : tensor<3xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0] :
        (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %e = stablehlo.exponential %s : tensor<f32>
    return %e : tensor<f32>""", ["3xf32", "3xf32"], ["f32"])
X, Y = np.float32([1, 2, 4]), np.float32([0.333333, 0.666666, 1.333333])


@pytest.mark.slow
def test_all_at_once_or_one_by_one_is_the_same(monkeypatch):
    together = program(CHAIN, X, Y).run()[2]
    monkeypatch.setattr(ledger, "MOST", 0)
    for (entry, *mine), (other, *theirs) in zip(program(CHAIN, X, Y).run()[2], together, strict=True):
        assert entry == other
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


def test_errors_against_numpy():
    (_, divided, _), (_, apart, _), (_, total, _), _ = program(CHAIN, X, Y).run()[2]
    a, exact = X / np.float32(3), X.astype(float) / 3
    assert divided[0] == divided[1] == np.max(abs(a - exact) / exact)
    b, exact_b = a - Y, exact - Y
    wrong = np.max(abs(b - exact_b) / abs(exact_b))
    local = np.max(abs(exact.astype(np.float32) - Y - exact_b) / abs(exact_b))
    np.testing.assert_allclose(apart, [local, wrong, wrong / max(divided[1], 2.0**-24)], rtol=1e-9)
    assert total[1] > 2.0**-12


def test_results_that_vanish_or_overflow():
    body = """
        %p = stablehlo.multiply %arg0, %arg1 : tensor<3xf32>
        return %p : tensor<3xf32>"""
    text = function(body, ["3xf32", "3xf32"], ["3xf32"])
    x = np.float32([1e20, 1, 1e-20])
    made = program(text, x, x)
    for y, count in (([1, 1, 1e-30], 1), ([1e30, 1, 1e-30], 2), ([1, 1, 1], 0), ([np.inf, 1, 1e-30], 0)):
        made.arguments = [x, np.float32(y)]
        ((_, _, counted),) = made.run()[2]
        assert counted[0] == count, y
