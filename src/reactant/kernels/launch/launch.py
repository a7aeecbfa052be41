"""Launches: the object a user calls, and what one launch does inside a traced function.

`kernel[grid, block](*arrays)` inside a compiled function reads the arrays' memories, puts in what the kernel became
(`dispatch`), and writes the memories it changed, as any in-place NumPy operation would. Outside, a launch is a compiled
function of its own; the module above this room (`kernel_calls`) puts that in `STANDALONE`.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reactant.errors import ConcreteValueNeeded, ConstantWriteError
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import SCALAR, Tensor, is_tensor
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source import source_map
from reactant.ir import ops
from reactant.kernels.form.record import Dim3, KernelRecord
from reactant.kernels.launch import dispatch
from reactant.kernels.launch.arguments import structs
from reactant.kernels.launch.building import LaunchError, WayIn, build, changed_structs
from reactant.kernels.launch.memory import Binding, Memory, StructChanged, bind
from reactant.support.records import dataclass
from reactant.support.session import SESSION

STANDALONE: list[Callable[[WayIn, Launch, tuple], Any]] = []
"""What runs a launch outside compiled functions."""


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched, and how it is to be lowered."""

    grid: Dim3
    block: Dim3
    dynamic_shared: int = 0
    lower: str = "auto"
    check: bool = False
    guarded: bool = False
    """Of integers that constants would have been checked with, the run gets some: it checks accesses."""


def dimensions(value: Any, what: str, name: str) -> Dim3:
    """A grid or block as (x, y, z). Raises `LaunchError` for what is none, `ConcreteValueNeeded` for run-time sizes."""
    if hasattr(value, "x") and hasattr(value, "y") and hasattr(value, "z"):
        value = (value.x, value.y, value.z)
    items = list(value) if isinstance(value, (tuple, list)) and not is_tensor(value) else [value]
    if not 1 <= len(items) <= 3:
        raise LaunchError(f"The {what} of the kernel '{name}' has {len(items)} dimensions; it has one, two or three.")
    return tuple(_integer(i, what, name) for i in [*items, 1, 1][:3])   # type: ignore[return-value]


def _integer(value: Any, what: str, name: str) -> int:
    try:
        return operator.index(value)
    except ConcreteValueNeeded:
        raise ConcreteValueNeeded(f"The {what} of the kernel '{name}'", "Launch the largest that may be needed, and "
                                  "guard in the kernel.") from None
    except TypeError:
        raise LaunchError(f"The {what} of the kernel '{name}' is {value!r}, which is no integer.") from None


