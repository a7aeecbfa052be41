"""Requests to differentiate, as ops of the module, and the marks that say how.

    %y, %g = stablehlo.custom_call @reactant.reverse(%x) {called_computations = [@f], backend_config = {arguments, ...}}

A *request* names a private function of the module. `reactant.forward` takes its arguments and a tangent for each of
`arguments`, and gives its results and a tangent for each of `results`; `reactant.reverse` takes a cotangent for each of
`results` (none with `ones`) and gives a cotangent for each of `arguments`. So the function is simplified as any other
before `expansion` writes its derivative in the place of the request, and what came out is simplified again.

A *mark* stays until nothing is left to differentiate: `reactant.checkpoint` (values inside are computed again in the
reverse sweep), `reactant.custom_derivative` (the user's rule), `reactant.stop_gradient`. `strip` puts the plain
function in its place.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from jaxlib.mlir import ir

from reactant.batching.declare import repeated
from reactant.batching.engine import batched_module
from reactant.errors import NotDifferentiable, Span
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.locations import file_and_line
from reactant.ir.splice import copied
from reactant.ir.types import shape_and_dtype, tensor_type
from reactant.support.records import dataclass

FORWARD, REVERSE, PRIMAL = "reactant.forward", "reactant.reverse", "reactant.primal"
CHECKPOINT, CUSTOM, STOP = "reactant.checkpoint", "reactant.custom_derivative", "reactant.stop_gradient"
REQUESTS, MARKS = (FORWARD, REVERSE, PRIMAL), (CHECKPOINT, CUSTOM, STOP)
_names = itertools.count()


@dataclass(frozen=True)
class Request:
    """What to differentiate: `arguments` and `results` of the function by number."""

    mode: str
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    ones: bool = False
    loops: str = ""
    """How loops are kept for the reverse sweep; see `checkpoint.Policy`."""
    link: int = -1
    """The `reactant.primal` op that gave the results already, and whose values are used where it is in sight."""
    count: int = 0
    """How many directions at once, along a dimension in front of each tangent and cotangent; 0: one, without it."""


def target_of(op: ir.Operation) -> str:
    """The target of a custom call of ours, else ""."""
    target = ops.target_of(op)
    return target if target.startswith("reactant.") else ""


def callee_of(op: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(ir.ArrayAttr(op.attributes["called_computations"])[0]).value


def module_of(op: ir.Operation) -> ir.Operation:
    """The module op around an op."""
    found = op
    while found.name != "builtin.module":
        found = found.parent.operation
    return found


def function_named(op: ir.Operation, name: str) -> ir.Operation:
    """The function `name` of the module around `op`."""
    for each in module_of(op).regions[0].blocks[0]:
        if each.operation.name == "func.func" and ir.StringAttr(each.operation.attributes["sym_name"]).value == name:
            return each.operation
    raise KeyError(name)


# ---- making --------------------------------------------------------------------------------------------------------

def fresh(hint: str) -> str:
    """A name that no other function of ours has, in whatever module."""
    return f"{hint}_{next(_names)}"


def private_function(module: ir.Module | ir.Operation, inputs: Sequence[ir.Type],
                     body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]], hint: str) -> str:
    """A private function at the end of the module; gives its name."""
    name = fresh(hint)
    with ir.InsertionPoint(module.operation.regions[0].blocks[0]):
        function = ir.Operation.create("func.func", regions=1, attributes={
            "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(inputs), []))})
    block = function.regions[0].blocks.append(*inputs)
    with ir.InsertionPoint(block):
        results = list(body(list(block.arguments)))
        ops.create("func.return", [], results)
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(list(inputs), [r.type for r in results]))
    return name


def _emit(target: str, callee: str | None, operands: Sequence[ir.Value], results: Sequence[ir.Type],
          config: dict[str, ir.Attribute]) -> list[ir.Value]:
    return ops.custom_call(target, operands, results, attributes=attributes_of(callee, config))


def attributes_of(callee: str | None, config: dict[str, ir.Attribute]) -> dict[str, ir.Attribute]:
    """Those of a custom call that names a function; the call target apart."""
    attributes = {"api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
                  "backend_config": ir.DictAttr.get(config)}
    if callee is not None:
        attributes["called_computations"] = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(callee)])
    return attributes


def emit(request: Request, callee: str, operands: Sequence[ir.Value], extra: Sequence[ir.Value],
         results: Sequence[ir.Type]) -> list[ir.Value]:
    """The request op. `extra`: tangents or cotangents; `results`: the types of what the function gives."""
    given = [results[i] for i in request.results] if request.mode == FORWARD else \
        [operands[i].type for i in request.arguments] if request.mode == REVERSE else []
    if request.count:
        given = [tensor_type((request.count, *shape), dtype) for shape, dtype in map(shape_and_dtype, given)]
    integer = ir.IntegerType.get_signless(64)
    return _emit(request.mode, callee, [*operands, *extra], [*results, *given], {
        "arguments": ir.DenseI64ArrayAttr.get(list(request.arguments)),
        "results": ir.DenseI64ArrayAttr.get(list(request.results)), "ones": ir.BoolAttr.get(request.ones),
        "loops": ir.StringAttr.get(request.loops), "link": ir.IntegerAttr.get(integer, request.link),
        "count": ir.IntegerAttr.get(integer, request.count)})


def request_of(op: ir.Operation) -> Request:
    config = ir.DictAttr(op.attributes["backend_config"])
    return Request(target_of(op), tuple(ir.DenseI64ArrayAttr(config["arguments"])),
                   tuple(ir.DenseI64ArrayAttr(config["results"])), ir.BoolAttr(config["ones"]).value,
                   ir.StringAttr(config["loops"]).value, ir.IntegerAttr(config["link"]).value,
                   ir.IntegerAttr(config["count"]).value)


def checkpointed(callee: str, operands: Sequence[ir.Value], results: Sequence[ir.Type]) -> list[ir.Value]:
    """A call whose inside the reverse sweep computes again."""
    return _emit(CHECKPOINT, callee, operands, results, {})


def stop_gradient(value: ir.Value) -> ir.Value:
    """The value, as a constant to derivatives."""
    return _emit(STOP, None, [value], [value.type], {})[0]


@dataclass
class CustomRule:
    """The user's derivative of a function. Each maker gives a module whose `main` has the results only: `tangents` of
    (arguments..., tangents of all that have one...), `cotangents` of (arguments..., cotangents of all results that have
    one...)."""

    name: str
    tangents: Callable[[], ir.Module] | None = None
    cotangents: Callable[[], ir.Module] | None = None
    results: Callable[[], ir.Module] | None = None
    """The results from the arguments, where a derivative has been taken: a derivative of that derivative finds this in
    the place of the call. None: the call stays."""
    advice: str = "Give custom_derivative a jvp rule as well."
    """What to do where tangents are wanted and there is no rule for them."""
    of_varied: Callable[[frozenset[int]], CustomRule] | None = None
    """The rule for cotangents where these arguments vary and no others. None: it is the same."""

    number: int | None = None
    """Of it among `CUSTOM_RULES`."""

    def no_tangents(self, op: ir.Operation | None = None) -> NotDifferentiable:
        """The error where there is a rule for cotangents only, and an op asks for tangents."""
        return NotDifferentiable(
            f"'{self.name}' has a derivative rule for reverse mode only (vjp), and its tangents are wanted.",
            hint=self.advice, code="derivative-rule", span=None if op is None else Span.at(file_and_line(op.location)))

    def where(self, operands: Sequence[ir.Value], active: Collection[ir.Value]) -> CustomRule:
        """The rule for cotangents where those of the operands vary that are active."""
        if self.of_varied is None:
            return self
        return self.of_varied(frozenset(n for n, x in enumerate(operands) if x in active))


CUSTOM_RULES: dict[int, CustomRule] = {}
"""By the number that a `reactant.custom_derivative` op carries. A rule lives as long as programs that may need it."""


def custom(rule: CustomRule, callee: str, operands: Sequence[ir.Value], results: Sequence[ir.Type]) -> list[ir.Value]:
    """A call whose derivative is `rule`."""
    return ops.custom_call(CUSTOM, operands, results, attributes=custom_attributes(rule, callee))


def custom_attributes(rule: CustomRule, callee: str) -> dict[str, ir.Attribute]:
    """The attributes that make a custom call one of a function whose derivative is `rule`; the call target apart."""
    number = rule.number
    if number is None:
        number = rule.number = len(CUSTOM_RULES)
        CUSTOM_RULES[number] = rule
    return attributes_of(callee, {"rule": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)})


def rule_of_custom(op: ir.Operation) -> CustomRule:
    return CUSTOM_RULES[ir.IntegerAttr(ir.DictAttr(op.attributes["backend_config"])["rule"]).value]


# ---- looking and splicing -------------------------------------------------------------------------------------------

def present(module: ir.Module, targets: Iterable[str] = REQUESTS) -> bool:
    """Whether a module has custom calls of these targets."""
    wanted = set(targets)
    return any(target_of(op) in wanted for op in modules.ops_called("stablehlo.custom_call", module))


def names_functions(module: ir.Module) -> bool:
    """Whether a custom call in a module names functions: marks, requests, XLA's own with a comparator."""
    return any("called_computations" in op.attributes for op in modules.ops_called("stablehlo.custom_call", module))


