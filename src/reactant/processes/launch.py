"""The supervisor behind `reactant launch`: starts the processes of a program, watches them, and starts them again."""
from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from reactant.processes.joining import TOLD, Told
from reactant.processes.losses import DIED, Loss
from reactant.processes.losses import SILENT as IS_SILENT
from reactant.processes.printing import Printed
from reactant.processes.service import Service
from reactant.processes.watchdog import PATIENCE
from reactant.support.records import dataclass

ENDING = 10.0
"""Seconds that the others have for their errors when a process is lost; what is there then is killed."""
STOPPED, STUCK = 0.6, 4.0
"""The part of the patience after which a process that says nothing is lost: one that is stopped, and one that runs: it
may have no time, or be in an extension that keeps Python from running."""
WORDS = 1.0
"""Seconds between two accounts of where everyone is."""


@dataclass(frozen=True)
class Plan:
    """What to start: `program` is what `processes.worker` takes."""

    program: tuple[str, ...]
    processes: int
    devices: int | None = None
    patience: float = PATIENCE
    checkpoint: str | None = None
    restarts: int = 0
    fewest: int | None = None
    prints: str = "first"


def launch(plan: Plan) -> int:
    """Run it, again from its last checkpoint where it may be; the exit status: that of the process that failed."""
    processes, attempt = plan.processes, 0
    while True:
        group = Group(plan, processes, attempt)
        status = group.run()
        if status == 0 or attempt == plan.restarts or group.interrupted:
            return status
        attempt += 1
        if plan.fewest is not None:
            processes = max(plan.fewest, processes - 1)
        step = last_step(plan.checkpoint)
        many = f"{processes} process{'es' * (processes > 1)}"
        _say(f"starting again with {many} ({attempt} of {plan.restarts}), "
             + (f"from step {step}" if step is not None else "from the beginning: there is no checkpoint"))


def last_step(directory: str | None) -> int | None:
    """The last complete checkpoint in a directory; what is being written has another name."""
    if directory is None or not Path(directory).is_dir():
        return None
    return max((int(each.name) for each in Path(directory).iterdir() if each.name.isdecimal()), default=None)


