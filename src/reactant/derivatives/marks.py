"""What a program says about its own derivative: `custom_derivative`, `stop_gradient`, `checkpoint`."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant import signature as sig
from reactant.derivatives.entry import name_of
from reactant.derivatives.linear import value_like
from reactant.derivatives.outline import Slot, call_of, filled, leaves_of, outline
from reactant.differentiate import requests
from reactant.differentiate.checkpoint import Policy
from reactant.differentiate.declare import differentiable
from reactant.errors import ReactantError, UnsupportedError
from reactant.frontends.iteration import PolicyItems, items_of
from reactant.frontends.numpy.tensor import Tensor
from reactant.frontends.trace import current_trace, tracing
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import shape_and_dtype, tensor_type
from reactant.session import is_tracing


def stop_gradient(x: Any) -> Any:
    """`x` (an array, a number or a structure of them) as a constant to derivatives."""
    def leaf(value: Any) -> Any:
        if type(value) is Tensor and value.dtype.kind in "fcV":
            return Tensor.of_value(requests.stop_gradient(value.value()), value.kind)
        return value
    return sig.map_tree(x, leaf) if is_tracing() else x


def checkpoint(function: Callable) -> Callable:
    """The function, of which reverse mode keeps the arguments only: what it computes is computed again when the reverse
    sweep needs it. Results and gradients are the same; it takes less memory and more time.

    Usable as a decorator.
    """
    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return function(*args, **kwargs)
        made = outline(function, args, kwargs, (), shared=True)
        return made.call(requests.checkpointed)

    return checkpointed


def checkpointed(iterable: Iterable, checkpoint: str | int | None = None, *, every: int | None = None,
                 memory_budget: str | int | None = None) -> Any:
    """What a `for` runs over, with a word on how reverse mode keeps the turns of that loop.

        for i in reactant.checkpointed(range(n), every=10): ...

    every (or an int as `checkpoint`): keep each such state and run the turns between two again; "sqrt": as many turns
    as there are states; "binomial": a number of states logarithmic in the turns; "all": nothing is run again.
    memory_budget: bytes ("256MB") that what is kept has to fit in; picks the fastest way that does. "sqrt" unless said.
    """
    if checkpoint is None and every is None and memory_budget is None:
        checkpoint = "sqrt"
    policy = Policy.of(every if checkpoint is None else checkpoint, memory_budget)
    if not is_tracing():
        return iterable
    items = items_of(iterable)
    if items is None:
        raise UnsupportedError(f"checkpointed takes a range or an array (or enumerate, zip or reversed of them), not "
                               f"{type(iterable).__name__}.")
    return PolicyItems(items, policy.text)


# ---- derivatives by the user ---------------------------------------------------------------------------------------

class CustomDerivative:
    """A function with a derivative of the user's. Made by `custom_derivative`."""

    def __init__(self, function: Callable, jvp: Callable | None, vjp: Callable | None):
        functools.update_wrapper(self, function, updated=())
        self.function, self.tangent_rule, self.cotangent_rule = function, jvp, vjp

    def jvp(self, rule: Callable) -> Callable:
        """Decorator of the rule for tangents: `rule(arguments, tangents)` gives (outputs, tangents of the outputs)."""
        self.tangent_rule = rule
        return rule

    def vjp(self, rule: Callable) -> Callable:
        """Decorator of the rule for cotangents: `rule(arguments, outputs, cotangents)` gives a tuple of cotangents, one
        for each argument (None is zero)."""
        self.cotangent_rule = rule
        return rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return self.function(*args, **kwargs)
        name = name_of(self.function)
        if self.tangent_rule is None and self.cotangent_rule is None:
            raise ReactantError(f"custom_derivative: '{name}' has no rule yet. Give it jvp, vjp or both.")
        if kwargs:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        made = outline(self.function, args, kwargs, [*range(len(args)), *kwargs], every=True)
        captured = {v for _, v in current_trace()._captured_at.values()}
        if any(v not in captured for v in made.operands[len(made.active):]):
            raise UnsupportedError(f"'{name}' has a derivative of its own and uses a traced array from outside, which "
                                   f"its rule cannot see. Pass the array as an argument.")
        if made.written or made.storages:
            raise UnsupportedError(f"'{name}' has a derivative of its own and writes into arrays from outside. Return "
                                   f"new arrays instead.")
        template = _Template(args, made.active, made.result, list(made.types))
        rule = requests.CustomRule(
            name,
            None if self.tangent_rule is None else template.module(self.tangent_rule, _tangents, made.operands),
            None if self.cotangent_rule is None else template.module(self.cotangent_rule, _cotangents, made.operands))
        return made.call(requests.custom, rule)


def custom_derivative(function: Callable | None = None, *, jvp: Callable | None = None,
                      vjp: Callable | None = None) -> Any:
    """A function whose derivative is said, not derived.

    jvp(arguments, tangents) gives (outputs, tangents of the outputs), for forward mode. vjp(arguments, outputs,
    cotangents) gives a tuple of cotangents, one for each argument, for reverse mode; without it the transpose of `jvp`
    is taken. Derivatives of higher order differentiate the rules. Arguments and results may be structures of arrays.

    Usable as a decorator; `f.jvp` and `f.vjp` are decorators of rules that come later. What the function and its rules
    need has to be among the arguments, and the function must not write into them.
    """
    if function is None:
        return lambda f: CustomDerivative(f, jvp, vjp)
    return CustomDerivative(function, jvp, vjp)


