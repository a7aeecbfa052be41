"""The benchmarks of derivatives run at tiny sizes and agree with JAX; their drivers print a table."""
import json

import adbench
import gradients
import jax
import pytest

QUICK = ("symmetric_product", "normalised_in_loop", "embedding")


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in gradients.GRADIENTS])
def test_gradients_agree_with_jax(name):
    assert gradients.measure(name, 0.05, 1)["difference"] < 1e-4


def test_there_are_enough_programs():
    assert len(gradients.GRADIENTS) >= 24
    assert all(loss.__name__ == name for name, (loss, _) in gradients.GRADIENTS.items())


def test_driver_prints_a_table_and_writes_json(tmp_path, capsys):
    file = tmp_path / "figures.json"
    assert gradients.main(["--tiny", "--only", "symmetric_product", "--repeats", "2", "--order", "--json",
                           str(file)]) == 0
    assert "over AD first" in capsys.readouterr().out
    row = json.loads(file.read_text())["programs"][0]
    assert row["over_jax"] > 0 and row["order"] > 0


@pytest.mark.slow
def test_adbench_mixture_agrees_with_jax():
    with jax.enable_x64(True):
        rows = adbench.gradients("mixture", adbench.mixture, adbench.mixture_jax, adbench.mixture_arguments("tiny"), 1)
    assert len(rows) == 3 and all(row["derivative"] > 0 for row in rows)


@pytest.mark.slow
def test_adbench_agrees_with_jax(tmp_path, capsys):
    file = tmp_path / "figures.json"
    assert adbench.main(["--tiny", "--repeats", "1", "--json", str(file)]) == 0
    assert "bundle adjustment, NumPy by us (sparse)" in capsys.readouterr().out
    assert len(json.loads(file.read_text())) == 9
