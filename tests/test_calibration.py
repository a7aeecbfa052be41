"""What `reactant calibrate` measures, how it becomes a threshold, and who uses it."""
import json

import jax
import numpy as np
import pytest

from reactant import calibration, cli
from reactant.calibration import Measured, threshold
from reactant.simplify.facts import target_costs


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """An empty place for measured thresholds, which are used."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("REACTANT_CALIBRATION")
    target_costs.forget()
    yield target_costs.stored_at()
    target_costs.forget()


@pytest.mark.parametrize("ratios, wanted", [
    ([3, 2, 1.2, 0.9, 1.0], 3), ([0.9, 3, 3], 3), ([2, 2, 2], 3), ([], 0), ([1.05], 0), ([1.02, 1.04, 1.03], 0),
    ([1.5, 1.2, 0.2, 9], 2), ([1.0, 1.6, 11, 1.0], 3), ([0.5, 0.5, 1.2], 0)])
def test_the_last_step_up_to_which_the_second_form_wins(ratios, wanted):
    assert threshold([Measured("x", i + 1, ratio, 1.0) for i, ratio in enumerate(ratios)]) == wanted


@pytest.mark.parametrize("ratios, wanted", [
    ([0.9, 2, 3], 2), ([1.05, 0.7, 3], 3), ([2, 2], 1), ([2, 1.0], 1), ([1.3, 0.5], 0), ([], 0)])
def test_the_first_step_from_which_on_the_second_form_wins(ratios, wanted):
    steps = [Measured("banded_solve", i + 1, ratio, 1.0) for i, ratio in enumerate(ratios)]
    assert "banded_solve" in calibration.RISING and threshold(steps) == wanted


@pytest.mark.parametrize("name", calibration.LADDERS)
def test_the_forms_are_equal(name):
    """And the steps go up, and their threshold is one of the cost model's."""
    steps = list(calibration.LADDERS[name]())
    assert [s.threshold for s in steps] == sorted(s.threshold for s in steps)
    assert hasattr(target_costs.CPU, name)
    with jax.enable_x64(True):
        first, second = (jax.jit(form)(*steps[1].arguments) for form in (steps[1].first, steps[1].second))
    np.testing.assert_allclose(first, second, rtol=1e-10)


def test_measured_thresholds_are_used(stored):
    assert target_costs.costs() == target_costs.CPU
    found = target_costs.replace(target_costs.CPU, sum_of_slices=5, window_as_slices=0)
    assert calibration.store(found) == str(stored)
    assert (target_costs.costs().sum_of_slices, target_costs.costs().window_as_slices) == (5, 0)
    assert target_costs.costs().layers == target_costs.CPU.layers


def test_what_is_stored_may_be_broken_or_from_elsewhere(stored):
    stored.parent.mkdir(parents=True)
    stored.write_text("not json")
    assert target_costs.costs() == target_costs.CPU
    target_costs.forget()
    stored.write_text(json.dumps({"sum_of_slices": 7, "no_such_threshold": 3}))
    assert target_costs.costs() == target_costs.replace(target_costs.CPU, sum_of_slices=7)


def test_the_environment_iterations_it_off(stored, monkeypatch):
    calibration.store(target_costs.replace(target_costs.CPU, sum_of_slices=5))
    monkeypatch.setenv("REACTANT_CALIBRATION", "off")
    target_costs.forget()
    assert target_costs.costs() == target_costs.CPU


@pytest.mark.slow
def test_the_command(stored, monkeypatch, capsys):
    def few():
        yield from list(calibration._small_products())[:2]
    monkeypatch.setattr(calibration, "LADDERS", {"unrolled_contraction": few})
    monkeypatch.setattr(calibration, "measure", lambda step: (10.0, 5.0))
    assert cli.main(["calibrate", "--dry-run"]) == 0
    assert not stored.exists()
    assert cli.main(["calibrate"]) == 0
    assert json.loads(stored.read_text()) == {"unrolled_contraction": 3}
    assert "unrolled_contraction = 3 (shipped: 4)" in capsys.readouterr().out
    assert cli.main(["calibrate", "--reset"]) == 0
    assert not stored.exists()
