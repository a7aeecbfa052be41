"""Kernels as PTX: the call in the program, what it says; NVIDIA's assembler takes the text; it computes what it must,
instruction by instruction on the host (`ptx_emulation`). On a GPU: `tests/test_gpu.py`."""
import functools
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

from jaxlib.mlir import ir  # noqa: E402
from numba import cuda  # noqa: E402

import reactant  # noqa: E402
from reactant.errors import NotDifferentiable, UnsupportedError  # noqa: E402
from reactant.ir import attributes as attr  # noqa: E402
from reactant.ir import modules  # noqa: E402
from reactant.ir.context import building  # noqa: E402
from reactant.kernels.ptx import libdevice, ptx, ptx_call  # noqa: E402
from tests.kernels import ptx_emulation  # noqa: E402
from tests.kernels.corpus import patterns, stencils  # noqa: E402
from tests.kernels.fuzz import running  # noqa: E402
from tests.kernels.test_corpus import CASES  # noqa: E402

needs_libdevice = pytest.mark.skipif(libdevice.find() is None, reason="needs libdevice (nvidia-cuda-nvcc-cu12)")


@cuda.jit
def follow(following, steps, n, factor):
    i = cuda.grid(1)
    if i < n:
        j, count = i, 0
        while following[j] != j:
            j = following[j]
            count += 1
        steps[i] = factor * count


def walk(following, steps, factor):
    reactant.kernel(follow, lower="native")[2, 32](following, steps, len(steps), factor)
    return steps + 1


def chain():
    return np.maximum(np.arange(50) - 3, 0), np.zeros(50), 1.5


