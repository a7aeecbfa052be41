"""A traced function on its way to XLA: `Lowered` (StableHLO, before and after our passes) and `Compiled` (callable)."""
from __future__ import annotations

import contextlib
import functools
import operator
import time
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant import loopnests, pipelines
from reactant.calling import jax_derivatives
from reactant.calling import signature as sig
from reactant.calling.delivery import leaf_of, recipe_of
from reactant.calling.recent import Matcher, is_laid, is_plain, matcher
from reactant.calling.traced import Result, Traced
from reactant.communication.executable import MeshExecutable
from reactant.communication.placement import Placement
from reactant.communication.traffic import Traffic
from reactant.errors import OverlapError, ReactantError, ShardingError
from reactant.frontends.arrays.promotion import ARRAY
from reactant.ir import cost, modules
from reactant.ir.context import building
from reactant.ir.laid_out import Orders, inverse, turn
from reactant.ir.unread import Forms, without_unread
from reactant.legalize import pairwise_sums, special_functions
from reactant.loopnests.calls import product_calls
from reactant.native import bounds, denormals, ffi, red_zones
from reactant.options import CompileOptions
from reactant.runtime.array import DeviceArray
from reactant.runtime.devices import default_device
from reactant.runtime.executable import Executable
from reactant.runtime.jax_internals import NO_TRANSFORMATION, transformation
from reactant.runtime.layout import are_distinct
from reactant.runtime.pool import empty
from reactant.simplify.target import target
from reactant.support import progress
from reactant.support.records import dataclass

if TYPE_CHECKING:
    from reactant.communication.choosing import Choice
    from reactant.native.straight import Straight


@dataclass
class Times:
    """Where compile time went, in seconds."""

    trace: float = 0.0
    passes: float = 0.0
    xla: float = 0.0
    native: float = 0.0


AS_IT_LIES = ("reduce_of_transpose", "dot_of_transpose_on_left", "dot_of_transpose_on_right")
"""What reads arrays as they lie in memory, in programs that take them so."""


