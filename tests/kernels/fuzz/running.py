"""Run random programs raised, native and by the oracle, and compare."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import reactant
from tests.kernels.fuzz import oracles
from tests.kernels.fuzz.programs import Program, random_program

WAYS = ("together", "tensor", "native")
"""The whole program raised in one compiled function; each launch alone, raised; each alone, native."""
PARTIAL_WARPS = "do not divide into warps"
"""Why a program may be no tensor program."""


def host_of(program: Program) -> Any:
    scope: dict[str, Any] = {}
    exec(program.host, scope)       # noqa: S102 (written by our own generator)
    return scope["host"]


def run(program: Program, kernels: Any, way: str) -> list[np.ndarray]:
    """The arrays after the program."""
    lower = {"together": "tensor"}.get(way, way)
    launchables = SimpleNamespace(**{name: reactant.kernel(kernels[name], lower=lower) for name in program.kernels})
    host, arrays = host_of(program), program.arrays()
    if way != "together":
        host(launchables, *arrays)
        return arrays

    def whole(*given: Any) -> None:
        host(launchables, *given)
    reactant.jit(whole, frontend="numpy")(*arrays)
    return arrays


def expected_of(programs: list[Program], folder: Path) -> list[list[np.ndarray]]:
    """What the oracle of the programs' language says."""
    if programs[0].language == "numba":
        return oracles.simulated(programs, folder)
    kernels = oracles.emulated({f"p{p.seed}": p.source for p in programs}, folder)
    found = []
    for program in programs:
        arrays = program.arrays()
        host_of(program)(kernels[f"p{program.seed}"], *arrays)
        found.append(arrays)
    return found


def kernels_of(program: Program, folder: Path) -> dict[str, Any]:
    if program.language == "numba":
        return vars(oracles.numba_module(program, folder))
    module = reactant.cuda.load(program.source)
    return {name: module[name] for name in program.kernels}


def compare(programs: list[Program], folder: Path, ways: tuple[str, ...] = WAYS) -> None:
    """Raises `AssertionError` with the program where a way differs from the oracle."""
    for program, expected in zip(programs, expected_of(programs, folder), strict=True):
        kernels = kernels_of(program, folder)
        for way in ways:
            try:
                found = run(program, kernels, way)
            except reactant.UnsupportedError as error:
                if way != "native" and PARTIAL_WARPS in str(error):
                    continue
                raise
            for buffer, a, b in zip(program.buffers, found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"{program.language} {program.seed} {way}: {buffer.name}")


def programs(language: str, seeds: range) -> list[Program]:
    return [random_program(seed, language) for seed in seeds]
