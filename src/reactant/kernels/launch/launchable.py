"""The objects that users call: a kernel, and a kernel with its grid and block.

Inside a compiled function a call is a part of it (`launch`). Outside, it is a compiled function of its own, which only
what lies above this room can make: that registers itself with `outside_functions`.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from reactant.errors import ConcreteValueNeeded
from reactant.frontends.arrays.tensor import is_tensor
from reactant.frontends.session.trace import is_tracing
from reactant.kernels.form.record import Dim3, KernelRecord
from reactant.kernels.launch import dispatch, inspection
from reactant.kernels.launch.building import LaunchError, WayIn
from reactant.kernels.launch.launch import Launch, launch_in_trace

Runner = Callable[[WayIn, Launch, tuple], Any]
_outside: list[Runner] = []


def outside_functions(run: Runner) -> Runner:
    """Declare what runs the launches outside of compiled functions, as a decorator; it takes the place of the one
    before."""
    _outside[:] = [run]
    return run


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
    """A kernel to launch, `kernel[grid, block](*arguments)` or `kernel(grid, block, arguments)`.

    Made by `reactant.kernel` and by `load`.

    The index is a grid and a block (ints, or tuples of up to three), optionally a stream (without meaning here) and the
    bytes of dynamic shared memory.

    Example:
        >>> fill = reactant.cuda.load('''
        ... extern "C" __global__ void fill(double *x, double value) { x[threadIdx.x] = value; }''', "fill")
        >>> x = np.zeros(3)
        >>> fill((1,), (2,), (x, 7.0))
        >>> x
        array([7., 7., 0.])
    """

    def __init__(self, way_in: WayIn, lower: str = "auto", check: bool = False, tune: bool = False):
        if lower not in dispatch.PATHS:
            raise ValueError(f"lower is {', '.join(map(repr, dispatch.PATHS))}, not {lower!r}.")
        if tune and (check or lower == "tensor"):
            raise ValueError(f"tune=True looks for the fastest way to run a kernel, and "
                             f"{'check=True' if check else 'lower=' + repr(lower)} leaves it only one.")
        self.way_in, self.lower, self.check, self.tune = way_in, lower, check, tune
        self.__name__ = way_in.name
        self.max_dynamic_shared_size_bytes = 0      # CuPy's kernels have it; any size is taken here

    def __getitem__(self, configuration: Any) -> Configured:
        """grid, block, and optionally a stream (of no meaning here) and bytes of dynamic shared memory."""
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise LaunchError(f"A launch is {self.__name__}[grid, block](arguments) or {self.__name__}[grid, block, "
                              "stream, bytes of shared memory](arguments).")
        return self.configure(*configuration)

    def configure(self, grid: Any, block: Any, stream: Any = 0, shared: Any = 0) -> Configured:
        """The kernel at one grid and block, to be called with its arguments."""
        launch = Launch(dimensions(grid, "grid", self.__name__), dimensions(block, "block", self.__name__),
                        _integer(shared, "shared memory", self.__name__), self.lower, self.check,
                        tune=self.tune)
        return Configured(self.way_in, launch)

    def __call__(self, grid: Any, block: Any, args: Sequence[Any] = (), *, shared_mem: int = 0,
                 stream: Any = None) -> Any:
        """CuPy's form of a launch."""
        return self.configure(grid, block, stream, shared_mem)(*args)

    def forall(self, tasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Configured:
        """The kernel over a number of threads, as Numba's `forall`.

        Args:
            tasks: the number of threads that there are at least.
            tpb: threads of a block; up to 256 when 0.
            stream: without meaning here.
            sharedmem: bytes of dynamic shared memory.

        Returns:
            A `Configured` kernel, to call with its arguments.
        """
        block = tpb or min(256, max(1, tasks))
        return self.configure(max(1, -(-tasks // block)), block, stream, sharedmem)

    def __repr__(self) -> str:
        return f"<reactant kernel {self.__name__}>"


class Configured:
    """A kernel with its grid and block, to call with its arguments.

    Keyword arguments replace the module's `__constant__` and `__device__` variables of these names (CUDA C++).

    Example:
        >>> fill = reactant.cuda.load('''
        ... extern "C" __global__ void fill(double *x, double value) { x[threadIdx.x] = value; }''', "fill")
        >>> print(fill[1, 3].explain(np.zeros(3), 7.0))
        fill: raised to a tensor program
    """

    def __init__(self, way_in: WayIn, launch: Launch):
        self.way_in, self.launch = way_in, launch

    def __call__(self, /, *arguments: Any, **variables: Any) -> Any:
        """Launch. `variables` replace the module's global variables of these names (CUDA C++)."""
        arguments = self.with_variables(arguments, variables)
        if is_tracing():
            return launch_in_trace(self.way_in, self.launch, arguments)
        return _outside[-1](self.way_in, self.launch, arguments)

    def record(self, /, *arguments: Any, **variables: Any) -> KernelRecord:
        """What the later steps get for these arguments (see `reactant.kernels.form.record`)."""
        return inspection.record_of(self.way_in, self.launch, self.with_variables(arguments, variables))

    def explain(self, /, *arguments: Any, **variables: Any) -> str:
        """Whether the launch is a tensor program or native code, and why.

        Args:
            arguments: those of a launch, which stay as they are.
            variables: the module's variables, by name.

        Returns:
            A text.
        """
        return inspection.explained(self.way_in, self.launch, self.with_variables(arguments, variables))

    def with_variables(self, arguments: tuple, given: dict[str, Any]) -> tuple:
        """The arguments, and the memories of the module's variables after them."""
        known = {v.name for v in getattr(self.way_in, "variables", ())}
        if unknown := given.keys() - known:
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise TypeError(f"The kernel '{self.way_in.name}' uses no variable '{min(unknown)}' ({has}).")
        more = getattr(self.way_in, "global_arguments", None)
        return arguments if more is None else (*arguments, *more(given))
