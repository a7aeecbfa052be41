"""What a user says of a function's arguments and results: `in_shardings` and `out_shardings`. Cheap: no compiler."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from reactant.errors import ShardingError
from reactant.runtime.meshes import canonical, mesh_of
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Told:
    """What `in_shardings` and `out_shardings` say of a function with parameters of these `names`. brought: how many
    arguments come before those that the user gives."""

    arguments: Any = None
    results: Any = None
    names: tuple[str, ...] = ()
    brought: int = 0

    def of_argument(self, place: int | str) -> Any:
        """The sharding of an argument, by its position or name; None where nothing is said."""
        said = self.arguments
        if isinstance(said, dict):
            return said.get(self.names[place] if isinstance(place, int) and place < len(self.names) else place)
        if not is_several(said):
            return said
        if isinstance(place, str):
            place = self.names.index(place) if place in self.names else len(said) + self.brought
        return said[place - self.brought] if 0 <= place - self.brought < len(said) else None


def on_mesh(said: Any, mesh: Any) -> Any:
    """What the user said, in a tree of any kind, with the mesh where there are only names of axes."""
    def placed(each: Any) -> Any:
        return NamedSharding(mesh_of(mesh), each) if isinstance(each, PartitionSpec) and mesh is not None else each
    return jax.tree_util.tree_map(placed, said, is_leaf=lambda each: isinstance(each, (PartitionSpec, Sharding)))


def is_several(said: Any) -> bool:
    return isinstance(said, (tuple, list, dict)) and not isinstance(said, PartitionSpec)


def named_in(said: Any) -> Iterator[NamedSharding]:
    """The shardings in what the user said. Raises `TypeError` for what is none."""
    if is_several(said):
        for each in said.values() if isinstance(said, dict) else said:
            yield from named_in(each)
    elif isinstance(said, NamedSharding):
        yield said
    elif said is not None and not isinstance(said, PartitionSpec):
        raise TypeError(f"in_shardings and out_shardings are mesh.sharding(\"x\", ...), jax's NamedSharding or "
                        f"PartitionSpec, and tuples and dicts of such, not {type(said).__name__}.")


def sharding_on(mesh: Mesh, said: Any, rank: int) -> NamedSharding | None:
    """What the user said of arrays, for one of them; it says nothing of those that have too few dimensions."""
    if said is None:
        return None
    if is_several(said):
        raise ShardingError("in_shardings has one sharding for each argument, which is that of every array in it.",
                            hint="Give a tuple with one sharding for each.", code="sharding-mismatch")
    spec = said if isinstance(said, PartitionSpec) else said.spec
    return canonical(NamedSharding(mesh, spec), rank) if len(spec) <= rank else None
