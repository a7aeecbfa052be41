"""A thread that tells the other processes that this one lives, and this one that another is lost.

What it hears becomes a `ClusterError` in the main thread: of Python code and of waiting system calls at once, by a
signal; of operations between devices when they fail. Where the main thread does neither in `GRACE` seconds, the thread
prints the error and where the main thread is, and ends the process with the status `LOST`.
"""
from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from reactant.errors import CheckpointError, ClusterError, blame_with, in_one_line
from reactant.processes import places
from reactant.processes.channels import Channel, Word
from reactant.processes.losses import ENDED, LATE, RAISED, Known, Loss, of_communication
from reactant.runtime.meshes import LAUNCHES

PATIENCE = 15.0
"""Seconds that a process waits for another in an operation between devices."""
SILENT = 0.8
"""The part of it after which a process that gives no sign of life is lost."""
GRACE = 5.0
"""Seconds that the main thread has for an error before the process is ended."""
LEAVING = 1.5
"""Seconds that a process has for ending itself after an error: what it waits for may never come."""
BEAT = 0.5
LOST = 75
"""The exit status of a process that was ended here (EX_TEMPFAIL: try again)."""
SIGNAL = signal.SIGRTMAX - 1 if hasattr(signal, "SIGRTMAX") else getattr(signal, "SIGUSR2", signal.SIGINT)


class Watchdog(threading.Thread):
    """See the module. hosts: of each process."""

    def __init__(self, channel: Channel, rank: int, hosts: tuple[str, ...], patience: float) -> None:
        super().__init__(name="reactant-watchdog", daemon=True)
        self._channel, self._rank, self._hosts, self._patience = channel, rank, hosts, patience
        self.known = Known()
        self._ended = False
        self._over = threading.Event()
        self._before: Callable[..., Any] = sys.excepthook

    def begin(self) -> None:
        """Start watching; in the main thread, if errors are to come while it waits or computes in Python."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(SIGNAL, self._interrupt)
        blame_with(self.blamed)
        self._before, sys.excepthook = sys.excepthook, self._uncaught
        atexit.register(self._at_end)
        self.start()

    def run(self) -> None:
        while not self._over.is_set():
            self._channel.beat(self._word())
            if self.known.loss is None:
                loss = self._channel.heard()
                if loss is not None and not (self._ended and loss.kind == ENDED):
                    self._learn(loss)
            elif not self.known.told and time.monotonic() - self.known.since > GRACE:
                self._end()
            self._over.wait(BEAT if self.known.loss is None else 0.1)

    def check(self) -> None:
        """Raise the error, if a process is lost. For loops that wait for others."""
        if self.known.loss is not None:
            raise self.known.error()

    def blamed(self, error: BaseException) -> ClusterError | None:
        """The error that says which process is behind `error`; waits until that is known. None where it is none."""
        if isinstance(error, ClusterError) or not of_communication(error):
            return None
        late = "timed out" in str(error).lower()
        until = time.monotonic() + (1.0 if late else SILENT * self._patience + 3.0)
        while self.known.wait(3 * BEAT) is None:
            loss = self._left_behind(late)
            if loss is None and time.monotonic() > until:
                return None
            if loss is None:
                continue
            self._channel.tell(loss)
            self.known.hear(loss)
        return self.known.error()

    def _left_behind(self, late: bool) -> Loss | None:
        """Who of the living does not come to where the others wait."""
        words = self._channel.words()
        ended = sorted(rank for rank, word in words.items() if word.ended and rank != self._rank)
        if ended:
            return self._loss(ended[0], ENDED, "ended while others were still at work")
        others = {rank: word for rank, word in words.items() if rank != self._rank}
        if not late or not others:
            return None
        mine = self._word()
        behind = min(others, key=lambda rank: others[rank].started)
        if others[behind].started >= mine.started:
            lines = Counter(word.place for word in (*others.values(), mine))
            behind = min(others, key=lambda rank: lines[others[rank].place])
            if others[behind].place == mine.place:
                return None
        at = others[behind].place
        return self._loss(behind, LATE, f"has not come to what the others wait for in {self._patience:g} s"
                          + (f"; it is at {at}" if at else ""))

    def _loss(self, rank: int, kind: str, what: str) -> Loss:
        return Loss(rank, len(self._hosts), self._hosts[rank], kind, what)

    def _word(self) -> Word:
        return Word(LAUNCHES.started, places.of_main_thread(), self._ended)

    def _learn(self, loss: Loss) -> None:
        self.known.hear(loss)
        if not self._ended:
            with contextlib.suppress(OSError, ValueError):
                signal.pthread_kill(threading.main_thread().ident or 0, SIGNAL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.known.loss is None or self.known.told or self._ended:
            return
        if _handles_ours():     # and may be about to say so
            self.known.told = True
            return
        raise self.known.error()

    def _uncaught(self, kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        """Print the error, with the process that is behind it, and tell the others."""
        self.known.told = True
        behind = self.blamed(error)
        if behind is not None:
            error.add_note(f"ClusterError: {behind}")
        if isinstance(error, (ClusterError, CheckpointError)):
            print(_in_short(error, where), file=sys.stderr)
        elif kind is not KeyboardInterrupt or self._rank == 0:      # which all have had
            self._before(kind, error.with_traceback(_from_users(where)), error.__traceback__)
        self._channel.tell(self.known.loss or self._of_error(error, where))
        self._leave()

    def _of_error(self, error: BaseException, where: TracebackType | None) -> Loss:
        if isinstance(error, CheckpointError) and error.rank is not None:
            return self._loss(error.rank, RAISED, "could not write its part of a checkpoint")
        return self._loss(self._rank, RAISED, f"raised {_said(error, where)}")

    def _at_end(self) -> None:
        self._ended = True
        self._channel.close(self._word())
        if self.known.loss is not None:
            self._leave()
        self._over.set()
        self.join(LEAVING)      # a thread that Python ends while it is in jax's C++ ends the process

    def _leave(self) -> None:
        """Be gone soon, whatever the rest of the process waits for. This alarm needs no Python."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        faulthandler.dump_traceback_later(LEAVING, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115 - until then

    def _end(self) -> None:
        lines = places.stack_of_main_thread()
        at = "".join(f"\n    {line}" for line in lines) or " no line of the program's"
        text = f"reactant.ClusterError: {self.known.loss}\n  Process {self._rank} waits for it, in{at}\n"
        os.write(2, text.encode(errors="replace"))
        os._exit(0 if self._ended else LOST)


