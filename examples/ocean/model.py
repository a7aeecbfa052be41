"""The model: its state, and a step as launches of kernels from plain Python."""
from __future__ import annotations

import numpy as np

from . import barotropic, diagnostics, equation_of_state, mixing, momentum, tracers, transport, vertical
from .boundaries import fill, fill_flow, fill_surface, fill_transports
from .equation_of_state import REFERENCE_DENSITY
from .grid import Grid, cut
from .launching import HALO, launch

OFFSET = 0.1
"""Beyond one half in Adams-Bashforth's weights, which damps what two steps alternate."""

INSIDE = (..., slice(HALO, -HALO), slice(HALO, -HALO))


class Model:
    """An ocean on a grid.

    Args:
        grid: where.
        dt: the time step in s.
        short_steps: of the free surface in a time step: a wave of speed sqrt(g depth) crosses no cell in one.
        turbulence: whether the closure of `mixing` says how water mixes; else `viscosity` and `diffusivity` do, m2/s.
        drag: the bottom's coefficient.

    State, with ghost cells: `u`, `v` in m/s, `temperature` in degrees C, `salinity` in g/kg, `turbulence` (kinetic
    energy) in m2/s2, `surface` (its height) in m. Forcing, one level: `stress_x`, `stress_y` in N/m2, `heating` in
    W/m2, `salting` in (g/kg) m/s. All are float64 arrays that may be set with `set`, or in place.
    """

    def __init__(self, grid: Grid, dt: float, short_steps: int = 30, turbulence: bool = True,
                 viscosity: float = 1e-4, diffusivity: float = 1e-5, drag: float = 2.5e-3) -> None:
        self.grid, self.dt, self.drag = grid, float(dt), float(drag)
        self.closure, self.viscosity, self.diffusivity = turbulence, float(viscosity), float(diffusivity)
        self.states_weights, self.flows_weights = barotropic.averaging_weights(short_steps)
        self.short_dt = self.dt / short_steps
        full, flat = grid.full, grid.full[1:]
        for name in ("u", "v", "temperature", "salinity", "turbulence", "temperature_before", "salinity_before",
                     "tendency_x_before", "tendency_y_before", "flow_x", "flow_y", "upward"):
            setattr(self, name, np.zeros(full))
        for name in ("surface", "stress_x", "stress_y", "heating", "salting", "transport_x", "transport_y",
                     "difference_x", "difference_y"):
            setattr(self, name, np.zeros(flat))
        self.stretch, self.stretch_x, self.stretch_y = np.ones(flat), np.ones(flat), np.ones(flat)
        self.stretch_before = np.ones(flat)
        self.turbulence += mixing.LEAST_ENERGY
        self.salinity += 35.0
        self.started = np.zeros(1)

    def set(self, **fields: np.ndarray | float) -> None:
        """Set state or forcing inside the domain, without ghost cells.

        Args:
            fields: arrays by attribute's name, or what NumPy broadcasts to them.
        """
        for name, values in fields.items():
            getattr(self, name)[INSIDE] = values

    def rows(self, name: str) -> np.ndarray:
        """A view of a field without its ghost cells."""
        return getattr(self, name)[INSIDE]


def start(model: Model) -> None:
    """The grid's masks; ghost cells, thickness and flows of the initial state: before the first step."""
    grid = model.grid
    cut(grid)
    model.u *= grid.wet_x
    model.v *= grid.wet_y
    fill(grid, model.temperature, model.salinity, model.turbulence)
    fill_surface(grid, model.surface)
    measure_stretch(model)
    model.stretch_before[...] = model.stretch
    fill_flow(grid, model.u, model.v)
    move_water(model)


def measure_stretch(model: Model) -> None:
    """Of columns and faces, from the height of the surface."""
    grid, flat = model.grid, model.grid.full[1:]
    launch(transport.stretch_columns, flat, model.surface, grid.column, model.stretch)
    launch(transport.stretch_faces_x, flat, model.surface, grid.column_x, model.stretch_x)
    launch(transport.stretch_faces_y, flat, model.surface, grid.column_y, model.stretch_y)


def move_water(model: Model) -> None:
    """Flows through all faces."""
    grid = model.grid
    launch(transport.flow_through_x, grid.full, model.u, grid.dz_x, model.stretch_x, grid.dy, model.difference_x,
           grid.column_x, model.flow_x)
    launch(transport.flow_through_y, grid.full, model.v, grid.dz_y, model.stretch_y, grid.dx_south,
           model.difference_y, grid.column_y, model.flow_y)
    launch(transport.flow_upwards, grid.full[1:], model.flow_x, model.flow_y, grid.dz, grid.area, model.stretch,
           model.stretch_before, model.dt, model.upward)


