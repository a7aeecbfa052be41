from reactant.cuda_programs.device.cuts import pieces
from reactant.cuda_programs.device.kernel import kernel
from tests.cuda_programs.device.kernel_texts import LOOP


def test_values_are_kept_or_computed_anew():
    cut = pieces(kernel(LOOP))
    assert [c.meeting.kind for c in cut.cuts if c.meeting] == ["barrier.block"]
    assert set(cut.kept) == {"%v", "%j", "%k", "%d"} or {"%v", "%j"} <= set(cut.kept)
    assert "%p" in cut.anew and "%j" not in cut.uniform.divergent and "%v" in cut.uniform.divergent


def test_conditions_behind_a_barrier_are_computed_again_of_what_is_there():
    old = "  call void @reactant.barrier.block()\n  store float %v, ptr %p\n"
    text = LOOP.replace(old, """  %ask = icmp ult i32 %t, %j
  br i1 %ask, label %first, label %meet
first:
  store float 0.0, ptr %p
  br label %meet
meet:
  call void @reactant.barrier.block()
  br i1 %ask, label %second, label %latch
second:
  store float %v, ptr %p
  br label %latch
latch:
""").replace("[ %k, %loop ]", "[ %k, %latch ]")
    cut = pieces(kernel(text))
    after = cut.function.blocks[cut.cuts[0].after]
    assert "%ask" not in cut.kept and after[0].startswith("%ask.again.cut.1.after = icmp ult i32") and \
        after[-1].startswith("br i1 %ask.again.cut.1.after, ")
