"""Estimated flops and bytes of a module by the user's line."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.ir.cost import Cost, of_operation
from reactant.ir.induction import trips
from reactant.ir.traffic import BRANCHES
from reactant.rewrite.report import source_line


def line_costs(module: ir.Module) -> dict[str, Cost]:
    """What `ir.cost` estimates of one run, by line: loops count with their trip count where it is known (else once),
    conditionals with their dearest branch, calls with their callee, functions that are not called (whose derivative is
    asked for) once."""
    found: dict[str, Cost] = {}
    functions = modules.functions(module)
    _add(functions["main"].regions[0], 1.0, functions, found)
    called = {op.attributes["callee"].value for op in modules.walk(module) if op.name == "func.call"}
    for name, function in functions.items():
        if name != "main" and name not in called:
            _add(function.regions[0], 1.0, functions, found)
    return found


def _add(region: ir.Region, times: float, functions: dict[str, ir.Operation], found: dict[str, Cost]) -> None:
    for block in region.blocks:
        for each in block.operations:
            op = each.operation
            if op.name == "stablehlo.while":
                count = trips(op)
                inner = times * (count.most if count is not None and count.exact else 1)
                for part in op.regions:
                    _add(part, inner, functions, found)
            elif op.name == "sdy.manual_computation":
                _add(op.regions[0], times, functions, found)
            elif op.name in BRANCHES:
                branches: list[dict[str, Cost]] = [{} for _ in op.regions]
                for part, branch in zip(op.regions, branches, strict=True):
                    _add(part, times, functions, branch)
                dearest = max(branches, key=lambda branch: sum(c.flops + c.bytes for c in branch.values()))
                for line, cost in dearest.items():
                    found[line] = found.get(line, Cost()) + cost
            elif op.name == "func.call" and (callee := functions.get(op.attributes["callee"].value)) is not None:
                _add(callee.regions[0], times, functions, found)
            else:
                line = source_line(op.location)
                found[line] = found.get(line, Cost()) + of_operation(op, functions).times(times)
