"""Native functions in XLA programs: buffers of every dtype, results in place, threads, checks, what is refused."""
from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import context, modules
from reactant.native import ffi, support
from reactant.runtime.executable import Executable

DOUBLE = """
func.func @double(%a: memref<?x{0}>, %o: memref<?x{0}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x{0}>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    %x = memref.load %a[%i] : memref<?x{0}>
    %y = {1} %x, %x : {0}
    memref.store %y, %o[%i] : memref<?x{0}>
    scf.reduce
  }}
  return
}}"""
ADD_ONE = """
func.func @add_one(%a: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %n = memref.dim %a, %c0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %x = memref.load %a[%i] : memref<?xf64>
    %y = arith.addf %x, %one : f64
    memref.store %y, %a[%i] : memref<?xf64>
    scf.reduce
  }
  return
}"""


def program(text: str, build) -> Executable:
    """A module whose `@main` returns what `build(arguments)` makes at the end of its body."""
    with context.building():
        module = modules.parse(text)
        block = module.body.operations[0].regions[0].blocks[0]
        end = list(block.operations)[-1].operation
        with ir.InsertionPoint(end):
            results = build(list(block.arguments))
        for i, result in enumerate(results):
            end.operands[i] = result
        modules.verify(module)
        return Executable(module)


KINDS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8,
         "i16": np.int16, "i32": np.int32, "i64": np.int64}
IDENTITY = "func.func public @main(%a: {0}) -> {0} {{ return %a : {0} }}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 4), (0, 3), (300_000,)])
def test_buffers(kind, shape):
    run = native.compile(DOUBLE.format(kind, "arith.addf" if kind[0] in "fb" else "arith.addi"), roles=("in", "out"))
    extents = "".join(f"{s}x" for s in shape) + kind
    executable = program(IDENTITY.format(f"tensor<{extents}>"), lambda a: run.custom_call(a, [a[0].type]))
    x = np.random.default_rng(0).integers(0, 50, shape).astype(KINDS[kind])
    result = executable([x])[0]
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x + x)


@pytest.mark.parametrize("dtype, kind, tensor", [
    (np.complex64, "f32", "complex<f32>"), (np.complex128, "f64", "complex<f64>"), (np.uint16, "i16", "ui16"),
    (np.uint64, "i64", "ui64"), (np.int64, "i32", "i64"), (np.int16, "i64", "i16"), (np.bool_, "i8", "i1")])
def test_buffers_are_seen_as_their_bytes(dtype, kind, tensor):
    run = native.compile(DOUBLE.format(kind, "arith.addf" if kind[0] == "f" else "arith.ori"), roles=("in", "out"))
    executable = program(IDENTITY.format(f"tensor<8x{tensor}>"), lambda a: run.custom_call(a, [a[0].type]))
    x = (np.arange(8) * (1 + 2j) if np.dtype(dtype).kind == "c" else np.arange(8)).astype(dtype)
    np.testing.assert_array_equal(executable([x])[0], x + x if kind[0] == "f" else x)


@pytest.mark.parametrize("tensor", ["tensor<3xf32>", "tensor<4xf64>", "tensor<40xi4>"])
def test_tensors_that_do_not_fit(tensor):
    run = native.compile("func.func @f(%a: memref<5xf32>) { return }")
    with pytest.raises(native.NativeError, match="Argument 0 of .* cannot be a tensor"):
        program(IDENTITY.format(tensor), run.custom_call)


def test_result_in_place_copies_only_where_the_old_value_is_read():
    run = native.compile(ADD_ONE)
    assert [a.role for a in run.arguments] == ["inout"]
    text = """func.func public @main(%a: tensor<1000xf64>) -> (tensor<1000xf64>, tensor<1000xf64>) {
        return %a, %a : tensor<1000xf64>, tensor<1000xf64> }"""
    x = np.arange(1000.0)
    before = x.copy()

    def build(arguments):
        once = run.custom_call(arguments)[0]
        return [once, run.custom_call([once])[0]]
    once, twice = program(text, build)([x])
    np.testing.assert_array_equal(once, before + 1)
    np.testing.assert_array_equal(twice, before + 2)
    np.testing.assert_array_equal(x, before)


