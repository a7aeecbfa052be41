import pytest

from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.types import result_type

LAYOUT = Layout("%pair = type { i32, [2 x float] }\n")


@pytest.mark.parametrize("line, kind", [
    ("%a = add nuw nsw i32 %x, 1", "i32"), ("%a = icmp samesign ult i64 %x, %y", "i1"),
    ("%a = icmp eq <4 x i32> %x, %y", "<4 x i1>"), ("%a = phi contract float [ 0.0, %b ]", "float"),
    ("%a = select i1 %c, ptr %x, ptr %y", "ptr"), ("%a = fptosi double %x to i16", "i16"),
    ("%a = load volatile <2 x float>, ptr %p, align 8", "<2 x float>"),
    ("%a = getelementptr inbounds i8, ptr %p, i64 4", "ptr"), ("%a = cmpxchg ptr %p, i32 %x, i32 %y seq_cst seq_cst",
                                                               "{ i32, i1 }"),
    ("%a = extractvalue { i32, i1 } %x, 1", "i1"), ("%a = extractvalue %pair %x, 1, 0", "float"),
    ("%a = tail call contract noundef float @f(float %x)", "float"),
    ("%a = atomicrmw add ptr %p, i64 %v monotonic", "i64"),
    ("%a = call { i32, i1 } @g(i32 %x)", "{ i32, i1 }"), ("%a = extractelement <4 x half> %x, i32 0", "half")])
def test_types_of_results(line, kind):
    assert result_type(line, LAYOUT) == kind


def test_sizes():
    assert LAYOUT.size("%pair") == 12 and LAYOUT.align("{ i8, double }") == 8