def step(model: Model) -> None:
    """One time step."""
    grid = model.grid
    fill(grid, model.temperature, model.salinity, model.turbulence)
    stratification, shear, length = np.zeros(grid.full), np.zeros(grid.full), np.empty(grid.full)
    viscosity, diffusivity = np.zeros(grid.full), np.zeros(grid.full)
    if model.closure:
        mix(model, stratification, shear, length, viscosity, diffusivity)
    else:
        viscosity += model.viscosity
        diffusivity += model.diffusivity
    extrapolated = model.started[0] * (0.5 + OFFSET)
    with_now, with_before = 1.0 + extrapolated, -extrapolated
    accelerate(model, viscosity, with_now, with_before)
    move_water(model)
    carry(model, diffusivity, with_now, with_before)
    if model.closure:
        make_turbulence(model, stratification, shear, length, viscosity, diffusivity)
    model.started[0] = 1.0


def mix(model: Model, stratification: np.ndarray, shear: np.ndarray, length: np.ndarray, viscosity: np.ndarray,
        diffusivity: np.ndarray) -> None:
    """What the closure computes on upper faces."""
    grid, full = model.grid, model.grid.full
    launch(equation_of_state.compute_stratification, full, model.temperature, model.salinity, grid.faces,
           grid.height, model.stretch, stratification)
    launch(mixing.compute_shear, full, model.u, model.v, grid.height, model.stretch, shear)
    launch(mixing.compute_length, full, model.turbulence, stratification, grid.faces, grid.column, length)
    launch(mixing.compute_viscosity, full, model.turbulence, length, viscosity)
    launch(mixing.compute_diffusivity, full, viscosity, stratification, shear, diffusivity)


def accelerate(model: Model, viscosity: np.ndarray, with_now: float, with_before: float) -> None:
    """The long step of momentum, but for the slope of the surface; what it added to whole columns is kept."""
    grid, full, inner, flat = model.grid, model.grid.full, model.grid.extent, model.grid.extent[1:]
    u, v = model.u, model.v
    vorticity, energy, buoyancy, pressure = np.empty(full), np.zeros(full), np.empty(full), np.empty(full)
    launch(momentum.compute_vorticity, full, u, v, grid.dx, grid.dy, grid.area_south, grid.wet_corner, vorticity)
    launch(momentum.compute_kinetic_energy, full, u, v, energy)
    launch(equation_of_state.compute_buoyancy, full, model.temperature, model.salinity, grid.height, buoyancy)
    launch(equation_of_state.compute_pressure, full[1:], buoyancy, grid.level, model.stretch, pressure)
    tendency, flux, driving = np.zeros(full), np.zeros(full), np.zeros(full)

    launch(momentum.turn_x, inner, v, vorticity, grid.dx, grid.dx_south, grid.order_vorticity_y, grid.wet_x, tendency)
    launch(momentum.coriolis_x, inner, v, grid.coriolis, grid.dx, grid.dx_south, grid.wet_x, grid.wet_y, tendency)
    launch(momentum.steepen_x, inner, energy, grid.dx, grid.wet_x, tendency)
    launch(momentum.lift_x, inner, u, model.upward, grid.order_z_x, flux)
    launch(momentum.advect_up_x, inner, u, model.upward, flux, grid.dz_x, model.stretch_x, grid.area, grid.order_z_x,
           tendency)
    launch(equation_of_state.accelerate_by_pressure_x, inner, pressure, buoyancy, grid.height, model.stretch,
           model.surface, grid.dx, grid.wet_x, tendency)
    launch(momentum.blow_x, flat, model.stress_x, grid.dz_x, model.stretch_x, REFERENCE_DENSITY, tendency)
    launch(momentum.extrapolate_tendency, full, tendency, model.tendency_x_before, with_now, with_before, driving)
    tendency_y, driving_y = np.zeros(full), np.zeros(full)
    launch(momentum.turn_y, inner, u, vorticity, grid.order_vorticity_x, grid.wet_y, tendency_y)
    launch(momentum.coriolis_y, inner, u, grid.coriolis_south, grid.wet_x, grid.wet_y, tendency_y)
    launch(momentum.steepen_y, inner, energy, grid.dy, grid.wet_y, tendency_y)
    launch(momentum.lift_y, inner, v, model.upward, grid.order_z_y, flux)
    launch(momentum.advect_up_y, inner, v, model.upward, flux, grid.dz_y, model.stretch_y, grid.area_south,
           grid.order_z_y, tendency_y)
    launch(equation_of_state.accelerate_by_pressure_y, inner, pressure, buoyancy, grid.height, model.stretch,
           model.surface, grid.dy, grid.wet_y, tendency_y)
    launch(momentum.blow_y, flat, model.stress_y, grid.dz_y, model.stretch_y, REFERENCE_DENSITY, tendency_y)
    launch(momentum.extrapolate_tendency, full, tendency_y, model.tendency_y_before, with_now, with_before, driving_y)
    add_to_flow(model, driving, driving_y, viscosity, flux)


