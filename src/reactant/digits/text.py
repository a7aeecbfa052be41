"""`accuracy` as text."""
from __future__ import annotations

from reactant.digits.records import Branch, Found, Line, Loop, Output
from reactant.rewrite.report import short_place

MOST_LINES = 12
"""Lines that are printed; all are in `lines`."""


def text(found: Found) -> str:
    """The account as text."""
    parts = [f"{found.name}, beside itself in {found.twin}:"]
    parts += [f"  {output(each, found.twin)}" for each in found.outputs] or ["  it returns no floats"]
    parts += ["", *_blame(found)]
    if found.branches:
        parts += ["", "Other results of comparisons and conversions in more precision:",
                  *(f"  {branch(each)}" for each in found.branches)]
    grown = [loop for loop in found.loops if loop.lost >= 1.0]
    if grown:
        parts += ["", "Bits lost of what loops carry, by iterations:", *(f"  {loop(each)}" for each in grown)]
    if found.doubtful:
        parts += ["  All bits were lost on the way, though the ends agree: both may have gone to another solution."]
    return "\n".join(parts)


def bits(number: float) -> str:
    """With one digit behind the point where there is something to say by it."""
    return f"{abs(number):.0f}" if number == round(number) else f"{number:.1f}"


def output(o: Output, twin: str) -> str:
    """A result in a sentence."""
    shape = f"[{', '.join(map(str, o.shape))}]" if o.shape else ""
    head = f"{o.name} ({o.dtype}{shape}): {bits(o.worst)} of {o.digits} bits are right"
    if o.shape:
        head += f" in the worst element, {list(o.where)}; {bits(o.median)} in the median, " \
                f"{bits(o.of_largest)} of the largest one"
    if o.lost >= 1.0:
        head += f". It is {o.value:.8g}, " + (f"exactly {o.exact:.8g}" if o.believed > o.worst else
                                               f"and even {twin} does not tell what it should be ({o.exact:.8g}?)")
    if o.infinite:
        head += f". {o.infinite} not finite in both: of them nothing is known"
    return head


def _blame(found: Found) -> list[str]:
    lines = found.lines[:MOST_LINES]
    if not lines:
        return ["No operation rounds."]
    head = "Lines by the bits they cost alone:" if found.blamed else "No line costs much. The lines, worst first:"
    rows = [("alone", "local", "amplified", "")] + [
        ("?" if each.alone is None else bits(each.alone), bits(each.local), bits(each.amplified),
         f"{short_place(each.place) or '(no line)'}   {each.source}{_range(each)}") for each in lines]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    made = ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False)) + f"   {row[3]}"
            for row in rows]
    more = len(found.lines) - len(lines)
    return [head, *(each.rstrip() for each in made), *([f"  and {more} more"] if more else [])]


def _range(line: Line) -> str:
    return f"   ({line.out_of_range} out of range)" if line.out_of_range else ""


def branch(b: Branch) -> str:
    """A comparison in a line."""
    return f"{b.different} of {b.count}   {short_place(b.place) or '(no line)'}   {b.source or b.operation}"


def loop(each: Loop) -> str:
    """A loop in a line."""
    steps = ", ".join(f"{last}: {bits(lost)}" for last, lost in each.growth)
    return f"{short_place(each.place) or '(no line)'}   {each.source}   {steps}"
