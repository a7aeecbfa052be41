"""What the operators of converted code mean, put in place once.

`python -m reactant.frontends.install` prints the table.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from reactant.frontends import control_flow as flow
from reactant.frontends.arrays import implements
from reactant.frontends.control import (
    decisions,
    elements,
    generated,
    generator_loops,
    loop_choice,
    mutation_log,
    objects,
    try_statements,
)
from reactant.frontends.host import drawing, exit_stacks, host_effects
from reactant.frontends.numpy import legacy_random, overlay
from reactant.frontends.prelude import heaps, run_time_keys
from reactant.frontends.session import abstract, calls, numba_functions
from reactant.frontends.source import operators
from reactant.frontends.texts import printing
from reactant.frontends.values import dynamic_keys, dynamic_methods, object_columns, tagged_union

LAYERS: dict[str, tuple[Callable, ...]] = {
    "get_item": (printing.refusing, flow.get_item, overlay.get_item),
    "set_item": (printing.set_item, try_statements.after_a_look, try_statements.unless_interrupted, flow.changing_item,
                 flow.set_item, overlay.set_item),
    "del_item": (printing.refusing, try_statements.unless_interrupted, flow.changing_first, flow.del_item,
                 calls.del_item),
    "inplace": (try_statements.unless_interrupted, flow.changing_second, flow.inplace, overlay.inplace),
    "get_attr": (flow.get_attr, calls.get_attr),
    "set_attr": (try_statements.unless_interrupted, flow.changing_item, object_columns.set_attr, calls.set_attr),
    "del_attr": (try_statements.unless_interrupted, flow.changing_first, object_columns.del_attr, delattr),
    "get_method": (dynamic_methods.get_method, operators.get_method),
    "call": (flow.with_iterators, calls.call),
    "call_bound": (host_effects.call_bound, printing.call_bound, flow.calling, overlay.call_bound),
    "foreign_call": (printing.foreign_call, mutation_log.touch_arguments),
    "contains": (printing.refusing, decisions.contains),
    "iterate": (printing.refusing, elements.elements),
    "Mod": (printing.percent, objects.BINARY["Mod"]),
    **{name: (printing.refusing, objects.COMPARE[name]) for name in ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")},
}
"""{operator: what is asked first, and so on; the last one is an operator, the others are given the rest}"""

PLAIN: dict[str, Callable] = {
    **objects.UNARY, **{name: function for name, function in objects.BINARY.items() if name not in LAYERS},
    **{name: function for name, function in objects.COMPARE.items() if name not in LAYERS},
    **{name: getattr(try_statements, name) for name in (
        "catching", "attempt", "attempt_around", "pending", "resume", "raise_", "kept", "shielded", "matches",
        "exception", "unhandled", "raise_again", "interruption", "call_in_attempt")},
    **{name: getattr(decisions, name) for name in (
        "if_exp", "and_", "or_", "not_", "condition", "truth", "is_", "same")},
    **{name: getattr(loop_choice, name) for name in ("if_stmt", "while_stmt", "for_stmt")},
    **{name: getattr(flow, name) for name in (
        "assert_stmt", "raised", "ld", "result", "refusals", "generator", "grows")},
    "is_none": abstract.is_none, "touch": mutation_log.touch_variables, "looked_into": calls.looked_into,
    "context": objects.context, "generated": generated.Generated, "listed": generated.Generated.listed,
    "begun": generator_loops.begun, "for_each_of": tagged_union.for_each_of, "of_each": tagged_union.of_each,
    "made": overlay.made, "involves_tracing": implements.has_tensors, "formatted": printing.formatted,
    "new_dict": run_time_keys.MAKERS[dict], "new_set": run_time_keys.MAKERS[set],
}
"""Operators that one file says."""


def composed(layers: tuple[Callable, ...]) -> Callable[..., Any]:
    """The operator of some layers."""
    return reduce(lambda inner, layer: layer(inner), reversed(layers[:-1]), layers[-1])


def install() -> None:
    """Put operators and functions in place. Done once, before anything is traced."""
    operators.install(**PLAIN)
    operators.install(**{name: composed(layers) for name, layers in LAYERS.items()})
    overlay.install()
    legacy_random.install()
    calls.REPLACEMENTS[bool] = decisions.of_object(calls.REPLACEMENTS[bool])
    generated.install()
    dynamic_keys.install()
    run_time_keys.put_in_place()
    heaps.install()
    exit_stacks.install()
    printing.install()
    host_effects.install()
    drawing.install()
    calls.ARRIVALS.listeners.append(numba_functions.register_loaded)


def _name(layer: Callable) -> str:
    return f"{layer.__module__.rpartition('.')[2]}.{getattr(layer, '__name__', layer)}"


def table() -> str:
    """The layers of each operator, a line each."""
    return "\n".join(f"{name:14}{' > '.join(map(_name, layers))}" for name, layers in LAYERS.items())


if __name__ == "__main__":
    print(table())
