"""What became of a program's launches, by kernel and by line of the host code."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reactant.cuda import sequences
from reactant.cuda.rows import Launched, Row
from reactant.cuda.sequences import Repeated
from reactant.cuda.steps import LaunchStep, Step

if TYPE_CHECKING:
    from reactant.cuda.recorder import Recorder


@dataclass
class Site:
    """A line that launches a kernel, in one shape."""

    launches: int = 0
    ways: Counter = field(default_factory=Counter)


@dataclass
class Told:
    """Collects what `explain` says."""

    sites: dict[tuple[str, str, str], Site] = field(default_factory=dict)
    kernels: dict[str, dict[str, None]] = field(default_factory=dict)

    def compiled(self, recorder: Recorder, part: Repeated, these: list[tuple[Step, Row]], seconds: float) -> None:
        launches = sum(isinstance(s, LaunchStep) for s in part.steps[:part.period])
        joined = f"{launches} launch{'es' * (launches != 1)}"
        how = f"one compiled function: {part.count} repetitions of {joined}" if part.count > 1 else \
            f"one compiled function of {joined}"
        for step, row in these:
            if isinstance(row, Launched):
                lowered = recorder.compiled.lowerings.get(sequences.without_floats(step), "")
                self._add(recorder, row, how, lowered.partition(": ")[2])

    def by_host(self, recorder: Recorder, row: Launched, reason: str, seconds: float) -> None:
        self._add(recorder, row, f"by the program's own code: {reason}", "")

    def _add(self, recorder: Recorder, row: Launched, how: str, lowered: str) -> None:
        kernel: Any = recorder.built.kernel(row.kernel) if recorder.how.lower != "native" else ""
        name = row.kernel if isinstance(kernel, str) else kernel.name
        if lowered:
            self.kernels.setdefault(name, {})[lowered] = None
        else:
            self.kernels.setdefault(name, {})
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
                lines += [f"    {count} in {how}" if how.startswith("one") else f"    {count} {how}"
                          for how, count in site.ways.items()]
        return "\n".join(lines) or "no launches so far"


def _extent(extent: tuple[int, int, int]) -> str:
    x, y, z = extent
    return f"({x}, {y}, {z})" if z > 1 else f"({x}, {y})" if y > 1 else str(x)
