"""Calls with device arrays, by the shortest way: XLA's call in C++ compares shapes and dtypes, so that we do not.

The matcher of such a call looks at types, containers and identities alone. A call of other shapes is refused by the
executable before anything runs; it is then signed as any other.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reactant.calling import signature as sig
from reactant.calling.call_cache import matcher
from reactant.calling.delivery import Recipe
from reactant.calling.traced import Traced
from reactant.runtime.array import DeviceArray
from reactant.runtime.direct import MOST_MISSED
from reactant.runtime.executable import Executable
from reactant.runtime.jax_internals import NO_TRANSFORMATION, restore_x64, swap_x64, transformation

NOT_THIS_WAY = (TypeError, ValueError, RuntimeError)
"""What XLA's call raises for other arguments, and for deleted ones; the long way says it better, or succeeds."""


def is_for(leaves: Sequence[tuple], traced: Traced, executable: Executable) -> bool:
    """Whether calls with these leaves may go this way: all that the program depends on are arrays on one device, which
    XLA's call gets, and nothing runs twice that says something."""
    read = range(len(leaves)) if executable.read is None else executable.read
    return bool(leaves) and not traced.callbacks and traced.untouched is not None \
        and traced.untouched.issuperset(set(range(len(leaves))) - set(read)) \
        and all(leaf[0] == "device" and len(leaf) == 5 and leaf[4] is None for leaf in leaves)


def device_call(key: tuple, traced: Traced, run: Callable[..., list[Any]], passed: Callable[[list], list],
                recipe: Recipe) -> Callable[[tuple, dict], Any] | None:
    """All of a call of a signature; it gives `NotImplemented` where a call is of another one.

    run: the executable's own call. passed: which leaves it gets. recipe: what is delivered of its results.
    XLA takes 0.1 ms to refuse a call: after `MOST_MISSED` of them every call is signed first.
    """
    positional, keyword, device, x64 = key
    leaves_of = matcher(positional, keyword, device, x64, traced.untouched, by_xla=True)
    if leaves_of is None:
        return None
    ours = any(leaf[3] for leaf in sig.leaves_of(positional, keyword))
    missed = 0

    def call(args: tuple, kwargs: dict) -> Any:
        nonlocal missed
        leaves = leaves_of(args, kwargs) if missed < MOST_MISSED else None
        if leaves is None or transformation.value is not NO_TRANSFORMATION:
            return NotImplemented
        given = passed(leaves)
        if ours:
            given = [x._storage.value if type(x) is DeviceArray else x for x in given]
        before = swap_x64(True)
        try:
            results = run(*given)
        except NOT_THIS_WAY:
            missed += 1
            return NotImplemented
        finally:
            restore_x64(before)
        return recipe([DeviceArray(result) for result in results] if ours else results, leaves, (args, kwargs))

    return call
