"""Random control-flow graphs, irreducible ones too, structured and run against a walk of the graph."""
from __future__ import annotations

import random

import numpy as np
import pytest

import reactant
from reactant.ir.context import building
from reactant.kernels.form import form, interpret
from reactant.kernels.form.record import Buffer, KernelRecord, Scalar
from reactant.kernels.stages.stages import run_stages

FUEL = 60
Block = tuple[int, int, list[int]]
"""(factor, addend, successors): x becomes x * factor + addend; the next is chosen by bits of x; none: return."""


def graph(seed: int) -> list[Block]:
    """Any block may go to any but the first, so loops have several heads and exits."""
    r = random.Random(seed)
    count = r.randint(2, 9)
    blocks = []
    for number in range(count):
        ways = r.choice([1, 2, 2, 2, 2, 3, 0]) if number else r.choice([1, 2])
        near = r.random() < 0.5
        targets = [min(count - 1, max(1, number + r.randint(-2, 3))) if near else r.randrange(1, count)
                   for _ in range(ways)]
        blocks.append((r.choice([3, 5, 7]), r.randint(0, 99), targets))
    return blocks


def walked(blocks: list[Block], x: int) -> tuple[int, int, int]:
    """(x, fuel, last block) at the end."""
    at, fuel = 0, FUEL
    while True:
        factor, addend, targets = blocks[at]
        x, fuel = (x * factor + addend) & 0xFFFFFFFF, fuel - 1
        if not targets or fuel <= 0:
            return x, fuel, at
        at = targets[(x >> 7 & 3) % len(targets)] if len(targets) > 1 else targets[0]


def as_llvm(blocks: list[Block]) -> str:
    """The graph with its state in phis; every block leaves when the fuel is used up."""
    sources: list[list[int]] = [[] for _ in blocks]
    for number, (_, _, targets) in enumerate(blocks):
        for target in sorted(set(targets)):
            sources[target].append(number)
    lines = ["define void @k(ptr %out, i32 %start) {"]
    reached = [n for n in range(len(blocks)) if not n or sources[n]]
    for number in reached:
        factor, addend, targets = blocks[number]
        live = [s for s in sources[number] if s in reached]
        lines.append(f"b{number}:")
        if number:
            for name in ("x", "f"):
                lines.append(f"  %{name}{number} = phi i32 " + ", ".join(f"[ %{name}n{s}, %c{s} ]" for s in live))
        x, fuel = (f"%x{number}", f"%f{number}") if number else ("%start", str(FUEL))
        lines += [f"  %m{number} = mul i32 {x}, {factor}", f"  %xn{number} = add i32 %m{number}, {addend}",
                  f"  %fn{number} = sub i32 {fuel}, 1", f"  %stop{number} = icmp sle i32 %fn{number}, 0",
                  f"  br i1 %stop{number}, label %end{number}, label %c{number}", f"c{number}:"]
        distinct = [targets[k % len(targets)] for k in range(4)] if targets else []
        lines += [f"  %s{number} = lshr i32 %xn{number}, 7", f"  %w{number} = and i32 %s{number}, 3"]
        if not targets:
            lines.append(f"  br label %end{number}")
        elif len(set(targets)) == 1:
            lines.append(f"  br label %b{targets[0]}")
        elif len(targets) == 2:
            lines += [f"  %t{number} = trunc i32 %w{number} to i1",
                      f"  br i1 %t{number}, label %b{targets[1]}, label %b{targets[0]}"]
        else:
            cases = choices(distinct)
            lines.append(f"  switch i32 %w{number}, label %b{distinct[3]} [ {cases} ]")
        lines += [f"end{number}:", f"  store i32 %xn{number}, ptr %out, align 4",
                  f"  %p{number} = getelementptr i32, ptr %out, i64 1",
                  f"  store i32 %fn{number}, ptr %p{number}, align 4",
                  f"  %q{number} = getelementptr i32, ptr %out, i64 2",
                  f"  store i32 {number}, ptr %q{number}, align 4", "  ret void"]
    return "\n".join([*lines, "}"])


