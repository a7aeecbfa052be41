"""Files whose host code does not compile here load all the same, or say what is wrong with their kernels."""
import warnings

import numpy as np
import pytest

import reactant
from tests.kernels.ways_in.host_sources import REFUSED, SOURCES

pytest.importorskip("ziglang", reason="needs ziglang")

QUICK = {"cublas", "template_launcher", "namespaces", "raw_strings", "no_includes", "spaced_launches"}
QUICK_REFUSED = {"device_error", "device_needs_blanked_template"}


def table(names, quick):
    return [n if n in quick else pytest.param(n, marks=pytest.mark.slow) for n in names]


def plain(name):
    return name.replace(" ", "")


@pytest.mark.parametrize("name", table(SOURCES, QUICK))
def test_kernels_load(name):
    source, kernels = SOURCES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = reactant.cuda.load(source)
    assert set(map(plain, kernels)) <= set(map(plain, module))
    if "up" in module:
        x = np.arange(5, dtype=np.float32)
        module.up[1, 32](x, 3)
        assert np.array_equal(x, np.float32([1, 2, 3, 3, 4]))


@pytest.mark.parametrize("name", table(REFUSED, QUICK_REFUSED))
def test_errors_of_device_code_are_shown(name):
    source, has, lacks = REFUSED[name]
    with warnings.catch_warnings(), pytest.raises(reactant.errors.ReactantError) as raised:
        warnings.simplefilter("ignore")
        reactant.cuda.load(source)
    said = str(raised.value)
    assert all(text in said for text in has), said
    assert not any(text in said for text in lacks), said
