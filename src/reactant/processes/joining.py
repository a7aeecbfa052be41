"""How a process finds the others: by what `reactant launch` told it, or its environment tells `jax.distributed`."""
from __future__ import annotations

import atexit
import json
import os
import socket
import time

from reactant.errors import ClusterError
from reactant.processes.channels import Channel, OverStore, ToSupervisor
from reactant.processes.service import Service
from reactant.processes.watchdog import PATIENCE, SILENT, Watchdog
from reactant.runtime.jax_internals import (
    has_started,
    join_processes,
    joined_processes,
    processes_of_environment,
    store_of_processes,
)
from reactant.support.records import dataclass

TOLD = "REACTANT_LAUNCHED"
"""The variable in which `reactant launch` tells a process what it is part of."""
JOINING = 120
"""Seconds that a process waits for the others at the beginning."""
FLAG = "--xla_cpu_collective_timeout_seconds"


@dataclass(frozen=True)
class Told:
    """What a process knows of the program that it is part of. by: who told; devices: which of its machine's it has;
    link: the socket to the supervisor; checkpoint: where the program keeps its state."""

    by: str
    address: str
    count: int
    rank: int
    devices: tuple[int, ...] | None = None
    link: int | None = None
    patience: float = PATIENCE
    checkpoint: str | None = None
    attempt: int = 0

    def as_text(self) -> str:
        """For the environment of a process."""
        return json.dumps({name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def from_text(cls, text: str) -> Told:
        """What `as_text` wrote."""
        found = json.loads(text)
        found["devices"] = None if found["devices"] is None else tuple(found["devices"])
        return cls(**found)


def told(address: str | None, processes: int | None, index: int | None, patience: float | None) -> Told | None:
    """What this process is part of; None where it is alone. The arguments are those of `reactant.cluster`."""
    if (text := os.environ.pop(TOLD, None)) is not None:    # not for processes that this one starts
        return Told.from_text(text)
    patience = PATIENCE if patience is None else patience
    if (already := joined_processes()) is not None:
        return Told("jax.distributed", *already, patience=patience)
    if address is not None:
        if processes is None or index is None:
            raise ClusterError("reactant.cluster: with an address, say how many processes there are, and which one "
                               "this is: reactant.cluster(\"host:1234\", processes=4, index=0).", code="cluster-setup")
        return Told("the program", address, processes, index, patience=patience)
    found, count, rank, devices = processes_of_environment(JOINING)
    if found is None or count is None or rank is None or count == 1:
        return None
    return Told("the environment", found, count, rank, None if devices is None else tuple(devices), patience=patience)


def joined(what: Told) -> tuple[Watchdog, tuple[str, ...]]:
    """Join the others, and watch over them; gives the names of all machines. Raises `ClusterError` where they do not
    come, or where jax has started already."""
    channel: Channel | None = None
    if what.link is not None:
        channel = ToSupervisor(socket.socket(fileno=what.link), what.rank, what.count)
    service = _join(what)
    hosts = _hosts(what)
    if channel is None:
        channel = OverStore(store_of_processes(), what.rank, hosts, SILENT * what.patience)
    watchdog = Watchdog(channel, what.rank, hosts, what.patience)
    if service is not None:
        atexit.register(_after_all, service, channel, watchdog, what)
    watchdog.begin()
    return watchdog, hosts


def _join(what: Told) -> Service | None:
    silence = max(10, round(what.patience * 2 / 3))
    if store_of_processes() is not None:        # the program has called jax.distributed.initialize
        return None
    if has_started():
        raise ClusterError("reactant.cluster: jax has started in this process, alone.",
                           hint="Call reactant.cluster() before anything that makes arrays or asks for devices.",
                           code="cluster-setup")
    if FLAG not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}={max(1, round(what.patience))}".strip()
    service = None
    if what.rank == 0 and what.link is None:
        service = Service(f"[::]:{what.address.rpartition(':')[2]}", what.count, silence)
        if not service.wait():
            raise ClusterError(f"reactant.cluster: nobody can listen on {what.address}: another program does, or it "
                               "is no address of this machine.", 0, socket.gethostname(),
                               hint="Choose another port or address.", code="cluster-setup")
    try:
        join_processes(what.address, what.count, what.rank, what.devices, silence=silence, timeout=JOINING)
    except (RuntimeError, ValueError) as error:
        raise ClusterError(f"Process {what.rank} of {what.count} ({socket.gethostname()}) could not join the others "
                           f"at {what.address}: {str(error).splitlines()[0]}",
                           hint="Start all processes with the same address, as `reactant launch` does.",
                           code="cluster-setup") from error
    return service


def _hosts(what: Told) -> tuple[str, ...]:
    store = store_of_processes()
    store.key_value_set(f"reactant/host/{what.rank}", socket.gethostname(), allow_overwrite=True)
    return tuple(store.blocking_key_value_get(f"reactant/host/{rank}", 1000 * JOINING) for rank in range(what.count))


def _after_all(service: Service, channel: Channel, watchdog: Watchdog, what: Told) -> None:
    """Let the service go when all others have come to their ends."""
    until = time.monotonic() + 2 * what.patience
    while watchdog.known.loss is None and time.monotonic() < until:
        if channel.heard() is not None:
            return
        if sum(word.ended for rank, word in channel.words().items() if rank != what.rank) == what.count - 1:
            service.leave()
            return
        time.sleep(0.1)
