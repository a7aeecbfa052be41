from reactant.cuda_programs.device.narrow import Term, narrowed


def test_numbers_of_threads_are_marked_within_limits():
    lines, limits = narrowed(["%p = mul i32 %r.ctaid.x, %r.ntid.x", "%i = add i32 %p, %r.tid.x",
                              "%q = mul i32 %i, %n", "%s = shl i32 %r.ctaid.y, 4"])
    assert lines == ["%p = mul nuw nsw i32 %r.ctaid.x, %r.ntid.x", "%i = add nuw nsw i32 %p, %r.tid.x",
                     "%q = mul i32 %i, %n", "%s = shl nuw nsw i32 %r.ctaid.y, 4"]
    assert {(Term("", "", 1), Term("x", "x", 1)), (Term("y", "", 16),)} <= limits


def test_what_may_overflow_is_not():
    assert narrowed(["%p = mul i32 %r.tid.x, 9999999"])[0] == ["%p = mul i32 %r.tid.x, 9999999"]
