"""Clean-up between the steps: MLIR's own passes, and what they leave to us."""
from __future__ import annotations

from jaxlib.mlir import ir, passmanager

from reactant.ir.context import building
from reactant.kernels.form.build import Builder

CONTROL_FLOW_GRAPH = "builtin.module(canonicalize,cse,sccp,canonicalize,func.func(sroa,mem2reg),canonicalize,cse)"
STRUCTURED = "builtin.module(canonicalize,cse,canonicalize,loop-invariant-code-motion,cse,canonicalize,symbol-dce)"
"""MLIR passes. Not `control-flow-sink`: a shuffle is pure to MLIR, but belongs where all lanes meet."""


def run_passes(module: ir.Module, pipeline: str) -> ir.Module:
    """Run MLIR passes on a module."""
    with building():
        passmanager.PassManager.parse(pipeline).run(module.operation)
    return module


def tidy_graph(module: ir.Module) -> ir.Module:
    """Clean up a function of blocks and branches."""
    return run_passes(module, CONTROL_FLOW_GRAPH)


def tidy_open(module: ir.Module) -> ir.Module:
    """Clean up a structured function in which values may still be poison."""
    return run_passes(module, STRUCTURED)


def tidy(module: ir.Module) -> ir.Module:
    """Clean up a structured function; poison that is left becomes zero."""
    run_passes(module, STRUCTURED)
    with building():
        if settle(module):
            run_passes(module, STRUCTURED)
    return module


def settle(module: ir.Module) -> bool:
    """Replace ub.poison by zero; whether there was any."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "ub.poison":
            found.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    builder = Builder()
    for op in found:
        with ir.InsertionPoint(op), op.location:
            zero = builder.zero(op.results[0].type)
        op.results[0].replace_all_uses_with(zero)
        op.erase()
    return bool(found)
