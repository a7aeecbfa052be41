"""A compiled module and the ways to call it.

`Executable(...)(arguments)` is the NumPy way: NumPy arrays in, writable NumPy arrays out, finished when it returns.
On CPU big arguments are read where they are and big results are written once, into memory that stays theirs
(`reactant.runtime.buffers`). `on_device` takes and returns `jax.Array`, asynchronously. `traced` puts the module into
the program an outer `jax.jit` is tracing.
"""
from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant.runtime import arguments as host_arguments
from reactant.runtime import buffers, heap
from reactant.runtime.devices import default_device
from reactant.runtime.direct import Direct
from reactant.runtime.forms import Forms
from reactant.runtime.jax_internals import (
    NO_TRANSFORMATION,
    X64,
    restore_x64,
    swap_x64,
    synchronous_cpu,
    transformation,
)
from reactant.runtime.layout import BIG
from reactant.runtime.pool import POOL, SCRATCH
from reactant.runtime.program import Array, Body, Program, Variant, body_of, fitted, run_module


class Executable:
    """One StableHLO module, compiled for one device.

    module: public `@main` over statically shaped tensors; it is copied, later changes to it have no effect.
    name: what profilers and HLO dumps call it.
    xla_options: XLA compile options that override the ones chosen for the module (`reactant.runtime.compile_options`).
    donate: indices of arguments `on_device` may overwrite; the NumPy way never overwrites an argument.
    device: where it runs; jax's default device when None.
    weak: indices of results that `on_device` returns with jax's weak type.
    native: the module to run in its place on a CPU, parts of which are calls of native code.
    general: the bytecode of the module for other programs that call this one.
    callbacks: what calls of Python in the module run.
    as_jax: whether results are those of jax: values may have more digits than their dtypes (CPUs give them none) or be
        rounded twice, quotients be products with reciprocals; the programs of NumPy compute what NumPy does.
    contract: whether a product that something is added to may stay unrounded, as in jax.
    prelude: the call with which programs for NumPy arrays begin, so that denormal numbers are not zero.
    straight: what does the same without XLA (`native.straight.Straight`): contiguous arrays that it only reads to new
        ones.
    read: which of the arguments of a longer list these are, for those who call it with some of theirs.

    Compilation happens at the first call of each way, or in `compile()`. Calls from several threads are safe.
    """

    def __init__(self, module: ir.Module, *, name: str = "main", xla_options: Mapping[str, Any] | None = None,
                 donate: Sequence[int] = (), device: jax.Device | None = None, weak: Sequence[int] = (),
                 native: ir.Module | None = None, general: bytes | None = None,
                 callbacks: Sequence[Callable] = (), as_jax: bool = False, contract: bool = False,
                 prelude: str | None = None, read: tuple[int, ...] | None = None,
                 straight: Any = None) -> None:
        from reactant.runtime import compile_options, reductions
        from reactant.runtime import facts as of_modules
        body = body_of(module, name, weak, native, general, callbacks, as_jax, contract, prelude)
        target = device if device is not None else default_device().jax
        facts = of_modules.facts_of(module if native is None else native)
        chosen = compile_options.options_for(facts, target.platform, as_jax)
        big = big_of(body.inputs, target.platform)
        if native is None and not all(facts.sliceable[i] for i in big) and reductions.fits(module, facts):
            module = reductions.in_steps(module)
            body = body_of(module, name, weak, general=general, callbacks=callbacks, as_jax=as_jax,
                           contract=contract, prelude=prelude)
            facts = of_modules.facts_of(module, reductions_fuse=True)
            chosen |= reductions.OPTIONS
        self._begin(body, tuple(facts.sliceable), {**chosen, **(xla_options or {})}, tuple(sorted(donate)), read,
                    straight, device)

    @classmethod
    def recalled(cls, body: Body, sliceable: Sequence[bool], xla_options: Mapping[str, Any], donated: tuple[int, ...],
                 read: tuple[int, ...] | None, straight: Any, device: jax.Device | None = None) -> Executable:
        """One of what `told` gave of another."""
        made = cls.__new__(cls)
        made._begin(body, tuple(sliceable), dict(xla_options), tuple(donated), read, straight, device)
        return made

    def told(self) -> tuple[Body, tuple[bool, ...], dict[str, Any], tuple[int, ...], tuple[int, ...] | None, Any]:
        """What `recalled` takes."""
        return (self._body, self._sliceable, self.xla_options, self._device_variant.donated, self.read, self.straight)

    def _begin(self, body: Body, sliceable: tuple[bool, ...], xla_options: dict[str, Any], donated: tuple[int, ...],
               read: tuple[int, ...] | None, straight: Any, device: jax.Device | None) -> None:
        self.read, self.straight = read, straight
        if straight is not None:
            heap.settle()
        self._body, self.name, self._sliceable, self.xla_options = body, body.name, sliceable, xla_options
        given = straight.given if straight is not None else {}
        self._laid = tuple(Array(tuple(a.shape[d] for d in given[k]), a.dtype) if k in given else a
                           for k, a in enumerate(self.inputs)) if given else None
        self.device = device
        target = device if device is not None else default_device().jax
        self._sharding = None if device is None else jax.sharding.SingleDeviceSharding(device)
        on_cpu = target.platform == "cpu"
        self._big = big_of(body.inputs, target.platform)
        self._handed_over = tuple(i for i, a in enumerate(self.inputs) if on_cpu and host_arguments.native(a.dtype)
                                  and host_arguments.HANDED_OVER <= a.nbytes < BIG)
        self._recycled = tuple(i for i, a in enumerate(self.outputs) if on_cpu
                               and POOL.limit >= a.nbytes >= BIG and host_arguments.native(a.dtype))
        self._forms = Forms(self.inputs, self._big, tuple(i for i in self._big if sliceable[i]), self._recycled,
                            partial(_host_program, self._body, self.xla_options, target.id if on_cpu else None, device))
        self._device_variant = Variant(donated=donated)
        self._device_program: Program | None = None
        self.directly: Direct | None = None       # the same program with the caller's way of taking arguments, if any
        self._lock = threading.Lock()
        self._run_small: Any = None
        self._run_device: Any = None
        self._run_elsewhere: Any = None

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Shape and dtype of each argument."""
        return self._body.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Shape and dtype of each result."""
        return self._body.outputs

    def checked(self, holds: Callable[[], bool]) -> Callable[..., Any] | None:
        """XLA's own call of the device way, for `jax.Array`s: it raises `NotFitting`, or what jax raises, for those of
        other shapes, dtypes or devices, and where `holds` does not hold, which is asked once under certain settings of
        jax. A single result is no list. None before the program has run."""
        if self._run_device is None:
            return None
        inputs = [(a.shape, a.dtype) for a in self.inputs]
        array_type = type(jax.device_put(0.0))

        def fits(arguments: tuple) -> bool:
            return transformation.value is NO_TRANSFORMATION and holds() \
                and [type(x) for x in arguments] == [array_type] * len(inputs) \
                and [(x.shape, x.dtype) for x in arguments] == inputs

        return self._program(True).checked(fits, len(self.outputs) == 1)

    @property
    def compile_seconds(self) -> float:
        """Seconds spent in lowering and XLA so far."""
        programs = [*self._forms.programs, self._device_program, self.directly]
        return sum(program.seconds for program in programs if program)

    def direct(self, leaves_of: Callable[[tuple, dict], list[Any] | None], built: Callable[[list[Any]], Any],
               signature: inspect.Signature | None = None, **settings: Any) -> Direct:
        """The device way for calls with trees of arguments (`reactant.runtime.direct`)."""
        self.directly = Direct(self._body, self.xla_options, leaves_of, built, signature, settings)
        return self.directly

    def compile(self, *, on_device: bool = False) -> Executable:
        """Compile the NumPy way (or the device way) now; returns itself. What runs without XLA is compiled already."""
        if on_device or self.straight is None:
            self._program(on_device)
        return self

    def __call__(self, arguments: Sequence[Any],
                 write_back: Mapping[int, np.ndarray] | None = None) -> list[np.ndarray]:
        """Run on NumPy arrays (or scalars, or anything `np.asarray` takes); writable arrays of our own come back.

        write_back: result index -> ndarray of the same shape and dtype (any strides) that receives the result; the
        returned list has that very ndarray in its place. What `straight` was told of is the argument that it was told,
        or overlaps none: it may be written before all arguments are read.
        Raises `TypeError` where an argument does not have the module's shape and dtype.
        """
        done: Collection[int] = ()
        if self.straight is not None and not write_back:
            if self._laid is not None:
                arguments = self.straight.as_they_lie(arguments)
            results: list[np.ndarray] = self.straight(
                host_arguments.contiguous(arguments, self._laid or self.inputs, self.name))
        elif self.straight is not None:
            results, done = self._run_straight(self.straight, arguments, write_back or {})
        elif self._big or self._recycled:
            results = self._run_lending(arguments)
        elif self._handed_over:
            scratch: list[np.ndarray] = []
            given = list(arguments)
            if len(given) == len(self.inputs):
                host_arguments.set_right(given, self.inputs, self._handed_over, scratch)
            results = self._run_copying(given)
            SCRATCH.give_back(scratch)
        else:
            results = self._run_copying(arguments)
        if write_back:
            for index, destination in write_back.items():
                if index not in done:
                    np.copyto(destination, results[index], casting="equiv")
                results[index] = destination
        return results

    def _run_straight(self, straight: Any, arguments: Sequence[Any], write_back: Mapping[int, np.ndarray]
                      ) -> tuple[list[np.ndarray], Collection[int]]:
        """The results, and which of them are already where they are wanted."""
        places = straight.places(arguments, write_back)
        if places is not None and straight.all_over and self._laid is None:
            return straight(arguments, places, straight.copied), straight.written       # they have been looked at
        if self._laid is not None:
            arguments = straight.as_they_lie(arguments)
        given = host_arguments.contiguous(arguments, self._laid or self.inputs, self.name)
        return straight(given, places, straight.copied), straight.written if places else ()

    def _run_copying(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        run = self._run_small
        if run is None or transformation.value is not NO_TRANSFORMATION:
            run = self._program(False).run
        before = swap_x64(True)
        try:
            results = run(*arguments)
        except (TypeError, ValueError):
            results = run(*host_arguments.converted(arguments, self.inputs, self.name, to_host=True))
        finally:
            restore_x64(before)
        if self._run_small is None:
            self._run_small = self._program(False).shortest()
        return [np.array(result) for result in results]

    def _run_lending(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        given = host_arguments.converted(arguments, self.inputs, self.name, to_host=True)
        scratch: list[np.ndarray] = []
        host_arguments.set_right(given, self.inputs, self._handed_over, scratch)
        program, offsets = host_arguments.lend(given, self.inputs, self._big, self._forms, scratch)
        recycled = self._recycled
        destinations = [POOL.take(self.outputs[index]) for index in recycled]
        with X64():
            results = program.run(*given, *offsets, *destinations)
        jax.block_until_ready(results)
        SCRATCH.give_back(scratch)
        return [buffers.owned_array(result, array, POOL.give_back) if index in recycled else np.array(result)
                for index, (result, array) in enumerate(zip(results, self.outputs, strict=True))]

    def on_device(self, arguments: Sequence[Any]) -> list[jax.Array]:
        """Run on `jax.Array` arguments (NumPy arrays and scalars are put on the device); results stay there.

        Returns before the results are computed, as jax does, unless an argument is a NumPy array: its memory may be
        read in place, so the call finishes first.
        """
        run = self._run_device
        if run is None or transformation.value is not NO_TRANSFORMATION:
            run = self._program(True).run
        before = swap_x64(True)
        try:
            try:
                results: list[jax.Array] = run(*arguments)
            except TypeError:
                results = run(*host_arguments.converted(arguments, self.inputs, self.name))
            except ValueError:          # of jax, where an argument is not on the device that the program is for
                if self.device is not None:
                    raise
                results = self._elsewhere(arguments)
        finally:
            restore_x64(before)
        if self._run_device is None:
            self._run_device = self._program(True).shortest()
        for argument in arguments:
            if type(argument) is not jax.Array and isinstance(argument, np.ndarray):
                jax.block_until_ready(results)
                break
        return results

    def _elsewhere(self, arguments: Sequence[Any]) -> list[jax.Array]:
        """The results where the arguments are: on another device than jax's default, or on several."""
        if self._run_elsewhere is None:
            body = self._body
            self._run_elsewhere = jax.jit(lambda *given: run_module.bind(*given, body=body), keep_unused=True,
                                          donate_argnums=self._device_variant.donated)
        return self._run_elsewhere(*host_arguments.converted(arguments, self.inputs, self.name))

    def traced(self, arguments: Sequence[Any]) -> list[Any]:
        """The module as part of what an outer `jax.jit` (or `jax.eval_shape`, ...) is tracing."""
        # Inside a tracer a Python number is still one; made an array here, where jax's setting is the user's.
        arrays = [jax.lax.convert_element_type(a, a.dtype) if isinstance(a, jax.Array) and a.weak_type else a
                  for a in arguments]
        with X64():
            return run_module.bind(*fitted(arrays, self._body.inputs), body=self._body)

    def as_text(self, *, on_device: bool = False) -> str:
        """XLA's HLO after its optimisations."""
        return str(self._compiled(on_device).as_text())

    def texts(self) -> list[str]:
        """XLA's HLO of all forms compiled so far."""
        made = [program.compiled for program in [*self._forms.programs, self._device_program] if program]
        if self.directly is not None and self.directly.compiled is not None:
            made.append(self.directly.compiled)
        return [str(compiled.as_text()) for compiled in made]

    def cost_analysis(self, *, on_device: bool = False) -> dict[str, float]:
        """XLA's own estimate: flops, bytes accessed, transcendentals."""
        found = self._compiled(on_device).cost_analysis()
        return dict(found[0] if isinstance(found, list) else found or {})

    def memory_analysis(self, *, on_device: bool = False) -> Any:
        """XLA's sizes in bytes of arguments, results, temporaries and code; the temporaries of native code, which are
        not XLA's, are among them."""
        sizes = self._compiled(on_device).memory_analysis()
        if sizes is not None and self._body.workspace:
            sizes.temp_size_in_bytes += self._body.workspace
        return sizes

    def _compiled(self, on_device: bool) -> Any:
        found = self.directly.compiled if on_device and self.directly is not None else None
        return self._program(on_device).compiled if found is None else found

    def _program(self, on_device: bool) -> Program:
        if not on_device:
            made = self._forms.programs
            return made[0] if made else self._forms.choose(self._forms.expected())[0]
        with self._lock:
            if self._device_program is None:
                self._device_program = Program(self._body, self._device_variant, self.xla_options, self._sharding)
            return self._device_program

    def __repr__(self) -> str:
        return f"<Executable {self.name}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})>"


def big_of(inputs: Sequence[Array], platform: str) -> tuple[int, ...]:
    """The arguments that are read where they lie."""
    return tuple(i for i, a in enumerate(inputs) if platform == "cpu" and a.nbytes >= BIG
                 and host_arguments.native(a.dtype))


def _host_program(body: Body, options: Mapping[str, Any], cpu: int | None, device: jax.Device | None,
                  variant: Variant) -> Program:
    """Compiled for the NumPy way: on the CPU with this number, or on a device. No method: programs must go with their
    last user, not when the collector comes."""
    here = device if cpu is None else synchronous_cpu(cpu)
    sharding = None if here is None else jax.sharding.SingleDeviceSharding(here)
    if sharding is not None:
        heap.settle()       # not before: the arrays of a first call are mapped then, all at the same alignment
    return Program(body, variant, options, sharding)
