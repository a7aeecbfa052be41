"""Trials of a module: run it as it is and after passes, on the same arguments, and compare."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.types import dtype_of, shape_of
from reactant.options import CompileOptions
from reactant.rewrite import Report
from reactant.runtime.executable import Executable
from reactant.support.records import dataclass
from reactant.verification import reason


def random_arguments(module: ir.Module, seed: int = 0) -> list[np.ndarray]:
    """An array for each argument of @main."""
    source = np.random.default_rng(seed)
    with building():
        arguments = modules.function(module).regions[0].blocks[0].arguments
        return [random_array(shape_of(a), np.dtype(dtype_of(a)), source) for a in arguments]


def random_array(shape: tuple[int, ...], dtype: np.dtype, source: np.random.Generator) -> np.ndarray:
    """Standard normal numbers, integers from 0 to 9 (within the type's range), fair coins."""
    if dtype.kind == "b":
        return np.asarray(source.random(shape) < 0.5)
    if dtype.kind in "iu":
        return source.integers(0, min(10, np.iinfo(dtype).max), shape, dtype=dtype)
    if dtype.kind == "c":
        return np.asarray(source.standard_normal(shape) + 1j * source.standard_normal(shape)).astype(dtype)
    return np.asarray(source.standard_normal(shape)).astype(dtype)


@dataclass
class Trial:
    """A module, its arguments, what it gives unchanged, and how close is close enough."""

    module: ir.Module
    arguments: Sequence[Any]
    options: CompileOptions
    passes: Any
    rtol: float
    atol: float

    def __post_init__(self) -> None:
        self.expected = self.run(self.module)

    def run(self, module: ir.Module) -> list[np.ndarray]:
        """The results of a module. XLA options are the same for all, so that only our passes make a difference."""
        with building():
            executable = Executable(modules.clone(module), xla_options=dict(self.options.xla))
        return executable(self.arguments)

    def rewritten(self, limit: int | None = None, passes: Any = None) -> tuple[ir.Module, Report]:
        """A copy after the passes, with at most so many rewrites."""
        with building():
            work = modules.clone(self.module)
            report = Report(limit=limit)
            pipelines.run(work, self.passes if passes is None else passes, options=self.options, report=report)
        return work, report

    def difference(self, module: ir.Module) -> str:
        """What differs from the unchanged module's results, or nothing."""
        for number, (plain, other) in enumerate(zip(self.expected, self.run(module), strict=True)):
            found = reason(plain, other, self.rtol, self.atol)
            if found:
                return f"result {number}: {found}"
        return ""
