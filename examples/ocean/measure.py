"""What README.md says in figures: the time of a step by four ways, three stages beside C, derivatives, assimilation."""
from __future__ import annotations

import copy
import ctypes
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

from . import adjoint, cases, equation_of_state, tracers, vertical
from .launching import launch, launched_by, one_by_one
from .model import Model, run, start


def seconds(call: Callable[[], Any], repeats: int = 5) -> tuple[float, float]:
    """Wall and processor time of the fastest of some calls."""
    found = []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - wall, time.process_time() - processor))
    return min(found)[0], min(processor for _, processor in found)


def speed(console: Console, size: int = 256) -> None:
    """A time step at size x size x size / 8: one program, without our passes, kernel by kernel; stages beside C."""
    model = cases.channel(size, size, size // 8, dt=300.0)
    reactant.jit(start)(model)
    table = Table("a step, float64", "compiling, s", "wall, ms", "processor, ms", title=f"{model.grid.extent}")
    for name, options, way in (("one program", {"native_seconds": 60.0}, None),
                               ("without our passes", {"optimize": False, "native": "never"}, None),
                               ("kernel by kernel", None, one_by_one)):
        one = run if options is None else reactant.jit(run, **options)

        def steps(one: Callable[..., None] = one, way: Any = way) -> None:
            with launched_by(way):
                one(model, 1)
        begun = time.process_time()
        steps()
        compiling = time.process_time() - begun
        wall, processor = seconds(steps)
        table.add_row(name, f"{compiling - processor:.0f}", f"{1e3 * wall:.0f}", f"{1e3 * processor:.0f}")
    console.print(table)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"state, forcing and grid {size_of(model):.0f} MB; the process at its largest {most:.0f} MB")
    stages(console, model)


def size_of(model: Model) -> float:
    """MB of all arrays of a model and its grid."""
    values = [*vars(model).values(), *vars(model.grid).values()]
    return sum(v.nbytes for v in values if isinstance(v, np.ndarray)) / 1e6


# ---- stages beside C

def advect(middle: np.ndarray, tracer: np.ndarray, model: Model) -> None:
    """Fluxes and the step of one tracer."""
    grid = model.grid
    nz, ny, nx = grid.extent
    flux_x, flux_y, flux_z = (np.empty(grid.full) for _ in range(3))
    launch(tracers.carry_x, (nz, ny, nx + 1), middle, model.flow_x, grid.order_x, flux_x)
    launch(tracers.carry_y, (nz, ny + 1, nx), middle, model.flow_y, grid.order_y, flux_y)
    launch(tracers.carry_z, grid.extent, middle, model.upward, grid.order_z, flux_z)
    launch(tracers.take_in, grid.extent, tracer, flux_x, flux_y, flux_z, grid.dz, grid.area, model.stretch,
           model.stretch_before, model.dt)


def weigh(buoyancy: np.ndarray, pressure: np.ndarray, model: Model) -> None:
    """Buoyancy and pressure."""
    grid = model.grid
    launch(equation_of_state.compute_buoyancy, grid.full, model.temperature, model.salinity, grid.height, buoyancy)
    launch(equation_of_state.compute_pressure, grid.full[1:], buoyancy, grid.level, model.stretch, pressure)


def diffuse(tracer: np.ndarray, diffusivity: np.ndarray, model: Model) -> None:
    """Implicit vertical diffusion of one tracer."""
    grid = model.grid
    launch(vertical.diffuse_tracer, grid.extent[1:], tracer, diffusivity, grid.dz, grid.height, model.stretch,
           model.dt, np.empty(grid.full))


def in_c() -> ctypes.CDLL:
    """`yardstick.c`, by the clang in the wheel of ziglang."""
    made = Path(tempfile.mkdtemp()) / "yardstick.so"
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-O3", "-march=native", "-ffp-contract=fast",
                    "-fno-math-errno", "-fno-sanitize=all", "-fPIC", "-shared", "-o", str(made),
                    str(Path(__file__).with_name("yardstick.c"))], check=True, capture_output=True)
    return ctypes.CDLL(str(made))


def called(function: Any, *arguments: Any) -> None:
    """Arrays as pointers, floats as double."""
    function(*(ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray)
               else ctypes.c_double(a) if isinstance(a, float) else ctypes.c_int(a) for a in arguments))