def choices(targets: list[int]) -> str:
    """Cases 0 to 2 of a switch; what goes where the default goes is left to it."""
    return " ".join(f"i32 {k}, label %b{t}" for k, t in enumerate(targets[:3]) if t != targets[3])


@pytest.mark.parametrize("first", range(0, 64, 8))
def test_random_graphs(first: int) -> None:
    for seed in range(first, first + 8):
        blocks = graph(seed)
        text = as_llvm(blocks)
        record = KernelRecord("k", "k", text, (Buffer("out", np.dtype("i4"), (3,)), Scalar("start", np.dtype("i4"))),
                              (1, 1, 1), (1, 1, 1))
        with building():
            module = run_stages(record)
            assert module.operation.verify() and form.violations(module) == []
            for start in (0, 1, 12345, -7):
                out = np.zeros(3, np.int32)
                interpret.run(module, [out, start])
                x, fuel, last = walked(blocks, start)
                assert (int(out[0]) & 0xFFFFFFFF, int(out[1]), int(out[2])) == (x, fuel, last), (seed, start)


def test_some_graphs_are_irreducible() -> None:
    """A cycle with two ways in: 0 -> 1, 2; 1 -> 2; 2 -> 1."""
    blocks: list[Block] = [(3, 1, [1, 2]), (5, 2, [2, 3]), (7, 3, [1, 3]), (3, 4, [])]
    record = KernelRecord("k", "k", as_llvm(blocks), (Buffer("out", np.dtype("i4"), (3,)),
                                                      Scalar("start", np.dtype("i4"))), (1, 1, 1), (1, 1, 1))
    with building():
        module = run_stages(record)
        assert str(module).count("scf.while") == 1
        for start in range(20):
            out = np.zeros(3, np.int32)
            interpret.run(module, [out, start])
            assert (int(out[0]) & 0xFFFFFFFF, int(out[1]), int(out[2])) == walked(blocks, start)


def fall_through(order: list[int]) -> str:
    """CUDA: a switch whose cases run into the next ones."""
    cases = " ".join(f"case {c}: out[i] += x[i] * {c}.5f;" for c in order)
    return f"""extern "C" __global__ void k(float *out, const float *x, const int *which, int iterations) {{
        int i = threadIdx.x;
        for (int q = 0; q < iterations; q++) switch (which[i] + q) {{ {cases} default: out[i] += 1; }}
    }}"""


@pytest.mark.sampled(100)
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 3, 1, 4], [5, 1, 8, 0, 3, 7], [1, 0], [3]])
@pytest.mark.parametrize("iterations", [1, 3])
def test_cases_that_fall_through(order: list[int], iterations: int) -> None:
    random = np.random.default_rng(len(order))
    x, which = random.random(32, np.float32), random.integers(-1, 10, 32).astype(np.int32)
    expected = np.ones(32, np.float32)
    for i, first in enumerate(which):
        for case in range(first, first + iterations):
            for c in order[order.index(case):] if case in order else []:
                expected[i] += np.float32(x[i] * np.float32(c + 0.5))
            expected[i] += 1
    for lower in ("tensor", "auto"):
        out = np.ones(32, np.float32)
        reactant.cuda.load(fall_through(order), lower=lower).k[1, 32](out, x, which, iterations)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.slow
def test_cases_that_fall_through_are_not_dispatched_on_again_and_again() -> None:
    def nested(count: int) -> int:
        kernel = reactant.cuda.load(fall_through(list(range(count))), lower="tensor").k

        def host(out, x, which):
            kernel[1, 32](out, x, which, 1)
            return out
        lowered = reactant.jit(host).lower(np.ones(32, np.float32), np.ones(32, np.float32), np.ones(32, np.int32))
        return sum(lowered.operations(optimized=False).values())
    assert nested(16) < 32 * 16       # 784 where each level numbers its places anew
