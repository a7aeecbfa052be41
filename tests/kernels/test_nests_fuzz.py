"""Random nests of loops and branches, raised and native, against the emulation. Longer: `-m slow` of this file."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

from tests.kernels.fuzz import oracles  # noqa: E402
from tests.kernels.fuzz.nests import Nest, arguments  # noqa: E402


def compare(seeds, folder):
    sources = {seed: Nest(seed).source() for seed in seeds}
    emulated = oracles.emulated({"nests": "".join(sources.values())}, folder)["nests"]
    for seed, source in sources.items():
        expected = arguments(seed)
        getattr(emulated, f"k{seed}")[3, 12](*expected)
        for way in ("tensor", "native"):
            found = arguments(seed)
            reactant.cuda.load(source, lower=way)[f"k{seed}"][3, 12](*found)
            np.testing.assert_array_equal(found[2], expected[2], err_msg=f"{source}{way}")


def test_random_nests(tmp_path):
    compare([0], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(30))
def test_many_random_nests(part, tmp_path):
    compare(range(2000 + 20 * part, 2020 + 20 * part), tmp_path)
