"""Strides and shapes against NumPy's own."""
import itertools

import numpy as np
import pytest

from reactant.frontends.arrays import layouts

SHAPES = [(), (1,), (5,), (0, 3), (2, 3), (3, 1, 2), (2, 3, 4), (1, 1)]


def strides(array):
    return tuple(s // array.itemsize for s in array.strides)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_strides_of_new_arrays(shape):
    if 0 not in shape:
        assert layouts.row_major_strides(shape) == strides(np.zeros(shape))
        assert layouts.column_major_strides(shape) == strides(np.zeros(shape, order="F"))
    for order in itertools.permutations(range(len(shape))):
        moved = np.zeros([shape[d] for d in order]).transpose(np.argsort(order))
        kept = layouts.kept_order(moved.shape, strides(moved))
        ours = moved.shape if kept is None else kept
        theirs = np.empty_like(moved)
        if moved.size:
            assert layouts.is_permuted(moved.shape, strides(moved)) == (not moved.flags.c_contiguous)
            assert kept is None and theirs.flags.c_contiguous or all(
                n == 1 or a == b for n, a, b in zip(moved.shape, ours, strides(theirs), strict=True))


@pytest.mark.parametrize("shape, new", [((2, 3), (6,)), ((6,), (3, 2)), ((2, 3, 4), (6, 4)), ((2, 3), (3, 2)),
                                        ((4, 1, 2), (4, 2)), ((0, 3), (3, 0))])
def test_a_reshape_is_a_view_where_it_is_one_to_numpy(shape, new):
    for order in itertools.permutations(range(len(shape))):
        array = np.zeros([shape[d] for d in order]).transpose(np.argsort(order))
        found = layouts.reshaped_strides(array.shape, strides(array), new)
        assert (found is not None) == (array.size == 0 or np.may_share_memory(array, array.reshape(new)))
        if found is not None and array.size:
            assert found == strides(array.reshape(new))


def test_shapes_that_become_one():
    for one, other in itertools.product(SHAPES, repeat=2):
        try:
            both = np.broadcast_shapes(one, other)
        except ValueError:
            with pytest.raises(ValueError, match="could not be broadcast together"):
                layouts.broadcast_shapes(one, other)
            both = None
        assert both is None or layouts.broadcast_shapes(one, other) == both
        assert layouts.broadcasts_to(one, other) == (both == other)
    assert layouts.shape_text((3,)) == "(3,)" and layouts.shape_text((2, 3)) == "(2,3)"
