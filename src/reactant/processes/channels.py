"""How processes hear of each other: over the supervisor that started them, or over jax's coordination service."""
from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from typing import Any, Protocol

from reactant.processes.losses import DIED, SILENT, Loss
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Word:
    """What a process last said of itself: how many programs for several devices it has started, and where it is."""

    started: int
    place: str
    ended: bool = False


class Channel(Protocol):
    """All that one process tells and hears; called by one thread at a time, but for `tell`."""

    def beat(self, word: Word) -> None:
        """Say that this process lives."""

    def tell(self, loss: Loss) -> None:
        """Say that a process is lost, this one or another."""

    def heard(self) -> Loss | None:
        """What others have said, or the silence of one of them."""

    def words(self) -> dict[int, Word]:
        """What each process last said."""

    def close(self, word: Word) -> None:
        """Say that this process has come to its end."""


class ToSupervisor:
    """Lines of JSON over a socket to `reactant launch`."""

    def __init__(self, link: socket.socket, rank: int, count: int) -> None:
        self._link, self._rank, self._count = link, rank, count
        self._rest, self._said = b"", {}    # type: ignore[var-annotated]
        self._sending = threading.Lock()
        link.settimeout(2.0)

    def beat(self, word: Word) -> None:
        self._send(beat=[word.started, word.place])

    def tell(self, loss: Loss) -> None:
        self._send(lost=loss.told())

    def heard(self) -> Loss | None:
        found = None
        for line in self._lines():
            if "lost" in line:
                found = found or Loss(**line["lost"])
            if "words" in line:
                self._said = {int(rank): Word(*word) for rank, word in line["words"].items()}
            if "gone" in line:
                found = found or Loss(self._rank, self._count, socket.gethostname(), DIED,
                                      "has no supervisor any more: reactant launch was ended")
        return found

    def words(self) -> dict[int, Word]:
        return dict(self._said)

    def close(self, word: Word) -> None:
        self._send(end=True)

    def _send(self, **line: Any) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._link.sendall(json.dumps(line).encode() + b"\n")

    def _lines(self) -> list[dict[str, Any]]:
        gone = False
        while select.select([self._link], [], [], 0)[0]:
            try:
                read = self._link.recv(65536)
            except OSError:
                read = b""
            if not read:
                gone = True
                break
            self._rest += read
        *whole, self._rest = self._rest.split(b"\n")
        return [json.loads(each) for each in whole] + [{"gone": True}] * gone


class OverStore:
    """Keys of the coordination service's store. silence: seconds after which a process that says nothing is lost."""

    def __init__(self, store: Any, rank: int, hosts: tuple[str, ...], silence: float) -> None:
        self._store, self._rank, self._hosts, self._silence = store, rank, hosts, silence
        self._beats = 0
        self._last: dict[int, tuple[int, float]] = {}
        self._said: dict[int, Word] = {}

    def beat(self, word: Word) -> None:
        self._beats += 1
        self._put(f"reactant/alive/{self._rank}", [self._beats, word.started, word.place, word.ended])

    def tell(self, loss: Loss) -> None:
        self._put(f"reactant/lost/{self._rank}", loss.told())

    def heard(self) -> Loss | None:
        now = time.monotonic()
        for rank, (number, *word) in self._all("reactant/alive/").items():
            self._said[rank] = Word(*word)
            if self._last.get(rank, (-1, 0.0))[0] != number:
                self._last[rank] = number, now
        for told in self._all("reactant/lost/").values():
            return Loss(**told)
        for rank, (_, when) in self._last.items():
            if now - when > self._silence and not self._said[rank].ended and rank != self._rank:
                return Loss(rank, len(self._hosts), self._hosts[rank], SILENT,
                            f"has not been heard of for {now - when:.0f} s: it was killed or stopped, or its machine "
                            f"is gone")
        return None

    def words(self) -> dict[int, Word]:
        return dict(self._said)

    def close(self, word: Word) -> None:
        self.beat(word)

    def _put(self, key: str, value: Any) -> None:
        with contextlib.suppress(RuntimeError, ValueError):
            self._store.key_value_set(key, json.dumps(value), allow_overwrite=True)

    def _all(self, prefix: str) -> dict[int, Any]:
        try:
            found = self._store.key_value_dir_get(prefix)
        except (RuntimeError, ValueError):
            return {}
        return {int(key.rpartition("/")[2]): json.loads(value) for key, value in found}
