"""Derivatives of random programs of kernels: backward and forward agree, and with differences of native code."""
from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import reactant

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

from tests.amounts import few
from tests.kernels.fuzz import running  # noqa: E402
from tests.kernels.fuzz.programs import Program, random_program  # noqa: E402


def in_double(program: Program) -> Program:
    """The same without single precision, in which differences say nothing."""
    source = re.sub(r"\bfloat\b", "double", program.source) if program.language == "cuda" else \
        re.sub(r"\bfloat32\b", "float64", program.source)
    host = re.sub(r", (\d+)\]\(", lambda found: f", {2 * int(found[1])}](", program.host)     # dynamic shared memory
    return replace(program, source=source, host=host, buffers=[
        replace(b, dtype=b.dtype.replace("float32", "float64")) for b in program.buffers])


def check(program: Program, folder) -> str:
    """Along a random direction of all floating-point arrays; what was compared: "differences", "modes" (where a step
    crosses a jump), or "refused"."""
    program = in_double(program)
    if program.language == "numba":
        (folder / f"random_{program.seed}.py").write_text(program.source)
    kernels, host = running.kernels_of(program, folder), running.host_of(program)
    raised, native = (SimpleNamespace(**{n: reactant.kernel(kernels[n], lower=lower) for n in program.kernels})
                      for lower in ("tensor", "native"))
    rng = np.random.default_rng(program.seed)
    start = program.arrays()
    real = [i for i, a in enumerate(start) if a.dtype.kind == "f"]
    for i in real:              # away from the corners of comparisons and extremes
        start[i] = (start[i] + 0.03 * rng.standard_normal(start[i].shape)).astype(start[i].dtype)
    weights = {i: rng.standard_normal(start[i].shape) for i in real}
    directions = {i: rng.standard_normal(start[i].shape).astype(start[i].dtype) for i in real}

    def loss(*arrays):
        host(raised, *arrays)
        total = 0.0
        for i in real:
            total = total + np.sum(arrays[i] * weights[i])
        return total

    def at(step):
        arrays = [a + step * directions[i] if i in directions else a.copy() for i, a in enumerate(start)]
        arrays = [a.astype(b.dtype) for a, b in zip(arrays, start, strict=True)]
        host(native, *arrays)
        return sum(float(np.sum(arrays[i] * weights[i])) for i in real)

    def fresh():
        return [a.copy() for a in start]
    compiled = reactant.jit(loss, frontend="numpy")
    try:
        gradients = reactant.grad(compiled, argnums=tuple(real))(*fresh())
    except reactant.UnsupportedError as error:
        if running.PARTIAL_WARPS in str(error):
            return "refused"
        raise
    tangents = tuple(directions[i] for i in real)

    def of_floats(*floats):
        arrays = fresh()
        for i, a in zip(real, floats, strict=True):
            arrays[i] = a.copy()
        return compiled(*arrays)
    value, forward = reactant.jvp(of_floats, tuple(start[i].copy() for i in real), tangents)
    terms = [np.asarray(g, float) * directions[i] for g, i in zip(gradients, real, strict=True)]
    backward, size = sum(float(t.sum()) for t in terms), sum(float(np.abs(t).sum()) for t in terms) + 1e-3
    label = f"{program.language} {program.seed}"
    assert abs(backward - float(forward)) <= 1e-4 * size, f"{label}: backward {backward}, forward {float(forward)}"
    assert abs(float(value) - at(0.0)) <= 1e-8 * (1 + abs(float(value))), label
    fine, coarse = ((at(h) - at(-h)) / (2 * h) for h in (1e-7, 1e-6))
    if abs(fine - coarse) > 1e-5 * size:
        return "modes"
    assert abs(backward - fine) <= 1e-4 * size, f"{label}: gradient {backward}, differences {fine}"
    return "differences"


@pytest.mark.parametrize("language", ["numba", "cuda"])
def test_random_programs(language, tmp_path):
    found = [check(random_program(seed, language), tmp_path) for seed in range(few(1, 2))]
    assert "refused" not in found


@pytest.mark.slow
@pytest.mark.parametrize("language", ["numba", "cuda"])
@pytest.mark.parametrize("part", range(15))
def test_many_random_programs(language, part, tmp_path):
    found = [check(random_program(seed, language), tmp_path) for seed in range(5000 + 10 * part, 5010 + 10 * part)]
    assert found.count("refused") <= 5 and found.count("differences") >= 2, found