class Lowered:
    """A program before XLA; made by `Jitted.lower`.

    Attributes:
        name: the function's name.
        report: which rules fired, how often, and the seconds that took.
        times: seconds of tracing, passes, native code and XLA.
        options: its `CompileOptions`.

    Example:
        >>> lowered = reactant.jit(lambda x: np.exp(np.log(x * 1.0)) * 1.0).lower(np.ones(3))
        >>> lowered.operations(optimized=False)["stablehlo.multiply"], lowered.operations().get("stablehlo.multiply", 0)
        (2, 0)
        >>> compiled = lowered.compile()
        >>> compiled(np.ones(3))
        array([1., 1., 1.])
    """

    as_jax = False
    """Whether results are those of jax, which has other special functions and sums, and may round twice."""
    placement: Placement | None = None
    """Where it runs, if on several devices."""
    choice: Choice | None = None
    """What was compared to choose how arguments lie, with `shard="auto"`."""
    ours = False
    """Whether results are device arrays of ours though no argument is one: they are on the mesh that the user said."""

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
        """The StableHLO module as traced, of jaxlib's MLIR bindings; None where it was not kept."""
        if self._bytecode is None:
            return None
        with building():
            return modules.parse(self._bytecode)

    @property
    def module(self) -> ir.Module:
        """The StableHLO module after our passes, of jaxlib's MLIR bindings."""
        return self.traced.module

    def _module(self, optimized: bool) -> ir.Module:
        if optimized or self.original is None:
            return self.traced.module
        return self.original

    def as_text(self, optimized: bool = True) -> str:
        """The StableHLO text.

        Args:
            optimized: False for the program as traced.

        Returns:
            The text of the module.
        """
        with building():
            return str(self._module(optimized))

    def operations(self, optimized: bool = True) -> dict[str, int]:
        """How many of each operation the module holds, those in regions included.

        Args:
            optimized: False for the program as traced.

        Returns:
            A dict of counts by name, such as "stablehlo.add".
        """
        with building():
            return dict(modules.counts(self._module(optimized)))

    def cost(self, optimized: bool = True) -> dict[str, float]:
        """The estimated cost of one run; loops count with their trip count where it is constant.

        Args:
            optimized: False for the program as traced.

        Returns:
            A dict with `flops` (operations) and `bytes` (read and written).
        """
        with building():
            return cost.estimate(self._module(optimized))

    def compile(self) -> Compiled:
        """The program compiled now: with XLA, unless all of it is native code."""
        compiled = self.program()
        compiled.executable.compile(on_device=self.on_device)
        return compiled

    def program(self) -> Compiled:
        """The program as XLA gets it, compiled when it is first called or looked at: for the arguments it has then."""
        with building():
            # On a device, where the results are is told by the arguments.
            if (laid := self._as_it_lies()) is not None:
                return laid
            native = None if self.placement else self.native_module(None)
            forms = without_unread(self.traced.module, native, self.report.kept, least=self.on_device)
            donated = self._donated()
            if forms.read is not None:
                donated = tuple(forms.read.index(number) for number in donated if number in forms.read)
            if self.placement is not None:
                return Compiled(self, self._on_mesh(forms, donated))
            executable = Executable(forms.module, name=self.name, xla_options=dict(self.options.xla), donate=donated,
                                    native=forms.native, general=forms.general, callbacks=self.traced.callbacks,
                                    read=forms.read, straight=self._straight(forms.native or forms.module, forms.read),
                                    **self.as_numpy())
        return Compiled(self, executable)

    def _as_it_lies(self) -> Compiled | None:
        """The program without XLA that takes and gives arrays as they lie in memory; None where all lie by rows, or
        XLA runs some of it. What is looked at, and what has other arguments, is the program as it was."""
        if self.traced.laid is None or self.placement is not None or self.on_device or self.as_jax:
            return None
        given, results = self.traced.laid
        results = results | {index: given[k] for k, index in self.traced.written.items() if k in given}
        native = self.native_module(None, laid=(given, results))
        if native is None:
            return None
        forms = without_unread(self.traced.module, native, self.report.kept)
        found = self._straight(forms.native, forms.read, (given, results)) if forms.native is not None else None
        if found is None:
            return None
        executable = Executable(forms.module, name=self.name, general=forms.general, read=forms.read, straight=found,
                                **self.as_numpy())
        return Compiled(self, executable)

    def _on_mesh(self, forms: Forms, donated: tuple[int, ...]) -> MeshExecutable:
        """The program for all devices of a mesh: no native code, which would see a part of the arrays."""
        self.notes = list(getattr(self.traced, "remarks", ()))
        return MeshExecutable(forms.module, self.placement.read(forms.read), name=self.name, general=forms.general,
                              xla_options=dict(self.options.xla), donate=donated, callbacks=self.traced.callbacks,
                              contract="contraction" in self.options.allow, read=forms.read)

    def choose(self, labels: Sequence[str], written: Mapping[int, int]) -> None:
        """Choose how the arguments lie of which nothing is said. written: the results that lie as arguments do. Raises
        `ShardingError` where no mesh is known."""
        from reactant.communication.choosing import chosen
        if self.placement is None:
            if self.options.mesh is None:
                raise ShardingError(f"shard=\"auto\": on which devices '{self.name}' runs is not known.",
                                    hint="Say mesh=reactant.mesh(x=8), or give it an array that is on a mesh.",
                                    code="auto-sharding")
            return
        missing = len(self.placement.arguments) - len(labels)
        labels = [*labels, *(f"constant {k}" for k in range(missing))]
        self.placement, self.choice = chosen(self.module, self.report.kept, self.placement, labels, name=self.name,
                                             written=written, callbacks=self.traced.callbacks)

    def _may_be_native(self, platform: str) -> bool:
        """Whether parts may become native code, where the program runs."""
        return platform == "cpu" and self.options.native != "never" and self.options.target in (None, "cpu")

    def _straight(self, module: ir.Module, read: tuple[int, ...] | None,
                  laid: tuple[Orders, Orders] = ({}, {})) -> Straight | None:
        """The program without XLA, where it is nothing but native code. read: which arguments the module takes. laid:
        orders as those of `native_module`, of all arguments."""
        if self.on_device or self.traced.callbacks or self.options.xla \
                or not self._may_be_native(default_device().jax.platform):
            return None
        from reactant.native.straight import straight
        found = straight(module, self._little, empty)
        if found is not None:
            self.notes.append("runs without XLA: there is nothing but native code")
            taken = modules.function(module).regions[0].blocks[0].arguments
            number = {k: place for place, k in enumerate(range(len(taken)) if read is None else read)}
            found.given = {number[k]: order for k, order in laid[0].items() if k in number}
            found.turned = {result: inverse(order) for result, order in laid[1].items()}
            found.write_over({result: number.get(k) for k, result in self.traced.written.items()}
                             if self.writes_at_once else {})
        return found

    @property
    def writes_at_once(self) -> bool:
        """Whether arguments may be written before all results are there: nothing can fail, and nothing else that is
        read might be their memory."""
        return self.traced.flags is None and not self.traced.captured and self.traced.spoken is None

    def as_numpy(self) -> dict[str, Any]:
        """What of `Executable` makes it compute what NumPy computes, as far as the options say so."""
        on_cpu = default_device().jax.platform == "cpu"
        return {"contract": "contraction" in self.options.allow,
                "prelude": denormals.target() if on_cpu and self.options.denormals and ffi.usable() else None}

    def native_module(self, device: jax.Device | None, laid: tuple[Orders, Orders] | None = None) -> ir.Module | None:
        """The module with calls of native code in it, where some parts run faster so on a CPU; `notes` says which.
        laid: orders of the dimensions of arguments and results in memory, as which it takes and gives them."""
        self.notes = list(getattr(self.traced, "remarks", ()))
        platform = (device if device is not None else default_device().jax).platform
        if platform == "cpu" and self.options.target == "gpu":
            from reactant.kernels.ptx import ptx_call
            return ptx_call.for_cpu(self.module)
        if not self._may_be_native(platform):
            return None
        start = time.perf_counter()
        source, kept = self.module, getattr(self.report, "kept", None)
        if kept is not None:
            source = modules.parse(kept)
            if not self.as_jax:
                source = pairwise_sums.kept(special_functions.written_out(source), flattened=False)
            with target.for_loops():
                pipelines.run(source, "native", options=self.options, settled=self.report.settled)
        if laid is not None:
            source = modules.clone(source)
            turn(source, *laid)
            with target.for_loops():
                pipelines.run(source, ("native", *AS_IT_LIES), options=self.options)
        with progress.step(f"making native code for parts of {self.name!r} with LLVM"):
            found = loopnests.native_form(source, self.options.native, handed_over=self.on_device,
                                          straight=not (self.on_device or self.as_jax),
                                          seconds=self.options.native_seconds)
        if found is not None and kept is not None:
            pipelines.run(found.module, "target", options=self.options)
        self._little = found is not None and found.little
        made = found.module if found is not None else None
        if made is None and laid is not None:
            made = source
        called, notes = product_calls.with_calls(self.module if made is None else made, own=made is not None,
                                                  lent=not self.on_device)
        made = called or made
        self.times.native = time.perf_counter() - start
        self.notes += [*(found.notes if found is not None else ()), *notes]
        if bounds.wanted():
            made = made or modules.clone(self.module)
            red_zones.around_lapack(made)
        return made

    def _donated(self) -> tuple[int, ...]:
        return tuple(self.traced.written) if self.options.donate else ()


