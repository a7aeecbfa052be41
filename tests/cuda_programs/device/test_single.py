"""What threads of a group do one after the other."""
from tests.cuda_programs.device.test_vectors import group


def test_what_one_thread_does_reads_the_values_of_its_lane():
    text = group("  %v = load float, ptr %p, align 4\n  %c = icmp eq i32 %t, 3\n  br i1 %c, label %in, label %out\n"
                 "in:\n  %s = fadd float %v, 1.0\n  store float %s, ptr %y, align 4\n  br label %out\n"
                 "out:\n  ret void\n")
    assert "cttz" not in text and "icmp ult i32" in text and "fadd float" in text and "masked.store" not in text


def test_loops_of_one_thread_stay_loops():
    text = group("  %c = icmp eq i32 %t, 0\n  br i1 %c, label %in, label %out\n"
                 "in:\n  %k = phi i32 [ 0, %bb ], [ %next, %in ]\n  %next = add i32 %k, 1\n"
                 "  store i32 %k, ptr %y, align 4\n  %more = icmp slt i32 %next, %n\n"
                 "  br i1 %more, label %in, label %out\nout:\n  ret void\n")
    assert "store i32" in text and "<8 x i32>" not in text.split(".lane:")[1].split("out:")[0]
