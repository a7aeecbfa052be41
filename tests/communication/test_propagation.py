"""How the rest of a program lies, of one array of which that is said. No devices are needed."""
from __future__ import annotations

import pytest

from reactant.communication.automatic import partition
from reactant.communication.propagation import propagated
from reactant.communication.sharding import MeshShape, Sharding
from reactant.ir import modules
from reactant.ir.context import building

MESH = MeshShape(("x", "y"), (4, 2))
ROWS, WHOLE = Sharding((("x",), ())), Sharding(((), ()))

STEP = """
func.func public @main(%a: tensor<{n}x6xf64>, %b: tensor<{n}x6xf64>, %c: tensor<f64>)
    -> (tensor<{n}x6xf64>, tensor<{m}x6xf64>, tensor<6xf64>, tensor<{n}x6xf64>, tensor<f64>) {{
  %s = stablehlo.slice %a [1:{n}, 0:6] : (tensor<{n}x6xf64>) -> tensor<{m}x6xf64>
  %t = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<{n}x6xf64>, tensor<f64>) -> tensor<6xf64>
  %r = stablehlo.add %a, %b : tensor<{n}x6xf64>
  return %r, %s, %t, %a, %c : tensor<{n}x6xf64>, tensor<{m}x6xf64>, tensor<6xf64>, tensor<{n}x6xf64>, tensor<f64>
}}"""


def step(n):
    return modules.parse(STEP.format(n=n, m=n - 1))


@pytest.mark.parametrize("n", [64, 61])
def test_one_sharding_is_enough(n):
    with building():
        module = step(n)
        before = str(module)
        inputs, outputs = propagated(module, MESH, [ROWS, None, None], [None] * 5)
        assert str(module) == before
    assert inputs == (ROWS, ROWS if n == 64 else WHOLE, Sharding(()))       # of arguments, even ones
    assert outputs == (ROWS, ROWS, Sharding(((),)), ROWS, Sharding(()))


def test_what_is_given_stays():
    columns = Sharding(((), ("y",)))
    with building():
        inputs, outputs = propagated(step(61), MESH, [ROWS, columns, None], [columns, None, None, None, None])
    assert inputs[:2] == (ROWS, columns) and outputs[0] == columns


def test_several_axes():
    both = Sharding((("x", "y"), ()))
    with building():
        _, outputs = propagated(step(64), MESH, [both, None, None], [None] * 5)
    assert outputs[:2] == (both, both)


def test_padding_goes_at_the_start_and_comes_at_the_end():
    with building():
        made = partition(step(61), MESH, (ROWS, WHOLE, Sharding(())), (ROWS, ROWS, Sharding(((),)), WHOLE,
                                                                       Sharding(())))
        modules.verify(made.module)
        text = str(made.module)
    assert "%arg0: tensor<64x6xf64>, %arg1: tensor<61x6xf64>, %arg2: tensor<f64>" in text
    assert "(tensor<64x6xf64>, tensor<60x6xf64>, tensor<6xf64>, tensor<61x6xf64>, tensor<f64>)" in text
    assert text.count("stablehlo.pad") == 1 and text.count("stablehlo.slice") == 2


def test_reductions_that_cannot_be_joined():
    text = """
    func.func public @main(%a: tensor<64x6xi32>) -> tensor<6xi32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %t = stablehlo.reduce(%a init: %c) applies stablehlo.OP across dimensions = [0]
          : (tensor<64x6xi32>, tensor<i32>) -> tensor<6xi32>
      return %t : tensor<6xi32>
    }"""
    for op, found in (("add", 0), ("maximum", 0), ("xor", 1), ("or", 1)):
        with building():
            made = partition(modules.parse(text.replace("OP", op)), MESH, (ROWS,), (Sharding(((),)),))
            assert str(made.module).count("sdy.sharding_constraint") == found
