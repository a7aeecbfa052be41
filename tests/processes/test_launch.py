import os
import signal
import subprocess
import time

import pytest

from reactant.processes.launch import free_port, is_stopped, last_step, program


def test_the_last_step_is_one_with_a_name_of_its_own(tmp_path):
    assert last_step(None) is last_step(str(tmp_path / "none")) is last_step(str(tmp_path)) is None
    for name in ("9", "10", "12.orbax-checkpoint-tmp", "notes"):
        (tmp_path / name).mkdir()
    assert last_step(str(tmp_path)) == 10


def test_programs():
    assert program("a.py", False, ["-x", "1"]) == ("script", "a.py", "-x", "1")
    assert program("a.b", True, []) == ("module", "a.b")
    assert 0 < free_port() < 65536


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="Linux tells")
def test_stopped_processes_are_seen():
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        until = time.monotonic() + 10
        while not is_stopped(process.pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert is_stopped(process.pid)
    finally:
        process.kill()
        process.wait()
