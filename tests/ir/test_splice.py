"""Bodies at other places."""
import numpy as np
import pytest

from reactant.ir import interpret, modules, ops, splice
from reactant.ir.context import building

TEXT = """func.func @main(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  return %a : tensor<3xf64>
}
func.func private @body(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.subtract %x, %y : tensor<3xf64>
  %1 = stablehlo.exponential %0 : tensor<3xf64>
  return %0, %y : tensor<3xf64>, tensor<3xf64>
}
"""
A, B = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25, 4.0])


@pytest.mark.parametrize("way", ["copied", "among", "moved"])
def test_a_body_at_another_place(way):
    with building():
        module = modules.parse(TEXT)
        main, body = (modules.function(module, name).regions[0].blocks[0] for name in ("main", "body"))
        ending = main.operations[len(main.operations) - 1].operation
        a, b = main.arguments
        mapping = {}
        with modules.ir.InsertionPoint(ending), modules.ir.Location.unknown():
            if way == "moved":
                found = splice.moved(body, [b, a], ending)
            else:
                among = [body.operations[0].operation] if way == "among" else None
                found = splice.copied(body, [b, a, a], among, mapping)      # one value more than it takes
            ending.operands[0] = ops.add(found[0], found[1])
        names = [op.operation.name for op in main.operations]
        assert names.count("stablehlo.exponential") == (way != "among")
        assert len(body.operations) == (0 if way == "moved" else 3)
        if way != "moved":
            assert mapping[body.arguments[0]] == b and mapping[body.operations[0].operation.result] == found[0]
        if way == "moved":
            modules.function(module, "body").erase()
        np.testing.assert_array_equal(interpret.evaluate(module, [A, B])[0], (B - A) + A)


def test_too_few_values():
    with building():
        module = modules.parse(TEXT)
        with pytest.raises(ValueError, match="2 arguments is given 1"):
            body, main = (modules.function(module, name).regions[0].blocks[0] for name in ("body", "main"))
            splice.copied(body, [main.arguments[0]])
