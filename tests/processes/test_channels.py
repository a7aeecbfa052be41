import json
import socket

import pytest

from reactant.processes import channels
from reactant.processes.channels import OverStore, ToSupervisor, Word
from reactant.processes.losses import DIED, SILENT, Loss

LOSS = Loss(1, 2, "far", DIED, "was killed")


@pytest.fixture
def line():
    here, there = socket.socketpair()
    yield ToSupervisor(here, 0, 2), there
    here.close()
    there.close()


def test_to_the_supervisor(line):
    channel, there = line
    channel.beat(Word(3, "a.py:1"))
    channel.tell(LOSS)
    channel.close(Word(3, ""))
    said = [json.loads(each) for each in there.recv(65536).splitlines()]
    assert said == [{"beat": [3, "a.py:1"]}, {"lost": LOSS.told()}, {"end": True}]


def test_from_the_supervisor(line):
    channel, there = line
    assert channel.heard() is None and channel.words() == {}
    there.sendall(json.dumps({"words": {"1": [4, "b.py:2", True]}}).encode() + b"\n" + b'{"lost": ')
    assert channel.heard() is None and channel.words() == {1: Word(4, "b.py:2", True)}
    there.sendall(json.dumps(LOSS.told()).encode() + b"}\n")
    assert channel.heard() == LOSS
    there.close()
    assert "no supervisor any more" in str(channel.heard())
    channel.beat(Word(0, ""))       # nobody listens, which is no error


class Store:
    """As jax's coordination service keeps keys."""

    def __init__(self):
        self.kept = {}

    def key_value_set(self, key, value, allow_overwrite):
        self.kept[key] = value

    def key_value_dir_get(self, prefix):
        return [item for item in self.kept.items() if item[0].startswith(prefix)]


def test_over_the_store(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(channels.time, "monotonic", lambda: now[0])
    store = Store()
    first, second, third = (OverStore(store, rank, ("a", "b", "c"), silence=12.0) for rank in range(3))
    for each in (first, second, third):
        each.beat(Word(1, "m.py:1"))
    assert first.heard() is None and first.words()[2] == Word(1, "m.py:1")
    third.close(Word(2, "", True))      # has ended, and may be silent
    for _ in range(4):
        now[0] += 4.0
        first.beat(Word(2, ""))
        found = first.heard()
    assert (found.rank, found.host, found.kind) == (1, "b", SILENT) and "for 16 s" in str(found)
    second.tell(LOSS)
    assert first.heard() == third.heard() == LOSS


def test_a_store_that_is_gone():
    class Gone:
        def key_value_set(self, *given, **named):
            raise RuntimeError("UNAVAILABLE")

        key_value_dir_get = key_value_set

    channel = OverStore(Gone(), 0, ("a", "b"), 12.0)
    channel.beat(Word(0, ""))
    channel.tell(LOSS)
    assert channel.heard() is None
