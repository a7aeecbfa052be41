"""A profile as traces for others' viewers: Chrome's JSON (Perfetto) and XProf's protobuf (TensorBoard)."""
from __future__ import annotations

import json
import os
import platform
import time

import jax

from reactant.profiling.records import Measured, Span

TOTALS = "parts of native code: their times in a run, not when they were"
"""The row of what is only known as a sum."""
PLANE = "/device:TPU:0"
"""XProf's tables (`hlo_stats`, `op_profile`) read planes of accelerators only, whatever ran."""


def spans_of(profile: Measured) -> list[Span]:
    """What happened in one run, and after one another, what the parts of native code took together."""
    spans, at = list(profile.spans), 0.0
    for op in profile.operations:
        if op.kind == "native" and op.seconds:
            line = max(op.lines, key=lambda each: op.lines[each], default="")
            spans.append(Span(op.name, at, at + op.seconds, TOTALS, line, {
                "count": op.count, "flops": op.work.flops + op.work.special, "bytes": op.work.bytes}))
            at += op.seconds
    return spans


def chrome(profile: Measured) -> str:
    """Chrome's trace format: complete events ("X") in microseconds, a thread for each row."""
    spans = spans_of(profile)
    rows = {where: k for k, where in enumerate(dict.fromkeys(span.where for span in spans))}
    events: list[dict] = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": profile.name}}]
    events += [{"ph": "M", "name": "thread_name", "pid": 1, "tid": k, "args": {"name": where}}
               for where, k in rows.items()]
    events += [{"ph": "X", "name": span.name, "pid": 1, "tid": rows[span.where], "ts": 1e6 * span.begin,
                "dur": 1e6 * (span.end - span.begin), "cat": span.where.partition(",")[0],
                "args": {**({"line": span.line} if span.line else {}), **span.told}} for span in spans]
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events, "otherData": {
        "machine": str(profile.rates), "seconds": profile.seconds, "overhead": profile.overhead}}, indent=None)


def xspace(profile: Measured, folder: str) -> str:
    """Write `folder/plugins/profile/TIME/HOST.xplane.pb`; gives its path."""
    path = os.path.join(folder, "plugins", "profile", time.strftime("%Y_%m_%d_%H_%M_%S"))
    os.makedirs(path, exist_ok=True)
    file = os.path.join(path, f"{platform.node() or 'host'}.xplane.pb")
    with open(file, "wb") as opened:
        opened.write(jax.profiler.ProfileData.text_proto_to_serialized_xspace(_space(profile)))
    return file


STATS = ("hlo_category", "tf_op", "source", "flops", "bytes_accessed", "program_id", "symbol_id")


def _space(profile: Measured) -> str:
    """The protobuf as text."""
    spans = spans_of(profile)
    rows = list(dict.fromkeys(span.where for span in spans))
    named = {"program": "XLA Modules", **{where: f"{where}" for where in rows if where != "program"}}
    first = next((where for where in rows if where != "program" and where != TOTALS), TOTALS)
    named[first] = "XLA Ops"
    kinds = list(dict.fromkeys((span.name, span.where.partition(",")[0], span.line) for span in spans))
    number = {kind: k + 1 for k, kind in enumerate(kinds)}
    told = {(span.name, span.where.partition(",")[0], span.line): span.told for span in spans}
    lines = [f'planes {{ id: 1 name: "{PLANE}"']
    for k, where in enumerate(rows):
        lines.append(f"lines {{ id: {k + 1} name: {_text(named[where])} timestamp_ns: 0")
        lines += [f"events {{ metadata_id: {number[span.name, span.where.partition(',')[0], span.line]} "
                  f"offset_ps: {round(1e12 * max(span.begin, 0.0))} "
                  f"duration_ps: {max(round(1e12 * (span.end - span.begin)), 1)} }}"
                  for span in sorted(spans, key=lambda s: s.begin) if span.where == where]
        lines.append("}")
    for kind, k in number.items():
        name, where, line = kind
        values = [(0, f"str_value: {_text(where)}"), (1, f"str_value: {_text(f'{profile.name}/{name}')}"),
                  (2, f"str_value: {_text(line)}"), (3, f"uint64_value: {int(told[kind].get('flops', 0))}"),
                  (4, f"uint64_value: {int(told[kind].get('bytes', 0))}"), (5, "uint64_value: 1"),
                  (6, f"uint64_value: {k}")]
        stats = " ".join(f"stats {{ metadata_id: {place + 1} {value} }}" for place, value in values)
        lines.append(f"event_metadata {{ key: {k} value {{ id: {k} name: {_text(name)} display_name: {_text(name)} "
                     f"{stats} }} }}")
    lines += [f'stat_metadata {{ key: {k} value {{ id: {k} name: "{name}" }} }}' for k, name in enumerate(STATS, 1)]
    return "\n".join([*lines, "}"])


def _text(value: str) -> str:
    """A string of protobuf's text format."""
    raw = value.encode()
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:03o}" for b in raw) + '"'
