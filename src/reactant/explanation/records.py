"""What `explain` knows of a compilation."""
from __future__ import annotations

from collections import Counter
from typing import Any

from reactant.calling.compiled import Times
from reactant.communication.traffic import Moved, Traffic
from reactant.explanation.loops import Stayed
from reactant.rewrite import Report
from reactant.support.records import dataclass
from reactant.support.source_lines import text_at


@dataclass
class Line:
    """One source line of the user: operations it emitted, what is left of them, rules that fired on them."""

    place: str
    traced: Counter[str]
    kept: Counter[str]
    rules: dict[str, int]
    chains: dict[str, int]
    """What became of its ops, rule after rule, and for how many of them."""
    moved: tuple[Moved, ...] = ()
    """What it moves between devices,"""
    why: tuple[str, ...] = ()
    """and why."""

    @property
    def source(self) -> str:
        return text_at(self.place)


@dataclass
class Account:
    """The account of one compilation."""

    name: str
    lines: list[Line]
    operations: tuple[int, int]
    flops: tuple[float, float]
    bytes: tuple[float, float]
    report: Report
    times: Times
    reason: str = ""
    """Why a JAX function was left to jax.jit as it is, if it was."""
    native: tuple[str, ...] = ()
    """What was compiled natively, a line for each part."""
    traffic: Traffic = Traffic(())
    """What one run moves between the devices of a mesh."""
    choice: str = ""
    """Why its arguments lie there as they do, if that was chosen."""
    workarounds: tuple[str, ...] = ()
    """Passes against defects of XLA that change what XLA gets (docs/xla.md); native code needs none."""
    not_kept: str = ""
    """Why the compile cache does not keep the program; nothing where it does, or is off."""
    loops: tuple[Stayed, ...] = ()
    """The loops that are left, and why."""
    lowered: Any = None
    """The program, of which pages show graphs and memory."""
