"""What instructions of one thread become for a group."""
import re

from tests.cuda_programs.device.test_vectors import group


def test_bounds_that_hold_an_index_are_asked_first():
    text = group("  %m = call i32 @llvm.smax.i32(i32 %t, i32 %n)\n  %k = zext nneg i32 %m to i64\n"
                 "  %r = getelementptr float, ptr %x, i64 %k\n  %v = load float, ptr %r, align 4\n"
                 "  store float %v, ptr %q, align 4\n  ret void\n")
    assert text.index("icmp sge i32") < text.index("clamped.1:") < text.index("row.1:")


def test_masked_stores_into_memory_of_the_block_write_all_back():
    body = "  %c = icmp slt i32 %t, %n\n  br i1 %c, label %in, label %out\nin:\n" \
           "  store float 1.0, ptr %s, align 4\n  br label %out\nout:\n  ret void\n"
    own = group("  %s = getelementptr float, ptr %shared.0, i64 %i\n" + body)
    assert "masked" not in own and re.search(r"select <8 x i1> %\S+, <8 x float> splat \(float 1.0\)", own)
    assert "@llvm.masked.store" in group("  %s = getelementptr float, ptr %y, i64 %i\n" + body)
