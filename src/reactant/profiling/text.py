"""A profile as text."""
from __future__ import annotations

import math

from reactant.profiling.records import Measured, Work
from reactant.rewrite.report import short_place

MOST_LINES, MOST_OPERATIONS, MOST_LOOPS = 20, 20, 10
"""Rows that are printed; all are in the profile."""
WIDE = 50


def text(profile: Measured) -> str:
    """The tables: lines, operations, loops, and what they leave."""
    p = profile
    parts = [heading(p),
             f"machine: {p.rates}"]
    if p.compile_seconds:
        parts.append("compiled in: " + ", ".join(f"{name} {duration(s)}" for name, s in p.compile_seconds.items()))
    parts += ["", "by line", _row("time", "part", "bytes", "flops", "bound", "limit", "line")]
    lines = p.lines
    for line in lines[:MOST_LINES]:
        place = short_place(line.place) or "(no line)"
        parts.append(_row(duration(line.seconds), _part(line.seconds, p.seconds), number(line.work.bytes, "B"),
                          number(line.work.flops + line.work.special), bound(line.seconds, line.work, p), p.limit(line),
                          f"{place}  {line.source}"[:WIDE + 30]))
    parts += _rest([line.seconds for line in lines[MOST_LINES:]], "lines", p)
    parts += _outside(p)
    parts += ["", "by operation", _row("time", "part", "count", "each", "bound", "limit", "operation")]
    for op in p.operations[:MOST_OPERATIONS]:
        where = ", ".join(short_place(line) for line in list(op.lines)[:3] if line)
        parts.append(_row(duration(op.seconds), _part(op.seconds, p.seconds), f"{op.count:g}",
                          duration(op.seconds / op.count if op.count else 0.0), bound(op.seconds, op.work, p),
                          op.limit(p.rates), f"{op.kind:6} {_clipped(_named(op.name, op.what))}"
                          + (f"  ({where}{', ...' if len(op.lines) > 3 else ''})" if where else "")))
    parts += _rest([op.seconds for op in p.operations[MOST_OPERATIONS:]], "operations", p)
    if p.loops:
        parts += ["", "loops", _row("time", "part", "times", "iterations", "each", "", "loop")]
        for loop in p.loops[:MOST_LOOPS]:
            parts.append(_row(duration(loop.seconds), _part(loop.seconds, p.seconds), f"{loop.entered:g}",
                              f"{loop.iterations:g}", duration(loop.each), "",
                              f"{loop.kind:6} {short_place(loop.place)}"))
    parts += ["", "bound: the least time in which this machine moves the bytes or does the arithmetic, of the time "
              "taken.", "A thunk or loop nest is measured as a whole; its lines have its time by the operations in it."]
    return "\n".join(parts)


def heading(p: Measured) -> str:
    """What a run takes, measured and not."""
    runs = f"the mean of the {-(-p.runs // 2)} faster of {p.runs} runs" if p.runs > 1 else "one run"
    beside = f"; {duration(p.plain)} without the profiler, whose overhead is {100 * p.overhead:+.1f} %" if p.plain \
        else "; the profiler's overhead was not measured"
    return f"{p.name}: {duration(p.seconds)} a run, {runs}{beside}"


def _outside(p: Measured) -> list[str]:
    plain = "" if not 0 < p.outside_plain < 0.9 * p.outside else f" ({duration(p.outside_plain)} without the profiler)"
    rows = [(p.compiling, "compiling"), (p.outside, f"arguments, results, Python{plain}"),
            (p.between, "between operations")]
    found = [_row(duration(max(s, 0.0)), _part(max(s, 0.0), p.seconds), "", "", "", "", what) for s, what in rows
             if s > 1e-3 * p.seconds]
    return [*found, _row(duration(p.seconds), "100.0 %", "", "", "", "",
                         f"the run; {100 * p.unattributed:.1f} % of it has no line")]


def _rest(seconds: list[float], what: str, p: Measured) -> list[str]:
    return [_row(duration(sum(seconds)), _part(sum(seconds), p.seconds), "", "", "", "",
                 f"{len(seconds)} more {what}")] if seconds else []


def _row(*cells: str) -> str:
    widths = (9, 7, 9, 10, 8, 8)
    right = [f"{cell:>{width}}" for cell, width in zip(cells[:-1], widths, strict=True)]
    return "  ".join([*right, cells[-1]]).rstrip()


def _named(name: str, what: str) -> str:
    return name if what in name else f"{name}: {what}"


def _clipped(words: str) -> str:
    return words if len(words) <= WIDE else words[:WIDE - 3] + "..."


def bound(seconds: float, work: Work, p: Measured) -> str:
    """The roofline's bound as a part of the time."""
    least = work.bound(p.rates)
    return f"{100 * least / seconds:.0f} %" if seconds > 0 and least > 0 else ""


def _part(seconds: float, whole: float) -> str:
    return f"{100 * seconds / whole:.1f} %" if whole else ""


def duration(seconds: float) -> str:
    """Seconds in a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def number(value: float, unit: str = "") -> str:
    """A number with a prefix that fits; nothing for 0."""
    if not value or not math.isfinite(value):
        return ""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()
