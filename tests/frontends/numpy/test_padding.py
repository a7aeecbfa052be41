"""np.pad compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.numpy.tables import check_table

WIDTHS = [((5,), 2), ((5,), (1, 3)), ((3, 4), 1), ((3, 4), ((1, 2), (0, 3))), ((3, 4), ((2,), (1,))),
          ((1,), 3), ((2, 3), (4, 5)), ((0,), 2), ((3, 4), ((0, 0), (0, 0))), ((2,), 9)]
MODES = [("constant", {}), ("constant", {"constant_values": 7}), ("constant", {"constant_values": (1, 2)}),
         ("edge", {}), ("reflect", {}), ("symmetric", {}), ("wrap", {}), ("reflect", {"reflect_type": "odd"}),
         ("symmetric", {"reflect_type": "odd"}), ("mean", {}), ("mean", {"stat_length": (1, 2)}), ("linear_ramp", {}),
         ("linear_ramp", {"end_values": (3, 4)}), ("maximum", {}), ("minimum", {"stat_length": 2}), ("median", {})]


def padded(width, mode, keywords):
    return lambda a: np.pad(a, width, mode, **keywords)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape, width, dtype", [(*case, "f8") for case in WIDTHS] + [
    (*WIDTHS[3], dtype) for dtype in ("i4", "c16", "f4")], ids=str)
def test_modes(shape, width, dtype):
    modes = MODES[:-3] if dtype == "c16" else MODES
    a = (np.random.default_rng(4).normal(size=shape) * 9).astype(dtype)
    check_table([padded(width, mode, keywords) for mode, keywords in modes], a, rtol=1e-5)


def test_arguments():
    a = np.random.default_rng(5).normal(size=(3, 4))
    check_table([lambda a: np.pad(a, 1, "bogus"), lambda a: np.pad(a, -1),
    lambda a: np.pad(a, 1, "edge", constant_values=1),
                 lambda a: np.pad(a, 1, constant_values=a[0, 0]), lambda a: np.pad(a, ((1, 2, 3), (1, 2, 3))),
                 lambda a: np.pad(a, ((1, 2), (3, 4)), constant_values=((1, 2), (3, a[0, 0])))], a)


def test_callable_modes_are_refused():
    with pytest.raises(UnsupportedError, match="np.pad with a function as mode works on Python vectors in place"):
        reactant.jit(lambda a: np.pad(a, 1, lambda v, w, i, k: None))(np.zeros(3))
