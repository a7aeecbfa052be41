"""Derivatives in closed form of what traced code computes in another way: decompositions, series, approximations.

The results are marked with a rule of their own (`requests.custom`): as a function of the inputs, and of the results as
they are, which count as constant. The rule says the derivative by both; where it reads the results, they are marked in
the same way, so there are derivatives of all orders.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.differentiate import requests
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.context import building
from reactant.ir.types import shape_and_dtype, tensor_type

Values: TypeAlias = Sequence[ir.Value]
Products: TypeAlias = Callable[[Values, Values, Values], Values]
"""Tangents of the results from (inputs, results, tangents of the inputs), or cotangents of the inputs from (inputs,
results, cotangents of the results)."""


def with_derivative(name: str, inputs: Values, results: Values, tangents: Products, cotangents: Products,
                    ) -> list[ir.Value]:
    """The results, all of them floats or complex, with this derivative in the inputs, all of which vary."""
    if all(ops.constant_value(value) is not None for value in inputs):
        return list(results)
    return _marked(current_trace().module, name, inputs, results, tangents, cotangents)


def _marked(module: ir.Module, name: str, inputs: Values, results: Values, tangents: Products, cotangents: Products,
            ) -> list[ir.Value]:
    operands = [*inputs, *map(requests.stop_gradient, results)]
    first, kinds = len(inputs), [shape_and_dtype(value.type) for value in operands]

    def rule(products: Products, outputs: int, directions: slice) -> Callable[[], ir.Module]:
        @cache
        def make() -> ir.Module:
            from reactant.differentiate.recognised.finished import (  # loaded when the derivative is taken
                finish,
                new_function,
            )
            with building():
                given = kinds + kinds[first:first + outputs]
                made, block = new_function([tensor_type(*kind) for kind in given + kinds[directions]])
                with ir.InsertionPoint(block):
                    x, y = list(block.arguments)[:first], list(block.arguments)[first:len(kinds)]
                    again = _marked(made, name, x, y, tangents, cotangents)
                    found = list(products(x, again, list(block.arguments)[len(given):]))
                    constant = [ops.splat(0, value) for value in y] if outputs else []
                    finish(made, found + constant, made)
                return made
        return make

    callee = requests.private_function(module, [v.type for v in operands], lambda given: given[first:], name)
    return requests.custom(
        requests.CustomRule(name, rule(tangents, 0, slice(None)), rule(cotangents, len(results), slice(first, None))),
        callee, operands, [v.type for v in results])