def apart(op: ir.Operation, name: str) -> ir.Module:
    """A module of the function `name` of the module around `op`: of a program with many requests, each looks at its
    own."""
    made = ir.Module.create()
    others = [each.operation for each in module_of(op).regions[0].blocks[0] if each.operation.name != "func.func"]
    with ir.InsertionPoint(made.body):
        for each in [*others, *functions_behind(op, name)]:
            each.clone()
    return made


def in_all_directions(module: ir.Module, function: ir.Operation, count: int) -> ir.Module:
    """The derivative in `module` for many directions at once; what depends on none of them is computed once."""
    old = function.regions[0].blocks[0]
    inputs, results = len(old.arguments), len(list(old.operations)[-1].operation.operands)
    extra = len(modules.function(module).regions[0].blocks[0].arguments) - inputs
    found = batched_module(module, [None] * inputs + [0] * extra, count)
    main = modules.function(found.module)
    block = main.regions[0].blocks[0]
    terminator = list(block.operations)[-1].operation
    with ir.InsertionPoint(terminator):
        values = [v if number < results or there else repeated(v, count)
                  for number, (v, there) in enumerate(zip(terminator.operands, found.batched, strict=True))]
        ops.create("func.return", [], values)
    terminator.erase()
    main.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in values]))
    return found.module


