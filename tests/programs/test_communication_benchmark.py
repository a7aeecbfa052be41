"""The programs of the communication benchmark: their forms agree, and its counts are those known of XLA."""
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from communication_cases import CASES
from communication_kernels import KERNELS
from communication_programs import ADJOINTS, PROGRAMS
from communication_ways import MESHES, Run, padded, sharding

import reactant

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "communication.py"
ALL = {case.name: case for case in (*CASES, *KERNELS, *PROGRAMS)}
LARGE = {"particles", "k_means", "burgers"}


def tiny(name: str) -> Run:
    return Run(ALL[name], MESHES["8"], 4 if name in LARGE else 32)


def test_there_are_programs_enough():
    assert len(ALL) == len(CASES) + len(KERNELS) + len(PROGRAMS) and len(PROGRAMS) >= 25 and len(ADJOINTS) == 5
    assert all(case.by_hand for case in CASES)


@pytest.mark.parametrize("name", ALL)
def test_jax_form_agrees_with_numpy(name):
    run = tiny(name)
    found = jax.jit(run.case.jax_program())(*run.arrays)
    assert any(np.any(np.asarray(r)) for r in found)
    if not run.case.adjoint:
        assert run.error(tuple(map(np.asarray, found))) <= run.case.close


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", ALL)
def test_our_form_agrees(name):
    run = tiny(name)
    found = reactant.jit(run.case.our_program(), native="never")(*run.arrays)
    assert run.error(tuple(map(np.asarray, found))) <= run.case.close


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", [f"{name}_adjoint" for name in ADJOINTS])
def test_adjoints_are_slopes(name):
    run, case = tiny(name), ALL[name.removesuffix("_adjoint")]
    directions = [np.random.default_rng(k).normal(size=run.arrays[k].shape) for k in run.case.adjoint]

    def value(step: float) -> float:
        given = list(run.arrays)
        for k, d in zip(run.case.adjoint, directions, strict=True):
            given[k] = given[k].astype(np.float64) + step * d
        given = [g.astype(np.float64) if g.dtype.kind == "f" else g for g in given]
        found = case.our_program()(*given)      # NumPy itself
        return float(sum((r * r).sum() for r in found))

    gradient = jax.jit(run.case.jax_program())(*run.arrays)
    slope = sum(float((np.asarray(g) * d).sum()) for g, d in zip(gradient, directions, strict=True))
    assert slope == pytest.approx((value(1e-4) - value(-1e-4)) / 2e-4, rel=1e-3, abs=1e-2)


def test_specs_name_axes_that_the_mesh_has():
    assert sharding(("x", "y"), MESHES["8"], 3).axes == (("x",), (), ())
    assert sharding((("x", "y"), None), MESHES["4x2"], 2).axes == (("x", "y"), ())
    given = sharding(("x", "y"), MESHES["4x2"], 2)
    assert padded(np.ones((1021, 3)), MESHES["4x2"], given).shape == (1024, 4)


def run(tmp_path, *arguments: str) -> list[dict]:
    file = tmp_path / "found.json"
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    subprocess.run([sys.executable, str(BENCHMARK), *arguments, "--rounds", "0", "--json", str(file)], check=True,
                   env=environment)
    return [row for rows in json.loads(file.read_text())["rows"].values() for row in rows]


def moved(row: dict, way: str) -> tuple[int, float]:
    return row["ways"][way]["collectives"], row["ways"][way]["bytes"] / 1024


@pytest.mark.slow
def test_counts_are_those_that_were_measured(tmp_path):
    rows = run(tmp_path, "--cases", "a", "c", "--rows", "1024")
    found = {(row["case"], row["mesh"]): (moved(row, "xla"), moved(row, "by hand")) for row in rows}
    assert found == {("a", "8"): ((3, 192), (1, 96)), ("a", "4x2"): ((3, 96), (1, 48)),
                     ("c", "8"): ((1, 56), (0, 0)), ("c", "4x2"): ((1, 24), (0, 0))}


BY_HAND = {  # (mesh 8, mesh 4x2), KiB, of rows that any last block may be shorter than
    "a": (96, 48), "c": (0, 0), "c2": (0, 0), "c3": (24, 24), "d": (56, 24), "f": (28, 12)}


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["1024", "1021", "125"])
def test_all_forms_by_hand_are_right_and_minimal(tmp_path, rows):
    found = run(tmp_path, "--cases", *(case.name for case in CASES), "--rows", rows)
    for row in found:
        assert row["ways"]["by hand"]["error"] <= ALL[row["case"]].close
        if row["case"] in BY_HAND:
            assert moved(row, "by hand")[1] == BY_HAND[row["case"]][list(MESHES).index(row["mesh"])]
    if rows == "1024":
        xla = {(row["case"], row["mesh"]): moved(row, "xla")[1] for row in found}
        assert xla["c3", "8"] == 29028 and xla["d", "8"] == 112 and xla["f", "8"] == 7196
        assert xla["e2", "8"] == 15360 and xla["e", "8"] > 400 * 5760
