"""`reactant.explain` accounts for every line, rule and second."""
from __future__ import annotations

import numpy as np

import reactant


def chain(x, y):
    a = np.sin(x.T)
    b = a.T + y
    return b * 2


def test_lines_rules_and_counts():
    found = reactant.explain(chain, np.ones((3, 4)), np.ones((3, 4)))
    by_source = {line.source: line for line in found.lines}
    assert by_source["b = a.T + y"].traced["stablehlo.add"] == 1
    assert by_source["b = a.T + y"].kept["stablehlo.add"] == 1
    assert by_source["return b * 2"].kept["stablehlo.multiply"] == 1
    assert found.report.fired and found.operations[1] < found.operations[0]
    assert any(line.rules for line in found.lines)
    assert found.flops[1] >= 24 and found.bytes[1] > 0
    assert found.times.trace > 0 and found.times.passes > 0
    assert found.times.xla == 0 < found.times.native, "XLA is not asked for what is native code alone"
    assert reactant.explain(reactant.jit(chain, native="never"), np.ones((3, 4)), np.ones((3, 4))).times.xla > 0


def test_text_shows_source_rules_and_times():
    text = str(reactant.explain(chain, np.ones((3, 4)), np.ones((3, 4))))
    for expected in ("chain: ", " operations, ", "compile time: trace ", "b = a.T + y", "traced: ", "now: ",
                     "rules that fired:", "test_text.py:"):
        assert expected in text


def part(x, y):
    whole = np.sin(x) @ y
    return whole[0] + 1


def test_chains_of_rewrites():
    found = reactant.explain(part, np.ones((3, 4)), np.ones((4, 3)))
    by_source = {line.source: line for line in found.lines}
    (longest,) = (c for c in by_source["return whole[0] + 1"].chains if c.startswith("slice -> "))
    assert longest == "slice -> slice_of_dot_general (slice, dot_general) -> slice_of_pointwise (slice, sine)"
    assert f"chain:  {longest[:40]}" in str(found)
    assert reactant.jit(part).lower(np.ones((3, 4)), np.ones((4, 3))).report.chains is None


def test_nothing_to_do():
    text = str(reactant.explain(lambda x: x, np.ones(3)))
    assert "0 -> 0 operations" in text
