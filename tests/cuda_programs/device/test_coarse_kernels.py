"""Coarsened kernels of prepared modules: what their text says, and what is refused."""
import pytest

from reactant.cuda_programs.device.coarse_kernels import WHOLE, coarsened
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.retarget import Variable
from reactant.cuda_programs.device.versions import OTHERS, NotAnother

KERNEL = """define void @k(ptr noundef %y, i32 noundef %n) {
entry:
  %t = call i32 @nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @nvvm.read.ptx.sreg.ctaid.x()
  %w = call i32 @nvvm.read.ptx.sreg.ntid.x()
  %g = call i32 @nvvm.read.ptx.sreg.nctaid.x()
  %first = mul i32 %b, %w
  %i = add i32 %first, %t
  %at = getelementptr inbounds i32, ptr @s, i32 %t
  store i32 %i, ptr %at, align 4
  call void @reactant.barrier.block()
  %v = load i32, ptr @s, align 4
  %to = getelementptr inbounds i32, ptr %y, i32 %i
  store i32 %v, ptr %to, align 4
  ret void
}
"""


def made(label, text=KERNEL, size=64):
    shared = {"s": Variable("s", f"[{size} x i32]", 4)}
    return *coarsened(text, OTHERS[label].factors, shared, Layout("")), shared


def test_threads():
    text, warps, shared = made("threads2x")
    assert text.count("@reactant.barrier.block()") == 1
    assert text.count("store i32 %i.copy") == 2 and text.count("load i32, ptr @s") == 1     # what is common is once
    assert not warps and list(shared) == ["s"]


def test_blocks_have_memory_of_their_own():
    text, _, shared = made("blocks2x")
    assert text.count("@reactant.barrier.block()") == 1
    assert list(shared) == ["s", "s.block1"] and "ptr @s.block1, i64 0" in text
    assert f"ptr %n.launch, i64 {WHOLE}" in text                    # the program's own grid


def test_dynamic_memory_is_divided():
    text, _, shared = made("blocks4x", size=0)
    assert list(shared) == ["s"]
    assert "udiv i64 %n.dynamic.all, 4" in text and "getelementptr i8, ptr @s, i64 %n.dynamic.3" in text


def test_rows_of_warps():
    text = KERNEL.replace("store i32 %v", "%q = call i32 @reactant.vote.ballot(i32 -1, i1 true)\n  store i32 %q")
    assert made("threads2x", text)[1] and not made("blocks2x", text)[1]


@pytest.mark.parametrize("label, old, new, words", [
    ("threads2y", "", "", "do not differ along the axis"),
    ("threads2x", "call void @reactant.barrier.block()", "%c = call i32 @reactant.barrier.count(i32 %t)", "counted"),
    ("blocks2x", "call void @reactant.barrier.block()", "call void @reactant.barrier.grid()", "grid meets"),
    ("blocks2x", "load i32, ptr @s", "load volatile i32, ptr @s", "wait for what another writes")])
def test_what_cannot_be(label, old, new, words):
    with pytest.raises(NotAnother, match=words):
        made(label, KERNEL.replace(old, new))