class Worker:
    """A process, its streams, and the line to it."""

    def __init__(self, plan: Plan, told: Told) -> None:
        self.rank = told.rank
        self.link, theirs = socket.socketpair()
        self.link.setblocking(False)
        environment = {**os.environ, TOLD: Told(**{**_fields(told), "link": theirs.fileno()}).as_text(),
                       "PYTHONUNBUFFERED": "1"}
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        if plan.devices is not None:
            environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} " \
                                       f"--xla_force_host_platform_device_count={plan.devices}".strip()
        if plan.checkpoint is not None:
            environment["REACTANT_CHECKPOINT"] = plan.checkpoint
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reactant.processes.worker", *plan.program], env=environment,
            pass_fds=[theirs.fileno()], stdin=None if self.rank == 0 else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        theirs.close()
        every = plan.prints == "all"
        assert self.process.stdout is not None and self.process.stderr is not None
        self.streams = {self.process.stdout: Printed(1, self.rank if every else None, every or self.rank == 0),
                        self.process.stderr: Printed(2, self.rank)}
        self.heard = time.monotonic()
        self.joined = False
        self.word: list[Any] = [0, "", False]
        self.said: Loss | None = None
        self._rest = b""

    def lines(self) -> list[dict[str, Any]]:
        """What it has said since."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while read := self.link.recv(65536):
                self._rest += read
        *whole, self._rest = self._rest.split(b"\n")
        return [json.loads(each) for each in whole]

    def say(self, **line: Any) -> None:
        """Tell it something."""
        with contextlib.suppress(OSError):
            self.link.send(json.dumps(line).encode() + b"\n")

    def kill(self) -> None:
        """End it, stopped or not."""
        if self.process.poll() is None:
            self.process.kill()


class Group:
    """The processes of one attempt."""

    def __init__(self, plan: Plan, count: int, attempt: int) -> None:
        self._plan, self._count, self._attempt = plan, count, attempt
        self._host = socket.gethostname()
        self._loss: Loss | None = None
        self._status = 0
        self._until = float("inf")
        self.interrupted = False

    def run(self) -> int:
        """Until all have ended; the exit status."""
        address = f"127.0.0.1:{free_port()}"
        service = Service(address, self._count, max(10, round(self._plan.patience * 2 / 3)))
        self._workers = [Worker(self._plan, self._told(address, rank)) for rank in range(self._count)]
        before = signal.signal(signal.SIGTERM, _terminated)
        try:
            if not service.wait():
                _say(f"nobody can listen on {address}")
                self._status = 1
                return self._status
            with selectors.DefaultSelector() as self._selector:
                for worker in self._workers:
                    for stream in worker.streams:
                        self._selector.register(stream, selectors.EVENT_READ, worker)
                self._watch()
        except (KeyboardInterrupt, Terminated) as error:
            self.interrupted = True
            self._status = 128 + (signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM)
            if isinstance(error, KeyboardInterrupt):        # they have had the same signal
                _wait(self._workers, 3.0)
        finally:
            signal.signal(signal.SIGTERM, before)
            for worker in self._workers:
                worker.kill()
                worker.process.wait()
                self._drain(worker)
                worker.link.close()
            service.end()
        return self._status

    def _told(self, address: str, rank: int) -> Told:
        each = self._plan.devices or 1
        devices = tuple(range(rank * each, rank * each + each)) if any(Path("/dev").glob("nvidia[0-9]*")) else None
        return Told("reactant launch", address, self._count, rank, devices, None, self._plan.patience,
                    self._plan.checkpoint, self._attempt)

    def _watch(self) -> None:
        said = time.monotonic()
        while any(worker.process.poll() is None for worker in self._workers):
            for key, _ in self._selector.select(0.05):
                self._read(key)
            now = time.monotonic()
            for worker in self._workers:
                self._hear(worker, now)
            if now - said > WORDS:
                said = now
                for worker in self._workers:
                    worker.say(words={each.rank: each.word for each in self._workers})
            if now > self._until:
                for worker in self._workers:
                    worker.kill()
        for worker in self._workers:
            self._hear(worker, time.monotonic())

    def _read(self, key: selectors.SelectorKey) -> None:
        data = os.read(key.fd, 65536)
        if data:
            key.data.streams[key.fileobj].add(data)
        else:
            self._selector.unregister(key.fileobj)

    def _drain(self, worker: Worker) -> None:
        for stream, printed in worker.streams.items():
            os.set_blocking(stream.fileno(), False)     # a process that it has started may hold the other end
            with contextlib.suppress(BlockingIOError):
                while data := os.read(stream.fileno(), 65536):
                    printed.add(data)
            printed.end()
            stream.close()

    def _hear(self, worker: Worker, now: float) -> None:
        for line in worker.lines():
            worker.heard, worker.joined = now, True
            if "beat" in line:
                worker.word = [*line["beat"], False]
            elif "end" in line:
                worker.word[2] = True
            elif "lost" in line:
                worker.said = Loss(**line["lost"])
                self._lost(worker.said, 1)
        status = worker.process.poll()
        if status is None:
            silent = now - worker.heard
            stopped = silent > STOPPED * self._plan.patience and is_stopped(worker.process.pid)
            if worker.joined and not worker.word[2] and (stopped or silent > STUCK * self._plan.patience):
                self._lost(Loss(worker.rank, self._count, self._host, IS_SILENT, f"has not answered for {silent:.0f} s"
                                + (": it is stopped" if stopped else "")), 1)
                worker.kill()           # others that wait for it hear of it by this, too
        elif status == 0:
            worker.word[2] = True
        else:
            what = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            self._lost(worker.said or Loss(worker.rank, self._count, self._host, DIED, what),
                       status if status > 0 else 128 - status)

    def _lost(self, loss: Loss, status: int) -> None:
        if self._loss is not None:
            return
        self._loss, self._status, self._until = loss, status, time.monotonic() + ENDING
        _say(str(loss))
        for worker in self._workers:
            worker.say(lost=loss.told())


class Terminated(BaseException):
    """The supervisor was asked to end."""


def _terminated(number: int, frame: Any) -> None:
    raise Terminated


def _wait(workers: Iterable[Worker], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(worker.process.poll() is None for worker in workers):
        time.sleep(0.05)


def is_stopped(number: int) -> bool:
    """Whether a process is stopped, by a signal or a debugger; true where the system does not say."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    except (OSError, IndexError):
        return not Path("/proc/self").exists()


def _fields(told: Told) -> dict[str, Any]:
    return {name: getattr(told, name) for name in told.__dataclass_fields__}


def _say(text: str) -> None:
    print(f"reactant launch: {text}", file=sys.stderr, flush=True)


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def program(name: str, module: bool, arguments: Sequence[str]) -> tuple[str, ...]:
    """A script or module with its arguments, as `Plan` has it."""
    return ("module" if module else "script", name, *arguments)