def add_to_flow(model: Model, driving_x: np.ndarray, driving_y: np.ndarray, viscosity: np.ndarray,
                scratch: np.ndarray) -> None:
    """u, v += dt * tendency, then vertical friction and the bottom's drag; and the columns' transports."""
    grid, inner, flat = model.grid, model.grid.extent, model.grid.extent[1:]
    before_x, before_y, after_x, after_y, drag_x, drag_y = (np.zeros(grid.full[1:]) for _ in range(6))
    launch(barotropic.integrate_x, flat, model.u, grid.dz_x, before_x)
    launch(barotropic.integrate_y, flat, model.v, grid.dz_y, before_y)
    launch(vertical.drag_x, flat, model.u, model.v, grid.dz_x, model.drag, drag_x)
    launch(vertical.drag_y, flat, model.u, model.v, grid.dz_y, model.drag, drag_y)
    launch(momentum.accelerate, inner, model.u, driving_x, model.dt)
    launch(momentum.accelerate, inner, model.v, driving_y, model.dt)
    launch(vertical.diffuse_x, flat, model.u, viscosity, drag_x, grid.dz_x, grid.height, model.stretch_x, model.dt,
           scratch)
    launch(vertical.diffuse_y, flat, model.v, viscosity, drag_y, grid.dz_y, grid.height, model.stretch_y, model.dt,
           scratch)
    launch(barotropic.integrate_x, flat, model.u, grid.dz_x, after_x)
    launch(barotropic.integrate_y, flat, model.v, grid.dz_y, after_y)
    split(model, before_x, before_y, after_x, after_y)


def split(model: Model, before_x: np.ndarray, before_y: np.ndarray, after_x: np.ndarray, after_y: np.ndarray) -> None:
    """Short steps of the surface and whole columns, given depth integrals before and after the long step."""
    grid, inner, flat = model.grid, model.grid.extent, model.grid.extent[1:]
    forcing_x, forcing_y = np.zeros(grid.full[1:]), np.zeros(grid.full[1:])
    at_end_x, at_end_y, during_x, during_y = (np.zeros(grid.full[1:]) for _ in range(4))
    launch(barotropic.start_window, grid.full[1:], before_x, after_x, model.stretch_x, model.dt, model.transport_x,
           forcing_x, at_end_x, during_x)
    launch(barotropic.start_window, grid.full[1:], before_y, after_y, model.stretch_y, model.dt, model.transport_y,
           forcing_y, at_end_y, during_y)
    short_steps(model, forcing_x, forcing_y, at_end_x, at_end_y, during_x, during_y)
    fill_transports(grid, during_x, during_y)
    launch(barotropic.raise_surface, flat, model.surface, during_x, during_y, grid.dx_south, grid.dy, grid.area,
           model.dt)
    model.stretch_before[...] = model.stretch
    fill_surface(grid, model.surface)
    measure_stretch(model)
    launch(barotropic.correct_flow, inner, model.u, after_x, at_end_x, grid.column_x, model.stretch_x, grid.dz_x)
    launch(barotropic.correct_flow, inner, model.v, after_y, at_end_y, grid.column_y, model.stretch_y, grid.dz_y)
    fill_flow(grid, model.u, model.v)
    fill_transports(grid, at_end_x, at_end_y)
    launch(barotropic.compare_transports, grid.full[1:], at_end_x, during_x, model.difference_x)
    launch(barotropic.compare_transports, grid.full[1:], at_end_y, during_y, model.difference_y)


