"""`Peer`: programs of the benchmarks in enzyme-ad's own process, beside ours (docs/peers.md).

The peer may abort, segfault or never return: its process is then ended, what happened is in the error, and the next
program gets a new one.
"""
import argparse
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reactant.demos.measure import CLOCKS, one_burst, rounds
from reactant.ir import cost as costs
from reactant.ir import modules, traffic
from reactant.ir.context import building

BURST = 0.003
"""Seconds of runs in each iteration that a program takes."""
PATIENCE = 120
"""Seconds that one request may take, compilation included."""


def arguments_of(description, names):
    """The parser of a benchmark of these programs, which may have the peer beside them."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="smallest sizes: checks that everything still runs")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--repeats", type=int, default=21, help="rounds of interleaved runs (default 21)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: of all threads, for busy machines")
    parser.add_argument("--peer", metavar="PYTHON", help="the Python of an environment with enzyme-ad")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser


def measured(names, measure):
    """The rows that `measure(name)` gives, and the errors by name of programs that failed: these must not hide the
    others' figures. Says on standard error how long each took."""
    rows, failures = [], {}
    for name in names:
        begun = time.perf_counter()
        try:
            rows.append(measure(name))
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
        print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    return rows, failures


class PeerError(Exception):
    """What became of a program of the peer's."""


class Peer:
    """enzyme-ad in the environment whose Python is named. A context manager: the process ends with it."""

    def __init__(self, python, patience=PATIENCE):
        self.python, self.patience = python, patience
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()

    def load(self, program, scale, form):
        """The answer of `peer_process.py` about a program in one of its forms, with the cost of its module.

        Raises `PeerError` where the peer cannot compile it.
        """
        answer = self._ask({"load": program, "scale": scale, "form": form})
        return answer | cost(answer.pop("text"))

    def seconds(self, form, clock="wall"):
        """The median seconds, by one of `CLOCKS`, of a burst of runs of what was loaded."""
        return self._ask({"run": form, "seconds": BURST, "clock": clock})["seconds"]

    def _ask(self, request):
        if self.process is None:
            self._start()
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self._line()
        if not line:
            raise PeerError(self._ended())
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(" ".join(answer["error"].split())[:300])
        return answer

    def _start(self):
        self.messages = tempfile.TemporaryFile("w+")
        command = [self.python, str(Path(__file__).with_name("peer_process.py"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.messages,
                                        text=True, env=os.environ | {"PYTHONPATH": ""})

    def _line(self):
        """A line of the peer's; empty where its process ended or did not answer in time."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(self.patience):
                self.process.kill()
                self.process.wait()
                return ""
        return self.process.stdout.readline()

    def _ended(self):
        """How the process ended, with the last that it said."""
        code = self.process.wait()
        self.messages.seek(0)
        said = [line for line in self.messages.read().splitlines() if line.strip()]
        self._end()
        if code == -signal.SIGKILL:
            return f"no answer within {self.patience} seconds"
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        telling = next((line for line in reversed(said) if "error" in line.lower() or "assert" in line.lower()), "")
        return f"{how}: {(telling or ' '.join(said[-1:])).strip()[:300]}"

    def _end(self):
        if self.process is None:
            return
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process.wait()
        self.messages.close()
        self.process = None


def cost(text):
    """Operations and costs of a module."""
    with building():
        module = modules.parse(text)
        return {"operations": modules.size(module), **costs_of(module)}


def costs_of(module):
    """Flops, bytes after fusion, and those of the operations one by one, of a module by our cost model."""
    with building():
        found = costs.estimate(module)
        return {"flops": found["flops"], "bytes": traffic.estimate(module)["bytes"], "one_by_one": found["bytes"]}


def beside(peer, program, scale, forms, functions, repeats, clock="wall"):
    """Times `functions` and the peer's `forms` (label to form) of a program, one iteration after the other, by one of
    `CLOCKS`.

    Gives what the peer said about each label ("error" where it failed) and the median seconds of everything that ran.
    """
    answers = {}
    runs = {label: lambda function=function: one_burst(function, BURST, CLOCKS[clock])
            for label, function in functions.items()}
    for label, form in forms.items():
        try:
            answers[label] = peer.load(program, scale, form)
            peer.seconds(form)
        except PeerError as error:  # its process is new from here on: what was loaded before has to be loaded again
            answers[label] = {"error": str(error)}
            for other in [o for o in answers if o != label and "error" not in answers[o]]:
                peer.load(program, scale, forms[other])
    for label, answer in answers.items():
        if "error" not in answer:
            runs[label] = lambda form=forms[label]: peer.seconds(form, clock)
    return answers, rounds(runs, repeats)
