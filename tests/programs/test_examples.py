"""The examples that train: the loss falls as with JAX, and a picture is drawn."""
import pytest
import training


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
