"""What nobody needs where a mask has become false."""
import numpy as np
import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.loopnests.analysis.graph import read_block
from reactant.loopnests.emission.carried import slots_of
from reactant.loopnests.emission.dead_lanes import dead_lanes
from reactant.loopnests.emission.listed import implies

TEXT = """
func.func @main(%x: tensor<300xf64>, %i: tensor<300x1xi64>) -> ({results}) {{
  %true = stablehlo.constant dense<true> : tensor<300xi1>
  %zeros = stablehlo.constant dense<0.0> : tensor<300xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %r:3 = stablehlo.while(%m = %true, %z = %x, %t = %zero) : tensor<300xi1>, tensor<300xf64>, tensor<f64>
  cond {{
    %false = stablehlo.constant dense<false> : tensor<i1>
    %any = stablehlo.reduce(%m init: %false) applies stablehlo.or across dimensions = [0]
        : (tensor<300xi1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %any : tensor<i1>
  }} do {{
    %new = stablehlo.multiply %z, %z : tensor<300xf64>
    %small = stablehlo.compare LT, %new, %zeros : (tensor<300xf64>, tensor<300xf64>) -> tensor<300xi1>
    %left = stablehlo.and %small, %m : tensor<300xi1>
    {body}
    %sum = stablehlo.reduce(%summed init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<300xf64>, tensor<f64>) -> tensor<f64>
    stablehlo.return %left, %new, %sum : tensor<300xi1>, tensor<300xf64>, tensor<f64>
  }}
  {after}
  return {returned}
}}"""
CHOSEN = "%summed = stablehlo.select %left, %new, %zeros : tensor<300xi1>, tensor<300xf64>"
OTHERWISE = "%summed = stablehlo.select %left, %zeros, %new : tensor<300xi1>, tensor<300xf64>"
ALL = "%summed = stablehlo.add %new, %zeros : tensor<300xf64>"
TURNED = """%turned = stablehlo.reverse %new, dims = [0] : tensor<300xf64>
    %summed = stablehlo.select %left, %turned, %zeros : tensor<300xi1>, tensor<300xf64>"""
SUM = ("tensor<f64>", "", "%r#2 : tensor<f64>")
LAST = ("tensor<300xf64>", "", "%r#1 : tensor<300xf64>")
MASKED = ("tensor<300xf64>", "%w = stablehlo.select %r#0, %r#1, %zeros : tensor<300xi1>, tensor<300xf64>",
          "%w : tensor<300xf64>")


@pytest.mark.parametrize(("body", "end", "dead"), [
    (CHOSEN, SUM, True), (OTHERWISE, SUM, False), (ALL, SUM, False), (TURNED, SUM, False),
    (CHOSEN, LAST, False), (CHOSEN, MASKED, True)],
    ids=("chosen", "otherwise", "all", "turned", "read", "read where the mask is true"))
def test_dead_lanes(body, end, dead):
    results, after, returned = end
    with building():
        module = modules.parse(TEXT.format(body=body, results=results, after=after, returned=returned))
        block = read_block(modules.function(module).regions[0].blocks[0], {})
        node = next(n for n in block.nodes if n.kind == "while")
        slots = slots_of(node)
        found = dead_lanes(node, slots, slots[0].argument, implies)
    assert (slots[1].argument in found) == (slots[1].returned in found) == dead
    assert slots[0].argument not in found and np.dtype(bool) in {n.dtype for n in found} or not dead
