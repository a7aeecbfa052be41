#!/usr/bin/env bash
# LLVM 22.1: the loop vectoriser takes the addresses 2 i - (i & 3), computed in 32 bits and zero-extended, for
# consecutive ones in vectors of eight: it reads elements 0 to 7 where the loop reads 0 1 2 3 8 9 10 11.
#
# One would guess that a vectorised loop reads what the loop reads. Only each four of these indices follow each other;
# with vectors of four (SSE) the result is right, with AVX2's vectors of eight it is wrong. With `sext` in place of `zext`
# and without vectorisation it is right. No metadata about parallel accesses is needed; the index never wraps around.
#
# Seen with llvmlite 0.50.0 (LLVM 22.1.0), x86-64, code for haswell:
#   not vectorised: 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27
#   vectorised: 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
#   vectorised, sext: 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27
set -euo pipefail
grep -q -m1 '\bavx2\b' /proc/cpuinfo || { echo "this processor has no AVX2: the code cannot run"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check llvmlite==0.50.0
"$folder/venv/bin/python" - <<'PROGRAM'
import ctypes

import llvmlite.binding as llvm

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
TEXT = """
define void @take(ptr noalias %out, ptr noalias %in, i32 %base) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %narrow = trunc i64 %i to i32
  %t = add nuw nsw i32 %base, %narrow
  %twice = shl nuw nsw i32 %t, 1
  %bits = and i32 %narrow, 3
  %index = sub nsw i32 %twice, %bits
  %wide = EXTEND i32 %index to i64
  %from = getelementptr inbounds i32, ptr %in, i64 %wide
  %to = getelementptr inbounds i32, ptr %out, i64 %i
  %value = load i32, ptr %from, align 4
  store i32 %value, ptr %to, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %loop, label %end, !llvm.loop !0
end:
  ret void
}
!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = !{!"llvm.loop.interleave.count", i32 1}
"""


def taken(extend, vectorised):
    module = llvm.parse_assembly(TEXT.replace("EXTEND", extend))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu="haswell", opt=3)
    options = llvm.create_pipeline_tuning_options(3)
    options.loop_vectorization = vectorised
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    numbers, out = (ctypes.c_int32 * 64)(*range(64)), (ctypes.c_int32 * 16)()
    address = engine.get_function_address("take")
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(address)(out, numbers, 0)
    return list(out)


right = [2 * i - (i & 3) for i in range(16)]
plain, vectors, signed = taken("zext", False), taken("zext", True), taken("sext", True)
for name, found in (("not vectorised", plain), ("vectorised", vectors), ("vectorised, sext", signed)):
    print(f"{name}:", *found)
assert plain == signed == right, "what was right is wrong"
assert vectors != right, "the vectorised loop is right now"
PROGRAM
