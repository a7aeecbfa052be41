"""A NumPy function on its way to XLA: traced, and its module through our passes."""
from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from reactant import kernels, pipelines
from reactant.calling import captured_state
from reactant.calling import signature as sig
from reactant.calling.compiled import Times
from reactant.calling.left_range import asked, tell
from reactant.calling.lowered import Lowered, pipeline_of
from reactant.calling.placing import labels_of, passes_of, placement_of
from reactant.calling.shardings import Told
from reactant.calling.tracing import trace
from reactant.errors import ReactantError
from reactant.frontends import install
from reactant.frontends.session import calls, jax_calls
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source import source_map
from reactant.ir import modules
from reactant.ir.context import building
from reactant.options import CompileOptions
from reactant.rewrite import Report
from reactant.support import progress


def lower(function: Callable, positional: tuple, keyword: tuple, options: CompileOptions,
          keep_original: bool = False, told: Told | None = None) -> Lowered:
    """Trace `function` for signature nodes and run our passes. told: how arguments and results lie on a mesh."""
    times = Times()
    kernels.install()
    with building():
        start = time.perf_counter()
        name = getattr(function, "__name__", "main")
        try:
            with progress.step(f"tracing {name!r}"):
                traced = trace(functools.partial(_entered, function), positional, keyword, options)
        except Exception as error:
            source_map.annotate(error)
            if source_map.too_deep(error):
                raise source_map.endless(error) from None
            raise
        times.trace = time.perf_counter() - start
        original = modules.bytecode(traced.module) if keep_original else None
        placement = placement_of(name, positional, keyword, traced, options.mesh, told, options.shard == "strict")
        start = time.perf_counter()
        with progress.step(f"simplifying the program of {name!r}"):
            report = Report(leaving=asked(options, traced, placement))
            pipelines.run(traced.module, pipeline_of(options), options=passes_of(options, placement), report=report)
        times.passes = time.perf_counter() - start
        tell(traced, report.leaving)
    lowered = Lowered(name, traced, original, report, times, options,
                      on_device=sig.has_device_array((positional, keyword)))
    lowered.placement = placement
    if options.shard == "auto":
        lowered.choose(labels_of(positional, keyword, told), traced.written)
    if lowered.placement is not None or options.mesh is not None:
        lowered.ours, lowered.on_device = not lowered.on_device, True
    return lowered


def _entered(function: Callable, /, *args: Any, **kwargs: Any) -> Any:
    outside = captured_state.State(function)
    current_trace().outer_iterators = outside.iterators(*args, *kwargs.values())
    try:
        result = calls.enter(function, *args, **kwargs)
    except ReactantError:
        outside.check()     # and put back: it may be traced again
        raise
    outside.check()
    return result


jax_calls.prepare_with(pipelines.prepare)
install.install()
