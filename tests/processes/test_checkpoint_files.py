import math
import sys

import pytest

import reactant
from reactant.processes import checkpoint_files
from reactant.processes.checkpoint_files import LARGEST, chunk, shown


@pytest.mark.parametrize("block, itemsize", [
    ((), 8), ((1,), 8), ((128, 128), 8), ((4096, 4096), 8), ((7, 1 << 24), 4), ((1 << 26,), 16), ((3**18,), 8),
    ((5, 3, 1 << 22), 4), ((10**9 + 7, 2), 8)])
def test_chunks_divide_blocks_and_are_not_too_large(block, itemsize):
    found = chunk(block, itemsize)
    assert all(n % k == 0 for n, k in zip(block, found, strict=True))
    assert math.prod(found) * itemsize <= LARGEST


def test_paths_are_written_as_in_python():
    assert shown([("key", "a"), ("index", 2), ("attribute", "x")]) == "['a'][2].x"


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    checkpoint_files.orbax.cache_clear()
    with pytest.raises(reactant.CheckpointError, match=r'pip install "\.\[cluster\]"'):
        reactant.Checkpoints(tmp_path)
    monkeypatch.undo()
    checkpoint_files.orbax.cache_clear()
