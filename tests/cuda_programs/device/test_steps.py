from reactant.cuda_programs.device.cuts import pieces
from reactant.cuda_programs.device.kernel import kernel
from reactant.cuda_programs.device.steps import Step

TEXT = """define void @k(ptr noundef %x) {
bb:
  %v = load float, ptr %x
  %c = call i32 @reactant.barrier.count(i32 1)
  %f = sitofp i32 %c to float
  %s = fadd float %f, %v
  store float %s, ptr %x
  ret void
}
"""


def test_a_step_ends_at_a_meeting_and_begins_after_it():
    cut = pieces(kernel(TEXT))
    lines = [line.strip() for line in Step(cut, {"%v": "float"}).lines()]
    state = 1 << 8 | 11
    assert f"switch i32 %state, label %begin [ i32 {state}, label %resume.1 ]" in lines
    assert {f"ret i32 {state}", "ret i32 -1", "store float %v, ptr %kept.0"} <= {*lines}
    assert "%c = trunc i64 %again.2 to i32" in lines
