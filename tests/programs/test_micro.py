"""The micro workloads agree with the programs written by hand; simplified, they are those programs."""
import json

import micro
import numpy as np
import pytest
from micro_programs import WORKLOADS

import reactant

QUICK = {"diagonal_times_matrix", "normalise_by_scan"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in WORKLOADS])
def test_values_and_gradients(name):
    for row in micro.measure(name, 0.05, 1):
        assert row["difference"] < 1e-4 and row["over_optimum"] > 0


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "kan"])
def test_no_more_work_than_by_hand(name):
    """By the cost model, 5 % and a few numbers apart; the diagonal product checks for NaN beside infinities. (That the
    splines of a KAN are one bump nobody sees.)"""
    work = WORKLOADS[name]
    options = {"optimize": ("inline", "simplify"), "finite": True}
    if name == "two_stencils":
        options = {"finite": True, "allow": ("association",), "target": "cpu"}
    arguments = work.make(0.1)
    mine = reactant.jit(work.program, frontend="jax", **options).lower(*arguments)
    best = reactant.jit(work.optimum, frontend="jax", **options).lower(*arguments)
    assert mine.cost()["flops"] <= 1.05 * best.cost()["flops"] + 100


@pytest.mark.slow
def test_driver(tmp_path, capsys):
    file = tmp_path / "figures.json"
    micro.main(["--tiny", "--repeats", "1", "--only", "slice_of_chain", "--finite", "--json", str(file)])
    assert "over optimum" in capsys.readouterr().out
    rows = json.loads(file.read_text())["workloads"]
    assert [row["workload"] for row in rows] == [f"slice_of_chain, {kind}" for kind in micro.FORMS]
    assert all(np.isfinite(row["over_optimum"]) for row in rows)
