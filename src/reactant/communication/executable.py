"""A compiled module for all devices of a mesh, called as `runtime.Executable` is on a device."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import NamedSharding
from jaxlib.mlir import ir

from reactant.communication.automatic import NotPartitioned, Partitioned
from reactant.communication.placement import Placement, by_xla, partitioned
from reactant.communication.traffic import Traffic, traffic
from reactant.errors import translated
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.locations import with_names
from reactant.runtime import program, shards
from reactant.runtime.arguments import converted
from reactant.runtime.array import DeviceArray
from reactant.runtime.jax_internals import (
    NO_TRANSFORMATION,
    X64,
    restore_x64,
    swap_x64,
    transformation,
)
from reactant.runtime.meshes import LAUNCHES
from reactant.runtime.program import Array, Body, Program, Variant, body_of, fitted, run_module

if TYPE_CHECKING:
    from reactant.communication.account import Needed


class MeshExecutable:
    """One StableHLO module on a mesh.

    module: for one device; general: the same before the forms that suit a target. placement: of its arguments and
    results. Arguments that are divided unevenly, and such results, are given and returned with their padding;
    `outputs` are without. The rest as in `runtime.Executable`.
    """

    straight = None
    directly = None

    def __init__(self, module: ir.Module, placement: Placement, *, name: str, general: bytes | None = None,
                 xla_options: Mapping[str, Any] | None = None, donate: Sequence[int] = (), weak: Sequence[int] = (),
                 callbacks: Sequence[Callable] = (), as_jax: bool = False, contract: bool = False,
                 read: tuple[int, ...] | None = None) -> None:
        self.name, self.read, self.placement = name, read, placement
        self.xla_options = dict(xla_options or {})
        self._frozen = partial(body_of, name=name, weak=weak, callbacks=callbacks, as_jax=as_jax, contract=contract)
        self._body: Body = self._frozen(module, general=general)
        made = partitioned(module, general, placement)
        self._general = general
        self.partitioned = made
        self._spread = self._named(made)
        self.arguments, self.results = self._places(made)
        self._variant = Variant(donated=tuple(sorted(donate)))
        self._program: Program | None = None
        self._run: Any = None
        self._on_cpu = placement.mesh.devices.flat[0].platform == "cpu"
        self._lock = threading.Lock()

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Shape and dtype of each argument, without padding."""
        return self._body.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Shape and dtype of each result, without padding."""
        return self._body.outputs

    @property
    def compile_seconds(self) -> float:
        """Seconds spent in lowering and XLA so far."""
        return self._program.seconds if self._program else 0.0

    def compile(self, *, on_device: bool = True) -> MeshExecutable:
        """Compile now; returns itself."""
        self._compiled()
        return self

    def on_device(self, arguments: Sequence[Any]) -> list[jax.Array]:
        """Run on arrays of jax's and of ours; results stay where they are made. Arguments that lie elsewhere are put
        where the program wants them.

        Returns before the results are computed, unless an argument is a NumPy array.
        """
        given = [x.buffer if type(x) is DeviceArray else x for x in arguments]
        run = self._run
        if run is None or transformation.value is not NO_TRANSFORMATION:
            run = self._compiled().run
        before = swap_x64(True)
        try:
            try:
                results: list[jax.Array] = run(*given)
            except (TypeError, ValueError) as error:
                if (known := translated(error)) is not error:
                    raise known from None
                results = run(*self._placed(arguments))
        finally:
            restore_x64(before)
        if self._run is None:
            self._run = self._compiled().shortest()
        if self._on_cpu:
            LAUNCHES.note(results)
        for argument in given:
            if type(argument) is not jax.Array and isinstance(argument, np.ndarray):
                jax.block_until_ready(results)
                break
        return results

    def _placed(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments in the dtypes that the program takes, on the mesh."""
        given = [x.jax if type(x) is DeviceArray else x for x in arguments]
        return [shards.from_device(x, place) if isinstance(x, jax.Array) else shards.from_host(x, place)
                for x, place in zip(converted(given, self.inputs, self.name), self.arguments, strict=True)]

    def traced(self, arguments: Sequence[Any]) -> list[Any]:
        """The module as part of what an outer `jax.jit` is tracing, which places it."""
        with X64():
            return run_module.bind(*fitted(list(arguments), self._body.inputs), body=self._body)

    def as_text(self, *, on_device: bool = True) -> str:
        """XLA's HLO of one device's part, after its optimisations."""
        return str(self._compiled().compiled.as_text())

    def cost_analysis(self, *, on_device: bool = True) -> dict[str, float]:
        """XLA's own estimate for one device: flops, bytes accessed, transcendentals."""
        found = self._compiled().compiled.cost_analysis()
        return dict(found[0] if isinstance(found, list) else found or {})

    def memory_analysis(self, *, on_device: bool = True) -> Any:
        """XLA's sizes in bytes, for one device."""
        return self._compiled().compiled.memory_analysis()

    def traffic(self, *, divided_by_xla: bool = False) -> Traffic:
        """What one run moves between devices; or what it would if XLA divided the program, which is compiled to see."""
        if not divided_by_xla:
            return traffic(self.as_text(), program.__file__)
        with building():
            made = by_xla(modules.parse(self._body.bytecode), self.placement)
        other = Program(self._named(made), Variant(), self.xla_options, places=self._places(made))
        return traffic(str(other.compiled.as_text()), program.__file__)

    def needed(self) -> list[Needed]:
        """What moves between devices, and why; nothing where XLA divides the program."""
        from reactant.communication.account import account
        with building():
            try:
                return account(modules.parse(self._general or self._body.bytecode), self.placement.shape,
                               self.partitioned.inputs, self.partitioned.outputs, self.placement.pads)
            except NotPartitioned:
                return []

    def _compiled(self) -> Program:
        with self._lock:
            if self._program is None:
                self._program = Program(self._spread, self._variant, self.xla_options,
                                        places=(self.arguments, self.results))
            return self._program

    def _named(self, made: Partitioned) -> Body:
        """What jax compiles of a divided program. Lines get names: XLA takes it through Shardy, where other locations
        are lost, and instructions have that of jax's call, in our code."""
        with building():
            for op in modules.walk(made.module):
                op.location = with_names(op.location, op.name.rpartition(".")[2], self.name)
        return self._frozen(made.module)

    def _places(self, made: Partitioned) -> tuple[tuple[NamedSharding, ...], list[NamedSharding]]:
        """Where arguments and results of a divided program lie."""
        return tuple(map(self.placement.named, made.inputs)), list(map(self.placement.named, made.outputs))

    def __repr__(self) -> str:
        return f"<MeshExecutable {self.name}({', '.join(map(str, self.inputs))}) on {self.placement.shape}>"
