import numpy as np
import pytest

from tests.precision.accuracy.beside_itself import function, program

DIFFERENCE = """
    %square = stablehlo.multiply %arg0, %arg0 : tensor<{0}>
    %rest = stablehlo.subtract %square, %arg1 : tensor<{0}>
    return %rest : tensor<{0}>"""


@pytest.mark.parametrize(("mlir", "dtype", "twin"), [("2xf16", np.float16, "float64"),
                                                     ("2xf64", np.float64, "float64x2")])
def test_companions_have_the_digits_that_numbers_lose(mlir, dtype, twin):
    x = np.array([1 + np.finfo(dtype).eps, 3], dtype)
    y = (x * x).astype(dtype)
    made = program(function(DIFFERENCE.format(mlir), [mlir, mlir], [mlir]), x, y)
    results, exact, _ = made.run()
    assert made.made.twin == twin and not results[0].any()
    assert sum(limb[0] for limb in exact[0]) == float(np.finfo(dtype).eps)**2 and exact[0][0][1] == 0


def test_complex_numbers():
    x = np.complex64([1 + 2**-20 * 1j, 2j])
    y = (x * x).astype(np.complex64)
    results, exact, ((*_, largest, _), _) = program(
        function(DIFFERENCE.format("2xcomplex<f32>"), ["2xcomplex<f32>"] * 2, ["2xcomplex<f32>"]), x, y).run()
    np.testing.assert_allclose(exact[0][0], x.astype(complex)**2 - y, rtol=1e-12)
    assert 0 < largest[0] < 2.0**-23


def test_floats_of_two_formats():
    body = """
        %wide = stablehlo.convert %arg0 : (tensor<f32>) -> tensor<f64>
        %third = stablehlo.constant dense<3.0> : tensor<f64>
        %part = stablehlo.divide %wide, %third : tensor<f64>
        %narrow = stablehlo.convert %part : (tensor<f64>) -> tensor<f32>
        %two = stablehlo.constant dense<2.0> : tensor<f32>
        %more = stablehlo.add %narrow, %two : tensor<f32>
        return %more : tensor<f32>"""
    made = program(function(body, ["f32"], ["f32"]), np.float32(1))
    results, exact, measures = made.run()
    assert made.made.twin == "float64x2"
    assert exact[0][0] == 7 / 3 and 0 < abs(float(results[0]) - 7 / 3) < 2.0**-22
    assert [entry.digits for entry, *_ in measures] == [53, 53, 24, 24]
    narrowing = measures[2][1]
    assert 2.0**-27 < narrowing[0] <= 2.0**-24


def test_whole_powers_in_limbs():
    body = """
        %six = stablehlo.constant dense<-3.0> : tensor<f64>
        %power = stablehlo.power %arg0, %six : tensor<f64>
        return %power : tensor<f64>"""
    _, exact, _ = program(function(body, ["f64"], ["f64"]), np.float64(3)).run()
    high, low = exact[0]
    assert high == 1 / 27 and low == pytest.approx(float((1 - 27 * np.longdouble(high)) / 27), rel=1e-6)
