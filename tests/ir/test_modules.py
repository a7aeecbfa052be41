"""Modules as a whole."""
import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.locations import file_and_line

TEXT = '''
func.func private @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32> }
func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> tensor<3xf32> {
  %0 = call @twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = call @twice(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2:2 = stablehlo.while(%i = %n, %v = %1) : tensor<i32>, tensor<3xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %a = stablehlo.negate %v : tensor<3xf32>
         stablehlo.return %i, %a : tensor<i32>, tensor<3xf32> }
  return %2#1 : tensor<3xf32> loc("user.py":3:1) }'''


@pytest.fixture
def module():
    with building():
        yield modules.parse(TEXT)


def test_counts_and_size(module):
    assert dict(modules.counts(module)) == {"stablehlo.add": 1, "func.call": 2, "stablehlo.while": 1,
                                            "stablehlo.compare": 1, "stablehlo.negate": 1}
    assert modules.size(module) == 6


def test_inline_calls(module):
    modules.inline_calls(module)
    assert modules.counts(module)["stablehlo.add"] == 2 and modules.counts(module)["func.call"] == 0
    with pytest.raises(KeyError):
        modules.function(module, "twice")


def test_inlined_ops_without_a_line_have_that_of_the_call():
    with building():
        module = modules.parse('''
            func.func @main(%x: tensor<f32>) -> tensor<f32> {
              %0 = call @f(%x) : (tensor<f32>) -> tensor<f32> loc("user.py":3:1)
              return %0 : tensor<f32>
            }
            func.func private @f(%x: tensor<f32>) -> tensor<f32> {
              %0 = stablehlo.negate %x : tensor<f32> loc("negate")
              %1 = stablehlo.sine %0 : tensor<f32> loc("other.py":4:1)
              return %1 : tensor<f32>
            }''')
        modules.inline_calls(module)
        assert [file_and_line(op.location) for op in modules.function(module).regions[0].blocks[0]][:2] == \
            [("user.py", 3), ("other.py", 4)]


def test_clone_is_deep_and_keeps_locations(module):
    copy = modules.clone(module)
    modules.inline_calls(copy)
    assert modules.counts(module)["func.call"] == 2
    assert "user.py" in modules.to_text(modules.clone(module), locations=True)


def test_passes_by_name(module):
    modules.inline_calls(module)
    modules.run_passes(module, "func.func(cse)")
    modules.verify(module)


def test_bad_text():
    with building(), pytest.raises(modules.InvalidModule, match="this is not a valid module: .*"):
        modules.parse("func.func @main( {")


def test_bad_passes(module):
    with pytest.raises(ValueError, match="no-such-pass"):
        modules.run_passes(module, "no-such-pass")


def test_verify_reports_what_is_wrong(module):
    from reactant.ir import ops
    add = next(op for op in modules.walk(module) if op.name == "stablehlo.add")
    add.operands[1] = modules.function(module).regions[0].blocks[0].arguments[1]
    with pytest.raises(modules.InvalidModule, match="the module is invalid"):
        modules.verify(module)
    assert ops.add is not None


def test_calls_inside_regions_and_chains_are_inlined():
    with building():
        module = modules.parse('''
          func.func private @one(%x: tensor<f32>) -> tensor<f32> { %0 = stablehlo.negate %x : tensor<f32>
            return %0 : tensor<f32> }
          func.func private @two(%x: tensor<f32>) -> tensor<f32> {
            %0 = call @one(%x) : (tensor<f32>) -> tensor<f32>
            %1 = call @one(%0) : (tensor<f32>) -> tensor<f32>
            return %1 : tensor<f32> }
          func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
            %0 = "stablehlo.if"(%p) ({ %1 = func.call @two(%x) : (tensor<f32>) -> tensor<f32>
                                       stablehlo.return %1 : tensor<f32> }, { stablehlo.return %x : tensor<f32> })
              : (tensor<i1>) -> tensor<f32>
            return %0 : tensor<f32> }''')
        modules.inline_calls(module)
        modules.verify(module)
        assert dict(modules.counts(module)) == {"stablehlo.if": 1, "stablehlo.negate": 2}


def test_recursion_is_refused():
    with building():
        module = modules.parse('''
          func.func @main(%x: tensor<f32>) -> tensor<f32> {
            %0 = call @main(%x) : (tensor<f32>) -> tensor<f32>
            return %0 : tensor<f32> }''')
        with pytest.raises(modules.InvalidModule, match=r"function 'main' calls itself \(main -> main\)."):
            modules.inline_calls(module)
