"""What is left of products with structured matrices."""
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
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


@pytest.mark.parametrize("name", FINITE)
def test_products_of_finite_numbers(name):
    builder, multiplications = FINITE[name]
    with building():
        module = build_module(builder, np.dtype(np.float32))
        pipelines.run(module, "simplify", CompileOptions(finite=True), verify=True)
        total = 0
        for op in modules.walk(module):
            if op.name == "stablehlo.dot_general":
                d = ops.attr.decode(op.attributes["dot_dimension_numbers"])
                depth = size([op.operands[0].type.shape[k] for k in d.contracting_dims[0]])
                total += depth * size(op.results[0].type.shape)
    assert total == multiplications
