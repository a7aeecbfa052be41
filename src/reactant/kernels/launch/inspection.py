"""Looking at a launch without running it: its record, and what it becomes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.frontends.arrays.tensor import PYTHON, SCALAR, Tensor
from reactant.frontends.session.trace import Trace, is_tracing, tracing
from reactant.ir.context import building
from reactant.kernels.form.record import KernelRecord
from reactant.kernels.launch import dispatch, launch
from reactant.kernels.launch.building import WayIn
from reactant.kernels.launch.changing import told
from reactant.kernels.launch.described import Described
from reactant.kernels.launch.memory import Binding, StructChanged
from reactant.options import CompileOptions


def record_of(way_in: WayIn, how: launch.Launch, arguments: tuple) -> KernelRecord:
    """The record of a launch with these arguments."""
    return _bound(way_in, how, arguments, lambda binding: launch.record_of(way_in, how, binding))


def lowering_of(way_in: WayIn, how: launch.Launch, arguments: tuple, target: str | None = None) -> dispatch.Lowering:
    """What a launch with these arguments becomes, for a target of `CompileOptions`."""
    return _bound(way_in, how, arguments, lambda binding: launch.lowered(way_in, how, binding)[1], target)


def explained(way_in: WayIn, how: launch.Launch, arguments: tuple) -> str:
    """What a launch with these arguments becomes and why, and what became of integers that changed."""
    return "\n".join([lowering_of(way_in, how, arguments).explained(), *(f"  {line}" for line in told(way_in))])


def _bound(way_in: WayIn, how: launch.Launch, arguments: tuple, look: Callable[[Binding], Any],
           target: str | None = None, changed: frozenset[int] = frozenset()) -> Any:
    if not is_tracing():
        try:
            with building(), tracing(CompileOptions(target=target)) as session:
                return _bound(way_in, how, _traced(session, arguments, changed, way_in), look)
        except StructChanged as found:
            return _bound(way_in, how, arguments, look, target, changed | found.places)
    binding = launch.bound(way_in, how, arguments)
    launch.with_result(way_in, binding)
    return look(binding)


def _traced(session: Trace, arguments: tuple, changed: frozenset[int], way_in: WayIn) -> tuple:
    """The arguments as a compiled launch has them: memories and floating-point numbers are run-time values."""
    described = Described(arguments, changed, way_in.pointer_tables)
    roots = tuple(Tensor.of_value(session.add_argument(tuple(r.shape), np.dtype(r.dtype))) for r in described.roots)
    numbers = tuple(Tensor.of_value(session.add_argument((), np.asarray(n).dtype), PYTHON if type(n) in (float, complex)
                                    else SCALAR) for n in described.numbers)
    return tuple(a.of(roots, numbers) for a in described.arguments)
