"""Copies of kernels for shapes of blocks."""
import re

from reactant.cuda_programs.device import retarget
from reactant.cuda_programs.device.shapes import with_copies
from reactant.cuda_programs.device.text import split
from tests.cuda_programs.device.kernel_texts import KERNEL, MEETS, object_text


def test_extents_are_constants_in_a_copy():
    module = retarget.retargeted(MEETS)
    copies = split(with_copies(module.text, ["k"], {"k": [(64, 1, 1)]})[0]).functions
    assert "ntid" in copies["k"] and "ntid" not in copies["k.block64.1.1"]
    assert "%n = add i32 64, 0" in copies["k.block64.1.1"] and "%y = add i32 0, 0" in copies["k.block64.1.1"]


def test_launches_of_the_shape_run_the_copy_and_others_the_kernel():
    text = object_text(MEETS, {"k": [(64, 1, 1), (32, 2, 1)]})
    functions = split(text).functions
    chooses = functions["reactant_blocks__k.chosen"]
    for shape in ("64.1.1", "32.2.1"):
        assert f"tail call void @reactant_blocks__k.block{shape}(" in chooses
        assert "@reactant_scratch(" not in functions[f"reactant_blocks__k.block{shape}"]
    assert re.search(r"not\.1:\n  tail call void @reactant_blocks__k\(", chooses)
    assert "[ ptr @reactant.name.0, ptr @reactant_blocks__k.chosen" in text.replace("{", "[")
    assert "@reactant_scratch(" in functions["reactant_blocks__k"]


def test_kernels_whose_threads_do_not_meet_and_unknown_ones_have_none():
    alone = KERNEL.replace("BARRIER", "")
    assert "chosen" not in object_text(alone, {"k": [(64, 1, 1)]})
    assert "chosen" not in object_text(MEETS, {"other": [(64, 1, 1)]})
