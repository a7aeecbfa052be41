"""Reductions of parts, whose results go around in as few bytes as sums."""
import numpy as np
import pytest

from tests.communication.rules.on_meshes import WAYS, check

pytestmark = [pytest.mark.devices8, pytest.mark.usefixtures("poison")]

RANDOM = np.random.default_rng(0)
PLAIN = RANDOM.normal(size=(61, 512))
NANS = PLAIN.copy()
NANS[[7, 40], 3] = np.nan
ARRAYS = {"float64": PLAIN, "NaN": NANS, "float32": PLAIN.astype(np.float32), "int32": (PLAIN * 100).astype(np.int32),
          "narrow": RANDOM.normal(size=(64, 3)), "vector": RANDOM.normal(size=1021)}
FUNCTIONS = {
    "begun": lambda x: (np.sum(x, 0, initial=5), np.max(x, 0, initial=3)),
    "places": lambda x: (np.argmax(x, 0), np.argmin(x, 0), np.argmax(x)),
    "extremes": lambda x: (x.max(0), x.min(0), x.max(), np.nanmax(x)),
    "logical": lambda x: ((x > 0.5).any(0), (x > -9).all(0), (x > 999).any()),
    "bits": lambda x: (np.bitwise_or.reduce((x > 1) * 6, 0), np.bitwise_xor.reduce((x > 0) * 5, 0)),
    "softmax": lambda x: np.exp(x - x.max(0)) / np.exp(x - x.max(0)).sum(0),
    "product": lambda x: np.prod(1 + x * 1e-3, 0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name, array, way):
    check(FUNCTIONS[name], ARRAYS[array], way, rtol=1e-5 if array == "float32" else 1e-9)


@pytest.mark.parametrize(("name", "most"), [("product", 57), ("logical", 15), ("places", 232)])
def test_bytes(name, most):
    check(FUNCTIONS[name], PLAIN, "x", {"x": most})         # gathered from all: 224, 57 and 900
