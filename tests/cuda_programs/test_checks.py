"""`--check` and `--check=race`: what is wrong in programs/wrong.cu is told with its line, and what is right is not."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cuda_programs import building
from tests.cuda_programs.building import PROGRAMS

PROGRAM = Path(__file__).parent / "programs" / "wrong.cu"
LINES = PROGRAM.read_text().splitlines()

ADDRESSES = {
    "beyond": ("invalid write of 4 bytes", "0 bytes after the end of an allocation of 1024 bytes"),
    "null": ("invalid write of 4 bytes", "a null pointer"),
    "host": ("invalid write of 4 bytes", "in no allocation of the device"),
    "freed": ("invalid write of 4 bytes", ""),
    "before": ("invalid read of 4 bytes", ""),
    "misaligned": ("misaligned write of 8 bytes", "no multiple of 8"),
    "in_local": ("invalid read of 4 bytes", "byte 32 of a local array of 32 bytes"),
    "in_shared": ("invalid write of 4 bytes", "byte 128 of a variable of 128 bytes"),
    "in_dynamic": ("invalid write of 4 bytes", ""),
    "in_constant": ("invalid read of 4 bytes", "byte 16 of a variable of 16 bytes"),
    "heap": ("invalid read of 4 bytes", ""),
}
"""What is wrong with an address, and what is said of it."""
KERNELS = {"null": "beyond", "host": "beyond", "freed": "beyond"}
RACES = ("between_blocks", "atomic_and_plain", "in_warp", "last_block", "whole_grid")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    target = tmp_path_factory.mktemp("checked") / "wrong"
    building.checked([sys.executable, "-m", "reactant", "nvcc", "--check=race", PROGRAM, "-o", target])

    def run(subject):
        done = subprocess.run([target, subject], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip(), done.stderr
    return run


def line_of(kernel, mark="// here"):
    """The first marked line from a kernel's on."""
    start = next(k for k, line in enumerate(LINES) if re.search(rf"\b{kernel}\(", line))
    return next(k for k in range(start, len(LINES)) if LINES[k].endswith(mark)) + 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("subject", ADDRESSES)
def test_addresses(wrong, subject):
    status, out, said = wrong(subject)
    what, why = ADDRESSES[subject]
    kernel = KERNELS.get(subject, subject)
    assert re.search(rf"{what} at \S*wrong\.cu:{line_of(kernel)} in {kernel}\n", said), said
    assert why in said and "reactant check: 1 error\n" in said
    error = "cudaErrorMisalignedAddress" if subject == "misaligned" else "cudaErrorIllegalAddress"
    assert (status, out) == (1, error)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("subject", RACES)
def test_races(wrong, subject):
    status, out, said = wrong(subject)
    assert re.search(rf"reactant check: race: [^:]* at \S*wrong\.cu:\d+ in {subject}", said), said
    assert f"wrong.cu:{line_of(subject)} in {subject}" in said and "no barrier is between them" in said
    assert status == 1 and out == "cudaSuccess"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("subject", ["in_warp", "last_block", "whole_grid", "histogram"])
def test_what_is_ordered_is_no_race(wrong, subject):
    assert wrong(f"{subject} right") == (0, "cudaSuccess", "reactant check: no errors\n")


def test_writes_of_the_same_value_are_a_note(wrong):
    status, _, said = wrong("flag")
    assert "reactant check: note: write at" in said and "both write the same value" in said and status == 0


def test_shared_memory_that_nothing_was_written_to(wrong):
    _, _, said = wrong("unset")
    assert re.search(rf"shared memory that nothing was written to at \S*wrong\.cu:{line_of('unset')} in unset\n    by "
                     r"thread \(63,0,0\) of block \(0,0,0\), kernel unset\(float\*\)\n    byte 0 of", said)
    assert said.endswith("reactant check: 1 error\n")


@pytest.mark.parametrize(("subject", "error"), [("threads", "cudaErrorInvalidConfiguration"),
                                                ("copy", "cudaErrorInvalidValue")])
def test_errors_that_nobody_asks_for(wrong, subject, error):
    status, _, said = wrong(subject)
    line = next(k for k, text in enumerate(LINES, 1) if text.endswith("// called") and f'"{subject}"' in text)
    assert re.search(rf"{error} \(.*\), called at \S*wrong\.cu:{line}\n", said) and status == 1, said


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_no_errors(name, tmp_path):
    building.build_cuda(PROGRAMS[name], tmp_path / name, ["--check=race"])
    done = subprocess.run([tmp_path / name, *map(str, PROGRAMS[name].test)], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "reactant check: no errors\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hotspot", "srad", "lud", "pathfinder", "backprop", "bitonic_sort"])
def test_each_barrier_of_a_program_that_is_left_out_is_a_race(name, tmp_path):
    program = PROGRAMS[name]
    text = program.sources(False)[0].read_text()
    barriers = [found.start() for found in re.finditer(r"__syncthreads\(\)", text)]
    assert barriers
    for at in barriers:
        source = tmp_path / "without.cu"
        source.write_text(text[:at] + "(void)0" + text[at + len("__syncthreads()"):])
        building.checked([sys.executable, "-m", "reactant", "nvcc", "--check=race", "-O2", *program.options, "-I",
                          building.HERE / "programs", source, "-o", tmp_path / "without"])
        done = subprocess.run([tmp_path / "without", *map(str, program.test)], capture_output=True, text=True,
                              check=False)
        assert "reactant check: race: " in done.stderr, text[:at].count("\n") + 1
