"""CUDA C++: the language without a toolkit, arguments by the signature, module variables, errors."""
import numpy as np
import pytest

import reactant
from reactant.errors import ConstantWriteError

pytest.importorskip("ziglang", reason="needs ziglang")

rng = np.random.default_rng(1)


def kernel(body: str, parameters: str = "double *x, int n", before: str = "", **options):
    """A kernel `k(parameters)` whose body sees the thread's index `i`."""
    return reactant.cuda.load(f"""{before}
extern "C" __global__ void k({parameters}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}""", "k", **options)


# ---- launching -------------------------------------------------------------------------------------------------

def test_both_forms_of_a_launch():
    k = kernel("if (i < n) x[i] += i;")
    x = np.zeros(10)
    k[2, 8](x, 10)
    k((2,), (8,), (x, np.int32(10)))
    k((2, 1, 1), (8, 1), (x, 10), shared_mem=16)
    np.testing.assert_array_equal(x, 3 * np.arange(10))


def test_inside_a_compiled_function():
    k = kernel("if (i < n) x[i] = x[i] * s + y[i];", "double *x, const double *y, double s, int n")

    @reactant.jit
    def f(x, y, s):
        for _ in range(4):
            k[(len(x) + 31) // 32, 32](x, y, s, len(x))
            y = y * 0.5
        return x.sum()
    x, y = rng.random(50), rng.random(50)
    expected, z = x.copy(), y.copy()
    for _ in range(4):
        expected = expected * 0.9 + z
        z = z * 0.5
    total = f(x, y, 0.9)
    np.testing.assert_allclose(x, expected)
    np.testing.assert_allclose(total, expected.sum())


def test_files_folders_and_defines(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "beside.h").write_text("#define FACTOR 3\n")
    (tmp_path / "inner" / "far.h").write_text("__device__ inline float plus(float a) { return a + OFFSET; }\n")
    (tmp_path / "k.cu").write_text('#include "beside.h"\n#include "far.h"\n__global__ void scale(float *x) '
                                   '{ x[threadIdx.x] = plus(x[threadIdx.x] * FACTOR); }\n')
    module = reactant.cuda.load(tmp_path / "k.cu", defines={"OFFSET": 2}, include=[tmp_path / "inner"])
    x = np.ones(4, np.float32)
    module.scale[1, 4](x)
    np.testing.assert_array_equal(x, np.full(4, 5))
    assert list(module) == ["scale"] and "scale" in repr(module) and len(module) == 1
    assert reactant.cuda.load(str(tmp_path / "k.cu"), "scale", defines=["OFFSET"], include=str(tmp_path / "inner"))


def test_templates_namespaces_and_overloads():
    module = reactant.cuda.load("""
template <typename T, unsigned N> __global__ void fill(T *x, T value) { if (threadIdx.x < N) x[threadIdx.x] = value; }
namespace outer { namespace inner { __global__ void one(int *x) { x[0] = 1; } } }
template <class T> struct Square { __device__ T operator()(T v) const { return v * v; } };
template <class F, class T> __global__ void map(T *x, F f) { x[threadIdx.x] = f(x[threadIdx.x]); }
""", name_expressions=["fill<float, 3u>", "fill<double, 2>", "map<Square<int>, int>"])
    a, b, c = np.zeros(4, np.float32), np.zeros(4), np.arange(4, dtype=np.int32)
    module["fill<float, 3u>"][1, 4](a, 2)
    module["fill<double,2>"][1, 4](b, 2.5)
    module["map"][1, 4](c, np.zeros((), np.dtype("V1"))[()])
    np.testing.assert_array_equal(a, [2, 2, 2, 0])
    np.testing.assert_array_equal(b, [2.5, 2.5, 0, 0])
    np.testing.assert_array_equal(c, [0, 1, 4, 9])
    d = np.zeros(1, np.int32)
    module["outer::inner::one"][1, 1](d)
    module.one[1, 1](d)
    assert d[0] == 1


def test_templates_by_what_they_were_asked_for_as():
    module = reactant.cuda.load("""
typedef double real;
enum Mode { FIRST, SECOND };
__device__ float larger(float a, float b) { return a > b ? a : b; }
template <typename T, T (*F)(T, T)> __global__ void zip(T *x, const T *y) { x[threadIdx.x] = F(x[threadIdx.x], y[0]); }
template <class T> __global__ void one(T *x) { x[0] = 1; }
template <Mode M, bool Q> __global__ void mode(int *x) { x[0] = 10 * M + Q; }
""", name_expressions=["zip<float, larger>", "one<real>", "one<unsigned>", "mode<SECOND, 1>", "mode<FIRST, false>"])
    x, a, b, c = np.arange(4, dtype=np.float32), np.zeros(1), np.zeros(1, np.uint32), np.zeros(1, np.int32)
    module["zip<float,larger>"][1, 4](x, np.array([1.5], np.float32))
    module["one<real>"][1, 1](a)
    module["one<unsigned>"][1, 1](b)
    module["mode<SECOND, 1>"][1, 1](c)
    np.testing.assert_array_equal(x, [1.5, 1.5, 2, 3])
    assert (a[0], b[0], c[0]) == (1, 1, 11)
    assert "__reactant" not in repr(module) + "".join(module.variables)


@pytest.mark.slow
def test_a_whole_program_with_its_host_side():
    module = reactant.cuda.load("""
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CHECK(e) if ((e) != cudaSuccess) { printf("%s", cudaGetErrorString(e)); return 1; }
__global__ void add(const float *a, const float *b, float *c, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + std::fabs(b[i]);
}
int main() {
    std::vector<float> h(100, 1.0f);
    std::sort(h.begin(), h.end());
    float *a; cudaMalloc(&a, 400); CHECK(cudaMemcpy(a, h.data(), 400, cudaMemcpyHostToDevice));
    add<<<4, 32>>>(a, a, a, 100);
    add<<<dim3(4), dim3(32), 0>>>(a, a, a, 100);
    CHECK(cudaDeviceSynchronize()); cudaFree(a);
    return 0;
}
""")
    a, b, c = (rng.standard_normal(50).astype(np.float32) for _ in range(3))
    module.add[2, 32](a, b, c, 50)
    np.testing.assert_array_equal(c, a + np.abs(b))


# ---- the language ----------------------------------------------------------------------------------------------

LANGUAGE = {
    "built-in variables": ("x[i] = blockIdx.x * 1000 + threadIdx.x + gridDim.x * 0.5 + blockDim.x * 0.25;",
                           lambda i: (i // 4) * 1000 + i % 4 + 1 + 1),
    "vector types": ("float4 v = make_float4(i, 1, 2, 3); double2 d = make_double2(v.x, v.w); x[i] = d.x + d.y;",
                     lambda i: i + 3),
    "dim3": ("dim3 d(i, 2); dim3 e = threadIdx; x[i] = d.x + d.y * d.z + e.y;", lambda i: i + 2),
    "shared": ("__shared__ double t[4]; t[threadIdx.x] = i; __syncthreads(); x[i] = t[3 - threadIdx.x];",
               lambda i: i // 4 * 4 + 3 - i % 4),
    "two dimensions": (
        "__shared__ float t[4][5]; t[threadIdx.x][2] = i; __syncthreads(); x[i] = t[threadIdx.x ^ 1][2];",
                       lambda i: i ^ 1),
    "dynamic shared": ("extern __shared__ double t[]; t[threadIdx.x] = i; __syncthreads(); x[i] = t[threadIdx.x ^ 2];",
                       lambda i: i ^ 2),
    "__ldg": ("x[i] = __ldg(&x[i]) + i;", lambda i: i),
    "integers": ("x[i] = __popc(i) + 10 * __clz(i + 1) + 1000 * __ffs(i) + 100000 * (__brev(i) >> 29);",
                 lambda i: np.bitwise_count(i) + 10 * (31 - np.floor(np.log2(i + 1)))
                 + 1000 * np.where(i > 0, np.log2(np.maximum(i & -i, 1)) + 1, 0)
                 + 100000 * ((i & 1) * 4 + (i & 2) + (i >> 2 & 1))),
    "min and max": ("x[i] = min(i, 3u) + max(i, 2) + min(1.5f, (float)i) + max(0.5, i);",
                    lambda i: np.minimum(i, 3) + np.maximum(i, 2) + np.minimum(1.5, i) + np.maximum(0.5, i)),
    "fast mathematics": ("x[i] = __expf(0.1f * i) + __fdividef(1.0f, i + 1.0f);",
                         lambda i: np.exp(np.float32(0.1) * i) + 1 / (i + 1)),
    "bits of floats": (
        "x[i] = __int_as_float(__float_as_int((float)i)) + __longlong_as_double(__double_as_longlong(2.0));",
                       lambda i: i + 2),
    "switch": (
        "switch (i % 4) { case 0: x[i] = 5; break; case 1: x[i] = i; case 2: x[i] += 1; break; default: return; }",
               lambda i: np.choose(i % 4, [5, i + 1, 1, 0])),
    "local arrays": ("int t[3] = {1, 2, 3}; for (int k = 0; k < 3; ++k) t[k] *= i; x[i] = t[i % 3];",
                     lambda i: i * (i % 3 + 1)),
    "lambdas": ("auto f = [=] __device__ (int v) { return v * n; }; x[i] = f(i);", lambda i: i * 8),
    "structs and references": ("P p{i, 2}; twice(p); x[i] = p.a + p.b;", lambda i: 2 * i + 4),
    "__launch_bounds__": ("x[i] = bounded(i);", lambda i: i + 1),
    "norms": ("double v[4] = {1, 2, 4, 1. * i}; int q; remquo(7.0 * i, 2.0, &q);"
              "x[i] = norm4d(v[0], v[1], v[2], v[3]) + rnorm3d(v[0], v[1], v[2]) + norm(4, v)"
              " + 1 / rnorm4d(1, 2, 4, i);",
              lambda i: 3 * np.sqrt(21 + i * i) + 21 ** -0.5),
    "tests of numbers": ("x[i] = isnan(nan(\"\")) + 2 * isnan(nanf(\"1\")) + 4 * isnormal(1.0 + i)"
                         " + 8 * isnormal(1e-310);",
                         lambda i: i * 0 + 7),
    "scopes of atomics": ("__shared__ float t; __shared__ unsigned c; if (threadIdx.x == 0) { t = 5; c = 0; }"
                          "__syncthreads(); atomicInc_block(&c, 9u); __syncthreads();"
                          "if (threadIdx.x == 1) x[i] = atomicExch_block(&t, 2.0f) + c;",
                          lambda i: np.where(i % 4 == 1, 9, 0)),
    "<< <": ("x[i] = i << 1 >> 1;", lambda i: i),
}
BEFORE = """
struct P { int a, b; };
__device__ __forceinline__ void twice(P &p) { p.a *= 2; p.b *= 2; }
__device__ __noinline__ int bounded(int v) { return v + 1; }
__global__ void __launch_bounds__(256, 2) unused(int *__restrict__ q) { q[0] = 1; }
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", LANGUAGE)
def test_language(what):
    body, expected = LANGUAGE[what]
    x = np.zeros(8)
    kernel(body, before=BEFORE)[2, 4, 0, 32](x, 8)
    np.testing.assert_allclose(x, expected(np.arange(8)), rtol=1e-6)


MATHEMATICS = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log",
               "log2", "log10", "log1p", "sqrt", "floor", "ceil", "trunc", "rint", "fabs", "cbrt"]


@pytest.mark.slow
@pytest.mark.parametrize("single", [False, True])
def test_mathematics(single):
    suffix, dtype = ("f", "float") if single else ("", "double")
    lines = "".join(f"y[{k} * n + i] = {name}{suffix}(x[i]);" for k, name in enumerate(MATHEMATICS))
    k = kernel(f"if (i < n) {{ {lines} }}", f"const {dtype} *x, {dtype} *y, int n")
    x = np.linspace(0.05, 0.95, 16).astype(np.float32 if single else np.float64)
    y = np.zeros((len(MATHEMATICS), 16), x.dtype)
    k[1, 16](x, y, 16)
    for name, row in zip(MATHEMATICS, y, strict=True):
        exact = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}.get(name) or getattr(np, name)
        np.testing.assert_allclose(row, exact(x), rtol=1e-6 if single else 1e-14, err_msg=name)


@pytest.mark.slow
def test_more_mathematics():
    from math import erf, erfc, gamma, hypot, lgamma
    calls = {"erf(a)": erf, "erfc(a)": erfc, "tgamma(a)": gamma, "lgamma(a)": lgamma, "rsqrt(a)": lambda a: a ** -0.5,
             "sinpi(a)": lambda a: np.sin(np.pi * a), "cospi(a)": lambda a: np.cos(np.pi * a),
             "exp10(a)": lambda a: 10 ** a, "pow(a, 1.5)": lambda a: a ** 1.5,
             "atan2(a, 2.0)": lambda a: np.arctan2(a, 2),
             "fmod(a, 0.3)": lambda a: np.fmod(a, 0.3), "hypot(a, 2.0)": lambda a: hypot(a, 2),
             "fma(a, 2.0, 1.0)": lambda a: 2 * a + 1, "copysign(a, -1.0)": lambda a: -a, "fdim(a, 0.5)":
             lambda a: max(a - 0.5, 0), "fmin(a, 0.5)": lambda a: min(a, 0.5), "normcdf(a)":
             lambda a: 0.5 * erfc(-a / 2 ** 0.5), "ldexp(a, 3)": lambda a: 8 * a, "(double)ilogb(a)":
             lambda a: np.floor(np.log2(a)), "(double)isnan(a)": lambda a: 0.0,
             "round(a * 10)": lambda a: np.round(10 * a),
             "asinh(a)": np.arcsinh, "atanh(a)": np.arctanh, "rcbrt(a)": lambda a: a ** (-1 / 3),
             "remainder(a, 0.4)": lambda a: a - 0.4 * np.rint(a / 0.4), "sincosd(a)": lambda a: np.sin(a) + np.cos(a),
             "modfd(a)": lambda a: np.modf(2.5 * a)[0] + 10 * np.modf(2.5 * a)[1],
             "frexpd(a)": lambda a: np.frexp(a)[0] + 10 * np.frexp(a)[1]}
    lines = "".join(f"y[{k} * n + i] = {call};" for k, call in enumerate(calls))
    before = """
__device__ double sincosd(double a) { double s, c; sincos(a, &s, &c); return s + c; }
__device__ double modfd(double a) { double w, f = modf(2.5 * a, &w); return f + 10 * w; }
__device__ double frexpd(double a) { int e; double f = frexp(a, &e); return f + 10 * e; }
"""
    x = np.array([0.07, 0.3, 0.51, 0.93])
    y = np.zeros((len(calls), 4))
    kernel(f"double a = x[i]; {lines}", "const double *x, double *y, int n", before)[1, 4](x, y, 4)
    for (name, exact), row in zip(calls.items(), y, strict=True):
        np.testing.assert_allclose(row, [exact(a) for a in x], rtol=1e-13, atol=1e-15, err_msg=name)


ATOMICS = {
    "int": (
        "atomicAdd(&x[0], 2); atomicSub(&x[1], 1); atomicMin(&x[2], -i); atomicMax(&x[3], i); atomicOr(&x[4], 1 << i);"
            "atomicAnd(&x[5], ~(1 << i)); atomicXor(&x[6], 1 << i);", [16, -8, -7, 7, 255, -256, 255]),
    "unsigned": ("atomicAdd(&x[0], 2u); atomicInc(&x[1], 2u); atomicDec(&x[2], 4u); atomicMax(&x[3], (unsigned)i);",
                 [16, 2, 2, 7]),
    "float": ("atomicAdd(&x[0], 0.5f); atomicAdd(&x[1], (float)i);", [4, 28]),
    "double": ("atomicAdd(&x[0], 0.5); atomicAdd(x + 1, (double)i);", [4, 28]),
    "unsigned long long": (
        "atomicAdd(&x[0], 3ull); atomicCAS(&x[1], 0ull, 9ull); atomicExch(&x[2], 5ull);", [24, 9, 5]),
}


@pytest.mark.parametrize("kind", ATOMICS)
def test_atomics(kind):
    body, expected = ATOMICS[kind]
    dtype = {"int": np.int32, "unsigned": np.uint32, "float": np.float32, "double": np.float64}.get(kind, np.uint64)
    x = np.zeros(8, dtype)
    if kind == "int":
        x[5] = -1
    kernel(body, f"{kind} *x")[2, 4](x)
    np.testing.assert_array_equal(x[:len(expected)], expected)


@pytest.mark.parametrize("way", ["tensor", "native"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_atomics_on_the_bits_of_floats(way, iterations):
    """The greatest float by two integer atomics, as programs write it: scatters of the bits."""
    module = reactant.cuda.load(r"""
    __device__ float atomic_max(float *p, float v) {
        return v >= 0 ? __int_as_float(atomicMax((int *)p, __float_as_int(v)))
                      : __uint_as_float(atomicMin((unsigned int *)p, __float_as_uint(v)));
    }
    extern "C" __global__ void highest(const float *x, const int *group, float *out, int n, int iterations) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        for (int k = 0; k < iterations; k++)
            if (i + k < n) atomic_max(&out[group[i + k]], x[i + k]);
    }
    """, lower=way)
    random = np.random.default_rng(0)
    x, group = random.standard_normal(300).astype(np.float32), random.integers(0, 9, 300).astype(np.int32)
    out = np.full(10, -3, np.float32)
    wanted = out.copy()
    np.maximum.at(wanted, group, x)

    def launched(x, group, out):
        module.highest[5, 64](x, group, out, 300, iterations)
    compiled = reactant.jit(launched)
    compiled(x, group, out)
    np.testing.assert_array_equal(out, wanted)
    if way == "tensor" and iterations == 1:
        counts = compiled.lower(x, group, out).operations()
        assert counts["stablehlo.scatter"] == 2 and "stablehlo.while" not in counts


@pytest.mark.slow
def test_warps_and_cooperative_groups():
    module = reactant.cuda.load("""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void warp(const float *x, float *sums, unsigned *ballots, int *votes) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    float v = x[block.thread_rank()];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = v;
    block.sync();
    sums[2 + block.thread_rank()] = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
    ballots[threadIdx.x] = __ballot_sync(0xffffffff, x[threadIdx.x] > 0.5f);
    votes[threadIdx.x] = __any_sync(0xffffffff, threadIdx.x == 40) + 2 * __all_sync(0xffffffff, x[threadIdx.x] >= 0)
        + 4 * tile.shfl_xor((int)threadIdx.x, 1);
}""")
    x = rng.random(64).astype(np.float32)
    sums, ballots, votes = np.zeros(66, np.float32), np.zeros(64, np.uint32), np.zeros(64, np.int32)
    module.warp[1, 64](x, sums, ballots, votes)
    halves = x.reshape(2, 32)
    np.testing.assert_allclose(sums[:2], halves.sum(1), rtol=1e-6)
    np.testing.assert_allclose(sums[2:], np.repeat(halves.sum(1), 32), rtol=1e-6)
    np.testing.assert_array_equal(ballots, np.repeat((halves > 0.5) @ (1 << np.arange(32, dtype=np.int64)), 32))
    t = np.arange(64)
    np.testing.assert_array_equal(votes, (t >= 32) + 2 + 4 * (t ^ 1))


COPIES = {
    "cooperative": """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float4 *x, float *y, int tiles) {
    __shared__ float4 s[32];
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    float total = 0;
    for (int k = 0; k < tiles; ++k) {
        cg::memcpy_async(block, s, x + 32 * k, sizeof(float4) * 32);
        cg::wait(block);
        float4 v = s[31 - t];
        total += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        block.sync();
    }
    y[t] = total;
}""",
    "two buffers": """
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float4 *x, float *y, int tiles) {
    __shared__ float4 s[2][32];
    int t = threadIdx.x;
    float total = 0;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float4));
    __pipeline_commit();
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles) __pipeline_memcpy_async(&s[(k + 1) & 1][t], &x[(k + 1) * 32 + t], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = s[k & 1][31 - t];
        total += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        __syncthreads();
    }
    y[t] = total;
}"""}


@pytest.mark.parametrize("way", ["tensor", "native"])
@pytest.mark.parametrize("which", COPIES)
def test_asynchronous_copies_are_copies(which, way):
    x, y = rng.integers(0, 9, (5, 32, 4)).astype(np.float32), np.zeros(32, np.float32)
    reactant.cuda.load(COPIES[which], "k", lower=way)[1, 32](x.reshape(-1), y, 5)
    np.testing.assert_array_equal(y, (x * [1, 2, 3, 4]).sum((0, 2))[::-1])


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_atomics_by_reference(way):
    module = reactant.cuda.load("""
