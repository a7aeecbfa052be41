"""Programs of several processes for tests: `launched(...)` runs a script of this folder by `reactant launch`,
`as_slurm` without it, as SLURM would start it."""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from reactant.processes.launch import free_port

HERE = Path(__file__).parent
LONGEST = 240
"""Seconds, on a machine that is busy with other things."""


def environment(**more):
    names = ("XLA_FLAGS", "REACTANT_CHECKPOINT", "REACTANT_PROGRESS", "SLURM_")
    found = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return found | {"JAX_PLATFORMS": "cpu"} | more


def launched(processes, script, *arguments, options=()):
    """What it printed, and its exit status."""
    return subprocess.run(
        [sys.executable, "-m", "reactant", "launch", "-n", str(processes), *map(str, options), str(HERE / script),
         *map(str, arguments)], capture_output=True, text=True, timeout=LONGEST, env=environment())


def as_slurm(processes, script, *arguments, leaving=(), **more):
    """(exit status, all that was printed) of each process, and when it ended; those of `leaving` are killed after."""
    told = environment(SLURM_JOB_ID="1", SLURM_STEP_NODELIST="localhost", SLURM_NTASKS=str(processes),
                       SLURM_LOCALID="0", JAX_COORDINATOR_PORT=str(free_port()), TF_CPP_MIN_LOG_LEVEL="3", **more)
    running = [subprocess.Popen([sys.executable, str(HERE / script), *map(str, arguments)], text=True,
                                env={**told, "SLURM_PROCID": str(rank)}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT) for rank in range(processes)]
    found = {}
    for rank, process in enumerate(running):
        if rank not in leaving:
            text, _ = process.communicate(timeout=LONGEST)
            found[rank] = process.returncode, text, time.time()
    for rank in leaving:
        running[rank].send_signal(signal.SIGKILL)
        running[rank].communicate()
    return found


def seen(folder):
    """(seconds after it happened, error) by rank, as failing.py writes them."""
    found = {}
    for file in folder.glob("seen-*"):
        seconds, error = re.fullmatch(r"([\d.]+) (.*)", file.read_text(), re.S).groups()
        found[int(file.name.removeprefix("seen-"))] = float(seconds), error
    return found
