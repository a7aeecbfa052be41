"""Programs that JAX makes of compiled functions, derivatives and batches: simplified, and with native code."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant import loopnests, pipelines
from reactant.ir import modules
from reactant.legalize import pairwise_sums, special_functions
from reactant.loopnests.calls import product_calls
from reactant.options import CompileOptions
from reactant.rewrite import Report
from reactant.runtime.program import Body, body_of
from reactant.simplify.target import target


def for_native(kept: bytes, report: Report, options: CompileOptions, as_jax: bool = False) -> ir.Module:
    """The module that passes kept (`Report.kept`), as what makes native code wants it."""
    source = modules.parse(kept)
    if not as_jax:
        source = pairwise_sums.kept(special_functions.written_out(source), flattened=False)
    with target.for_loops():
        pipelines.run(source, "native", options=options, settled=report.settled)
    return source


def frozen(module: ir.Module, name: str, weak: Sequence[int] = ()) -> Body:
    """The body of a module that has seen no passes, for programs of JAX's."""
    options = CompileOptions()
    report = pipelines.run(module, "default", options=options)
    if report.kept is None:
        return body_of(module, name, weak)
    found = loopnests.native_form(for_native(report.kept, report, options), options.native, handed_over=True,
                                  seconds=options.native_seconds)
    if found is not None:
        pipelines.run(found.module, "target", options=options)
    made = None if found is None else found.module
    called, _ = product_calls.with_calls(module if made is None else made, own=made is not None, lent=False)
    return body_of(module, name, weak, called or made, report.kept)


def source_of(body: Body) -> ir.Module:
    """The module to transform: with what it says about its derivative, without forms that suit a target."""
    return modules.parse(body.source or body.general or body.bytecode)
