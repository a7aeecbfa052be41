"""examples/ocean: its physics. One stage runs each time; whole models take a minute to compile and are slow tests:

    python -m pytest tests/programs/test_ocean.py -m slow
"""
import ast
import copy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit

import examples.__main__ as listing
import reactant

pytest.importorskip("numba.cuda")
from examples.ocean import adjoint, barotropic, cases, eddies, numerics  # noqa: E402
from examples.ocean import model as ocean  # noqa: E402
from examples.ocean.launching import launched_by, one_by_one  # noqa: E402

FOLDER = Path(ocean.__file__).parent
STEPS = 10
"""Time steps of one call: programs are compiled for a number of them."""


@pytest.fixture(scope="module")
def steps():
    compiled = reactant.jit(ocean.run, native_seconds=60.0)

    def several(model, calls):
        for _ in range(calls):
            compiled(model, STEPS)
    return several


def begun(model):
    reactant.jit(ocean.start)(model)
    return model


def totals(model):
    return np.asarray(reactant.jit(ocean.totals)(model))


def decayed_cosine(times, amplitude, frequency, decay):
    return amplitude * np.cos(frequency * times) * np.exp(-decay * times)


def held_and_oscillating(times, seen, frequency):
    """The constant in constant + cosine + sine, by least squares."""
    columns = np.stack([np.ones_like(times), np.cos(frequency * times), np.sin(frequency * times)], axis=1)
    return np.linalg.lstsq(columns, seen, rcond=None)[0][0]


# ---- each time

def test_density_is_that_of_the_published_check_value():
    """Roquet et al. 2015: r = 1022.85377 kg/m3 at 30 g/kg, 10 degrees C and 1,000 m."""
    assert cases.density(10.0, 30.0, -1000.0) == pytest.approx(1022.85377, abs=5e-6)


def test_there_are_at_least_sixty_kernels():
    decorators = [ast.unparse(d) for path in FOLDER.glob("*.py") for node in ast.walk(ast.parse(path.read_text()))
                  if isinstance(node, ast.FunctionDef) for d in node.decorator_list]
    assert decorators.count("cuda.jit") >= 60


def test_reconstruction_is_of_order_five_where_fields_are_smooth():
    def error(cells):
        edges = np.linspace(0.0, 1.0, cells + 1)
        means = (np.cos(edges[:-1] + 0.3) - np.cos(edges[1:] + 0.3)) * cells
        return max(abs(numerics.weno5.py_func(*means[i - 2:i + 3]) - np.sin(edges[i + 1] + 0.3))
                   for i in range(2, cells - 2))
    assert 4.5 < np.log2(error(20) / error(40)) < 5.5


def test_reconstruction_of_a_jump_stays_within_it():
    for means in ((0, 0, 0, 1, 1), (0, 0, 1, 1, 1), (1, 1, 1, 0, 0)):
        assert -1e-3 < numerics.weno5.py_func(*map(float, means)) < 1.0 + 1e-3


@pytest.mark.parametrize("count", [10, 30])
def test_averages_of_short_steps_are_centred_on_the_long_one(count):
    states, flows = barotropic.averaging_weights(count)
    assert states.sum() == pytest.approx(1.0) and flows.sum() == pytest.approx(1.0)
    assert (np.arange(1, len(states) + 1) / count * states).sum() == pytest.approx(1.0, abs=0.03)


def test_examples_are_listed_with_a_line_each():
    rows = dict(listing.listed())
    assert "python -m examples.ocean" in rows and all(rows.values())


def test_short_steps_conserve_volume_and_leave_land_alone():
    model = cases.seamount(12, 8, 2)
    grid = model.grid
    inside = slice(4, -4), slice(4, -4)
    depth = grid.depth[inside] * (np.arange(12) != 5)
    grid.column[inside] = depth
    for column, axis in ((grid.column_x, 1), (grid.column_y, 0)):
        column[inside] = np.minimum(depth, np.roll(depth, 1, axis))
    grid.column_y[4] = 0.0
    model.set(surface=np.random.default_rng(0).standard_normal((8, 12)) * (depth > 0))
    before = model.surface.copy()
    flat = grid.full[1:]
    forcing, end_x, end_y, during_x, during_y = (np.zeros(flat) for _ in range(5))

    @reactant.jit
    def moved(model, forcing, end_x, end_y, during_x, during_y):
        ocean.short_steps(model, forcing, forcing, end_x, end_y, during_x, during_y)
        ocean.fill_transports(model.grid, during_x, during_y)
        ocean.launch(barotropic.raise_surface, model.grid.extent[1:], model.surface, during_x, during_y,
                     model.grid.dx_south, model.grid.dy, model.grid.area, model.dt)
    moved(model, forcing, end_x, end_y, during_x, during_y)
    area = grid.area[inside[0], None]
    change = (model.surface - before)[inside]
    assert np.abs(change).max() > 0.01 and abs((change * area).sum()) < 1e-12 * (np.abs(change) * area).sum()
    assert (during_x[inside][grid.column_x[inside] == 0.0] == 0.0).all()


