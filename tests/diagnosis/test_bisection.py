"""`bisect` names the rule that is wrong; `shrink` leaves little besides what it needs."""
import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.diagnosis import shrinking
from reactant.diagnosis.bisection import bisect_module
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.rewrite import match, registry, rewrite, variables

x, y = variables("x y")


@pytest.fixture
def wrong_rule():
    """A rule that takes tanh for sine, in force for one test."""
    with registry.scratch(), building():
        @rewrite(match.tanh(x), example=lambda a: ops.create("stablehlo.tanh", [(v := a(3)).type], [v]).result)
        def tanh_is_sine(x):
            """tanh(x) = sin(x), which is wrong"""
            return ops.sine(x)

        pipelines._rules_of.cache_clear()
        yield tanh_is_sine
    pipelines._rules_of.cache_clear()


def program(a, b):
    c = (a + 0.0) * 1.0
    d = np.tanh(c @ b)
    for k in range(3):
        d = d + (b.T).T * k
    return d.sum(axis=0), c - 0


def arguments():
    generator = np.random.default_rng(0)
    return generator.random((4, 4)), generator.random((4, 4))


def test_nothing_differs():
    found = reactant.bisect(program, *arguments())
    assert found
    assert str(found).startswith("Nothing differs after ")


def test_a_rule_is_named_with_its_line(wrong_rule):
    passes = (pipelines.Fixpoint((*pipelines.SIMPLIFY.families, wrong_rule.__module__.rpartition(".")[2])),)
    jitted = reactant.jit(program, optimize=passes)
    found = reactant.bisect(jitted, *arguments())
    assert not found
    assert found.rewrite.rule.endswith("tanh_is_sine")
    assert "stablehlo.tanh" in found.rewrite.before
    assert "stablehlo.sine" in found.rewrite.after[0]
    line = program.__code__.co_firstlineno + 2
    assert f"test_bisection.py:{line}" in str(found)
    assert "Compile with without=('tanh_is_sine',)" in str(found)


def test_a_pass_without_rules_is_named():
    def negate(module):
        main = modules.function(module)
        block = main.regions[0].blocks[0]
        terminator = block.operations[len(block.operations) - 1].operation
        from jaxlib.mlir import ir
        with ir.InsertionPoint(terminator), ir.Location.unknown():
            terminator.operands[0] = ops.negate(terminator.operands[0])

    with building():
        module = modules.parse(CHAIN)
        found = bisect_module(module, passes=("simplify", negate))
    assert found.changed_by == "negate"
    assert "The pass 'negate' changes the results" in str(found)


def test_jax_functions(wrong_rule):
    import jax.numpy as jnp
    passes = (pipelines.Fixpoint((*pipelines.SIMPLIFY.families, wrong_rule.__module__.rpartition(".")[2])),)
    found = reactant.bisect(reactant.jit(lambda a: jnp.tanh(a * 1.0) + 0.0, optimize=passes), jnp.ones(3), rtol=1e-5)
    assert found.rewrite.rule.endswith("tanh_is_sine")


CHAIN = """func.func @main(%a: tensor<4x4xf64>, %b: tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.add %a, %b : tensor<4x4xf64>
  %1 = stablehlo.multiply %0, %a : tensor<4x4xf64>
  %2 = stablehlo.tanh %1 : tensor<4x4xf64>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %4 = stablehlo.exponential %3 : tensor<4x4xf64>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4x4xf64>, tensor<f64>) -> tensor<4xf64>
  return %1, %5 : tensor<4x4xf64>, tensor<4xf64>
}"""


@pytest.mark.slow
def test_what_is_left_is_the_op_that_fails(wrong_rule):
    passes = (pipelines.Fixpoint((*pipelines.SIMPLIFY.families, wrong_rule.__module__.rpartition(".")[2])),)
    with building():
        smaller = shrinking.shrink(modules.parse(CHAIN), shrinking.differing(passes))
        assert list(modules.counts(smaller)) == ["stablehlo.tanh"]
        modules.verify(smaller)


def test_a_module_that_does_not_fail():
    with building(), pytest.raises(ValueError, match="does not fail"):
        shrinking.shrink(modules.parse(CHAIN), shrinking.differing())


def test_errors_are_failures():
    def refuse(module):
        if modules.counts(module)["stablehlo.exponential"]:
            raise ArithmeticError("no exponentials")

    with building():
        smaller = shrinking.shrink(modules.parse(CHAIN), shrinking.broken((refuse,)))
        assert list(modules.counts(smaller)) == ["stablehlo.exponential"]


def test_in_a_process_of_its_own():
    fails = shrinking.Failing()
    try:
        with building():
            assert fails(modules.parse(CHAIN)) == ""
    finally:
        fails.close()
