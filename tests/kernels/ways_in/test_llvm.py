"""LLVM IR as a way in: text, bitcode and files; numbers, pointers without a type, kernels; what is refused."""
import llvmlite.binding as llvm
import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError

SOURCE = """
define double @scaled(ptr %x, i64 %n, double %factor) {
entry:
  %empty = icmp sle i64 %n, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr double, ptr %x, i64 %i
  %old = load double, ptr %at
  %new = fmul double %old, %factor
  store double %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %factor
}

define i32 @successor(i32 %k) {
  %next = add i32 %k, 1
  ret i32 %next
}

define internal void @hidden() {
  ret void
}
"""
KERNEL = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @fill(ptr %x, float %value) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr float, ptr %x, i32 %i
  store float %value, ptr %at
  ret void
}
"""


def bitcode():
    return llvm.parse_assembly(SOURCE).as_bitcode()


@pytest.mark.parametrize("form", ["text", "bitcode", "ll", "bc"])
def test_forms_of_a_module(form, tmp_path):
    path = tmp_path / f"module.{form}"
    path.write_bytes(bitcode() if form == "bc" else SOURCE.encode())
    source = {"text": SOURCE, "bitcode": bitcode()}.get(form, path)
    x = np.array([1.0, -0.0, np.inf])
    assert reactant.llvm.load(source, "scaled")(x, 3, 2.0) == 2.0
    np.testing.assert_array_equal(x, [2.0, -0.0, np.inf])
    assert np.signbit(x[1])


def test_numbers_have_the_types_of_the_module():
    module = reactant.llvm.load(SOURCE)
    found = module.successor(41)
    assert found == 42 and np.asarray(found).dtype == np.int32


def test_inside_a_compiled_function():
    scaled = reactant.llvm.load(SOURCE, "scaled")

    @reactant.jit
    def program(x):
        y = x.copy()
        scaled(y, len(y), 3.0)
        return y - x
    np.testing.assert_array_equal(program(np.arange(4.0)), 2.0 * np.arange(4.0))


def test_kernels_are_launched():
    x = np.zeros(4, np.float32)
    reactant.llvm.load(KERNEL, "fill")[1, 3](x, 5.0)
    np.testing.assert_array_equal(x, np.float32([5, 5, 5, 0]))


def test_what_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="expected"):
        reactant.llvm.load("define double @f(\n")
    with pytest.raises(KeyError, match="absent"):
        reactant.llvm.load(SOURCE, "absent")
    with pytest.raises(KeyError, match="hidden"):       # internal: no other file would see it
        reactant.llvm.load(SOURCE, "hidden")
    with pytest.raises(FileNotFoundError):
        reactant.llvm.load(tmp_path / "none.ll")