WATCHING: list[Callable[[Any], None]] = []
"""Who is told of each program that is compiled."""


class Compiled:
    """A compiled program, called with the user's arguments; made by `Lowered.compile`.

    Arguments of another signature (shapes, dtypes, static values) than it was lowered for are a `TypeError`.

    Example:
        >>> compiled = reactant.jit(lambda x: x + 1.0).lower(np.ones(3)).compile()
        >>> compiled(np.arange(3.0))
        array([1., 2., 3.])
        >>> compiled.memory_analysis().argument_size_in_bytes      # three float64
        24
    """

    def __init__(self, lowered: Lowered, executable: Executable | MeshExecutable):
        self.lowered, self.executable = lowered, executable
        self._traced = lowered.traced
        self._simple = self._is_simple()
        self._kind = self._traced.result.kind if self._simple else ""
        self._recipe = recipe_of(self._traced, lowered.name)
        self._written = self._traced.written.keys() | self._traced.written_copies
        self._read = None if executable.read is None else frozenset(executable.read)
        self._passed = taken_by(executable.read)
        self._at_once = bool(self._traced.written) and lowered.writes_at_once and executable.straight is not None
        self._simple_on_device = lowered.on_device and self._nothing_more()
        self.matches: Matcher | None = None     # tells calls of this signature
        self._as_given: Callable[[list], list[np.ndarray]] | None = None
        """The program for leaves of such a call, where those that it reads are compared as far as it needs."""
        self._concerned = 0             # how many arrays may overlap one that it writes
        self.passing = any(isinstance(array, jax.core.Tracer) for array in self._traced.captured)
        """Whether the program reads what JAX is tracing around this call, and so is for this call only."""
        for tell in WATCHING:
            tell(self)

    def recognise(self, key: tuple) -> None:
        """Tell calls of the signature `key`, and those that differ in nothing that the program depends on."""
        positional, keyword, device, x64 = key
        t = self._traced
        unloaded, needed = None, t.given | t.written.keys() | t.written_copies
        if self._read is not None and not self.lowered.on_device:
            unloaded, needed = t.unloaded, needed | self._read
        self.matches = matcher(positional, keyword, device, x64, t.untouched, unloaded, needed)
        if self.matches is not None:
            self._take_as_given([leaf for node in (*positional, *(node for _, node in keyword))
                                 for leaf in sig.leaf_nodes(node)])

    def _take_as_given(self, leaves: list[tuple]) -> None:
        """Find out whether leaves that were compared can go to native code as they are."""
        t, straight = self._traced, self.executable.straight
        if straight is None or t.captured or t.untouched is None or self.lowered.on_device \
                or self.passing:
            return
        read = tuple(range(len(leaves)) if self.executable.read is None else self.executable.read)
        if not t.untouched.isdisjoint(read) or not all(leaves[number][0] in ("python", "scalar") or (
                is_laid if place in straight.given else is_plain)(leaves[number]) for place, number in enumerate(read)):
            return
        if self._at_once and set(t.written) <= set(read) and not t.written_copies:
            program = straight.written_over({index: read.index(number) for number, index in t.written.items()})
            self._concerned = sum(leaves[number][0] == "array" for number in read)
        else:
            program = straight.written_out if self._nothing_more(flags=True) else None
        if program is not None:
            self._as_given = _on_leaves([(number, None if leaves[number][0] == "array" else array.dtype,
                                          straight.given.get(place)) for place, (number, array) in enumerate(
                                              zip(read, self.executable.inputs, strict=True))], program)

    # -- looking at it

    def as_text(self) -> str:
        """XLA's HLO after its optimisations."""
        return self.executable.as_text(on_device=self.lowered.on_device)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's own estimate: `flops`, `bytes accessed`, `transcendentals` of one run, by name."""
        return self.executable.cost_analysis(on_device=self.lowered.on_device)

    def memory_analysis(self) -> Any:
        """XLA's sizes in bytes of arguments, results, temporaries and code."""
        return self.executable.memory_analysis(on_device=self.lowered.on_device)

    def traffic(self, *, divided_by_xla: bool = False) -> Traffic:
        """What one run moves between the devices of a mesh: collective operations and their bytes, by line and kind.

        Args:
            divided_by_xla: True for what it would move if XLA's partitioner divided the program, which is compiled to
                see.

        Returns:
            A `Traffic`, with `bytes` in all; a program on one device moves nothing.

        Example:
            >>> reactant.jit(lambda x: x + 1.0).lower(np.ones(3)).compile().traffic().bytes
            0
        """
        if not isinstance(self.executable, MeshExecutable):
            return Traffic(())
        return self.executable.traffic(divided_by_xla=divided_by_xla)

    @property
    def times(self) -> Times:
        """Where compile time went: seconds of `trace`, `passes`, `xla` and `native`."""
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

    def _nothing_more(self, flags: bool = False) -> bool:
        """Nothing written, checked, said or read but arguments and results. flags: something may be checked."""
        t = self._traced
        return not t.written and not t.written_copies and (flags or t.flags is None) and not t.captured \
            and t.spoken is None

    def run(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        """Call with flattened arguments; `args` and `kwargs` are the caller's, for write-back."""
        if self._simple:
            result = self.executable(leaves if self._read is None else self._passed(leaves))[0]
            return result if self._kind == ARRAY else leaf_of(result, self._kind)
        if self._simple_on_device and transformation.value is NO_TRANSFORMATION:
            return self._run_simply_on_device(leaves, args, kwargs)
        if self._written and not (len(leaves) == 1 and type(leaves[0]) is np.ndarray and leaves[0].flags.forc):
            _refuse_overlap(leaves, self._written, self._read)
        if self.lowered.on_device or self.passing:
            return self._run_on_device(leaves, args, kwargs)
        if self._at_once:
            written = {index: leaves[number] for number, index in self._traced.written.items()}
            return self._deliver(self.executable(self._passed(leaves), written), leaves, args, kwargs)
        results = self._completed(self.executable, self._passed([*leaves, *self._traced.captured]))
        for number, index in self._traced.written.items():
            np.copyto(leaves[number], results[index], casting="equiv")
        return self._deliver(results, leaves, args, kwargs)

    def run_matched(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        """As `run`, with the leaves that `matches` found."""
        if self._as_given is None:
            return self.run(leaves, args, kwargs)
        if self._concerned > 1:
            _refuse_overlap(leaves, self._written, self._read)
        results = self._as_given(leaves)
        if (flags := self._traced.flags) is not None and not results[flags].all():
            self._raise_failed(results)
        return self._recipe(results, leaves, (args, kwargs))

    def _run_simply_on_device(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        """As `_run_on_device`: arguments in, results out."""
        given = self._passed(leaves)
        if self.lowered.placement is None:
            given = [leaf.jax if type(leaf) is DeviceArray else leaf for leaf in given]
        results: list[Any] = self.executable.on_device(given)
        return self._deliver(self._held(results, leaves), leaves, args, kwargs)

    def _held(self, results: list, leaves: list) -> list:
        """The results as device arrays of ours, where arguments are such, or nothing is an array of jax's."""
        placement = self.lowered.placement
        if placement is None:
            held = self.lowered.ours or any([type(leaf) is DeviceArray for leaf in leaves])
            return [DeviceArray(r) for r in results] if held else results
        if not placement.pads:
            return results
        return [DeviceArray(r, out.shape) for r, out in zip(results, self.executable.outputs, strict=True)]

    def _run_on_device(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        arrays = self._passed([*leaves, *self._traced.captured])
        traced = self.passing or any(isinstance(leaf, jax.core.Tracer) for leaf in arrays)
        if traced or self.lowered.placement is None:
            arrays = [leaf.jax if type(leaf) is DeviceArray else leaf for leaf in arrays]
        if traced:
            results = self.executable.traced(arrays)
            if self._traced.written:
                raise ReactantError("A function that writes into its arguments cannot be part of a jax.jit program: "
                                    "jax arrays do not change.", hint="Return the new array instead.",
                                    code="argument-cannot-change")
            return self._deliver(results, leaves, args, kwargs)
        results = self._held(self._completed(self.executable.on_device, arrays), leaves)
        for number, index in self._traced.written.items():
            if type(leaves[number]) is DeviceArray:
                leaves[number].become(results[index])
            elif isinstance(leaves[number], np.ndarray):
                np.copyto(leaves[number], np.asarray(results[index]), casting="equiv")
            else:
                raise ReactantError("The function writes into an argument that is a jax.Array, which cannot change.",
                                    hint="Pass reactant.array(x) instead.", code="argument-cannot-change")
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
        """Build what the function returned, and change the caller's containers."""
        return self._recipe(results, leaves, (args, kwargs))


def taken_by(read: tuple[int, ...] | None) -> Callable[[list], list]:
    """What takes the arguments `read` of a longer list; None: all."""
    if read is None:
        return lambda arguments: arguments
    if len(read) < 2:
        return lambda arguments: [arguments[number] for number in read]
    chosen = operator.itemgetter(*read)
    return lambda arguments: list(chosen(arguments))


def _on_leaves(taken: Sequence[tuple[int, np.dtype | None, tuple[int, ...] | None]],
               program: Callable[[Sequence[Any]], list[np.ndarray]]) -> Callable[[list], list[np.ndarray]]:
    """The program on the leaves with these numbers; numbers, which have a dtype here, as arrays, and what lies in
    another order so."""
    known: dict[str, Any] = {"program": program, "array": np.array}
    known |= {f"dtype{number}": dtype for number, dtype, _ in taken}
    found = "".join((f"l[{number}], " if order is None else f"l[{number}].transpose({order}), ") if dtype is None
                    else f"array(l[{number}], dtype{number}), " for number, dtype, order in taken)
    made: Callable[[list], list[np.ndarray]] = eval(f"lambda l: program(({found}))", known)
    return made


def _refuse_overlap(leaves: list, written: Set[int], read: Set[int] | None) -> None:
    """Arguments that share memory in part cannot be told apart from copies: raise when one of them is written and the
    other one written or read (None: all are)."""
    concerned: Sequence[int] = range(len(leaves))
    if read is not None:
        concerned = sorted(n for n in read | written if n < len(leaves))
    for number in written:
        target = leaves[number]
        if not isinstance(target, (np.ndarray, DeviceArray)):
            continue
        if isinstance(target, np.ndarray) and not (target.flags.forc or are_distinct(
                target.shape, target.strides, target.itemsize)):
            raise OverlapError(f"Elements of array {number} among the arguments overlap in memory (it is a view by "
                               "as_strided) and the function writes into it.",
                               hint="Pass the array that it is a view of.")
        for other in concerned:
            array = leaves[other]
            if other != number and array is not target and _overlap(array, target):
                raise OverlapError(f"Arrays {number} and {other} among the arguments overlap in memory and the "
                                   "function writes into one of them.",
                                   hint="Pass one array and slice it inside the function, or pass a copy.")


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
