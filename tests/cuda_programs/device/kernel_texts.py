"""Kernels as text."""
from reactant.cuda_programs.device import arrange, prepared, retarget

LOOP = """define void @k(ptr noundef %x, i32 noundef %n) {
bb:
  %t = call i32 @nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p = getelementptr float, ptr %x, i64 %i
  %v = load float, ptr %p
  br label %loop
loop:
  %j = phi i32 [ 0, %bb ], [ %k, %loop ]
  call void @reactant.barrier.block()
  store float %v, ptr %p
  %k = add i32 %j, 1
  %c = icmp slt i32 %k, %n
  br i1 %c, label %loop, label %end
end:
  %d = icmp slt i32 %t, %n
  br i1 %d, label %yes, label %no
yes:
  store float 1.0, ptr %p
  br label %no
no:
  ret void
}
"""
"""A barrier in a uniform loop, then a branch that threads take apart."""

SREG = "@llvm.nvvm.read.ptx.sreg"
KERNEL = f"""define ptx_kernel void @k(ptr %x) {{
  %t = call i32 {SREG}.tid.x()
  %n = call i32 {SREG}.ntid.x()
  %y = call i32 {SREG}.tid.y()
  %r = mul i32 %y, %n
  %u = add i32 %r, %t
  %i = sext i32 %u to i64
  %p = getelementptr i32, ptr %x, i64 %i
  BARRIER
  store i32 %n, ptr %p
  ret void
}}
declare i32 {SREG}.tid.x()
declare i32 {SREG}.tid.y()
declare i32 {SREG}.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
MEETS = KERNEL.replace("BARRIER", BARRIER)


def object_text(kernel, known):
    """The object of a module as LLVM IR, with copies for shapes that are known."""
    module = retarget.retargeted(kernel)
    return arrange.arranged(prepared.prepared(module, known), module, "here")