#include <cuda/atomic>
extern "C" __global__ void k(const int *x, int *sum, int *most, unsigned *bits, int *claimed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> s(*sum), m(*most), c(claimed[x[i]]);
    s.fetch_add(x[i], cuda::std::memory_order_relaxed);
    s += 1;
    m.fetch_max(x[i]);
    cuda::atomic_ref<unsigned>(*bits).fetch_or(1u << x[i]);
    int nobody = 0;
    c.compare_exchange_strong(nobody, 7);
}""", lower=way)
    x = rng.integers(0, 20, 50).astype(np.int32)
    total, most, bits, claimed = (np.zeros(n, kind) for n, kind in ((1, "i4"), (1, "i4"), (1, "u4"), (20, "i4")))
    module.k[2, 32](x, total, most, bits, claimed, 50)
    assert (total, most, bits) == (x.sum() + 50, x.max(), np.bitwise_or.reduce(1 << x))
    np.testing.assert_array_equal(claimed, 7 * np.isin(np.arange(20), x))


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_groups_of_a_warp_with_one_label(way):
    module = reactant.cuda.load("""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *key, const int *v, int *sums, int *next, unsigned *same) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    same[t] = warp.match_any(key[t]);
    auto group = cg::labeled_partition(warp, key[t]);
    sums[t] = cg::reduce(group, v[t], cg::plus<int>());
    next[t] = 100 * group.shfl_up(v[t], 1) + group.shfl_down(v[t], 1);
}""", lower=way)
    key, v = rng.integers(0, 4, 64).astype(np.int32), rng.integers(0, 100, 64).astype(np.int32)
    sums, neighbours, same = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(64, np.uint32)
    module.k[1, 64](key, v, sums, neighbours, same)
    for t in range(64):
        group = [u for u in range(t // 32 * 32, t // 32 * 32 + 32) if key[u] == key[t]]
        place = group.index(t)
        before, after = group[max(place - 1, 0)], group[min(place + 1, len(group) - 1)]
        assert sums[t] == v[group].sum() and neighbours[t] == 100 * v[before] + v[after]
        assert same[t] == sum(1 << u % 32 for u in group)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("way", ["tensor", "native"])
def test_one_atomic_for_a_warp_and_a_place_that_one_thread_changes(way):
    """A lane may hand a shuffle what it never set; what another thread writes is read after the barrier."""
    module = reactant.cuda.load(r"""
    extern "C" __global__ void positive(const int *x, int *y, int *count, int n) {
        int i = threadIdx.x + blockIdx.x * blockDim.x;
        if (i >= n || x[i] <= 0) return;
        unsigned active = __activemask();
        int rank = __popc(active & ((1u << (threadIdx.x & 31)) - 1)), start;
        if (rank == 0) start = atomicAdd(count, __popc(active));
        start = __shfl_sync(active, start, __ffs(active) - 1);
        y[start + rank] = x[i];
    }
    extern "C" __global__ void search(const int *keys, int *from, int *to, int key) {
        for (int step = 0; step < 4; ++step) {
            int low = *from, width = (*to - low + 7) / 8, place = low + threadIdx.x * width;
            __syncthreads();
            if (keys[place] <= key && keys[place + width] > key) { *from = place; *to = place + width; }
            __syncthreads();
        }
    }""", lower=way)
    x = np.random.default_rng(3).integers(-9, 9, 90).astype(np.int32)
    y, count = np.zeros(90, np.int32), np.zeros(1, np.int32)
    module.positive[3, 32](x, y, count, 90)
    assert count[0] == (x > 0).sum() and sorted(y[:count[0]]) == sorted(x[x > 0]) and not y[count[0]:].any()
    keys, low, high = np.arange(0, 2000, 3, dtype=np.int32), np.zeros(1, np.int32), np.full(1, 512, np.int32)
    module.search[1, 8](keys, low, high, 700)
    assert (low[0], high[0]) == (233, 234)


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_insertion_into_a_hash_table_waits_for_nobody(way):
    """A compare-and-swap that moves on where another thread came first is no lock."""
    module = reactant.cuda.load(r"""
    extern "C" __global__ void insert(const unsigned *keys, unsigned *slots, int *counts, int n, int size) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        unsigned h = keys[i] * 2654435761u % size;
        while (true) {
            unsigned old = atomicCAS(&slots[h], 0u, keys[i]);
            if (old == 0u || old == keys[i]) { atomicAdd(&counts[h], 1); return; }
            h = (h + 1) % size;
        }
    }""", lower=way)
    keys = np.random.default_rng(1).integers(1, 20, 40).astype(np.uint32)
    slots, counts = np.zeros(32, np.uint32), np.zeros(32, np.int32)
    module.insert[2, 32](keys, slots, counts, 40, 32)
    found = {int(k): int(c) for k, c in zip(slots, counts, strict=True) if k}
    assert found == {int(k): int((keys == k).sum()) for k in keys}


@pytest.mark.slow
def test_numbers_of_8_and_16_bits_in_one_word():
    k = kernel("if (i < n) {"
               "o[i] = __vadd4(x[i], y[i]); o[n + i] = __vsubss2(x[i], y[i]); o[2 * n + i] = __vavgu4(x[i], y[i]);"
               "o[3 * n + i] = __vcmpgts4(x[i], y[i]); o[4 * n + i] = __vsetleu2(x[i], y[i]);"
               "o[5 * n + i] = __vsadu4(x[i], y[i]); o[6 * n + i] = __vabsss4(x[i]);"
               "o[7 * n + i] = __dp2a_hi((int)x[i], (int)y[i], 5); }",
               "const unsigned *x, const unsigned *y, unsigned *o, int n")
    x, y = np.random.default_rng(2).integers(0, 2**32, (2, 20)).astype(np.uint32)
    x[0] = 0x80007f80
    out = np.zeros((8, 20), np.uint32)
    k[1, 32](x, y, out, 20)
    a, b, c, d = (v.view(t).reshape(20, -1).astype(int) for t in ("u1", "i1", "u2", "i2") for v in (x,))
    e, f, g, h = (v.view(t).reshape(20, -1).astype(int) for t in ("u1", "i1", "u2", "i2") for v in (y,))

    def packed(values, kind):
        return values.astype(kind).view(np.uint32)[:, 0]
    dots = (d * f[:, 2:]).sum(1) + 5
    expected = [packed(a + e, "u1"), packed((d - h).clip(-32768, 32767), "i2"), packed((a + e + 1) >> 1, "u1"),
                packed(np.where(b > f, -1, 0), "i1"), packed(c <= g, "u2"), abs(a - e).sum(1),
                packed(abs(b).clip(0, 127), "i1"), dots.astype(np.int32).view(np.uint32)]
    np.testing.assert_array_equal(out, np.array(expected, np.uint32))


def test_pairs_of_16_bit_floats():
    k = kernel("if (i < n) { __half2 v = ((const __half2 *)x)[i]; v += __lowhigh2highlow(v);"
               "((__half2 *)x)[i] = __hmax2(h2sqrt(v), __hgt2(v, __float2half2_rn(2.0f)));"
               "__nv_bfloat16 first = __ushort_as_bfloat16(b[2 * i]), second = __ushort_as_bfloat16(b[2 * i + 1]);"
               "__nv_bfloat162 w = __halves2bfloat162(first, second);"
               "w = __hfma2(w, w, __float2bfloat162_rn(1.0f));"
               "b[2 * i] = __bfloat16_as_ushort(w.x);"
               "f[i] = __high2float(w) + __bfloat162float(hsqrt(__habs(__low2bfloat16(w)))); }",
               "half *x, unsigned short *b, float *f, int n", "#include <cuda_fp16.h>\n#include <cuda_bf16.h>")
    x = np.arange(16).astype(np.float16) / 4
    b, f = np.arange(0x3f80, 0x3f90).astype(np.uint16), np.zeros(8, np.float32)
    expected = np.repeat(x[::2] + x[1::2], 2)
    given = (b.astype(np.uint32) << 16).view(np.float32)
    k[1, 8](x, b, f, 8)
    np.testing.assert_array_equal(x, np.maximum(np.sqrt(expected), expected > 2))
    rounded = (b.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(rounded[::2], given[::2] ** 2 + 1, rtol=2**-8)
    np.testing.assert_allclose(f, given[1::2] ** 2 + 1 + np.sqrt(given[::2] ** 2 + 1), rtol=2**-7)


def test_half_precision():
    k = kernel("if (i < n) "
               "{ half h = __float2half(2.0f); x[i] = __hadd(x[i] * h, x[i]); y[i] = __half2float(hsqrt(x[i])); }",
               "half *x, float *y, int n", "#include <cuda_fp16.h>")
    x = np.arange(1, 9).astype(np.float16)
    y = np.zeros(8, np.float32)
    k[1, 8](x, y, 8)
    np.testing.assert_array_equal(x, np.arange(1, 9) * 3)
    np.testing.assert_allclose(y, np.sqrt(x.astype(np.float32)), rtol=1e-3)


# ---- arguments by the signature --------------------------------------------------------------------------------

@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind, dtype, values", [
    ("char", np.int8, (3, True)), ("unsigned char", np.uint8, (200, np.uint8(200))), ("short", np.int16, (-7,)),
    ("int", np.int32, (3, np.int64(3), True)), ("unsigned int", np.uint32, (2**32 - 1,)),
    ("long long", np.int64, (-2**40,)), ("size_t", np.uint64, (2**63,)),
    ("float", np.float32, (2, 2.5, np.float64(2.5))),
    ("double", np.float64, (2, 2.5, np.float32(2.5), np.int8(-1))), ("bool", np.bool_, (True, False, 1))])
def test_numbers_are_converted_to_the_parameter(kind, dtype, values):
    k = kernel("x[0] = v;", f"{kind} *x, {kind} v")
    for value in values:
        x = np.zeros(1, dtype)
        k[1, 1](x, value)
        assert x[0] == dtype(value)


def test_structs_vectors_and_complex_numbers_by_value():
    k = kernel("x[0] = p.a + p.v.y + f.z; x[1] = c.y * p.v.x + (double)p.flags[0];",
               "double *x, P p, float3 f, double2 c", "struct P { float2 v; int a; short flags[2]; };")
    kind = np.dtype([("v", "f4", 2), ("a", "i4"), ("flags", "i2", 2)], align=True)
    p = np.zeros((), kind)
    p["a"], p["v"], p["flags"] = 3, (1.5, 2.5), (7, 0)
    x = np.zeros(2)
    k[1, 1](x, p[()], (1.0, 2.0, 4.0), 1 + 2j)
    np.testing.assert_allclose(x, [3 + 2.5 + 4, 2 * 1.5 + 7])


@pytest.mark.parametrize("number", [0.5, np.float16(0.5), (np.float16(0.5),)])
def test_a_struct_of_one_number_takes_a_number(number):
    module = reactant.cuda.load("""#include <cuda_fp16.h>
    extern "C" __global__ void k(__half *x, __half a) { x[threadIdx.x] = __hmul(x[threadIdx.x], a); }""")
    x, y = np.arange(4, dtype=np.float16), np.arange(4, dtype=np.float16)
    module.k[1, 4](x, number)
    reactant.jit(lambda y, a: module.k[1, 4](y, a), frontend="numpy")(y, number)
    np.testing.assert_array_equal(x, [0, 0.5, 1, 1.5])
    np.testing.assert_array_equal(y, x)


def test_arrays_in_structs_by_value_are_tuples():
    k = kernel("x[i] = q.m[i / 2 % 2][i % 2] + q.v[i % 2].y + q.on;", "double *x, Q q",
               "struct Q { int m[2][2]; float2 v[2]; bool on; };")
    x = np.zeros(4)
    k[1, 4](x, (((1, 2), (3, 4)), ((10.0, 20.0), (30.0, 40.0)), True))
    np.testing.assert_array_equal(x, [22, 43, 24, 45])

    def program(s):
        y = np.zeros(4)
        k[1, 4](y, (((1, 2), (3, 4)), ((s, s), (30.0, 40.0)), True))
        return y
    np.testing.assert_array_equal(reactant.jit(program, frontend="numpy")(5.0), [7, 43, 9, 45])
    with pytest.raises(reactant.ReactantError, match="(?s)member 'm' is an array of 4 int.*Pass a tuple"):
        k[1, 4](x, (((1, 2), (3,)), ((10.0, 20.0), (30.0, 40.0)), True))


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_structs_by_value_may_hold_pointers(way):
    """As arrays of structs of arrays do: a pointer takes an array, 0 is a null pointer."""
    module = reactant.cuda.load("""
    struct Field { double *values; const int *places; int scale; };
    struct Fields { Field f[2]; double *unused; int n; };
    extern "C" __global__ void k(Fields a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < a.n) for (int j = 0; j < 2; j++)
            a.f[j].values[i] += a.f[j].scale * (a.f[1 - j].places ? a.f[1 - j].places[i] : 1) + (a.unused != nullptr);
    }""", lower=way)
    x, y, places = np.zeros(40), np.ones(40), np.arange(40, dtype=np.int32)
    module.k[2, 32]((((x, places, 2), (y, 0, 3)), 0, 40))
    np.testing.assert_array_equal(x, np.full(40, 2.0))
    np.testing.assert_array_equal(y, 1 + 3.0 * places)
    with pytest.raises(reactant.ReactantError, match=r"member 'f'\[0\], member 'values'.* dtype float32"):
        module.k[2, 32]((((x.astype(np.float32), places, 2), (y, 0, 3)), 0, 40))


def test_pointers_to_structs_take_records_and_plain_arrays():
    k = kernel("p[i].x += p[i].y * i; q[i].w = i;", "float2 *p, float4 *q")
    p, q = np.ones((4, 2), np.float32), np.zeros(4, [(n, "f4") for n in "xyzw"])
    k[1, 4](p, q)
    np.testing.assert_array_equal(p, [[1 + i, 1] for i in range(4)])
    np.testing.assert_array_equal(q["w"], range(4))
    c = np.full(4, 1 + 1j, np.complex64)
    k[1, 4](c, q)
    np.testing.assert_array_equal(c, 1 + np.arange(4) + 1j)


def test_offset_views_are_pointers_into_their_array():
    k = kernel("x[i] = x[i - 1] + 1;")
    x = np.arange(8.0)
    k[1, 1](x[3:], 5)
    np.testing.assert_array_equal(x, [0, 1, 2, 3, 4, 5, 6, 7])
    k[1, 1](x[3:].reshape(5, 1), 5)
    assert x[3] == 3


def test_shared_arrays_that_are_left_are_named():
    module = reactant.cuda.load("""