def adopt_functions(source: ir.Module, into: ir.Operation) -> None:
    """Copy the private functions of `source` that `into` (a module op) does not have."""
    block = into.regions[0].blocks[0]
    present = {ir.StringAttr(op.operation.attributes["sym_name"]).value for op in block
               if op.operation.name == "func.func"}
    for each in source.body:
        if each.operation.name == "func.func" \
                and ir.StringAttr(each.operation.attributes["sym_name"]).value not in present | {"main"}:
            with ir.InsertionPoint(block):
                each.operation.clone()


def splice(block: ir.Block, values: Sequence[ir.Value], before: ir.Operation) -> list[ir.Value]:
    """A copy of a body, in front of an op."""
    with ir.InsertionPoint(before):
        return copied(block, values)


def spliced_here(module: ir.Module, values: Sequence[ir.Value]) -> list[ir.Value]:
    """The content of `main` at the insertion point, and the functions that marks in it name."""
    if names_functions(module):
        adopt_functions(module, module_of(ir.InsertionPoint.current.block.owner.operation))
    return copied(modules.function(module).regions[0].blocks[0], values)


def replace_op(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Put values in the place of an op's results."""
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def mark_taken(function: ir.Operation, active: set[ir.Value]) -> None:
    """Note at the calls with a rule that a derivative of their results is about to be taken."""
    for op in modules.walk(function):
        if target_of(op) == CUSTOM and any(r in active for r in op.results) and rule_of_custom(op).results is not None:
            op.attributes[_TAKEN] = ir.DenseI64ArrayAttr.get([n for n, x in enumerate(op.operands) if x in active])


def functions_behind(op: ir.Operation, name: str) -> Iterator[ir.Operation]:
    """The function `name` of the module around `op`, and the functions that it runs."""
    waiting, seen = [name], {name}
    while waiting:
        function = function_named(op, waiting.pop())
        yield function
        for each in modules.walk(function):
            called = each.attributes["called_computations"] if "called_computations" in each.attributes else \
                [each.attributes["callee"]] if "callee" in each.attributes else []
            found = {ir.FlatSymbolRefAttr(attribute).value for attribute in called} - seen
            seen |= found
            waiting += found


def reverse_only(op: ir.Operation, name: str) -> bool:
    """Whether what the function `name` of the module around `op` runs has a rule for cotangents alone."""
    return any(target_of(each) == CUSTOM and rule_of_custom(each).tangents is None
               for function in functions_behind(op, name) for each in modules.walk(function))


def replace_taken(module: ir.Module) -> None:
    """Put what their rules say of the results in the place of the calls noted by `mark_taken`."""
    for op in [op for op in modules.walk(module) if _TAKEN in op.attributes]:
        with op.location, ir.InsertionPoint(op):
            operands = list(op.operands)
            varied = {operands[n] for n in ir.DenseI64ArrayAttr(op.attributes[_TAKEN])}
            make = rule_of_custom(op).where(operands, varied).results
            assert make is not None
            replace_op(op, spliced_here(make(), operands))


_TAKEN = "reactant.taken"


def inline(op: ir.Operation) -> None:
    """Put the body of the function that an op names in its place."""
    replace_op(op, splice(function_named(op, callee_of(op)).regions[0].blocks[0], list(op.operands), op))


def strip(module: ir.Module) -> None:
    """Put the plain function in the place of each mark; what the module was stays on record where it matters."""
    if not present(module, MARKS):
        return
    with building():
        before = modules.bytecode(module)
        while marks := [op for op in modules.walk(module) if target_of(op) in MARKS]:
            for op in marks:
                if target_of(op) == STOP:
                    replace_op(op, list(op.operands))
                else:
                    inline(op)
        modules.run_passes(module, "symbol-dce")
        module.operation.attributes[modules.SOURCE] = ir.StringAttr.get(before)
