from reactant.cuda_programs.device.kernel import kernel
from reactant.cuda_programs.device.uniformity import uniformity
from tests.cuda_programs.device.kernel_texts import LOOP


def test_branches_are_stepped_checked_or_tried():
    found = uniformity(kernel(LOOP).function, set(), set())
    assert found.stepped == ["loop", "end"] and found.probed == {"end"} and not found.checked
