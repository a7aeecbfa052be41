"""The examples that train: the loss falls as with JAX, and a picture is drawn."""
import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_training_follows_jax(tmp_path, capsys):
    training = load("training")
    problems = (training.kan_loss, training.kan_problem), (training.language_loss, training.language_problem)
    for loss, problem in problems:
        ours, theirs = training.train(loss, problem, 8, tiny=True)
        assert ours.losses == pytest.approx(theirs.losses, rel=1e-4)
        assert ours.losses[-1] < ours.losses[0]


@pytest.mark.slow
def test_training_draws_its_curves(tmp_path, capsys):
    pytest.importorskip("PIL")
    training = load("training")
    file = tmp_path / "curves.png"
    assert training.main(["--tiny", "--steps", "2", "--picture", str(file)]) == 0
    assert "language model: loss" in capsys.readouterr().out and file.stat().st_size > 500
