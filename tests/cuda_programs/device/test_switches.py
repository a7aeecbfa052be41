"""Switches as conditions one after the other."""
import re

from reactant.cuda_programs.device.switches import sequential

HEAD = "define void @k(i32 %t, ptr %x) {\nbb:\n"
CASES = "  switch i32 %t, label %end [\n    i32 0, label %first\n    i32 15, label %last\n  ]\n\n"


def test_cases_that_go_on_behind_the_switch_are_asked_for_one_after_the_other():
    text = sequential(HEAD + CASES + "first:\n  store i32 1, ptr %x\n  br label %end\n\n"
                      "last:\n  store i32 2, ptr %x\n  br label %end\n\nend:\n"
                      "  %v = phi i32 [ 7, %bb ], [ 8, %first ], [ 9, %last ]\n  store i32 %v, ptr %x\n  ret void\n}\n")
    assert "switch" not in text
    assert "%bb.is.1 = icmp eq i32 %t, 0\n  br i1 %bb.is.1, label %first, label %bb.not.1" in text
    assert "first:\n  store i32 1, ptr %x\n  br label %bb.not.1" in text
    assert "%v.bb.1 = phi i32 [ 8, %first ], [ 7, %bb ]\n  %bb.is.2 = icmp eq i32 %t, 15" in text
    assert "br i1 %bb.is.2, label %last, label %end" in text
    assert re.search(r"%v = phi i32 \[ 9, %last \], \[ %v\.bb\.1, %bb\.not\.1 \]", text)


def test_phis_of_cases_hear_from_where_their_value_is_compared():
    text = sequential(HEAD + CASES + "first:\n  store i32 1, ptr %x\n  br label %end\n\n"
                      "last:\n  %i = phi i32 [ 0, %bb ], [ %j, %last ]\n  %j = add i32 %i, 1\n"
                      "  %c = icmp ult i32 %j, %t\n  br i1 %c, label %last, label %end\n\nend:\n  ret void\n}\n")
    assert "%i = phi i32 [ 0, %bb.not.1 ], [ %j, %last ]" in text


def test_other_switches_stay():
    shared = HEAD + CASES + "first:\n  br label %both\n\nlast:\n  br label %both\n\nboth:\n  store i32 1, ptr %x\n" \
        "  br label %end\n\nend:\n  ret void\n}\n"
    leaves = HEAD + CASES + "first:\n  ret void\n\nlast:\n  br label %end\n\nend:\n  ret void\n}\n"
    many = HEAD + "  switch i32 %t, label %end [\n" + "".join(
        f"    i32 {k}, label %c{k}\n" for k in range(6)) + "  ]\n" + "".join(
        f"c{k}:\n  store i32 {k}, ptr %x\n  br label %end\n" for k in range(6)) + "end:\n  ret void\n}\n"
    for body in (shared, leaves, many):
        assert "switch i32 %t" in sequential(body)
