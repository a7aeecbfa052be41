"""Launches as steps: the bytes of their arguments read by the kernel's signature."""
import struct

import numpy as np
import pytest

from reactant.cuda import rows, steps
from reactant.cuda.memories import Memories
from reactant.cuda.rows import Box, Copied, Filled, Launched
from reactant.cuda.steps import Float, Integer, NotRecorded, View

F8 = np.dtype(np.float64)


@pytest.fixture
def reader():
    known = Memories(np.zeros(4096, np.uint8))
    known.add(256, 80, rows.DEVICE)
    known.add(512, 81, rows.DEVICE)
    return steps.Reader(known, 10000, "auto")


def launched(*values, cooperative=False):
    content = struct.pack("=QQid", *values)
    return Launched("_Z4stepPKdPdid", 0, (1, 1, 1), (8, 1, 1), 0, cooperative, ((0, 8), (8, 8), (16, 4), (20, 8)),
                    content, 0)


def test_arguments(reader, heat):
    kernel = heat._built.kernel("_Z4stepPKdPdid")
    step = reader.launch(launched(10000 + 256, 10000 + 272, 9, 0.5), kernel)
    first, second, count, number = step.arguments
    assert first == View(256, 0, 10, F8, F8) and second == View(256, 16, 8, F8, F8)
    assert count == Integer(9, np.dtype(np.int32)) and number == Float(F8, struct.pack("=d", 0.5))
    assert reader.launch(launched(0, 10256, 9, 0.5), kernel).arguments[0].value == 0
    for row, words in [(launched(10256, 10257, 1, 0.0), "between the elements"),
                       (launched(10512, 10256, 1, 0.0), "no whole number of float64"),
                       (launched(77, 10256, 1, 0.0), "'u' points to memory that is not the device's"),
                       (launched(10256, 10256, 1, 0.0, cooperative=True), "barriers of the grid")]:
        with pytest.raises(NotRecorded, match=words):
            reader.launch(row, kernel)


def test_copies_and_fills(reader):
    known = reader.memories
    box = Box(256, 8, 8, 8, 1, 1)
    with pytest.raises(NotRecorded, match="no kernel has used yet"):
        steps.filled(Filled(box, 0, 1), known)
    known.find(256).on_device(known.shared, F8, None)
    assert steps.filled(Filled(box, 255, 1), known).target == View(256, 0, 1, F8, F8)
    with pytest.raises(NotRecorded, match="within one allocation"):
        steps.copied(Copied(Box(264, 8, 8, 8, 1, 1), box, 0), known)
    with pytest.raises(NotRecorded, match="part of rows"):
        steps.filled(Filled(Box(256, 16, 16, 8, 2, 1), 0, 1), known)
