"""From a kernel's record to the structured form, step by step."""
from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.record import KernelRecord
from reactant.kernels.stages.cas_loops import find_swap_loops
from reactant.kernels.stages.counted import count_loops
from reactant.kernels.stages.exits import leave_at_the_end
from reactant.kernels.stages.guards import normalise_guards
from reactant.kernels.stages.indices import require_in_bounds
from reactant.kernels.stages.ingest import ingest
from reactant.kernels.stages.odd_widths import widen_odd
from reactant.kernels.stages.pointers import resolve_pointers
from reactant.kernels.stages.select_stores import choose_stores, join_guards
from reactant.kernels.stages.shuffles import join_shuffles
from reactant.kernels.stages.structured import structure
from reactant.kernels.stages.tidy import tidy, tidy_graph, tidy_open
from reactant.kernels.stages.wide_integers import split_wide


def _pointers(module: ir.Module) -> ir.Module:
    return tidy_graph(resolve_pointers(join_shuffles(widen_odd(module))))


def _structured(module: ir.Module) -> ir.Module:
    return tidy(find_swap_loops(tidy_open(split_wide(structure(module)))))


def _counted(module: ir.Module) -> ir.Module:
    return tidy(choose_stores(tidy(join_guards(normalise_guards(tidy(count_loops(leave_at_the_end(module))))))))


STAGES: dict[str, Callable] = {
    "ingest": ingest,
    "pointers": _pointers,
    "structured": _structured,
    "counted": _counted,
}
"""Name -> step, in order. The first takes a record, the others the module of the step before, which they change."""


def run_stages(record: KernelRecord, last: str = "counted") -> ir.Module:
    """The kernel as it is after the stage `last`; after all of them it is of the structured form (`form`).

    Errors: UnsupportedError names the kernel's line; OutOfBounds for accesses that the launch certainly makes outside
    its arrays.
    """
    with building():
        module: ir.Module | None = None
        for name, step in STAGES.items():
            module = step(record) if module is None else step(module)
            if name == last:
                break
        assert module is not None
        if last == "counted":
            require_in_bounds(module, record.name)
    return module
