"""What the tests of this folder refuse: to erase what is used (`conftest`)."""
import pytest

from reactant.ir import context, modules

TEXT = """func.func @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  %y = stablehlo.negate %x : tensor<f32>
  %r = "stablehlo.if"(%p) ({
    %z = stablehlo.abs %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }, {
    stablehlo.return %y : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  %unused = stablehlo.negate %r : tensor<f32>
  return %r : tensor<f32>
}"""


def test_what_is_used_is_not_erased():
    with context.building():
        module = modules.parse(TEXT)
        main = modules.function(module)
        block = main.regions[0].blocks[0]
        negate, choice, unused, _ = [op.operation for op in block.operations]
        with pytest.raises(AssertionError, match="stablehlo.negate is erased, and stablehlo.* still uses"):
            negate.erase()
        with pytest.raises(AssertionError, match="stablehlo.if is erased"):
            choice.erase()
        with pytest.raises(AssertionError, match="An argument is erased, and stablehlo.negate"):
            block.erase_argument(0)
        unused.erase()
        assert module.operation.verify()
        main.erase()        # with all that uses it