def _handles_ours() -> bool:
    """Whether this thread is in an `except` for an error of ours about other processes."""
    error = sys.exception()
    while error is not None and not isinstance(error, (ClusterError, CheckpointError)):
        error = error.__context__
    return error is not None


def _from_users(where: TracebackType | None) -> TracebackType | None:
    """A traceback without what comes before the user's first line."""
    found = where
    while found is not None and not places.is_users(found.tb_frame.f_code.co_filename):
        found = found.tb_next
    return found or where


def _in_short(error: BaseException, where: TracebackType | None) -> str:
    """What Python prints of an error, with the user's lines alone: where others were waited for is not of interest."""
    lines = [each for each in traceback.extract_tb(where) if places.is_users(each.filename)]
    return "".join(["Traceback (most recent call last):\n", *traceback.format_list(lines),
                    f"reactant.{type(error).__name__}: {error}"])


def _said(error: BaseException, where: TracebackType | None) -> str:
    """An error in one line, with the user's line that it comes from."""
    text = traceback.format_exception_only(error)[-1].strip() if not getattr(error, "__notes__", None) else \
        f"{type(error).__name__}: {in_one_line(error)}"
    line = ""
    for frame in traceback.extract_tb(where):
        if places.is_users(frame.filename):
            line = f" (at {frame.filename}:{frame.lineno})"
    return f"{text.splitlines()[0]}{line}" if text else f"{type(error).__name__}{line}"
