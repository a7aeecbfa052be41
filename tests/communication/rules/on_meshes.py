"""A function of one array on meshes of eight devices, against NumPy: its results, and how much it may send."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import reactant
from tests.oracle import assert_same

WAYS = {"x": ({"x": 8}, ("x",)), "x,y": ({"x": 4, "y": 2}, ("x", "y")), "yx": ({"x": 4, "y": 2}, (("y", "x"),)),
        "-,x": ({"x": 8}, (None, "x"))}
"""Axes of a mesh, and how they divide an array's first dimensions."""


def on_mesh(x: np.ndarray, way: str) -> reactant.DeviceArray:
    """An array that lies on a mesh in one of `WAYS`; those that divide more dimensions than it has are skipped."""
    axes, names = WAYS[way]
    if x.ndim < len(names):
        pytest.skip("fewer dimensions")
    return reactant.array(x, sharding=reactant.mesh(**axes).sharding(*names))


def check(function: Callable, x: np.ndarray, way: str, most: dict[str, float] | None = None, **tolerance: Any) -> None:
    """Results and what is written are NumPy's. most: KiB that may cross between devices, by the way the array lies."""
    given, written = on_mesh(x, way), x.copy()
    with np.errstate(all="ignore"):
        expected = function(written)
    compiled = reactant.jit(function).lower(given).compile()
    found = jax.tree.map(np.asarray, compiled(given))
    assert_same(expected, found, **{"rtol": 1e-9, "atol": 1e-10, **tolerance})
    np.testing.assert_allclose(np.asarray(given), written, **{"rtol": 1e-9, "atol": 1e-10, **tolerance})
    if most is not None and way in most:
        assert compiled.traffic().bytes <= 1024 * most[way]
