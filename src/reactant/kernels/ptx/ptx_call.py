"""Launches of PTX kernels in XLA programs, and their stand-ins where such a program runs on a CPU after all.

XLA has a custom call for it, `__gpu$xla.gpu.ptx`: it loads the text, and launches the kernel on the program's stream
with the addresses of operands and results (in jax 0.10 to 0.12 at least; XLA does not promise to keep it).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.kernels.ptx.ptx import PtxKernel

TARGET = "__gpu$xla.gpu.ptx"
ON_CPU: dict[str, Callable[[list[ir.Value]], list[ir.Value]]] = {}
"""Name of a kernel -> the same launch for a CPU: results from operands."""


def emit(kernel: PtxKernel, values: Sequence[ir.Value]) -> list[ir.Value]:
    """The launch: `values` are those of the record's parameters, in order; the new contents of its written buffers."""
    written = kernel.results
    if not written:
        return []
    types = [values[i].type for i in written]
    sizes = {f"{what}_{axis}": attr.integer(n, 32) for what, all_ in (("grid", kernel.record.grid),
                                                                      ("block", kernel.record.block))
             for axis, n in zip("xyz", all_, strict=True)}
    configuration = {"name": attr.string(kernel.name), "kernel_type": attr.string("ptx"),
                     "kernel_data": attr.string(kernel.text), **sizes,
                     "shared_mem_bytes": attr.integer(kernel.dynamic_shared, 32)}
    return ops.custom_call(TARGET, values, types, attributes={
        "api_version": attr.integer(4, 32), "backend_config": ir.DictAttr.get(configuration),
        "operand_layouts": attr.row_major([v.type for v in values]), "result_layouts": attr.row_major(types),
        "output_operand_aliases": attr.aliases(len(written), dict(enumerate(written)))})


def name_of(op: ir.Operation) -> str | None:
    """The kernel that an op launches as PTX, None for any other op."""
    if op.name != "stablehlo.custom_call" or attr.decode(op.attributes["call_target_name"]) != TARGET:
        return None
    name: str = attr.decode(ir.DictAttr(op.attributes["backend_config"])["name"])
    return name


def for_cpu(module: ir.Module) -> ir.Module | None:
    """A copy in which launches are native code, for a program that was made for a GPU and runs on a CPU; None where
    there is no launch in it. Raises what keeps a kernel from being native code."""
    if not any(name_of(op) for op in modules.walk(module)):
        return None
    copy = modules.clone(module)
    for op in list(modules.walk(copy)):
        if (name := name_of(op)) is not None:
            with op.location, ir.InsertionPoint(op):
                for old, new in zip(op.results, ON_CPU[name](list(op.operands)), strict=True):
                    old.replace_all_uses_with(new)
            op.erase()
    return copy
