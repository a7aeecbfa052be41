"""The optimiser's corpus runs and agrees with JAX; the ablation counts."""
import json

import ablation
import corpus
import numpy as np
import pytest
import shared_programs


def test_there_are_enough_programs():
    assert len(corpus.PROGRAMS) >= 40


SOME = ["symmetric_product_matrix", "normalise_in_loop", "kalman_filter", "mixture_of_experts"]


@pytest.mark.parametrize("name", SOME)
def test_a_program_agrees_and_gets_no_dearer(name):
    row = corpus.measure(name, 0.05, 1)
    assert row["difference"] < 1e-4 and not row["left"]
    assert row["flops"] <= 1.0 and row["bytes"] <= 1.001


def test_the_table(capsys):
    assert corpus.main(["--tiny", "--repeats", "1", "--only", "trace_of_product"]) == 0
    assert "geometric mean of 1" in capsys.readouterr().out


def test_ablation(capsys):
    assert ablation.main(["--tiny", "--only", "diagonal_times_matrix"]) == 0
    assert "scatter_on_diagonal" in capsys.readouterr().out


@pytest.mark.slow
def test_derivatives_are_those_of_jax(tmp_path):
    file = tmp_path / "figures.json"
    assert corpus.main(["--tiny", "--repeats", "1", "--derivatives", "--only", "trace_of_product", "standardised",
                        "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["programs"]
    assert len(rows) == 2 and all(row["difference"] < 1e-4 for row in rows)


def test_programs_without_floats_have_no_derivative():
    with pytest.raises(TypeError, match="no floats"):
        shared_programs.differentiated(lambda n: n + 1, (np.int32(3),))
