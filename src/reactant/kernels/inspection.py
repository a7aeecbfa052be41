"""Looking at a launch without running it: its record, and what it becomes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactant.frontends.trace import is_tracing, tracing
from reactant.ir.context import building
from reactant.kernels import dispatch, launch
from reactant.kernels.building import WayIn
from reactant.kernels.memory import Binding, bind
from reactant.kernels.record import KernelRecord


def record_of(way_in: WayIn, how: launch.Launch, arguments: tuple) -> KernelRecord:
    """The record of a launch with these arguments."""
    return _bound(way_in, arguments, lambda binding: launch.record_of(way_in, how, binding))


def lowering_of(way_in: WayIn, how: launch.Launch, arguments: tuple) -> dispatch.Lowering:
    """What a launch with these arguments becomes."""
    return _bound(way_in, arguments, lambda binding: launch.lowered(way_in, how, binding)[1])


def _bound(way_in: WayIn, arguments: tuple, look: Callable[[Binding], Any]) -> Any:
    if not is_tracing():
        with building(), tracing():
            return _bound(way_in, arguments, look)
    binding = bind(arguments, launch.parameter_names(way_in))
    launch.with_result(way_in, binding)
    return look(binding)
