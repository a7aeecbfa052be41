"""A program of several processes in which something happens to one of them. Run by test_failures.py.

    failing.py FOLDER WHAT RANK     WHAT: kill, stop, raise, leave, late, full, torn, nothing

Each process that sees an error of ours writes it to FOLDER/seen-RANK. The field at the end goes to FOLDER/field.npy.
"""
import os
import resource
import signal
import sys
import time
from pathlib import Path

import jax
import numpy as np

import reactant
from reactant.processes import checkpoint_files

STEPS, EVERY, WHEN = 24, 4, 10
ROWS = 61


def step(u):
    u[1:-1] += 0.2 * (u[2:] + u[:-2] - 2 * u[1:-1])
    u[0], u[-1] = u[-2], u[1]


def start():
    return np.sin(np.arange(ROWS * 3.0)).reshape(ROWS, 3)


def happens(what, folder):
    print("it happens", file=sys.stderr, flush=True)
    (folder / "when").write_text(repr(time.time()))
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "raise":
        raise KeyError("no such thing")
    elif what == "leave":
        sys.exit(0)
    elif what == "late":
        time.sleep(120)
    elif what == "torn":
        write = checkpoint_files.write
        checkpoint_files.write = lambda *given: (write(*given), happens("kill", folder))
    elif what == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def main(folder, what, rank):
    me = reactant.cluster()
    mesh = reactant.mesh(x=jax.device_count())
    saved = reactant.Checkpoints() if "REACTANT_CHECKPOINT" in os.environ else None
    state = {"u": reactant.array(lambda index: start()[index], shape=(ROWS, 3), sharding=mesh.sharding("x")), "step": 0}
    if saved is not None and saved.latest is not None:
        state = saved.restore(state)
        print(f"goes on from {state['step']} with {me.count}", flush=True)
    advance = reactant.jit(step)
    while state["step"] < STEPS:
        if state["step"] == WHEN and me.attempt == 0 and me.index == rank:
            happens(what, folder)
        advance(state["u"])
        state["step"] += 1
        if saved is not None and state["step"] % EVERY == 0:
            state["u"].block_until_ready()
            saved.save(state["step"], state)
    field = state["u"].gather()
    if me.is_first:
        np.save(folder / "field.npy", field)
        print("done", flush=True)


if __name__ == "__main__":
    folder, what, rank = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    try:
        main(folder, what, rank)
    except (reactant.ClusterError, reactant.CheckpointError) as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        after = time.time() - float((folder / "when").read_text())
        (folder / f"seen-{reactant.cluster().index}").write_text(f"{after:.1f} {type(error).__name__} {error}")
        raise
