"""Arrays and programs on several processes give what they give on one."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.processes import spread
from tests.processes.launching import environment, launched

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("processes, devices", [
    (2, 2), pytest.param(4, 1, marks=pytest.mark.slow), pytest.param(2, 4, marks=pytest.mark.slow)])
def test_several_processes(processes, devices):
    done = launched(processes, "spread.py", processes, devices,
                    options=["--devices-per-process", devices, "--patience", 60])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all is as it should be\n"


@pytest.mark.devices8
def test_one_process(capsys):
    spread.main(1, 8)
    assert capsys.readouterr().out == "all is as it should be\n"


@pytest.mark.slow
@pytest.mark.cluster
def test_the_example_prints_the_same_on_any_number_of_devices(tmp_path):
    script = ROOT / "examples" / "many_devices.py"
    texts = []
    for name, flags in (("one", ""), ("eight", "--xla_force_host_platform_device_count=8")):
        done = subprocess.run([sys.executable, str(script), str(tmp_path / name)], capture_output=True, text=True,
                              env=environment(XLA_FLAGS=flags))
        texts.append(done.stdout)
    texts.append(launched(4, script, tmp_path / "four").stdout)
    texts.append(launched(2, script, tmp_path / "saved", options=["--checkpoint", tmp_path / "kept"]).stdout)
    fields = [np.load(f"{tmp_path / name}.npy") for name in ("one", "eight", "four", "saved")]
    for text, field in zip(texts[1:], fields[1:], strict=True):
        assert [line for line in text.splitlines() if line.startswith("step")] == texts[0].splitlines()[2:]
        np.testing.assert_allclose(field, fields[0], rtol=1e-12)