def test_in_a_loop_of_the_program():
    run = native.compile(ADD_ONE)
    text = """func.func public @main(%a: tensor<64xf64>) -> tensor<64xf64> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %end = stablehlo.constant dense<100> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<64xf64>
      cond { %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1> }
      do { %j = stablehlo.add %i, %one : tensor<i32>
           stablehlo.return %j, %x : tensor<i32>, tensor<64xf64> }
      return %r#1 : tensor<64xf64> }"""
    with context.building():
        module = modules.parse(text)
        loop = next(o for o in modules.walk(module) if o.name == "stablehlo.while")
        body = loop.regions[1].blocks[0]
        end = list(body.operations)[-1].operation
        with ir.InsertionPoint(end):
            end.operands[1] = run.custom_call([body.arguments[1]])[0]
        executable = Executable(module)
    x = np.arange(64.0)
    np.testing.assert_array_equal(executable([x])[0], x + 100)


HEAVY = """
func.func @heavy(%a: memref<?xf64>, %o: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf64>
  %k = arith.constant 200 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %x = memref.load %a[%i] : memref<?xf64>
    %y = scf.for %j = %c0 to %k step %c1 iter_args(%s = %x) -> f64 {
      %t = arith.mulf %s, %x : f64
      %u = arith.addf %t, %x : f64
      scf.yield %u : f64
    }
    memref.store %y, %o[%i] : memref<?xf64>
    scf.reduce
  }
  return
}"""


def test_many_python_threads_at_once():
    run = native.compile(HEAVY, roles=("in", "out"))
    text = "func.func public @main(%a: tensor<4000xf64>) -> tensor<4000xf64> { return %a : tensor<4000xf64> }"
    executable = program(text, lambda arguments: run.custom_call(arguments, [arguments[0].type]))
    inputs = [np.random.default_rng(i).uniform(0, 0.9, 4000) for i in range(8)]

    def expected(x):
        s = x.copy()
        for _ in range(200):
            s = s * x + x
        return s
    wanted = [expected(x) for x in inputs]
    executable([inputs[0]])
    wrong: list[int] = []

    def work(number):
        for _ in range(30):
            if not np.array_equal(executable([inputs[number]])[0], wanted[number]):
                wrong.append(number)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not any(t.is_alive() for t in threads), "a parallel loop waits for ever"
    assert not wrong


def test_atomics_of_several_threads():
    run = native.compile("""
    func.func @count(%a: memref<?xi64>, %o: memref<4xi64>, %s: memref<1xf64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %one = arith.constant 1 : i64
      %half = arith.constant 0.5 : f64
      %n = memref.dim %a, %c0 : memref<?xi64>
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        %x = memref.load %a[%i] : memref<?xi64>
        %w = arith.index_cast %x : i64 to index
        %j = arith.remui %w, %c4 : index
        %r = memref.atomic_rmw addi %one, %o[%j] : (i64, memref<4xi64>) -> i64
        %q = memref.atomic_rmw addf %half, %s[%c0] : (f64, memref<1xf64>) -> f64
        scf.reduce
      }
      return
    }""", roles=("in", "inout", "inout"))
    text = """func.func public @main(%a: tensor<100000xi64>, %o: tensor<4xi64>, %s: tensor<1xf64>)
        -> (tensor<4xi64>, tensor<1xf64>) { return %o, %s : tensor<4xi64>, tensor<1xf64> }"""
    executable = program(text, run.custom_call)
    x = np.random.default_rng(0).integers(0, 100, 100_000)
    counts, total = executable([x, np.zeros(4, np.int64), np.zeros(1)])
    np.testing.assert_array_equal(counts, np.bincount(x % 4, minlength=4))
    assert total[0] == 50_000


