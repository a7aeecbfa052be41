"""Coarsened kernels: random kernels against references that run statement by statement, and what cannot be."""
import os

import pytest

from reactant.cuda_programs.device import versions
from tests.cuda_programs.device import random_kernels, random_threads

COARSE = tuple(label for label in versions.OTHERS if label.startswith(("threads2", "threads4", "blocks")))


def agree(ran, tmp_path, text, labels):
    """Which of the versions ran, each with the results of the references."""
    source, report = tmp_path / "random.cu", tmp_path / "report"
    source.write_text(text)
    used = set()
    for label in labels:
        env = os.environ | {"REACTANT_CUDA_TUNE": f"={label}", "REACTANT_CUDA_TUNE_REPORT": str(report),
                            "REACTANT_CUDA_THREADS": "1"}       # or blocks are too few to become one
        said = ran("-O1", f"--tune={','.join(labels)}", "-Xcompiler", "-fwrapv", str(source), env=env)
        assert said.startswith("0 of "), (label, said)
        rows = [line.split("\t") for line in report.read_text().splitlines() if line.startswith("version")]
        used |= {label for row in rows if row[3] == label and int(row[4])}
    return used


def test_random_kernels_with_barriers(ran, tmp_path):
    assert agree(ran, tmp_path, random_kernels.program(4, 2), ("threads2x", "blocks2x")) == {"threads2x", "blocks2x"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 30))
def test_many_random_kernels_with_barriers(ran, tmp_path, seed):
    assert "blocks2x" in agree(ran, tmp_path, random_kernels.program(seed, 4), COARSE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 26))
def test_many_random_kernels_without(ran, tmp_path, seed):
    assert "blocks2x" in agree(ran, tmp_path, random_threads.program(seed, 4), COARSE)
