"""Where the elementwise expressions of a module are."""
from reactant.ir import modules
from reactant.ir.context import building
from reactant.precision.improvement import regions
from reactant.precision.improvement.expressions import operations

PROGRAM = """
func.func @main(%x: tensor<4xf64>, %y: tensor<4xf64>) -> (tensor<4xf64>, tensor<f64>) {
  %one = stablehlo.constant dense<1.0> : tensor<4xf64>
  %mixed = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %a = stablehlo.add %x, %one : tensor<4xf64>
  %b = stablehlo.sqrt %a : tensor<4xf64>
  %c = chlo.square %y : tensor<4xf64> -> tensor<4xf64>
  %d = stablehlo.subtract %b, %c : tensor<4xf64>
  %r = stablehlo.reverse %d, dims = [0] : tensor<4xf64>
  %e = stablehlo.multiply %r, %mixed : tensor<4xf64>
  %sum = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  return %e, %sum : tensor<4xf64>, tensor<f64>
}"""
LOOP = """
func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %i0, %v = %x) : tensor<i32>, tensor<f32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %w = stablehlo.exponential %v : tensor<f32>
         %u = stablehlo.log %w : tensor<f32>
         stablehlo.return %j, %u : tensor<i32>, tensor<f32> }
  return %r#1 : tensor<f32>
}"""


def found(text):
    with building():
        return [(str(place.expression), len(place.leaves), place.dtype.name)
                for place in regions.places(modules.parse(text))]


def test_expressions_end_at_what_is_not_elementwise():
    assert found(PROGRAM) == [("sqrt(x0 + 1) - x1 * x1", 2, "float64"), ("x0 * x1", 2, "float64")]


def test_loops_are_entered_and_integers_are_not_expressions():
    assert found(LOOP) == [("log(exp(x0))", 1, "float32")]


def test_large_expressions_are_cut():
    steps = "\n".join(f"  %v{k + 1} = stablehlo.{'sine' if k % 2 else 'exponential'} %v{k} : tensor<4xf64>"
                      for k in range(100))
    text = f"func.func @main(%v0: tensor<4xf64>) -> tensor<4xf64> {{\n{steps}\n  return %v100 : tensor<4xf64>\n}}"
    with building():
        places = regions.places(modules.parse(text))
        sizes = [sum(1 for _ in operations(each.expression)) for each in places]
    assert sum(sizes) == 100 and max(sizes) <= regions.MOST_OPERATIONS
