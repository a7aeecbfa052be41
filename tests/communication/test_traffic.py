"""Collectives and their bytes, counted in XLA's text."""
from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from reactant.communication.traffic import Moved, Traffic, group_sizes, traffic

HEAD = "HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[4,8]{1,0})->f32[4,8]{1,0}}, " \
       "num_partitions=8\n\n"
RING = "source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}"
ALL = "replica_groups={{0,1,2,3,4,5,6,7}}"
SUM = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

"""


def module(*lines: str, before: str = SUM) -> str:
    """A module whose argument is %p, of 128 bytes."""
    body = "".join(f"  {line}\n" for line in ("%p = f32[4,8]{1,0} parameter(0)", *lines))
    return f"{HEAD}{before}ENTRY %main (p: f32[4,8]) -> f32[4,8] {{\n{body}}}\n"


def counted(text: str) -> dict[str, tuple[int, int]]:
    return traffic(text).by_kind()


@pytest.mark.parametrize(("line", "kind", "size"), [
    (f"ROOT %r = f32[4,8]{{1,0}} collective-permute(%p), channel_id=1, {RING}", "collective-permute", 8 * 128),
    ("ROOT %r = f32[4,8]{1,0} collective-permute(%p), channel_id=1, source_target_pairs={{0,1},{2,2}}",
     "collective-permute", 128),
    (f"ROOT %r = f32[32,8]{{1,0}} all-gather(%p), channel_id=1, {ALL}, dimensions={{0}}", "all-gather", 7 * 8 * 128),
    ("ROOT %r = f32[8,8]{1,0} all-gather(%p), channel_id=1, replica_groups=[4,2]<=[8], dimensions={0}", "all-gather",
     4 * 2 * 128),
    (f"ROOT %r = f32[4,8]{{1,0}} all-reduce(%p), channel_id=1, {ALL}, to_apply=%add", "all-reduce", 2 * 7 * 128),
    ("ROOT %r = f32[4,8]{1,0} all-reduce(%p), channel_id=1, replica_groups={}, to_apply=%add", "all-reduce",
     2 * 7 * 128),
    ("ROOT %r = f32[2,8]{1,0} reduce-scatter(%p), channel_id=1, replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}, "
     "to_apply=%add", "reduce-scatter", 4 * 128),
    ("ROOT %r = f32[4,8]{1,0} all-to-all(%p), channel_id=1, replica_groups=mesh['a'=4,'b'=2] {'a'}, dimensions={1}",
     "all-to-all", 2 * 3 * 128),
    ("ROOT %r = (f32[4,8]{1,0}, f32[4,8]{1,0}) all-to-all(%p, %p), channel_id=1, replica_groups=[4,2]<=[8]",
     "all-to-all", 4 * 256),
    ("ROOT %r = f32[4,8]{1,0} collective-broadcast(%p), channel_id=1, replica_groups={{0,1,2}}",
     "collective-broadcast", 2 * 128),
    # operands with their types, as older versions print them
    (f"ROOT %r = f32[4,8]{{1,0}} collective-permute(f32[4,8]{{1,0}} %p), channel_id=1, {RING}", "collective-permute",
     8 * 128),
])
def test_bytes_of_a_collective(line, kind, size):
    assert counted(module(line)) == {kind: (1, size)}


@pytest.mark.parametrize("line", [
    "ROOT %r = f32[4,8]{1,0} all-reduce(%p), channel_id=1, replica_groups={{0},{1},{2}}, to_apply=%add",
    "ROOT %r = f32[4,8]{1,0} collective-permute(%p), channel_id=1, source_target_pairs={{0,0},{1,1}}",
    "ROOT %r = f32[4,8]{1,0} collective-permute(%p), channel_id=1, source_target_pairs={}",
    "ROOT %r = f32[4,8]{1,0} add(%p, %p), metadata={op_name=\"all-reduce(%p), replica_groups={}\"}",
])
def test_nothing_moves(line):
    assert traffic(module(line)) == Traffic(())


@pytest.mark.parametrize(("kind", "bits"), [("bf16", 16), ("pred", 8), ("c64", 64), ("f8e4m3fn", 8), ("s4", 4),
                                            ("u64", 64)])
def test_widths(kind, bits):
    line = f"%q = {kind}[3,8]{{1,0:T(8,128)(2,1)}} convert(%p)"
    send = f"ROOT %r = {kind}[3,8]{{1,0}} collective-permute(%q), channel_id=1, source_target_pairs={{{{0,1}}}}"
    assert counted(module(line, send)) == {"collective-permute": (1, 24 * bits // 8)}


def test_unknown_types_and_texts_are_refused():
    with pytest.raises(ValueError, match="'wide'"):
        traffic(module("%q = wide[3] convert(%p)", f"ROOT %r = wide[3] collective-permute(%q), {RING}"))
    with pytest.raises(ValueError, match="no entry"):
        traffic("HloModule f\n")


@pytest.mark.parametrize(("attributes", "sizes"), [
    ("replica_groups={{0,1},{2,3},{4,5,6}}, x=1", [2, 2, 3]),
    ("replica_groups={}", [8]),
    ("channel_id=1", [8]),
    ("replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}", [4, 4]),
    ("replica_groups=mesh['x'=2,'y'=2,'z'=2] {'x','z'}, dimensions={0}", [4, 4]),
    ("replica_groups=mesh['x'=8] {'x':(2)2}", [2] * 4),
    ("replica_groups=mesh['x'=8] {}", [1] * 8),
])
def test_groups(attributes, sizes):
    assert group_sizes(attributes, 8) == sizes


def test_asynchronous_operations_count_once():
    wrapped = """%wrapped (q: f32[4,8]) -> f32[4,8] {
  %q = f32[4,8]{1,0} parameter(0)
  ROOT %t = f32[4,8]{1,0} all-to-all(%q), channel_id=3, replica_groups=[1,8]<=[8], dimensions={1}
}

