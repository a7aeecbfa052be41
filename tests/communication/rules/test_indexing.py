"""Gathers and scatters at run-time places: what is looked up, written and added by several devices."""
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.communication.rules.indexing import _counts
from reactant.ir import ops
from reactant.ir.context import building
from tests.communication.rules.on_meshes import WAYS, check

pytestmark = [pytest.mark.devices8, pytest.mark.usefixtures("poison")]

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(4096, 6))
FIELD = RANDOM.normal(size=(61, 48))
ODD = np.where(RANDOM.random(4093) < 0.5, -0.0, np.nan)
FEW, ROWS, COLUMNS = RANDOM.integers(0, 4093, 20), RANDOM.integers(0, 61, 61), RANDOM.integers(0, 48, 61)


def written(x):
    x[ROWS[:10]] = np.arange(480.0).reshape(10, 48)
    x[:, COLUMNS[:3]] = 7
    return x


def added(x):
    np.add.at(x, ROWS[:12], x[:12] * 2)
    np.subtract.at(x, (ROWS[:5], COLUMNS[:5]), 3)
    return x


def extremes(x):
    np.maximum.at(x, ROWS[:9], 0.7)
    np.multiply.at(x, ROWS[:9], 2)
    return x


def deposited(x):
    total = np.zeros(16)
    np.add.at(total, (np.abs(x) * 5).astype(int) % 16, x)
    return total


def deposited_narrow(x):
    """Sums of float64 in float32, which NumPy rounds one by one."""
    total = np.zeros(len(x) + 3, np.float32)
    np.add.at(total, (np.abs(x) * 500).astype(int) % len(x), x)
    return total[3:] + x


def along_rows(x):
    k = np.argmax(x, 1)
    rows = np.arange(len(x))
    x[rows, k] = x[rows, COLUMNS]
    x[rows, COLUMNS] += 5
    return x


def beside_a_border(x):
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = x[2:, 1:-1]
    y[ROWS[:5], COLUMNS[:5]] = 9
    return np.roll(y, 1, 0)


def slices(x):
    k = int(np.abs(x[0, 0]) * 7) % 20
    return x[k] * 2, x[:, k % 5], x[k:k + 4] + 1, x[-k % 9, k]


def searched(x):
    k = 0
    while k < len(x) - 1 and np.abs(x[k]).sum() < 45:
        k += 1
    return k, x[k]


def recurrence(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y


CASES = {       # function, array, KiB that may be sent where rows are divided by eight
    "few rows of many": (lambda x: x[FEW], TABLE, 14), "from the end": (lambda x: x[FEW - 4096], TABLE, 14),
    "float32": (lambda x: x[FEW], TABLE.astype(np.float32), 7),
    "int8": (lambda x: x[FEW], (TABLE * 9).astype(np.int8), 2),
    "complex": (lambda x: x[FEW], TABLE + 1j, 27), "booleans": (lambda x: x[FEW], TABLE > 0, 2),
    "elements": (lambda x: x[FEW, FEW % 6], TABLE, 3), "signs and NaN": (lambda x: np.signbit(x[FEW]), ODD, 3),
    "at run time": (lambda x: x[(np.abs(x[:3, 0]) * 900).astype(int)], TABLE, 4),
    "sorted along rows": (lambda x: np.take_along_axis(x, np.argsort(x, 1), 1), FIELD, 0),
    "greatest of each row": (lambda x: x[np.arange(61), np.argmax(x, 1)], FIELD, 1),
    "written": (written, FIELD, 0), "added": (added, FIELD, 64), "extremes": (extremes, FIELD, 0),
    "deposited": (deposited, RANDOM.normal(size=1021), 4),
    "deposited, narrow": (deposited_narrow, RANDOM.normal(size=1021), 120),
    "along rows": (along_rows, FIELD, 11), "beside a border": (beside_a_border, FIELD, 1),
    "slices": (slices, FIELD, 32), "searched": (searched, FIELD, 170), "recurrence": (recurrence, FIELD, 170),
}


@pytest.mark.parametrize(("make", "along"), [
    (lambda: ops.broadcast_in_dim(ops.iota((7,), np.int64, 0), (7, 5), (0,)), 0),
    (lambda: ops.broadcast_in_dim(ops.iota((1, 5), np.int64, 0), (7, 5), (0, 1)), None),
    (lambda: ops.reshape(ops.convert(ops.iota((7,), np.int32, 0), np.int64), (1, 7, 1)), 1),
    (lambda: ops.constant(np.arange(5)[None, :] + np.zeros((3, 1), int)), 1),
    (lambda: ops.constant(np.array([0, 2, 1])), None),
], ids=["rows", "one row, everywhere", "reshaped", "constant", "another order"])
def test_what_counts(make, along):
    with building(), ir.InsertionPoint(ir.Module.create().body):
        assert _counts(make()) == along


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name, way):
    function, x, most = CASES[name]
    check(function, x, way, {"x": most, "yx": most}, **({"rtol": 1e-5} if "narrow" in name else {}))