def test_spectrum_along_the_channel_has_waves_at_their_number():
    model = cases.channel(48, 12, 2)
    x = 2.0 * np.pi * np.arange(48) / 48
    waves = np.arange(1, 13)
    model.set(u=sum(k ** -1.5 * np.cos(k * x + k * k) for k in waves), v=np.arange(12.0)[:, None])
    power = eddies.along_channel(model)
    assert power[0] > 1.0 and np.abs(power[13:]).max() < 1e-20
    assert eddies.slope(power, waves) == pytest.approx(-3.0, abs=1e-9)


# ---- whole models

@pytest.mark.slow
def test_water_at_rest_over_a_mountain_stays_at_rest(steps):
    model = begun(cases.seamount(turbulence=False, viscosity=0.0, diffusivity=0.0))
    before = totals(model)
    steps(model, 10)
    assert max(np.abs(f).max() for f in (model.u, model.v, model.surface)) == 0.0
    assert (totals(model) == before).all()


@pytest.mark.slow
def test_volume_heat_and_salt_are_conserved(steps):
    model = begun(cases.channel(24, 16, 6))
    model.heating[...] = 0.0
    model.set(salinity=35.0 + 0.1 * np.sin(np.arange(24) / 3.0))
    before = totals(model)
    steps(model, 100)
    after = totals(model)
    assert np.abs(after[:3] / before[:3] - 1.0).max() < 1e-12
    assert 0.05 < np.abs(model.u).max() < 3.0


@pytest.mark.slow
def test_one_program_computes_what_kernels_do_one_by_one(steps):
    model = begun(cases.channel(24, 16, 6))
    twin = copy.deepcopy(model)
    steps(model, 1)
    with launched_by(one_by_one):
        ocean.run(twin, STEPS)
    for name in ("u", "v", "temperature", "salinity", "turbulence", "surface"):
        mine, other = getattr(model, name), getattr(twin, name)
        assert np.abs(mine - other).max() <= 1e-12 * np.abs(other).max(), name


@pytest.mark.slow
def test_internal_waves_have_the_speed_of_theory(steps):
    model, speed = cases.internal_wave()
    begun(model)
    wave = model.rows("salinity") - model.rows("salinity").mean(axis=(1, 2), keepdims=True)
    mean = model.rows("salinity").mean(axis=(1, 2), keepdims=True)
    seen = []
    for _ in range(60):
        steps(model, 1)
        seen.append((wave * (model.rows("salinity") - mean)).sum() / (wave ** 2).sum())
    times = STEPS * model.dt * np.arange(1, 61)
    k = 2.0 * np.pi / 100.0e3
    fitted, _ = curve_fit(decayed_cosine, times, seen, [1.0, k * speed, 0.0])
    assert fitted[1] / k == pytest.approx(speed, rel=0.01)


@pytest.mark.slow
def test_geostrophic_adjustment_keeps_potential_vorticity(steps):
    model, squared = cases.adjustment()
    begun(model)
    wave = model.rows("surface")[0].copy()
    seen = []
    for _ in range(100):
        steps(model, 1)
        seen.append((wave * model.rows("surface")[0]).sum() / (wave ** 2).sum())
    turning = model.grid.coriolis[4] * np.sqrt(1.0 + squared)
    held = held_and_oscillating(STEPS * model.dt * np.arange(1, 101), np.array(seen), turning)
    assert held == pytest.approx(1.0 / (1.0 + squared), rel=0.02)


@pytest.mark.slow
def test_baroclinic_waves_grow_at_the_rate_of_eady(steps):
    model, rate = cases.eady()
    begun(model)
    energies = []
    for _ in range(16):
        steps(model, 20)
        energies.append((model.rows("v") ** 2).mean())
    growth = 0.5 * np.diff(np.log(energies)) / (20 * STEPS * model.dt)
    # for some days waves of gravity, which an initial wave without flow sheds, are as large
    assert growth[8:].mean() == pytest.approx(rate, rel=0.05)


@pytest.mark.slow
def test_sensitivities_of_a_heat_transport_are_those_of_differences():
    """16 steps: `python -m examples.ocean derivatives` prints more of them. It compiles for minutes."""
    model, count, row = begun(cases.channel(24, 18, 4)), 16, 9
    adjoint.spin_up(model, 2, count, row)
    at = model.rows("temperature").copy(), model.rows("stress_x").copy()
    _, *found = adjoint.sensitivity(model, count, row)
    transport = reactant.jit(adjoint.heat_transport)
    for index, within in enumerate((1e-3, 1e-4)):       # reconstructions have kinks
        direction = np.random.default_rng(index).standard_normal(at[index].shape)
        ends = []
        for sign in (1e-5, -1e-5):
            moved = [a + sign * direction if k == index else a for k, a in enumerate(at)]
            ends.append(transport(*moved, copy.deepcopy(model), count, row))
        assert (found[index] * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=within)
