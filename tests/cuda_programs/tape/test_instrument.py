"""Calls that note where numbers come from, in LLVM IR."""
import re

import pytest

from reactant.cuda_programs.tape.instrument import defined, instrumented

MODULE = """\
define dso_local double @f(ptr noundef %0, double noundef %1) !dbg !4 {
  %3 = alloca double, align 8
  store double %1, ptr %3, align 8
  %4 = load double, ptr %3, align 8, !dbg !5
  %5 = load float, ptr getelementptr inbounds ([2 x float], ptr @table, i64 0, i64 1), align 4, !dbg !5
  %6 = fpext float %5 to double, !dbg !5
  %7 = fmul double %4, %6, !dbg !5
  %8 = call double @exp(double noundef %7), !dbg !6
  %9 = call noundef double @g(i32 noundef 3, double noundef %8), !dbg !6
  %10 = call double @erf(double noundef %9), !dbg !6
  %11 = bitcast double %9 to i64, !dbg !6
  %12 = load i64, ptr %3, align 8, !dbg !6
  store i64 %12, ptr %0, align 8, !dbg !6
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %0, ptr align 8 %3, i64 8, i1 false), !dbg !6
  %13 = call i32 (ptr, ...) @printf(ptr noundef @.str, double noundef %9), !dbg !6
  ret double %10, !dbg !6
}
define double @g(i32 noundef %0, double noundef %1) {
  ret double %1
}
!5 = !DILocation(line: 12, column: 3, scope: !4)
!6 = !DILocation(line: 13, column: 3, scope: !4)
"""


def test_module():
    lines = ["a line that is not known"]
    text = instrumented(MODULE, defined(MODULE), "app.cu", lines)
    assert lines == ["a line that is not known", "app.cu:13"]
    noted = [re.sub(r"%tape\.\d+", "%t", line.strip()).partition(", !dbg")[0] for line in text.splitlines()
             if "tape" in line and not line.startswith("declare")]
    assert noted == [
        "%t = call i64 @reactant_tape_parameter(i32 0)",
        "call void @reactant_tape_clear(ptr %3, i64 8)",
        "call void @reactant_tape_store(ptr %3, i32 8, i64 %t)",
        "%t = call i64 @reactant_tape_load(ptr %3, i32 8)",
        "%t = call i64 @reactant_tape_load(ptr getelementptr inbounds ([2 x float], ptr @table, i64 0, i64 1), i32 4)",
        "%t = call i64 @reactant_tape_multiply(double %4, i64 %t, double %6, i64 %t)",
        "%t = call i64 @reactant_tape_exp(double %7, i64 %t)",
        "call void @reactant_tape_return(i64 0)", "call void @reactant_tape_argument(i32 0, i64 %t)",
        "%t = call i64 @reactant_tape_returned()",
        "call void @reactant_tape_given(i64 %t, i64 1)",            # erf
        "call void @reactant_tape_given(i64 %t, i64 1)",            # bitcast
        "call void @reactant_tape_read(ptr %3, i64 8, i64 1)",
        "call void @reactant_tape_clear(ptr %0, i64 8)",
        "call void @reactant_tape_copy(ptr %0, ptr %3, i64 8)",
        "call void @reactant_tape_return(i64 0)",
        "%t = call i64 @reactant_tape_parameter(i32 0)", "call void @reactant_tape_return(i64 %t)"]


def test_exceptions_cannot_be_followed():
    text = "define void @f() {\n  %1 = invoke double @g()\n          to label %2 unwind label %3\n}\n"
    with pytest.raises(ValueError, match="its host code handles exceptions"):
        instrumented(text, (), "app.cu", [""])
