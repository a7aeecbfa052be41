"""A profile as a page of HTML."""
from __future__ import annotations

from html import escape

from reactant.profiling.records import LineCost, Measured
from reactant.profiling.text import bound, duration, heading, number
from reactant.support.html import bar, document, facts, folded, table
from reactant.support.html import fragment as as_fragment
from reactant.support.source_lines import around, by_file

AROUND = 3
"""Lines that are shown around those that cost something."""
HOT = 0.1
"""The part of a run from which a line is marked."""


def page(profile: Measured) -> str:
    """The whole page."""
    return document(f"{profile.name}: profile", body(profile))


def fragment(profile: Measured) -> str:
    """The same within another page."""
    return as_fragment(body(profile))


def body(p: Measured) -> str:
    """What is on the page."""
    told = [("a run", heading(p).partition(": ")[2]), ("machine", str(p.rates))]
    if p.compile_seconds:
        told.append(("compiled in", ", ".join(f"{name} {duration(s)}" for name, s in p.compile_seconds.items())))
    told.append(("without a line", f"{100 * p.unattributed:.1f} % of the run"))
    parts = [f"<h1>Profile of <code>{escape(p.name)}</code></h1>", facts(told), "<h2>Source</h2>", _sources(p),
             "<h2>Operations</h2>", _operations(p)]
    if p.loops:
        parts += ["<h2>Loops</h2>", _loops(p)]
    if p.notes:
        parts += ["<h2>What was compiled how</h2>", "<ul>", *(f"<li>{escape(note)}</li>" for note in p.notes), "</ul>"]
    parts.append('<p class="soft">A thunk of XLA\'s or a loop nest of native code is measured as a whole. Among the '
                 "lines that it computes for, its time is divided by the operations they have (an exponential weighs "
                 "ten additions). The bound is the least time in which this machine moves the bytes or does the "
                 "arithmetic; what limits is what explains a quarter of the time or more.</p>")
    return "\n".join(parts)


def _sources(p: Measured) -> str:
    return "\n".join(_source(p, file, lines) for file, lines in by_file(p.lines).items()) \
        or "<p>No operation has a line.</p>"


def _source(p: Measured, file: str, lines: dict[int, LineCost]) -> str:
    rows, hot = [], []
    for shown in around(file, lines, AROUND):
        if shown is None:
            rows.append(("", "", "", "", "", "", '<span class="soft">...</span>'))
            continue
        k, source = shown[0], escape(shown[1])
        cost = lines.get(k)
        if cost is None:
            rows.append((str(k), "", "", "", "", "", source))
            continue
        part = cost.seconds / p.seconds if p.seconds else 0.0
        hot += [len(rows)] if part >= HOT else []
        rows.append((str(k), f"{duration(cost.seconds)} {bar(part)}", f"{100 * part:.1f}&nbsp;%",
                     number(cost.work.bytes, "B"), number(cost.work.flops + cost.work.special),
                     f"{bound(cost.seconds, cost.work, p)} {p.limit(cost)}", source))
    return table(("line", "time", "part", "bytes", "flops", "bound, limit", "source"), rows, file, (0, 1, 2, 3, 4),
                 ("", "", "", "", "", "w", "source"), hot)


def _operations(p: Measured) -> str:
    rows = []
    for op in p.operations:
        lines = ", ".join(f"{line.rpartition(':')[2]} ({100 * part:.0f}&nbsp;%)" if len(op.lines) > 1
                          else line.rpartition(":")[2] for line, part in sorted(op.lines.items()) if line)
        rows.append((escape(op.kind), f"<code>{escape(op.name)}</code>"
                     + ("" if op.what in op.name else f"<br>{escape(op.what)}"), lines,
                     f"{duration(op.seconds)} {bar(op.seconds / p.seconds if p.seconds else 0)}",
                     f"{op.count:g}", number(op.work.bytes, "B"), number(op.work.flops + op.work.special),
                     f"{bound(op.seconds, op.work, p)} {op.limit(p.rates)}"))
    for what, seconds in (("arguments, results, Python", p.outside), ("between operations", p.between)):
        if seconds > 0:
            rows.append(("", what, "", f"{duration(seconds)} {bar(seconds / p.seconds)}", "", "", "", ""))
    rows.append(("", "the run", "", f"{duration(p.seconds)} {bar(1.0)}", "", "", "", ""))
    made = table(("by", "operation", "lines", "time", "times", "bytes", "flops", "bound, limit"), rows,
                 "Operations of a run, and what is left of it", (3, 4, 5, 6), ("", "", "", "", "", "", "", "w"))
    return made if len(rows) <= 40 else folded(f"{len(rows)} operations", made)


def _loops(p: Measured) -> str:
    rows = [(escape(loop.kind), escape(loop.place), duration(loop.seconds), f"{loop.entered:g}", f"{loop.iterations:g}",
             duration(loop.each)) for loop in p.loops]
    return table(("by", "line", "time", "entered", "iterations", "an iteration"), rows, "Loops of a run", (2, 3, 4, 5))
