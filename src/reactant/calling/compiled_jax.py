"""A JAX function on its way to XLA: its module through our passes, or left to `jax.jit` with the reason on record."""
from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.calling.compiled import Times
from reactant.calling.jax_calls import JaxCompiled
from reactant.calling.lowered import Lowered, pipeline_of
from reactant.calling.placing import common_mesh, passes_of
from reactant.calling.shardings import Told
from reactant.calling.traced import Traced
from reactant.communication.executable import MeshExecutable
from reactant.communication.placement import Placement
from reactant.communication.traffic import Traffic, traffic
from reactant.errors import ReactantError, ShardingError, in_one_line
from reactant.frontends.jax import importing as jax_way
from reactant.frontends.jax.jax_arguments import Settings, argument_leaves, donated_leaves
from reactant.frontends.jax.refusals import CannotImport, Failed
from reactant.ir import modules
from reactant.ir.context import building
from reactant.options import CompileOptions
from reactant.rewrite import Report
from reactant.runtime.array import DeviceArray
from reactant.runtime.direct import may_change
from reactant.runtime.executable import Executable
from reactant.runtime.meshes import LAUNCHES, canonical, mesh_of, spread
from reactant.support import progress


class JaxLowered(Lowered):
    """A JAX program before XLA. `reason` says why it was left to `jax.jit`, and is empty where it was not."""

    reason: str = ""
    as_jax = True

    def __init__(self, name: str, imported: jax_way.Imported, original: bytes | None, report: Report, times: Times,
                 options: CompileOptions, settings: Settings, donated: tuple[int, ...], device: jax.Device | None,
                 static: tuple):
        super().__init__(name, Traced(imported.module, None), original, report, times, options, on_device=True)
        self.imported, self.settings, self.donated = imported, settings, donated
        self.place = imported.place if device is None else None     # arguments say it themselves
        self.device = next(iter(self.place.device_set)) if self.place else device
        self.static = static        # of the call, as `argument_leaves` gives it

    def compile(self) -> JaxCompiled:
        """Compile with XLA, now."""
        compiled = self.program(directly=False)
        compiled.executable.compile(on_device=True)
        return compiled

    def program(self, directly: bool = True) -> JaxCompiled:
        """The program as XLA gets it, compiled when it is first called; `directly`: in the way of `jax.jit`."""
        if self.placement is not None:
            return JaxCompiled(self, MeshExecutable(
                self.module, self.placement, name=self.name, xla_options=dict(self.options.xla), donate=self.donated,
                weak=self._weak(), general=self.report.kept, callbacks=self.imported.callbacks, as_jax=self.as_jax,
                contract=not self.options.floats), False)
        with building():
            executable = Executable(
                self.module, name=self.name, xla_options=dict(self.options.xla), donate=self.donated,
                device=self.device, weak=self._weak(),
                native=self.native_module(self.device), general=self.report.kept,
                callbacks=self.imported.callbacks, as_jax=self.as_jax, contract=not self.options.floats)
        return JaxCompiled(self, executable, directly and not self.options.donate)

    def _weak(self) -> list[int]:
        """The results that have weak types."""
        return [i for i, out in enumerate(self.imported.outputs) if out.weak_type]


class LeftToJax(JaxCompiled):
    """A call that `jax.jit` runs as it is."""

    def prepare(self, args: tuple, kwargs: dict) -> None:
        """`jax.jit` compiles at the call."""

    def __init__(self, jitted: Any, reason: str, lowered: Any = None, given: Any = ()):
        """given: arguments of the calls."""
        self.jitted, self.reason, self.direct = jitted, reason, None
        leaves = jax.tree_util.tree_leaves(given)
        self.plain = any(type(leaf) is DeviceArray for leaf in leaves)      # it gets their content
        self.launches = jax.default_backend() == "cpu" and any(
            type(leaf) is DeviceArray or isinstance(leaf, jax.Array) and spread(leaf) is not None for leaf in leaves)
        if lowered is not None:
            self.lowered, self.executable = lowered, lowered.by_jax

    def traffic(self, *, divided_by_xla: bool = True) -> Traffic:
        """What one run moves between devices, as XLA divides it."""
        return traffic(self.as_text())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What `jax.jit` gives."""
        if self.plain:
            args, kwargs = plain((args, kwargs))
        result = self.jitted(*args, **kwargs)
        if self.launches:
            LAUNCHES.note(result)
        if may_change(args, kwargs):
            jax.block_until_ready(result)
        return result

    def run(self, leaves: list[Any], args: tuple, kwargs: dict) -> Any:
        """What `jax.jit` gives."""
        return self(*args, **kwargs)


class LoweredByJax(JaxLowered):
    """A program that stays as JAX lowered it."""

    def __init__(self, jitted: Any, name: str, reason: str, args: tuple, kwargs: dict, options: CompileOptions):
        times, begun = Times(), time.perf_counter()
        lowered = jitted.lower(*args, **kwargs)
        times.trace = time.perf_counter() - begun
        module = _own(lowered.compiler_ir("stablehlo"))
        original = modules.bytecode(module)
        Lowered.__init__(self, name, Traced(module, None), original, Report(), times, options, on_device=True)
        self.jitted, self.reason, self.by_jax = jitted, reason, _ByJax(lowered)

    def compile(self) -> LeftToJax:
        """Compile with JAX."""
        self.by_jax.compile()
        return LeftToJax(self.jitted, self.reason, self)


class _ByJax:
    """A `jax.stages.Lowered`, to be looked at as an `Executable` is."""

    def __init__(self, lowered: Any):
        self._lowered = lowered
        self._compiled: Any = None
        self.compile_seconds = 0.0

    def compile(self, *, on_device: bool = True) -> _ByJax:
        if self._compiled is None:
            begun = time.perf_counter()
            self._compiled = self._lowered.compile()
            self.compile_seconds = time.perf_counter() - begun
        return self

    def as_text(self, *, on_device: bool = True) -> str:
        return str(self.compile()._compiled.as_text())

    def cost_analysis(self, *, on_device: bool = True) -> dict[str, float]:
        found = self.compile()._compiled.cost_analysis()
        return dict(found[0] if isinstance(found, list) else found or {})

    def memory_analysis(self, *, on_device: bool = True) -> Any:
        return self.compile()._compiled.memory_analysis()


def _own(theirs: ir.Module) -> ir.Module:
    """A module of jax's context, in ours."""
    buffer = io.BytesIO()
    with theirs.context:
        theirs.operation.write_bytecode(buffer)
    with building():
        return modules.parse(buffer.getvalue())


