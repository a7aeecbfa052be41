"""Which parts of a kernel copies of its threads go through by themselves."""
import pytest

from reactant.cuda_programs.device.coarsen_regions import Common, Region
from reactant.cuda_programs.device.text import function
from reactant.cuda_programs.device.versions import NotAnother

GUARD = """define void @k(ptr %x, i32 %n) {
entry:
  %twice = mul i32 %o.tid.x, 2
  %in = icmp slt i32 %twice, %n
  br i1 %in, label %work, label %end
work:
  %v = load i32, ptr %x, align 4
  br label %end
end:
  %r = phi i32 [ %v, %work ], [ 0, %entry ]
  ret void
}"""
LOOP = """define void @k(ptr %x, i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, BOUND
  BARRIER
  br i1 %more, label %head, label %end
end:
  ret void
}"""


def common(text, **replaced):
    for name, value in replaced.items():
        text = text.replace(name, value)
    return Common(function(text), {"%o.tid.x"}, lambda line: False, lambda line: "@barrier" in line)


def test_a_branch_by_the_thread():
    found = common(GUARD, BARRIER="")
    assert found.regions == [Region({"work"}, "end", branch="entry")]
    assert found.differs == {"%o.tid.x", "%twice", "%in", "%v", "%r"}


def test_a_branch_that_is_the_same_for_all():
    found = common(GUARD.replace("%o.tid.x, 2", "%n, 2"))
    assert not found.regions and found.differs == {"%o.tid.x"}


def test_a_loop_that_copies_leave_at_different_times():
    found = common(LOOP, BOUND="%o.tid.x", BARRIER="fence seq_cst")
    assert found.regions == [Region({"head"}, "end", entry="head")]
    assert {"%i", "%next", "%more"} <= found.differs


def test_barriers():
    assert not common(LOOP, BOUND="%n", BARRIER="call void @barrier()").regions
    with pytest.raises(NotAnother, match="threads meet"):
        common(LOOP, BOUND="%o.tid.x", BARRIER="call void @barrier()")
