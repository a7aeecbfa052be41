"""How kernels are launched: one thread for each cell, column or point of the surface, and three ways to run them."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

HALO = 4
"""Ghost cells on each side of the two horizontal dimensions."""

THREADS = {3: (32, 4, 1), 2: (32, 4)}

_way: Callable[[Any], Any] | None = None


def launch(kernel: Any, extent: tuple[int, ...], *arguments: Any) -> None:
    """Launch `kernel` with at least extent[::-1] threads: x is the last dimension of arrays, and the fastest."""
    threads = THREADS[len(extent)]
    blocks = tuple(-(-size // block) for size, block in zip(extent[::-1], threads, strict=True))
    launched = kernel if _way is None else _way(kernel)
    launched[blocks, threads](*arguments)


@contextlib.contextmanager
def launched_by(way: Callable[[Any], Any] | None) -> Iterator[None]:
    """Within this context every launch is of `way(kernel)`: how a program runs kernel by kernel without a GPU.

    >>> with launched_by(one_by_one):
    ...     model.step()
    """
    global _way
    before, _way = _way, way
    try:
        yield
    finally:
        _way = before


_native: dict[Any, Any] = {}


def one_by_one(kernel: Any) -> Any:
    """The kernel compiled for itself as native code of the CPU, threads and all."""
    import reactant

    if kernel not in _native:
        _native[kernel] = reactant.kernel(kernel, lower="native")
    return _native[kernel]
