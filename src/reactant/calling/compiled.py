"""Compiled programs, and how they are called with the user's arguments."""
from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from reactant.calling import jax_derivatives
from reactant.calling import signature as sig
from reactant.calling.call_cache import Matcher, is_laid, is_plain, matcher
from reactant.calling.delivery import leaf_of, recipe_of
from reactant.calling.device_calls import device_call, is_for
from reactant.calling.traced import Result
from reactant.errors import OverlapError, ReactantError
from reactant.frontends.arrays.promotion import ARRAY
from reactant.runtime.array import DeviceArray
from reactant.runtime.executable import Executable
from reactant.runtime.jax_internals import NO_TRANSFORMATION, transformation
from reactant.runtime.layout import are_distinct
from reactant.support.records import dataclass

if TYPE_CHECKING:
    from reactant.communication.executable import MeshExecutable
    from reactant.communication.traffic import Traffic


@dataclass
class Times:
    """Where compile time went, in seconds."""

    trace: float = 0.0
    passes: float = 0.0
    xla: float = 0.0
    native: float = 0.0


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

    def __init__(self, lowered: Any, executable: Executable | MeshExecutable):
        self.lowered, self.executable = lowered, executable
        self._traced = lowered.traced
        self._simple = self._is_simple()
        self._kind = self._traced.result.kind if self._simple else ""
        self._recipe = recipe_of(self._traced, lowered.name)
        self._written = self._traced.written.keys() | self._traced.written_copies
        self._read = None if executable.read is None else frozenset(executable.read)
        self._passed = taken_by(executable.read)
        self._at_once = bool(self._traced.written) and self._traced.writes_at_once and executable.straight is not None
        self._simple_on_device = lowered.on_device and self._nothing_more()
        self.matches: Matcher | None = None     # tells calls of this signature
        self._as_given: Callable[[list], list[np.ndarray]] | None = None
        """The program for leaves of such a call, where those that it reads are compared as far as it needs."""
        self.on_device_at_once: Callable[[tuple, dict], Any] | None = None
        """All of a call with device arrays, once one has run; gives `NotImplemented` for one of another signature."""
        self._key_on_device: tuple | None = None        # the signature, until there is that
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
        leaves = sig.leaves_of(positional, keyword)
        if self.lowered.on_device and self._nothing_more(written=True) and not self.passing and not self.lowered.ours \
                and self.lowered.placement is None and is_for(leaves, t, self.executable):
            self._key_on_device = key
        if self.matches is not None:
            self._take_as_given(leaves)

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
        if isinstance(self.executable, Executable):
            from reactant.communication.traffic import Traffic
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

    def _nothing_more(self, flags: bool = False, written: bool = False) -> bool:
        """Nothing written, checked, said or read but arguments and results. flags: something may be checked; written:
        arguments may be written."""
        t = self._traced
        return (written or not t.written) and not t.written_copies and (flags or t.flags is None) \
            and not t.captured and t.spoken is None

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
        self._shorten()
        return self._deliver(self._held(results, leaves), leaves, args, kwargs)

    def _shorten(self) -> None:
        """Have the calls after this one go the shortest way, if there is one."""
        key, self._key_on_device = self._key_on_device, None
        if key is not None and isinstance(self.executable, Executable):
            self.on_device_at_once = device_call(key, self.lowered.name, self._traced, self.executable,
                                                  self._recipe)

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
        self._shorten()
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


jax_derivatives.install()
