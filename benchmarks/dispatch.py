"""What a call costs: compiled functions of small arrays against the same calls through jax.jit.

    python benchmarks/dispatch.py [--calls N] [--only WORD ...] [--clock wall|cpu] [--json FILE]

Prints medians of interleaved blocks in microseconds and the ratio to `jax.jit`, all in 64 bits. NumPy arrays: jax's
result is made a NumPy array, which ours always is (and a writable one). Device arrays: results stay there; `jax`'s and
`reactant.array`'s. Trees have 30 arrays. What writes into its argument is compared with a function that returns a new
array (and for NumPy arrays copies it back). --clock cpu: by processor time, for a busy machine.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import reactant

LEAVES = 30


@dataclasses.dataclass
class State:
    """Arrays by name, and a list of them."""

    position: Any
    velocity: Any
    rest: list[Any]


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Registered(State):
    """The same, as a tree of jax's."""


def added(a, b):
    return a + b


def summed_up(leaves):
    total = leaves[0]
    for leaf in leaves[1:]:
        total = total + leaf
    return total


def of_dict(x):
    return {"sum": summed_up([*x.values()]), "first": x["k0"] * 2.0}


def of_dataclass(x):
    return summed_up([x.position, x.velocity, *x.rest]), x.position * 2.0


def doubled_inside(a, b):
    return _inner(a, b) * 2.0


def doubled_by_jax(a, b):
    return _inner_of_jax(a, b) * 2.0


_inner, _inner_of_jax = reactant.jit(added), jax.jit(added)


def written(x, y):
    x += y


def summed(x, y):
    return jnp.add(x, y)


def of_dict_by_jax(x):
    return {"sum": summed_up([*x.values()]), "first": jnp.multiply(x["k0"], 2.0)}


def arrays(count: int) -> list[np.ndarray]:
    """Small arrays."""
    return [np.arange(8.0) + k for k in range(count)]


def as_dict(leaves: list[Any]) -> tuple:
    return ({f"k{i}": leaf for i, leaf in enumerate(leaves)},)


def as_list(leaves: list[Any]) -> tuple:
    return (leaves,)


def as_state(leaves: list[Any]) -> tuple:
    return (State(leaves[0], leaves[1], leaves[2:]),)


def as_registered(leaves: list[Any]) -> tuple:
    return (Registered(leaves[0], leaves[1], leaves[2:]),)


@dataclasses.dataclass
class Form:
    """A function, how its arguments are arranged, and how many arrays there are; jax's, where they differ."""

    ours: Callable
    arranged: Callable[[list[Any]], tuple]
    count: int = LEAVES
    theirs: Callable | None = None
    arranged_for_jax: Callable[[list[Any]], tuple] | None = None


FORMS = {
    "two arrays": Form(added, tuple, 2),
    "a compiled function inside": Form(doubled_inside, tuple, 2, doubled_by_jax),
    "a list of 30": Form(summed_up, as_list),
    "a dict of 30": Form(of_dict, as_dict),
    "a dataclass with 30": Form(of_dataclass, as_state, arranged_for_jax=as_registered),
    "one that jax has as a tree": Form(of_dataclass, as_registered),
    "a function of jax.numpy": Form(summed, tuple, 2),
    "the same, of a dict of 30": Form(of_dict_by_jax, as_dict),
}
KINDS: dict[str, tuple[Callable, Callable]] = {
    "NumPy": (np.asarray, np.asarray), "jax": (jnp.asarray, jnp.asarray), "reactant": (reactant.array, jnp.asarray)}
"""Of arrays: what makes ours, and those that jax gets."""


def pair(form: str, kind: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The call through `reactant.jit` and that through `jax.jit`."""
    of = FORMS[form]
    make, make_for_jax = KINDS[kind]
    mine, peer = reactant.jit(of.ours), jax.jit(of.theirs or of.ours)
    given = of.arranged([make(x) for x in arrays(of.count)])
    given_to_jax = (of.arranged_for_jax or of.arranged)([make_for_jax(x) for x in arrays(of.count)])
    if kind != "NumPy":
        return lambda: mine(*given), lambda: peer(*given_to_jax)
    return lambda: mine(*given), lambda: jax.tree_util.tree_map(np.asarray, peer(*given_to_jax))


def writing(kind: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The same of a function that writes into an argument."""
    make, make_for_jax = KINDS[kind]
    mine, peer = reactant.jit(written), jax.jit(added)
    x, y = map(make, (np.zeros(8), np.full(8, 1e-9)))
    to, other = map(make_for_jax, (np.zeros(8), np.full(8, 1e-9)))
    if kind == "NumPy":
        return lambda: mine(x, y), lambda: np.copyto(to, peer(to, other))
    return lambda: mine(x, y), lambda: peer(to, other)


def cases(only: list[str]) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """All pairs of calls whose names have one of these words."""
    made = {f"{form}, {kind}": (lambda form=form, kind=kind: pair(form, kind)) for form in FORMS for kind in KINDS}
    made |= {f"one argument written, {kind}": (lambda kind=kind: writing(kind)) for kind in ("NumPy", "reactant")}
    return {name: make() for name, make in made.items() if not only or any(word in name for word in only)}


def medians(forms: list[Callable[[], object]], calls: int, clock: Callable[[], float], blocks: int = 15
            ) -> list[list[float]]:
    """Seconds a call of each form, in each of `blocks` interleaved blocks."""
    seconds: list[list[float]] = [[] for _ in forms]
    for form in forms:
        for _ in range(20):
            form()
    for _ in range(blocks):
        for form, found in zip(forms, seconds, strict=True):
            begun = clock()
            for _ in range(calls // blocks + 1):
                form()
            found.append((clock() - begun) / (calls // blocks + 1))
    return seconds


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="cases whose names have one of them")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    rows: dict[str, dict[str, float]] = {}
    print(f"{'call':44s} {'jax.jit, us':>12s} {'ours, us':>10s} {'ratio':>7s}")
    with jax.enable_x64(True):
        for name, (ours, theirs) in cases(options.only).items():
            mine, peer = medians([ours, theirs], options.calls, clock)
            ratio = statistics.median(a / b for a, b in zip(mine, peer, strict=True))
            rows[name] = {"ours": statistics.median(mine), "jax": statistics.median(peer), "ratio": ratio}
            print(f"{name:44s} {rows[name]['jax'] * 1e6:12.2f} {rows[name]['ours'] * 1e6:10.2f} {ratio:7.2f}",
                  flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
