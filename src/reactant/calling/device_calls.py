"""Calls with device arrays, by the shortest way: one function for a signature, with XLA's call in the middle.

`jax.jit` takes 6 us for a small program, so that a tenth of one counts. XLA's call compares shapes, dtypes, devices and
jax's settings in C++; the function compares what is left, which is types, containers, static values and identities,
hands over the buffers and delivers the results. Written out for two device arrays:

    def call(args, kwargs):
        try:
            if kwargs: return NotImplemented
            x0, x1, = args
            if not (x1 is not x0): return NotImplemented
            b0 = held_by(x0)
            b1 = held_by(x1)
            if kind(b0) is shared: b0 = whole(x0)
            if kind(b1) is shared: b1 = whole(x1)
            r0 = run(b0, b1)
        except Exception:
            return NotImplemented
        return held(r0)

Whatever is unusual is `NotImplemented`: the call is then signed as any other, which says what is wrong, or succeeds.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax

from reactant.calling import signature as sig
from reactant.calling.call_cache import FEW, OnlySigned, Writer
from reactant.calling.delivery import Recipe, lines_of
from reactant.calling.traced import Traced
from reactant.runtime.array import held, held_by, whole_buffer
from reactant.runtime.executable import Executable
from reactant.runtime.storage import Storage

DeviceCall = Callable[[tuple, dict], Any]
"""All of a call; `NotImplemented` where it is of another signature."""

_TEMPLATE = """
def call(args, kwargs):
    try:
        {checks}
    except Exception:
        return NotImplemented
    {after}
"""


def is_for(leaves: Sequence[tuple], traced: Traced, executable: Executable) -> bool:
    """Whether calls with these leaves may go this way: all that the program depends on are arrays on one device, which
    XLA's call gets, nothing runs twice that says something, and what is written is ours and as long as its result."""
    read = set(range(len(leaves)) if executable.read is None else executable.read)
    return bool(leaves) and not traced.callbacks and traced.untouched is not None \
        and traced.untouched.issuperset(set(range(len(leaves))) - read) \
        and all(leaf[0] == "device" and len(leaf) == 5 and leaf[4] is None for leaf in leaves) \
        and all(number in read and leaves[number][3] and leaves[number][1:3] == (
            executable.outputs[result].shape, executable.outputs[result].dtype)
            for number, result in traced.written.items())


def device_call(key: tuple, name: str, traced: Traced, executable: Executable, recipe: Recipe) -> DeviceCall | None:
    """The function of a signature, of whose program a call has run; None where only signing tells.

    recipe: what is delivered of the results.
    """
    positional, keyword, device, x64 = key
    config = jax.config
    run = executable.checked(lambda: config.jax_default_device is device and config.jax_enable_x64 is x64)
    if traced.untouched is None or run is None:
        return None
    leaves = sig.leaves_of(positional, keyword)
    read = range(len(leaves)) if executable.read is None else executable.read
    writer = Writer(traced.untouched, {}, "NotImplemented", by_xla=frozenset(read))
    try:
        writer.checks.insert(0, f"if {writer.compare(positional, keyword)}: return NotImplemented")
    except OnlySigned:
        return None
    passed = _buffers(writer, leaves, read, traced.written)
    results = [f"r{number}" for number in range(len(executable.outputs))]
    writer.checks.append(f"{', '.join(results) or '[]'} = run({passed})")
    after = [f"s{number}.value = r{result}" for number, result in traced.written.items()]
    after += _delivered(writer, name, traced, results, any(leaf[3] for leaf in leaves))
    writer.known |= {"run": run, "recipe": recipe, "held": held}
    made: DeviceCall = writer.function(
        _TEMPLATE.format(checks="\n        ".join(writer.checks), after="\n    ".join(after)), "call")
    return made


def _delivered(writer: Writer, name: str, traced: Traced, results: list[str], ours: bool) -> list[str]:
    """The statements that deliver results."""
    made = [f"held({result})" for result in results] if ours else results
    lines = lines_of(traced, name, writer.known)
    if lines is None:
        return [f"return recipe([{', '.join(made)}], [{writer.found()}], (args, kwargs))"]
    text = "\n    ".join(lines)
    if lines == ["return r[0]"] and results:
        return [f"return {made[0]}"]
    return [*[f"r = [{', '.join(made)}]"] * ("r[" in text), *[f"l = [{writer.found()}]"] * ("l[" in text),
            *["roots = args, kwargs"] * ("roots" in text), *lines]


def _buffers(writer: Writer, leaves: Sequence[tuple], read: Sequence[int], written: Collection[int]) -> str:
    """What XLA's call gets; `writer` gets the storages of what is written as `s0`, ... and the conditions: our arrays,
    which alone have what `held_by` gives, are all of their buffers, and none has that of one that is written."""
    ours = [number for number in read if leaves[number][3]]
    everything = [*read] == [*range(len(leaves))]
    expressions = [name if place is None else f"{name}[{place}]" for name, place in writer.leaves]
    writer.known |= {"held_by": held_by, "whole": whole_buffer, "shared": Storage, "kind": type}
    for number in written:
        writer.require(f"{expressions[number]}._writeable")
        writer.checks.append(f"s{number} = {expressions[number]}._storage")
    if len(ours) > FEW and len(ours) == len(leaves) and everything:
        found = writer.found()
        arrays = found[1:] if found.startswith("*") and found[1:].isidentifier() else f"[{found}]"
        writer.checks.append(f"b = [*map(held_by, {arrays})]")
        if written:
            writer.require(f"len({{*map(id, b)}}) == {len(ours)}")
        writer.checks.append(f"if shared in {{*map(kind, b)}}: b = [*map(whole, {arrays})]")
        return "*b"
    for number in ours:
        writer.checks.append(f"b{number} = held_by({expressions[number]})")
        for other in ours:
            if other < number and (number in written or other in written):
                writer.require(f"b{number} is not held_by({expressions[other]})")
    for number in ours:
        writer.checks.append(f"if kind(b{number}) is shared: b{number} = whole({expressions[number]})")
    if not ours and everything:
        return writer.found()
    return ", ".join(f"b{number}" if number in ours else expressions[number] for number in read)
