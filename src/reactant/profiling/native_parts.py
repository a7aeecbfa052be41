"""The parts of native functions, with what they have counted."""
from __future__ import annotations

import re
from collections.abc import Mapping

from reactant.native import clocks
from reactant.native.clocks import Counted, Site
from reactant.native.function import NativeFunction
from reactant.profiling.records import Loop, Operation, Work


def parts(function: NativeFunction, counted: Mapping[int, Counted], rate: float, total: float, count: float, line: str,
          work: Work) -> tuple[list[Operation], list[Loop]]:
    """Operations and loops of the calls of a native function in a run.

    counted: by site. rate: cycles a second. total: seconds that the calls took, measured around them. count: calls.
    line: of the call, for what no part knows better. work: of one call, from its arrays, for functions without parts.
    """
    sites = {number: site for number in counted if (site := clocks.site(number)) is not None}
    doubles = any(a.dtype.name in ("float64", "complex128") for a in function.arguments)
    root = next((site for site in sites.values() if site.parent is None), None)
    if root is None or not counted[root.number].count:
        what = re.sub(r" at loc\(.*", "", function.where) or "native code"
        return [Operation(function.name, "native", what, total, count, {line: 1.0}, work.times(count))], []
    seconds = {number: counted[number].cycles / rate for number in sites}
    if seconds[root.number] > total > 0:        # two clocks
        seconds = {number: each * total / seconds[root.number] for number, each in seconds.items()}
    self_seconds = dict(seconds)
    for number, site in sites.items():
        if site.parent in self_seconds:
            self_seconds[site.parent] -= seconds[number]
    made, loops = [], []
    for number, site in sites.items():
        if site is root or not counted[number].count:
            continue
        times = float(counted[number].count)
        iterations = counted[site.iterations].count if site.iterations is not None and site.iterations in counted else 0
        lines = _shares(site) or {line: 1.0}
        each = Work(site.flops, site.flops * doubles, site.special, site.bytes)
        own = each.times(float(iterations) if iterations else times)
        if iterations:       # what is left of a loop's time
            place = next(iter(site.lines), line)
            loops.append(Loop(place, "native", times, float(iterations), seconds[number]))
        name = f"{function.name}: {site.name}"
        made.append(Operation(name if not iterations else f"{name}, small steps of it", "native", site.name,
                              max(self_seconds[number], 0.0), float(iterations) if iterations else times, lines, own))
    rest = max(self_seconds[root.number], 0.0) + max(total - seconds[root.number], 0.0)
    made.append(Operation(f"{function.name}: small steps, new arrays, the call", "native",
                          "small steps, new arrays, the call", rest,
                          count, _shares(root) or {line: 1.0},
                          Work(root.flops, root.flops * doubles, root.special, root.bytes).times(count)))
    return made, loops


def _shares(site: Site) -> dict[str, float]:
    """Lines and their parts of what a site does."""
    known = {line: weight for line, weight in site.lines.items() if line}
    total = sum(known.values())
    return {line: weight / total for line, weight in known.items()} if total else {}