class _Template:
    """How the arguments of a call looked, so that a rule can be traced for it later."""

    def __init__(self, args: tuple, active: Sequence[Tensor], result: Any, types: list[ir.Type]):
        self.args = sig.map_tree(args, lambda x: x)
        self.result = result
        self.leaves = [(t.kind, t.shape, t.dtype, t.strides_) for t in active]
        self.types = [shape_and_dtype(t) for t in types]
        self.options = current_trace().options

    def module(self, rule: Callable, build: Callable, operands: Sequence[ir.Value]) -> Callable[[], ir.Module]:
        extra = [shape_and_dtype(v.type) for v in operands[len(self.leaves):]]

        @functools.cache
        def make() -> ir.Module:
            with building(), tracing(self.options) as session:
                inputs = [session.add_argument(shape, dtype) for _, shape, dtype, _ in self.leaves]
                for shape, dtype in extra:      # constants from outside, which the primal function may use
                    session.add_argument(shape, dtype)
                results = build(self, session, rule, inputs)
                made = session.finish(results)
                _fold_captured(made, session)
            with building():
                pipelines.run(made, ("inline", "simplify"), options=self.options)
                while requests.expand_innermost(made):
                    pipelines.run(made, "simplify", options=self.options)
            return made
        return make

    def arguments(self, values: Sequence[ir.Value]) -> tuple:
        """The arguments with these values as their leaves."""
        left = iter(zip(self.leaves, values, strict=True))
        return sig.map_tree(self.args, lambda x: _leaf(left) if _varies(x) else x)

    def tangents(self, values: Iterator[ir.Value]) -> tuple:
        """A tree like the arguments, zeros for integers."""
        def leaf(x: Any) -> Any:
            if not _varies(x):
                return None
            kind, shape, dtype, _ = next(left)
            value = next(values) if dtype.kind in "fcV" else ops.constant(0.0, np.float64, shape)
            return Tensor.of_value(value, kind)
        left = iter(self.leaves)
        return sig.map_tree(self.args, leaf)


def _varies(x: Any) -> bool:
    return type(x) is Tensor or isinstance(x, (np.ndarray, np.generic)) or type(x) in (float, complex)


def _leaf(left: Iterator[Any]) -> Tensor:
    (kind, _, _, strides), value = next(left)
    return Tensor.of_value(value, kind, strides if kind == "array" else None)


def _tangents(template: _Template, session: Any, rule: Callable, inputs: list[ir.Value]) -> list[ir.Value]:
    given = iter([session.add_argument(*shape_and_dtype(v.type)) for v in inputs if differentiable(v)])
    answer = call_of(rule)(template.arguments(inputs), template.tangents(given))
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise ReactantError("The jvp rule of custom_derivative returns (outputs, tangents of the outputs).")
    return _answers(template.result, answer[1], template.types, "tangent")


def _cotangents(template: _Template, session: Any, rule: Callable, inputs: list[ir.Value]) -> list[ir.Value]:
    outputs = [session.add_argument(shape, dtype) for shape, dtype in template.types]
    given = {i: session.add_argument(shape, dtype) for i, (shape, dtype) in enumerate(template.types)
             if dtype.kind in "fcV"}
    pulled = sig.map_tree(template.result, lambda x: Tensor.of_value(given[x.index], x.kind)
                          if type(x) is Slot and x.index in given else None)
    answer = call_of(rule)(template.arguments(inputs), filled(template.result, outputs), pulled)
    if not (isinstance(answer, tuple) and len(answer) == len(template.args)):
        raise ReactantError(f"The vjp rule of custom_derivative returns a tuple of {len(template.args)} cotangents, "
                            f"one for each argument.")
    found: list[ir.Value] = []
    left = iter(inputs)
    for arg, g in zip(template.args, answer, strict=True):
        wanted = [next(left) for x in leaves_of(arg) if _varies(x)]
        given_leaves = [None] * len(wanted) if g is None else \
            [y for x, y in zip(leaves_of(arg), leaves_of(g, arg), strict=True) if _varies(x)]
        for like, y in zip(wanted, given_leaves, strict=True):
            if differentiable(like):
                found.append(_answer(like.type, y, "cotangent"))
    return found


def _answers(result: Any, tree: Any, types: Sequence[Any], what: str) -> list[ir.Value]:
    """The leaves of what a rule gives, for the float results in order."""
    slots, leaves = leaves_of(result), leaves_of(tree, result)
    if len(slots) != len(leaves):
        raise ReactantError(f"The jvp rule of custom_derivative gives {len(leaves)} tangents for {len(slots)} outputs.")
    by_index = {s.index: y for s, y in zip(slots, leaves, strict=True) if type(s) is Slot}
    return [_answer(tensor_type(*types[i]), by_index.get(i), what) for i in range(len(types))
            if types[i][1].kind in "fcV"]


def _answer(kind: ir.Type, given: Any, what: str) -> ir.Value:
    shape, dtype = shape_and_dtype(kind)
    zero = ops.constant(0, dtype, shape)
    return zero if given is None else value_like(given, zero, f"A {what} of a custom_derivative rule",
                                                 "what it is of has")


def _fold_captured(module: ir.Module, session: Any) -> None:
    """Arrays from outside become constants of the rule's module: nobody would pass them."""
    if not session.captured:
        return
    function = modules.function(module)
    block = function.regions[0].blocks[0]
    positions = list(session.captured_position)
    for position, array in zip(positions, session.captured, strict=True):
        with ir.InsertionPoint.at_block_begin(block):
            block.arguments[position].replace_all_uses_with(ops.constant(array))
    for position in sorted(positions, reverse=True):
        block.erase_argument(position)
    inputs = [a.type for a in block.arguments]
    results = list(function.attributes["function_type"].value.results)
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
