"""Which XLA options a module gets: by its reductions and by what meets its products."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.ir import context
from reactant.runtime.compile_options import AS_WRITTEN, FUSION_OPTION, options_for
from reactant.runtime.executable import Executable
from reactant.runtime.facts import facts_of


def facts(function, *arguments):
    with jax.enable_x64(True):
        text = jax.jit(function).lower(*arguments).as_text()
    with context.building():
        return facts_of(ir.Module.parse(text))


SQUARE, VECTOR = np.ones((600, 600), np.float32), np.ones(300_000, np.float32)
KEEPS, PRODUCTS_ALONE = "XLA's own", "products alone"
TABLE = {
    "element-wise": (lambda x: x + 1, KEEPS),
    "one product": (lambda x: x @ x, KEEPS),
    "sum": (lambda x: x.sum(), KEEPS),
    "rows": (lambda x: x.max(1), KEEPS),
    "small leading": (lambda x: x.reshape(2, -1).sum(0), PRODUCTS_ALONE),
    "small trailing": (lambda x: x.reshape(-1, 2).sum(1), PRODUCTS_ALONE),
    "chain of products": (lambda x: jnp.tanh(x @ x) @ x, KEEPS),
    "product, then softmax": (lambda x: jax.nn.softmax(x @ x), KEEPS),
    "chain of products, then softmax": (lambda x: jax.nn.softmax(jnp.tanh(x @ x) @ x), KEEPS),
    "chain of few rows, then softmax": (lambda x: jax.nn.softmax(jnp.tanh(x[:32] @ x) @ x), PRODUCTS_ALONE),
    "chain of few columns, then sum": (lambda x: (x @ jnp.tanh(x @ x[:, :8])).sum(0), PRODUCTS_ALONE),
    "chain of few rows into few": (lambda x: jax.nn.softmax(jnp.tanh(x[:32] @ x) @ x[:, :10]), KEEPS),
    "chain of few rows": (lambda x: jnp.tanh(x[:32] @ x) @ x, KEEPS),
    "chain of small products, then softmax": (
        lambda x: jax.nn.softmax(jnp.tanh(x[:32, :128] @ x[:128, :128]) @ x[:128, :128]), KEEPS),
    "softmax and a small reduction apart": (
        lambda x: (jax.nn.softmax(x @ x), x[:9].reshape(-1, 2).sum(1)), KEEPS),
    "sum, then product": (lambda x: x.sum(0) @ x, KEEPS),
    "product and sum apart": (lambda x: (x @ x, x.sum()), KEEPS),
    "dot of vectors": (lambda x: x[0] @ x[1], KEEPS),
}


@pytest.mark.parametrize("name", TABLE)
def test_table(name):
    function, expected = TABLE[name]
    options = options_for(facts(function, SQUARE), "cpu")
    kinds = options.get(FUSION_OPTION)
    found = KEEPS if kinds is None else PRODUCTS_ALONE
    assert found == expected
    assert options_for(facts(function, SQUARE), "gpu") == {}


def test_digits_of_a_dtype_on_a_gpu():
    assert options_for(facts(lambda x: x + 1, SQUARE), "gpu", excess=False) == AS_WRITTEN
    assert options_for(facts(lambda x: x + 1, SQUARE), "cpu", excess=False) == {}
    known_to_xla = jax.jit(lambda x: x + 1).lower(SQUARE).compile(compiler_options=AS_WRITTEN)
    assert known_to_xla(SQUARE).max() == 2


COUNTER_OF_AN_OUTER_LOOP = """
func.func @main(%n: tensor<i64>) -> tensor<4x4xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %mark = stablehlo.constant dense<1.0> : tensor<1x1xf64>
  %empty = stablehlo.constant dense<0.0> : tensor<4x4xf64>
  %outer:2 = stablehlo.while(%i = %zero, %a = %empty) : tensor<i64>, tensor<4x4xf64>
  cond {
    %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %inner:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i64>, tensor<4x4xf64>
    cond {
      %more = stablehlo.compare LT, %j, %i, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %c = stablehlo.dynamic_update_slice %b, %mark, %i, %j
          : (tensor<4x4xf64>, tensor<1x1xf64>, tensor<i64>, tensor<i64>) -> tensor<4x4xf64>
      %k = stablehlo.add %j, %one : tensor<i64>
      stablehlo.return %k, %c : tensor<i64>, tensor<4x4xf64>
    }
    %next = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %next, %inner#1 : tensor<i64>, tensor<4x4xf64>
  }
  return %outer#1 : tensor<4x4xf64>
}
"""


def test_counter_of_an_outer_loop():
    with context.building():
        run = Executable(ir.Module.parse(COUNTER_OF_AN_OUTER_LOOP))
    np.testing.assert_array_equal(run([np.asarray(3)])[0], np.tril(np.ones((4, 4)), -1) * (np.arange(4) < 3)[:, None])


def test_reductions_are_described():
    first, second = facts(lambda x: (x.sum(1), x.max()), np.ones((3, 5, 7))).reductions
    assert (first.shape, first.dimensions, first.combiner, first.depth, first.run) == ((3, 5, 7), (1,), "stablehlo.add",
                                                                                     5, 7)
    assert not first.trailing and second.trailing
    assert (second.combiner, second.depth, second.run) == ("stablehlo.maximum", 105, 1)
    argmax, = {r.combiner for r in facts(lambda x: x.argmax(), np.ones(5)).reductions}
    assert argmax == ""


def test_sliceable():
    def uses(a, b, c, d, e):
        return jnp.where(a > 0, b, 1).sum(), b.T, jnp.sort(c), d[1:] + d[:-1], (jnp.sin(e) @ e)
    assert facts(uses, *[np.ones((400, 400))] * 5).sliceable == (False, False, False, True, False)
    assert facts(lambda a: jax.jit(lambda b: b * 2)(a) + 1, VECTOR).sliceable == (True,)
    assert facts(lambda a: jax.jit(lambda b: b.sum())(a * 2), VECTOR).sliceable == (False,)
    small = [lambda a: jnp.tanh(a.reshape(-1)[::401]).sum(), lambda a: a[:3] @ a[2:5].T, lambda a: a[7, ::2].max() + a]
    assert all(facts(f, np.ones((400, 400))).sliceable == (True,) for f in small)


def test_options_reach_xla_and_can_be_overridden():
    with context.building():
        module = ir.Module.parse("func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> { return %a : tensor<3xf32> }")
    run = Executable(module, xla_options={"xla_cpu_enable_fast_math": True})
    assert run.xla_options == {**options_for(facts(lambda a: a, VECTOR), "cpu"), "xla_cpu_enable_fast_math": True}
    run([np.ones(3, np.float32)])
    with pytest.raises(Exception, match="no_such_option"):
        Executable(module, xla_options={"no_such_option": 1}).compile()
