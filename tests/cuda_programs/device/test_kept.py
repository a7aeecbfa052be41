"""What groups of threads keep over barriers, and where they go from there."""
import re

from reactant.cuda_programs.device import arrange, cuts
from reactant.cuda_programs.device.kernel import kernel
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.vectors import Vectors

HEAD = "define void @k(ptr noundef %x, ptr noundef %y, i32 noundef %n) {\nbb:\n" \
       "  %t = call i32 @nvvm.read.ptx.sreg.tid.x()\n  %u = call i32 @nvvm.read.ptx.sreg.tid.y()\n" \
       "  %i = sext i32 %t to i64\n  %p = getelementptr float, ptr %x, i64 %i\n"
BARRIER = "  call void @reactant.barrier.block()\n"
LOOP = ("  br label %loop\nloop:\n  %k = phi i32 [ 0, %bb ], [ %next, %loop ]\n"
        "  %q = phi ptr [ %p, %bb ], [ %far, %loop ]\n  %v = load float, ptr %q, align 4\n" + BARRIER +
        "  %far = getelementptr i8, ptr %q, i64 64\n  store float %v, ptr %far, align 4\n"
        "  %next = add i32 %k, 1\n  %more = icmp slt i32 %next, BOUND\n  br i1 %more, label %loop, label %out\n"
        "out:\n  ret void\n")


def vectors(body):
    made = kernel(HEAD + body + "}\n")
    cut = cuts.pieces(made)
    arranger = arrange.Arranger.__new__(arrange.Arranger)
    arranger.layout = Layout("")
    return Vectors(made, cut, arranger.types(cut), [], 8, ("!0", lambda: "!1", "!2"), Layout(""))


def test_what_a_block_has_in_common_is_given_from_piece_to_piece():
    found = vectors(LOOP.replace("BOUND", "%n"))
    assert found.in_order and found.alike[0] == "%k"
    text = found.group([], site=1)
    assert "i32 %in.0" in text and re.search(r"store i32 %\S+, ptr %out.0", text)


def test_values_that_follow_each_other_are_kept_once():
    found = vectors(LOOP.replace("BOUND", "%n"))
    assert found.once["%q"] == 4
    text = found.group([], site=1)
    assert re.search(r"store ptr %\S+, ptr %w", text) and "store <8 x ptr>" not in text
    assert re.search(r"store <8 x float> %\S+, ptr %\S+, align 4\n", text)


def test_loops_that_end_by_what_is_in_memory_are_asked():
    body = LOOP.replace("BOUND", "%m").replace("  br label %loop\nloop", "  %m = load i32, ptr %y, align 4\n"
                                               "  br label %loop\nloop")
    found = vectors(body)
    assert not found.in_order and not found.alike
    assert found.ends(1)[1] and -1 in found.ends(1)[0]


def test_pieces_of_one_end_are_not_asked():
    found = vectors("  %v = load float, ptr %p, align 4\n" + BARRIER +
                    "  store float %v, ptr %p, align 4\n  ret void\n")
    states = {c.state for c in found.entered}
    assert found.ends(0) == (states, False) and found.ends(1) == ({-1}, False)


def test_versions_keep_what_both_keep_alike():
    one, other = vectors(LOOP.replace("BOUND", "%n")), vectors(LOOP.replace("BOUND", "%u"))
    one.agree(other)
    assert not one.in_order and one.alike == [] == other.alike
