"""A traced function on its way to XLA: StableHLO before and after our passes, and what is compiled of it."""
from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
from jaxlib.mlir import ir

from reactant import loopnests, pipelines
from reactant.calling.compiled import Compiled, Times
from reactant.calling.derived_bodies import for_native
from reactant.calling.traced import Traced
from reactant.communication.executable import MeshExecutable
from reactant.communication.placement import Placement
from reactant.errors import ShardingError
from reactant.ir import cost, modules
from reactant.ir.context import building
from reactant.ir.laid_out import Orders, inverse, transpose
from reactant.ir.unread import Forms, without_unread
from reactant.loopnests.calls import product_calls
from reactant.native import bounds, denormals, ffi, red_zones
from reactant.options import CompileOptions
from reactant.runtime.devices import default_device
from reactant.runtime.executable import Executable
from reactant.runtime.pool import empty
from reactant.simplify.target import target
from reactant.support import progress

if TYPE_CHECKING:
    from reactant.communication.choosing import Choice
    from reactant.native.steps import Straight


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
                              contract=self.options.contract, read=forms.read)

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
        # what makes native code would write the many uses of each limb out one by one
        return platform == "cpu" and self.options.native != "never" and self.options.target in (None, "cpu") \
            and not self.options.limbs_inside

    def _straight(self, module: ir.Module, read: tuple[int, ...] | None,
                  laid: tuple[Orders, Orders] = ({}, {})) -> Straight | None:
        """The program without XLA, where it is nothing but native code. read: which arguments the module takes. laid:
        orders as those of `native_module`, of all arguments."""
        if self.on_device or self.traced.callbacks or self.options.xla \
                or not self._may_be_native(default_device().jax.platform):
            return None
        from reactant.native.straight import straight, write_over
        found = straight(module, self._little, empty)
        if found is not None:
            self.notes.append("runs without XLA: there is nothing but native code")
            taken = modules.function(module).regions[0].blocks[0].arguments
            number = {k: place for place, k in enumerate(range(len(taken)) if read is None else read)}
            found.given = {number[k]: order for k, order in laid[0].items() if k in number}
            found.turned = {result: inverse(order) for result, order in laid[1].items()}
            write_over(found, {result: number.get(k) for k, result in self.traced.written.items()}
                       if self.traced.writes_at_once else {})
        return found

    def as_numpy(self) -> dict[str, Any]:
        """What of `Executable` makes it compute what NumPy computes, as far as the options say so."""
        on_cpu = default_device().jax.platform == "cpu"
        return {"contract": self.options.contract,
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
            source = for_native(kept, self.report, self.options.after_limbs(), self.as_jax)
        if laid is not None:
            source = modules.clone(source)
            transpose(source, *laid)
            with target.for_loops():
                pipelines.run(source, ("native", *AS_IT_LIES), options=self.options.after_limbs())
        with progress.step(f"making native code for parts of {self.name!r} with LLVM"):
            found = loopnests.native_form(source, self.options.native, handed_over=self.on_device,
                                          straight=not (self.on_device or self.as_jax),
                                          seconds=self.options.native_seconds)
        if found is not None and kept is not None:
            pipelines.run(found.module, "target", options=self.options.after_limbs())
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


def pipeline_of(options: CompileOptions) -> Any:
    """The passes that the options name."""
    if options.optimize is True:
        return ("default",)
    if options.optimize is False:
        return ("none", "differentiate")
    chosen = (options.optimize,) if isinstance(options.optimize, str) else options.optimize
    return (*chosen, "differentiate")     # what is asked for in the program is done in any case
