"""Memory while a program runs: what is held while each operation runs, as a chart."""
from __future__ import annotations

from html import escape

from jaxlib.mlir import ir

from reactant.communication.price import held_over
from reactant.explanation.numbers import short
from reactant.ir.modules import function
from reactant.rewrite.report import source_line
from reactant.support.records import dataclass

WIDE, HIGH, LEFT, BOTTOM = 760, 170, 62, 22
"""Pixels of the chart, and of what is written beside it."""
MOST_SHOWN = 5
"""Moments of most memory that are listed."""


@dataclass(frozen=True)
class Moment:
    """While an operation runs: bytes that are held."""

    operation: str
    line: str
    bytes: float


def moments(module: ir.Module) -> list[Moment]:
    """What `@main` runs, in order; loops and branches with the most that is held inside. What is computed where it is
    read is never stored (as `ir.traffic` guesses it)."""
    block = function(module).regions[0].blocks[0]
    inner = [op for op in block.operations if op.operation.name == "sdy.manual_computation"]
    block = inner[0].operation.regions[0].blocks[0] if inner else block
    return [Moment(op.name.removeprefix("stablehlo."), source_line(op.location), held)
            for op, held in held_over(block) if op.name != "stablehlo.constant"]


def chart(found: list[Moment]) -> str:
    """The chart, and what is at its highest places as a list."""
    most = max((moment.bytes for moment in found), default=0.0)
    if not most:
        return "<p>Nothing is held in memory.</p>"
    peaks = sorted(range(len(found)), key=lambda k: -found[k].bytes)[:MOST_SHOWN]
    step = (WIDE - LEFT - 8) / len(found)

    def height(value: float) -> float:
        return 8 + (HIGH - BOTTOM - 8) * (1 - value / most)
    steps = " ".join(f"{LEFT + step * k:.1f},{height(m.bytes):.1f} {LEFT + step * (k + 1):.1f},{height(m.bytes):.1f}"
                     for k, m in enumerate(found))
    ground = HIGH - BOTTOM
    axis = "".join(f'<path class="axis" d="M{LEFT},{height(value):.0f} H{WIDE - 8}"/><text x="{LEFT - 6}" '
                   f'y="{height(value) + 4:.0f}" text-anchor="end">{short(value)}B</text>'
                   for value in (0.0, most / 2, most))
    said = f"Memory over {len(found)} operations: at most {short(most)}B, while {_said(found[peaks[0]])} runs."
    picture = (f'<svg role="img" aria-label="{escape(said, True)}" width="{WIDE}" height="{HIGH}" '
               f'viewBox="0 0 {WIDE} {HIGH}">{axis}<polygon class="area" points="{LEFT},{ground} {steps} '
               f'{LEFT + step * len(found):.1f},{ground}"/><polyline class="curve" points="{steps}"/>'
               f'<text x="{LEFT}" y="{HIGH - 5}">first operation</text>'
               f'<text x="{WIDE - 8}" y="{HIGH - 5}" text-anchor="end">last operation</text></svg>')
    rows = "".join(f"<li>{short(found[k].bytes)}B while {escape(_said(found[k]))} runs</li>" for k in peaks)
    return f"<p>{escape(said)}</p>{picture}<ul>{rows}</ul>"


def _said(moment: Moment) -> str:
    line = moment.line.rpartition(":")[2]
    return moment.operation + (f" (line {line})" if line else "")
