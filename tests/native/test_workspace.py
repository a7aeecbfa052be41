"""Memory that native functions work in: kept, one block of the process, known to memory_analysis."""
import resource
import threading

import numpy as np
import pytest

import reactant
from reactant import native
from reactant.native import workspace
from reactant.native.function import NativeError
from reactant.runtime.pool import release_memory

pytestmark = pytest.mark.skipif(not workspace.available(), reason="blocks are made by Linux's mmap")

REVERSED = """
func.func @reversed(%a: memref<8xf64>, %out: memref<8xf64>, %work: memref<8xf64>, %more: memref<8xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%i] : memref<8xf64>
    %y = arith.addf %x, %x : f64
    memref.store %x, %work[%i] : memref<8xf64>
    memref.store %y, %more[%i] : memref<8xf64>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %j = arith.subi %c7, %i : index
    %x = memref.load %work[%j] : memref<8xf64>
    %y = memref.load %more[%i] : memref<8xf64>
    %z = arith.addf %x, %y : f64
    memref.store %z, %out[%i] : memref<8xf64>
  }
  return
}"""


def compiled():
    return native.compile(REVERSED, roles=["in", "out", "out", "out"], worked_in=2)


@pytest.mark.machine_code
def test_callers_do_not_give_what_a_function_works_in():
    function = compiled()
    assert [a.role for a in function.arguments] == ["in", "out"] and function.workspace == 128
    x, out = np.arange(8.0), np.zeros(8)
    function(x, out)
    np.testing.assert_array_equal(out, x[::-1] + 2 * x)
    assert workspace.release() > 0 and workspace.release() == 0
    function(x + 1, out)
    np.testing.assert_array_equal(out, (x + 1)[::-1] + 2 * (x + 1))


def test_threads_at_the_same_time_have_blocks_of_their_own():
    function, wrong = compiled(), []

    def work(start):
        x, out = np.arange(8.0) + start, np.zeros(8)
        for _ in range(500):
            function(x, out)
            if not np.array_equal(out, x[::-1] + 2 * x):
                wrong.append(start)
    threads = [threading.Thread(target=work, args=(100.0 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.machine_code
def test_no_memory_is_an_error():
    text = REVERSED.replace("%more: memref<8xf64>", "%more: memref<8xf64>, %huge: memref<1125899906842624xf64>")
    function = native.compile(text, roles=["in", "out", "out", "out", "out"], worked_in=3)
    with pytest.raises(NativeError, match="no memory for the 9,007,199,254,741,"):
        function(np.arange(8.0), np.zeros(8))


def test_sizes_of_run_time_cannot_be_worked_in():
    text = "func.func @f(%a: memref<4xf64>, %work: memref<?xf64>) { return }"
    with pytest.raises(NativeError, match="static shape"):
        native.compile(text, roles=["in", "out"], worked_in=1)


def decay(x, steps):
    """Its gradient keeps every state: 100 of 250 kB."""
    x = x.copy()
    for _ in range(steps):
        x[1:-1] = x[1:-1] * x[1:-1] * 0.5 + 0.3 * (x[2:] + x[:-2])
    return np.sum(x)


def test_big_workspaces_are_counted_and_kept():
    x = np.linspace(0.1, 0.5, 32_000)
    gradient = reactant.grad(decay)
    sizes = gradient.lower(x, 100).compile().memory_analysis()
    assert 100 * x.nbytes < sizes.temp_size_in_bytes < 120 * x.nbytes
    first = gradient(x, 100)
    small = reactant.grad(decay, checkpoint=10)(x, 100)
    np.testing.assert_allclose(first, small, rtol=1e-12)
    gradient(x, 100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        gradient(x, 100)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * resource.getpagesize() < 50 * x.nbytes
    assert release_memory() >= 100 * x.nbytes
    np.testing.assert_array_equal(gradient(x, 100), first)
