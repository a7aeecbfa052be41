"""Traces for Perfetto and XProf, read as these do."""
import json

import jax

from reactant.profiling import traces
from reactant.profiling.machine import Rates
from reactant.profiling.records import Measured, Operation, Span, Work

RATES = Rates("box", 1e10, 2e10, 1e9, ((1e4, 1e11), (1e8, 1e10)), 1e-6)
SPANS = [Span("run", 0.0, 1e-3, "program"), Span('dot "x" \\ ü', 1e-4, 3e-4, "XLA, thread 1", "a.py:3", {"flops": 7.0}),
         Span("region0", 4e-4, 9e-4, "native code", "a.py:4")]
FOUND = Measured("f", 1, 1e-3, 1e-3, [
    Operation("region0: add", "native", "add", 3e-4, 2, {"a.py:4": 1.0}, Work(flops=5, bytes=6)),
    Operation("region0: exp", "native", "exp", 2e-4, 2, {"a.py:5": 1.0})], [], RATES, spans=SPANS)


def test_chrome():
    found = json.loads(traces.chrome(FOUND))
    rows = {e["tid"]: e["args"]["name"] for e in found["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    events = {e["name"]: e for e in found["traceEvents"] if e["ph"] == "X"}
    assert set(events) == {*(span.name for span in SPANS), "region0: add", "region0: exp"}
    dot = events[SPANS[1].name]
    assert (round(dot["ts"]), round(dot["dur"]), dot["args"]) == (100, 200, {"line": "a.py:3", "flops": 7.0})
    assert rows[dot["tid"]] == "XLA, thread 1" and rows[events["region0: add"]["tid"]] == traces.TOTALS
    assert events["region0: exp"]["ts"] == events["region0: add"]["ts"] + events["region0: add"]["dur"]


def test_xspace(tmp_path):
    path = traces.xspace(FOUND, str(tmp_path))
    assert path.endswith(".xplane.pb") and "plugins/profile/" in path
    plane, = jax.profiler.ProfileData.from_file(path).planes
    assert plane.name == traces.PLANE
    lines = {line.name: list(line.events) for line in plane.lines}
    assert set(lines) == {"XLA Modules", "XLA Ops", "native code", traces.TOTALS}
    dot, = lines["XLA Ops"]
    assert dot.name == SPANS[1].name and round(dot.start_ns) == 100_000 and round(dot.duration_ns) == 200_000
