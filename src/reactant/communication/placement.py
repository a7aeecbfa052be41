"""On which mesh a program runs, and how its arguments and results lie there.

`partitioned` is the one place where it is decided who divides the program.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from jax.sharding import Mesh, NamedSharding
from jaxlib.mlir import ir

from reactant.communication import automatic
from reactant.communication.automatic import NotPartitioned, Partitioned, even
from reactant.communication.propagation import propagated
from reactant.communication.sharding import MeshShape, Sharding
from reactant.ir import modules, types
from reactant.ir.context import building
from reactant.runtime.meshes import axes_of, spec_of
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Placement:
    """Where a program runs. For each argument and result of its module the sharding that it has, None: any.

    pads: whether results may rest padded, which jax's arrays cannot. strict: the results that may be gathered, where
    nothing else may.
    """

    mesh: Mesh
    arguments: tuple[NamedSharding | None, ...]
    results: tuple[NamedSharding | None, ...]
    pads: bool = True
    strict: frozenset[int] | None = None

    @cached_property
    def shape(self) -> MeshShape:
        """The mesh without its devices."""
        return MeshShape(tuple(map(str, self.mesh.axis_names)), tuple(self.mesh.devices.shape))

    def read(self, numbers: Sequence[int] | None) -> Placement:
        """The same of a program that takes some of the arguments."""
        if numbers is None:
            return self
        return replace(self, arguments=tuple(self.arguments[n] for n in numbers))

    def of_results(self, count: int) -> Placement:
        """The same of a program with so many results, which may lie anywhere."""
        return replace(self, results=(None,) * count)

    def named(self, sharding: Sharding) -> NamedSharding:
        """A sharding as jax says it."""
        return NamedSharding(self.mesh, spec_of(sharding.axes))


def partitioned(module: ir.Module, general: bytes | None, placement: Placement) -> Partitioned:
    """The program for all devices of the mesh. module: for one device. general: before the forms that suit a target,
    where that is kept."""
    from reactant.communication.partition import partition  # which takes 12 ms to load, for meshes alone
    try:
        with building():
            return partition(module if general is None else modules.parse(general), placement.shape,
                             *_given(module, placement), placement.pads, placement.strict)
    except NotPartitioned as error:
        if placement.strict is not None:
            from reactant.communication.strict import refused
            raise refused(error) from None
    return by_xla(module, placement)


def by_xla(module: ir.Module, placement: Placement) -> Partitioned:
    """The same as XLA divides it."""
    mesh, (_, results) = placement.shape, _types(module)
    inputs, outputs = propagated(module, mesh, *_given(module, placement))
    if not placement.pads:
        outputs = tuple(told if given is not None else even(told, mesh, types.shape_and_dtype(kind)[0])
                        for told, given, kind in zip(outputs, placement.results, results, strict=True))
    return automatic.partition(module, mesh, inputs, outputs)


def _given(module: ir.Module, placement: Placement) -> tuple[list[Sharding | None], list[Sharding | None]]:
    arguments, results = _types(module)
    return _shardings(placement.arguments, arguments), _shardings(placement.results, results)


def _types(module: ir.Module) -> tuple[list[ir.Type], list[ir.Type]]:
    with building():
        kind = ir.FunctionType(modules.function(module).attributes["function_type"].value)
        return list(kind.inputs), list(kind.results)


def _shardings(given: Sequence[NamedSharding | None], kinds: Sequence[ir.Type]) -> list[Sharding | None]:
    return [None if each is None else Sharding(axes_of(each, len(types.shape_and_dtype(kind)[0])))
            for each, kind in zip(given, kinds, strict=True)]
