"""The modules that derivatives are written into: begun, and finished without the barriers that said derivatives."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.differentiate import requests
from reactant.differentiate.recognised import determinants, factors, roots, signs, smooth, spectral
from reactant.differentiate.recognised.prepare import SOLUTION
from reactant.ir import modules, ops


def new_function(types: Sequence[ir.Type]) -> tuple[ir.Module, ir.Block]:
    """A module with an unfinished `main` over arguments of `types`."""
    made = ir.Module.create()
    with ir.InsertionPoint(made.body):
        signature = ir.TypeAttr.get(ir.FunctionType.get(list(types), []))
        function = ir.Operation.create("func.func", regions=1, attributes={
            "sym_name": ir.StringAttr.get("main"), "sym_visibility": ir.StringAttr.get("public"),
            "function_type": signature})
    return made, function.regions[0].blocks.append(*types)


MARKED = (smooth.LOG_OF_SUM, smooth.SINC, signs.SAME, signs.PRODUCT, signs.HYPOT, determinants.DETERMINANT,
          factors.ORTHOGONAL, spectral.FUNCTION, roots.EVEN_FUNCTION, roots.SQUARE_OF_ANGLE, SOLUTION)
"""Barriers that say a derivative, and are nothing once that is taken."""


def finish(made: ir.Module, results: Sequence[ir.Value], source: ir.Module | None = None) -> None:
    """Return `results` from `main`, at the current insertion point. `source` has the functions that marks name."""
    ops.create("func.return", [], list(results))
    types = [r.type for r in results]                   # marked values are gone below
    smooth.unmark(made, *MARKED)
    factors.share_vectors(made)
    if source is not None and requests.names_functions(made):
        requests.adopt_functions(source, made.operation)
        modules.run_passes(made, "symbol-dce")
    function = modules.function(made)
    inputs = [a.type for a in function.regions[0].blocks[0].arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, types))
    modules.verify(made)
