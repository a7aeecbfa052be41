"""The benchmarks of this room run, at tiny sizes, and print a line for each program."""
from __future__ import annotations

import dispatch
import exactness
import memory
import products
import pytest


@pytest.mark.sampled(100)
@pytest.mark.parametrize(("benchmark", "arguments", "lines"), [
    (dispatch, ["--calls", "30"], 27), (memory, ["--scale", "0.001", "--runs", "1"], 15),
    (products, ["--only", "square 32", "--dtypes", "float64", "--seconds", "0.001"], 8),
    (exactness, ["--tiny", "--repeats", "1", "--only", "nbody", "softmax"], 8)])
def test_runs(benchmark, arguments, lines, capsys):
    benchmark.main(arguments)
    assert len(capsys.readouterr().out.splitlines()) == lines
