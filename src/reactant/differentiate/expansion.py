"""Expanding requests to differentiate: the derivative of its function in the place of each (`requests` has the ops).

Loads the rules: to be imported when something is differentiated.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.differentiate.modes import forward, reverse
from reactant.differentiate.modes.checkpoint import Policy
from reactant.differentiate.requests import (
    CHECKPOINT,
    CUSTOM,
    FORWARD,
    PRIMAL,
    REQUESTS,
    REVERSE,
    adopt_functions,
    apart,
    callee_of,
    in_all_directions,
    inline,
    module_of,
    present,
    replace_op,
    request_of,
    splice,
    target_of,
)
from reactant.ir import modules
from reactant.ir.context import building

Expansion = tuple[str, str, int, int]
"""What became of one request: the mode, the function, its operations and those of its derivative."""


def expand_innermost(module: ir.Module, expansions: list[Expansion] | None = None) -> bool:
    """Expand the requests whose functions have none themselves; whether there were any. Calls must be inlined.

    Raises `NotDifferentiable`.
    """
    if not present(module):
        return False
    with building():
        functions = {ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation for op in module.body
                     if op.operation.name == "func.func"}
        waiting = _with_requests(functions)
        ready: list[ir.Operation] = []
        primals: dict[int, ir.Operation] = {}
        for function in functions.values():
            for op in modules.walk(function):
                if target_of(op) in (FORWARD, REVERSE) and callee_of(op) not in waiting:
                    ready.append(op)
                elif target_of(op) == PRIMAL and callee_of(op) not in waiting:
                    primals[request_of(op).link] = op
        for op in ready:
            _expand(op, functions[callee_of(op)], primals, expansions)
        linked = {request_of(op).link for function in functions.values() for op in modules.walk(function)
                  if target_of(op) == REVERSE}
        for link, op in primals.items():
            if link not in linked:
                inline(op)
        modules.run_passes(module, "symbol-dce")
    return True


def _with_requests(functions: dict[str, ir.Operation]) -> set[str]:
    """Functions with a request in them or in what their marks name."""
    named: dict[str, set[str]] = {}
    found: set[str] = set()
    for name, function in functions.items():
        for op in modules.walk(function):
            if target_of(op) in REQUESTS:
                found.add(name)
            elif target_of(op) in (CHECKPOINT, CUSTOM):
                named.setdefault(name, set()).add(callee_of(op))
    while grown := {name for name, callees in named.items() if callees & found} - found:
        found |= grown
    return found


def _expand(op: ir.Operation, function: ir.Operation, primals: dict[int, ir.Operation],
            expansions: list[Expansion] | None) -> None:
    request = request_of(op)
    name = ir.StringAttr(function.attributes["sym_name"]).value
    source = apart(op, name)
    if request.mode == FORWARD:
        made = forward.jvp(source, request.arguments, request.results, name=name)
    else:
        made = reverse.vjp(source, request.arguments, request.results, ones=request.ones, name=name,
                           policy=Policy.parse(request.loops))
    if request.count:
        made = in_all_directions(made, function, request.count)
    if expansions is not None:
        expansions.append((request.mode.removeprefix("reactant."), name, modules.size(function),
                           modules.size(modules.function(made))))
    adopt_functions(made, module_of(op))
    body = modules.function(made).regions[0].blocks[0]
    primal = primals.get(request.link)
    if primal is not None and _in_sight(primal, op):
        del primals[request.link]
        _splice_linked(op, body, primal)
    else:
        replace_op(op, splice(body, list(op.operands), op))


def _in_sight(primal: ir.Operation, op: ir.Operation) -> bool:
    """Whether what is computed at `primal` can be used at `op`, which asks for the same arguments."""
    if list(op.operands)[:len(primal.operands)] != list(primal.operands):
        return False
    inside = op
    while inside.name != "func.func":
        if inside.block == primal.block:
            return True
        inside = inside.parent.operation
    return False


def _splice_linked(op: ir.Operation, block: ir.Block, primal: ir.Operation) -> None:
    """What does not depend on the cotangents is computed where the results were asked for, the rest at the request."""
    count = len(primal.operands)
    late = set(list(block.arguments)[count:])
    mapping = dict(zip(block.arguments, [*primal.operands, *list(op.operands)[count:]], strict=True))
    *body, terminator = [each.operation for each in block.operations]
    delayed = []
    with ir.InsertionPoint(primal):
        for each in body:
            read = list(each.operands) + [v for child in modules.walk(each) for v in child.operands]
            if any(v in late for v in read):
                late.update(each.results)
                delayed.append(each)
            else:
                modules.clone_with(each, mapping)
    with ir.InsertionPoint(op):
        for each in delayed:
            modules.clone_with(each, mapping)
    results = [mapping[v] for v in terminator.operands]
    given = len(primal.results)
    replace_op(op, results)
    replace_op(primal, results[:given])
