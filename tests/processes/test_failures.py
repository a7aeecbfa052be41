"""What happens to a program of several processes when something happens to one of them."""
import time

import numpy as np
import pytest

from reactant.processes.launch import last_step
from tests.processes import failing
from tests.processes.launching import as_slurm, launched, seen

pytestmark = pytest.mark.cluster

LIMIT = 20.0
"""Seconds that nobody waits longer than."""


def expected():
    field = failing.start()
    for _ in range(failing.STEPS):
        failing.step(field)
    return field


def run(folder, what, rank, *options, processes=4):
    return launched(processes, "failing.py", folder, what, rank, options=["--checkpoint", folder / "saved", *options])


def check_named(folder, count, rank, what, kind="ClusterError"):
    """Every process but that one has had the error in time, and all of them have ended in time."""
    after = time.time() - float((folder / "when").read_text())
    found = seen(folder)
    assert set(range(count)) - {rank} <= set(found)
    for seconds, error in found.values():
        assert error.startswith(f"{kind} Process {rank} of {count} (") and what in error, error
        assert seconds < LIMIT, error
    assert after < LIMIT + 3        # the interpreter of the supervisor has to end, too


def check_same(folder):
    np.testing.assert_array_equal(np.load(folder / "field.npy"), expected())


@pytest.mark.slow
def test_a_killed_worker_is_named_and_two_processes_go_on_from_the_checkpoint(tmp_path):
    done = run(tmp_path, "kill", 2)
    check_named(tmp_path, 4, 2, "was killed by SIGKILL")
    assert done.returncode == 128 + 9
    assert "reactant launch: Process 2 of 4" in done.stderr and done.stdout == ""
    assert last_step(tmp_path / "saved") == 8
    again = run(tmp_path, "nothing", 0, processes=2)
    assert again.returncode == 0, again.stderr
    assert again.stdout == "goes on from 8 with 2\ndone\n"
    check_same(tmp_path)


@pytest.mark.slow
def test_the_first_process_may_die_in_a_checkpoint_and_fewer_start_again(tmp_path):
    done = run(tmp_path, "torn", 0, "--restart", "--min-processes", 1, processes=2)
    assert done.returncode == 0, done.stderr
    assert {each.split(" ", 1)[0] for _, each in seen(tmp_path).values()} == {"ClusterError"}
    assert "starting again with 1 process (1 of 3), from step 8" in done.stderr
    assert done.stdout == "goes on from 8 with 1\ndone\n"
    check_same(tmp_path)


FULL = "could not write its part of the checkpoint: File too large"


@pytest.mark.slow
def test_a_full_disk_is_an_error_in_all_processes(tmp_path):
    done = run(tmp_path, "full", 1, processes=2)
    check_named(tmp_path, 2, 1, FULL, "CheckpointError")
    assert "reactant launch: Process 1 of 2" in done.stderr
    assert last_step(tmp_path / "saved") == 8


@pytest.mark.slow
@pytest.mark.parametrize("what, rank, said, kind", [
    ("full", 0, FULL, "CheckpointError"),
    ("full", 3, FULL, "CheckpointError"),
    ("kill", 0, "was killed by SIGKILL", "ClusterError"),
    ("raise", 1, "raised KeyError: 'no such thing'", "ClusterError"),
    ("stop", 2, "is stopped", "ClusterError"),
    ("stop", 0, "is stopped", "ClusterError"),
    ("late", 2, "time.sleep(120)", "ClusterError"),
    ("leave", 3, "ended while others were still at work", "ClusterError"),
    ("torn", 1, "was killed by SIGKILL", "ClusterError"),
])
def test_every_failure_ends_in_an_error_that_names_the_process(tmp_path, what, rank, said, kind):
    done = run(tmp_path, what, rank)
    check_named(tmp_path, 4, rank, said, kind)
    assert done.returncode != 0
    assert last_step(tmp_path / "saved") == 8       # the one of step 12 is not complete, and 8 is


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kill", "stop", "raise", "full", "torn"])
def test_all_start_again_from_the_checkpoint(tmp_path, what):
    done = run(tmp_path, what, 1, "--restart", "--devices-per-process", 2, processes=2)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "goes on from 8 with 2\ndone\n"
    check_same(tmp_path)


@pytest.mark.slow
def test_restarts_are_counted(tmp_path):
    done = run(tmp_path, "nothing", 0, "--restart", "--max-restarts", 1, processes=1)
    assert done.returncode == 0
    script = tmp_path / "always.py"
    script.write_text("raise SystemExit(7)")
    done = launched(2, script, options=["--checkpoint", tmp_path, "--restart", "--max-restarts", 1])
    assert done.returncode == 7 and done.stderr.count("starting again") == 1
    assert "ended with status 7" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("what, rank, said", [
    ("nothing", 0, None), ("kill", 0, "has not been heard of"), ("kill", 1, "has not been heard of"),
    ("stop", 0, "has not been heard of"), ("stop", 2, "has not been heard of"), ("raise", 0, "raised KeyError"),
    ("leave", 1, "ended while others"), ("full", 1, "File too large")])
def test_without_a_supervisor(tmp_path, what, rank, said):
    found = as_slurm(3, "failing.py", tmp_path, what, rank, leaving=[rank] if what == "stop" else [],
                     REACTANT_CHECKPOINT=str(tmp_path / "saved"))
    if what == "nothing":
        assert [status for status, _, _ in found.values()] == [0, 0, 0], found
        assert "done" in found[0][1]
        check_same(tmp_path)
        return
    happened = float((tmp_path / "when").read_text())
    for other, (status, text, when) in found.items():
        if other != rank:
            assert status != 0 and when - happened < LIMIT and f"Process {rank} of 3 (" in text and said in text, text
    assert last_step(tmp_path / "saved") == 8
