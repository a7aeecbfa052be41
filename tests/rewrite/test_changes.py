"""What has to be looked at again after MLIR's own CSE, and what is still known then."""
from reactant.ir import modules
from reactant.ir.context import building
from reactant.rewrite import Memory, RuleSet, changes, registry, rewrite
from reactant.rewrite.driver import used


def after_cse(text):
    with building(), registry.scratch():
        declared = []
        for name in ("abs", "cosine", "exponential", "negate", "sine", "sqrt", "while"):
            @rewrite(f"stablehlo.{name}")
            def unwilling(site):
                """Look, and decline."""
            declared.append(registry.rule("unwilling"))
        rules = RuleSet(tuple(declared))
        module, memory = modules.parse(text), Memory()
        assert rules.apply(module.operation, memory=memory) == 0
        modules.run_passes(module, "func.func(cse)")
        found = changes.touched(module.operation, memory, rules.table)
        live = {hash(result): op for op in modules.walk(module) for result in op.results}
        assert {*memory.seen, *memory.owners, *memory.decoded} <= {*live}
        for address, seen in memory.seen.items():
            assert seen[5] == used(live[address], live[address].operands)
        return sorted(op.name.removeprefix("stablehlo.") for op in found)


def test_readers_of_merged_ops_and_their_readers():
    assert after_cse("""func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.sine %x : tensor<4xf32>
      %1 = stablehlo.sine %x : tensor<4xf32>
      %2 = stablehlo.negate %0 : tensor<4xf32>
      %3 = stablehlo.sqrt %1 : tensor<4xf32>
      %4 = stablehlo.exponential %3 : tensor<4xf32>
      %5 = stablehlo.abs %4 : tensor<4xf32>
      return %2, %5 : tensor<4xf32>, tensor<4xf32>
    }""") == ["abs", "exponential", "sqrt"]


def test_producers_that_lost_a_reader():
    assert after_cse("""func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.cosine %x : tensor<4xf32>
      %1 = stablehlo.sine %0 : tensor<4xf32>
      %2 = stablehlo.sine %0 : tensor<4xf32>
      return %1, %2 : tensor<4xf32>, tensor<4xf32>
    }""") == ["cosine", "sine"]


def test_ops_whose_regions_give_something_else():
    assert "while" in after_cse("""func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
      %0 = stablehlo.sine %x : tensor<f32>
      %1 = stablehlo.sine %x : tensor<f32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %y = %0) : tensor<i32>, tensor<f32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %k = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %k, %1 : tensor<i32>, tensor<f32>
      }
      return %r#1 : tensor<f32>
    }""")


def test_nothing_merged():
    assert after_cse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.cosine %x : tensor<4xf32>
      %1 = stablehlo.sine %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }""") == []
