"""Programs of CUDA C++ (`sources/NAME.cu`) whose size is a number: small for the tests, large for timings.

What they must compute is said by their C++ run thread by thread (`fuzz/emulated_cuda.h`; signatures on one line).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Program:
    """make: (random numbers, size) -> arrays. host: (kernels, size, *arrays) launches."""

    name: str
    source: str
    make: Callable[[np.random.Generator, int], tuple]
    host: Callable[..., Any]
    small: int
    large: int
    rtol: float = 1e-9


PROGRAMS: dict[str, Program] = {}


def program(make: Callable, small: int, large: int, rtol: float = 1e-9) -> Any:
    """Decorator of the host function, which has the name of the source."""
    def add(host: Callable) -> Callable:
        name = host.__name__
        source = (Path(__file__).parent / "sources" / f"{name}.cu").read_text()
        PROGRAMS[name] = Program(name, source, make, host, small, large, rtol)
        return host
    return add


def up(n: int, threads: int) -> int:
    """Blocks of `threads` that cover n."""
    return -(-n // threads)
