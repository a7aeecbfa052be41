"""What became of a program's launches, by kernel and by line of the host code."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reactant.cuda import sequences
from reactant.cuda.rows import Copied, Launched

if TYPE_CHECKING:
    from reactant.cuda.recorder import Recorder, Unit


@dataclass
class Site:
    """A line that launches a kernel, in one shape."""

    launches: int = 0
    ways: Counter = field(default_factory=Counter)


@dataclass
class Told:
    """Collects what `explain` says, and modules that are to be looked at."""

    sites: dict[tuple[str, str, str], Site] = field(default_factory=dict)
    kernels: dict[str, dict[str, None]] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)

    def compiled(self, recorder: Recorder, unit: Unit) -> None:
        """A unit ran as one compiled function."""
        how = f"in one compiled function: {_described(recorder, unit)}"
        for step, row in unit.done:
            if isinstance(row, Launched):
                lowered = recorder.compiled.lowerings.get(sequences.without_floats(step), "")
                self._add(recorder, row, how, lowered.partition(": ")[2])

    def by_host(self, recorder: Recorder, row: Launched, reason: str) -> None:
        """The program's own code ran a launch."""
        self._add(recorder, row, f"by the program's own code: {reason}", "")

    def _add(self, recorder: Recorder, row: Launched, how: str, lowered: str) -> None:
        name = recorder.name_of(row)
        known = self.kernels.setdefault(name, {})
        if lowered:
            known[lowered] = None
        where = recorder.built.line_of(row.site - recorder.process.image)
        shape = f"<<<{_extent(row.grid)}, {_extent(row.block)}>>>"
        site = self.sites.setdefault((name, where, shape), Site())
        site.launches += 1
        site.ways[how] += 1

    def text(self) -> str:
        """By kernel, then by site."""
        lines = []
        for name, lowered in self.kernels.items():
            lines.append(f"{name}: {'; '.join(lowered) or 'not raised'}")
            for (kernel, where, shape), site in self.sites.items():
                if kernel != name:
                    continue
                lines.append(f"  {where or 'line unknown'} {shape}: {site.launches} "
                             f"launch{'es' * (site.launches != 1)}")
                lines += [f"    {count} {how}" for how, count in site.ways.items()]
        return "\n".join(lines) or "no launches so far"


def _described(recorder: Recorder, unit: Unit) -> str:
    """A unit in words: "50 times (step, step), energy"."""
    words = []
    for part in unit.split():
        names = [recorder.name_of(row) if isinstance(row, Launched) else "copy" if isinstance(row, Copied) else "memset"
                 for _, row in part.distinct()]
        repeated = part.parts[0].count > 1
        words.append(f"{part.parts[0].count} times ({', '.join(names)})" if repeated else ", ".join(names))
    return ", ".join(words)


def _extent(extent: tuple[int, int, int]) -> str:
    x, y, z = extent
    return f"({x}, {y}, {z})" if z > 1 else f"({x}, {y})" if y > 1 else str(x)
