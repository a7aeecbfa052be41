"""Kernels called from plain Python: `reactant.kernel`, and the ways in that load files.

A launch outside compiled functions is a compiled function of its own: its arguments are the memories behind the arrays
(so that views of one array stay views of one memory) and the numbers that only the call knows.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from reactant import kernel_tuning
from reactant.api import jit
from reactant.calling.jitted import Jitted
from reactant.errors import ReactantError, in_one_line
from reactant.kernels.form.interpret import OutOfBounds
from reactant.kernels.launch import dispatch, inspection, launch
from reactant.kernels.launch.building import WayIn
from reactant.kernels.launch.changing import CHANGING, Changing
from reactant.kernels.launch.described import Described
from reactant.kernels.launch.launch import Launch
from reactant.kernels.launch.launchable import Launchable, outside_functions
from reactant.kernels.launch.memory import StructChanged
from reactant.kernels.ways_in import c, cuda, llvm, numba_cuda


def kernel(k: Any, *, lower: str = "auto", check: bool = False, tune: bool = False) -> Launchable:
    """A kernel to launch on arrays: `reactant.kernel(k)[grid, block](*arrays)`, in place.

    Each launch is compiled, as a tensor program or as native code. Integers among the arguments are constants of the
    launch; where one has a third value in launches that are equal otherwise, it is a run-time value from then on (on a
    CPU). Floats are run-time values.

    Args:
        k: a `numba.cuda.jit` kernel, or one loaded by `reactant.cuda.load`, `reactant.c.load` or `reactant.llvm.load`.
        lower: "tensor" (raise to a tensor program, or say why not), "native" (compile for the CPU; on a GPU of NVIDIA's
            the kernel itself), "auto" (the better).
        check: report accesses outside arrays, failing assertions and exceptions, with the kernel's line, where
            behaviour would be undefined else.
        tune: measure the first launch with arguments of some types and sizes in several ways, on copies of them: as a
            tensor program and as native code, by threads that do the work of several threads or blocks. The fastest
            with the same results is taken, and remembered in the compile cache. Inside compiled functions launches are
            what they are without it.

    Returns:
        An object to index with a grid and a block (ints, or tuples of up to three), and to call with NumPy or device
        arrays and numbers; what the kernel writes is written into them.

    Raises:
        TypeError: for anything that is no kernel.
        ValueError: for `tune` with what leaves nothing to choose.
        LaunchError: at the launch, for grids and blocks that no GPU takes.
        KernelArgumentError: at the launch, for arguments that do not fit.
        UnsupportedError: at the launch, for what cannot be compiled.

    Example:
        >>> from numba import cuda
        >>> @cuda.jit
        ... def scale(x, factor):
        ...     i = cuda.grid(1)
        ...     if i < x.size:
        ...         x[i] *= factor
        >>> x = np.arange(5.0)
        >>> reactant.kernel(scale)[1, 32](x, 2.0)
        >>> x
        array([0., 2., 4., 6., 8.])
    """
    if isinstance(k, Launchable):
        return Launchable(k.way_in, lower, check, tune)
    if numba_cuda.is_dispatcher(k):
        return Launchable(numba_cuda.kernel_of(k), lower, check, tune)
    raise TypeError(f"reactant.kernel takes a numba.cuda kernel or one that was loaded, not {type(k).__name__}.")


# ---- one launch as a compiled function -------------------------------------------------------------------------

_compiled: dict[tuple, Jitted] = {}
_chosen: dict[tuple, Launch] = {}
"""How tuned launches are run."""
_changed: dict[tuple, frozenset[int]] = {}
"""The structs that launches write into, as far as that is known, by the types of the arguments."""


@outside_functions
def run(way_in: WayIn, how: Launch, arguments: tuple) -> Any:
    """Launch a kernel on arrays, now."""
    kinds = (way_in, how, tuple((type(a), getattr(a, "dtype", None), getattr(a, "ndim", None)) for a in arguments))
    while True:
        changed = _changed.get(kinds, frozenset())
        try:
            described = Described(arguments, changed, way_in.pointer_tables)
            result = _tuned(way_in, how, described, arguments) if how.tune else _run(way_in, how, described)
            described.give_back(way_in.name)
            return result
        except StructChanged as found:
            _changed[kinds] = changed | found.places


def _tuned(way_in: WayIn, how: Launch, described: Described, arguments: tuple) -> Any:
    """A launch in the way that is the fastest for such arguments."""
    if described.is_spread():
        return _run(way_in, dataclasses.replace(how, tune=False), described)
    key = (way_in, how, described.arguments, _types(described))
    numbers = tuple(described.numbers)

    def run(other: Launch, roots: tuple) -> Any:
        return _compiled_for(way_in, other, described)(roots, numbers)
    if key not in _chosen:
        record = inspection.record_of(way_in, dataclasses.replace(how, tune=False), arguments)
        _chosen[key] = kernel_tuning.chosen(how, record, described.roots, run)
    return run(_chosen[key], tuple(described.roots))


def _run(way_in: WayIn, how: Launch, described: Described) -> Any:
    integers = described.integers(way_in.takes_integer)
    if not integers or how.check or how.lower == "tensor" or dispatch.place_of() != "cpu" or described.is_spread():
        return _compiled_for(way_in, how, described)(tuple(described.roots), tuple(described.numbers))
    changing = CHANGING.setdefault((way_in, how, described.without(integers), _types(described)), Changing())
    places = changing.at_run_time(integers)
    if places:
        known = described.arguments, list(described.numbers)
        described.at_run_time(places)
        try:
            jitted = _compiled_for(way_in, dataclasses.replace(how, guarded=True), described)
            return jitted(tuple(described.roots), tuple(described.numbers))
        except OutOfBounds:
            pass                        # says what is wrong with these integers, where that can be told before it runs
        except (ReactantError, RuntimeError) as error:
            changing.refused = in_one_line(error)
        described.arguments, described.numbers = known
    return _compiled_for(way_in, how, described)(tuple(described.roots), tuple(described.numbers))


def _types(described: Described) -> tuple:
    return tuple((type(r), tuple(r.shape), r.dtype) for r in described.roots), tuple(map(type, described.numbers))


def _compiled_for(way_in: WayIn, how: Launch, described: Described) -> Jitted:
    key = (way_in, how, described.arguments, _types(described))
    jitted = _compiled.get(key)
    if jitted is None:
        jitted = _compiled.setdefault(key, jit(_program(way_in, how, described.arguments), frontend="numpy"))
    return jitted


def _program(way_in: WayIn, how: Launch, arguments: tuple) -> Callable:
    def program(roots: tuple, numbers: tuple) -> Any:
        return launch.launch_in_trace(way_in, how, [a.of(roots, numbers) for a in arguments], alone=True)
    program.__name__ = way_in.name
    return program


__all__ = ["c", "cuda", "kernel", "llvm"]
