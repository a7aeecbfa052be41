"""How long a divided program takes at best: the slower of arithmetic and memory, and then what it sends.

Nothing is taken to overlap, devices wait for the slowest link that some of them use, and messages for each other: what
a run reaches of this is the same part on any number of devices, so that ratios tell more than seconds.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reactant.communication.machines import Link, Machine
from reactant.communication.price import Collective, Price
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Time:
    """Seconds of one run: `computing`, which is `arithmetic` or `memory`, whichever takes longer, and `sending`."""

    arithmetic: float
    memory: float
    sending: float

    @property
    def computing(self) -> float:
        return max(self.arithmetic, self.memory)

    @property
    def total(self) -> float:
        return self.computing + self.sending

    @property
    def efficiency(self) -> float:
        """What part of the time devices compute: of a program whose devices have the same to do however many they are,
        how much as fast it is as on a device that has no others."""
        return self.computing / self.total if self.total else 1.0


def time_of(price: Price, machine: Machine, devices: int | None = None) -> Time:
    """The time of a program on so many devices (those that it was priced for, where None), each of which has the same
    to do."""
    devices = price.devices if devices is None else devices
    link = machine.near if devices <= machine.node else machine.far
    sending = sum(c.count * _seconds(_grown(c, price.devices, devices), link) for c in price.collectives)
    arithmetic = (price.flops - price.doubles) / machine.flops + price.doubles / machine.doubles
    return Time(arithmetic, price.memory / machine.memory, sending if devices > 1 else 0.0)


def _seconds(c: Collective, link: Link) -> float:
    return c.steps * link.latency + c.sent / link.bandwidth if c.sent else 0.0


def _grown(c: Collective, before: int, now: int) -> Collective:
    """A collective on another number of devices: of what all take part in, all do."""
    if now == before or c.group == 1 or c.kind == "collective_permute":
        return c
    group = max(2, round(c.group ** (math.log(now) / math.log(before)))) if before > 1 else now
    part = (group - 1) / (c.group - 1) if c.kind == "all_gather" else (group - 1) / group / ((c.group - 1) / c.group)
    return replace(c, group=group, sent=c.sent * part)


def table(programs: Mapping[str, Price], machines: Sequence[Machine], devices: Sequence[int]) -> str:
    """Predicted efficiencies of programs, each of whose devices always has the same to do, as text."""
    wide = max(map(len, programs), default=0)
    lines = [f"{'':{wide}}  {'machine':26}  {'one device':>12}  " + "  ".join(f"{n:>7,}" for n in devices)]
    for name, price in programs.items():
        for machine in machines:
            times = [time_of(price, machine, n) for n in devices]
            alone = times[0]
            bound = "memory" if alone.memory >= alone.arithmetic else "flops"
            lines.append(f"{name:{wide}}  {machine.name:26}  {_short(alone.computing):>12}  "
                         + "  ".join(f"{100 * t.efficiency:6.1f}%" for t in times) + f"  {bound}")
    return "\n".join(lines)


def plot(programs: Mapping[str, Price], machines: Sequence[Machine], devices: Sequence[int], width: int = 50) -> str:
    """The same as bars, where nothing draws."""
    lines = []
    for name, price in programs.items():
        for machine in machines:
            lines.append(f"{name}, {machine.name}")
            for n in devices:
                part = time_of(price, machine, n).efficiency
                lines.append(f"  {n:>6,} |{'#' * round(width * part):{width}}| {100 * part:.1f}%")
    return "\n".join(lines)


def _short(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 \
        else f"{1e6 * seconds:.3g} us"
