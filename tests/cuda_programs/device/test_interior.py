from reactant.cuda_programs.device.cuts import pieces
from reactant.cuda_programs.device.interior import agreement, interior
from reactant.cuda_programs.device.kernel import kernel

TEXT = """define void @k(ptr noundef %x, i32 noundef %n) {
bb:
  %t = call i32 @nvvm.read.ptx.sreg.tid.x()
  %c = icmp sgt i32 %t, 0
  %d = sext i1 %c to i32
  %m = call i32 @llvm.smin.i32(i32 range(i32 0, 1024) %t, i32 %n)
  %i = add i32 %d, %m
  %w = sext i32 %i to i64
  %p = getelementptr float, ptr %x, i64 %w
  store float 1.0, ptr %p
  ret void
}
"""


def test_comparisons_with_borders_are_decided_for_the_first_thread():
    made = kernel(TEXT)
    version = interior(made, pieces(kernel(TEXT)).uniform.divergent, 16)
    assert version.comparisons == [("sgt", "%r.tid.x", "0", False), ("sle", "%r.tid.x", "%n", True)]
    lines = version.kernel.function.blocks["bb"]
    assert "%c = icmp sgt i32 %tid.base, 0" in lines and "%m = add i32 %r.tid.x, 0" in lines
    text = agreement(version, "same", ["i32 %n", "i32 %tid.base"], 16)
    assert "%d.1 = and i1 %c.1.0, %c.1.1" in text and "%d.0 = icmp eq i1 %c.0.0, %c.0.1" in text
    assert "%c.1.1 = icmp sle i32 %tid.last, %n" in text and "%tid.last = add i32 %tid.base, 15" in text


def test_kernels_without_borders_have_no_version():
    without = "\n".join(line for line in TEXT.split("\n") if "smin" not in line and "%c" not in line)
    assert interior(kernel(without.replace("%d, %m", "%t, %n")), {"%r.tid.x", "%i", "%w", "%p"}, 16) is None


MASKED = """define void @k(ptr noundef %x, i32 noundef %distance, i32 noundef %size) {
bb:
  %t = call i32 @nvvm.read.ptx.sreg.tid.x()
  %less = add i32 %distance, -1
  %low = and i32 %t, %less
  %up = and i32 %size, %t
  %two = shl i32 %t, 1
  %i = sub i32 %two, %low
  %w = zext nneg i32 %i to i64
  %p = getelementptr i32, ptr %x, i64 %w
  store i32 %up, ptr %p
  ret void
}
"""


def test_masks_of_launches_have_known_lowest_bits():
    made = kernel(MASKED)
    version = interior(made, pieces(kernel(MASKED)).uniform.divergent, 16)
    assert version.masks == {"%less": True, "%size": False} and not version.comparisons
    lines = version.kernel.function.blocks["bb"]
    assert "%low.mask = or i32 %less, 15" in lines and "%up = and i32 %r.tid.x, %up.mask" in lines
    text = agreement(version, "same", ["i32 %distance", "i32 %size", "i32 %tid.base"], 16)
    assert "%less.e0 = add i32 %distance, -1" in text and "%mask.0 = icmp eq i32 %bits.0, 15" in text
    assert "%mask.1 = icmp eq i32 %bits.1, 0" in text and "ret i1 %masks.1" in text
    without = kernel(MASKED.replace("sub i32 %two, %low", "add i32 %two, 1"))
    assert interior(without, {"%r.tid.x", "%low", "%up", "%two", "%i", "%w", "%p"}, 16) is None
