"""What a process knows of others that are lost, and the error that says so."""
from __future__ import annotations

import threading
import time
from dataclasses import asdict
from typing import Any

from reactant.errors import ClusterError
from reactant.support.records import dataclass

DIED, RAISED, SILENT, ENDED, LATE = "died", "raised", "silent", "ended", "late"
"""Kinds of losses: of a process that is gone, that raised an error, that does not answer, that came to its end before
the others, and that does not come to where the others wait."""

ADVICE = {
    LATE: "Where it may take so long, say so: reactant launch --patience SECONDS, reactant.cluster(patience=).",
    ENDED: "All processes have to run the same programs.",
}


@dataclass(frozen=True)
class Loss:
    """A process without which the others cannot go on. what: the end of a sentence that begins with its number."""

    rank: int
    count: int
    host: str
    kind: str
    what: str

    def __str__(self) -> str:
        advice = ADVICE.get(self.kind, "")
        return f"Process {self.rank} of {self.count} ({self.host}) {self.what}.{' ' + advice if advice else ''}"

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


class Known:
    """The first loss that this process has heard of, and whether its main thread has been told."""

    def __init__(self) -> None:
        self.loss: Loss | None = None
        self.since = 0.0
        self.told = False
        self._heard = threading.Event()

    def hear(self, loss: Loss) -> None:
        """Something was lost; what is lost later follows from it."""
        if self.loss is None:
            self.loss, self.since = loss, time.monotonic()
            self._heard.set()

    def wait(self, seconds: float) -> Loss | None:
        """The loss, as soon as it is known."""
        self._heard.wait(seconds)
        return self.loss

    def error(self) -> ClusterError:
        """The error to raise, in the main thread."""
        assert self.loss is not None
        if threading.current_thread() is threading.main_thread():
            self.told = True
        return ClusterError(str(self.loss), self.loss.rank, self.loss.host)


MARKS = ("gloo", "nccl", "rccl", "coordination", "unavailable", "deadline", "timed out", "collective", "rendezvous",
         "connection", "socket", "peer", "barrier", "heartbeat")
"""What errors of communication have in their messages."""


def of_communication(error: BaseException) -> bool:
    """Whether an error may come from another process that is gone."""
    text = str(error).lower()
    return any(mark in text for mark in MARKS)
