from reactant.cuda_programs.device.cuts import pieces
from reactant.cuda_programs.device.kernel import kernel
from tests.cuda_programs.device.kernel_texts import LOOP


def test_values_are_kept_or_computed_anew():
    cut = pieces(kernel(LOOP))
    assert [c.meeting.kind for c in cut.cuts if c.meeting] == ["barrier.block"]
    assert set(cut.kept) == {"%v", "%j", "%k", "%d"} or {"%v", "%j"} <= set(cut.kept)
    assert "%p" in cut.anew and "%j" not in cut.uniform.divergent and "%v" in cut.uniform.divergent
