"""Memory in native code: strides, views, local arrays, constants, complex numbers, atomics."""
from __future__ import annotations

import numpy as np
import pytest

from reactant import native

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
"""


def compiled(arguments: str, body: str, rest: str = "", **options) -> native.NativeFunction:
    return native.compile(f"func.func @f({arguments}) {{\n{HEAD}\n{body}\nreturn\n}}\n{rest}", "f", **options)


def test_views():
    run = compiled("%a: memref<6x8xf64>, %o: memref<12xf64>", """
    %s = memref.subview %a[1, %c2] [3, 4] [2, 1] : memref<6x8xf64> to memref<3x4xf64, strided<[16, 1], offset: ?>>
    %row = memref.subview %s[%c2, 0] [1, 4] [1, 1] : memref<3x4xf64, strided<[16, 1], offset: ?>>
        to memref<4xf64, strided<[1], offset: ?>>
    %flat = memref.collapse_shape %a [[0, 1]] : memref<6x8xf64> into memref<48xf64>
    %cast = memref.reinterpret_cast %a to offset: [%c3], sizes: [%c4], strides: [8]
        : memref<6x8xf64> to memref<?xf64, strided<[8], offset: ?>>
    %d = memref.dim %cast, %c0 : memref<?xf64, strided<[8], offset: ?>>
    scf.for %i = %c0 to %d step %c1 {
      %x = memref.load %s[%c1, %i] : memref<3x4xf64, strided<[16, 1], offset: ?>>
      %y = memref.load %row[%i] : memref<4xf64, strided<[1], offset: ?>>
      %z = memref.load %cast[%i] : memref<?xf64, strided<[8], offset: ?>>
      %w = memref.load %flat[%i] : memref<48xf64>
      %u = arith.addf %z, %w : f64
      memref.store %x, %o[%i] : memref<12xf64>
      %j = arith.addi %i, %c4 : index
      memref.store %y, %o[%j] : memref<12xf64>
      %k = arith.addi %j, %c4 : index
      memref.store %u, %o[%k] : memref<12xf64>
    }""")
    a, out = np.arange(48.0).reshape(6, 8), np.zeros(12)
    run(a, out)
    s = a[1:6:2, 2:6]
    np.testing.assert_array_equal(out, np.concatenate([s[1], s[2], a.ravel()[3::8][:4] + a.ravel()[:4]]))


@pytest.mark.parametrize("count", [16, 100_000])
@pytest.mark.parametrize("kind", ["alloca", "alloc"])
def test_local_arrays(count, kind):
    free = f"memref.dealloc %t : memref<{count}xf64>" if kind == "alloc" else ""
    run = compiled(f"%a: memref<{count}xf64>", f"""
    %n = arith.constant {count} : index
    %last = arith.constant {count - 1} : index
    %t = memref.{kind}() : memref<{count}xf64>
    memref.copy %a, %t : memref<{count}xf64> to memref<{count}xf64>
    scf.for %i = %c0 to %n step %c1 {{
      %j = arith.subi %last, %i : index
      %x = memref.load %t[%j] : memref<{count}xf64>
      memref.store %x, %a[%i] : memref<{count}xf64>
    }}
    {free}""")
    a = np.arange(float(count))
    run(a)
    np.testing.assert_array_equal(a, np.arange(float(count))[::-1])


def test_local_arrays_in_parallel_loops_are_each_iterations_own():
    run = compiled("%a: memref<64x8xf64>", """
    %n = arith.constant 64 : index
    %m = arith.constant 8 : index
    %last = arith.constant 7 : index
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %t = memref.alloca() : memref<8xf64>
      scf.for %j = %c0 to %m step %c1 {
        %x = memref.load %a[%i, %j] : memref<64x8xf64>
        memref.store %x, %t[%j] : memref<8xf64>
      }
      scf.for %j = %c0 to %m step %c1 {
        %k = arith.subi %last, %j : index
        %x = memref.load %t[%k] : memref<8xf64>
        memref.store %x, %a[%i, %j] : memref<64x8xf64>
      }
      scf.reduce
    }""")
    a = np.random.default_rng(0).normal(size=(64, 8))
    expected = a[:, ::-1].copy()
    run(a)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("element", ["f32", "complex<f64>", "i1"])
def test_prefetch_is_a_hint_and_may_be_for_what_is_not_there(element):
    run = compiled(f"%a: memref<4x{element}>, %o: memref<4x{element}>", f"""
    %far = arith.constant 1000000000000 : index
    memref.prefetch %a[%far], read, locality<3>, data : memref<4x{element}>
    scf.for %i = %c0 to %c4 step %c1 {{
      memref.prefetch %a[%i], read, locality<0>, data : memref<4x{element}>
      memref.prefetch %o[%i], write, locality<2>, data : memref<4x{element}>
      %x = memref.load %a[%i] : memref<4x{element}>
      memref.store %x, %o[%i] : memref<4x{element}>
    }}""")
    a = np.array([1, 0, 0, 1], {"f32": "f4", "i1": "?"}.get(element, "c16"))
    o = np.zeros_like(a)
    run(a, o)
    np.testing.assert_array_equal(o, a)
    assert "prefetch" in run.as_llvm()


def test_constants_in_memory():
    run = compiled("%o: memref<4xf32>, %z: memref<2xcomplex<f64>>, %b: memref<3xi1>", """
    %g = memref.get_global @table : memref<2x2xf32>
    %s = memref.get_global @same : memref<3xi1>
    %h = memref.get_global @complex : memref<2xcomplex<f64>>
    scf.for %i = %c0 to %c2 step %c1 {
      %x = memref.load %g[%c1, %i] : memref<2x2xf32>
      memref.store %x, %o[%i] : memref<4xf32>
      %v = memref.load %h[%i] : memref<2xcomplex<f64>>
      memref.store %v, %z[%i] : memref<2xcomplex<f64>>
      %t = memref.load %s[%i] : memref<3xi1>
      memref.store %t, %b[%i] : memref<3xi1>
    }""", """
    memref.global "private" constant @table : memref<2x2xf32> = dense<[[1.0, 2.0], [3.5, 4.25]]>
    memref.global "private" constant @same : memref<3xi1> = dense<true>
    memref.global "private" constant @complex : memref<2xcomplex<f64>> = dense<[(1.0, 2.0), (3.0, -4.0)]>""")
    out, z, b = np.zeros(4, np.float32), np.zeros(2, complex), np.zeros(3, bool)
    run(out, z, b)
    assert out.tolist() == [3.5, 4.25, 0, 0] and z.tolist() == [1 + 2j, 3 - 4j] and b.tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers(dtype):
    kind = "complex<f32>" if dtype == np.complex64 else "complex<f64>"
    part = kind[8:-1]
    run = compiled(f"%a: memref<20x{kind}>, %b: memref<20x{kind}>, %o: memref<20x{kind}>, %e: memref<20xi1>", f"""
    %n = arith.constant 20 : index
    %k = complex.constant [1.0 : {part}, -2.0 : {part}] : {kind}
    scf.for %i = %c0 to %n step %c1 {{
      %x = memref.load %a[%i] : memref<20x{kind}>
      %y = memref.load %b[%i] : memref<20x{kind}>
      %p = complex.mul %x, %y : {kind}
      %s = complex.add %p, %k : {kind}
      %d = complex.sub %s, %x : {kind}
      %re = complex.re %d : {kind}
      %im = complex.im %d : {kind}
      %t = complex.create %im, %re : {kind}
      memref.store %t, %o[%i] : memref<20x{kind}>
      %same = complex.eq %x, %y : {kind}
      memref.store %same, %e[%i] : memref<20xi1>
    }}""")
    generator = np.random.default_rng(0)
    a, b = ((generator.integers(-9, 9, 20) + 1j * generator.integers(-9, 9, 20)).astype(dtype) for _ in range(2))
    b[3] = a[3]
    out, equal = np.zeros(20, dtype), np.zeros(20, bool)
    run(a, b, out, equal)
    d = a * b + (1 - 2j) - a
    np.testing.assert_array_equal(out, (d.imag + 1j * d.real).astype(dtype))
    np.testing.assert_array_equal(equal, a == b)


ATOMICS = {("addi", "i32"): np.add, ("addi", "i8"): np.add, ("andi", "i64"): np.bitwise_and,
           ("ori", "i32"): np.bitwise_or, ("maxs", "i64"): np.maximum, ("mins", "i16"): np.minimum,
           ("muli", "i32"): np.multiply,
           ("addf", "f32"): np.add, ("addf", "f64"): np.add, ("addf", "f16"): np.add, ("maximumf", "f64"): np.maximum,
           ("minnumf", "f32"): np.fmin, ("mulf", "f64"): np.multiply, ("xori", "i32"): np.bitwise_xor}
DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32,
          "f64": np.float64}


@pytest.mark.parametrize("name, kind", ATOMICS)
def test_atomics(name, kind):
    run = compiled(f"%a: memref<50x{kind}>, %t: memref<3x{kind}>, %before: memref<50x{kind}>", f"""
    %n = arith.constant 50 : index
    scf.for %i = %c0 to %n step %c1 {{
      %j = arith.remui %i, %c3 : index
      %x = memref.load %a[%i] : memref<50x{kind}>
      %old = memref.atomic_rmw {name} %x, %t[%j] : ({kind}, memref<3x{kind}>) -> {kind}
      memref.store %old, %before[%i] : memref<50x{kind}>
    }}""", roles=["in", "inout", "out"])
    a = np.random.default_rng(1).integers(1, 4, 50).astype(DTYPES[kind])
    table, before = np.ones(3, DTYPES[kind]), np.zeros(50, DTYPES[kind])
    expected, olds = table.copy(), []
    with np.errstate(over="ignore"):
        for i in range(50):
            olds.append(expected[i % 3])
            expected[i % 3] = ATOMICS[name, kind](expected[i % 3], a[i])
    run(a, table, before)
    np.testing.assert_array_equal(table, expected)
    np.testing.assert_array_equal(before, np.array(olds))


def test_generic_atomic():
    run = compiled("%t: memref<3xf64>, %before: memref<1xf64>", """
    %k = arith.constant 10.0 : f64
    %old = memref.generic_atomic_rmw %t[%c1] : memref<3xf64> {
    ^bb0(%x: f64):
      %y = arith.mulf %x, %k : f64
      memref.atomic_yield %y : f64
    }
    memref.store %old, %before[%c0] : memref<1xf64>""")
    t, before = np.array([1.0, 2.0, 3.0]), np.zeros(1)
    run(t, before)
    assert t.tolist() == [1, 20, 3] and before[0] == 2


def test_arrays_that_overlap():
    """With distinct=False the same array may be given twice."""
    run = compiled("%a: memref<?xf64>, %b: memref<?xf64>", """
    %n = memref.dim %a, %c0 : memref<?xf64>
    %k = arith.constant 1.0 : f64
    scf.for %i = %c1 to %n step %c1 {
      %j = arith.subi %i, %c1 : index
      %x = memref.load %a[%j] : memref<?xf64>
      %y = arith.addf %x, %k : f64
      memref.store %y, %b[%i] : memref<?xf64>
    }""", distinct=False)
    a = np.zeros(100)
    run(a, a)
    np.testing.assert_array_equal(a, np.arange(100.0))
