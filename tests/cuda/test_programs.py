"""Whole CUDA programs called from Python."""
import sys
from pathlib import Path

import numpy as np
import pytest

import reactant
from reactant.cuda.arguments import HostArgumentError, NoSuchFunction
from reactant.cuda.process import ProgramEnded
from tests.cuda_programs import building

HERE = Path(__file__).parent


def stepped(rod, steps, r):
    for _ in range(steps):
        new = rod.copy()
        new[1:-1] = rod[1:-1] + r * (rod[:-2] - 2.0 * rod[1:-1] + rod[2:])
        rod = new
    return rod


def test_main_and_functions(heat):
    """The process, its output, arrays in place, and what repeats as one compiled function."""
    done = heat.main(200, 40, capture=True)
    rod = np.sin(0.01 * np.arange(200))
    wanted = stepped(rod, 40, 0.4)
    assert done.returncode == 0 and done.stderr == ""
    np.testing.assert_allclose(float(done.stdout), np.sum(wanted**2), rtol=1e-12)
    total = heat.heat(rod, 200, 40, 0.4, 1.0, 1.0)
    assert isinstance(total, np.float64)
    np.testing.assert_allclose(rod, wanted, rtol=1e-12)
    np.testing.assert_allclose(total, np.sum(wanted**2), rtol=1e-12)
    told = heat.explain().splitlines()
    assert told[0] == "step: raised to a tensor program"
    assert told[1].strip().startswith("heat.cu:") and "<<<2, 128>>>: 80 launches" in told[1]
    assert told[2].strip() == "80 in one compiled function: 20 times (step, step), energy"
    again = np.sin(0.01 * np.arange(200)).astype(float)
    assert heat["heat"](reactant.array(again), 200, 40, 0.5, 1.0, 1.0) != total


def test_looks_at_each_step(heat):
    """Sequences that come again and again are compiled after a while, and stay right."""
    assert heat.rounds(7) == 7
    told = heat.explain()
    assert "count_down" in told and "too seldom" in told


def test_functions_by_name(heat):
    assert heat.title("heat") == "heat" and heat["title"](b"x") == "?"
    assert heat["space::half"](3.0) == heat.half(np.float32(3.0)) == np.float32(1.5)
    assert heat["_Z5twicei"](1) is None
    assert "space::half" in list(heat) and "heat" in dir(heat)
    assert repr(heat.half) == "<host function float space::half(float x) of heat.cu>"


@pytest.mark.parametrize(("name", "words"), [
    ("nothing", "no host function 'nothing' that other files could call; it has "),
    ("hidden", "no host function 'hidden'"),
    ("twice", "'twice' names several functions of heat.cu: void twice(int argument0) is _Z5twicei")])
def test_no_such_function(heat, name, words):
    with pytest.raises(NoSuchFunction) as caught:
        getattr(heat, name)
    assert words in str(caught.value)


@pytest.mark.parametrize(("arguments", "words"), [
    ((1, 2), "takes 6 arguments, 2 given"),
    ((np.zeros(4, np.float32), 4, 1, 0.1, 1.0, 1.0), "is double*, the array has dtype float32"),
    ((np.zeros(8)[::2], 4, 1, 0.1, 1.0, 1.0), "not contiguous"),
    ((np.zeros(4), 2.5, 1, 0.1, 1.0, 1.0), "is an integer (int32), 2.5 given"),
    ((np.zeros(4), 2**40, 1, 0.1, 1.0, 1.0), "out of its range"),
    ((np.zeros(4), 4, 1, "much", 1.0, 1.0), "is double, str given"),
    ((np.zeros(4), np.zeros(2), 1, 0.1, 1.0, 1.0), "is int, an array is given"),
    (("rod", 4, 1, 0.1, 1.0, 1.0), "is double*, str given")])
def test_arguments_that_do_not_fit(heat, arguments, words):
    with pytest.raises(HostArgumentError) as caught:
        heat.heat(*arguments)
    assert words in str(caught.value)


def test_results_that_python_has_nothing_for(heat):
    with pytest.raises(HostArgumentError, match="returns void\\*"):
        heat.raw()


def test_ends_of_the_process(heat, capfd):
    """They are errors of the call, and the next call begins anew."""
    with pytest.raises(ProgramEnded, match=r"called exit\(3\) while 'quits' ran"):
        heat.quits(3)
    with pytest.raises(ProgramEnded, match="ended by SIGSEGV while 'crashes' ran"):
        heat.crashes()
    assert heat.title("heat") == "heat"
    assert heat.main(10, 2) == 0
    assert capfd.readouterr().out.strip()


