"""The benchmarks of this room run, at tiny sizes, and print a line for each program."""
from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def load(name):
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    found = importlib.util.spec_from_file_location(f"benchmark_{name}", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "arguments", "lines"), [
    ("dispatch", ["--calls", "30"], 7), ("memory", ["--scale", "0.001", "--runs", "1"], 15)])
def test_runs(name, arguments, lines, capsys):
    load(name).main(arguments)
    assert len(capsys.readouterr().out.splitlines()) == lines
