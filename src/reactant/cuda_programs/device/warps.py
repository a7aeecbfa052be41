"""Operations of a warp whose 32 threads are there, as vectors: what each gets of what all gave."""
from __future__ import annotations

import re

from reactant.cuda_programs.device.meetings import Meeting
from reactant.cuda_programs.device.writer import Writer

LANES = 32
_VALUES, _WORDS, _BITS = f"<{LANES} x i64>", f"<{LANES} x i32>", f"<{LANES} x i1>"


def answered(f: Writer, meeting: Meeting) -> None:
    """Instructions that fill %answer from %x, %m, %y and %z, arrays of the warp."""
    kind = meeting.kind
    if kind == "barrier.warp":
        return
    if kind == "activemask":
        f.line(f"store {_VALUES} {_splat(f, 'i64', str(2**LANES - 1))}, ptr %answer, align 64")
    elif kind.startswith("shuffle.") and (sources := _constant_sources(meeting)) is not None:
        values = f.let(f"load {_VALUES}, ptr %x, align 64")
        mask = ", ".join(f"i32 {s}" for s in sources)
        f.line(f"store {_VALUES} {f.let(f'shufflevector {_VALUES} {values}, {_VALUES} poison, {_WORDS} <{mask}>')}, "
               "ptr %answer, align 64")
    elif kind in ("vote.ballot", "vote.any", "vote.all"):
        _vote(f, kind)
    else:
        f.line(f"call void @reactant_answer_warp(i32 {meeting.code}, ptr %x, ptr %m, ptr %y, ptr %z, ptr %answer)")


def _splat(f: Writer, kind: str, value: str) -> str:
    one = f.let(f"insertelement <{LANES} x {kind}> poison, {kind} {value}, i32 0")
    return f.let(f"shufflevector <{LANES} x {kind}> {one}, <{LANES} x {kind}> poison, {_WORDS} zeroinitializer")


def _constant_sources(meeting: Meeting) -> list[int] | None:
    """The lane that each lane hears from, where the program says so; its own outside its segment."""
    given, width = meeting.operands["y"][1], meeting.operands["z"][1]
    if not re.fullmatch(r"-?\d+", given) or width not in ("1", "2", "4", "8", "16", "32"):
        return None
    offset, size, how = int(given), int(width), meeting.kind.rsplit(".", 1)[1]
    found = []
    for lane in range(LANES):
        start = lane // size * size
        source = {"idx": start + (offset & (size - 1)), "up": lane - offset, "down": lane + offset,
                  "xor": lane ^ offset}[how]
        outside = source >= start + size or source < 0 or (how != "xor" and source < start)
        found.append(lane if outside else source)
    return found


def _vote(f: Writer, kind: str) -> None:
    values = f.let(f"load {_VALUES}, ptr %x, align 64")
    holds = f.let(f"icmp ne {_VALUES} {values}, zeroinitializer")
    bits = f.let(f"bitcast {_BITS} {holds} to i32")
    masks = f.let(f"load {_WORDS}, ptr %m, align 64")
    held = f.let(f"and {_WORDS} {_splat(f, 'i32', bits)}, {masks}")
    if kind != "vote.ballot":
        other = masks if kind == "vote.all" else "zeroinitializer"
        held = f.let(f"icmp {'eq' if kind == 'vote.all' else 'ne'} {_WORDS} {held}, {other}")
        f.line(f"store {_VALUES} {f.let(f'zext {_BITS} {held} to {_VALUES}')}, ptr %answer, align 64")
    else:
        f.line(f"store {_VALUES} {f.let(f'zext {_WORDS} {held} to {_VALUES}')}, ptr %answer, align 64")
