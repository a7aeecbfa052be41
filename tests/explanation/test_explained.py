"""`reactant.explain` accounts for every line, rule and second."""
from __future__ import annotations

import jax
import numpy as np
import pytest

import reactant
from reactant.support import foreign


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
                     "rules that fired:", "test_explained.py:"):
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


def shifted(x):
    y = x[1:] - x[:-1]
    return y * 2, x.sum()


@pytest.mark.devices8
def test_what_moves_between_devices():
    x = reactant.array(np.ones((64, 4)), sharding=reactant.mesh(x=8).sharding("x"))
    found = reactant.explain(shifted, x)
    by_source = {line.source: line for line in found.lines}
    assert {m.kind: m.bytes for m in by_source["y = x[1:] - x[:-1]"].moved} == {"collective-permute": 7 * 4 * 8}
    text = str(found)
    assert "between 8 devices: all-reduce, collective-permute: 336 bytes, 42 per device" in text
    assert "    moves:  collective-permute: 224 bytes, 28 per device" in text
    assert "nothing moves" in str(reactant.explain(lambda x: x * 2, x))
    assert "devices" not in str(reactant.explain(shifted, np.ones((64, 4)))).partition("\n\n")[0]


def until(x):
    while x.max() > 1:
        x = np.roll(x, 1, 0) / 2
    return x


@pytest.mark.devices8
def test_loops_of_unknown_length_between_devices():
    x = reactant.array(np.ones((64, 4)), sharding=reactant.mesh(x=8).sharding("x"))
    assert "; loops of unknown length count as one iteration" in str(reactant.explain(until, x))


def test_it_says_why_the_cache_does_not_keep_a_program(tmp_path, monkeypatch):
    def prints(x):
        print("now")
        return x * 2

    def moves(x, counts=[0]):       # noqa: B006 - what a trace changes
        counts[0] += 1
        return x * 2
    x, said = np.ones(3), " ".join(["not in the compile", "cache"])      # the page shows lines of this function
    cases = [(lambda x: x * 2, ""), (prints, "print"), (moves, "changed"),
             (reactant.grad(lambda x: x.sum()), ""), (reactant.grad(lambda x: prints(x).sum()), "print"),
             (jax.jit(lambda x: x * 2), ""), (jax.jit(lambda x: jax.debug.callback(len, x)), "left to jax.jit")]
    assert [reactant.explain(function, x).not_kept for function, _ in cases[:2]] == ["", ""]      # it is off
    monkeypatch.setenv("REACTANT_CACHE", str(tmp_path))
    monkeypatch.setattr(foreign, "DECLARED", [])        # other tests declare rules of their own
    for function, why in cases:
        found = reactant.explain(function, x)
        assert (why in found.not_kept if why else not found.not_kept), found.not_kept
        assert all((said in shown) == bool(why) for shown in (str(found), found.html()))
    assert not list(tmp_path.iterdir())
