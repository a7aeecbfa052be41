"""What became of a program's launches, by kernel and by line of the host code."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reactant.cuda.rows import Copied, Launched
from reactant.cuda.sequences import Unit, without_floats
from reactant.cuda.steps import Step


@dataclass(frozen=True)
class Place:
    """A line of the host code that launches a kernel, in one shape."""

    kernel: str
    line: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass
class Site:
    """What became of a place's launches."""

    launches: int = 0
    ways: Counter = field(default_factory=Counter)


@dataclass
class Told:
    """Collects what `explain` says, and modules that are to be looked at."""

    sites: dict[Place, Site] = field(default_factory=dict)
    kernels: dict[str, dict[str, None]] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)

    def compiled(self, unit: Unit, place_of: Callable[[Launched], Place], lowerings: Mapping[Step, str]) -> None:
        """A unit ran as one compiled function."""
        how = f"in one compiled function: {_described(unit, place_of)}"
        for step, row in unit.done:
            if isinstance(row, Launched):
                self._add(place_of(row), how, lowerings.get(without_floats(step), "").partition(": ")[2])

    def by_host(self, place: Place, reason: str) -> None:
        """The program's own code ran a launch."""
        self._add(place, f"by the program's own code: {reason}", "")

    def _add(self, place: Place, how: str, lowered: str) -> None:
        known = self.kernels.setdefault(place.kernel, {})
        if lowered:
            known[lowered] = None
        site = self.sites.setdefault(place, Site())
        site.launches += 1
        site.ways[how] += 1

    def text(self) -> str:
        """By kernel, then by site."""
        lines = []
        for name, lowered in self.kernels.items():
            lines.append(f"{name}: {'; '.join(lowered) or 'not raised'}")
            for place, site in self.sites.items():
                if place.kernel != name:
                    continue
                lines.append(f"  {place.line or 'line unknown'} <<<{_extent(place.grid)}, {_extent(place.block)}>>>: "
                             f"{site.launches} launch{'es' * (site.launches != 1)}")
                lines += [f"    {count} {how}" for how, count in site.ways.items()]
        return "\n".join(lines) or "no launches so far"


def _described(unit: Unit, place_of: Callable[[Launched], Place]) -> str:
    """A unit in words: "50 times (step, step), energy"."""
    words = []
    for part in unit.split():
        names = [place_of(row).kernel if isinstance(row, Launched) else "copy" if isinstance(row, Copied) else "memset"
                 for _, row in part.distinct()]
        repeated = part.parts[0].count > 1
        words.append(f"{part.parts[0].count} times ({', '.join(names)})" if repeated else ", ".join(names))
    return ", ".join(words)


def _extent(extent: tuple[int, int, int]) -> str:
    x, y, z = extent
    return f"({x}, {y}, {z})" if z > 1 else f"({x}, {y})" if y > 1 else str(x)