def test_other_targets(heat):
    """Modules for devices that are not here; running there is refused."""
    rod = np.sin(0.01 * np.arange(200))
    module, = heat.lower("heat", rod, 200, 40, 0.4, 1.0, 1.0, target="tpu")
    assert module.count("stablehlo.while") == 1 and "custom_call" not in module
    with pytest.raises(ValueError, match="target is 'cpu', 'gpu' or 'tpu', not 'npu'"):
        heat.lower("heat", target="npu")
    with pytest.raises(reactant.UnsupportedError, match="JAX has no device 'tpu' here"):
        reactant.cuda.program(HERE / "heat.cu", target="tpu")


def test_bad_programs(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none\.cu'"):
        reactant.cuda.program(tmp_path / "none.cu")
    with pytest.raises(TypeError, match="takes a file"):
        reactant.cuda.program([])
    with pytest.raises(ValueError, match="lower is 'auto', 'tensor', 'native', not 'fast'"):
        reactant.cuda.program(HERE / "heat.cu", lower="fast")
    bad = tmp_path / "bad.cu"
    bad.write_text("int main() { return cudaNoSuchFunction(); }\n")
    with pytest.raises(reactant.ReactantError, match="cudaNoSuchFunction"):
        reactant.cuda.program(bad)


PRINTS = r"""
__global__ void fill(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }
__global__ void said(float *x) { if (threadIdx.x == 0) printf("x is %g\n", x[5]); }
__device__ int counter;
__global__ void counted() { atomicAdd(&counter, 1); }
int main() {
    float *x, *pinned;
    int count;
    cudaMallocManaged(&x, 400);
    for (int i = 0; i < 100; ++i) x[i] = i;
    for (int k = 0; k < 20; ++k) fill<<<1, 128>>>(x, 100);
    cudaDeviceSynchronize();
    x[5] *= 2;
    for (int k = 0; k < 20; ++k) fill<<<1, 128>>>(x, 100);
    said<<<1, 32>>>(x);
    counted<<<4, 32>>>();
    cudaMemcpyFromSymbol(&count, counter, sizeof count);
    cudaMallocHost(&pinned, 400);
    for (int k = 0; k < 20; ++k) fill<<<1, 128>>>(x, 100);
    cudaMemcpy(pinned, x, 400, cudaMemcpyDeviceToHost);
    printf("%g %g %d\n", x[5], pinned[6], count);
    return 7;
}
"""


@pytest.mark.slow
def test_managed_memory_and_what_is_not_raised(tmp_path):
    """Compiled loops, the program's own code and the host take turns at one piece of memory."""
    (tmp_path / "turns.cu").write_text(PRINTS)
    program = reactant.cuda.program(tmp_path / "turns.cu")
    done = program.main(capture=True)
    assert (done.returncode, done.stdout) == (7, "x is 70\n90 66 128\n")
    told = program.explain()
    assert "20 times (fill)" in told and "said" in told and "lives in the host's process" in told
    with pytest.raises(reactant.UnsupportedError, match=r"The kernel 'said', launched at turns.cu:15"):
        reactant.cuda.program(tmp_path / "turns.cu", lower="tensor").main(capture=True)


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["auto", "native"])
@pytest.mark.parametrize("name", [n for n in building.PROGRAMS
                                  if n not in ("monte_carlo", "spmv", "sgemm", "thrust_pipeline")])
def test_whole_programs(name, lower):
    """All that compile say what their OpenMP versions say: python -m pytest tests/cuda/test_programs.py -m slow"""
    program = building.PROGRAMS[name]
    called = reactant.cuda.program(program.sources(False), options=["-O3", "-std=c++17", *program.options], lower=lower)
    done = called.main(*program.test, "--check", capture=True)
    assert done.returncode == 0 and "WRONG" not in done.stdout, done.stdout + done.stderr
    results = {w[1]: float(w[2]) for w in map(str.split, done.stdout.splitlines()) if w[:1] == ["result"]}
    assert building.difference(results, building.expected()[name]) <= program.tolerance


def test_child_imports_nothing_of_ours():
    source = (HERE.parents[1] / "src/reactant/cuda/child.py").read_text()
    assert "reactant." not in source.replace("library.reactant", "") and sys.version_info >= (3, 11)
