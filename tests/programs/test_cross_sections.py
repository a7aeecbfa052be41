"""examples/cross_sections: look-ups beside NumPy and C++, derivatives beside identities, differences and C++."""
import shutil

import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang")
from examples.cross_sections import measure  # noqa: E402
from examples.cross_sections.reactor import Reactor, absorption_rate, kernel, looked_up  # noqa: E402


@pytest.fixture(scope="module")
def reactor():
    return Reactor(points=100)


def by_numpy(reactor, energy, material):
    found = np.zeros((len(energy), 4))
    for row, size in enumerate(reactor.count):
        of_row = material == row
        for nuclide, density in zip(reactor.nuclides[row, :size], reactor.density[row, :size], strict=True):
            for channel in range(4):
                found[of_row, channel] += density * np.interp(
                    energy[of_row], reactor.grid[nuclide], reactor.sections[nuclide, :, channel])
    return found


def test_grids_rise_and_totals_are_sums(reactor):
    assert np.all(np.diff(reactor.grid, axis=1) > 0.0)
    total, elastic, absorbed, fission = np.moveaxis(reactor.sections, -1, 0)
    np.testing.assert_allclose(total, elastic + absorbed)
    assert np.all(fission <= absorbed) and fission[0].max() > 0.0 == fission[5].max()


@pytest.mark.slow
def test_look_ups_are_interpolations(reactor):
    energy, material, _ = reactor.collisions(500)
    energy[:3] = reactor.grid[5, 17], reactor.grid[0, 0], reactor.grid[0, -1]       # on points, and at both ends
    found = looked_up(reactor, kernel("native"), energy, material, reactor.density, reactor.sections)
    np.testing.assert_allclose(found, by_numpy(reactor, energy, material), rtol=1e-11)


def test_derivatives_are_those_of_the_rate(reactor):
    """The rate is linear in densities and in cross sections: each times its derivative adds up to the rate."""
    energy, material, weight = reactor.collisions(300)
    at, rest = (reactor.density, reactor.sections, energy), (reactor, kernel(), material, weight)
    value, slopes = reactant.value_and_grad(absorption_rate, argnums=(0, 1, 2))(*at, *rest)
    assert value == pytest.approx(weight @ by_numpy(reactor, energy, material)[:, 2], rel=1e-12)
    for given, slope in zip(at[:2], slopes[:2], strict=True):
        assert np.sum(given * slope) == pytest.approx(value, rel=1e-12)
    ends = [by_numpy(reactor, energy * factor, material)[:, 2] for factor in (1.0 + 1e-8, 1.0 - 1e-8)]
    moved = weight * (ends[0] - ends[1]) / (2e-8 * energy)
    np.testing.assert_allclose(slopes[2], moved, rtol=1e-4, atol=1e-6 * np.abs(moved).max())
    if shutil.which("g++"):
        rate, by_density = measure.gradient_by_hand(measure.yardstick("-O1")[0], reactor, energy, material, weight)
        assert rate == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(slopes[0], by_density, rtol=1e-11, atol=1e-15)


@pytest.mark.slow
def test_the_picture_is_drawn(reactor, tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.cross_sections.picture import draw

    draw(reactor, 1.0, np.ones_like(reactor.density), tmp_path / "sections.png")
    assert (tmp_path / "sections.png").stat().st_size > 5000
