"""Where a program runs: on the mesh that its arguments are on, told from a signature."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jaxlib.mlir import ir

from reactant import signature as sig
from reactant.communication.placement import Placement
from reactant.errors import ShardingError
from reactant.ir import modules
from reactant.ir.context import building
from reactant.runtime.meshes import mesh_of, replicated, shown
from reactant.traced import Traced


def placement_of(name: str, positional: tuple, keyword: tuple, traced: Traced,
                 mesh: Any) -> Placement | None:
    """The placement of the program of the function called `name`; None where it runs on one device. mesh: the one that
    the user said. Raises `ShardingError` where arguments are on several meshes."""
    leaves = list(_labelled(positional, keyword))
    places = [node[5] if len(node) == 6 else None for _, node in leaves]
    on = common_mesh(name, [(label, place) for (label, _), place in zip(leaves, places, strict=True)], mesh)
    if on is None or on.size == 1:
        return None
    results: list[NamedSharding | None] = [None] * results_of(traced)
    for number, index in traced.written.items():
        results[index] = places[number]
    for index in (*([] if traced.flags is None else [traced.flags]), *(i for told in traced.told for i in told)):
        results[index] = replicated(on)
    devices = [node[3] for _, node in leaves if node[0] == "device"]
    return Placement(on, (*places, *(None for _ in traced.captured)), tuple(results),
                     pads=any(devices) or not devices)


def results_of(traced: Traced) -> int:
    """How many results a program has."""
    with building():
        return len(ir.FunctionType(modules.function(traced.module).attributes["function_type"].value).results)


def _labelled(positional: tuple, keyword: tuple) -> Iterator[tuple[str, tuple]]:
    for number, node in enumerate(positional):
        yield from ((f"Argument {number}", leaf) for leaf in sig.leaf_nodes(node))
    for name, node in keyword:
        yield from ((f"Argument '{name}'", leaf) for leaf in sig.leaf_nodes(node))


def common_mesh(name: str, places: list[tuple[str, NamedSharding | None]], told: Any) -> Mesh | None:
    """The one mesh that labelled arguments are on; None where they are on none."""
    found = None if told is None else mesh_of(told)
    first = "the function was given"
    for label, place in places:
        if place is None:
            continue
        if found is None:
            found, first = place.mesh, f"{label[0].lower()}{label[1:]} is on"
        elif not same_devices(place.mesh, found):
            raise ShardingError(
                f"{label} of '{name}' is on another mesh ({_mesh(place.mesh)}) than the one that {first} "
                f"({_mesh(found)}). Put it there: reactant.array(x, sharding=mesh.sharding(...)), where "
                f"{shown(place)} is its sharding now.")
    return found


def same_devices(one: Mesh, other: Mesh) -> bool:
    """Whether two meshes are the same but for what jax calls the types of their axes."""
    return one is other or one.axis_names == other.axis_names and one.devices.shape == other.devices.shape \
        and all(a is b for a, b in zip(one.devices.flat, other.devices.flat, strict=True))


def _mesh(mesh: Mesh) -> str:
    axes = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
    others = "" if mesh.devices.flat[0] is jax.devices()[0] else f" from device {mesh.devices.flat[0].id} on"
    return f"{axes}{others}"