"""
    text = module(
        f"%s = (f32[4,8]{{1,0}}, f32[4,8]{{1,0}}, u32[], u32[]) collective-permute-start(%p), channel_id=1, {RING}",
        "%d = f32[4,8]{1,0} collective-permute-done(%s)",
        f"%g = (f32[4,8]{{1,0}}, f32[32,8]{{1,0}}) all-gather-start(%d), channel_id=2, {ALL}, dimensions={{0}}",
        "%h = f32[32,8]{1,0} all-gather-done(%g)",
        "%a = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-start(%p), calls=%wrapped",
        "%b = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-update(%a), calls=%wrapped",
        "ROOT %c = f32[4,8]{1,0} async-done(%b), calls=%wrapped", before=wrapped)
    assert counted(text) == {"collective-permute": (1, 1024), "all-gather": (1, 7168), "all-to-all": (1, 7 * 128)}


def loop(name: str, inside: str, trips: str) -> tuple[str, str]:
    """Computations of a loop, and the instruction that runs it on %p."""
    body = f"""%body_{name} (q: f32[4,8]) -> f32[4,8] {{
  %p = f32[4,8]{{1,0}} parameter(0)
  {inside}
}}

%test_{name} (q: f32[4,8]) -> pred[] {{
  %p = f32[4,8]{{1,0}} parameter(0)
  ROOT %t = pred[] constant(true)
}}

