"""Scatters of several arrays at once, some of which are equal."""
import numpy as np
import pytest

import reactant

SEPARATE = """
      %s = stablehlo.add %a, %x : tensor<f32>
      %t = stablehlo.multiply %y, %y : tensor<f32>
      %r = stablehlo.add %b, %t : tensor<f32>"""
TOGETHER = """
      %s = stablehlo.add %a, %x : tensor<f32>
      %t = stablehlo.subtract %y, %x : tensor<f32>
      %r = stablehlo.add %b, %t : tensor<f32>"""
INPUTS = {
    "constants": ("stablehlo.constant dense<0.0> : tensor<7xf32>", "stablehlo.constant dense<0.0> : tensor<7xf32>"),
    "of ones": ("stablehlo.constant dense<1.0> : tensor<7xf32>", "stablehlo.constant dense<1.0> : tensor<7xf32>"),
    "products": ("stablehlo.multiply %p, %p : tensor<7xf32>", "stablehlo.multiply %p, %p : tensor<7xf32>"),
    "barriers": ("stablehlo.optimization_barrier %p : tensor<7xf32>", "stablehlo.negate %p : tensor<7xf32>"),
    "others": ("stablehlo.iota dim = 0 : tensor<7xf32>", "stablehlo.constant dense<0.0> : tensor<7xf32>"),
}
COUNT = 500


def program(inputs, body, count=COUNT):
    first, second = inputs
    text = """
    module { func.func public @main(%i: tensor<COUNTx1xi32>, %u: tensor<COUNTxf32>, %v: tensor<COUNTxf32>,
        %p: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
      %first = FIRST
      %second = SECOND
      %sums:2 = "stablehlo.scatter"(%first, %second, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>): BODY
          stablehlo.return %s, %r : tensor<f32>, tensor<f32>
      }) : (tensor<7xf32>, tensor<7xf32>, tensor<COUNTx1xi32>, tensor<COUNTxf32>, tensor<COUNTxf32>)
          -> (tensor<7xf32>, tensor<7xf32>)
      return %sums#0, %sums#1 : tensor<7xf32>, tensor<7xf32> } }"""
    return (text.replace("FIRST", first).replace("SECOND", second).replace("BODY", body)
            .replace("COUNT", str(count)))


def expected(start, body, places, u, v):
    one, other = (np.array(x, np.float32) for x in start)
    np.add.at(one, places, u)
    np.add.at(other, places, v * v if body is SEPARATE else v - u)
    return one, other


@pytest.mark.sampled(1)
@pytest.mark.parametrize("body", [SEPARATE, TOGETHER], ids=["separate", "together"])
@pytest.mark.parametrize("inputs", INPUTS)
def test_sums(inputs, body):
    places = (np.arange(COUNT, dtype=np.int32) % 7)[:, None]
    u, v, p = np.ones(COUNT, np.float32), np.full(COUNT, 3, np.float32), np.arange(7, dtype=np.float32)
    start = {"constants": (0 * p, 0 * p), "of ones": (1 + 0 * p, 1 + 0 * p), "products": (p * p, p * p),
             "barriers": (p, -p), "others": (p, 0 * p)}[inputs]
    got = reactant.load(program(INPUTS[inputs], body))(places, u, v, p)
    for one, other in zip(got, expected(start, body, places[:, 0], u, v), strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_updates():
    made = reactant.load(program(INPUTS["of ones"], TOGETHER, 0))
    none = np.ones(0, np.float32)
    for each in made(np.ones((0, 1), np.int32), none, none, np.zeros(7, np.float32)):
        np.testing.assert_array_equal(each, 1)


def test_the_value_and_place_of_a_least_element():
    """A combination in which each result decides over the other; both inputs are the same integers."""
    text = """
    func.func @main(%i: tensor<40x1xi32>, %u: tensor<40xi32>, %v: tensor<40xi32>) -> (tensor<5xi32>, tensor<5xi32>) {
      %start = stablehlo.constant dense<1000> : tensor<5xi32>
      %least:2 = "stablehlo.scatter"(%start, %start, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>, %x: tensor<i32>, %y: tensor<i32>):
          %p = stablehlo.compare LT, %x, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %s = stablehlo.select %p, %x, %a : tensor<i1>, tensor<i32>
          %t = stablehlo.select %p, %y, %b : tensor<i1>, tensor<i32>
          stablehlo.return %s, %t : tensor<i32>, tensor<i32>
      }) : (tensor<5xi32>, tensor<5xi32>, tensor<40x1xi32>, tensor<40xi32>, tensor<40xi32>)
          -> (tensor<5xi32>, tensor<5xi32>)
      return %least#0, %least#1 : tensor<5xi32>, tensor<5xi32> }"""
    rng = np.random.default_rng(0)
    places, values = rng.integers(0, 5, 40).astype(np.int32), rng.permutation(40).astype(np.int32)
    least, where = reactant.load(text)(places[:, None], values, np.arange(40, dtype=np.int32))
    for place in range(5):
        mine = np.flatnonzero(places == place)
        assert (least[place], where[place]) == (values[mine].min(), mine[values[mine].argmin()])
