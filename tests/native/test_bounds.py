"""Checked native code: whatever reads or writes outside its buffer is told, and nothing else is touched."""
import re

import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import context, modules
from reactant.native import bounds, numpy_sorts, workspace
from reactant.native.function import NativeError
from reactant.runtime.executable import Executable
from tests.native.kernel_generator import SHARED
from tests.native.test_kernel import kernel

SIZE = 12
INDICES = {"first": 0, "last": SIZE - 1, "before": -1, "after": SIZE, "far after": 1 << 40, "far before": -(1 << 40)}
CONSTANTS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 8)) + """
%one = arith.constant 1.0 : f64
%z = complex.create %one, %one : complex<f64>
"""
PUT = "memref.store %one, {memory}[{index}] : {type}"
BODIES = {
    "load": "%v = memref.load %a[%i] : memref<12xf64>\nmemref.store %v, %o[%c0] : memref<12xf64>",
    "store": PUT.format(memory="%o", index="%i", type="memref<12xf64>"),
    "parallel": """%j = arith.addi %i, %c1 : index
      scf.parallel (%k) = (%i) to (%j) step (%c1) {
        memref.store %one, %o[%k] : memref<12xf64>
        scf.reduce
      }""",
    "loop": """%j = arith.addi %i, %c1 : index
      scf.for %k = %i to %j step %c1 { memref.store %one, %o[%k] : memref<12xf64> }""",
    "many dimensions": """
      %m = memref.expand_shape %o [[0, 1]] output_shape [3, 4] : memref<12xf64> into memref<3x4xf64>
      memref.store %one, %m[%c0, %i] : memref<3x4xf64>""",
    "view of a part": "%m = memref.subview %o[%i] [1] [1] : memref<12xf64> to memref<1xf64, strided<[1], offset: ?>>\n"
                      "memref.store %one, %m[%c0] : memref<1xf64, strided<[1], offset: ?>>",
    "chosen memory": """%p = arith.cmpi slt, %i, %c3 : index
      %m = scf.if %p -> memref<12xf64> { scf.yield %o : memref<12xf64> } else { scf.yield %o : memref<12xf64> }
      memref.store %one, %m[%i] : memref<12xf64>""",
    "carried memory": """%w = memref.alloca() : memref<12xf64>
      %p, %q = scf.for %k = %c0 to %c2 step %c1 iter_args(%x = %o, %y = %w) -> (memref<12xf64>, memref<12xf64>) {
        scf.yield %y, %x : memref<12xf64>, memref<12xf64>
      }
      memref.store %one, %p[%i] : memref<12xf64>""",
    "called": "func.call @put(%o, %i) : (memref<12xf64>, index) -> ()",
    "copy": "%m = memref.subview %o[%i] [1] [1] : memref<12xf64> to memref<1xf64, strided<[1], offset: ?>>\n"
            "%n = memref.subview %a[0] [1] [1] : memref<12xf64> to memref<1xf64, strided<[1]>>\n"
            "memref.copy %n, %m : memref<1xf64, strided<[1]>> to memref<1xf64, strided<[1], offset: ?>>",
    "atomic": "%v = memref.atomic_rmw addf %one, %o[%i] : (f64, memref<12xf64>) -> f64",
    "generic atomic": """%v = memref.generic_atomic_rmw %o[%i] : memref<12xf64> {
      ^bb0(%x: f64):
        %y = arith.mulf %x, %one : f64
        memref.atomic_yield %y : f64
      }""",
    "local array": "%m = memref.alloca() : memref<12xf64>\n"
                   + PUT.format(memory="%m", index="%i", type="memref<12xf64>"),
    "array from the heap": "%m = memref.alloc() : memref<12xf64>\n"
                           + PUT.format(memory="%m", index="%i", type="memref<12xf64>")
                           + "\nmemref.dealloc %m : memref<12xf64>",
    "array of run-time size": "%n = memref.dim %a, %c0 : memref<12xf64>\n%m = memref.alloc(%n) : memref<?xf64>\n"
                              + PUT.format(memory="%m", index="%i", type="memref<?xf64>"),
    "constant": "%m = memref.get_global @table : memref<12xf64>\n%v = memref.load %m[%i] : memref<12xf64>\n"
                "memref.store %v, %o[%c0] : memref<12xf64>",
    "sort": "%n = arith.addi %i, %c1 : index\n"
            "func.call @numpy.sort.i64(%s, %n) : (memref<12xi64>, index) -> ()",
}
TEXT = """
memref.global "private" constant @table : memref<12xf64> = dense<3.0>
func.func private @numpy.sort.i64(memref<12xi64>, index)
func.func private @put(%o: memref<12xf64>, %i: index) {{
  %one = arith.constant 1.0 : f64
  memref.store %one, %o[%i] : memref<12xf64>
  return
}}
func.func @f(%a: memref<12xf64>, %o: memref<12xf64>, %s: memref<12xi64>, %i: index) {{
{constants}
{body}
return
}}"""


