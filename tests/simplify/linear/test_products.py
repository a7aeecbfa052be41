"""What is left of products with structured matrices."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import size
from reactant.options import CompileOptions
from reactant.rewrite.selftest import build_module
from tests.simplify.test_goals import matmul, short, simplified

N = 40
BAND = (2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1)).astype(np.float32)


def hot(a):
    places = ops.broadcast_in_dim(a(8, dtype="int32"), (8, 6), (0,))
    return ops.convert(ops.compare(places, ops.iota((8, 6), np.int32, 1), "EQ"), np.float32)


def batched(x, y):
    return ops.dot_general(x, y, contracting_dims=((2,), (1,)), batching_dims=((0,), (0,)))


PROGRAMS = {
    "band times vector": (lambda a: ops.dot_general(ops.constant(BAND), a(N), contracting_dims=((1,), (0,))),
                          {"dot_general": 0}),
    "rows of a table": (lambda a: matmul(hot(a), a(6, 5)), {"dot_general": 0, "gather": 1}),
    "batch of one": (lambda a: batched(a(1, 3, 4), a(1, 4, 5)), {"dot_general": 1}),
    "one matrix for all": (lambda a: batched(ops.broadcast_in_dim(a(3, 4), (7, 3, 4), (1, 2)), a(7, 4, 5)),
                           {"dot_general": 1, "broadcast_in_dim": 0}),
    "symmetric": (lambda a: ops.transpose(ops.multiply(matmul(x := a(5, 5), ops.transpose(x, (1, 0))), 3.0), (1, 0)),
                  {"dot_general": 1, "transpose": 0}),
    "trace of a product": (lambda a: ops.reduce(ops.slice(ops.reshape(matmul(a(5, 5), a(5, 5)), (25,)), (0,), (25,),
                                                          (6,)), 0.0, (0,), "add"), {"dot_general": 0, "reduce": 1}),
    "any product stays": (lambda a: matmul(a(5, 6), a(6, 7)), {"dot_general": 1}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products(name):
    builder, wanted = PROGRAMS[name]
    counts = short(simplified(builder))
    assert {op: counts.get(op, 0) for op in wanted} == wanted, counts


FINITE = {
    "distributivity": (lambda a: ops.add(matmul(x := a(8, 9), a(9, 7)), matmul(x, a(9, 7))), 8 * 9 * 7),
    "outer product": (lambda a: matmul(ops.multiply(ops.broadcast_in_dim(a(30), (30, 40), (0,)),
                                                    ops.broadcast_in_dim(a(40), (30, 40), (1,))), a(40, 5)), 40 * 5),
    "among zeros": (lambda a: matmul(ops.pad(a(3, 4), 0.0, (8, 8), (8, 8)), a(20, 6)), 3 * 4 * 6),
    "equal numbers": (lambda a: matmul(a(8, 9), ops.constant(2, np.float32, (9, 7))), 0),
}


def multiplied(module):
    """Products of numbers in the products of a module."""
    total = 0
    for op in modules.walk(module):
        if op.name == "stablehlo.dot_general":
            d = ops.attr.decode(op.attributes["dot_dimension_numbers"])
            depth = size([op.operands[0].type.shape[k] for k in d.contracting_dims[0]])
            total += depth * size(op.results[0].type.shape)
    return total


@pytest.mark.parametrize("name", FINITE)
def test_products_of_finite_numbers(name):
    builder, multiplications = FINITE[name]
    with building():
        module = build_module(builder, np.dtype(np.float32))
        pipelines.run(module, "simplify", CompileOptions(finite=True), verify=True)
        assert multiplied(module) == multiplications


# ---- batches, as JAX programs write them -----------------------------------------------------------------------------

ROWS, CUBE, PLACES = (7, 12), (3, 12, 12), (3, 7)
BATCHES = {
    "diagonals times matrices": (lambda v, a, i: jax.vmap(jnp.diag)(v[:3]) @ a, {"dot_general": 0}),
    "matrices times diagonals": (lambda v, a, i: jnp.einsum("bij,bjk->bki", a, jax.vmap(jnp.diag)(v[:3])),
                                 {"dot_general": 0}),
    "one matrix by many diagonals": (lambda v, a, i: jax.vmap(lambda d: jnp.diag(d) @ a[0])(v), {"dot_general": 0}),
    "diagonals of products": (lambda v, a, i: jnp.einsum("bii->bi", a @ a.mT), {"dot_general": 0}),
    "diagonals read by places": (lambda v, a, i: jnp.diagonal(jnp.einsum("bij,bkj->bik", a, a + 1), axis1=1, axis2=2),
                                 {"dot_general": 0, "gather": 0}),
    "traces of products": (lambda v, a, i: jnp.trace(a @ a, axis1=1, axis2=2), {"dot_general": 0}),
    "rows of a table": (lambda v, a, i: jnp.einsum("bnk,kd->bnd", jax.nn.one_hot(i, 7), v),
                        {"dot_general": 0, "gather": 1}),
    "columns of tables": (lambda v, a, i: jnp.einsum("bdk,bnk->bdn", a, jax.nn.one_hot(i, 12)),
                          {"dot_general": 0, "gather": 1}),
}


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", BATCHES)
def test_batches(name, special):
    function, wanted = BATCHES[name]
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=s).astype(np.float32) for s in (ROWS, CUBE)] + [
        rng.integers(-2, 14, PLACES).astype(np.int32)]
    if special:
        arguments[0][2, 3], arguments[1][1, 4, 4], arguments[1][2, 0, 5] = np.inf, np.nan, -np.inf
    text = str(jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir("stablehlo"))
    with building():
        module = modules.parse(text)
        modules.inline_calls(module)
        expected = evaluate(module, arguments)
        pipelines.run(module, "simplify", verify=True)
        found = evaluate(module, arguments)
        counts = short(module)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-5)
    assert {op: counts.get(op, 0) for op in wanted} == wanted, counts


CHAINS = {
    "matrices and vectors": (lambda a, b, v: ((a @ b) @ v[..., None])[..., 0], 2 * 2 * 20 * 20),
    "vectors and matrices": (lambda a, b, v: jax.vmap(lambda a, b, v: v @ (a @ b))(a, b, v), 2 * 2 * 20 * 20),
    "linear attention": (lambda a, b, v: jnp.einsum("bqd,bkd->bqk", a[:, :, :3], b[:, :, :3]) @ b[:, :, 3:7],
                         2 * 2 * 20 * 3 * 4),
    "cheaper as written": (lambda a, b, v: (a[:, :2] @ b) @ a, 2 * 2 * 2 * 20 * 20),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_batches(name):
    function, multiplications = CHAINS[name]
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=s).astype(np.float32) for s in ((2, 20, 20), (2, 20, 20), (2, 20))]
    text = str(jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir("stablehlo"))
    with building():
        module = modules.parse(text)
        modules.inline_calls(module)
        expected = evaluate(module, arguments)
        pipelines.run(module, "simplify", options=CompileOptions(finite=True), verify=True)
        found = evaluate(module, arguments)
        assert multiplied(module) == multiplications
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-4)


def test_jax_gradient_of_a_symmetric_product_has_three_products():
    """JAX multiplies by s from both sides, and by s.T, which is s."""
    x = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)
    gradient = jax.grad(lambda x: jnp.sum((x @ x + (x @ x).T) ** 2))
    compiled = reactant.jit(gradient, frontend="jax")
    assert compiled.lower(x).as_text().count("stablehlo.dot_general") == 3
    expected = np.asarray(jax.jit(gradient)(x))
    np.testing.assert_allclose(compiled(x), expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("where", [None, "inside", "outside", "other"])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_jax_gradient_of_a_slice_of_a_chain_multiplies_one_row(where, bad):
    """What lies among zeros is multiplied by a matrix, then by another one: NaN stays where the zeros make it."""
    x, y, z = np.random.default_rng(0).normal(size=(3, 130, 130)).astype(np.float32)
    if where is not None:
        {"inside": z, "outside": z, "other": y}[where][(0, 3) if where == "inside" else (7, 20)] = bad
    gradient = jax.grad(lambda x, y, z: jnp.sum(((x @ y) * z + 4.0).ravel()[:10] ** 2))
    compiled = reactant.jit(gradient, frontend="jax")
    lowered = compiled.lower(x, y, z)
    assert {"reshape_of_padded_vector", "product_with_blocks_checked"} <= dict(lowered.report.counts()).keys()
    assert "tensor<130x130xf32>) -> tensor<130x130xf32>" not in "".join(
        line for line in lowered.as_text().splitlines() if "dot_general" in line)
    np.testing.assert_allclose(compiled(x, y, z), jax.jit(gradient)(x, y, z), rtol=1e-3, atol=1e-3)
