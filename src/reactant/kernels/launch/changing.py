"""Integers, and structs of numbers, that change from launch to launch: from the third value on, one program serves all.

An integer that a launch gets is a constant of what is compiled for it: sizes, strides and conditions become simpler. A
host loop that launches a kernel with other integers every time would compile every time, though. So the values of each
argument of otherwise equal launches are counted, and where one has more than `MOST`, the program gets all that change.

Accesses outside of arrays, which are errors where constants show them, are then found while the code runs.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from reactant.support.records import dataclass

MOST = 2
"""Values of an integer that are compiled as constants."""


@dataclass
class Changing:
    """The integers of launches that are equal otherwise: the values of each argument that has some."""

    values: dict[tuple[int, ...], set[int]] = field(default_factory=dict)
    refused: str = ""
    """Why they have to be constants."""

    def at_run_time(self, integers: Mapping[tuple[int, ...], int]) -> frozenset[tuple[int, ...]]:
        """The arguments whose integers the program shall get: all that change, once one has had too many values."""
        for place, value in integers.items():
            seen = self.values.setdefault(place, set())
            if len(seen) <= MOST:
                seen.add(value)
        if self.refused or max(map(len, self.values.values()), default=0) <= MOST:
            return frozenset()
        return frozenset(place for place in integers if len(self.values[place]) > 1)


CHANGING: dict[tuple, Changing] = {}
"""By what else says which launch it is, the way in first."""


def told(way_in: Any) -> list[str]:
    """What `explain` says of the launches of a kernel so far, those outside of compiled functions."""
    lines: dict[str, None] = {}
    for key, changing in CHANGING.items():
        if key[0] is way_in and max(map(len, changing.values.values()), default=0) > MOST:
            names = getattr(way_in, "names", ())
            listed = ", ".join(".".join([str(names[k]) if k < len(names) else f"argument {k}", *map(str, inside)])
                               for (k, *inside), seen in changing.values.items() if len(seen) > 1)
            said = f"compiled anew for each value of {listed}: {changing.refused}" if changing.refused else \
                f"{listed} had more than {MOST} values in launches: one program serves all, its accesses checked"
            lines[said] = None
    return list(lines)