STEPS = 1.5 * ((np.arange(50) + 2) // 3)


# ---- the call --------------------------------------------------------------------------------------------------

def calls(lowered):
    with building():
        return [op for op in modules.walk(lowered.module) if ptx_call.name_of(op)]


def test_the_call():
    (call,) = calls(reactant.jit(walk, target="gpu").lower(*chain()))
    configuration = ir.DictAttr(call.attributes["backend_config"])
    found = {each.name: attr.decode(each.attr) for each in configuration}
    text, name = found.pop("kernel_data"), found.pop("name")
    assert name.startswith("follow_") and f".visible .entry {name}(" in text and ".reqntid 32, 1, 1" in text
    assert text.count(".param .u64") == 4                           # links, steps, factor, and the new steps
    assert found == {"kernel_type": "ptx", "shared_mem_bytes": 0, "grid_x": 2, "grid_y": 1, "grid_z": 1, "block_x": 32,
                     "block_y": 1, "block_z": 1}
    assert attr.decode(call.attributes["call_target_name"]) == "__gpu$xla.gpu.ptx"
    assert str(call.attributes["output_operand_aliases"]) == (
        "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]")


def test_only_what_is_no_tensor_program():
    def both(a, b, following, steps):
        reactant.kernel(stencils.heat1)[2, 32](a, b, 50, 0.1)
        reactant.kernel(follow, lower="native")[2, 32](following, steps, 50, 2.0)
    assert len(calls(reactant.jit(both, target="gpu").lower(np.ones(50), np.zeros(50), *chain()[:2]))) == 1
    assert not calls(reactant.jit(both).lower(np.ones(50), np.zeros(50), *chain()[:2]))


@cuda.jit
def iterated(x, rates, out, n, iterations):
    i = cuda.grid(1)
    if i < n:
        value = x[i]
        for _ in range(iterations):
            value = rates[i] * value * (1.0 - value)
        out[i] = value


def iterate(x, rates, iterations):
    out = np.zeros(len(x))
    reactant.kernel(iterated)[8, 64](x, rates, out, len(x), iterations)
    return out


@pytest.mark.sampled(100)
@pytest.mark.parametrize("iterations, itself", [(100, True), (10, False)])
def test_what_would_be_a_loop(iterations, itself):
    """Runs as itself; differentiated, it is the tensor program."""
    rng = np.random.default_rng(0)
    x, rates = rng.random(500), 2 * rng.random(500)
    lowered = reactant.jit(iterate, target="gpu").lower(x, rates, iterations)
    assert len(calls(lowered)) == itself
    assert ("each iteration of which is a launch" in str(lowered.traced.remarks)) == itself
    np.testing.assert_allclose(reactant.jit(iterate, target="gpu")(x, rates, iterations), iterate(x, rates, iterations))

    def loss(a):
        return np.sum(iterate(a, rates, iterations) ** 2)
    gradient = reactant.jit(lambda a: reactant.grad(loss)(a), target="gpu")
    np.testing.assert_allclose(gradient(x), reactant.grad(loss)(x), rtol=1e-10, atol=1e-290)


def test_what_a_loop_became_is_differentiated_as_tensors():
    """A compiled function, not traced anew for its gradient."""
    rng = np.random.default_rng(0)
    x, rates = rng.random(500), 2 * rng.random(500)
    compiled = reactant.jit(lambda a: np.sum(iterate(a, rates, 100) ** 2), target="gpu")
    assert len(calls(compiled.lower(x))) == 1
    np.testing.assert_allclose(reactant.grad(compiled)(x),
                               reactant.grad(lambda a: np.sum(iterate(a, rates, 100) ** 2))(x), rtol=1e-10, atol=1e-290)


FIRST = """
__global__ void first(int *x, int *width) { x[threadIdx.x] = __shfl_sync(0xffffffffu, x[threadIdx.x], 0, *width); }
"""


def test_a_kernel_that_is_no_tensor_program():
    first = reactant.cuda.load(FIRST).first
    x = np.arange(32, dtype=np.int32)
    lowered = reactant.jit(lambda a, b: first[1, 32](a, b), target="gpu").lower(x, np.array([8], np.int32))
    assert len(calls(lowered)) == 1 and "width is not known" in str(lowered.traced.remarks)
    with pytest.raises(UnsupportedError, match="(?s)'first' is no tensor program.*it runs as itself"):
        reactant.jit(lambda a, b: reactant.kernel(first, lower="tensor")[1, 32](a, b), target="gpu").lower(
            x, np.array([8], np.int32))


def test_explain():
    lowered = reactant.jit(walk, target="gpu").lower(*chain())
    lowered.compile()
    assert any(note.startswith("follow: runs as itself on the GPU (PTX)") for note in lowered.notes)


def test_a_program_for_a_gpu_runs_on_a_cpu():
    following, steps, factor = chain()
    result = reactant.jit(walk, target="gpu")(following, steps, factor)
    np.testing.assert_array_equal(steps, STEPS)
    np.testing.assert_array_equal(result, STEPS + 1)


def test_no_derivative():
    def loss(factor):
        steps = np.zeros(50)
        reactant.kernel(follow, lower="native")[2, 32](chain()[0], steps, 50, factor)
        return np.sum(steps)
    with pytest.raises(NotDifferentiable, match="'follow'.*native code has no derivative"):
        reactant.jit(lambda factor: reactant.grad(loss)(factor), target="gpu")(1.5)


# ---- what cannot be --------------------------------------------------------------------------------------------

WHOLE_GRID = """
#include <cooperative_groups.h>
__global__ void iterations(double *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double before = x[(i + 1) % n];
    cooperative_groups::this_grid().sync();
    x[i] = before;
}
"""


@pytest.mark.slow
def test_barriers_of_the_grid(tmp_path):
    iterations = reactant.cuda.load(WHOLE_GRID).iterations
    with pytest.raises(UnsupportedError, match="(?s)'iterations' waits for all blocks of its grid.*:[0-9]+\n.*two "
                                               "kernels"):
        ptx.compile_kernel(iterations[2, 32].record(np.arange(64.0), 64))
    x = np.arange(64.0)
    ptx_emulation.run(lambda a: reactant.kernel(iterations, lower="native")[1, 64](a, 64), [x], tmp_path)
    np.testing.assert_array_equal(x, (np.arange(64) + 1) % 64)


def test_numbers_that_llvm_has_no_code_for():
    """LLVM would end the process."""
    kernel = reactant.cuda.load("__global__ void wide(double *x, long long *n) {\n"
                                "    x[0] = (double)((__int128)n[0] * n[1]); }").wide
    with pytest.raises(UnsupportedError, match="'wide' needs sitofp of numbers of over 64 bits"):
        ptx.compile_kernel(kernel[1, 1].record(np.zeros(1), np.ones(2, np.int64)))


def test_without_libdevice(monkeypatch):
    monkeypatch.setattr(libdevice, "find", lambda: None)
    kernel = reactant.cuda.load("__global__ void wave(double *x) { x[threadIdx.x] = sin(x[threadIdx.x]); }").wave
    program = reactant.jit(lambda x: reactant.kernel(kernel, lower="native")[1, 7](x), target="gpu")
    with pytest.raises(UnsupportedError, match="(?s)'wave' calls sin, .* asks for it.*pip install nvidia-cuda-nvcc"):
        program.lower(np.zeros(7))


# ---- the assembler ---------------------------------------------------------------------------------------------

@functools.cache
def assembler():
    spec = importlib.util.find_spec("nvidia")
    wheels = [path for folder in (spec.submodule_search_locations or () if spec else ())
              for path in Path(folder).glob("*/bin/ptxas")]
    return next((str(p) for p in (shutil.which("ptxas"), *wheels) if p), None)


needs_assembler = pytest.mark.skipif(assembler() is None, reason="needs ptxas (nvidia-cuda-nvcc-cu12)")


def assemble(text, folder, processor):
    """Raises `AssertionError` with what ptxas says."""
    (folder / "kernel.ptx").write_text(text)
    if not os.access(assembler(), os.X_OK):
        os.chmod(assembler(), 0o755)        # installing a wheel may lose it
    done = subprocess.run([assembler(), f"-arch={processor}", "kernel.ptx", "-o", os.devnull], cwd=folder,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def texts_of(case, frontend):
    """The PTX of all launches of a case."""
    kernels = case.launchables(frontend, "native")
    lowered = reactant.jit(lambda *given: case.host(kernels, *given), target="gpu", frontend="numpy").lower(
        *case.make(np.random.default_rng(7)))
    found = {}
    for call in calls(lowered):
        configuration = ir.DictAttr(call.attributes["backend_config"])
        found[attr.decode(configuration["name"])] = attr.decode(configuration["kernel_data"])
    return found


@pytest.mark.sampled(100)
@needs_assembler
@pytest.mark.parametrize("frontend", ["numba", "cuda"])
@pytest.mark.parametrize("case", [stencils.CASES[1], patterns.CASES[0]], ids=lambda case: case.name)
def test_the_assembler_takes_it(case, frontend, tmp_path):
    for text in texts_of(case, frontend).values():
        assemble(text, tmp_path, "sm_80")


@needs_assembler
@needs_libdevice
@pytest.mark.slow
@pytest.mark.parametrize("processor", ["sm_80", "sm_90"])
@pytest.mark.parametrize("frontend", ["numba", "cuda"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_assembler_takes_every_kernel(case, frontend, processor, tmp_path):
    for text in texts_of(case, frontend).values():
        assemble(text, tmp_path, processor)


# ---- what it computes ------------------------------------------------------------------------------------------

def check(case, frontend, folder):
    kernels = case.launchables(frontend, "native")
    got, expected = case.make(np.random.default_rng(7)), case.make(np.random.default_rng(7))
    assert ptx_emulation.run(lambda *given: case.host(kernels, *given), got, folder)
    case.reference(*expected)
    for number, (a, b) in enumerate(zip(got, expected, strict=True)):
        if isinstance(a, np.ndarray):
            scale = np.abs(b).max(initial=0) if b.dtype.kind == "f" else 0
            np.testing.assert_allclose(a, b, rtol=case.rtol, atol=case.rtol * scale, err_msg=f"array {number}")


def test_a_walk(tmp_path):
    following, steps, factor = chain()
    assert len(ptx_emulation.run(walk, [following, steps, factor], tmp_path)) == 1
    np.testing.assert_array_equal(steps, STEPS)


HOTSPOT, REDUCTIONS = (next(c for c in CASES if c.name == name) for name in ("hotspot", "reductions"))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("case, frontend", [(HOTSPOT, "numba"), (REDUCTIONS, "cuda")], ids=["hotspot", "reductions"])
def test_kernels(case, frontend, tmp_path):
    check(case, frontend, tmp_path)


@needs_libdevice
@pytest.mark.slow
@pytest.mark.parametrize("frontend", ["numba", "cuda"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_kernel(case, frontend, tmp_path):
    check(case, frontend, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("language", ["numba", "cuda"])
def test_random_programs(language, part, tmp_path):
    programs = running.programs(language, range(9000 + 5 * part, 9005 + 5 * part))
    for program, expected in zip(programs, running.expected_of(programs, tmp_path), strict=True):
        kernels = {n: reactant.kernel(k, lower="native") for n, k in running.kernels_of(program, tmp_path).items()
                   if n in program.kernels}
        host, found = running.host_of(program), program.arrays()
        try:
            ptx_emulation.run(lambda *given: host(SimpleNamespace(**kernels), *given), found, tmp_path)  # noqa: B023
        except reactant.UnsupportedError as refused:        # LLVM has no such conversions for these GPUs
            assert "of numbers of over 64 bits" in str(refused), (language, program.seed)
            continue
        for buffer, a, b in zip(program.buffers, found, expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{language} {program.seed}: {buffer.name}")


TOGETHER = """
extern __shared__ double memory[];
__global__ void together(double *x, const float *f, long long *c, unsigned *u, int n) {
    int t = threadIdx.x + blockDim.x * threadIdx.y, lane = t & 31;
    double v = x[t];
    v += __shfl_down_sync(0xffffffffu, v, 3, 16);
    v += __shfl_up_sync(0xffffffffu, v, 2);
    v += __shfl_xor_sync(0xffffffffu, v, 5, 8);
    long long w = __shfl_sync(0xffffffffu, c[t], (t * 7) & 31);
    u[t] = __ballot_sync(0xffffffffu, f[t] > 1) ^ __match_any_sync(0xffffffffu, t % 5)
         ^ __match_any_sync(0xffffffffu, (long long)(t % 3));
    u[t] += __syncthreads_count(t % 3 == 0) + 1000 * __syncthreads_or(t == 5) + 10000 * __syncthreads_and(t < n);
    u[t] += (__any_sync(0xffffffffu, lane == 40) ? 1 : 2) + (__all_sync(0xffffffffu, lane < 32) ? 4 : 8);
    memory[t] = v;
    __threadfence_block();
    __syncwarp();
    x[t] = memory[t ^ 1] + v + (double)(int)f[t];
    c[t] = w + atomicExch(&u[n + t], (unsigned)t) + atomicMax((long long *)&c[n], (long long)t) * 0;
    atomicAdd(&x[n], 0.5);
    atomicAdd((float *)&u[2 * n], 2.0f);
    atomicMin((int *)&u[2 * n + 1], -t);
    atomicInc(&u[2 * n + 2], 20);
    atomicCAS(&u[2 * n + 3], 0u, 7u);
    atomicOr(&u[2 * n + 4], 1u << lane);
    if (t == 0) x[n + 1] = memory[n - 1];
}
"""


def together_arguments():
    rng = np.random.default_rng(3)
    return [rng.integers(-9, 9, 66) / 4, rng.integers(-9, 9, 64).astype(np.float32) / 4,
            rng.integers(-1000, 1000, 65), rng.integers(0, 9, 133).astype(np.uint32) * 0]


@pytest.mark.slow
@pytest.mark.parametrize("shared", [64 * 8, 60_000], ids=["static", "dynamic"])
def test_what_threads_do_together(shared, tmp_path):
    """All operations at once, by PTX and by native code for the CPU."""
    kernel = reactant.kernel(reactant.cuda.load(TOGETHER).together, lower="native")
    launch = kernel[1, (16, 4), 0, shared]
    expected, found = together_arguments(), together_arguments()
    launch(*expected, 64)
    made = ptx.compile_kernel(launch.record(*found, 64))
    assert (made.dynamic_shared, ".extern .shared" in made.text) == ((60_000, True) if shared > 49152 else (0, False))
    if assembler():
        assemble(made.text, tmp_path, "sm_90")
    ptx_emulation.run(lambda *given: launch(*given, 64), found, tmp_path)
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_array_equal(a, b, err_msg=f"array {number}")


RELAY = """
__global__ void relay(int *place, int *out) {
    int t = threadIdx.x, before = place[0];
    __syncthreads();
    if (t == before % 12) place[0] = t + 1;
    __syncthreads();
    out[t] = 100 * before + place[0];
}
"""


def test_what_others_write_is_read_after_barriers(tmp_path):
    """LLVM would keep what it knows of memory that is `noalias`."""
    relay = reactant.kernel(reactant.cuda.load(RELAY).relay, lower="native")
    place, out = np.array([5], np.int32), np.zeros(12, np.int32)
    ptx_emulation.run(lambda a, b: relay[1, 12](a, b), [place, out], tmp_path)
    np.testing.assert_array_equal(out, 506)


FUNCTIONS = ("sin cos tan asin acos atan sinh cosh tanh exp exp2 exp10 log log2 log10 sqrt cbrt erf erfc lgamma tgamma "
             "expm1 log1p asinh acosh atanh j0 j1 y0 y1 rsqrt round rint floor ceil trunc sinpi cospi normcdf").split()


@needs_libdevice
@pytest.mark.slow
def test_mathematics(tmp_path):
    """libdevice's functions against the CPU's."""
    lines = [f"y[{i} * n + t] = {f}(x[t]); g[{i} * n + t] = {f}f(f[t]);" for i, f in enumerate(FUNCTIONS)]
    lines += ["y[t] += fmod(5 + x[t], 0.3) + pow(x[t], 1.7); g[t] += fmodf(5 + f[t], 0.3f) + powf(f[t], 1.7f);"]
    source = (f"__global__ void functions(const double *x, double *y, const float *f, float *g, int n) {{\n"
              f"int t = threadIdx.x; if (t >= n) return;\n{chr(10).join(lines)}\n}}")
    kernel = reactant.kernel(reactant.cuda.load(source).functions, lower="native")
    x = np.array([0.1, 0.5, 0.99, 0.3, 0.72])
    expected, found = ([x, np.zeros((len(FUNCTIONS), 5)), x.astype(np.float32),
                        np.zeros((len(FUNCTIONS), 5), np.float32)] for _ in range(2))
    kernel[1, 8](*expected, 5)
    ptx_emulation.run(lambda *given: kernel[1, 8](*given, 5), found, tmp_path)
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-14, atol=1e-15)
    np.testing.assert_allclose(found[3], expected[3], rtol=3e-6, atol=1e-6)


HALVES = """
#include <cuda_fp16.h>
__global__ void halves(__half *x, const __half *y, float s) {
    int t = threadIdx.x;
    x[t] = __hadd(__hmul(x[t], y[t]), __float2half(s + fmodf(s, 0.25f) + __half2float(hexp(__hsub(y[t], y[t])))));
}
"""


@pytest.mark.slow
@needs_libdevice
def test_narrow_floats_and_numbers(tmp_path):
    kernel = reactant.kernel(reactant.cuda.load(HALVES).halves, lower="native")
    x, y = np.arange(9).astype(np.float16), np.full(9, 0.5, np.float16)
    ptx_emulation.run(lambda a, b, s: kernel[1, 9](a, b, s), [x, y, 0.25], tmp_path)
    np.testing.assert_array_equal(x, np.arange(9) * 0.5 + 1.25)


def test_views(tmp_path):
    """Offsets and strides of views, two views of one array."""
    def program(a, s):
        reactant.kernel(stencils.heat1, lower="native")[1, 32](a[::2], a[1::2], 20, s)
    found, expected = np.arange(40.0) ** 2, np.arange(40.0) ** 2
    ptx_emulation.run(program, [found, 0.1], tmp_path)
    reactant.jit(program)(expected, 0.1)
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, np.arange(40.0) ** 2)
