"""Whole CUDA programs called from Python."""
import re
from pathlib import Path

import numpy as np
import pytest

import reactant
from tests.cuda_programs import building

HERE = Path(__file__).parent


def stepped(rod, steps, r):
    for _ in range(steps):
        new = rod.copy()
        new[1:-1] = rod[1:-1] + r * (rod[:-2] - 2.0 * rod[1:-1] + rod[2:])
        rod = new
    return rod


def test_main_and_functions(heat):
    """The process, its output, arrays in place, and what repeats as one compiled function."""
    done = heat.main(300, 40, capture=True)
    rod = np.sin(0.01 * np.arange(300))
    wanted = stepped(rod, 40, 0.4)
    assert done.returncode == 0 and done.stderr == ""
    np.testing.assert_allclose(float(done.stdout), np.sum(wanted**2), rtol=1e-12)
    total = heat.heat(rod, 300, 40, 0.4, 1.0, 1.0)
    assert isinstance(total, np.float64)
    np.testing.assert_allclose(rod, wanted, rtol=1e-12)
    np.testing.assert_allclose(total, np.sum(wanted**2), rtol=1e-12)
    told = heat.explain()
    assert "step: raised to a tensor program\n" in told
    assert re.search(r"  heat\.cu:\d+ <<<3, 128>>>: 80 launches\n"
                     r"    80 in one compiled function: 20 times \(step, step\), energy\n", told), told
    again = np.sin(0.01 * np.arange(300))
    assert heat["heat"](reactant.array(again), 300, 40, 0.5, 1.0, 1.0) != total


def test_other_targets(heat):
    """Modules for devices that are not here; running there is refused."""
    rod = np.sin(0.01 * np.arange(200))
    module, = heat.lower("heat", rod, 200, 40, 0.4, 1.0, 1.0, target="tpu")
    assert module.count("stablehlo.while") == 1 and "custom_call" not in module
    with pytest.raises(ValueError, match="target is 'cpu', 'gpu' or 'tpu', not 'npu'"):
        heat.lower("heat", target="npu")
    with pytest.raises(reactant.UnsupportedError, match="JAX has no device 'tpu' here"):
        reactant.cuda.program(HERE / "heat.cu", target="tpu")


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["auto", "native"])
@pytest.mark.parametrize("name", building.PROGRAMS)
def test_whole_programs(name, lower):
    """All say what their OpenMP versions say: python -m pytest tests/cuda/test_programs.py -m slow"""
    program = building.PROGRAMS[name]
    options = ["-O3", "-std=c++17", *program.options, *program.libraries]
    called = reactant.cuda.program(program.sources(False), options=options, lower=lower)
    done = called.main(*program.test, "--check", capture=True)
    assert done.returncode == 0 and "WRONG" not in done.stdout, done.stdout + done.stderr
    results = {w[1]: float(w[2]) for w in map(str.split, done.stdout.splitlines()) if w[:1] == ["result"]}
    assert building.difference(results, building.expected()[name]) <= program.tolerance
