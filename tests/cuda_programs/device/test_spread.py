"""What threads of a group have in common."""
import pytest

from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.spread import NotVectorizable, Region, Spread
from reactant.cuda_programs.device.text import function

TEXT = """define void @k(ptr %x, i32 %n) {
start:
  %i = sext i32 %r.tid.x to i64
  br label %loop
loop:
  %k = phi i32 [ 0, %start ], [ %k.next, %latch ]
  %j = phi i64 [ %i, %start ], [ %j.next, %latch ]
  %p = getelementptr float, ptr %x, i64 %j
  %q = getelementptr [4 x float], ptr %x, i64 %j, i64 2
  %v = load i32, ptr %p, align 4
  %c = icmp slt i32 %v, %n
  br i1 %c, label %latch, label %left
latch:
  %k.next = add i32 %k, 1
  %j.next = add i64 %j, 64
  br label %loop
left:
  %last = phi i32 [ %k, %loop ]
  store i32 %last, ptr %x, align 4
  ret void
}
"""


def spread(text):
    return Spread(function(text), Layout(""), {"%r.tid.x"}, set())


def test_loops_that_threads_leave_at_different_times():
    found = spread(TEXT)
    assert found.differs("loop") and "%v" in found.divergent
    assert "%k" not in found.divergent          # of those that are in the loop
    assert "%last" in found.divergent           # once they have left it
    assert found.headers == {"loop"} and found.depth("latch", {"loop"}) == 1 and found.depth("left", {"loop"}) == 0


def test_steps():
    found = spread(TEXT)
    assert [found.stride(v) for v in ("%i", "%j", "%p", "%q", "%k", "%n")] == [1, 1, 4, 16, 0, 0]
    assert found.stride("%v") is None and found.stride("%last") is None
    other = spread(TEXT.replace("add i64 %j, 64", "mul i64 %j, 2"))
    assert other.stride("%j") is None and other.stride("%p") is None


def test_blocks_in_order():
    found = spread(TEXT)
    assert found.region({"loop", "latch"}) == Region(None, [Region("loop", ["loop", "latch"])])
    assert sorted(found.region({"start", "left"}).parts) == ["left", "start"]


def test_loops_with_two_entries_are_refused():
    text = TEXT.replace("br label %loop\nloop", "%e = icmp eq i32 %n, 0\n  br i1 %e, label %loop, label %latch\nloop")
    with pytest.raises(NotVectorizable):
        spread(text)


def test_what_cancels_is_the_same_for_all():
    text = "define void @k(ptr %x, i32 %n) {\nbb:\n  %j = add i32 %r.tid.x, %n\n  %d = sub i32 %r.tid.x, %j\n" \
           "  %w = sext i32 %j to i64\n  %s = add i32 %d, %r.tid.x\n  ret void\n}\n"
    found = spread(text)
    assert "%d" in found.cancelled and "%d" not in found.divergent
    assert found.stride("%s") == 1 and "%w" not in found.exact() and {"%j", "%s"} <= found.exact()
