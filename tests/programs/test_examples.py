"""The examples that learn: the loss falls as with JAX, speeds are found, and pictures are drawn."""
import re

import pytest
import tomography
import training


@pytest.mark.slow
def test_training_follows_jax(tmp_path, capsys):
    problems = (training.kan_loss, training.kan_problem), (training.language_loss, training.language_problem)
    for loss, problem in problems:
        ours, theirs = training.train(loss, problem, 8, tiny=True)
        assert ours.losses == pytest.approx(theirs.losses, rel=1e-4)
        assert ours.losses[-1] < ours.losses[0]


@pytest.mark.slow
def test_training_draws_its_curves(tmp_path, capsys):
    pytest.importorskip("PIL")
    file = tmp_path / "curves.png"
    assert training.main(["--tiny", "--steps", "2", "--picture", str(file)]) == 0
    assert "language model: loss" in capsys.readouterr().out and file.stat().st_size > 500


def test_tomography_finds_speeds(tmp_path, capsys):
    pytest.importorskip("PIL")
    file = tmp_path / "speeds.png"
    assert tomography.main(["--tiny", "--rounds", "12", "--picture", str(file)]) == 0
    misfit, less, error, smaller = map(float, re.search(
        r"misfit (\S+) -> (\S+); error of the speeds (\S+) -> (\S+)", capsys.readouterr().out).groups())
    assert less < 0.05 * misfit and smaller < 0.5 * error and file.stat().st_size > 500
