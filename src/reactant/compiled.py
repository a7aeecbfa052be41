"""A traced function on its way to XLA: `Lowered` (StableHLO, before and after our passes) and `Compiled` (callable)."""
from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant import jax_derivatives, pipelines
from reactant import signature as sig
from reactant.errors import OverlapError, ReactantError, UnsupportedError
from reactant.frontends.numpy.promotion import ARRAY, PYTHON, SCALAR
from reactant.ir import cost, modules
from reactant.ir.context import building
from reactant.named_tuples import beside, is_named_tuple
from reactant.options import CompileOptions
from reactant.recent import Matcher
from reactant.records import dataclass
from reactant.runtime import pairwise_sums, special_functions
from reactant.runtime.array import DeviceArray
from reactant.runtime.devices import default_device
from reactant.runtime.executable import Executable
from reactant.runtime.jax_internals import NO_TRANSFORMATION, transformation
from reactant.runtime.layout import are_distinct
from reactant.simplify import target
from reactant.traced import Known, Maybe, OfArgument, Result, Rows, Sized, Traced

if TYPE_CHECKING:
    from reactant.native.straight import Straight


@dataclass
class Times:
    """Where compile time went, in seconds."""

    trace: float = 0.0
    passes: float = 0.0
    xla: float = 0.0
    native: float = 0.0


class Lowered:
    """A program before XLA. `original` is the bytecode of the module as traced (only kept by `.lower`)."""

    as_jax = False
    """Whether results are those of jax, which has other special functions and sums, and may round twice."""

    def __init__(self, name: str, traced: Traced, original: bytes | None, report: Any, times: Times,
                 options: CompileOptions, on_device: bool = False):
        self.on_device = on_device      # some argument is a device array: results stay on the device
        self.name, self.traced, self._bytecode, self.report = name, traced, original, report
        self.times, self.options = times, options
        self.notes: list[str] = []      # what was compiled natively
        self._little = False            # whether several threads would not be faster
        self.call: Callable[[tuple, dict], tuple[list, tuple, dict]] | None = None
        """What checks the arguments of a call, and takes them apart."""

    @functools.cached_property
    def original(self) -> ir.Module | None:
        """The StableHLO module as traced."""
        if self._bytecode is None:
            return None
        with building():
            return modules.parse(self._bytecode)

    @property
    def module(self) -> ir.Module:
        """The StableHLO module after our passes."""
        return self.traced.module

    def _module(self, optimized: bool) -> ir.Module:
        if optimized or self.original is None:
            return self.traced.module
        return self.original

    def as_text(self, optimized: bool = True) -> str:
        """StableHLO text after our passes, or as traced with `optimized=False`."""
        with building():
            return str(self._module(optimized))

    def operations(self, optimized: bool = True) -> dict[str, int]:
        """How many of each operation the module holds, those in regions included."""
        with building():
            return dict(modules.counts(self._module(optimized)))

    def cost(self, optimized: bool = True) -> dict[str, float]:
        """Estimated `flops` and `bytes` of one run; loops count with their trip count where it is known."""
        with building():
            return cost.estimate(self._module(optimized))

    def compile(self) -> Compiled:
        """Compile with XLA, now."""
        compiled = self.program()
        compiled.executable.compile(on_device=self.on_device)
        return compiled

    def program(self) -> Compiled:
        """The program as XLA gets it, compiled when it is first called or looked at: for the arguments it has then."""
        with building():
            native = self.native_module(None)
            executable = Executable(self.traced.module, name=self.name, xla_options=dict(self.options.xla),
                                    donate=self._donated(), native=native, general=self.report.kept,
                                    callbacks=self.traced.callbacks, straight=self._straight(native),
                                    **self.as_numpy())
        return Compiled(self, executable)

    def _straight(self, native: ir.Module | None) -> Straight | None:
        """The program without XLA, where it is nothing but native code and too little for several threads."""
        if self.on_device or self.traced.callbacks or self.options.xla or self.options.native == "never" \
                or self.options.target not in (None, "cpu") or default_device().jax.platform != "cpu":
            return None
        from reactant.native.straight import straight
        found = straight(self.module if native is None else native, self._little)
        if found is not None:
            self.notes.append("runs without XLA: there is nothing but native code")
        return found

    def as_numpy(self) -> dict[str, Any]:
        """What of `Executable` makes it compute what NumPy computes, as far as the options say so."""
        from reactant.native import denormals, ffi
        on_cpu = default_device().jax.platform == "cpu"
        return {"contract": "contraction" in self.options.allow,
                "prelude": denormals.target() if on_cpu and self.options.denormals and ffi.usable() else None}

    def native_module(self, device: jax.Device | None) -> ir.Module | None:
        """The module with calls of native code in it, where some parts run faster so on a CPU; `notes` says which."""
        self.notes = list(getattr(self.traced, "remarks", ()))
        platform = (device if device is not None else default_device().jax).platform
        if platform == "cpu" and self.options.target == "gpu":
            from reactant.kernels import ptx_call
            return ptx_call.for_cpu(self.module)
        if platform != "cpu" or self.options.native == "never" or self.options.target not in (None, "cpu"):
            return None
        from reactant import loopnests
        from reactant.native import bounds, red_zones
        start = time.perf_counter()
        source, kept = self.module, getattr(self.report, "kept", None)
        if kept is not None:
            source = modules.parse(kept)
            if not self.as_jax:
                source = pairwise_sums.kept(special_functions.written_out(source), flattened=False)
            with target.for_loops():
                pipelines.run(source, "native", options=self.options, settled=self.report.settled)
        found = loopnests.native_form(source, self.options.native, handed_over=self.on_device,
                                      straight=not (self.on_device or self.as_jax),
                                      seconds=self.options.native_seconds)
        if found is not None and kept is not None:
            pipelines.run(found.module, "target", options=self.options)
        self.times.native = time.perf_counter() - start
        self.notes += found.notes if found is not None else ()
        self._little = found is not None and found.little
        made = found.module if found is not None else None
        if bounds.wanted():
            made = made or modules.clone(self.module)
            red_zones.around_lapack(made)
        return made

    def _donated(self) -> tuple[int, ...]:
        return tuple(self.traced.written) if self.options.donate else ()