class Launchable:
    """A kernel ready to be launched: `kernel[grid, block](*arguments)`, or `kernel(grid, block, arguments)`."""

    def __init__(self, way_in: WayIn, lower: str = "auto", check: bool = False):
        if lower not in dispatch.PATHS:
            raise ValueError(f"lower is {', '.join(map(repr, dispatch.PATHS))}, not {lower!r}.")
        self.way_in, self.lower, self.check = way_in, lower, check
        self.__name__ = way_in.name
        self.max_dynamic_shared_size_bytes = 0      # CuPy's kernels have it; any size is taken here

    def __getitem__(self, configuration: Any) -> Configured:
        """grid, block, and optionally a stream (of no meaning here) and bytes of dynamic shared memory."""
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise LaunchError(f"A launch is {self.__name__}[grid, block](arguments) or {self.__name__}[grid, block, "
                              f"stream, bytes of shared memory](arguments).")
        return self.configure(*configuration)

    def configure(self, grid: Any, block: Any, stream: Any = 0, shared: Any = 0) -> Configured:
        """The kernel at one grid and block, to be called with its arguments."""
        launch = Launch(dimensions(grid, "grid", self.__name__), dimensions(block, "block", self.__name__),
                        _integer(shared, "shared memory", self.__name__), self.lower, self.check)
        return Configured(self.way_in, launch)

    def __call__(self, grid: Any, block: Any, args: Sequence[Any] = (), *, shared_mem: int = 0,
                 stream: Any = None) -> Any:
        """CuPy's form of a launch."""
        return self.configure(grid, block, stream, shared_mem)(*args)

    def forall(self, tasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Configured:
        """The kernel over `tasks` threads, as Numba's `forall`."""
        block = tpb or min(256, max(1, tasks))
        return self.configure(max(1, -(-tasks // block)), block, stream, sharedmem)

    def __repr__(self) -> str:
        return f"<reactant kernel {self.__name__}>"


class Configured:
    """A kernel with its grid and block; call it with the kernel's arguments."""

    def __init__(self, way_in: WayIn, launch: Launch):
        self.way_in, self.launch = way_in, launch

    def __call__(self, /, *arguments: Any, **variables: Any) -> Any:
        """Launch. `variables` replace the module's global variables of these names (CUDA C++)."""
        arguments = self.with_variables(arguments, variables)
        if is_tracing():
            return launch_in_trace(self.way_in, self.launch, arguments)
        return STANDALONE[0](self.way_in, self.launch, arguments)

    def record(self, /, *arguments: Any, **variables: Any) -> KernelRecord:
        """What the later steps get for these arguments (see `reactant.kernels.form.record`)."""
        from reactant.kernels.launch import inspection
        return inspection.record_of(self.way_in, self.launch, self.with_variables(arguments, variables))

    def explain(self, /, *arguments: Any, **variables: Any) -> str:
        """Whether the launch is a tensor program or native code, and why."""
        from reactant.kernels.launch import inspection
        return inspection.explained(self.way_in, self.launch, self.with_variables(arguments, variables))

    def with_variables(self, arguments: tuple, given: dict[str, Any]) -> tuple:
        """The arguments, and the memories of the module's variables after them."""
        known = {v.name for v in getattr(self.way_in, "variables", ())}
        if unknown := given.keys() - known:
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise TypeError(f"The kernel '{self.way_in.name}' uses no variable '{min(unknown)}' ({has}).")
        more = getattr(self.way_in, "global_arguments", None)
        return arguments if more is None else (*arguments, *more(given))


# ---- inside a traced function ----------------------------------------------------------------------------------

def launch_in_trace(way_in: WayIn, launch: Launch, given: Sequence[Any], alone: bool = False) -> Any:
    """Put a launch into the program being traced; gives what the function returns (C functions only). `alone`: the
    program is nothing but this launch, and `StructChanged` goes to who makes it."""
    with source_map.location():
        try:
            binding = bound(way_in, launch, given)
        except StructChanged:
            if alone:
                raise
            raise ConstantWriteError(f"a struct that the kernel '{way_in.name}' writes into (pass the array that it is "
                                     f"an element of to the compiled function)") from None
        result = with_result(way_in, binding)
        held = [m.read() for m in binding.memories]
        record, lowering = lowered(way_in, launch, binding)
        if lowering.chosen is not None:
            lowering = lowering.chosen(tuple(dispatch.is_argument(v) for v in held), dispatch.in_a_loop())
        current_trace().remarks.append(str(lowering))
        values = [*held, *binding.values]
        written = [m for m, b in zip(binding.memories, record.buffers, strict=True) if b.written]
        for memory in written:
            try:
                memory.require_writeable()
            except ConstantWriteError:
                if memory.name not in {v.name for v in getattr(way_in, "variables", ())}:
                    raise
                raise ConstantWriteError(
                    f"the variable '{memory.name}' of the kernel '{way_in.name}' (to give it an array instead: "
                    f"{way_in.name}[grid, block](..., {memory.name}={memory.name}))") from None
        for memory, value in zip(written, lowering.emit(values), strict=True):
            memory.write(value)
        return None if result is None else Tensor.of_value(ops.reshape(result.tensor.value(), ()), SCALAR)


def bound(way_in: WayIn, launch: Launch, given: Sequence[Any]) -> Binding:
    """The arguments of a launch. To Numba structs are memory, which kernels may change; where they don't, the numbers
    in it are better known."""
    names = parameter_names(way_in)
    binding = bind(given, names)
    if way_in.frontend != "numba" or not structs(binding.arguments):
        return binding
    key = (way_in, launch, binding.arguments, binding.buffers(), tuple(binding.scalars))
    changed = _changed.get(key)
    if changed is None:
        changed = _changed.setdefault(key, changed_structs(way_in, *key[2:], launch.grid, launch.block,
                                                           launch.dynamic_shared))
    return bind(given, names, changed) if changed else binding


_changed: dict[tuple, frozenset[int]] = {}


def parameter_names(way_in: WayIn) -> tuple[str, ...]:
    return tuple(getattr(way_in, "names", ()))


def with_result(way_in: WayIn, binding: Binding) -> Memory | None:
    """Memory for what the function returns, as the last buffer."""
    dtype = getattr(way_in, "result", None)
    if dtype is None:
        return None
    tensor = Tensor(Storage((1,), dtype, data=np.zeros(1, dtype)))
    memory = Memory(tensor, "result", (0,), (1,), np.dtype(dtype))
    binding.memories.append(memory)
    return memory


_lowered: dict[tuple, tuple[KernelRecord, dispatch.Lowering]] = {}


def lowered(way_in: WayIn, launch: Launch, binding: Binding) -> tuple[KernelRecord, dispatch.Lowering]:
    """The record of a launch and what it becomes; compiled once for each description of arguments."""
    differentiated = SESSION.differentiating > 0 or current_trace().spread     # native code needs whole arrays
    place = dispatch.place_of(getattr(current_trace().options, "target", None))
    key = (way_in, launch, binding.arguments, binding.buffers(), tuple(binding.scalars), differentiated, place)
    found = _lowered.get(key)
    if found is None:
        record = record_of(way_in, launch, binding)
        found = _lowered.setdefault(key, (record, dispatch.lower(record, launch.lower, launch.check, differentiated,
                                                                place, launch.guarded)))
    return found


def record_of(way_in: WayIn, launch: Launch, binding: Binding) -> KernelRecord:
    """The record of a launch."""
    return build(way_in, binding.arguments, binding.buffers(), tuple(binding.scalars), launch.grid, launch.block,
                 launch.dynamic_shared, launch.check)


