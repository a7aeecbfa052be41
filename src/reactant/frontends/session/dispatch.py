"""What traced code does, by name: the files that say it stand above those that ask, and fill this table.

    @means("get_item")                          # in indexing.py
    def get(tensor, key): ...

    meaning.get_item(self, key)                 # in tensor.py

A file is loaded when something that it says is asked for first.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)

PROVIDERS = {
    # indexing
    "get_item": "arrays.indexing",
    "put_item": "arrays.indexing",
    "item": "arrays.indexing",
    "flat": "arrays.indexing",
    "get_by_arrays": "arrays.advanced",
    "put_by_arrays": "arrays.advanced",
    "get_by_run_time_bounds": "arrays.dynamic.run_time_steps",
    "put_by_run_time_bounds": "arrays.dynamic.run_time_steps",
    "progression_as_slice": "arrays.dynamic.run_time_steps",
    "is_selected_at_run_time": "arrays.dynamic.masked",
    "get_selected": "arrays.dynamic.masked",
    "put_selected": "arrays.dynamic.masked",
    "at_selected": "arrays.dynamic.masked",
    # operators and ufuncs
    "ufunc": "arrays.ufuncs",
    "binary": "arrays.ufuncs",
    "unary": "arrays.ufuncs",
    "in_place": "arrays.ufuncs",
    "ufunc_method": "arrays.ufunc_methods",
    "product": "numpy.contraction",
    "special_function": "scipy.special",
    # functions
    "function": "arrays.implements",
    "dispatched": "arrays.implements",
    "array_of": "arrays.creation",
    "bytes_as": "arrays.reinterpretation",
    "why_no_method": "numpy.refused",
    "as_python_number": "numpy.overlay",
    # lists
    "growth": "values.append_loops",
    "exclusive_lists": "values.collectors",
    "array_lists": "values.array_lists",
    "in_one_iteration": "control.loop_choice",
    "lower_jax_call": "jax.importing",
    "rows_of": "values.items_as_rows",
    "call_of_jax": "jax.jax_in_numpy",
    # arrays of run-time extent
    "store_dynamic": "arrays.dynamic.bounded",
    "in_place_dynamic": "arrays.dynamic.bounded",
    "get_item_dynamic": "arrays.dynamic.bounded_slices",
    "put_item_dynamic": "arrays.dynamic.bounded_slices",
    "ufunc_dynamic": "numpy.dynamic.bounded_functions",
    "function_dynamic": "numpy.dynamic.bounded_functions",
}
"""{what: the file of the frontends that says it}"""


class Meaning:
    """The table, as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name not in PROVIDERS:
            raise AttributeError(name)
        importlib.import_module(f"reactant.frontends.{PROVIDERS[name]}")
        return vars(self)[name]


meaning = Meaning()


def means(name: str) -> Callable[[F], F]:
    """Declare what says `name`; once, and in the file that `PROVIDERS` names."""
    def declare(function: F) -> F:
        if function.__module__ != f"reactant.frontends.{PROVIDERS[name]}":
            raise TypeError(f"{name} is said by {PROVIDERS[name]}, not by {function.__module__}.")
        setattr(meaning, name, function)
        return function
    return declare