def lower(keeping: Any, settings: Settings, name: str, args: tuple, kwargs: dict, options: CompileOptions,
          told: Told | None = None, keep_original: bool = False) -> JaxLowered:
    """Import the module of one call and run our passes. `keeping` is the function under `jax_way.importer`; told: what
    the user said of where arguments and results lie.

    Raises `CannotImport` where the call has to be left to `jax.jit`, `Failed` where a pass fails on it, and
    `UnknownPass` for names that the options have and nobody else.
    """
    passes = pipelines.resolve(pipeline_of(options))
    pipelines.require_known(options)
    if settings.reason:
        raise CannotImport(settings.reason)
    told = told or Told()
    leaves, tree, static = argument_leaves(settings, args, kwargs)
    if told.arguments is not None and kwargs:
        raise CannotImport("in_shardings are for arguments by position")
    asked = _asked(None if told.arguments is None else (told.arguments, None), tree, leaves)
    placement = _placement_of(name, leaves, options, asked, told)
    device = None if placement is not None else _device_of(leaves)
    if placement is not None:
        args, kwargs = jax.tree_util.tree_map(_described, (args, kwargs))
    times, begun = Times(), time.perf_counter()
    with building():
        with progress.step(f"JAX traces {name!r}"):
            imported = _imported(keeping, args, kwargs, placement)
        times.trace = time.perf_counter() - begun
        if jax.tree_util.tree_structure(argument_trees(settings, args, kwargs)) != imported.in_tree:
            raise CannotImport("jax.jit groups the arguments in another way than they are given")
        original = modules.bytecode(imported.module) if keep_original else None
        begun = time.perf_counter()
        with _refusing(), progress.step(f"simplifying the program of {name!r}"):
            report = pipelines.run(imported.module, passes, options=passes_of(options, placement))
        times.passes = time.perf_counter() - begun
    donated = usable(imported) if options.donate else donated_leaves(settings, args, kwargs)
    lowered = JaxLowered(name, imported, original, report, times, options, settings, donated, device, static)
    if placement is not None:
        results = _asked(told.results, imported.out_tree, imported.outputs)
        wanted = frozenset(i for i, each in enumerate(results) if each is not None)
        strict = None if placement.strict is None else wanted
        lowered.placement = replace(placement, results=tuple(results), strict=strict)
    if options.shard == "auto":
        lowered.choose(_labels(imported), {})
    return lowered


def _imported(keeping: Any, args: tuple, kwargs: dict, placement: Placement | None) -> jax_way.Imported:
    """The module of a call, for one device. What asks the types of arguments how they lie is left to jax."""
    try:
        return jax_way.lower_call(keeping, args, kwargs, callbacks=True)
    except CannotImport:
        raise
    except Exception as error:
        if placement is None or jax.sharding.AxisType.Explicit not in placement.mesh.axis_types:
            raise
        raise CannotImport(f"types say how arrays are sharded ({error})") from error


def _labels(imported: jax_way.Imported) -> list[str]:
    """What the arguments of a module are called: their places in the call."""
    tree = jax.tree_util.tree_unflatten(imported.in_tree, range(len(imported.inputs)))
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [f"argument {jax.tree_util.keystr(path[1:]).strip('.')}" for path, _ in paths]


