"""Arrays and programs on several processes give what they give on one."""
import pytest

from tests.processes import spread
from tests.processes.launching import launched


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
