"""The code of groups as vectors."""
import re

import pytest

from reactant.cuda_programs.device import arrange, cuts
from reactant.cuda_programs.device.kernel import kernel
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.spread import NotVectorizable
from reactant.cuda_programs.device.vectors import Vectors

HEAD = "define void @k(ptr noundef %x, ptr noundef %y, i32 noundef %n) {\nbb:\n" \
       "  %t = call i32 @nvvm.read.ptx.sreg.tid.x()\n  %i = sext i32 %t to i64\n" \
       "  %p = getelementptr float, ptr %x, i64 %i\n  %q = getelementptr float, ptr %y, i64 %i\n"


def group(body):
    made = kernel(HEAD + body + "}\n")
    cut = cuts.pieces(made)
    arranger = arrange.Arranger.__new__(arrange.Arranger)
    arranger.layout = Layout("")
    return Vectors(made, cut, arranger.types(cut), [], 8, ("!0", lambda: "!1", "!2"), Layout("")).group([])


def test_consecutive_places_are_rows():
    text = group("  %v = load float, ptr %p, align 4\n  store float %v, ptr %q, align 4\n  ret void\n")
    assert len(re.findall(r"load <8 x float>, ptr %w", text)) == 1 and "store <8 x float>" in text
    assert "gather" not in text and "masked" not in text


def test_guards_are_asked_of_the_first_and_the_last_thread():
    text = group("  %c = icmp slt i32 %t, %n\n  br i1 %c, label %in, label %out\n"
                 "in:\n  store float 1.0, ptr %p, align 4\n  br label %out\nout:\n  ret void\n")
    assert "add i32" in text and re.search(r"br i1 %w\.\d+, label %u\.in, label %not", text)
    assert "@llvm.masked.store.v8f32" in text and "store <8 x float> splat (float 1.0)" in text


def test_one_thread_goes_alone():
    text = group("  %c = icmp eq i32 %t, 0\n  br i1 %c, label %in, label %out\n"
                 "in:\n  store float 1.0, ptr %y, align 4\n  br label %out\nout:\n  ret void\n")
    assert "masked" not in text and "cttz" not in text and "store float 1.0, ptr %y" in text


def test_atomic_operations_are_done_thread_by_thread():
    text = group("  %old = atomicrmw fadd ptr %y, float 1.0 monotonic, align 4\n  store float %old, ptr %p, align 4\n"
                 "  ret void\n")
    assert text.count("atomicrmw fadd") == 1 and "each.1:" in text


def test_places_that_may_be_rows_are_looked_at():
    text = group("  %j = srem i32 %t, %n\n  %k = sext i32 %j to i64\n  %r = getelementptr float, ptr %x, i64 %k\n"
                 "  %v = load float, ptr %r, align 4\n  store float %v, ptr %q, align 4\n  ret void\n")
    assert "row.1:" in text and "parts.1:" in text and "scattered.1:" in text


def test_barriers_keep_what_is_needed_later():
    text = group("  %v = load float, ptr %p, align 4\n  call void @reactant.barrier.block()\n"
                 "  store float %v, ptr %q, align 4\n  ret void\n")
    assert re.search(r"store <8 x float> %\S+, ptr %\S+, align 4\n  ret i32 266", text) and "resume.1:" in text


def test_indices_that_were_not_kept_over_a_barrier_are_not_asked():
    body = "  %j = srem i32 %t, %n\n  %k = sext i32 %j to i64\n  %r = getelementptr float, ptr %x, i64 %k\n" \
           "  BEFORE\n  %v = load float, ptr %r, align 4\n  store float %v, ptr %q, align 4\n  ret void\n"
    assert "row.1:" in group(body.replace("BEFORE", ""))
    text = group(body.replace("BEFORE", "call void @reactant.barrier.block()"))
    resumed = text[text.index("resume.1:"):]
    assert "row.1:" not in resumed
    read = set(re.findall(r"load [^\n]*, ptr (%v\.\d+)", resumed))
    assert read and read <= set(re.findall(r"store [^\n]*, ptr (%v\.\d+)", resumed))


def test_groups_that_split_go_one_by_one_where_every_access_is_at_a_place_of_its_own():
    body = """  %m = mul i32 %t, %t
  %j = sext i32 %m to i64
  %a = getelementptr float, ptr %x, i64 %j
  %b = getelementptr float, ptr %y, i64 %j
  %c = icmp slt i32 %t, %n
  br i1 %c, label %in, label %out
in:
  %v = load float, ptr %a, align 4
  %w = load float, ptr %b, align 4
  %u = fadd float %v, %w
  store float %u, ptr %a, align 4
  br label %out
out:
  ret void
"""
    text = group(body)
    assert "@llvm.cttz.i8(" in text and "%nowhere" not in text
    rows = group(body.replace("ptr %x, i64 %j", "ptr %x, i64 %i").replace("ptr %y, i64 %j", "ptr %y, i64 %i"))
    assert "@llvm.masked.load" in rows and "cttz" not in rows


def test_what_is_not_known_is_refused():
    with pytest.raises(NotVectorizable):
        group("  %v = cmpxchg ptr %y, i32 0, i32 1 monotonic monotonic, align 4\n  ret void\n")
