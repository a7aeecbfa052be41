"""The watchdog with a channel of ours: no other process is started."""
import subprocess
import sys

import pytest

from reactant.processes import watchdog
from reactant.processes.channels import Word
from reactant.processes.losses import DIED, ENDED, LATE, Loss
from reactant.processes.watchdog import Watchdog

LOST = """
import ctypes, signal, sys, time
from reactant.errors import ClusterError
from reactant.processes.losses import DIED, Loss
from reactant.processes.watchdog import SIGNAL, Watchdog

class Channel:
    begun = time.monotonic()
    told = []
    def beat(self, word): self.word = word
    def tell(self, loss): print("told:", loss, flush=True)
    def heard(self): return Loss(1, 3, "far", DIED, "was killed") if time.monotonic() - self.begun > 1 else None
    def words(self): return {}
    def close(self, word): print("closed", flush=True)

Watchdog(Channel(), 0, ("near", "far", "far"), 15.0).begin()
"""
WAYS = {
    "sleeps": "time.sleep(60)",
    "computes": "while True: sum(range(1000))",
    "waits for a lock": "import threading; threading.Semaphore(0).acquire()",
    "goes on": """
try:
    time.sleep(60)
except ClusterError as error:
    assert (error.rank, error.host) == (1, "far")
time.sleep(8)
print("went on", flush=True)
""",
    "is stuck": "signal.pthread_sigmask(signal.SIG_BLOCK, [SIGNAL])\ndef inner():\n    time.sleep(60)\ninner()\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("way, status, printed, error", [
    ("sleeps", 1, "told: Process 1 of 3 (far) was killed.\nclosed\n", "was killed.\n  code: cluster-lost\n"),
    ("computes", 1, "told: Process 1 of 3 (far) was killed.\nclosed\n", "was killed.\n  code: cluster-lost\n"),
    ("waits for a lock", 1, "told: Process 1 of 3 (far) was killed.\nclosed\n", "was killed.\n  code: cluster-lost\n"),
    ("goes on", 0, "went on\nclosed\n", ""),
    ("is stuck", watchdog.LOST, "", "Process 0 waits for it, in"),
])
def test_the_main_thread_hears_of_it(tmp_path, way, status, printed, error):
    script = tmp_path / "program.py"
    script.write_text(LOST + WAYS[way])
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stdout) == (status, printed), done.stderr
    if way == "is stuck":
        assert "program.py:19, in inner: time.sleep(60)" in done.stderr
        assert "reactant.ClusterError: Process 1 of 3 (far) was killed." in done.stderr
    assert done.stderr.endswith(error) or way == "is stuck"


class Silent:
    """A channel on which nobody is lost."""

    def __init__(self, words):
        self.said, self.told = words, []

    def tell(self, loss):
        self.told.append(loss)

    def words(self):
        return self.said


HOSTS = ("a", "b", "c")
TIMED_OUT = RuntimeError("Gloo collective permute failed: Timed out waiting 14999ms for send operation to complete")
RESET = ValueError("UNKNOWN: Gloo all-reduce failed: Read error: Connection reset by peer")


@pytest.mark.parametrize("error, words, rank, kind", [
    (TIMED_OUT, {1: Word(-1, "m.py:3"), 2: Word(9, "m.py:9")}, 1, LATE),
    (TIMED_OUT, {1: Word(9, ""), 2: Word(9, "m.py:9, in plot")}, 2, LATE),
    (TIMED_OUT, {1: Word(9, ""), 2: Word(9, "")}, None, None),
    (RESET, {1: Word(9, "m.py:3"), 2: Word(9, "m.py:9", True)}, 2, ENDED),
    (RESET, {}, None, None),
    (ValueError("shapes do not match"), {1: Word(9, "", True)}, None, None)])
def test_who_is_blamed(monkeypatch, error, words, rank, kind):
    channel = Silent(words)
    dog = Watchdog(channel, 0, HOSTS, patience=1.0)
    monkeypatch.setattr(dog, "_word", lambda: Word(9, ""))
    found = dog.blamed(error)
    assert (None, None) == (found, rank) if rank is None else (found.rank, found.host) == (rank, HOSTS[rank])
    assert [loss.kind for loss in channel.told] == [kind] * (kind is not None)
    if rank is None:
        dog.check()
    else:
        with pytest.raises(type(found), match=f"Process {rank} of 3"):
            dog.check()


def test_a_known_loss_is_blamed_at_once():
    dog = Watchdog(Silent({}), 0, HOSTS, patience=1000.0)
    dog.known.hear(Loss(2, 3, "c", DIED, "was killed by SIGKILL"))
    assert dog.blamed(RESET).fact == "Process 2 of 3 (c) was killed by SIGKILL."
