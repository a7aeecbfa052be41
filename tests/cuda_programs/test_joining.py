"""Launches that wait and are run together: the same results as one after the other, by random chains of kernels."""
import os
import subprocess

import pytest

from reactant.cuda_programs.driver import library
from reactant.cuda_programs.driver.toolchain import RUNTIME, toolchain

SEEDS = ["1", *(pytest.param(str(seed), marks=pytest.mark.slow) for seed in range(2, 12))]


def counts(file):
    """(how often, bytes, milliseconds) of what a program reports."""
    rows = [line.split("\t") for line in file.read_text().splitlines()]
    return {name: (int(count), int(size), float(time)) for name, count, size, time in rows}


def run(program, file, *given, **variables):
    done = subprocess.run([program, *given], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"REACTANT_CUDA_REPORT": str(file)} | variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, counts(file)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_chains_give_what_they_give_one_by_one(built, tmp_path, seed, threads):
    program, given = built("chains.cu"), (seed, "60")
    limited = {"REACTANT_CUDA_THREADS": threads}
    said, spent = run(program, tmp_path / "all", *given, **limited)
    assert spent["joined"][0] > 60 and spent["launches"][0] == 720 and spent["copies"][0] > 360
    for left_out in ("joined", "prepared", "joined,prepared"):
        other, less = run(program, tmp_path / "less", *given, REACTANT_CUDA_WITHOUT=left_out, **limited)
        assert other == said
        assert less["joined"][0] == 0 if "joined" in left_out else less["joined"][0] > 60
        assert less["prepared"][0] == 0 < spent["prepared"][0]


def test_elementwise_chains_are_joined(built, tmp_path):
    said, spent = run(built("joined.cu"), tmp_path / "all", "chain")
    assert said == "chain done\n" and spent["joined"][0] >= 2 * 20


SEEN = ("neighbours", "outside", "managed", "sizes", "blocking", "events", "freed", "graph", "copies")


@pytest.mark.parametrize("subject", SEEN)
def test_what_may_be_seen_is_run_before(built, tmp_path, subject):
    variables = {"CUDA_LAUNCH_BLOCKING": "1"} if subject == "blocking" else {}
    said, spent = run(built("joined.cu"), tmp_path / "all", subject, **variables)
    assert said == f"{subject} done\n"
    assert (spent["joined"][0] > 0) == (subject in ("events", "freed", "graph", "copies"))


EAGER = {"least_work = 4000": "least_work = -1", "least_turn = 8000": "least_turn = 0",
         "range_bytes = 256 << 10": "range_bytes = 1", "most_missed = 16": "most_missed = 1u << 30"}
"""The runtime's constants with which each launch waits, and those that are joined run one block each at a time."""


@pytest.mark.slow
def test_chains_over_overlapping_memory(built, tmp_path):
    """pytest -m slow tests/cuda_programs/test_joining.py -k overlapping: half a minute."""
    text = (RUNTIME / "joining.cpp").read_text()
    for constant, other in EAGER.items():
        assert text.count(constant) == 1
        text = text.replace(constant, other)
    source = tmp_path / "eager.cpp"
    source.write_text(text)
    eager = library.compiled(toolchain(), source, tmp_path, library.FLAGS)
    program = built("overlapping.cu", str(eager), "-O1")
    for seed in range(40):
        limited = {"REACTANT_CUDA_THREADS": str(1 + 2 * (seed % 2))}
        said, spent = run(program, tmp_path / "all", str(seed), "60", **limited)
        assert spent["joined"][0] > 60
        assert run(program, tmp_path / "less", str(seed), "60", REACTANT_CUDA_WITHOUT="joined", **limited)[0] == said
