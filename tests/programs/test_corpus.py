"""The optimiser's corpus runs and agrees with JAX; the ablation counts."""
import ablation
import corpus
import pytest


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
