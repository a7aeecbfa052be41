"""Random loops in kernels, raised and native, against the emulation. Longer: `pytest -m slow` of this file."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

from tests.kernels.fuzz import oracles  # noqa: E402
from tests.kernels.fuzz.loops import random_loop  # noqa: E402


def compare(seeds, folder, ways):
    loops = [random_loop(seed) for seed in seeds]
    source = "".join(loop.source for loop in loops)
    emulated = oracles.emulated({"loops": source}, folder)["loops"]
    for loop in loops:
        expected = loop.arguments()
        getattr(emulated, loop.name)[(3,), (loop.threads,)](*expected)
        for way in ways:
            found = loop.arguments()
            reactant.cuda.load(loop.source, lower=way)[loop.name][3, loop.threads](*found)
            close = {4: 1e-4, 8: 1e-9}[loop.result.itemsize] if loop.result.kind == "f" else 0
            size = np.abs(expected[1]).max() if close else 0
            np.testing.assert_allclose(found[1], expected[1], rtol=close, atol=close * min(size, 1e6),
                                       err_msg=f"{loop.source}{way}")


def test_random_loops(tmp_path):
    compare(range(3), tmp_path, ("tensor", "native"))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(30))
def test_many_random_loops(part, tmp_path):
    compare(range(100 + 20 * part, 120 + 20 * part), tmp_path, ("tensor", "native"))
