"""A program's memory: bytes and device arrays."""
import numpy as np

from reactant.cuda import memories
from reactant.cuda.rows import DEVICE, MANAGED, Box


def test_addresses_and_where_the_content_is():
    shared = np.arange(256, dtype=np.uint8)
    known = memories.Memories(shared)
    known.add(64, 32, DEVICE)
    known.add(128, 16, MANAGED)
    assert known.find(0) is None and known.find(95).base == known.find(96).base == 64 and known.find(97) is None
    assert known.of_box(Box(80, 16, 16, 16, 1, 1)).base == 64 and known.of_box(Box(80, 17, 17, 17, 1, 1)) is None
    memory = known.find(64)
    content = memory.on_device(shared, np.dtype(np.int32), None)
    content[0] = 7
    memory.changed_on_device()
    assert shared[64] == 64 and memory.on_device(shared, np.dtype(np.float32), None) is content
    known.host_ran()
    assert memory.array is content          # the device's own
    known.bring_home()
    assert shared[64:68].tolist() == [7, 0, 0, 0]
    memory.changed_at_home()
    assert memory.array is None and known.find(128).on_device(shared, np.dtype(np.uint8), None)[0] == 128
    known.host_ran()
    assert known.find(128).array is None    # the host may have written
    known.remove(64)
    assert [m.base for m in known] == [128]


def test_copies_and_fills_of_rows():
    shared = np.arange(64, dtype=np.uint8)
    memories.copy(shared, Box(32, 8, 8, 2, 2, 1), Box(0, 4, 4, 2, 2, 1))
    assert shared[32:44].tolist() == [0, 1, 34, 35, 36, 37, 38, 39, 4, 5, 42, 43]
    memories.copy(shared, Box(1, 8, 8, 8, 1, 1), Box(0, 8, 8, 8, 1, 1))       # as memmove
    assert shared[:9].tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7]
    memories.fill(shared, Box(48, 4, 4, 4, 2, 1), 0x0201, 2)
    assert shared[48:56].tolist() == [1, 2] * 4