"""
    return body, f"ROOT %w = f32[4,8]{{1,0}} while(%p), condition=%test_{name}, body=%body_{name}{trips}"


def test_loops_count_as_often_as_they_run():
    permute = f"ROOT %r = f32[4,8]{{1,0}} collective-permute(%p), channel_id=1, {RING}"
    inner, runs_inner = loop("inner", permute, ', backend_config={"known_trip_count":{"n":"3"}}')
    outer, runs_outer = loop(
        "outer", runs_inner, ', backend_config={"known_init_step":{"init":"0"},"known_trip_count":{"n":"5"}}')
    assert traffic(module(runs_outer, before=inner + outer)) == Traffic(
        (Moved("collective-permute", None, 15, 15 * 1024),))
    endless, runs = loop("endless", runs_inner, "")
    assert traffic(module(runs, before=inner + endless)) == Traffic((Moved("collective-permute", None, 3, 3072),), 1)
    idle, runs = loop("idle", "ROOT %r = f32[4,8]{1,0} add(%p, %p)", "")
    assert traffic(module(runs, before=idle)) == Traffic(())


@pytest.mark.parametrize("attributes", ["branch_computations={%few, %many}",
                                        "true_computation=%few, false_computation=%many"])
def test_of_branches_the_one_that_moves_most_counts(attributes):
    branches = f"""%few (q: f32[4,8]) -> f32[4,8] {{
  %p = f32[4,8]{{1,0}} parameter(0)
  ROOT %r = f32[4,8]{{1,0}} collective-permute(%p), channel_id=1, source_target_pairs={{{{0,1}}}}
}}

%many (q: f32[4,8]) -> f32[4,8] {{
  %p = f32[4,8]{{1,0}} parameter(0)
  ROOT %r = f32[4,8]{{1,0}} collective-permute(%p), channel_id=2, {RING}
}}

%called (q: f32[4,8]) -> f32[4,8] {{
  %p = f32[4,8]{{1,0}} parameter(0)
  %k = s32[] constant(0)
  ROOT %c = f32[4,8]{{1,0}} conditional(%k, %p, %p), {attributes}
}}

"""
    text = module("ROOT %r = f32[4,8]{1,0} call(%p), to_apply=%called", before=branches)
    assert counted(text) == {"collective-permute": (1, 1024)}


def test_lines_of_the_program():
    tables = """FileNames
1 "/home/me/model.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=2 end_column=2}
2 {file_name_id=1 function_name_id=1 line=14 end_line=14 column=2 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

"""
    text = module(
        f"%a = f32[4,8]{{1,0}} collective-permute(%p), channel_id=1, {RING}, metadata={{stack_frame_id=2}}",
        f"%b = f32[4,8]{{1,0}} collective-permute(%a), channel_id=2, {RING}, metadata={{stack_frame_id=2}}",
        "ROOT %c = f32[4,8]{1,0} all-reduce(%b), channel_id=3, replica_groups={{0,1}}, to_apply=%add, "
        'metadata={op_name="y" source_file="/home/me/other.py" source_line=7}', before=tables + SUM)
    assert traffic(text).by_line() == {
        ("/home/me/model.py", 14): (Moved("collective-permute", ("/home/me/model.py", 14), 2, 2048),),
        ("/home/me/other.py", 7): (Moved("all-reduce", ("/home/me/other.py", 7), 1, 256),)}
    assert set(traffic(text, "/home/me/model.py").by_line()) == {None, ("/home/me/other.py", 7)}


COMPILED = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from reactant.communication.traffic import traffic

mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
here = NamedSharding(mesh, PartitionSpec("x", "y"))
x = jax.device_put(np.ones((64, 64), np.float32), here)

def step(_, x):
    return jnp.roll(x, 1, 0) + x.sum()

text = jax.jit(lambda x: jax.lax.fori_loop(0, 7, step, x), out_shardings=here).lower(x).compile().as_text()
found = traffic(text)
json.dump([found.by_kind(), sorted({line for _, line in found.by_line()})], sys.stdout)
"""


@pytest.mark.slow
def test_a_compiled_program():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True, check=True)
    kinds, lines = json.loads(done.stdout)
    assert kinds["collective-permute"] == [7, 7 * 8 * 32 * 4]
    count, size = kinds["all-reduce"]       # sums of all: over one axis, then over the other, or at once
    assert (count, size) in [(14, 7 * 4 * (2 * 3 * 2 + 2 * 4)), (7, 7 * 4 * 2 * 7)]
    assert lines == [12]
