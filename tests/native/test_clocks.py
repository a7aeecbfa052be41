"""Marks in native code count what runs between them, and how often."""
import time

import numpy as np
import pytest

from reactant import native
from reactant.native import clocks

TEXT = """
{declared}
func.func @sums(%a: memref<?xf64>, %out: memref<1xf64>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %iterations = arith.constant 7 : index
  %start = arith.constant 0.0 : f64
  %n = memref.dim %a, %zero : memref<?xf64>
  {outer0}
  %total = scf.for %t = %zero to %iterations step %one iter_args(%x = %start) -> (f64) {{
    {once}
    {inner0}
    %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) {{
      %v = memref.load %a[%i] : memref<?xf64>
      %w = arith.addf %s, %v : f64
      scf.yield %w : f64
    }}
    {inner1}
    scf.yield %y : f64
  }}
  {outer1}
  memref.store %total, %out[%zero] : memref<1xf64>
  return
}}"""


def marked_function():
    outer, inner, iterations = clocks.new_site("outer"), clocks.new_site("inner"), clocks.new_number()
    text = TEXT.format(declared=clocks.DECLARED, outer0=clocks.mark(outer.number, clocks.BEGIN),
                       outer1=clocks.mark(outer.number, clocks.END), inner0=clocks.mark(inner.number, clocks.BEGIN),
                       inner1=clocks.mark(inner.number, clocks.END), once=clocks.mark(iterations, clocks.ONCE))
    return native.compile(text), outer.number, inner.number, iterations


def test_marks_count_cycles_and_iterations_and_change_no_result():
    function, outer, inner, iterations = marked_function()
    a, out = np.arange(200_000.0), np.zeros(1)
    rate, seconds = clocks.Rate(), 0.0
    function(a, out)
    function.measured(again=True)
    for _ in range(3):
        begun = time.perf_counter()
        function(a, out)
        seconds += time.perf_counter() - begun
    assert out[0] == 7 * a.sum()
    found = function.measured(again=True)
    assert found[outer].count == 3 and found[inner].count == found[iterations].count == 21
    assert found[iterations].cycles == 0 < found[inner].cycles <= found[outer].cycles
    measured = found[outer].cycles / rate.cycles_a_second()
    assert 0.5 * seconds < measured < 1.1 * seconds, "the clock is the processor's, its rate that of perf_counter"
    assert function.measured()[outer] == clocks.Counted(0, 0), "counted from 0 again"


def test_nothing_is_marked_unless_somebody_records():
    assert not clocks.recording()
    with clocks.marked():
        assert clocks.recording()
        with clocks.marked(everywhere=True):
            assert clocks.recording()
    assert not clocks.recording()
    plain = native.compile("func.func @nothing(%a: memref<?xf64>) { return }")
    assert plain.sites == () and plain.measured() == {}


def test_marks_in_what_runs_on_several_threads_are_nothing():
    site = clocks.new_site("task")
    function = native.compile(f"""
{clocks.DECLARED}
func.func @each(%a: memref<?xf64>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %a, %zero : memref<?xf64>
  scf.parallel (%i) = (%zero) to (%n) step (%one) {{
    {clocks.mark(site.number, clocks.BEGIN)}
    %v = memref.load %a[%i] : memref<?xf64>
    %w = arith.addf %v, %v : f64
    memref.store %w, %a[%i] : memref<?xf64>
    {clocks.mark(site.number, clocks.END)}
    scf.reduce
  }}
  return
}}""")
    a = np.ones(5)
    function(a)
    assert a.tolist() == [2.0] * 5 and function.sites == ()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_number_for_each_site(count):
    assert clocks.numbers(count).count(f"[{3 * count} x i64]") == 1
