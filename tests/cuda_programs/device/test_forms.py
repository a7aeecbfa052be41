"""Sums of thread and block numbers, read from the text of a kernel."""
import pytest

from reactant.cuda_programs.device.forms import Form, Forms, number
from reactant.cuda_programs.device.kernel import kernel
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.writer import Writer

KERNEL = """define void @k(ptr noundef %x, i32 noundef %n) {
bb:
  %t = call i32 @nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @nvvm.read.ptx.sreg.ctaid.x()
  %blocks = call i32 @nvvm.read.ptx.sreg.nctaid.x()
  %start = shl i32 %b, 8
  %i = add i32 %start, %t
  %twice = mul i32 %i, 2
  %both = or i32 %start, %t
  %apart = or disjoint i32 %start, 7
  %inverted = xor i32 %start, -1
  %other = xor i32 %start, 5
  %square = mul i32 %start, %start
  %third = udiv i32 %n, 3
  %quotient = udiv i32 %n, %n
  %placed = mul i32 %b, %third
  %half = udiv i32 %start, 2
  %step = shl i32 %blocks, 8
  br label %counted
counted:
  %c = phi i32 [ 3, %bb ], [ %c.next, %counted ]
  %c.next = add nuw nsw i32 %c, 1
  %c.end = icmp eq i32 %c.next, 27
  br i1 %c.end, label %up, label %counted
up:
  %u = phi i32 [ %start, %counted ], [ %u.next, %up ]
  %u.4 = add i32 %u, 4
  %u.wide = sext i32 %u to i64
  %u.next = add i32 %u, %step
  %u.more = icmp slt i32 %u.next, %n
  br i1 %u.more, label %up, label %open
open:
  %o = phi i32 [ 0, %up ], [ %o.next, %open ]
  %o.next = add i32 %o, 1
  %v = load i32, ptr %x
  %o.more = icmp slt i32 %v, 9
  br i1 %o.more, label %open, label %down
down:
  %d = phi i32 [ 9, %open ], [ %d.next, %down ]
  %d.next = add i32 %d, -1
  %d.more = icmp sgt i32 %d.next, 0
  br i1 %d.more, label %down, label %end
end:
  ret void
}
"""
FORMS = {
    "%start": Form(step="256"), "%apart": Form("7", "256"), "%inverted": Form("-1", "-256"), "%c": Form("3", high="23"),
    "%both": None, "%other": None, "%square": None, "%quotient": None, "%half": None, "%o": None, "%u.4": None,
    "%d": None,
}


@pytest.fixture
def forms():
    return Forms(kernel(KERNEL), Layout(""), Writer(), "%count")


def test_numbers_are_known():
    assert (number("-12"), number("%x"), number("x")) == (-12, None, None)


@pytest.mark.parametrize("name", FORMS)
def test_a_value_is_such_a_sum(forms, name):
    assert forms.of(name, "i32") == FORMS[name]
    assert not forms.conditions or name == "%u.4"


def test_threads_are_below_the_extent_of_the_block(forms):
    found, double = forms.of("%i", "i32"), forms.of("%twice", "i32")
    extent, last = (line.strip() for line in forms.f.lines[:2])
    assert extent.endswith("= zext i32 %r.ntid.x to i64") and last == f"{found.high} = sub i64 {extent.split()[0]}, 1"
    assert (found.base, found.step, found.low) == ("0", "256", "0") and double.step == "512"


def test_what_the_launch_knows_is_computed_there(forms):
    found = forms.of("%placed", "i32")
    assert found.base == "0" and any("udiv i32 %n, 3" in line for line in forms.f.lines)
    assert found.step.startswith("%w.")


def test_loops_over_the_grid_have_a_period_and_are_asked_whether_they_wrap_around(forms):
    found = forms.of("%u.wide", "i64")
    assert (found.base, found.step, found.low, found.high) == ("0", "256", "0", "0") and found.period.startswith("%w.")
    asked = [line for line in forms.f.lines if line.strip().split(" ")[0] in forms.conditions]
    assert sum("icmp slt i64" in line and line.endswith(", 2147483648") for line in asked) == 2
