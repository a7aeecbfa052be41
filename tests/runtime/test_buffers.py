"""Views of NumPy's memory: aligned, at the right offset, never beyond the pages of the array, keeping it alive."""
from __future__ import annotations

import gc
import mmap
import os
import weakref

import numpy as np
import pytest

from reactant.runtime.buffers import HUGE_PAGE, PAGE, aligned_memory, borrowed_view, offset_of
from reactant.runtime.program import AT_RUN_TIME, Array, padding


class Owner(np.ndarray):
    """An array that can be referred to weakly."""


@pytest.mark.parametrize(("shift", "itemsize", "offset"), [
    (0, 8, 0), (16, 8, 2), (56, 8, 7), (16, 16, 1), (8, 16, None), (3, 1, 3), (2, 4, None), (48, 2, 24)])
def test_offsets(shift, itemsize, offset):
    memory = aligned_memory(4096)[shift:shift + 1024].view(f"V{itemsize}")
    assert offset_of(memory, itemsize) == offset
    assert offset_of(memory[::2], itemsize) is None


@pytest.mark.slow
def test_a_view_starts_aligned_and_keeps_the_array():
    given = aligned_memory(4096)[16:1016].view(np.float64).view(Owner)
    given[...] = np.arange(125)
    alive = weakref.ref(given)
    view = borrowed_view(given, Array((125,), np.dtype(np.float64)), 2, 2)
    assert view.ctypes.data % 64 == 0 and view.shape == (127,)
    del given
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(view[2:], np.arange(125))
    del view
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("room", [0, 8, 40, 64, 128])
def test_no_view_reaches_into_another_page(room):
    """With padding for any offset the view may exceed the array, but not the array's last page."""
    memory = mmap.mmap(-1, 2 * PAGE)
    array = Array((200,), np.dtype(np.float64))
    start = PAGE - array.nbytes - room
    given = np.ndarray((200,), np.float64, memory, offset=start)
    view = borrowed_view(given, array, offset_of(given, 8), padding(array, AT_RUN_TIME))
    end = None if view is None else view.ctypes.data + view.nbytes
    assert (view is None) == (start // 64 * 64 + array.nbytes + 56 > PAGE)
    assert end is None or end <= np.frombuffer(memory, np.uint8).ctypes.data + PAGE


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_memory_is_the_process_own_and_begins_with_a_huge_page():
    """Shared memory has no huge pages; a child's writes are not the parent's."""
    for nbytes in (0, 1, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5):
        memory = aligned_memory(nbytes)
        assert memory.nbytes == nbytes and not memory.any()
        assert nbytes < HUGE_PAGE or memory.ctypes.data % HUGE_PAGE == 0
    with open("/proc/self/maps") as maps:
        regions = [(int(low, 16), int(high, 16), flags) for line in maps for low, high, flags in
                   [(*line.split()[0].split("-"), line.split()[1])]]
    (flags,) = [flags for low, high, flags in regions if low <= memory.ctypes.data < high]
    assert flags == "rw-p"      # private
