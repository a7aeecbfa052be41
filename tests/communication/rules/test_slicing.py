"""Arrays in reverse: what begins on the first device begins on the last one then."""
import numpy as np
import pytest

from tests.communication.rules.on_meshes import WAYS, check

pytestmark = [pytest.mark.devices8, pytest.mark.usefixtures("poison")]

RANDOM = np.random.default_rng(0)
ARRAYS = [RANDOM.normal(size=s) for s in ((64, 48), (61, 53), (17, 9))]


def stepped(x):
    for _ in range(3):
        x[1:-1] = x[1:-1] + 0.1 * (x[::-1][2:] - x[:-2])
    return x


def reflected(x):
    y = np.pad(x, ((3, 3), (2, 2)), mode="reflect")
    return y[6:] - y[:-6]


FUNCTIONS = {
    "itself": lambda x: x[::-1], "sum with itself": lambda x: x + np.flip(x, 0), "both": lambda x: x[::-1, ::-1] * x,
    "every other": lambda x: x[::-2] + x[::2], "stepped": stepped, "reflected": reflected,
    "symmetric": lambda x: np.pad(x, ((3, 3), (2, 2)), mode="symmetric"),
    "rolled": lambda x: np.roll(x[::-1], 3, 0) * x, "running sum": lambda x: np.cumsum(x[::-1], 0),
    "suffix sums": lambda x: np.flip(np.cumsum(np.flip(x, 0), 0), 0),
    "parts of sums": lambda x: np.cumsum(x[::-1][1:], 0)[::-1][2:] - x[3:],
    "joined": lambda x: np.concatenate([x[::-1], x], 0), "product": lambda x: np.flip(x).T @ x,
    "reduced": lambda x: ((x[::-1] * x).sum(), x[::-1].argmax(0), x[::-1].max(0)),
    "all in a row": lambda x: np.sort(x[::-1].ravel()),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: str(x.shape))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name, x, way):
    check(FUNCTIONS[name], x, way)


@pytest.mark.parametrize(("name", "most"), [("itself", 0), ("sum with itself", 24), ("both", 24), ("symmetric", 8),
                                            ("reflected", 16), ("suffix sums", 21)])
def test_bytes(name, most):
    check(FUNCTIONS[name], ARRAYS[0], "x", {"x": most})     # everything everywhere: 168