def stages(console: Console, model: Model) -> None:
    """Three stages as kernels in one program, and in C on one core: the same numbers, processor time."""
    grid, library = model.grid, in_c()
    full, middle = grid.full, model.temperature.copy()
    arrays = {name: np.zeros(full) for name in ("buoyancy", "pressure", "b", "p")}
    tracer, twin = model.temperature.copy(), model.temperature.copy()
    diffusivity = np.full(full, 1e-3)
    rows: list[tuple[str, Callable[[], Any], Callable[[], Any], np.ndarray, np.ndarray]] = [
        ("advection of a tracer", _bound(reactant.jit(advect), middle, tracer, model),
         lambda: called(library.advect, middle, model.flow_x, model.flow_y, model.upward, grid.order_x, grid.order_y,
                        grid.order_z, grid.dz, grid.area, model.stretch, model.stretch_before, model.dt, twin, *full),
         tracer, twin),
        ("density and pressure", _bound(reactant.jit(weigh), arrays["buoyancy"], arrays["pressure"], model),
         lambda: called(library.weigh, model.temperature, model.salinity, grid.height, grid.level, model.stretch,
                        arrays["b"], arrays["p"], *full), arrays["pressure"], arrays["p"]),
        ("vertical diffusion", _bound(reactant.jit(diffuse), tracer, diffusivity, model),
         lambda: called(library.diffuse, twin, diffusivity, grid.dz, grid.height, model.stretch, model.dt, *full),
         tracer, twin)]
    table = Table("a stage", "ours, wall ms", "ours, processor ms", "C, ms", "C / ours", "largest difference")
    for name, ours, theirs, mine, other in rows:
        ours()
        theirs()
        inner = (..., slice(4, -4), slice(4, -4))
        different = float(np.abs(mine[inner] - other[inner]).max())
        wall, processor = seconds(ours)
        _, c = seconds(theirs)
        table.add_row(name, f"{1e3 * wall:.1f}", f"{1e3 * processor:.1f}", f"{1e3 * c:.1f}", f"{c / processor:.2f}",
                      f"{different:.1e}")
        other[...] = mine
    console.print(table)


def _bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: function(*arguments)


# ---- derivatives and assimilation

def derivatives(console: Console, size: int = 24, steps: int = 16) -> None:
    """The adjoint beside differences and forward mode, and its time beside the model's."""
    model = cases.channel(size, size * 3 // 4, max(size // 6, 4))
    reactant.jit(start)(model)
    row = model.grid.extent[1] // 2
    transport = reactant.jit(adjoint.heat_transport)
    # some hours, until the flow has found its balance
    adjoint.spin_up(model, 2, steps, row)
    at = model.rows("temperature").copy(), model.rows("stress_x").copy()
    gradient = reactant.value_and_grad(adjoint.heat_transport, argnums=(0, 1), checkpoint="sqrt")
    begun = time.process_time()
    value, found = gradient(*at, copy.deepcopy(model), steps, row)
    console.print(f"{value:.12f} PW; traced, differentiated and compiled in {time.process_time() - begun:.0f} s")
    random = np.random.default_rng(0)
    directions = tuple(random.standard_normal(a.shape) for a in at)
    for index, name in enumerate(("temperature", "wind")):
        product = float(np.sum(np.asarray(found[index]) * directions[index]))
        for length in (1e-3, 1e-4, 1e-5):
            ends = []
            for sign in (1.0, -1.0):
                moved = list(at)
                moved[index] = at[index] + sign * length * directions[index]
                ends.append(float(transport(*moved, copy.deepcopy(model), steps, row)))
            difference = (ends[0] - ends[1]) / (2.0 * length)
            console.print(f"by {name}: {product:.10e}, by differences over {length:g} {difference:.10e}, "
                          f"{abs(difference / product - 1.0):.1e} apart")
    _, primal = seconds(lambda: transport(*at, copy.deepcopy(model), steps, row), 3)
    _, both = seconds(lambda: gradient(*at, copy.deepcopy(model), steps, row), 3)
    console.print(f"{steps} steps: model {primal:.3f} s, with its adjoint {both:.3f} s, {both / primal:.2f} times")

    @reactant.jit
    def along(temperature: np.ndarray, stress: np.ndarray, model: Model, *moved: np.ndarray) -> Any:
        return reactant.jvp(lambda *given: adjoint.heat_transport(*given, model, steps, row),
                            (temperature, stress), moved)[1]
    forward = along(*at, copy.deepcopy(model), *directions)
    backward = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(found, directions, strict=True))
    console.print(f"dot product: forward {np.ravel(forward[0] if isinstance(forward, tuple) else forward)[0]:.15e}, "
                  f"reverse {backward:.15e}")


def assimilate(console: Console, size: int = 24, observations: int = 200, rounds: int = 12) -> None:
    """200 temperatures, seen at four times over two days, and the initial state that L-BFGS finds from them. The true
    ocean runs kernel by kernel, the one that is sought as one program."""
    truth = cases.channel(size, size * 3 // 4, max(size // 6, 4))
    reactant.jit(start, native="never")(truth)
    nz, ny, nx = truth.grid.extent
    random = np.random.default_rng(1)
    each, between = observations // 4, 72
    places = np.stack([random.integers(0, nz - 1, each), random.integers(2, ny - 2, each),
                       random.integers(0, nx, each)], axis=1)
    spread = adjoint.smoothing(2.5, 1.0, 2.0)
    wrong = spread(random.standard_normal(truth.grid.extent))
    right = truth.rows("temperature").copy()
    seen, moving = [], copy.deepcopy(truth)
    for _ in range(4):
        with launched_by(one_by_one):
            run(moving, between)
        seen.append(moving.rows("temperature")[places[:, 0], places[:, 1], places[:, 2]].copy())
    misfits: list[float] = []
    found, _ = adjoint.assimilate(truth, right + wrong, places, np.array(seen), between, rounds, spread,
                                  told=misfits.append)
    near = [np.sqrt(np.mean((state - right) ** 2)) for state in (right + wrong, found)]
    console.print(f"misfit {misfits[0]:.4g} -> {min(misfits):.4g}; error of the initial temperature {near[0]:.4f} -> "
                  f"{near[1]:.4f} K")