template <int N> __global__ void k(const double *x, const int *places, double *y) {
    __shared__ double tile[N];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[places[threadIdx.x]];
}""", name_expressions=["k<8>"])
    k, places = reactant.kernel(module["k<8>"], check=True), np.zeros(16, np.int32)
    with pytest.raises(IndexError, match="tile has 8 elements; the launch accesses element 8"):
        k[1, 16](np.zeros(16), places, np.zeros(16))
    places[2] = 9
    with pytest.raises(IndexError, match="reads outside the shared array 'tile', which has 8 elements, at <source>:6"):
        k[1, 8](np.zeros(16), places, np.zeros(16))


BAD_ARGUMENTS = [
    ((np.zeros(3, np.float32), 3), r"Argument 0 \('x'\) of 'k' is double\*, the array has dtype float32"),
    ((np.zeros(3, np.int64), 3), r"the array has dtype int64. Pass an array of float64"),
    ((1.5, 3), r"Argument 0 \('x'\) of 'k' is a pointer \(double\*\): it takes an array"),
    ((np.zeros(3), 2.5), r"Argument 1 \('n'\) of 'k' is an integer"),
    ((np.zeros(3), 2**31), r"out of its range"),
    ((np.zeros(3), np.zeros(2)), r"Argument 1 \('n'\) of 'k' is a number \(int\), an array float64\[2\] given"),
    ((np.zeros(3), 1j), r"complex"),
    ((np.zeros(3),), r"'k\(double\* x, int n\)' takes 2 arguments, 1 given"),
    ((np.zeros(3), 3, 4), r"takes 2 arguments, 3 given"),
    ((np.zeros(3), None), r"NoneType"),
]


@pytest.mark.parametrize("arguments, message", BAD_ARGUMENTS, ids=[m for _, m in BAD_ARGUMENTS])
def test_wrong_arguments(arguments, message):
    with pytest.raises(reactant.ReactantError, match=message):
        kernel("if (i < n) x[i] = 1;")[1, 4](*arguments)


def test_arrays_with_gaps_inside_compiled_functions():
    k = kernel("if (i < n) x[i] = 1;")

    @reactant.jit
    def f(x):
        k[1, 4](x, 4)
    with pytest.raises(reactant.ReactantError, match="not contiguous in memory"):
        f(np.zeros(8)[::2])


# ---- variables of the module -----------------------------------------------------------------------------------

VARIABLES = """
__constant__ float weights[3] = {1, 2, 3};
__constant__ int offset;
__device__ double total;
__device__ int calls[2][2];
__device__ float read(int k) { return weights[k]; }
__global__ void weigh(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = read(i % 3) * x[i] + weights[2] + offset;
    if (i == 0) { calls[1][0] += 1; }
}
__global__ void sum(const float *x) { atomicAdd(&total, (double)x[threadIdx.x]); }
"""


def test_constant_and_device_variables():
    module = reactant.cuda.load(VARIABLES)
    assert {n: v.shape for n, v in module.variables.items()} == {"weights": (3,), "offset": (), "total": (),
                                                                  "calls": (2, 2)}
    np.testing.assert_array_equal(module.variables["weights"], [1, 2, 3])
    x = np.ones(6, np.float32)
    module.weigh[1, 8](x, 6)
    np.testing.assert_array_equal(x, [4, 5, 6, 4, 5, 6])
    module.variables["weights"][:] = 0
    module.variables["offset"][...] = 7
    module.weigh[1, 8](x, 6)
    np.testing.assert_array_equal(x, np.full(6, 7))
    assert module.variables["calls"].tolist() == [[0, 0], [2, 0]]
    module.sum[1, 6](x)
    module.sum[1, 6](x)
    assert module.variables["total"] == 84


def test_variables_of_one_launch():
    module = reactant.cuda.load(VARIABLES.replace("if (i == 0) { calls[1][0] += 1; }", ""))
    x = np.ones(3, np.float32)
    module.weigh[1, 8](x, 3, weights=np.array([5, 6, 7], np.float32))
    np.testing.assert_array_equal(x, [12, 13, 14])

    @reactant.jit
    def f(x, w):
        module.weigh[1, 8](x, 3, weights=w * 2)
    f(x, np.ones(3, np.float32))
    np.testing.assert_array_equal(x, 2 * np.array([12, 13, 14]) + 2)
    with pytest.raises(TypeError, match="uses no variable 'wait' .it has offset, weights"):
        module.weigh[1, 8](x, 3, wait=0)
    with pytest.raises(TypeError, match="'weights' is float32"):
        module.weigh[1, 8](x, 3, weights=np.zeros(4, np.float32))


def test_variables_of_few_initial_values_and_of_structs_with_arrays():
    """What LLVM says of them is a packed struct of the values and the zeros after them."""
    module = reactant.cuda.load("""
