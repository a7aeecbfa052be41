"""What analyses find out of an op is kept until something is built."""
import pytest

from reactant.ir import creation, modules, ops
from reactant.ir.context import building
from reactant.rewrite.site import captures, inside


@pytest.fixture
def branch():
    with building():
        module = modules.parse("""func.func @main(%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
          %r = "stablehlo.if"(%p) ({ stablehlo.return %x : tensor<f32> }, {
            %s = stablehlo.sine %x : tensor<f32>
            stablehlo.return %s : tensor<f32>
          }) : (tensor<i1>) -> tensor<f32>
          return %r : tensor<f32>
        }""")
        op = next(each for each in inside(module.operation) if each.name == "stablehlo.if")
        creation.keep_found(True)
        yield op, list(modules.function(module).regions[0].blocks[0].arguments)
        creation.keep_found(False)


def test_found_once_until_something_is_built(branch):
    op, (_, x, _) = branch
    asked = []
    for _ in range(2):
        creation.found("anything", op, asked.append)
    assert len(asked) == 1
    creation.build_before(op)
    ops.negate(x)
    creation.leave()
    creation.found("anything", op, asked.append)
    assert len(asked) == 2
    creation.keep_found(False)
    creation.found("anything", op, asked.append)
    creation.found("anything", op, asked.append)
    assert len(asked) == 4


def test_captures_after_a_change(branch):
    op, (_, x, y) = branch
    assert captures(op) == [x]
    captures(op).clear()
    assert captures(op) == [x]
    sine = op.regions[1].blocks[0].operations[0].operation
    creation.build_before(sine)
    ops.add(x, y)
    creation.leave()
    assert captures(op) == [x, y]
