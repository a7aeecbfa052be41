"""Derivatives that the user defines: `custom_derivative`."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.calling import signature as sig
from reactant.derivatives import custom_in_jax
from reactant.derivatives.answers import cotangent_leaves, tangent_leaves
from reactant.derivatives.entry import name_of
from reactant.derivatives.linear import value_like
from reactant.derivatives.outline import Slot, call_of, filled, leaves_of, outline
from reactant.differentiate import requests
from reactant.differentiate.declare import differentiable
from reactant.differentiate.expansion import expand_innermost
from reactant.errors import ReactantError, UnsupportedError
from reactant.frontends.arrays.tensor import Tensor, is_tensor
from reactant.frontends.session.trace import current_trace, tracing
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import shape_and_dtype
from reactant.support.session import is_tracing, quietly


class CustomDerivative:
    """A function with a derivative of the user's; made by `reactant.custom_derivative`.

    Attributes:
        function: the function itself.

    Example:
        >>> @reactant.custom_derivative
        ... def softplus(x):
        ...     return np.log(1.0 + np.exp(x))
        >>> @softplus.jvp
        ... def tangent(arguments, tangents):
        ...     (x,), (t,) = arguments, tangents
        ...     return softplus(x), t / (1.0 + np.exp(-x))
        >>> reactant.grad(softplus)(0.0)
        np.float64(0.5)
    """

    def __init__(self, function: Callable, jvp: Callable | None, vjp: Callable | None):
        if not callable(function):
            raise TypeError(f"custom_derivative is of a function, not of {type(function).__name__}.")
        functools.update_wrapper(self, function, updated=())
        self.function, self.tangent_rule, self.cotangent_rule = function, jvp, vjp

    def jvp(self, rule: Callable) -> Callable:
        """A decorator of the rule for forward mode.

        Args:
            rule: `rule(arguments, tangents)` gives (outputs, tangents of the outputs).

        Returns:
            The rule.
        """
        self.tangent_rule = rule
        return rule

    def vjp(self, rule: Callable) -> Callable:
        """A decorator of the rule for reverse mode.

        Args:
            rule: `rule(arguments, outputs, cotangents)` gives a tuple of cotangents, one for each argument (None is
                zero).

        Returns:
            The rule.
        """
        self.cotangent_rule = rule
        return rule

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        by_jax = not is_tracing() and custom_in_jax.is_traced((args, kwargs))
        if not is_tracing() and not by_jax:
            return self.function(*args, **kwargs)
        if self.tangent_rule is None and self.cotangent_rule is None:
            raise ReactantError(f"custom_derivative: '{name_of(self.function)}' has no rule yet.",
                                hint="Give it jvp, vjp or both.", code="derivative-rule")
        args = self._positional(args, kwargs)
        return custom_in_jax.call(self, args) if by_jax else self._traced(args)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _positional(self, args: tuple, kwargs: dict) -> tuple:
        """All arguments in the order that rules get them in, those that are left out as well."""
        if isinstance(self.function, np.ufunc):
            return args
        try:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
        except ValueError:      # it does not say
            bound = inspect.BoundArguments(inspect.Signature(), {})     # type: ignore[arg-type]
            if not kwargs:
                return args
            bound.arguments = kwargs
        if bound.kwargs:
            raise ReactantError(f"custom_derivative: '{name_of(self.function)}' is given "
                                f"{next(iter(bound.kwargs))!r} by name alone, so it is not among the arguments that "
                                "rules get.", hint="Make it an argument by position.", code="derivative-rule")
        bound.apply_defaults()
        return bound.args

    def _traced(self, args: tuple) -> Any:
        name = name_of(self.function)
        made = outline(self.function, args, {}, range(len(args)), every=True)
        captured = {v for _, v in current_trace()._captured_at.values()}
        if any(v not in captured for v in made.operands[len(made.active):]):
            raise UnsupportedError(f"'{name}' has a derivative of its own and uses a traced array from outside, "
                                   "which its rule cannot see.", hint="Pass the array as an argument.",
                                   code="captured-array")
        if made.written or made.storages or made.left is not None:
            raise UnsupportedError(f"'{name}' has a derivative of its own and writes into arrays from outside, or "
                                   "changes lists, dicts or objects.", hint="Return new arrays instead.",
                                   code="changes-under-transformation")
        template = _Template(name, args, made.active, made.result, list(made.types))
        rule = requests.CustomRule(
            name,
            None if self.tangent_rule is None else template.module(self.tangent_rule, _tangents, made.operands),
            None if self.cotangent_rule is None else template.module(self.cotangent_rule, _cotangents, made.operands))
        return made.call(requests.custom, rule)


def custom_derivative(function: Callable | None = None, *, jvp: Callable | None = None,
                      vjp: Callable | None = None) -> Any:
    """A function whose derivative is stated, not derived.

    Usable as a decorator; `f.jvp` and `f.vjp` are decorators of rules that come later. Derivatives of higher order
    differentiate the rules. What the function and its rules need has to be among the arguments, and the function must
    not write into them.

    Args:
        function: what has the derivative; None makes a decorator.
        jvp: `jvp(arguments, tangents)` gives (outputs, tangents of the outputs), for forward mode.
        vjp: `vjp(arguments, outputs, cotangents)` gives a tuple of cotangents, one for each argument, for reverse mode;
            without it the transpose of `jvp` is taken.

    Returns:
        A function like `function`; arguments and results may be structures of arrays.

    Raises:
        NotDifferentiable: in forward mode, where there is a `vjp` rule alone.
        UnsupportedError: at the call, where the function writes into arrays from outside.

    Example:
        >>> @reactant.custom_derivative
        ... def clipped(x):
        ...     return np.clip(x, 0.0, 1.0)
        >>> @clipped.vjp
        ... def straight_through(arguments, outputs, cotangents):
        ...     return (cotangents,)
        >>> reactant.grad(lambda x: np.sum(clipped(x)))(np.array([-1.0, 0.5]))
        array([1., 1.])
    """
    if function is None:
        return lambda f: CustomDerivative(f, jvp, vjp)
    return CustomDerivative(function, jvp, vjp)


class _Template:
    """How the arguments of a call looked, so that a rule can be traced for it later."""

    def __init__(self, name: str, args: tuple, active: Sequence[Tensor], result: Any, types: list[ir.Type]):
        self.name = name
        self.args = sig.map_tree(args, lambda x: x)
        self.result = result
        self.leaves = [(t.kind, t.shape, t.dtype, t.strides_) for t in active]
        self.types = [shape_and_dtype(t) for t in types]
        self.options = current_trace().options

    def module(self, rule: Callable, build: Callable, operands: Sequence[ir.Value]) -> Callable[[], ir.Module]:
        extra = [shape_and_dtype(v.type) for v in operands[len(self.leaves):]]

        @functools.cache
        def make() -> ir.Module:
            with building(), quietly(), tracing(self.options) as session:
                inputs = [session.add_argument(shape, dtype) for _, shape, dtype, _ in self.leaves]
                for shape, dtype in extra:      # constants from outside, which the primal function may use
                    session.add_argument(shape, dtype)
                made = session.finish(_checked(session, build(self, session, rule, inputs)))
                _fold_captured(made, session)
            with building():
                pipelines.run(made, ("inline", "simplify"), options=self.options)
                while expand_innermost(made):
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

    def answer(self, kind: tuple[tuple[int, ...], np.dtype], given: Any, what: str) -> ir.Value:
        """A leaf that a rule gave, as a value of this shape and dtype."""
        zero = ops.constant(0, kind[1], kind[0])
        if given is None:
            return zero
        return value_like(given, zero, f"A {what} by the rule of '{self.name}' (custom_derivative)",
                          "what it is of has", pairs=what == "cotangent")


def _varies(x: Any) -> bool:
    return is_tensor(x) or isinstance(x, (np.ndarray, np.generic)) or type(x) in (float, complex)


def _leaf(left: Iterator[Any]) -> Tensor:
    (kind, _, _, strides), value = next(left)
    return Tensor.of_value(value, kind, strides if kind == "array" else None)


def _tangents(template: _Template, session: Any, rule: Callable, inputs: list[ir.Value]) -> list[ir.Value]:
    given = iter([session.add_argument(*shape_and_dtype(v.type)) for v in inputs if differentiable(v)])
    answer = call_of(rule)(template.arguments(inputs), template.tangents(given))
    slots = leaves_of(template.result)
    shapes = [template.types[slot.index][0] if type(slot) is Slot else None for slot in slots]
    leaves = tangent_leaves(template.name, answer, template.result, shapes)
    by_index = {s.index: y for s, y in zip(slots, leaves, strict=True) if type(s) is Slot}
    return [template.answer(kind, by_index.get(i), "tangent") for i, kind in enumerate(template.types)
            if kind[1].kind in "fcV"]


def _cotangents(template: _Template, session: Any, rule: Callable, inputs: list[ir.Value]) -> list[ir.Value]:
    outputs = [session.add_argument(shape, dtype) for shape, dtype in template.types]
    given = {i: session.add_argument(shape, dtype) for i, (shape, dtype) in enumerate(template.types)
             if dtype.kind in "fcV"}
    pulled = sig.map_tree(template.result, lambda x: Tensor.of_value(given[x.index], x.kind)
                          if type(x) is Slot and x.index in given else None)
    answer = call_of(rule)(template.arguments(inputs), filled(template.result, outputs), pulled)
    found = cotangent_leaves(template.name, answer, template.args)
    found = [y for x, y in zip(leaves_of(template.args), found, strict=True) if _varies(x)]
    return [template.answer(shape_and_dtype(x.type), y, "cotangent") for x, y in zip(inputs, found, strict=True)
            if differentiable(x)]


def _checked(session: Any, results: list[ir.Value]) -> list[ir.Value]:
    """The derivatives; no numbers where an index in the rule is out of bounds or what it asserts is false: nothing can
    raise there."""
    for ok, *_ in session.checks:
        results = [ops.multiply(r, ops.select(ok, ops.splat(1, r), ops.splat(np.nan, r))) for r in results]
    return results


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
