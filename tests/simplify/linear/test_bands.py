"""Masks between two diagonals, and matrices of run-time diagonals: what is read equals what is there."""
import itertools

import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_of
from reactant.options import CompileOptions
from reactant.rewrite.selftest import build_module
from reactant.simplify.facts.masks import mask_of
from reactant.simplify.linear.bands import Banded, bands_of


@pytest.mark.parametrize("direction", ["EQ", "LE", "LT", "GE", "GT"])
@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (6, 2)])
def test_mask_is_where_the_comparison_holds(direction, shape):
    compare = {"EQ": np.equal, "LE": np.less_equal, "LT": np.less, "GE": np.greater_equal, "GT": np.greater}
    for shift, turned, negated in itertools.product((-2, 0, 1), (False, True), (False, True)):
        i, j = np.indices(shape)
        content = compare[direction](*((j, i + shift) if turned else (i + shift, j)))
        content = ~content if negated else content
        found = []

        def program(a, shift=shift, turned=turned, negated=negated, found=found):
            row, column = (ops.iota(shape, np.int32, k) for k in (0, 1))
            pair = [ops.add(row, shift), column]
            mask = ops.compare(*(pair[::-1] if turned else pair), direction)
            mask = ops.not_(mask) if negated else mask
            found.append(mask_of(mask))
            return mask
        with building():
            build_module(program, np.dtype("float32"))
        if found[0] is None:
            assert negated and direction == "EQ"        # it is false in the middle
        else:
            assert np.array_equal(content, (found[0].low <= j - i) & (j - i <= found[0].high)), (found, shift, turned)


def diagonal(a, k, side, value=None):
    row = ops.iota((side, side), np.int32, 0)
    mask = ops.compare(ops.add(row, k), ops.iota((side, side), np.int32, 1), "EQ")
    inside = a(side, side) if value == "matrix" else ops.broadcast_in_dim(a(side), (side, side), (1,))
    return ops.select(mask, inside, ops.constant(0, a.dtype, (side, side)))


def scattered(a, matrix, k, start, count, body="second"):
    rows = np.arange(start, start + count)
    return ops.scatter(matrix, ops.constant(np.stack([rows, rows + k], 1)), a(count), body, update_window_dims=[],
                       inserted_window_dims=[0, 1], scatter_dims_to_operand_dims=[0, 1], index_vector_dim=1)


def identity(a, side):
    mask = ops.compare(ops.iota((side, side), np.int32, 0), ops.iota((side, side), np.int32, 1), "EQ")
    return ops.convert(mask, a.dtype)


MATRICES = {
    "sum": lambda a: ops.add(diagonal(a, 0, 20), ops.subtract(diagonal(a, 2, 20), diagonal(a, 0, 20))),
    "of a matrix": lambda a: ops.negate(ops.add(diagonal(a, -1, 20, "matrix"), diagonal(a, 3, 20, "matrix"))),
    "padded": lambda a: ops.pad(diagonal(a, 1, 18), 0, (2, 0), (1, 3)),
    "wide": lambda a: ops.pad(diagonal(a, -1, 18), 0, (0, 4), (0, 3)),
    "transposed": lambda a: ops.transpose(ops.pad(diagonal(a, 1, 18), 0, (2, 0), (1, 3)), (1, 0)),
    "scaled": lambda a: ops.divide(ops.multiply(ops.add(diagonal(a, 1, 20), identity(a, 20)), 3), 4),
    "scattered": lambda a: scattered(a, scattered(a, ops.constant(0, a.dtype, (20, 20)), 1, 0, 19), -2, 3, 10),
    "twice": lambda a: scattered(a, scattered(a, diagonal(a, 0, 20), 0, 2, 7), 0, 4, 9, "add"),
    "constant and run time": lambda a: ops.add(diagonal(a, 1, 20), ops.constant(np.diag(np.arange(20.0)))),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("finite", [False, True])
def test_products_with_bands_keep_their_values(name, finite):
    def program(a):
        matrix = MATRICES[name](a)
        assert isinstance(bands_of(matrix), Banded)
        rows, columns = shape_of(matrix)
        return [ops.dot_general(matrix, a(columns), contracting_dims=((1,), (0,))),
                ops.dot_general(matrix, a(rows), contracting_dims=((0,), (0,))),
                ops.dot_general(a(2, rows), matrix, contracting_dims=((1,), (0,)))]
    with building():
        module = build_module(program, np.dtype("float64"))
        rng = np.random.default_rng(0)
        shapes = [shape_of(a) for a in modules.function(module).regions[0].blocks[0].arguments]
        inputs = [[rng.normal(size=s) for s in shapes] for _ in range(4)]
        for k, arguments in enumerate(inputs[1:], 1) if not finite else ():
            for x in arguments[-3:]:
                x.flat[rng.integers(x.size)] = [np.inf, np.nan, -np.inf][k - 1]
        expected = [evaluate(module, arguments) for arguments in inputs]
        report = pipelines.run(module, "simplify", CompileOptions(finite=finite), verify=True)
        fired = dict(report.counts())
        assert fired["product_with_bands" if finite else "product_with_bands_checked"] == 3
        assert "stablehlo.dot_general" not in modules.counts(module)
        for arguments, old in zip(inputs, expected, strict=True):
            for x, y in zip(old, evaluate(module, arguments), strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12)


def test_what_is_no_band_stays():
    outside = {
        "clipped indices": lambda a: scattered(a, ops.constant(0, a.dtype, (20, 20)), 1, 0, 20),
        "other number outside": lambda a: ops.select(ops.compare(ops.iota((20, 20), np.int32, 0),
                                                                 ops.iota((20, 20), np.int32, 1), "EQ"),
                                                     a(20, 20), ops.constant(1, a.dtype, (20, 20))),
        "infinite factor": lambda a: ops.multiply(diagonal(a, 0, 20), np.inf),
    }
    for make in outside.values():
        found = []
        with building():
            build_module(lambda a, make=make, found=found: [m := make(a), found.append(bands_of(m))][0],
                         np.dtype("float32"))
        assert found == [None]
