"""Reverse sweeps over tapes of host code."""
import numpy as np

from reactant.cuda.tapes import LEAF, NODES, Tape, byte_of, is_leaf, range_of


def test_terms():
    """z = x*y + x and y*y, of x = leaf 0 of range 2 and y = byte 8 of it, at x = 3, y = 5."""
    x, y = LEAF | 2 << 40, LEAF | 2 << 40 | 8
    assert is_leaf(x) and not is_leaf(7) and (range_of(y), byte_of(y)) == (2, 8)
    nodes = np.array([((x, y, 0), (5.0, 3.0, 0.0)), ((1, x, 0), (1.0, 1.0, 0.0)), ((y, y, 0), (5.0, 5.0, 0.0)),
                      ((1, 1, 2), (1.0, 1.0, 1.0))], NODES)
    term, = Tape(nodes.tobytes()).terms([2, 0, 3, x, 4])
    found = {(int(r), int(b)): w for r, b, w in zip(term.rows, term.bytes, term.weights, strict=True)}
    assert found == {(0, 0): 6.0, (0, 8): 3.0, (2, 8): 10.0, (3, 0): 1.0, (4, 0): 16.0, (4, 8): 9.0}
    assert term.range == 2 and Tape(b"").terms([0]) == []
