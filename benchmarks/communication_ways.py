"""A program for one device on a mesh of them: as XLA partitions it, as we do, and as it was written for it by hand."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from communication_halo import Place, by_hand
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import reactant
from reactant.calling.placing import LEFT_OUT
from reactant.communication.sharding import MeshShape, Sharding
from reactant.communication.traffic import Traffic, traffic
from reactant.demos.measure import largest_difference
from reactant.ir import modules
from reactant.ir.context import building

Spec = tuple[str | tuple[str, ...] | None, ...]
"""For each dimension the axes that divide it, where the mesh has them."""

FIELD: Spec = ("x", "y")
WHOLE: Spec = ()
MESHES = {"8": MeshShape(("x",), (8,)), "4x2": MeshShape(("x", "y"), (4, 2))}
BEFORE_TARGETS = "differentiated"
"""The pipeline before forms are chosen for a platform: what the partitioner takes."""


@dataclass(frozen=True)
class Case:
    """A program, with how its arguments and results lie on a mesh.

    arguments: from a size (the rows of fields) to arrays of NumPy.
    shardings, results: of each argument and each result; dimensions that are not named are not divided.
    jax: a function of jax arrays that returns one or several.
    numpy: the same program in NumPy, which may write into its arguments; None where it is written in JAX.
    changed: the arguments whose new content is the program's result.
    by_hand: the program of one device's blocks, `by_hand(place, *blocks)`, which returns a tuple.
    launched: the same as host code that launches kernels; then it is this that we compile.
    adjoint: the arguments of which the gradient is taken, of the sum of the squares of the results; () for none.
    close: the largest difference that rounding explains, over the largest element.
    """

    name: str
    arguments: Callable[[int], tuple[np.ndarray, ...]]
    shardings: tuple[Spec, ...]
    results: tuple[Spec, ...]
    jax: Callable
    numpy: Callable | None = None
    changed: tuple[int, ...] = ()
    by_hand: Callable | None = None
    launched: Callable | None = None
    adjoint: tuple[int, ...] = ()
    close: float = 1e-4

    def jax_program(self) -> Callable[..., tuple]:
        """The program in JAX, from arrays to a tuple of arrays."""
        if self.adjoint:
            return gradient(self.jax, jax.grad, self.adjoint)
        return lambda *given: as_tuple(self.jax(*given))

    def our_program(self) -> Callable[..., tuple]:
        """What we compile: the program in kernels or NumPy where there is one."""
        if self.numpy is None:
            return self.jax_program()
        plain = returning(self.launched or self.numpy, self.changed)
        return gradient(plain, reactant.grad, self.adjoint) if self.adjoint else plain


@dataclass
class Way:
    """A compiled program. `seconds` until it was compiled, `run` starts it, `delivered` makes NumPy arrays of what that
    returns."""

    text: str
    seconds: float
    run: Callable[[], Any]
    delivered: Callable[[Any], tuple[np.ndarray, ...]]

    @cached_property
    def traffic(self) -> Traffic:
        return traffic(self.text)


def as_tuple(found: Any) -> tuple:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def neutral(function: Callable) -> dict[str, Callable]:
    """A function of arrays whose first argument is NumPy or `jax.numpy`, as the program in both."""
    return {"jax": lambda *arrays: function(jnp, *arrays), "numpy": lambda *arrays: function(np, *arrays)}


def returning(function: Callable, changed: Sequence[int]) -> Callable[..., tuple]:
    """A NumPy program that leaves its arguments as they are and returns all that it computes."""
    def whole(*arrays):
        copies = [a.copy() for a in arrays]
        found = function(*copies)
        return tuple([copies[i] for i in changed]) if changed else as_tuple(found)
    return whole


def gradient(function: Callable, grad: Callable, numbers: tuple[int, ...]) -> Callable[..., tuple]:
    """Of the sum of the squares of what a program returns, with respect to the arguments with these numbers."""
    def squares(*arrays):
        return sum((r * r).sum() for r in as_tuple(function(*arrays)))

    def whole(*arrays):
        return as_tuple(grad(squares, argnums=numbers)(*arrays))
    return whole


def sharding(spec: Spec, mesh: MeshShape, rank: int) -> Sharding:
    """How an array of `rank` dimensions lies on a mesh: axes that it has not divide nothing."""
    named = [(axes,) if isinstance(axes, str) else axes or () for axes in (*spec, *(None,) * (rank - len(spec)))]
    return Sharding(tuple(tuple(axis for axis in axes if axis in mesh.names) for axes in named))


def on_devices(mesh: MeshShape) -> jax.sharding.Mesh:
    return jax.make_mesh(mesh.sizes, mesh.names, axis_types=(AxisType.Auto,) * len(mesh.sizes))


def named(mesh: MeshShape, given: Sharding) -> NamedSharding:
    return NamedSharding(on_devices(mesh), PartitionSpec(*given.axes))


def padded(array: Any, mesh: MeshShape, given: Sharding) -> Any:
    """An array as it is at rest."""
    widths = [(0, n - m) for n, m in zip(given.padded(mesh, array.shape), array.shape, strict=True)]
    return array if not any(map(any, widths)) else (jnp if isinstance(array, jax.Array) else np).pad(array, widths)


def cut(array: Any, shape: Sequence[int]) -> Any:
    """The part of a padded array that is there."""
    return array if array.shape == tuple(shape) else array[tuple(slice(n) for n in shape)]


class Run:
    """A case of some size on a mesh: arguments as they are at rest, and what its results must be."""

    def __init__(self, case: Case, mesh: MeshShape, rows: int):
        self.case, self.mesh = case, mesh
        self.arrays = case.arguments(rows)
        self.given = [sharding(s, mesh, a.ndim) for s, a in zip(case.shardings, self.arrays, strict=True)]
        self.expected = jax.eval_shape(case.jax_program(), *self.arrays)
        specs = [case.shardings[i] for i in case.adjoint] if case.adjoint else case.results
        self.results = [sharding(s, mesh, len(r.shape)) for s, r in zip(specs, self.expected, strict=True)]

    def placed(self, arrays: Sequence[np.ndarray], shardings: Sequence[Sharding]) -> list[jax.Array]:
        """Arguments on the devices, as they are at rest."""
        return [jax.device_put(padded(a, self.mesh, s), named(self.mesh, s))
                for a, s in zip(arrays, shardings, strict=True)]

    def delivered(self, found: Sequence[jax.Array]) -> tuple[np.ndarray, ...]:
        return tuple(cut(np.asarray(r), e.shape) for r, e in zip(found, self.expected, strict=True))

    def oracle(self) -> tuple[np.ndarray, ...]:
        """The results on one device, NumPy's where the program is one of NumPy."""
        if self.case.numpy is None or self.case.adjoint:
            return tuple(map(np.asarray, jax.jit(self.case.jax_program())(*self.arrays)))
        return tuple(map(np.asarray, returning(self.case.numpy, self.case.changed)(*self.arrays)))

    def error(self, found: Sequence[np.ndarray]) -> float:
        """The largest difference from the oracle, over its largest element."""
        return max(largest_difference(f, w) / max(float(np.max(np.abs(w), initial=0)), 1e-30)
                   for f, w in zip(found, self.oracle(), strict=True))