struct Filter { int taps; double w[2][3]; struct { short shift; float gain; } stage[2]; };
__constant__ Filter filters[2];
__device__ int table[3][50] = {{1}, {2, 3}};
__device__ union { float f; unsigned bits; } one[2] = {{1.0f}};
__global__ void k(double *x) {
    const Filter &f = filters[threadIdx.x];
    x[threadIdx.x] = f.taps + f.w[1][2] + f.stage[1].gain + table[1][threadIdx.x] + one[threadIdx.x].bits;
}
""")
    filters, x = module.variables["filters"], np.zeros(2)
    assert filters.shape == (2,) and filters["w"].shape == (2, 2, 3) and filters["stage"].shape == (2, 2)
    filters["taps"], filters["w"], filters["stage"]["gain"][:, 1] = [1, 2], 10 * np.arange(6).reshape(2, 3), [0.25, 0.5]
    module.k[1, 2](x)
    np.testing.assert_array_equal(x, [1 + 50 + 0.25 + 2 + 0x3f800000, 2 + 50 + 0.5 + 3])
    assert module.variables["table"].shape == (3, 50) and module.variables["one"]["f"].tolist() == [1, 0]


def test_structs_with_arrays_as_variables_in_compiled_functions():
    module = reactant.cuda.load("""
