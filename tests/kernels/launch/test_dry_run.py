"""What threads execute, counted on small kernels."""
from types import SimpleNamespace

import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.launch import dry_run

HEAD = """func.func @kernel(%x: memref<?xf64>, %y: memref<?xf64>, %p: memref<?xi64>) attributes {gpu.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant 0.0 : f64
  %t = gpu.thread_id x
  %b = gpu.block_id x
  %s = arith.muli %b, %c100 : index
  %i = arith.addi %s, %t : index
"""
SUM = """%r = scf.for %k = %c0 to BOUND step %c1 iter_args(%a = %zero) -> (f64) {
    %v = memref.load %x[%k] : memref<?xf64>
    %n = arith.addf %a, %v : f64
    scf.yield %n : f64
  }
  memref.store %r, %y[%i] : memref<?xf64>"""
HALVES = """%r = scf.while (%k = %c100) : (index) -> index {
    %more = arith.cmpi sgt, %k, %c0 : index
    scf.condition(%more) %k : index
  } do {
  ^bb0(%k: index):
    gpu.barrier
    %in = arith.cmpi slt, %t, %k : index
    scf.if %in {
      memref.store %zero, %y[%t] : memref<?xf64>
    }
    %half = arith.divsi %k, %c2 : index
    scf.yield %half : index
  }"""
STRIDE = """scf.while (%k = %i) : (index) -> index {
    %more = arith.cmpi slt, %k, %c1000 : index
    scf.condition(%more) %k : index
  } do {
  ^bb0(%k: index):
    memref.store %zero, %y[%k] : memref<?xf64>
    %next = arith.addi %k, %c1 : index
    scf.yield %next : index
  }"""
FOUND = """%q = memref.load %p[%i] : memref<?xi64>
  %j = arith.index_cast %q : i64 to index
  %v = memref.load %x[%j] : memref<?xf64>
  %w = arith.index_cast %q : i64 to index
  %c = arith.cmpi slt, %w, %c7 : index
  scf.if %c {
    memref.store %v, %y[%i] : memref<?xf64>
  }"""
CASES = {
    "a short loop": (SUM.replace("BOUND", "%c7"), {"load": 0, "store": 1, "arithmetic": 7}),
    "a long loop": (SUM.replace("BOUND", "%c1000"), {"load alone": 1000, "store": 1, "arithmetic alone": 1000}),
    "as data say": (f"%q = memref.load %p[%i] : memref<?xi64>\n%u = arith.index_cast %q : i64 to index\n"
                    f"{SUM.replace('BOUND', '%u')}", {"load": 1, "load apart": dry_run.UNKNOWN_ITERATIONS, "store": 1}),
    "halves and barriers": (HALVES, {"barrier": 7}),
    "places that data say": (FOUND, {"load": 1, "load far": 1, "store": 1}),
    "a column": ("%j = arith.muli %i, %c100 : index\n%v = memref.load %x[%j] : memref<?xf64>", {"load far": 1}),
}


def counted(body, blocks=3):
    with building():
        module = modules.parse(f"{HEAD}  {body}\n  return\n}}")
        return dry_run.counts_of(SimpleNamespace(grid=(blocks, 1, 1), block=(100, 1, 1), parameters=(),
                                                 threads=100 * blocks), module)


@pytest.mark.parametrize("body, expected", CASES.values(), ids=CASES)
def test_counts(body, expected):
    found = counted(body)
    for kind, number in expected.items():
        assert found[kind] == pytest.approx(number), dict(found)


def test_threads_of_a_guard_and_of_a_stride_are_counted_on_the_average():
    assert 1.5 <= counted(HALVES)["store"] <= 4
    assert 700 < counted(STRIDE)["store alone"] + counted(STRIDE)["store"] < 1000


def test_long_kernels_are_not_run_to_their_end():
    deep = "\n".join([f"scf.for %k{i} = %c0 to %c1000 step %c1 {{" for i in range(12)]
                     + ["memref.store %zero, %y[%i] : memref<?xf64>"] + ["}"] * 12)
    assert counted(deep)["store alone"] > 1e20
