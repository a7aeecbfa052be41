"""Layouts of views are NumPy's own, and reading and writing through them touches the right elements."""
from __future__ import annotations

import jax
import numpy as np
import pytest

from reactant.runtime.layout import Layout, box_of, layout_in, read, shadow_of, write

VIEWS = {
    "whole": lambda x: x, "transposed": lambda x: x.T, "reversed": lambda x: x[::-1, ::-1], "row": lambda x: x[2],
    "column": lambda x: x[:, 3], "block": lambda x: x[1:3, 2:5], "strided": lambda x: x[::2, 1::3],
    "element": lambda x: x[2, 3, ...], "empty": lambda x: x[1:1], "new axis": lambda x: x[:, None, 1],
    "reshaped": lambda x: x.reshape(6, 4), "rows of flat": lambda x: x.reshape(-1)[5:9],
}


@pytest.mark.parametrize("view", VIEWS)
def test_read_and_write(view):
    plain = np.arange(24.0).reshape(4, 6)
    shadow, flat = shadow_of(Layout.whole((4, 6)), 24, plain.dtype)
    layout = layout_in(VIEWS[view](shadow), flat)
    with jax.enable_x64(True):
        value = jax.device_put(plain)
        np.testing.assert_array_equal(read(value, layout), VIEWS[view](plain))
        new = -1 - np.arange(np.size(VIEWS[view](plain))).reshape(VIEWS[view](plain).shape).astype(float)
        written = np.asarray(write(value, layout, jax.device_put(new)))
    VIEWS[view](plain)[...] = new
    np.testing.assert_array_equal(written.reshape(4, 6), plain)


def test_what_is_no_view():
    shadow, flat = shadow_of(Layout.whole((4, 6)), 24, np.dtype(complex))
    for other in (shadow.real, np.zeros((4, 6), complex), shadow.T.reshape(-1)):
        assert layout_in(other, flat) is None


def test_views_of_views():
    shadow, flat = shadow_of(Layout(7, (2, 3), (6, 2)), 24, np.dtype(float))
    assert layout_in(shadow[1, ::2], flat) == Layout(13, (2,), (4,))


def test_shadows_take_no_memory():
    huge, _ = shadow_of(Layout.whole((1 << 20, 1 << 18)), 1 << 38, np.dtype(np.float64))
    assert huge[::2].T.shape == (1 << 18, 1 << 19)


BOXES = [
    ((5, 7), np.s_[1:4], True), ((5, 7), np.s_[1:, 2:7:2], True), ((5, 7), np.s_[3], True), ((5, 7), np.s_[:, 6], True),
    ((5, 7), np.s_[2:3, 1:], True), ((4, 1, 6), np.s_[1:, 0, ::5], True), ((5, 7), np.s_[::-1], False),
    ((5, 7), np.s_[2:2], False), ((9,), np.s_[::4], True), ((2, 3, 4), np.s_[..., None, 1:3], True),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape, index, found", BOXES, ids=str)
def test_boxes(shape, index, found, transposed):
    whole = np.arange(np.prod(shape)).reshape(shape)
    view = whole[index].T if transposed else whole[index]
    box = box_of(layout_in(view, whole.reshape(-1)), shape)
    assert (box is not None) == found
    if box is None:
        return
    part = whole[tuple(map(slice, box.starts, box.limits, box.steps))]
    order = [d for d in box.dims if d is not None]
    part = part.transpose(*order, *(d for d in range(part.ndim) if d not in order)).reshape(view.shape)
    assert np.array_equal(part, view)


@pytest.mark.parametrize("view", [lambda x: x.reshape(-1), lambda x: np.diagonal(x), lambda x: x.reshape(-1)[3:9],
                                  lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 3),
                                  lambda x: np.broadcast_to(x[0], (5, 7))])
def test_what_is_no_box(view):
    whole = np.arange(35).reshape(5, 7)
    assert box_of(layout_in(view(whole), whole.reshape(-1)), (5, 7)) is None
