"""Who is there: `reactant.cluster()`."""
from __future__ import annotations

import os
import socket
import sys
import threading
from collections import Counter

import jax

from reactant.errors import ClusterError
from reactant.processes import joining
from reactant.processes.watchdog import Watchdog


class Cluster:
    """The processes of a program; made by `reactant.cluster`.

    Attributes:
        index: which one this is, from 0.
        hosts: the machine of each.
        by: who told: "reactant launch", "the environment", "the program", "jax.distributed"; "nobody" where there is
            one.
        checkpoint: the directory of `reactant launch --checkpoint`, or None.
        attempt: how often the program was started again.

    Example:
        >>> cluster = reactant.cluster()
        >>> cluster.index, len(cluster.hosts), cluster.by
        (0, 1, 'nobody')
    """

    def __init__(self, index: int, hosts: tuple[str, ...], by: str, told: joining.Told | None = None,
                 watchdog: Watchdog | None = None) -> None:
        self.index, self.hosts, self.by = index, hosts, by
        self.checkpoint = told.checkpoint if told else None
        self.attempt = told.attempt if told else 0
        self._watchdog = watchdog

    @property
    def count(self) -> int:
        """The number of processes."""
        return len(self.hosts)

    @property
    def is_first(self) -> bool:
        """Whether this is the process whose prints are seen."""
        return self.index == 0

    @property
    def devices(self) -> tuple[int, ...]:
        """The number of devices of each process; jax starts at this question."""
        found = Counter(device.process_index for device in jax.devices())
        return tuple(found[rank] for rank in range(self.count))

    def check(self) -> None:
        """Raise `ClusterError` if another process is known to be lost."""
        if self._watchdog is not None:
            self._watchdog.check()

    def __repr__(self) -> str:
        return f"<Cluster: process {self.index} of {self.count}, told by {self.by}>"

    def __str__(self) -> str:
        devices = self.devices
        platform = jax.devices()[0].platform
        many = f"{self.count} process{'es' * (self.count > 1)}, {sum(devices)} {platform} " \
               f"device{'s' * (sum(devices) > 1)}, told by {self.by}"
        rows = [f"  {rank}  {host}  {here} device{'s' * (here != 1)}{'  this one' * (rank == self.index)}"
                for rank, (host, here) in enumerate(zip(self.hosts, devices, strict=True))]
        return "\n".join([many, *rows])


_joined: list[Cluster] = []
_lock = threading.Lock()


def cluster(address: str | None = None, *, processes: int | None = None, index: int | None = None,
            patience: float | None = None, prints: str = "first") -> Cluster:
    """The processes that this one is part of, which it joins at the first call; `print` says who they are.

    Processes that `reactant launch` started have joined before the script begins; others find each other by what SLURM,
    Open MPI, Kubernetes or TPU pods tell, as `jax.distributed.initialize` does. Where nothing is told, there is one
    process, and nothing is joined.

    Args:
        address: host and port of the first process, "host:port", where nobody tells.
        processes: how many there are, where nobody tells.
        index: which one this is, where nobody tells.
        patience: seconds that one waits for another in an operation between devices before that is lost; 15 when None.
        prints: "first" for what the first process prints only, "all".

    Returns:
        A `Cluster`, the same one at each call.

    Raises:
        ClusterError: where the others do not come, and where jax has started before.

    Example:
        >>> cluster = reactant.cluster()
        >>> cluster.count, cluster.is_first
        (1, True)
    """
    with _lock:
        if not _joined:
            _joined.append(_found(address, processes, index, patience, prints))
        return _joined[0]


def _found(address: str | None, processes: int | None, index: int | None, patience: float | None,
           prints: str) -> Cluster:
    if prints not in ("first", "all"):
        raise ClusterError(f"reactant.cluster: prints is \"first\" or \"all\", not {prints!r}.",
                           hint="Choose one of the two.", code="cluster-setup")
    what = joining.told(address, processes, index, patience)
    if what is None:
        return Cluster(0, (socket.gethostname(),), "nobody")
    watchdog, hosts = joining.joined(what)
    if what.rank:
        os.environ.setdefault("REACTANT_PROGRESS", "0")
        if what.link is None and prints == "first":
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process lives
    return Cluster(what.rank, hosts, what.by, what, watchdog)
