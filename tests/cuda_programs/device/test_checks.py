"""What accesses instructions make, what their addresses are computed from, and where they are in the source."""
import pytest

from reactant.cuda_programs.device.checks import ATOMIC, DYNAMIC, LOCAL, READ, WRITE, Access, Places, accesses, checked
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.retarget import Retargeted, Variable

LAYOUT = Layout("%pair = type { i32, double }\n")
LINES = {
    "%v = load <4 x float>, ptr %p, align 16, !tbaa !3": [Access("%p", "16", READ, 16)],
    "store %pair zeroinitializer, ptr getelementptr inbounds (i8, ptr @g, i64 8), align 8":
        [Access("getelementptr inbounds (i8, ptr @g, i64 8)", "16", WRITE, 8)],
    "store volatile i32 0, ptr %p, align 4": [Access("%p", "4", WRITE | ATOMIC, 4)],
    "%o = load atomic i64, ptr %p monotonic, align 8": [Access("%p", "8", READ | ATOMIC, 8)],
    "%o = atomicrmw fadd ptr %p, float %x monotonic, align 4": [Access("%p", "4", READ | WRITE | ATOMIC, 4)],
    "%o = cmpxchg weak ptr %p, i64 %a, i64 %b seq_cst monotonic, align 8":
        [Access("%p", "8", READ | WRITE | ATOMIC, 8)],
    "tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 %a, ptr align 4 %b, i64 %n, i1 false)":
        [Access("%a", "%n", WRITE, 1), Access("%b", "%n", READ, 1)],
    "call void @llvm.memset.p0.i64(ptr align 4 %a, i8 0, i64 64, i1 false)": [Access("%a", "64", WRITE, 1)],
    "%x = fadd float %y, %z": [], "br label %next": [], "%r = call i32 @other(ptr %p)": [],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("line", LINES)
def test_accesses(line):
    assert accesses(line, LAYOUT) == LINES[line]


TEXT = """@t = internal global [8 x float] undef, align 4
@d = external global [0 x i8], align 16
define void @k(ptr noundef byval(%pair) align 8 %arg, ptr %x) {
entry:
  %l = alloca [4 x i32], align 4
  %a = getelementptr inbounds float, ptr @t, i64 %i
  %b = getelementptr inbounds i8, ptr %a, i64 4
  store float 0.0, ptr %b, align 4, !dbg !5
  %c = getelementptr inbounds i8, ptr @d, i64 4
  store float 0.0, ptr %c, align 4, !dbg !5
  store i32 0, ptr %l, align 4, !dbg !5
  %e = getelementptr inbounds i32, ptr %l, i64 %i
  store i32 0, ptr %e, align 4, !dbg !5
  %f = load double, ptr %arg, align 8
  store float 0.0, ptr %x, align 4
  fence syncscope("block") seq_cst
  fence syncscope("device") seq_cst
  ret void
}
!1 = !DIFile(filename: "a.cu", directory: "/somewhere")
!2 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1)
!5 = !DILocation(line: 7, column: 3, scope: !2)
"""


def test_what_addresses_are_computed_from():
    source = Retargeted("", kernels=["k"], shared={n: Variable(n, "", 16) for n in "td"})
    made = checked("%pair = type { i32, double }\n" + TEXT, source)
    found = [line.strip() for line in made.split("\n") if "call void @reactant_check" in line]
    place = "ptr @reactant.place.0)"
    assert found == [
        f"call void @reactant_check_access(ptr %b, i64 4, i32 {WRITE | 4 * 256}, ptr @t, i64 32, {place}",
        f"call void @reactant_check_access(ptr %c, i64 4, i32 {WRITE | DYNAMIC | 4 * 256}, ptr @d, i64 0, {place}",
        f"call void @reactant_check_access(ptr %e, i64 4, i32 {WRITE | LOCAL | 4 * 256}, ptr %l, i64 16, {place}",
        f"call void @reactant_check_access(ptr %x, i64 4, i32 {WRITE | 4 * 256}, ptr null, i64 0, ptr null)",
        "call void @reactant_check_fence()"]
    assert "!dbg" not in made and "DILocation" not in made
    assert '@reactant.place.text.0 = private constant [16 x i8] c"/somewhere/a.cu\\00"' in made


def test_places_are_the_programs_own():
    from reactant.cuda_programs.device.front import PROGRAM_HEADERS
    places = Places(f'!1 = !DIFile(filename: "{PROGRAM_HEADERS}/reactant_program.h", directory: "")\n'
                    '!2 = !DIFile(filename: "/a.cu", directory: "/b")\n'
                    '!3 = distinct !DISubprogram(name: "atomicAdd", scope: !1, file: !1, line: 3)\n'
                    '!4 = distinct !DISubprogram(name: "k", scope: !2, file: !2, line: 9)\n'
                    '!5 = !DILexicalBlock(scope: !4, file: !2, line: 10)\n'
                    '!6 = distinct !DILocation(line: 12, column: 1, scope: !5)\n'
                    '!7 = !DILocation(line: 3, column: 8, scope: !3, inlinedAt: !6)\n')
    assert places.where("!7") == ("/a.cu", 12, "k")
    assert places.place("ret void") == "null"
