"""Reshapes and broadcasts of divided arrays."""
import numpy as np
import pytest

from tests.communication.rules.on_meshes import WAYS, check

pytestmark = [pytest.mark.devices8, pytest.mark.usefixtures("poison")]

RANDOM = np.random.default_rng(0)
ARRAYS = [RANDOM.normal(size=s) for s in ((64, 48), (61, 53), (40, 24, 6), (97,))]


def shifted_in_a_row(x):
    """Neighbours as a kernel reads them that knows an address only."""
    n, m = len(x), x.size // len(x)
    flat, first, last = x.ravel(), 3 * m, (n - 2) * m
    return (flat[first + 1:last + 1] * 2 - flat[first - 1:last - 1]).reshape(n - 5, *x.shape[1:])


FUNCTIONS = {
    "shifted in a row": shifted_in_a_row,
    "in a row": lambda x: x.ravel()[5:-7].sum() + np.roll(x.ravel(), 3).reshape(x.shape)[1:],
    "pairs": lambda x: x[:len(x) // 2 * 2][1:-1].reshape(-1, 2, *x.shape[1:]).sum(1),
    "of three": lambda x: x[2:2 + (len(x) - 4) // 3 * 3].reshape(-1, 3, *x.shape[1:])[:, 0],
    "merged": lambda x: x[1:].reshape(-1)[2:], "outer": lambda x: x[:, None] - x[None, :],
    "bits": lambda x: x.view(np.int64)[1:] ^ x.view(np.int64)[:-1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: str(x.shape))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name, x, way):
    check(FUNCTIONS[name], x, way)


@pytest.mark.parametrize(("name", "number", "most"), [("shifted in a row", 0, 16), ("in a row", 0, 3), ("pairs", 0, 3),
                                                      ("outer", 3, 6), ("bits", 0, 3)])
def test_bytes(name, number, most):
    check(FUNCTIONS[name], ARRAYS[number], "x", {"x": most})
