"""C, C++ and LLVM IR: functions over pointers, called with arrays."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

rng = np.random.default_rng(2)

SOURCE = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
static int calls;
double table[4] = {1, 2, 3, 4};
static double weighted(double x, int i) { return x * table[i % 4]; }
double norm(const double *x, int n) {
    double s = 0;
    calls++;
    for (int i = 0; i < n; i++) s += weighted(x[i] * x[i], i);
    return sqrt(s);
}
void heat(double *restrict u, const double *restrict v, size_t n, size_t m) {
    for (size_t i = 1; i + 1 < n; i++)
        for (size_t j = 1; j + 1 < m; j++)
            u[i * m + j] = 0.25 * (v[(i - 1) * m + j] + v[(i + 1) * m + j] + v[i * m + j - 1] + v[i * m + j + 1]);
}
int64_t collatz(int64_t n) { int64_t k = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }
_Bool any_above(const float *x, int n, float limit) {
    for (int i = 0; i < n; i++) if (x[i] > limit) return true;
    return false;
}
void sort(int *x, int n) {
    for (int i = 1; i < n; i++) {
        int v = x[i], j = i;
        for (; j > 0 && x[j - 1] > v; j--) x[j] = x[j - 1];
        x[j] = v;
    }
}
"""


@pytest.fixture(scope="module")
def module():
    return reactant.c.load(SOURCE)


def test_functions_and_results(module):
    x = rng.random(10)
    np.testing.assert_allclose(module.norm(x, 10), np.sqrt((x * x * (1 + np.arange(10) % 4)).sum()))
    assert module.collatz(27) == 111 and isinstance(module.collatz(27), np.int64)
    values = rng.random(9).astype(np.float32)
    assert module.any_above(values, 9, 0.0) and not module.any_above(values, 9, 1.0)


@pytest.mark.slow
def test_writes_into_arguments(module):
    u, v = np.zeros((6, 7)), rng.random((6, 7))
    module.heat(u, v, 6, 7)
    expected = np.zeros_like(u)
    expected[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:])
    np.testing.assert_allclose(u, expected)
    x = rng.integers(0, 99, 17).astype(np.int32)
    module.sort(x, 17)
    assert (np.diff(x) >= 0).all()


def test_inside_a_compiled_function(module):
    module = reactant.c.load(SOURCE.replace("calls++;", ""))

    @reactant.jit
    def f(u, v):
        for _ in range(3):
            module.heat(u, v, *u.shape)
            u, v = v, u
        return module.norm(v, v.size) * 2
    u, v = rng.random((5, 6)), rng.random((5, 6))
    a, b = u.copy(), v.copy()
    result = f(a, b)
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:])
        u, v = v, u
    flat = v.ravel()
    np.testing.assert_allclose(result, 2 * np.sqrt((flat * flat * (1 + np.arange(30) % 4)).sum()))


def test_variables_live_from_call_to_call():
    module = reactant.c.load(SOURCE)
    for _ in range(3):
        module.norm(np.ones(4), 4)
    assert module.variables["calls"] == 3 and module.variables["table"].tolist() == [1, 2, 3, 4]
    module.variables["table"][:] = 0
    assert module.norm(np.ones(4), 4) == 0
    assert module.norm(np.ones(4), 4, table=np.ones(4)) == 2


@pytest.mark.slow
def test_files_names_and_languages(tmp_path):
    (tmp_path / "size.h").write_text("#define N 4\n")
    file = tmp_path / "f.cpp"
    file.write_text('#include "size.h"\n#include <algorithm>\n#include <array>\nextern "C" void top(double *x) '
                    "{ std::array<double, N> a; std::copy(x, x + N, a.begin()); "
                    "x[0] = *std::max_element(a.begin(), a.end()) * SCALE; }\n")
    top = reactant.c.load(file, "top", defines={"SCALE": 2})
    x = np.array([1.0, 5, 2, 3])
    top(x)
    assert x[0] == 10
    assert "top(double* x)" in repr(top) and list(reactant.c.load(file, defines={"SCALE": 2})) == ["top"]
    assert reactant.c.load("int f(int a) { return a + 1; }\n", "f")(2) == 3
    assert reactant.c.load("template <class T> T twice(T a) { return a + a; }\nint f(int a) { return twice(a); }\n",
                           "f", language="c++")(2) == 4


@pytest.mark.parametrize("call, error, message", [
    (lambda m: m.norm(np.ones(3)), reactant.ReactantError, r"'norm\(const double\* x, int n\)' takes 2 arguments"),
    (lambda m: m.norm(np.ones(3, "f4"), 3), reactant.ReactantError, r"Argument 0 \('x'\) of 'norm' is const double\*"),
    (lambda m: m.nothing, AttributeError, "has no function 'nothing'; it has norm, heat"),
    (lambda m: m["weighted"], KeyError, "has no function 'weighted'"),
    (lambda m: reactant.c.load("int f( {\n"), reactant.ReactantError, "does not compile"),
    (lambda m: reactant.c.load("int f(void) { return 1; }\n", language="rust"), ValueError, "language is 'c'"),
    (lambda m: reactant.c.load("#include <stdio.h>\nvoid f(int *x) { printf(\"%d\", x[0]); }\n", "f")(
        np.zeros(1, np.int32)), reactant.UnsupportedError, "printf"),
    (lambda m: reactant.c.load("double *f(double *x) { return x; }\n", "f"), reactant.UnsupportedError,
     "may return a number or nothing"),
    (lambda m: reactant.c.load("typedef struct { double x, y; } Point;\nPoint f(int n) { return (Point){n, n}; }\n",
                               "f"), reactant.UnsupportedError, "'f' returns a Point.*through a pointer")])
