from reactant.cuda_programs.device.cuts import pieces
from reactant.cuda_programs.device.kernel import kernel

TEXT = """define void @k(ptr noundef %x, i32 noundef %n) {
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


def test_values_are_kept_or_computed_anew():
    cut = pieces(kernel(TEXT))
    assert [c.meeting.kind for c in cut.cuts if c.meeting] == ["barrier.block"]
    assert set(cut.kept) == {"%v", "%j", "%k", "%d"} or {"%v", "%j"} <= set(cut.kept)
    assert "%p" in cut.anew and "%j" not in cut.uniform.divergent and "%v" in cut.uniform.divergent
