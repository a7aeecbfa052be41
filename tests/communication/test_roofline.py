"""Predicted times and efficiencies, and the numbers that they are made of."""
from __future__ import annotations

import json
from dataclasses import replace

import communication_scaling
import pytest

from reactant.communication import roofline
from reactant.communication.machines import MACHINES, Link, machine_of
from reactant.communication.price import Collective, Price

MACHINE = replace(MACHINES["h100"], flops=1e12, doubles=5e11, memory=1e11, node=8, near=Link(1e10, 1e-6),
                  far=Link(1e9, 1e-5))


def permute(sent, count=1.0):
    return Collective("collective_permute", None, count, 2, sent, 8 * sent)


def all_of(kind, sent, group=8):
    return Collective(kind, None, 1.0, group, sent, group * sent)


@pytest.mark.parametrize(("price", "devices", "computing", "sending"), [
    (Price(8, flops=1e9), 8, 1e-3, 0), (Price(8, flops=1e9, doubles=1e9), 8, 2e-3, 0),
    (Price(8, flops=1e6, memory=1e9), 8, 1e-2, 0),
    (Price(8, collectives=(permute(1e6),)), 8, 0, 1e-6 + 1e-4),
    (Price(8, collectives=(permute(1e6, 10.0),)), 16, 0, 10 * (1e-5 + 1e-3)),
    (Price(8, collectives=(permute(1e6),)), 1, 0, 0), (Price(8, collectives=(permute(0.0),)), 8, 0, 0),
    (Price(8, collectives=(all_of("all_reduce", 2 * 7 / 8 * 1e6),)), 8, 0, 6e-6 + 1.75e-4),
    (Price(8, collectives=(all_of("all_reduce", 2 * 7 / 8 * 1e6),)), 64, 0, 12e-5 + 2 * 63 / 64 * 1e-3),
    (Price(8, collectives=(all_of("all_gather", 7e6),)), 64, 0, 6e-5 + 63e-3)])
def test_times(price, devices, computing, sending):
    time = roofline.time_of(price, MACHINE, devices)
    assert time.computing == pytest.approx(computing) and time.sending == pytest.approx(sending)


def test_efficiency():
    price = Price(8, memory=1e9, collectives=(permute(1e8),))
    assert roofline.time_of(price, MACHINE).efficiency == pytest.approx(0.01 / (0.01 + 0.010001))
    assert roofline.time_of(price, MACHINE, 1).efficiency == 1
    found = [roofline.time_of(price, MACHINE, n).efficiency for n in (8, 512, 8192)]
    assert found == sorted(found, reverse=True)


def test_machines_say_where_their_numbers_are_from():
    for machine in MACHINES.values():
        assert machine.sources and all(source.startswith("https://") for source in machine.sources)
        assert machine.near.bandwidth >= machine.far.bandwidth and machine.doubles <= machine.flops


@pytest.mark.parametrize(("kind", "platform", "name"), [
    ("cpu", "cpu", "cpu"), ("NVIDIA H100 80GB HBM3", "gpu", "h100"), ("NVIDIA A100-SXM4-80GB", "cuda", "a100"),
    ("TPU v5p", "tpu", "v5p"), ("Tesla T4", "gpu", "a100")])
def test_machine_of(kind, platform, name):
    assert machine_of(kind, platform) is MACHINES[name]


def test_text():
    programs = {"a program": Price(8, memory=1e9, collectives=(permute(1e6),))}
    text = roofline.table(programs, [MACHINES["a100"], MACHINES["cpu"]], (8, 8192))
    assert len(text.splitlines()) == 3 and "8,192" in text and text.count("%") == 4
    assert roofline.plot(programs, [MACHINES["a100"]], (8, 8192)).count("|") == 4


@pytest.mark.slow
def test_weak_scaling_by_compilation(tmp_path, capsys):
    """What a device sends does not depend on how many there are."""
    file = tmp_path / "figures.json"
    assert communication_scaling.main(["--devices", "16", "64", "--each", "16", "--programs", "shallow water",
                                       "--json", str(file)]) == 0
    few, many = json.loads(file.read_text())
    assert few["collectives"] == many["collectives"] and few["by_kind"].keys() == {"collective-permute"}
    assert few["bytes"] == pytest.approx(many["bytes"], rel=0.05)
    assert many["seconds"] < 60 and many["gibibytes"] < 8
    assert few["price"]["flops"] == many["price"]["flops"]
    assert "H100" in (text := capsys.readouterr().out) and "8,192" in text
