"""Where a program runs: on the mesh that its arguments are on, told from a signature."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jaxlib.mlir import ir

from reactant.calling import signature as sig
from reactant.calling.shardings import Told, is_several, named_in, sharding_on
from reactant.calling.traced import Result, Traced
from reactant.communication.placement import Placement
from reactant.errors import ShardingError
from reactant.ir import modules
from reactant.ir.context import building
from reactant.options import CompileOptions
from reactant.runtime.meshes import mesh_of, outside, replicated, shown

LEFT_OUT = ("slice_of_pointwise",)
"""Rules that programs for several devices do without: what is computed for a part of a rotated array apart would have
to be moved apart."""


def passes_of(options: CompileOptions, placement: Placement | None) -> CompileOptions:
    """The options for the passes of a program that runs there."""
    return options if placement is None else replace(options, without=(*options.without, *LEFT_OUT))


def placement_of(name: str, positional: tuple, keyword: tuple, traced: Traced, mesh: Any = None,
                 told: Told | None = None, strict: bool = False) -> Placement | None:
    """The placement of the program of the function called `name`; None where it runs on one device. mesh, told, strict:
    what the user said. Raises `ShardingError` where arguments are on several meshes."""
    told = told or Told()
    leaves = list(_labelled(positional, keyword))
    lie = [(_label(place, told.names), node[5]) for place, node in leaves if len(node) == 6]
    said = [("in_shardings", each) for each in named_in(told.arguments)] \
        + [("out_shardings", each) for each in named_in(told.results)]
    on = common_mesh(name, [*said, *lie], mesh)
    if on is None and (told.arguments is not None or told.results is not None):
        raise ShardingError(f"in_shardings and out_shardings of '{name}' name axes of no mesh.",
                            hint="Say mesh=, or mesh.sharding(...) for them.", code="sharding-axes")
    if on is None or on.size == 1:
        return None
    places = []
    for place, node in leaves:
        array = node[0] in ("array", "device")
        given = sharding_on(on, told.of_argument(place), len(node[1])) if array else None
        places.append(given or (node[5] if len(node) == 6 else None))
    results: list[NamedSharding | None] = [None] * results_of(traced)
    asked = set()
    for index, given in _of_results(name, traced.result, told.results):
        results[index] = sharding_on(on, given, _rank(traced, index))
        asked.add(index)
    for number, index in traced.written.items():
        results[index] = places[number]
    for index in (*([] if traced.flags is None else [traced.flags]), *(i for told in traced.told for i in told)):
        results[index] = replicated(on)
    devices = [node[3] for _, node in leaves if node[0] == "device"]
    return Placement(on, (*places, *(None for _ in traced.captured)), tuple(results),
                     any(devices) or not devices, frozenset(asked) if strict else None)


def results_of(traced: Traced) -> int:
    """How many results a program has."""
    with building():
        return len(ir.FunctionType(modules.function(traced.module).attributes["function_type"].value).results)


def _rank(traced: Traced, index: int) -> int:
    with building():
        kind = ir.FunctionType(modules.function(traced.module).attributes["function_type"].value).results[index]
        return int(ir.RankedTensorType(kind).rank)


def _of_results(name: str, tree: Any, said: Any) -> Iterator[tuple[int, Any]]:
    """The numbers of the program's results of which the user said something, and what."""
    if not is_several(said):
        leaves: list[Any] = []
        sig.map_tree(tree, leaves.append)
        found = [leaf for leaf in leaves if type(leaf) is Result and not leaf.steps and said is not None]
        yield from ((leaf.index, said) for leaf in found)
    elif isinstance(said, dict) and isinstance(tree, dict) and said.keys() <= tree.keys():
        for key, each in said.items():
            yield from _of_results(name, tree[key], each)
    elif not isinstance(said, dict) and isinstance(tree, (tuple, list)) and len(said) == len(tree):
        for part, each in zip(tree, said, strict=True):
            yield from _of_results(name, part, each)
    else:
        raise ShardingError(f"out_shardings of '{name}' does not fit what it returns.",
                            hint="One sharding for all, or the same tuple, list or dict of shardings.",
                            code="sharding-mismatch")


def _labelled(positional: tuple, keyword: tuple) -> Iterator[tuple[int | str, tuple]]:
    for place, node in (*enumerate(positional), *keyword):
        yield from ((place, leaf) for leaf in sig.leaf_nodes(node))


def labels_of(positional: tuple, keyword: tuple, told: Told | None) -> list[str]:
    """What run-time arguments are called: by their parameter, and where that brings several, with a number."""
    names = told.names if told is not None else ()
    places = [names[place] if isinstance(place, int) and place < len(names) else f"argument {place}"
              if isinstance(place, int) else place for place, _ in _labelled(positional, keyword)]
    return [f"{place}.{places[:k].count(place)}" if places.count(place) > 1 else place
            for k, place in enumerate(places)]


def _label(place: int | str, names: Sequence[str]) -> str:
    if isinstance(place, int) and place < len(names):
        return f"Argument {place} ('{names[place]}')"
    return f"Argument {place!r}"


def common_mesh(name: str, places: list[tuple[str, NamedSharding]], told: Any) -> Mesh | None:
    """The one mesh that labelled arguments are on; None where they are on none."""
    found = None if told is None else mesh_of(told)
    first = "the function was given"
    for label, place in places:
        if found is None:
            found, first = place.mesh, f"{label[0].lower()}{label[1:]} is on"
        elif not same_devices(place.mesh, found):
            raise ShardingError(f"{label} of '{name}' is on another mesh ({_mesh(place.mesh)}) than the one that "
                                f"{first} ({_mesh(found)}).",
                                hint="Put it there: reactant.array(x, sharding=mesh.sharding(...)), where "
                                     f"{shown(place)} is its sharding now.", code="sharding-mismatch")
    return None if found is None else outside(found)


def same_devices(one: Mesh, other: Mesh) -> bool:
    """Whether two meshes are the same but for what jax calls the types of their axes."""
    return one is other or one.axis_names == other.axis_names and one.devices.shape == other.devices.shape \
        and all(a is b for a, b in zip(one.devices.flat, other.devices.flat, strict=True))


def _mesh(mesh: Mesh) -> str:
    axes = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
    others = "" if mesh.devices.flat[0] is jax.devices()[0] else f" from device {mesh.devices.flat[0].id} on"
    return f"{axes}{others}"
