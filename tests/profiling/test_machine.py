"""What this machine can do is measured once, and kept."""
import json
from dataclasses import replace

import pytest

from reactant.profiling import machine
from reactant.profiling.machine import Rates

RATES = Rates("box", 1e10, 2e10, 1e9, ((1e4, 1e11), (1e8, 1e10)), 1e-6)


def test_kept_and_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    measured = []
    monkeypatch.setattr(machine, "measure", lambda: measured.append(1) or RATES)
    assert machine.rates() == machine.rates() == RATES and len(measured) == 1
    assert machine.stored_at().is_relative_to(tmp_path) and machine.stored_at().name.startswith("rates-")
    for broken in ("", "{}", "[1]", json.dumps({"name": "box"}),
                   json.dumps({**json.loads(machine.stored_at().read_text()), "doubles": -1})):
        machine.stored_at().write_text(broken)
        assert machine.rates() == RATES
    assert len(measured) == 6
    monkeypatch.setattr(machine, "measure", lambda: replace(RATES, call=2e-6))
    assert machine.rates(again=True).call == 2e-6 == machine.rates().call


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(machine, "measure", lambda: RATES)
    assert machine.rates() == RATES


@pytest.mark.slow
def test_what_is_measured_makes_sense():
    found = machine.measure()
    assert found.doubles > 1e8 and found.singles > found.doubles and found.special > 1e6 and 0 < found.call < 1e-2
    rates = [rate for _, rate in found.bandwidth]
    assert rates == sorted(rates, reverse=True) and rates[-1] > 1e8
    assert "GB/s from memory" in str(found)
