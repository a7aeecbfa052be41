"""What a runtime writes down, read."""
import struct

import numpy as np

from reactant.cuda import rows


def row(kind, form, *numbers, behind=b""):
    content = struct.pack("=" + form, *numbers) + behind
    content += b"\0" * (-len(content) % 8)
    return struct.pack("=II", kind, len(content) + 8) + content


def test_rows():
    launch = row(3, "QQ6IQ4I", 99, 1, 4, 1, 1, 128, 2, 1, 64, 1, 2, 16, 5,
                 behind=struct.pack("=4I", 0, 8, 8, 4) + bytes(range(16)) + b"kern\0")
    runs = np.array([(8, 3, 4, 1)], rows.RUNS)
    queue = row(1, "QQQ", 4096, 80, rows.DEVICE) + launch + row(8, "Q", 1, behind=runs.tobytes()) + \
        row(4, "10Q", 4096, 40, 40, 8192, 40, 40, 40, 2, 1, 77) + row(5, "6QII", 4096, 8, 8, 8, 1, 1, 255, 1) + \
        row(6, "6Q", 1, 4, 8, 8192, 78, 1, behind=b"table\0") + row(7, "8Q", 4096, 8, 8, 8, 1, 1, 79, 2) + \
        row(2, "Q", 4096)
    made, launched, found, copied, filled, symbol, looked, gone = rows.read(memoryview(queue))
    assert made == rows.Allocated(4096, 80, rows.DEVICE) and gone == rows.Released(4096)
    assert (launched.kernel, launched.site, launched.grid, launched.block) == ("kern", 99, (4, 1, 1), (128, 2, 1))
    assert (launched.shared, launched.cooperative, launched.parameters) == (64, True, ((0, 8), (8, 4)))
    assert launched.values == bytes(range(16)) and queue[launched.at:launched.at + 4] == struct.pack("=I", 3)
    assert found.runs.tolist() == runs.tolist()
    assert copied.target.in_one_piece and copied.target.end == 4176 and copied.host == 77
    assert (filled.value, filled.element, filled.target.bytes) == (255, 1, 8)
    assert (symbol.symbol, symbol.offset, symbol.constant, symbol.host) == ("table", 4, True, 78)
    assert (looked.range, looked.host) == (2, 79)
