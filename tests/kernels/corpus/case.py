"""What a kernel of the corpus is: the same kernels in Numba and in CUDA C++, launches, and what must come out."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

import reactant


@dataclass
class Case:
    """A small program of launches.

    numba: kernels by name. cuda: a source with `extern "C"` kernels of the same names and the same parameters.
    make: the arguments, new each time. host: launches kernels (attributes of its first argument) on the others.
    reference: changes NumPy arrays as the program must. native: kernels that are no tensor programs, and why.
    """

    name: str
    numba: dict[str, Any]
    cuda: str
    make: Callable[[np.random.Generator], tuple]
    host: Callable[..., Any]
    reference: Callable[..., Any]
    rtol: float = 1e-10
    native: dict[str, str] = field(default_factory=dict)

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(self.numba)

    @cached_property
    def module(self) -> Any:
        """The CUDA C++ kernels."""
        return reactant.cuda.load(self.cuda)

    def launchables(self, frontend: str, lower: str) -> SimpleNamespace:
        """The kernels of one way in; those that are no tensor programs are native in any case."""
        def one(name: str) -> Any:
            path = "native" if lower == "tensor" and name in self.native else lower
            return reactant.kernel(self.numba[name] if frontend == "numba" else self.module[name], lower=path)
        return SimpleNamespace(**{name: one(name) for name in self.kernels})

    def program(self, frontend: str, lower: str) -> Any:
        """The launches as one compiled function."""
        kernels = self.launchables(frontend, lower)

        def program(*arguments: Any) -> Any:
            return self.host(kernels, *arguments)
        program.__name__ = self.name
        return reactant.jit(program, frontend="numpy")

    def check(self, frontend: str, lower: str) -> None:
        """Run, and compare every array with the reference's."""
        got, expected = self.make(np.random.default_rng(7)), self.make(np.random.default_rng(7))
        self.program(frontend, lower)(*got)
        self.reference(*expected)
        for number, (a, b) in enumerate(zip(got, expected, strict=True)):
            if isinstance(a, np.ndarray):
                scale = np.abs(b).max(initial=0) if b.dtype.kind == "f" else 0
                np.testing.assert_allclose(a, b, rtol=self.rtol, atol=self.rtol * scale, err_msg=f"array {number}")


def blocks(n: int, threads: int) -> int:
    """Blocks of `threads` that cover n."""
    return -(-n // threads)