def short_steps(model: Model, forcing_x: np.ndarray, forcing_y: np.ndarray, at_end_x: np.ndarray,
                at_end_y: np.ndarray, during_x: np.ndarray, during_y: np.ndarray) -> None:
    """The free surface and whole columns, forward and backward."""
    grid, flat, whole = model.grid, model.grid.extent[1:], model.grid.full[1:]
    moving = np.empty(whole)
    launch(barotropic.copy_surface, whole, model.surface, moving)
    flow_x, flow_y = model.transport_x, model.transport_y
    fill_transports(grid, flow_x, flow_y)
    for m in range(len(model.states_weights)):
        launch(barotropic.average, whole, flow_x, model.flows_weights[m], during_x)
        launch(barotropic.average, whole, flow_y, model.flows_weights[m], during_y)
        launch(barotropic.raise_surface, flat, moving, flow_x, flow_y, grid.dx_south, grid.dy, grid.area,
               model.short_dt)
        fill_surface(grid, moving)
        launch(barotropic.push_x, flat, flow_x, moving, forcing_x, grid.column_x, model.stretch_x, grid.dx,
               model.short_dt)
        launch(barotropic.push_y, flat, flow_y, moving, forcing_y, grid.column_y, model.stretch_y, grid.dy,
               model.short_dt)
        fill_transports(grid, flow_x, flow_y)
        launch(barotropic.average, whole, flow_x, model.states_weights[m], at_end_x)
        launch(barotropic.average, whole, flow_y, model.states_weights[m], at_end_y)


def carry(model: Model, diffusivity: np.ndarray, with_now: float, with_before: float) -> None:
    """The step of heat and salt."""
    grid, full = model.grid, model.grid.full
    middle, flux_x, flux_y, flux_z = np.empty(full), np.zeros(full), np.zeros(full), np.zeros(full)
    nz, ny, nx = grid.extent
    for tracer, before in ((model.temperature, model.temperature_before), (model.salinity, model.salinity_before)):
        launch(tracers.to_middle, full, tracer, before, with_now, with_before, middle)
        launch(tracers.carry_x, (nz, ny, nx + 1), middle, model.flow_x, grid.order_x, flux_x)
        launch(tracers.carry_y, (nz, ny + 1, nx), middle, model.flow_y, grid.order_y, flux_y)
        launch(tracers.carry_z, grid.extent, middle, model.upward, grid.order_z, flux_z)
        launch(tracers.take_in, grid.extent, tracer, flux_x, flux_y, flux_z, grid.dz, grid.area, model.stretch,
               model.stretch_before, model.dt)
    launch(tracers.warm, grid.extent[1:], model.temperature, model.heating, grid.dz, model.stretch,
           REFERENCE_DENSITY, model.dt)
    launch(tracers.salt, grid.extent[1:], model.salinity, model.salting, grid.dz, model.stretch, model.dt)
    for tracer in (model.temperature, model.salinity):
        launch(vertical.diffuse_tracer, grid.extent[1:], tracer, diffusivity, grid.dz, grid.height, model.stretch,
               model.dt, flux_z)


def make_turbulence(model: Model, stratification: np.ndarray, shear: np.ndarray, length: np.ndarray,
                    viscosity: np.ndarray, diffusivity: np.ndarray) -> None:
    """The step of turbulent kinetic energy."""
    grid, inner, flat, e = model.grid, model.grid.extent, model.grid.extent[1:], model.turbulence
    production, damping, scratch = np.zeros(grid.full), np.zeros(grid.full), np.empty(grid.full)
    launch(mixing.produce_turbulence, inner, e, viscosity, diffusivity, shear, stratification, grid.wet, model.dt,
           production)
    launch(mixing.feed_turbulence, inner, e, production, length, model.dt, damping)
    launch(mixing.stir_by_wind, flat, e, model.stress_x, model.stress_y, grid.dz, model.stretch, REFERENCE_DENSITY,
           model.dt)
    launch(vertical.diffuse_turbulence, flat, e, viscosity, damping, grid.dz, grid.height, model.stretch, model.dt,
           scratch)
    launch(mixing.keep_positive, grid.full, e)


def run(model: Model, steps: int) -> None:
    """Many time steps."""
    for _ in range(steps):
        step(model)


def totals(model: Model) -> np.ndarray:
    """Volume in m3, heat in K m3 and salt in (g/kg) m3 of all cells, and kinetic energy in m5/s2."""
    grid, flat = model.grid, model.grid.extent[1:]
    column = np.zeros((4, *flat))
    launch(diagnostics.measure_volume, flat, grid.dz, model.stretch, grid.area, column[0])
    launch(diagnostics.measure_content, flat, model.temperature, grid.dz, model.stretch, grid.area, column[1])
    launch(diagnostics.measure_content, flat, model.salinity, grid.dz, model.stretch, grid.area, column[2])
    launch(diagnostics.measure_energy, flat, model.u, model.v, grid.dz_x, grid.dz_y, model.stretch_x, model.stretch_y,
           grid.area, grid.area_south, column[3])
    return column.sum(axis=(1, 2))
