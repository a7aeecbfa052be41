"""What device objects tell the runtime, as LLVM reads it."""
import llvmlite.binding as llvm
import pytest

from reactant.cuda_programs.device.kernel import Parameter
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.retarget import Variable
from reactant.cuda_programs.device.tables import CONSTANT, GRID_BARRIER, Entry, tables


def parameter(type_: str, text: str = "") -> Parameter:
    return Parameter(text, "%x", "ptr" if text else type_, type_, bool(text))


@pytest.mark.parametrize("parameters, places", [
    ([], []),
    (["ptr", "i32", "double"], [(0, 8), (8, 4), (16, 8)]),
    (["i8", "i16", "i8", "i64"], [(0, 1), (2, 2), (4, 1), (8, 8)]),
    (["float", "%pair"], [(0, 4), (8, 16)]),
])
def test_parameters_lie_as_in_cudas_buffer(parameters, places):
    layout = Layout("%pair = type { double, i32 }\n")
    text = tables(layout, "a.cu", [Entry("k", "blocks", [parameter(p) for p in parameters])], [])
    listed = ", ".join(f"{{ i32, i32 }} {{ i32 {offset}, i32 {size} }}" for offset, size in places)
    assert f"@reactant.parameters.0 = private constant [{len(places)} x {{ i32, i32 }}] [{listed}]\n" in text


def test_a_struct_by_address_keeps_its_alignment():
    text = tables(Layout("%s = type { [4 x float] }\n"), "a.cu",
                  [Entry("k", "blocks", [parameter("i32"), parameter("%s", "ptr byval(%s) align 16 %x")])], [])
    assert "{ i32 0, i32 4 }, { i32, i32 } { i32 16, i32 16 }" in text


def test_llvm_reads_kernels_variables_and_names():
    entries = [Entry('scale"<float>', "blocks.1", [parameter("ptr")], GRID_BARRIER, 256, 48, 7), Entry("k2", "b2", [])]
    variables = [(Variable("weights", "[3 x float]", 4), CONSTANT)]
    text = tables(Layout(""), "folder/a.cu", entries, variables)
    given = 'declare void @blocks.1()\ndeclare void @b2()\n@weights = global [3 x float] zeroinitializer\n'
    module = llvm.parse_assembly(given + text)
    module.verify()
    assert "i32 1, i32 256, i64 48, i64 0, i32 0, i32 7, i32 1" in text and r'c"scale\22<float>\00"' in text
    assert f"i64 12, i32 {CONSTANT}, i32 0" in text and 'c"weights\\00"' in text
    assert 'section ".init_array"' in text and "call void @reactant_register_module(ptr @reactant.module)" in text
