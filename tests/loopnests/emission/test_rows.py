"""Arrays that live in the rows in which a loop keeps what they were before every iteration."""
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from tests.loopnests.running import run, written

LOOP = """func.func public @main(%x: tensor<TYPE>, %n: tensor<i64>) -> (tensor<TYPE>, tensor<ROWS>) {
%zero = stablehlo.constant dense<0> : tensor<i64>
%unset = stablehlo.constant {reactant.unset} dense<0.0> : tensor<ROWS>
%r:3 = stablehlo.while(%i = %zero, %a = %x, %k = %unset) : tensor<i64>, tensor<TYPE>, tensor<ROWS>
cond {
  %most = stablehlo.constant dense<5> : tensor<i64>
  %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %q = stablehlo.compare LT, %i, %most : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %o = stablehlo.and %p, %q : tensor<i1>
  stablehlo.return %o : tensor<i1>
} do {
  %one = stablehlo.constant dense<1> : tensor<i64>
  BODY
  %row = stablehlo.reshape %a : (tensor<TYPE>) -> tensor<1xTYPE>
  %kept = stablehlo.dynamic_update_slice %k, %row, %i, STARTS : (tensor<ROWS>, tensor<1xTYPE>, INTEGERS) -> tensor<ROWS>
  %j = stablehlo.add %i, %one : tensor<i64>
  stablehlo.return %j, %b, %kept : tensor<i64>, tensor<TYPE>, tensor<ROWS>
}
%s = stablehlo.add %r#2, %r#2 : tensor<ROWS>
return %r#1, %s : tensor<TYPE>, tensor<ROWS>
}"""
STENCIL = """%l = stablehlo.slice %a [0:7, 0:6] : (tensor<9x6xf32>) -> tensor<7x6xf32>
  %h = stablehlo.slice %a [2:9, 0:6] : (tensor<9x6xf32>) -> tensor<7x6xf32>
  %m = stablehlo.add %l, %h : tensor<7x6xf32>
  %b = stablehlo.dynamic_update_slice %a, %m, %one, %zero : (TYPES) -> tensor<9x6xf32>""".replace(
      "TYPES", "tensor<9x6xf32>, tensor<7x6xf32>, tensor<i64>, tensor<i64>")
BORDERS = """%m = stablehlo.slice %a [1:8, 0:6] : (tensor<9x6xf32>) -> tensor<7x6xf32>
  %s = stablehlo.add %m, %m : tensor<7x6xf32>
  %u = stablehlo.dynamic_update_slice %a, %s, %one, %zero : (TYPES) -> tensor<9x6xf32>
  %e = stablehlo.slice %u [7:8, 0:6] : (tensor<9x6xf32>) -> tensor<1x6xf32>
  %b = stablehlo.dynamic_update_slice %u, %e, %zero, %zero : (ROW) -> tensor<9x6xf32>""".replace(
      "TYPES", "tensor<9x6xf32>, tensor<7x6xf32>, tensor<i64>, tensor<i64>").replace(
      "ROW", "tensor<9x6xf32>, tensor<1x6xf32>, tensor<i64>, tensor<i64>")
TURNED = """%t = stablehlo.reverse %a, dims = [0] : tensor<TYPE>
  %b = stablehlo.multiply %t, %t : tensor<TYPE>"""
NESTED = """%d:2 = stablehlo.while(%q = %zero, %c = %a) : tensor<i64>, tensor<TYPE>
  cond {
    %p = stablehlo.compare LT, %q, %i : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %t = stablehlo.reverse %c, dims = [0] : tensor<TYPE>
    %e = stablehlo.add %t, %a : tensor<TYPE>
    %w = stablehlo.add %q, %one : tensor<i64>
    stablehlo.return %w, %e : tensor<i64>, tensor<TYPE>
  }
  %b = stablehlo.subtract %d#1, %a : tensor<TYPE>"""


def looped(body, shape, element):
    kind = "x".join([*map(str, shape), element])
    text = LOOP.replace("BODY", body).replace("STARTS", ", ".join(["%zero"] * len(shape)))
    text = text.replace("INTEGERS", ", ".join(["tensor<i64>"] * (1 + len(shape))))
    text = text.replace("ROWS", "5x" + kind).replace("TYPE", kind)
    with building():
        return modules.parse(text.replace("dense<0.0>", "dense<(0.0, 0.0)>") if "complex" in element else text)


@pytest.mark.parametrize("body, shape, element", [
    (STENCIL, (9, 6), "f32"), (BORDERS, (9, 6), "f32"), (TURNED, (9, 6), "f32"), (TURNED, (1,), "f64"),
    (TURNED, (4,), "complex<f64>"), (NESTED, (5, 3), "f32")],
    ids=("stencil", "borders", "turned", "one", "complex", "nested"))
def test_the_array_is_its_rows(body, shape, element):
    module = looped(body, shape, element)
    dtype = {"f32": "float32", "f64": "float64", "complex<f64>": "complex128"}[element]
    x = np.linspace(-0.5, 1, int(np.prod(shape))).reshape(shape).astype(dtype)
    sizes = [b.size for b in written(module).workspace]
    assert sizes == [6 * x.size] or body is NESTED and 6 * x.size in sizes
    for iterations in (5, 2, 1, 0, 9):
        last, kept = run(module, [x, np.int64(iterations)])
        state, rows = x.copy(), []
        for iteration in range(min(iterations, 5)):
            rows.append(state)
            if body is STENCIL:
                state = state.copy()
                state[1:8] = rows[-1][:7] + rows[-1][2:]
            elif body is BORDERS:
                state = state.copy()
                state[1:8] *= 2
                state[0] = state[7]
            elif body is TURNED:
                state = state[::-1] * state[::-1]
            else:
                for _ in range(iteration):
                    state = state[::-1] + rows[-1]
                state = state - rows[-1]
        np.testing.assert_allclose(last, state, rtol=1e-6)
        for got, row in zip(kept, rows, strict=False):
            np.testing.assert_allclose(got, 2 * row, rtol=1e-6)


@pytest.mark.slow
def test_gradients_of_steps_in_groups_agree_with_xla():
    def loss(u, c):
        u = u.copy()
        for _ in range(12):
            u[1:-1] += c * u[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
        return np.sum(u * u)
    u = np.random.default_rng(0).random((40, 30))
    mine, theirs = (reactant.jit(reactant.grad(loss, (0, 1), checkpoint="sqrt"), native=native)(u, 0.1)
                    for native in ("auto", "never"))
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
