"""Constants and attributes survive the way into MLIR and back, bit for bit."""
import weakref

import ml_dtypes
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.context import building
from reactant.ir.types import _MAKE

SHAPES = {"line": np.array([0, 1, 3, 2]), "uniform": np.ones((2, 2)), "scalar": np.array(2), "empty": np.zeros((0, 3)),
          "big": np.arange(60).reshape(6, 10) % 7}


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("dtype", sorted(_MAKE, key=str), ids=str)
def test_constants_round_trip(dtype, shape):
    array = SHAPES[shape].astype(dtype)
    with building():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            back = ops.constant_value(ops.constant(array))
    assert back.dtype == array.dtype and back.shape == array.shape and back.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "complex64", "complex128"])
def test_special_numbers_round_trip(dtype):
    array = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 1 / 3]).astype(getattr(ml_dtypes, dtype, dtype))
    with building():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            back = ops.constant_value(ops.constant(array))
            assert np.array_equal(np.signbit(back.real.astype(float))[1:], np.signbit(array.real.astype(float))[1:])
            np.testing.assert_array_equal(back.astype(complex), array.astype(complex))
            for element in array:
                splat = ops.constant_value(ops.constant(element, shape=(3, 4)))
                assert splat.shape == (3, 4) and splat[2, 3].tobytes() == element.tobytes()


def test_zero_and_minus_zero_are_not_one_splat():
    with building():
        assert attr.elements(attr.dense(np.array([0.0, -0.0]))).tobytes() == np.array([0.0, -0.0]).tobytes()
        assert np.signbit(attr.elements(attr.dense(np.full(3, -0.0)))).all()


def test_contents_are_read_only():
    with building():
        with pytest.raises(ValueError, match="read-only"):
            attr.elements(attr.dense(np.arange(3)))[0] = 1


def test_large_contents_are_not_copied():
    with building():
        content = attr.elements(attr.dense(np.arange(100_000.0)))
    assert not content.flags.owndata and content[-1] == 99_999.0


DECODED = [(lambda: attr.integers((1, 2)), (1, 2)), (lambda: attr.booleans((True, False)), (True, False)),
           (lambda: attr.integer(3), 3), (lambda: attr.boolean(True), True), (lambda: attr.string("x"), "x"),
           (lambda: attr.comparison_direction("LT"), "LT"), (lambda: attr.comparison_type("FLOAT"), "FLOAT"),
           (lambda: attr.parse("[1, 2]"), (1, 2)), (lambda: attr.parse("2.5 : f64"), 2.5),
           (lambda: attr.parse("@f"), "f")]


@pytest.mark.parametrize("make, wanted", DECODED, ids=[str(w) for _, w in DECODED])
def test_decode(make, wanted):
    with building():
        assert attr.decode(make()) == wanted


def test_dimension_numbers():
    with building():
        dot = attr.decode(attr.dot_dimension_numbers(((0,), (1,)), ((2,), (0,))))
        assert dot == (((2,), (0,)), ((0,), (1,)))
        assert dot.batching_dims == ((0,), (1,)) and dot.contracting_dims == ((2,), (0,))
        gather = attr.decode(attr.parse("#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
                                        "start_index_map = [0], index_vector_dim = 1>"))
        assert (gather.offset_dims, gather.start_index_map, gather.index_vector_dim) == ((1,), (0,), 1)
        scatter = attr.decode(attr.parse("#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
                                         "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"))
        assert scatter.scatter_dims_to_operand_dims == (0,) and scatter.inserted_window_dims == (0,)


def test_integer_matrix():
    with building():
        assert attr.decode(attr.integer_matrix(((1, 2), (3, 4)))).tolist() == [[1, 2], [3, 4]]
        assert attr.decode(attr.integer_matrix(())).shape == (0, 2)


@pytest.mark.parametrize("size, stays", [(4, True), (40_000, False)])
def test_big_complex_constants_are_not_kept(size, stays):
    """They are read from text, which a cache without end would hold with them."""
    with building():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            made = ops.constant(np.arange(size) * 1j)
        read = weakref.ref(ops.constant_value(made))
        del made, module
    assert (read() is not None) == stays