def test_errors(module, call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        call(module)


# ---- LLVM IR ---------------------------------------------------------------------------------------------------

SCALE = """
define void @scale(ptr %x, double %factor, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %w = fmul double %v, %factor
  store double %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
define float @add(float %a, float %b) {
  %c = fadd float %a, %b
  ret float %c
}
"""
KERNEL = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @numbers(ptr %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr %x, i32 %t
  store i32 %t, ptr %p
  ret void
}
"""


@pytest.mark.slow
def test_products_and_quotients_of_complex_numbers():
    """Also those that are infinite because C says so, where the textbook's formula gives NaN."""
    numbers = np.array([1 + 2j, -3 + 0.5j, 0, complex(np.inf, 1), complex(0, -np.inf), complex(np.inf, np.nan),
                        complex(np.nan, np.nan), 1e200 + 1e200j])
    a, b = (part.ravel().copy() for part in np.meshgrid(numbers, numbers))
    module = reactant.c.load("""
#include <complex.h>
void products(const double complex *a, const double complex *b, double complex *out, int n)
{ for (int i = 0; i < n; i++) out[i] = a[i] * b[i]; }
void quotients(const double complex *a, const double complex *b, double complex *out, int n)
{ for (int i = 0; i < n; i++) out[i] = a[i] / b[i]; }
""")
    out = np.zeros_like(a)
    plain = np.isfinite(a) & np.isfinite(b) & (b != 0) & (np.abs(a) < 1e9) & (np.abs(b) < 1e9)
    for function, exact in ((module.products, np.multiply), (module.quotients, np.divide)):
        function(a, b, out, len(a))
        np.testing.assert_allclose(out[plain], exact(a[plain], b[plain]), rtol=1e-14)
    assert abs(out[(a == 1e200 + 1e200j) & (b == 1e200 + 1e200j)][0] - 1) < 1e-14
    np.testing.assert_array_equal(out[np.isinf(b) & np.isfinite(a)], 0)
    np.testing.assert_array_equal(np.isinf(out), np.isinf(a) & np.isfinite(b) | (b == 0) & ~np.isnan(a) & (a != 0))
    module.products(a, b, out, len(a))
    nonzero = (a != 0) & (b != 0) & ~(np.isnan(a) & ~np.isinf(a)) & ~(np.isnan(b) & ~np.isinf(b))
    large = (a == 1e200 + 1e200j) & (b == 1e200 + 1e200j)
    np.testing.assert_array_equal(np.isinf(out), (np.isinf(a) | np.isinf(b)) & nonzero | large)


def test_functions_beside_one_that_allocates():
    text = """
define double @twice(double %x) #0 { %r = fmul double %x, 2.0  ret double %r }
declare ptr @malloc(i64) #1
attributes #0 = { nounwind "no-trapping-math"="true" }
attributes #1 = { nounwind allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc" }
"""
    assert reactant.llvm.load(text, "twice")(4.0) == 8


def test_llvm_text_files_and_bitcode(tmp_path):
    import llvmlite.binding as llvm
    (tmp_path / "f.ll").write_text(SCALE)
    (tmp_path / "f.bc").write_bytes(llvm.parse_assembly(SCALE).as_bitcode())
    for source in (SCALE, tmp_path / "f.ll", str(tmp_path / "f.ll"), tmp_path / "f.bc",
                   (tmp_path / "f.bc").read_bytes()):
        module = reactant.llvm.load(source)
        x = np.arange(5.0)
        module.scale(x, 2.5, 5)
        np.testing.assert_array_equal(x, 2.5 * np.arange(5))
        assert module.add(1.5, 2) == 3.5
    assert reactant.llvm.load(SCALE, "add")(np.float32(1), 2) == 3


def test_kernels_in_llvm():
    x = np.zeros(8, np.int32)
    reactant.llvm.load(KERNEL).numbers[1, 8](x)
    np.testing.assert_array_equal(x, np.arange(8))


WRAPPED = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @chosen(ptr %x, ptr %y) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %c = icmp ult i32 %t, 4
  %s = select i1 %c, i64 2305843009213693948, i64 2305843009213693950
  %j = add i64 %s, %i
  %k = getelementptr double, ptr %x, i64 2305843009213693954
  %p = getelementptr double, ptr %k, i64 %j
  %v = load double, ptr %p
  %q = getelementptr double, ptr %y, i64 %i
  store double %v, ptr %q
  ret void
}
"""


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_distances_are_modulo_the_address_space(way):
    """2**61 - 4 numbers of 8 bytes are 4 numbers back."""
    x, y = np.arange(12.0), np.zeros(8)
    reactant.kernel(reactant.llvm.load(WRAPPED).chosen, lower=way)[1, 8](x[2:], y)
    i = np.arange(8)
    np.testing.assert_array_equal(y, 2 + i + np.where(i < 4, -4, -2) + 2)


def test_llvm_errors(tmp_path):
    with pytest.raises(reactant.UnsupportedError, match="LLVM does not accept"):
        reactant.llvm.load("define void @f( {\n}\n")
    with pytest.raises(reactant.UnsupportedError, match="does not accept this bitcode"):
        reactant.llvm.load(b"BC wrong")
    with pytest.raises(FileNotFoundError):
        reactant.llvm.load(tmp_path / "none.ll")
    with pytest.raises(reactant.ReactantError, match="takes 3 arguments, 1 given"):
        reactant.llvm.load(SCALE).scale(np.ones(3))
