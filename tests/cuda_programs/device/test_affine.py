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


def test_bits_of_thread_numbers_in_addresses_are_hidden_from_llvm():
    """`findings/llvm_vectorizer_reads_masked_index_as_consecutive.sh`"""
    made = Function("", "f", {"bb": ["%m = and i32 %r.tid.x, 3", "%k = and i32 %r.tid.x, 7", "%h = lshr i64 %n, 1",
                                     "%i = sub i32 %a, %m", "%w = zext i32 %i to i64", "%j = add i64 %w, %h",
                                     "%p = getelementptr i32, ptr %x, i64 %j", "%c = icmp eq i32 %k, 0"]})
    with_steps(made, {"%r.tid.x", "%m", "%k", "%i", "%w", "%j", "%p", "%c"})
    lines = made.blocks["bb"]
    assert lines[:3] == ["%m.seen = and i32 %r.tid.x, 3",
                         "%m.zero.32 = load i32, ptr @reactant_zero, align 4, !invariant.load !{}",
                         "%m = xor i32 %m.seen, %m.zero.32"]
    assert "%k = and i32 %r.tid.x, 7" in lines, "it decides only"
    assert "%h = lshr i64 %n, 1" in lines, "it is the same for all threads"