def test_numbers_and_checks():
    run = native.compile("""
    func.func @scale(%a: memref<10xf32>, %o: memref<10xf32>, %k: f32, %flag: i1, %from: index) {
      %c1 = arith.constant 1 : index
      %n = arith.constant 10 : index
      %c0 = arith.constant 0 : index
      %ok = arith.cmpi sge, %from, %c0 : index
      cf.assert %ok, "scale: the first index is negative"
      scf.for %i = %from to %n step %c1 {
        %x = memref.load %a[%i] : memref<10xf32>
        %y = arith.mulf %x, %k : f32
        %z = arith.select %flag, %y, %x : f32
        memref.store %z, %o[%i] : memref<10xf32>
      }
      return
    }""", roles=("in", "inout", "in", "in", "in"))
    text = """func.func public @main(%a: tensor<10xf32>, %o: tensor<10xf32>, %k: tensor<f32>, %f: tensor<i1>,
                                  %i: tensor<i64>) -> tensor<10xf32> { return %o : tensor<10xf32> }"""
    executable = program(text, run.custom_call)
    a, zeros = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    result = executable([a, zeros, np.float32(3), np.bool_(True), np.int64(4)])[0]
    np.testing.assert_array_equal(result, np.where(np.arange(10) >= 4, a * 3, 0))
    with pytest.raises(Exception, match="OUT_OF_RANGE: scale: the first index is negative"):
        executable([a, zeros, np.float32(3), np.bool_(True), np.int64(-1)])
    result = executable([a, zeros, np.float32(3), np.bool_(False), np.int64(0)])[0]
    np.testing.assert_array_equal(result, a)
    out = np.zeros(10, np.float32)
    run(a, out, 2.0, True, 5)
    np.testing.assert_array_equal(out, np.where(np.arange(10) >= 5, a * 2, 0))


def test_the_same_text_is_compiled_once():
    assert native.compile(ADD_ONE) is native.compile(ADD_ONE)
    assert native.compile(ADD_ONE) is not native.compile(ADD_ONE, threads=False)


@pytest.mark.machine_code
def test_code_can_be_read():
    run = native.compile(ADD_ONE)
    assert "define void @entry" in run.as_llvm() and "x double>" in run.as_llvm(optimized=True)
    assert "entry:" in run.as_assembly()
    assert repr(run) == "<NativeFunction add_one(inout float64[?])>"


@pytest.mark.parametrize("arguments, message", [
    ((), "takes 2 arguments; got 0"),
    ((np.zeros(3, np.float32), np.zeros(3)), "is an array of float64; got float32"),
    ((np.zeros(3), [1.0]), "is an array of float64; got <class 'list'>"),
    ((np.zeros((3, 4))[:, 1], np.zeros(3)), "contiguous, aligned array"),
])
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(native.NativeError, match=message):
        native.compile(DOUBLE.format("f64", "arith.addf"), roles=("in", "out"))(*arguments)


@pytest.mark.parametrize("text, options, message", [
    ("func.func @f(%a: memref<?x?xf64>) { return }", {}, "dense and of static shape"),
    ("func.func @f(%a: memref<4xf64, strided<[2]>>) { return }", {}, "dense and of static shape"),
    ("func.func @f(%a: memref<4xf64>) { return }", {"roles": ("both",)}, "roles are one of in, out, inout"),
    ("func.func @f(%a: f64) { return }", {"roles": ("out",)}, "A number cannot be out"),
    ("func.func @f(%a: f64) -> f64 { return %a : f64 }", {}, "returns nothing"),
    ("func.func private @f(%a: f64)", {}, "no function"),
])
def test_functions_that_are_refused(text, options, message):
    with pytest.raises(Exception, match=message):
        native.compile(text, **options)


def test_the_header_of_an_unknown_version_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "xla" / "ffi" / "api"
    path.mkdir(parents=True)
    (path / "c_api.h").write_text("#define XLA_FFI_API_MAJOR 7\n#define XLA_FFI_API_MINOR 1\n")
    monkeypatch.setattr(ffi.jax.ffi, "include_dir", lambda: str(tmp_path))
    with pytest.raises(Exception, match="has version 7.1 of XLA's foreign function"):
        ffi.header.__wrapped__()