@pytest.fixture(autouse=True)
def checks(monkeypatch):
    monkeypatch.setenv(bounds.VARIABLE, "1")


def between(dtype):
    """An array in the middle of a bigger one."""
    whole = np.full(3 * SIZE, 7, dtype)
    return whole, whole[SIZE:2 * SIZE]


@pytest.mark.parametrize("where", INDICES)
@pytest.mark.parametrize("body", BODIES)
def test_accesses(body, where):
    if body == "sort" and (not numpy_sorts.addresses() or "before" in where):
        pytest.skip("NumPy hands out no sorts" if where == "after" else "a negative length sorts nothing")
    run = native.compile(TEXT.format(constants=CONSTANTS, body=BODIES[body]), "f", roles=["in", "inout", "inout", "in"],
                         where="a test")
    arrays = [between(d) for d in (np.float64, np.float64, np.int64)]
    given = [inner for _, inner in arrays] + [INDICES[where]]
    if where in ("first", "last"):
        run(*given)
    else:
        with pytest.raises(NativeError, match=r"outside its buffer: .* which has 96 bytes\. .*, a test\.\n") as found:
            run(*given)
        if body != "sort":
            assert f"from byte {8 * INDICES[where]} on" in str(found.value)
        with pytest.raises(NativeError, match="outside its buffer"):        # and again
            run(*given)
        run(*given[:-1], 0)
    for whole, _ in arrays:
        np.testing.assert_array_equal(np.delete(whole, range(SIZE, 2 * SIZE)), np.full(2 * SIZE, 7, whole.dtype))


def test_an_element_that_is_partly_inside():
    """Complex numbers are two, and both are written."""
    text = """func.func @f(%a: memref<?xcomplex<f64>>, %b: memref<?xi8>, %i: index) {
      %c0 = arith.constant 0 : index
      %z = memref.load %a[%c0] : memref<?xcomplex<f64>>
      %m = memref.view %b[%i][] : memref<?xi8> to memref<1xcomplex<f64>>
      memref.store %z, %m[%c0] : memref<1xcomplex<f64>>
      return
    }"""
    run = native.compile(text, roles=["in", "inout", "in"])
    target = np.zeros(24, np.int8)
    run(np.array([1j]), target, 8)
    assert target[8:].view(np.complex128)[0] == 1j
    with pytest.raises(NativeError, match=re.escape("memref.store outside its buffer: 16 bytes from byte 16 on, of "
                                                    "argument 1 (inout int8[?]), which has 24 bytes.")):
        run(np.array([1j]), target, 16)


def test_lines_of_the_program():
    text = TEXT.format(constants=CONSTANTS, body=BODIES["store"])
    with context.building():
        module = modules.parse(text)
        for op in modules.walk(module.operation):
            if op.name == "memref.store":
                op.operation.location = ir.Location.file("mine.py", 17, 3)
        run = native.compile(module, "f", roles=["in", "inout", "inout", "in"])
    with pytest.raises(NativeError, match=r"memref.store outside its buffer \(line 17 of mine.py\): 8 bytes from byte"):
        run(np.zeros(12), np.zeros(12), np.zeros(12, np.int64), 12)


@pytest.mark.skipif(not workspace.available(), reason="blocks are made by Linux's mmap")
@pytest.mark.parametrize("index, told", [(11, None), (12, "workspace 0"), (523, "workspace 0"), (525, "workspace 0")])
def test_pieces_of_the_workspace(index, told):
    """Also where another piece is."""
    text = """func.func @f(%i: index, %o: memref<1xf64>, %w: memref<12xf64>, %x: memref<12xf64>) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : f64
      memref.store %one, %w[%i] : memref<12xf64>
      memref.store %one, %x[%c0] : memref<12xf64>
      memref.store %one, %o[%c0] : memref<1xf64>
      return
    }"""
    run = native.compile(text, roles=["in", "out", "out", "out"], worked_in=2)
    out = np.zeros(1)
    if told is None:
        run(index, out)
        assert out[0] == 1
        return
    with pytest.raises(NativeError, match=f"of {told}, which has 96 bytes"):
        run(index, out)