class Compiled:
    """A compiled program and how to call it with the user's arguments."""

    def __init__(self, lowered: Lowered, executable: Executable):
        self.lowered, self.executable = lowered, executable
        self._traced = lowered.traced
        self._simple = self._is_simple()
        self._kind = self._traced.result.kind if self._simple else ""
        self._recipe = None if self._simple else recipe_of(self._traced)
        self._written = self._traced.written.keys() | self._traced.written_copies
        self._simple_on_device = self._recipe is not None and lowered.on_device and self._nothing_more()
        self.matches: Matcher | None = None     # tells calls of this signature
        self.passing = any(isinstance(array, jax.core.Tracer) for array in self._traced.captured)
        """Whether the program reads what JAX is tracing around this call, and so is for this call only."""

    # -- looking at it

    def as_text(self) -> str:
        """XLA's HLO after its optimisations."""
        return self.executable.as_text(on_device=self.lowered.on_device)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's own estimate: flops, bytes accessed, transcendentals."""
        return self.executable.cost_analysis(on_device=self.lowered.on_device)

    def memory_analysis(self) -> Any:
        """XLA's sizes in bytes of arguments, results, temporaries and code."""
        return self.executable.memory_analysis(on_device=self.lowered.on_device)

    @property
    def times(self) -> Times:
        """Where compile time went."""
        self.lowered.times.xla = self.executable.compile_seconds
        return self.lowered.times

    # -- calling it

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run with arguments of the signature it was lowered for."""
        if self.lowered.call is not None:
            return self.run(*self.lowered.call(args, kwargs))
        flat = sig.Flattener()
        for a in args:
            flat.node(a)
        for name in sorted(kwargs):
            flat.node(kwargs[name])
        return self.run(flat.leaves, args, kwargs)

    def _is_simple(self) -> bool:
        """One result, an array or a number of NumPy's, nothing written, nothing checked: the call needs no recipe."""
        t = self._traced
        return (isinstance(t.result, Result) and not t.result.steps and not t.updates and self._nothing_more()
                and not self.lowered.on_device)

    def _nothing_more(self) -> bool:
        """Nothing written, checked, said or read but arguments and results."""
        t = self._traced
        return not t.written and not t.written_copies and t.flags is None and not t.captured and t.spoken is None

    def run(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        """Call with flattened arguments; `args` and `kwargs` are the caller's, for write-back."""
        if self._simple:
            result = self.executable(leaves)[0]
            return result if self._kind == ARRAY else _leaf(result, self._kind)
        if self._simple_on_device and transformation.value is NO_TRANSFORMATION:
            return self._run_simply_on_device(leaves)
        if self._written:
            _refuse_overlap(leaves, self._written)
        if self.lowered.on_device or self.passing:
            return self._run_on_device(leaves, args, kwargs)
        results = self._completed(self.executable, [*leaves, *self._traced.captured])
        for number, index in self._traced.written.items():
            np.copyto(leaves[number], results[index], casting="equiv")
        return self._deliver(results, leaves, args, kwargs)

    def _run_simply_on_device(self, leaves: list) -> Any:
        """As `_run_on_device`: arguments in, results out."""
        held, given = False, []
        for leaf in leaves:
            if type(leaf) is DeviceArray:
                held = True
                leaf = leaf.jax
            given.append(leaf)
        results: list[Any] = self.executable.on_device(given)
        assert self._recipe is not None
        return self._recipe([DeviceArray(r) for r in results] if held else results)

    def _run_on_device(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        plain = [leaf.jax if type(leaf) is DeviceArray else leaf for leaf in leaves]
        arrays = [*plain, *self._traced.captured]
        if self.passing or any(isinstance(leaf, jax.core.Tracer) for leaf in plain):
            results = self.executable.traced(arrays)
            if self._traced.written:
                raise ReactantError("A function that writes into its arguments cannot be part of a jax.jit program: "
                                    "jax arrays do not change. Return the new array instead.")
            return self._deliver(results, leaves, args, kwargs)
        results = self._completed(self.executable.on_device, arrays)
        if any(type(leaf) is DeviceArray for leaf in leaves):
            results = [DeviceArray(r) for r in results]
        for number, index in self._traced.written.items():
            if type(leaves[number]) is DeviceArray:
                leaves[number].replace(results[index].jax)
            elif isinstance(leaves[number], np.ndarray):
                np.copyto(leaves[number], np.asarray(results[index]), casting="equiv")
            else:
                raise ReactantError("The function writes into an argument that is a jax.Array, which cannot change. "
                                    "Pass reactant.array(x) instead.")
        return self._deliver(results, leaves, args, kwargs)

    def _completed(self, program: Callable[[list], list], arrays: list) -> list:
        """The results of a run in which no check has failed."""
        spoken = None if self.lowered.options.donate else self._traced.spoken
        with spoken.kept() if spoken is not None else contextlib.nullcontext():
            results = program(arrays)
            self._raise_failed(results)
        return results

    def _raise_failed(self, results: list) -> None:
        """Raise the exception of the first run-time check that failed."""
        if self._traced.flags is not None:
            flags = np.asarray(results[self._traced.flags])
            if not flags.all():
                first = int(np.argmin(flags))
                told = self._traced.told[first] if self._traced.told else ()
                raise self._traced.errors[first](*(np.asarray(results[index]) for index in told))

    def _deliver(self, results: list, leaves: list, args: tuple, kwargs: dict) -> Any:
        """Build what the function returned, and update the caller's containers."""
        if self._recipe is not None:
            return self._recipe(results)
        roots = (args, kwargs)
        resolve = functools.partial(self._resolved, results, leaves, roots, {})
        result = sig.map_tree(self._traced.result, resolve)
        updates = [(sig.follow(roots, path), sig.map_tree(new, resolve)) for path, new in self._traced.updates]
        for container, new in updates:
            sig.refill(container, new)
        return result

    def _resolved(self, results: list, leaves: list, roots: tuple, made: dict[int, Any], leaf: Any) -> Any:
        """What a leaf of the recipe is in this call."""
        if isinstance(leaf, Result):
            if leaf.layout is not None:
                results[leaf.index] = arranged(results[leaf.index], leaf.layout)
            return _leaf(seen_through(results[leaf.index], leaf.steps), leaf.kind)
        if isinstance(leaf, OfArgument):
            return seen_through(leaves[leaf.number], leaf.steps)
        if isinstance(leaf, sig.Same):
            return sig.follow(roots, leaf.path)
        if isinstance(leaf, Maybe):
            if isinstance(results[leaf.defined], jax.core.Tracer):
                raise UnsupportedError(f"'{self.lowered.name}' returns None on some paths, which the run decides, "
                                       "inside a JAX program. Return a number that says so beside the value.", "")
            return sig.map_tree(leaf.value, functools.partial(self._resolved, results, leaves, roots, made)) \
                if results[leaf.defined] else None
        if isinstance(leaf, (Sized, Rows)):
            resolve = functools.partial(self._resolved, results, leaves, roots, made)
            if any(isinstance(array, jax.core.Tracer) for array in results):
                raise UnsupportedError(f"'{self.lowered.name}' returns what has a run-time size inside a JAX program. "
                                       "Return it at full size, e.g. np.where(mask, x, 0), and a count or mask.", "")
            return made[id(leaf)] if id(leaf) in made else made.setdefault(id(leaf), leaf.made(resolve))
        value = leaf.value if isinstance(leaf, Known) else leaf
        return made.setdefault(id(leaf), value.copy()) if isinstance(value, np.ndarray) else value


def _leaf(array: Any, kind: str | tuple[Any, ...]) -> Any:
    """A program result as the kind of object the function returned."""
    if type(kind) is tuple:
        return kind[array.item()]
    if kind == PYTHON:
        return array.item()
    return array[()] if kind == SCALAR and isinstance(array, np.ndarray) else array


def recipe_of(traced: Traced) -> Callable[[list], Any] | None:
    """What the function returned, of the program's results, as one expression.

    None where it has to be looked at: views, the caller's own objects, containers to be updated, objects.
    """
    known: dict[str, Any] = {"leaf": _leaf}

    text = None if traced.updates else _recipe_text(traced.result, known)
    if text is None:
        return None
    made: Callable[[list], Any] = eval(f"lambda r: {text}", known)
    return made


def _recipe_text(x: Any, known: dict[str, Any]) -> str | None:
    """The expression that makes a part of what the function returned; `known` gets names for what it needs."""
    def named(value: Any) -> str:
        known[f"known{len(known)}"] = value
        return f"known{len(known) - 1}"

    if type(x) is Result:
        if x.steps or x.layout is not None:
            return None
        return f"r[{x.index}]" if x.kind == ARRAY else f"leaf(r[{x.index}], {named(x.kind)})"
    if type(x) is Known:
        return None if isinstance(x.value, np.ndarray) else named(x.value)
    if type(x) not in (tuple, list, dict) and (not is_named_tuple(x) or beside(x)):
        return None
    parts = [_recipe_text(part, known) for part in (x.values() if type(x) is dict else x)]
    if None in parts:
        return None
    if type(x) is dict:
        return "{" + ", ".join(f"{named(key)}: {part}" for key, part in zip(x, parts, strict=True)) + "}"
    items = "".join(f"{part}, " for part in parts)
    if type(x) is list:
        return f"[{items}]"
    return f"({items})" if type(x) is tuple else f"{named(tuple.__new__)}({named(type(x))}, ({items}))"


def arranged(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """The array with its dimensions in memory in the order of `strides`, so that the steps make views where they did
    while tracing."""
    order = np.argsort([-abs(s) for s in strides], kind="stable")
    return np.asarray(array.transpose(order), order="C").transpose(np.argsort(order))     # 0-d stays 0-d


def seen_through(array: Any, steps: tuple) -> Any:
    for step in steps:
        array = step.numpy(array)
    return array


def _refuse_overlap(leaves: list, written: Set[int]) -> None:
    """Arguments that share memory in part cannot be told apart from copies: raise when one of them is written."""
    for number in written:
        target = leaves[number]
        if not isinstance(target, (np.ndarray, DeviceArray)):
            continue
        if isinstance(target, np.ndarray) and not (target.flags.forc or are_distinct(
                target.shape, target.strides, target.itemsize)):
            raise OverlapError(f"Elements of array {number} among the arguments overlap in memory (it is a view by "
                               "as_strided) and the function writes into it. Pass the array that it is a view of.")
        for other, array in enumerate(leaves):
            if other != number and array is not target and _overlap(array, target):
                raise OverlapError(
                    f"Arrays {number} and {other} among the arguments overlap in memory and the function writes into "
                    f"one of them. Pass one array and slice it inside the function, or pass a copy.")


def _overlap(array: Any, target: np.ndarray | DeviceArray) -> bool:
    if isinstance(target, DeviceArray):
        return isinstance(array, DeviceArray) and target.overlaps(array)
    return isinstance(array, np.ndarray) and bool(array.size and target.size) \
        and np.may_share_memory(array, target) and np.shares_memory(array, target)


def pipeline_of(options: CompileOptions) -> Any:
    """The passes that the options name."""
    if options.optimize is True:
        return ("default",)
    if options.optimize is False:
        return ("none", "differentiate")
    chosen = (options.optimize,) if isinstance(options.optimize, str) else options.optimize
    return (*chosen, "differentiate")     # what is asked for in the program is done in any case


jax_derivatives.install()