def test_struct_layouts_are_those_of_the_header():
    """Offsets by hand, for the interface version 0.3."""
    header = ffi.header()
    assert header.struct("XLA_FFI_CallFrame").offsets["rets"] == 80 and header.struct("XLA_FFI_CallFrame").size == 176
    assert header.struct("XLA_FFI_Api").offsets["XLA_FFI_ThreadPool_NumThreads"] == 144
    assert header.struct("XLA_FFI_Metadata").offsets["traits"] == 32
    assert "getelementptr i8, ptr %frame, i64 80" in support.text()


def add_tiny_numbers(count):
    run = native.compile(DOUBLE.format("f64", "arith.addf"), roles=("in", "out"))
    kind = f"tensor<{count}xf64>"
    executable = program(f"""func.func public @main(%a: {kind}) -> ({kind}, {kind}) {{
        %b = stablehlo.add %a, %a : {kind}
        return %a, %b : {kind}, {kind} }}""", lambda a: [run.custom_call(a, [a[0].type])[0]])
    x = np.full(count, 1e-310)
    ours, xla = executable([x])
    np.testing.assert_array_equal(ours, x + x)
    assert not xla.any()


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 400_000])
def test_tiny_numbers_are_numbers(count):
    """XLA takes denormal numbers for zero; native code does not, in no thread, and leaves XLA's setting alone. In a
    process of its own: a program of NumPy sets the threads of this client for good."""
    code = f"from tests.native import test_function; test_function.add_tiny_numbers({count})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=Path(__file__).parents[2])


@pytest.mark.machine_code
def test_settings():
    """Each changes what it says, and nothing changes unless it is asked for."""
    product_sum = """
    func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %o: memref<1xf64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f64
      %n = memref.dim %a, %c0 : memref<?xf64>
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f64 {
        %x = memref.load %a[%i] : memref<?xf64>
        %y = memref.load %b[%i] : memref<?xf64>
        %p = arith.mulf %x, %y : f64
        %t = arith.addf %s, %p : f64
        scf.yield %t : f64
      }
      memref.store %s, %o[%c0] : memref<1xf64>
      return
    }"""
    a, b = np.random.default_rng(0).normal(size=(2, 1000))
    plain = 0.0
    for x, y in zip(a, b, strict=True):
        plain += x * y
    results = {}
    for name in ("plain", "contract", "reassociate"):
        out = np.zeros(1)
        run = native.compile(product_sum, roles=("in", "in", "out"), **({} if name == "plain" else {name: True}))
        run(a, b, out)
        results[name] = out[0], run.as_llvm(optimized=True)
    assert results["plain"][0] == plain
    assert "fadd reassoc <" in results["reassociate"][1] and "fadd reassoc" not in results["plain"][1]
    assert "fadd contract" in results["contract"][1]
    np.testing.assert_allclose([results["contract"][0], results["reassociate"][0]], plain, rtol=1e-12)
    assert "reactant.parallel" in native.compile(ADD_ONE).as_llvm()
    assert "reactant.parallel" not in native.compile(ADD_ONE, threads=False).as_llvm()


@pytest.mark.machine_code
def test_hints_to_loops():
    text = """
    func.func @f(%a: memref<?xf64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %a, %c0 : memref<?xf64>
      scf.for %i = %c0 to %n step %c1 {
        %x = memref.load %a[%i] : memref<?xf64>
        %y = arith.addf %x, %x : f64
        memref.store %y, %a[%i] : memref<?xf64>
      } {native.vectorize, native.vector_width = 2 : i64, native.unroll = 3 : i64}
      return
    }"""
    written = native.compile(text).as_llvm()
    for hint in ('"llvm.loop.vectorize.enable", i1 true', '"llvm.loop.vectorize.width", i32 2',
                 '"llvm.loop.unroll.count", i32 3'):
        assert hint in written
    assert "<2 x double>" in native.compile(text).as_llvm(optimized=True)
    x = np.arange(11.0)
    native.compile(text)(x)
    np.testing.assert_array_equal(x, 2 * np.arange(11.0))
