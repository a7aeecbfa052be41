"""What has to be looked at again after MLIR's own CSE, and what is still known then."""
import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.induction import range_of
from reactant.rewrite import Memory, RuleSet, changes, match, producer, registry, rewrite, users, variables
from reactant.rewrite.driver import used

x, = variables("x")


def after_cse(text, look=users):
    """The ops to look at again, where the rules of all look at their operand and decline."""
    with building(), registry.scratch():
        declared = []
        for name in ("abs", "cosine", "exponential", "negate", "sine", "sqrt"):
            @rewrite(getattr(match, name)(x))
            def unwilling(x):
                """Look, and decline."""
                look(x)
            declared.append(registry.rule("unwilling"))

        for name in ("while", "add", "compare", "reduce"):
            @rewrite(f"stablehlo.{name}")
            def refusing(site):
                """Look, and decline."""
            declared.append(registry.rule("refusing"))
        rules = RuleSet(tuple(declared))
        module, memory = modules.parse(text), Memory()
        assert rules.apply(module.operation, memory=memory) == 0
        assert not memory.left(module.operation, rules.table)
        modules.run_passes(module, "func.func(cse)")
        changes.note(module.operation, memory)
        live = {hash(result): op for op in modules.walk(module) for result in op.results}
        assert {*memory.seen, *memory.owners, *memory.decoded} <= {*live}
        for address, seen in memory.seen.items():
            assert seen[5] == used(live[address], live[address].operands)
        found = memory.left(module.operation, rules.table).values()
        return sorted(op.name.removeprefix("stablehlo.") for op in found)


CHAIN = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.sine %x : tensor<4xf32>
  %2 = stablehlo.negate %0 : tensor<4xf32>
  %3 = stablehlo.sqrt %1 : tensor<4xf32>
  %4 = stablehlo.exponential %3 : tensor<4xf32>
  %5 = stablehlo.abs %4 : tensor<4xf32>
  return %2, %5 : tensor<4xf32>, tensor<4xf32>
}"""


def test_readers_of_merged_ops_and_what_reads_them():
    assert after_cse(CHAIN, producer) == ["exponential", "sqrt"]


def test_what_rules_have_looked_at_further_up():
    def look(value):
        made = producer(value)
        if made is not None:
            producer(made.operands[0])
    assert after_cse(CHAIN, look) == ["abs", "exponential", "sqrt"]


def test_values_with_other_readers():
    text = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.cosine %x : tensor<4xf32>
      %1 = stablehlo.sine %0 : tensor<4xf32>
      %2 = stablehlo.sine %0 : tensor<4xf32>
      return %1, %2 : tensor<4xf32>, tensor<4xf32>
    }"""
    assert after_cse(text) == ["sine"]
    assert after_cse(text, producer) == []


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


def counting(start, more="", returned="%j, %u, %d"):
    """A loop whose iterations look at their counter; what it starts with and returns is given."""
    return f"""func.func @main(%n: tensor<i32>, %x: tensor<f32>)
        -> (tensor<i32>, tensor<i32>, tensor<f32>, tensor<i32>) {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0 = stablehlo.abs %n : tensor<i32>
      %1 = stablehlo.abs %n : tensor<i32>
      %r:3 = stablehlo.while(%i = {start}, %y = %x, %k = %zero) : tensor<i32>, tensor<f32>, tensor<i32>
      cond {{
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %j = stablehlo.add %i, %one : tensor<i32>
        %d = stablehlo.negate %i : tensor<i32>
        %s = stablehlo.cosine %y : tensor<f32>
        %t = stablehlo.cosine %y : tensor<f32>
        %u = stablehlo.add %s, %t : tensor<f32>
        {more}
        stablehlo.return {returned} : tensor<i32>, tensor<f32>, tensor<i32>
      }}
      return %0, %r#0, %r#1, %r#2 : tensor<i32>, tensor<i32>, tensor<f32>, tensor<i32>
    }}"""


def test_ops_in_loops_depend_on_what_is_handed_in_and_out():
    twice = "%h = stablehlo.add %i, %one : tensor<i32> %v = stablehlo.add %d, %j : tensor<i32>"
    assert "negate" not in after_cse(counting("%zero"), range_of)
    assert "negate" in after_cse(counting("%1"), range_of)
    assert "negate" in after_cse(counting("%zero", twice, "%h, %u, %v"), range_of)


def test_reductions_that_nothing_has_touched():
    text = CHAIN.replace("(%x: tensor<4xf32>)", "(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<f32>)").replace(
        "-> (", "-> (tensor<f32>, ").replace("return ", "return %r, ").replace(": tensor<4xf32>, tensor<4xf32>\n}", """
  : tensor<f32>, tensor<4xf32>, tensor<4xf32>\n}""").replace("  return", """  %r = stablehlo.reduce(%y init: %z)
    applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return""")
    assert "stablehlo.reduce" in text and after_cse(text, producer) == ["exponential", "sqrt"]


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("equal", [False, True])
def test_whether_ops_were_merged_is_found_in_functions_and_loops(loop, equal):
    inner = f"""%0 = stablehlo.sine %c : tensor<f32>
      %1 = stablehlo.{"sine" if equal else "cosine"} %c : tensor<f32>
      %2 = stablehlo.add %0, %1 : tensor<f32>"""
    text = f"""func.func @main(%c: tensor<f32>) -> tensor<f32> {{
      {inner}
      return %2 : tensor<f32>
    }}""" if not loop else f"""func.func @main(%x: tensor<f32>) -> tensor<f32> {{
      %r = stablehlo.while(%c = %x) : tensor<f32> cond {{
        %p = stablehlo.compare LT, %c, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        {inner}
        stablehlo.return %2 : tensor<f32>
      }}
      return %r : tensor<f32>
    }}"""
    with building():
        module, memory = modules.parse(text), Memory()
        memory.list(module.operation)
        assert memory.deep == loop
        assert changes.merge_equal(module, memory) == equal
