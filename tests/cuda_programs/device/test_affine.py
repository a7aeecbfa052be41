from reactant.cuda_programs.device.affine import with_steps
from reactant.cuda_programs.device.text import Function


def _with_steps(use):
    made = Function("", "f", {"bb": ["%a = add i32 %u, %r.tid.x", "%b = sub i32 %a, %v",
                                     "%w = sext i32 %b to i64", use]})
    with_steps(made, {"%r.tid.x", "%a", "%b", "%w"})
    return made.blocks["bb"]


def test_indices_become_sums_of_a_base_and_a_step():
    lines = _with_steps("%p = getelementptr float, ptr %x, i64 %w")
    assert lines[-2] == "%w = add nsw i64 %step.3.base, %step.3.lane"
    assert "%step.1 = add i32 %u, %tid.base" in lines and "%step.3.lane = mul nsw i64 %lane.64, 1" in lines


def test_numbers_that_are_no_indices_stay():
    assert _with_steps("store i64 %w, ptr %x")[-2] == "%w = sext i32 %b to i64"