def automatic(run: Run) -> Way:
    """XLA's own partitioning. Arrays that do not divide rest padded, as jax refuses them otherwise."""
    program = run.case.jax_program()

    def at_rest(*arrays):
        found = program(*(cut(a, w.shape) for a, w in zip(arrays, run.arrays, strict=True)))
        return [padded(r, run.mesh, s) for r, s in zip(found, run.results, strict=True)]
    return _of_jax(run, jax.jit(at_rest, out_shardings=[named(run.mesh, s) for s in run.results]))


def specialist(run: Run) -> Way:
    """The program by hand. Raises `ValueError` where there is none."""
    if run.case.by_hand is None:
        raise ValueError(f"{run.case.name} is not written by hand.")
    specs = [[PartitionSpec(*s.axes) for s in each] for each in (run.given, run.results)]
    place = Place(run.mesh, run.arrays[0].shape[:2])
    return _of_jax(run, by_hand(run.case.by_hand, on_devices(run.mesh), place, *specs))


def _of_jax(run: Run, program: Any) -> Way:
    arguments = run.placed(run.arrays, run.given)
    start = time.perf_counter()
    compiled = program.lower(*arguments).compile()
    seconds = time.perf_counter() - start
    return Way(compiled.as_text(), seconds, partial(compiled, *arguments), run.delivered)


def ours(run: Run) -> Way:
    """Our partitioning. Raises `ImportError` as long as there is none."""
    from reactant.communication.partition import partition
    start = time.perf_counter()
    lowered = reactant.jit(run.case.our_program(), native="never", optimize=BEFORE_TARGETS,
                           without=LEFT_OUT, mesh=on_devices(run.mesh)).lower(*run.arrays)
    captured = lowered.traced.captured      # constants that are too large for the program come as arguments
    with building():
        found = modules.function(lowered.module).attributes["function_type"].value.results
        checks = len(found) - len(run.results)      # of indices, say, whose results come last
        made = partition(lowered.module, run.mesh, [*run.given, *[None] * len(captured)],
                         [*run.results, *[None] * checks])
        executable = compiled_for(made.module, run.mesh.devices)
    seconds = time.perf_counter() - start
    arguments = run.placed([*run.arrays, *captured], made.inputs)
    shapes = [s.padded(run.mesh, e.shape) for s, e in zip(made.outputs, run.expected, strict=False)]

    def call() -> list[list[jax.Array]]:
        return executable.execute_sharded(arguments).disassemble_into_single_device_arrays()

    def delivered(parts: list[list[jax.Array]]) -> tuple[np.ndarray, ...]:
        return run.delivered([jax.make_array_from_single_device_arrays(shape, named(run.mesh, s), list(shards))
                              for shape, s, shards in zip(shapes, made.outputs, parts, strict=False)])
    return Way(executable.hlo_modules()[0].to_string(), seconds, call, delivered)


def compiled_for(module: Any, devices: int) -> Any:
    """A module compiled with XLA for so many devices, numbered as they are in jax."""
    from jax._src.compiler import get_compile_options
    from jax._src.xla_bridge import get_backend
    chosen = jax.devices()[:devices]
    options = get_compile_options(1, devices, device_assignment=np.array([[d.id for d in chosen]]))
    return get_backend().compile_and_load(module, jaxlib._jax.DeviceList(tuple(chosen)), options)


WAYS: dict[str, Callable[[Run], Way]] = {"xla": automatic, "ours": ours, "by hand": specialist}
