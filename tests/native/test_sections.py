"""Long blocks in functions of their own: nothing changes, and what is the same is there once."""
from __future__ import annotations

import numpy as np
import pytest

from reactant import native
from reactant.errors import ReactantError
from reactant.native import sections
from tests.native.test_control import HEAD

LAYER = """
  %first{k} = memref.load %a[%c{k}] : memref<100xf64>
  %sum{k} = arith.addf %{before}, %first{k} : f64
  scf.for %i = %c0 to %n step %c1 {{
    %x = memref.load %a[%i] : memref<100xf64>
    %y = arith.mulf %x, %half : f64
    %z = arith.addf %y, %sum{k} : f64
    memref.store %z, %a[%i] : memref<100xf64>
  }}
  %local{k} = memref.alloca() : memref<4xf64>
  memref.store %sum{k}, %local{k}[%c2] : memref<4xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    %x = memref.load %a[%i] : memref<100xf64>
    %w = memref.load %local{k}[%c2] : memref<4xf64>
    %y = arith.subf %x, %w : f64
    memref.store %y, %a[%i] : memref<100xf64>
    scf.reduce
  }}
"""
LAYERS = 12


@pytest.fixture
def short(monkeypatch):
    for name, value in {"LONG": 40, "LEAST": 6, "MOST": 20}.items():
        monkeypatch.setattr(sections, name, value)


def layered(rest: str = "") -> native.NativeFunction:
    """Numbers, arrays and local memory that go from layer to layer."""
    body = "%half = arith.constant 0.5 : f64\n%start = arith.constant 0.0 : f64\n"
    body += "\n".join(f"%c{k} = arith.constant {k} : index" for k in range(4, LAYERS))
    body += "".join(LAYER.format(k=k, before=f"sum{k - 1}" if k else "start") for k in range(LAYERS))
    return native.compile(f"func.func @f(%a: memref<100xf64>, %b: memref<1xf64>) {{\n{HEAD}\n{body}\n{rest}"
                          f"memref.store %sum{LAYERS - 1}, %b[%c0] : memref<1xf64>\nreturn\n}}\n", "f")


def expected(a: np.ndarray) -> tuple[np.ndarray, float]:
    total = 0.0
    for k in range(LAYERS):
        total += a[k]
        a = (0.5 * a + total) - total
    return a, total


def test_sections_compute_the_same(short):
    run, a, b = layered(), np.linspace(-1, 2, 100), np.zeros(1)
    wanted = expected(a.copy())
    run(a, b)
    np.testing.assert_array_equal(a, wanted[0])
    assert b[0] == wanted[1]
    text = run.as_llvm()
    assert "@section." in text
    assert text.count("define internal void @body.") < LAYERS, "equal loops are there once"


def test_checks_in_sections_end_the_call(short):
    rest = ('%big = arith.constant 1.0e6 : f64\n'
            f'%fine = arith.cmpf olt, %sum{LAYERS - 1}, %big : f64\ncf.assert %fine, "too big"\n')
    run = layered(rest)
    run(np.ones(100), np.zeros(1))
    with pytest.raises(ReactantError, match="too big"):
        run(np.full(100, 1e9), np.zeros(1))


def test_short_functions_are_whole():
    assert "@section." not in layered("%unused = arith.constant 7 : index\n").as_llvm()