struct Material { float density; int kind; float rest[3]; };
__constant__ Material materials[2] = {{1.5f, 0, {1, 2, 3}}, {2, 1, {4, 5, 6}}};
__global__ void weigh(const int *which, float *x) {
    const Material &m = materials[which[threadIdx.x]];
    x[threadIdx.x] = (m.kind ? -m.density : m.density) * x[threadIdx.x] + m.rest[threadIdx.x % 3];
}
""")

    @reactant.jit
    def f(which, x):
        module.weigh[1, 4](which, x)
    x = np.ones(4, np.float32)
    f(np.array([0, 1, 1, 0], np.int32), x)
    np.testing.assert_array_equal(x, [2.5, 3, 4, 2.5])


def test_writing_a_variable_inside_a_compiled_function_is_refused():
    module = reactant.cuda.load(VARIABLES)

    @reactant.jit
    def f(x):
        module.sum[1, 3](x)
    with pytest.raises(ConstantWriteError):
        f(np.ones(3, np.float32))


# ---- errors ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("source, message", [
    ("__global__ void k(int *x) { x[0] = y; }\n", "<source>:1:.*undeclared identifier 'y'"),
    ("#error stop here\n", "stop here"),
    ("#include <no_such_header.h>\n__global__ void k(int *x) { x[0] = FROM_THERE; }\n", "no_such_header.h")])
def test_what_does_not_compile(source, message):
    with pytest.raises(reactant.ReactantError, match=f"(?s){message}"):
        reactant.cuda.load(source)


def test_headers_that_are_not_there_are_said():
    with pytest.warns(UserWarning, match=r"includes no_such_header\.h, not found and taken as empty"):
        reactant.cuda.load("#include <no_such_header.h>\n__global__ void k(int *x) { x[0] = 1; }\n")


ABSENT = {
    "texture object": ("x[i] = tex1Dfetch<float>(t, i);", "double *x, cudaTextureObject_t t", "no texture memory"),
    "texture": ("texture<float, 2> *image = 0; x[i] = 1;", "double *x", "no texture memory"),
    "clock": ("x[i] = clock64();", "double *x", "no clock in a kernel"),
    "random": ("curandState s; curand_init(1, i, 0, &s); x[i] = curand_uniform(&s);", "double *x", "no cuRAND here"),
    "launch": ("unused<<<1, 1>>>((int *)x);", "double *x", "cannot launch kernels here"),
    "tensor cores": ("nvcuda::wmma::fragment<int> f;", "double *x", "is not here: write the step as plain loops"),
}


@pytest.mark.parametrize("what", ABSENT)
def test_what_is_not_here_says_what_to_do(what):
    body, parameters, message = ABSENT[what]
    with pytest.raises(reactant.ReactantError, match=f"(?s)<source>:.*{message}"):
        kernel(body, parameters, BEFORE)


@pytest.mark.slow
def test_barriers_that_part_of_a_block_reaches():
    before = "__shared__ double s[8];\n"
    one = kernel("s[i] = i; if (i < 4) { __syncthreads(); x[i] = s[3 - i]; } else x[i] = -1;", before=before)
    x = np.zeros(8)
    one[1, 8](x, 8)
    np.testing.assert_array_equal(x, [3, 2, 1, 0, -1, -1, -1, -1])
    both = kernel("s[i] = i; if (i < 4) { __syncthreads(); x[i] = s[7 - i]; }\n"
                  "else { __syncthreads(); x[i] = s[7 - i] + 10; }", before=before)
    both[1, 8](x, 8)
    np.testing.assert_array_equal(x, [7, 6, 5, 4, 13, 12, 11, 10])
    with pytest.raises(reactant.UnsupportedError, match="(?s)barriers in both branches.*<source>:"):
        reactant.kernel(both, lower="tensor")[1, 8](x, 8)


@pytest.mark.parametrize("body, guarded", [("x[i + n] = 1;", "if (i < 0) x[i + n] = 1;"),
                                           ("x[i - 1] = 1;", "if (i) x[i - 1] = 1;"),
                                           ("x[0] = x[2 * i];", "x[0] = x[2 * i % n];"),
                                           ("if (i == n - 1) x[i + 1] = 1;", "if (i < n - 1) x[i + 1] = 1;")])
def test_certain_accesses_outside(body, guarded):
    with pytest.raises(IndexError, match=r"(?s)'k' accesses memory outside.*x has 8 elements.*At <source>:"):
        kernel(body)[1, 8](np.zeros(8), 8)
    kernel(guarded)[1, 8](np.zeros(8), 8)


def test_errors_of_loading(tmp_path):
    with pytest.raises(FileNotFoundError):
        reactant.cuda.load(tmp_path / "none.cu")
    module = reactant.cuda.load("template <class T> __global__ void t(T *x) {}\n__global__ void k(int *x) {}\n")
    with pytest.raises(KeyError, match="names no kernel.*which has k.*name_expressions"):
        module["t"]
    with pytest.raises(AttributeError, match="names no kernel"):
        _ = module.nothing
    with pytest.raises(reactant.UnsupportedError, match="no compiler 'no-such-clang'"):
        reactant.cuda.load("int x;\n", compiler="no-such-clang")
    with pytest.raises(TypeError, match="not one string"):
        reactant.cuda.load("int x;\n", defines="A")


def test_a_missing_extra_says_what_to_install(monkeypatch):
    import importlib.util
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ziglang" else find(name))
    with pytest.raises(reactant.UnsupportedError, match="pip install ziglang"):
        reactant.cuda.load("__global__ void k() {}\n")


@pytest.mark.parametrize("body, message", [
    ('printf("%d", i);', "printf in a kernel has nowhere to print"),
    ("double *p = new double[n]; p[i % n] = x[i]; x[0] = p[(i + 1) % n];", "Kernels cannot allocate memory"),
    ("x[0] = down(i);", "'.*down.*' calls itself"),
    ("int *p = (int *)malloc(4); p[0] = 1; x[0] = p[i];", "cannot allocate memory"),
    ("asm(\"mov.u32 %0, %%clock;\" : \"=r\"(i)); x[0] = i;", "inline assembly"),
    ("x[0] = missing(i);", "'.*missing.*'.*has no body"),
    ("int (*f)(int) = table[i]; x[0] = f(1);", "holds addresses")])
def test_what_kernels_cannot_do(body, message):
    before = """
