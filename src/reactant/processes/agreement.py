"""What all processes have to know before any of them goes on: what each has to say, and what the first one says."""
from __future__ import annotations

import json
import time
from typing import Any

import jax

from reactant.processes.peers import cluster
from reactant.runtime.jax_internals import store_of_processes

_asked = [0]
BETWEEN = 0.02
"""Seconds between two looks."""


def said_by_all(value: Any) -> list[Any]:
    """What each process says, as JSON has it. Waits for all of them, each of which has to call this as often; raises
    `ClusterError` where one of them is lost."""
    return _said(value, range(jax.process_count()))


def asked() -> int:
    """How often something was asked here."""
    return _asked[0]


def said_by_first(value: Any) -> Any:
    """What the first process says; the others wait for it."""
    return _said(value, [0])[0]


def _said(value: Any, wanted: Any) -> list[Any]:
    number, rank, peers = _asked[0], jax.process_index(), cluster()
    _asked[0] += 1
    if jax.process_count() == 1:
        return [value]
    store, prefix = store_of_processes(), f"reactant/said/{number}/"
    if rank in wanted:
        store.key_value_set(f"{prefix}{rank}", json.dumps(value))
    while True:
        found = {int(key.rpartition("/")[2]): text for key, text in store.key_value_dir_get(prefix)}
        if all(each in found for each in wanted):
            return [json.loads(found[each]) for each in wanted]
        peers.check()
        time.sleep(BETWEEN)
