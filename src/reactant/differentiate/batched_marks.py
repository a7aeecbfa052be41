"""The batched forms of the marks that say how to differentiate: the function a mark names is batched, the mark stays.

Loaded by `vmap`. Requests to differentiate have no batched form: they are expanded before.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from jaxlib.mlir import ir

from reactant.batching.declare import Call, batch, leading
from reactant.batching.engine import batched_module
from reactant.differentiate import requests
from reactant.ir import creation, modules

_numbers = itertools.count()


def _batched_function(call: Call) -> ir.Attribute:
    """A reference to the function that the mark names, for a whole batch of all its arguments."""
    op = call.op
    top, name = requests.module_of(op), requests.callee_of(op)
    source = requests.apart(op, name)
    with creation.elsewhere():      # a rule that makes maps of loops may be building this
        made = batched_module(source, [0] * len(call.operands), call.size, name=name, everything=True).module
    requests.adopt_functions(made, top)
    fresh = f"{name}_batched_{next(_numbers)}"
    with ir.InsertionPoint(top.regions[0].blocks[0]):
        copy = modules.function(made).clone()
    copy.operation.attributes["sym_name"] = ir.StringAttr.get(fresh)
    copy.operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
    return ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(fresh)])


def _everything(call: Call) -> list[ir.Value]:
    return [call.full(n) for n in range(len(call.operands))]


def _checkpoint(call: Call) -> Sequence[ir.Value]:
    return call.again(_everything(call), called_computations=_batched_function(call))


def _batched_rule(rule: requests.CustomRule, size: int) -> requests.CustomRule:
    def batched(make: Callable[[], ir.Module] | None) -> Callable[[], ir.Module] | None:
        if make is None:
            return None

        def maker() -> ir.Module:
            module = make()
            arguments = modules.function(module).regions[0].blocks[0].arguments
            return batched_module(module, [0] * len(arguments), size, everything=True).module
        return maker

    of_varied = rule.of_varied
    return requests.CustomRule(rule.name, batched(rule.tangents), batched(rule.cotangents), batched(rule.results),
                               rule.advice, None if of_varied is None else lambda n: _batched_rule(of_varied(n), size))


def _custom(call: Call) -> Sequence[ir.Value]:
    """The user's rule is batched, too: arguments, tangents and cotangents all have the batch in front."""
    number = len(requests.CUSTOM_RULES)
    requests.CUSTOM_RULES[number] = _batched_rule(requests.rule_of_custom(call.op), call.size)
    config = {each.name: each.attr for each in ir.DictAttr(call.op.attributes["backend_config"])}
    config["rule"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    return call.again(_everything(call), called_computations=_batched_function(call),
                      backend_config=ir.DictAttr.get(config))


leading(f"stablehlo.custom_call@{requests.STOP}")
batch(f"stablehlo.custom_call@{requests.CHECKPOINT}", _checkpoint)
batch(f"stablehlo.custom_call@{requests.CUSTOM}", _custom)
