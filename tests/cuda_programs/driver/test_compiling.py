"""Which flags the two sides of a source are given."""
import subprocess
from pathlib import Path

import pytest

from reactant.cuda_programs.driver import compiling
from reactant.cuda_programs.driver.compiling import Unit, host_command, language_flags
from reactant.cuda_programs.driver.options import parse
from reactant.cuda_programs.driver.toolchain import toolchain

BOTH = [("", ["-std=gnu++17"]), ("-std=c++14 -DA=1 -Ib", ["-std=c++14", "-DA=1", "-Ib"]),
        ("-rdc=true", ["-D__CUDACC_RDC__=1"]), ("-use_fast_math", ["-D__USE_FAST_MATH__=1"])]


def unit(text, kind="cuda"):
    return Unit(Path("a.cu"), kind, parse(text.split()), toolchain())


@pytest.mark.parametrize("text, wanted", BOTH)
def test_both_sides_are_given_the_language(text, wanted):
    flags = language_flags(unit(text))
    assert all(flag in flags for flag in wanted)
    assert [flag for flag in flags if flag.startswith("-cuid=")]


@pytest.mark.parametrize("text, wanted", [("", "-O2"), ("-O3", "-O3"), ("-g", "-g"), ("-Xcompiler -Wall", "-Wall")])
def test_the_host_is_given_its_own(text, wanted):
    assert wanted in host_command(unit(text))
    assert ("-O2" in host_command(unit("-g"))) is False


def test_plain_sources_do_not_see_the_language():
    words = host_command(unit("-DA", "c++"))
    assert "cuda" not in words and "-idirafter" in words and "-DA" in words


def test_identities_are_those_of_sources_and_options():
    first, second = unit("-DA"), unit("-DB")
    assert first.identity != second.identity and first.identity == unit("-DA").identity
    other = Unit(Path("b.cu"), "cuda", first.command, first.tools)
    assert other.identity != first.identity


LAUNCHED = """__global__ void k(int *x) {
    __shared__ int s[128];
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    x[t] = s[127 - t];
}
constexpr int WIDTH = 64;
void f(int *x) { const dim3 block(WIDTH, 2); k<<<1, block>>>(x); }
"""


@pytest.mark.parametrize("options, known", [("-c", True), ("-c -O0", False)])
def test_constant_shapes_of_blocks_reach_the_kernels(tmp_path, options, known):
    source = tmp_path / "a.cu"
    source.write_text(LAUNCHED)
    _, device = compiling.compiled(Unit(source, "cuda", parse(options.split()), toolchain()), tmp_path)
    assert (b"_Z1kPi.block64.2.1" in device.read_bytes()) is known


def test_where_thrust_comes_from_is_said(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "device_libraries", lambda: ())
    words = "a.cu:1:10: fatal error: 'thrust/sort.h' file not found\n"
    with pytest.raises(compiling.CompilationFailed):
        compiling.said(subprocess.CompletedProcess(["clang"], 1, "", words))
    assert capsys.readouterr().err == words + compiling.ADVICE