def argument_trees(settings: Settings, args: tuple, kwargs: dict) -> Any:
    """The run-time arguments as jax flattens them."""
    leaves, tree, _ = argument_leaves(settings, args, kwargs)
    return jax.tree_util.tree_unflatten(tree, leaves)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """A pass that fails on a module is a reason to leave it to jax.jit, not to fail the user's call."""
    try:
        yield
    except ReactantError as error:
        raise Failed(f"a pass failed: {in_one_line(error)}") from error


def usable(imported: jax_way.Imported) -> tuple[int, ...]:
    """Arguments whose memory a result can take: of its shape and dtype, each result once."""
    free = [(out.shape, out.dtype) for out in imported.outputs]
    found = []
    for number, aval in enumerate(imported.inputs):
        if (aval.shape, aval.dtype) in free:
            free.remove((aval.shape, aval.dtype))
            found.append(number)
    return tuple(found)


def plain(tree: Any) -> Any:
    """A tree with the content of our device arrays in their place."""
    return jax.tree_util.tree_map(lambda x: x.jax if type(x) is DeviceArray else x, tree)


def _described(x: Any) -> Any:
    """What jax traces as an array that is nowhere, of one that is on a mesh."""
    if type(x) is DeviceArray:
        return jax.ShapeDtypeStruct(x.shape, x.dtype)
    if isinstance(x, jax.Array) and spread(x) is not None:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type)
    return x


def _asked(said: Any, tree: Any, leaves: Sequence[Any]) -> list[NamedSharding | None]:
    """What the user said of each leaf of a tree, in a prefix of it. Raises `CannotImport` for what only jax knows, or
    refuses."""
    if said is None:
        return [None] * len(leaves)
    full = jax.tree_util.tree_unflatten(tree, range(len(leaves)))
    try:
        found = jax.tree_util.tree_leaves(jax.tree.broadcast(said, full, is_leaf=_says), is_leaf=_says)
    except ValueError as error:
        raise CannotImport(f"shardings do not fit what they are for ({error})") from error
    for leaf, each in zip(leaves, found, strict=True):
        if each is None:
            continue
        if type(each) is not NamedSharding or each.mesh.size == 1:
            raise CannotImport("jax.jit was given shardings that are none of a mesh")
        shape = np.shape(leaf)
        try:
            each.shard_shape(shape)
        except ValueError as error:
            raise CannotImport(f"an array does not divide so ({error})") from error
        if isinstance(leaf, jax.Array) and leaf.committed and not leaf.sharding.is_equivalent_to(each, len(shape)):
            raise CannotImport("an argument lies otherwise than in_shardings say")
    return [each and canonical(each, len(np.shape(leaf))) for leaf, each in zip(leaves, found, strict=True)]


def _says(each: Any) -> bool:
    return each is None or isinstance(each, jax.sharding.Sharding)


def _placement_of(name: str, leaves: Sequence[Any], options: CompileOptions, asked: Sequence[NamedSharding | None],
                  said: Told) -> Placement | None:
    """Where a call with such arguments runs, if on several devices; its results may lie anywhere there."""
    told = options.mesh
    lie = [spread(x.buffer) if type(x) is DeviceArray else spread(x) if isinstance(x, jax.Array) else None
           for x in leaves]
    places = [one or other for one, other in zip(asked, lie, strict=True)]
    results = [("out_shardings", each) for each in jax.tree_util.tree_leaves(said.results)]
    if not any(places) and not results and (told is None or mesh_of(told).size == 1):
        return None
    if any(type(each) is not NamedSharding or each.mesh.size == 1 for _, each in results):
        raise CannotImport("jax.jit was given out_shardings")
    try:
        given = [(f"Argument {n}", place) for n, place in enumerate(places) if place]
        mesh = common_mesh(name, given + results, told)
    except ShardingError as error:
        if told is not None:
            raise
        raise CannotImport("arguments are on several meshes") from error
    for leaf, place in zip(leaves, places, strict=True):
        if place is None and isinstance(leaf, jax.Array) and leaf.committed:
            raise CannotImport("arguments are placed on several devices")
        if isinstance(leaf, (jax.Array, DeviceArray)) and place is not None \
                and jax.dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype:
            raise CannotImport("an array of 64 bits cannot be described where jax_enable_x64 is off")
    return Placement(mesh, tuple(places), (), any(type(x) is DeviceArray for x in leaves),
                     frozenset() if options.shard == "strict" else None)


def _device_of(leaves: Sequence[Any]) -> jax.Device | None:
    """The one device that arguments are committed to, if any."""
    shardings = {leaf.sharding for leaf in leaves if isinstance(leaf, jax.Array) and leaf.committed}
    if not shardings:
        return None
    if len(shardings) > 1 or len(next(iter(shardings)).device_set) > 1:
        raise CannotImport("arguments are placed on several devices")
    (device,) = next(iter(shardings)).device_set
    if shardings != {jax.sharding.SingleDeviceSharding(device)}:
        raise CannotImport("arguments have a sharding or memory kind of their own")
    return device
