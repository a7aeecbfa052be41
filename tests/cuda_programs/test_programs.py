"""Whole CUDA programs, built by `reactant nvcc` and run: they check themselves, and say what OpenMP versions say."""
import os
import shutil
import sys

import pytest

from tests.cuda_programs import building
from tests.cuda_programs.building import PROGRAMS


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, tmp_path):
    program, target = PROGRAMS[name], tmp_path / name
    building.build_cuda(program, target)
    outcome = building.run(target, [*program.test, "--check"])
    assert "WRONG" not in outcome.text
    assert building.difference(outcome.results, building.expected()[name]) <= program.tolerance, outcome.text
    assert outcome.total_ms >= outcome.kernel_ms > 0
    again = building.run(target, program.test, threads=1)
    assert building.difference(outcome.results, again.results) <= program.tolerance


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_openmp_version(name, tmp_path):
    if not building.has_openmp():
        pytest.skip("no compiler with OpenMP")
    program, target = PROGRAMS[name], tmp_path / name
    building.build_omp(program, target)
    outcome = building.run(target, [*program.test, "--check"])
    assert building.difference(outcome.results, building.expected()[name]) <= program.tolerance, outcome.text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_makefile(tmp_path):
    """The project of several files by its own Makefile, which knows nothing of this compiler."""
    shutil.copytree(building.HERE / "programs", tmp_path / "programs")
    folder = tmp_path / "programs" / "several_files"
    building.checked(["make", f"NVCC={sys.executable} -m reactant nvcc"], cwd=folder, env=dict(os.environ))
    program = PROGRAMS["several_files"]
    outcome = building.run(folder / "several_files", [*program.test, "--check"])
    assert building.difference(outcome.results, building.expected()["several_files"]) <= program.tolerance


def test_table_and_folders_agree():
    folders = {p.name for p in (building.HERE / "programs").iterdir() if p.is_dir()}
    assert folders == set(PROGRAMS) == set(building.expected())
    for program in PROGRAMS.values():
        for source in (*program.sources(False), *program.sources(True)):
            assert source.exists(), source
            assert max(map(len, source.read_text().splitlines())) <= 120, source


def test_difference_sees_what_differs():
    assert building.difference({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0}) == 0
    assert building.difference({"a": 1.0}, {"a": 1.1}) == pytest.approx(0.1 / 1.1)
    assert building.difference({"a": 1.0}, {"b": 1.0}) == float("inf")
    assert building.difference({"a": float("nan")}, {"a": 1.0}) == float("inf")
    assert building.difference({"a": 0.0}, {"a": 1e-300}) == 1