#include <cstdio>
#include <cstdlib>
__device__ int missing(int);
__device__ int down(int n) { return n < 1 ? 1 : n * down(n - 1) + down(n - 2); }
__device__ int one(int a) { return a; } __device__ int two(int a) { return 2 * a; }
__device__ int (*table[2])(int) = {one, two};
"""
    with pytest.raises(reactant.UnsupportedError, match=f"(?s){message}") as caught:
        kernel(body, before=before)[1, 4](np.zeros(4), 4)
    assert "<source>:" in str(caught.value)


@pytest.mark.parametrize("grid, block, message", [
    (1, 1025, "1025 threads; a block has at most 1024"), (1, (32, 33), "32x33x1 = 1056"),
    (0, 32, "sizes are 1 or more"),
    ((1, 70000), 1, "limits are"), ((1, 1, 1, 1), 1, "has 4 dimensions"), (1.5, 1, "is 1.5, which is no integer")])
def test_launches_no_gpu_takes(grid, block, message):
    with pytest.raises(ValueError, match=message):
        kernel("x[0] = 1;")[grid, block](np.zeros(1), 1)


def test_sizes_of_a_launch_must_be_known():
    k = kernel("if (i < n) x[i] = 1;")

    @reactant.jit
    def f(x, n):
        k[n, 4](x, 4)
    with pytest.raises(reactant.ConcreteValueNeeded, match="The grid of the kernel 'k'"):
        f(np.zeros(4), np.int64(3))


def test_shared_memory_has_a_limit_and_launches_a_form():
    k = kernel("x[0] = 1;")
    with pytest.raises(ValueError, match="bytes of dynamic shared memory"):
        k[1, 1, 0, 10**6](np.zeros(1), 1)
    with pytest.raises(ValueError, match=r"A launch is k\[grid, block\]"):
        k[4](np.zeros(1), 1)
    with pytest.raises(ValueError, match="lower is 'auto'"):
        reactant.kernel(k, lower="fast")
    with pytest.raises(TypeError, match="takes a numba.cuda kernel"):
        reactant.kernel(lambda x: x)


WIDE = {
    "unsigned __int128 a = (unsigned __int128)(i + 1) << 100; y[i] = (unsigned long long)(a / 7 >> 64);":
        lambda i: (i + 1 << 100) // 7 >> 64,
    "__int128 a = ((__int128)(i - 4) << 70) + i; y[i] = a < 0 ? 1 : a > ((__int128)1 << 71) ? 2 : 3;":
        lambda i: 1 if i < 4 else 2 if i > 5 else 3,
    "unsigned __int128 a = (unsigned __int128)y[i] * y[i]; y[i] = (unsigned long long)(a / (y[i] + 3));":
        lambda i: i * i // (i + 3),
    "unsigned __int128 a = (unsigned __int128)(i + 1) << 100; y[i] = (unsigned long long)(a >> 64);":
        lambda i: i + 1 << 36,
}


def test_integers_of_128_bits():
    module = reactant.cuda.load("\n".join(
        f'extern "C" __global__ void k{k}(unsigned long long *y) {{ int i = threadIdx.x; {code} }}'
        for k, code in enumerate(WIDE)) + "\n")
    for k, wanted in enumerate(WIDE.values()):
        y = np.arange(8, dtype=np.uint64)
        module[f"k{k}"][1, 8](y)
        assert y.tolist() == [wanted(i) for i in range(8)]


@pytest.mark.parametrize("lower", ["tensor", "native"])
def test_high_halves_of_products_of_narrower_integers(lower):
    """Tensor programs refused them as integers of 128 bits."""
    k = kernel("y[i] = (long long)((__int128)x[i] * z[i] >> 64);"
               "y[i] += (long long)((__int128)x[i] * 1000000014000000049 >> 64);"
               "w[i] = (unsigned long long)((unsigned __int128)u[i] * 0xfedcba9876543210ull >> 64);",
               "const int *x, const unsigned *u, const long long *z, long long *y, unsigned long long *w", lower=lower)
    x, u = np.array([5, -7, -2**31, 0], np.int32), np.array([1, 77, 2**32 - 1, 0], np.uint32)
    z, y, w = np.array([2**62, -3, -2**63, 5]), np.zeros(4, np.int64), np.zeros(4, np.uint64)
    k[1, 4](x, u, z, y, w)
    pairs = zip(x.tolist(), z.tolist(), strict=True)
    assert y.tolist() == [(a * b >> 64) + (a * 1000000014000000049 >> 64) for a, b in pairs]
    assert w.tolist() == [int(a) * 0xfedcba9876543210 >> 64 for a in u]


REFUSED = """
extern "C" __global__ void k(float *x, int *m, unsigned long long *y) {
    int i = threadIdx.x;
    __shared__ float s[32];
    s[i] = x[i];
    unsigned __int128 a = (unsigned __int128)(i + 1) << 100;
    y[i] = (unsigned long long)(a / 7 >> 64);
    if (x[i] > 3) {
        __syncthreads();
        x[i] = s[31 - i];
    } else {
        __syncthreads();
        x[i] = s[31 - i] + 1;
    }
    x[i] = jnf(3, x[i]);
    while (atomicCAS(m, 0, 1) != 0) {}
    x[0] = x[0] * 0.5f + 1;
    atomicExch(m, 0);
}
"""


@pytest.mark.slow
def test_all_that_keeps_a_kernel_from_being_tensors_is_said():
    one = reactant.cuda.load(REFUSED, "k")
    arguments = np.zeros(32, np.float32), np.zeros(1, np.int32), np.zeros(32, np.uint64)
    said = one[1, 32].explain(*arguments)
    expected = ["<source>:7: integers of 128 bits", "<source>:8: threads of a block meet at barriers in both branches",
                "<source>:15: the function jnf has no tensor form", "<source>:16: threads wait in a loop"]
    assert [line.strip().startswith(e) for line, e in zip(said.splitlines()[1:], expected, strict=True)] == [True] * 4
    with pytest.raises(reactant.UnsupportedError, match="(?s)<source>:7.*also <source>:8.*also <source>:16"):
        reactant.kernel(one, lower="tensor")[1, 32](*arguments)


def test_variables_that_kernels_write_in_compiled_functions():
    module = reactant.cuda.load("""
