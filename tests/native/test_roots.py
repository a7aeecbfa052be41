"""Pointers that change places in a loop: two objects in every iteration, as LLVM is told."""
from __future__ import annotations

import numpy as np
import pytest

from reactant import native

PROGRAM = """
func.func @f(%x: memref<40xf64>, %k: memref<40xf64>, %out: memref<40xf64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 40 : index
  %iterations = arith.constant 3 : index
  %one = memref.alloc() : memref<40xf64>
  %two = memref.alloc() : memref<40xf64>
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %x[%i] : memref<40xf64>
    memref.store %v, %one[%i] : memref<40xf64>
  }}
  %r:3 = scf.while (%t = %c0, %p = %one, %q = {second}) : (index, memref<40xf64>, memref<40xf64>)
      -> (index, memref<40xf64>, memref<40xf64>) {{
    %go = arith.cmpi slt, %t, %iterations : index
    scf.condition(%go) %t, %p, %q : index, memref<40xf64>, memref<40xf64>
  }} do {{
  ^bb0(%t: index, %a: memref<40xf64>, %b: memref<40xf64>):
    scf.for %i = %c0 to %n step %c1 {{
      %u = memref.load %k[%i] : memref<40xf64>
      %v = memref.load %a[%i] : memref<40xf64>
      %s = arith.mulf %u, %v : f64
      memref.store %s, %b[%i] : memref<40xf64>
      %w = memref.load %k[%i] : memref<40xf64>
      %y = memref.load {again}[%i] : memref<40xf64>
      %z = arith.addf %w, %y : f64
      %e = arith.addf %z, %s : f64
      memref.store %e, %b[%i] : memref<40xf64>
    }} {{native.independent}}
    %m = arith.addi %t, %c1 : index
    scf.yield %m, %b, {given} : index, memref<40xf64>, memref<40xf64>
  }}
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %r#1[%i] : memref<40xf64>
    memref.store %v, %out[%i] : memref<40xf64>
  }}
  return
}}
"""


@pytest.mark.machine_code
@pytest.mark.parametrize("second, again, given, parallel", [
    ("%two", "%a", "%a", True),         # they change places
    ("%two", "%b", "%a", False),        # what has just been stored is read
    ("%one", "%a", "%a", False),        # one object twice
    ("%two", "%one", "%a", False),      # which may be either of the two
    ("%two", "%a", "%b", False),        # both are one from the second turn on
    ("%two", "%x", "%a", True),         # another object
])
def test_llvm_is_told_that_they_differ(second, again, given, parallel):
    function = native.compile(PROGRAM.format(second=second, again=again, given=given), "f",
                              roles=["in", "in", "out"])
    assert ("llvm.loop.parallel_accesses" in function.as_llvm()) is parallel
    rng = np.random.default_rng(0)
    x, k, out = rng.normal(size=40), rng.normal(size=40), np.empty(40)
    objects = {"%one": x.copy(), "%two": np.zeros(40), "%x": x}
    a, b = objects["%one"], objects[second]
    for _ in range(3):
        s = k * a
        b[:] = s
        b[:] = k + {"%a": a, "%b": b, **objects}[again] + s
        a, b = b, {"%a": a, "%b": b}[given]
    function(x, k, out)
    np.testing.assert_allclose(out, a, rtol=1e-14)