@pytest.mark.skipif(not workspace.available(), reason="blocks are made by Linux's mmap")
def test_what_others_write_behind_a_piece():
    """As a function that is not ours would."""
    text = """func.func @f(%o: memref<12xf64>, %w: memref<12xf64>) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : f64
      memref.store %one, %o[%c0] : memref<12xf64>
      memref.store %one, %w[%c0] : memref<12xf64>
      return
    }"""
    run = native.compile(text, roles=["out", "out"], worked_in=1)
    run(np.zeros(12))
    into_the_zone = re.sub(r"(call void @f\.f\()", r"store i8 0, ptr %z0\n  \1", run._text.replace("@f.f(", "@f.f("))
    broken = native.function.NativeFunction("f", "broken", run.arguments, into_the_zone, run.messages, run.workspace,
                                            run._buffers)
    with pytest.raises(NativeError, match="Something wrote behind workspace 0, which has 96 bytes"):
        broken(np.zeros(12))


TILE = f"memref<8xf64, {SHARED}>"
KERNELS = {
    "plain": (kernel("%o: memref<?xf64>, %n: index", """
        %i = arith.addi %g, %n : index
        memref.store %zero, %o[%i] : memref<?xf64>"""), "memref.store outside its buffer"),
    "shared memory": (kernel("%o: memref<?xf64>, %n: index", f"""
        %i = arith.addi %x, %n : index
        memref.store %zero, %t[%i] : {TILE}
        gpu.barrier
        %v = memref.load %t[%x] : {TILE}
        memref.store %v, %o[%g] : memref<?xf64>""", f"%t = memref.alloca() : {TILE}"), "of the shared memref<8xf64"),
    "a thread's array": (kernel("%o: memref<?xf64>, %n: index", """
        %m = memref.alloca() : memref<2xf64>
        memref.store %zero, %m[%c0] : memref<2xf64>
        gpu.barrier
        memref.store %zero, %m[%n] : memref<2xf64>
        %v = memref.load %m[%c0] : memref<2xf64>
        memref.store %v, %o[%g] : memref<?xf64>"""), "memref<2xf64>, which has 16 bytes"),
}


@pytest.mark.parametrize("coroutines", [False, True])
@pytest.mark.parametrize("which", KERNELS)
def test_kernels(which, coroutines):
    text, told = KERNELS[which]
    run = native.compile_kernel(text, "kernel", grid=(3,), block=(8,), coroutines=coroutines)
    whole = np.full(24 + 32, 7.0)
    run(whole[16:-16], 0)
    np.testing.assert_array_equal(whole[16:-16], np.zeros(24))
    with pytest.raises(NativeError, match=re.escape(told)):
        run(whole[16:-16], 8)
    np.testing.assert_array_equal(whole[[*range(16), *range(-16, 0)]], np.full(32, 7.0))


@pytest.mark.parametrize("size", [12, 400_000])
def test_in_programs_of_xla(size):
    """On several threads, too: the error is that of the call."""
    text = f"""func.func @f(%o: memref<{size}xf64>, %n: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 1.0 : f64
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
        memref.store %one, %o[%i] : memref<{size}xf64>
        scf.reduce
      }}
      return
    }}"""
    run = native.compile(text, roles=["out", "in"], where="compiled natively: ones (mine.py:3)")
    with context.building():
        module = modules.parse(f"func.func @main(%n: tensor<i64>) -> tensor<{size}xf64> {{\n"
                               f"%o = stablehlo.constant dense<0.0> : tensor<{size}xf64>\n"
                               f"return %o : tensor<{size}xf64>\n}}")
        end = list(modules.function(module).regions[0].blocks[0].operations)[-1].operation
        with ir.InsertionPoint(end):
            end.operands[0], = run.custom_call([modules.function(module).regions[0].blocks[0].arguments[0]])
        executable = Executable(module)
    np.testing.assert_array_equal(executable([np.int64(size)])[0], np.ones(size))
    with pytest.raises(Exception, match=rf"memref.store outside its buffer: 8 bytes from byte {8 * size} on, of "
                       rf"argument 0 \(out float64\[{size}\]\), which has {8 * size} bytes. In .*ones \(mine.py:3\)."):
        executable([np.int64(size + 1)])
    np.testing.assert_array_equal(executable([np.int64(size)])[0], np.ones(size))


def test_what_is_made_without_the_variable(monkeypatch):
    text = TEXT.format(constants=CONSTANTS, body=BODIES["store"])
    checked = native.compile(text, "f")
    for value in ("0", ""):
        monkeypatch.setenv(bounds.VARIABLE, value)
        plain = native.compile(text, "f")
        assert plain is not checked and "reactant.inside" not in plain.as_llvm()
    assert "reactant.inside" in checked.as_llvm()