__device__ unsigned count = 0;
extern "C" __global__ void k(float *x) { atomicAdd(&count, 1u); x[threadIdx.x] += 1; }
""")
    with pytest.raises(ConstantWriteError, match=r"writes into the variable 'count'.*count=count"):
        reactant.jit(lambda x: module.k[1, 4](x))(np.zeros(4, np.float32))
    count = np.zeros((), np.uint32)
    reactant.jit(lambda x, count: module.k[1, 4](x, count=count))(np.zeros(4, np.float32), count)
    assert count == 4


def test_signs_of_vectors_in_high_registers():
    """LLVM 22 takes the signs of a vector by an instruction that cannot name the registers from 16 on, and read others:
    remainders of negative numbers stayed negative."""
    source = r"""
    __device__ double lesser(double a, double b) { return a < b ? a : b; }
    __device__ double greater(double a, double b) { return a > b ? a : b; }
    extern "C" __global__ void k(double *a, long long *p, double *s, double *out, int n) {
        int t = threadIdx.x, b = (int)blockIdx.x + (int)blockIdx.y * 2 + (int)blockIdx.z * 2, g = b * 8 + t;
        if (g < n) {
            double found = s[g > 5 ? g : 5] + a[((g + b + (int)p[g]) % 5 + 5) % 5 * 9 + t];
            out[g] = greater(lesser(greater(found, (double)t + s[min(g | 2, 16)]), 4096.0), -4096.0);
        }
    }"""
    a, p, s = np.arange(45.0), np.full(20, -21), np.arange(17) * 0.25
    out, g = np.zeros(17), np.arange(17)
    reactant.cuda.load(source, lower="native").k[(2, 1, 2), 8](a, p, s, out, 17)
    found = s[np.maximum(g, 5)] + a[(g + g // 8 - 21) % 5 * 9 + g % 8]
    np.testing.assert_array_equal(out, np.maximum(found, g % 8 + s[np.minimum(g | 2, 16)]))


@pytest.mark.parametrize("view", [lambda n: n, lambda n: n[::2], lambda n: n[3:], lambda n: n.reshape(3, 4).T,
                                  lambda n: n.reshape(3, 4)[:, 1]])
def test_views_of_device_arrays_are_parts_of_their_memory(view):
    """A pointer is the first element of a view, of a device array as of NumPy's; views of one memory may overlap."""
    double = reactant.cuda.load("""extern "C" __global__ void doubled(double *y, const double *x, int n) {
        if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * 2; }""").doubled
    plain, device = np.arange(12.0), reactant.array(np.arange(12.0))
    for memory in (plain, device):
        double[1, 8](view(memory), np.arange(1.0, 7.0), 6)
        double[1, 8](memory[1:3], memory[2:], 2)
    np.testing.assert_array_equal(np.asarray(device), plain)


@pytest.mark.parametrize("view", [lambda a: a[:6], lambda a: a[::2], lambda a: a[::-1], lambda a: a.reshape(3, 4).T])
def test_views_of_device_arrays_in_a_program(view):
    """A launch inside a compiled function finds their memory order, or is refused, as it is of NumPy's views."""
    double = reactant.cuda.load("""extern "C" __global__ void doubled(double *y, int n) {
        if (threadIdx.x < n) y[threadIdx.x] = threadIdx.x * 2 + 1; }""").doubled
    run = reactant.jit(lambda y: double[1, 8](y, 6))
    plain, device = np.arange(12.0), reactant.array(np.arange(12.0))
    said = []
    for memory in (plain, device):
        try:
            run(view(memory))
            said.append("")
        except reactant.ReactantError as error:
            said.append(str(error))
    assert said[0] == said[1]
    np.testing.assert_array_equal(np.asarray(device), plain)
