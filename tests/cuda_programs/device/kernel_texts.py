"""Kernels as text."""

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
