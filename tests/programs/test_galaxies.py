"""examples/galaxies: fluxes beside what is known of them, the log-density beside JAX by hand, and a posterior."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

pytest.importorskip("blackjax", reason='pip install -e ".[gallery]" brings it')
from examples.galaxies import by_hand, posterior  # noqa: E402
from examples.galaxies.catalogue import log_density, mock, split  # noqa: E402
from examples.galaxies.spectra import MEGAPARSEC, SUN, fluxes, library, planck  # noqa: E402


@pytest.fixture(scope="module")
def seen():
    return mock(3)


def test_light_is_that_of_stars():
    """A black body's area is 1; young stars outshine old ones; dust reddens and takes what it is said to take."""
    wave = np.geomspace(100.0, 1e7, 20000)
    assert np.trapezoid(planck(wave, np.array(6000.0)), wave) == pytest.approx(1.0, rel=1e-3)
    tables = library()
    total = np.trapezoid(tables.light, tables.wave, axis=1) / SUN
    assert np.all(np.diff(total) < 0.0) and 50.0 < total[0] < 5000.0 and 0.05 < total[-1] < 2.0
    assert np.interp(5500.0, tables.wave, tables.dust) == pytest.approx(1.0, abs=0.01)


def test_fluxes_dim_as_the_distance_squared():
    """Twice the mass is twice the flux; a redshift moves light to longer waves."""
    tables, one = library(), np.ones(1)
    near, far = (fluxes(1e10 * one, 5 * one, one, 0.0 * one, z * one, tables)[0] for z in (0.1, 1.0))
    np.testing.assert_allclose(fluxes(2e10 * one, 5 * one, one, 0.0 * one, 0.1 * one, tables)[0], 2.0 * near)
    assert np.all(far < near) and far[0] / far[-1] < near[0] / near[-1]
    distance = np.interp(1.0, *tables.far)
    assert distance == pytest.approx(6600.0, rel=0.02) and MEGAPARSEC == pytest.approx(3.0857e24)    # Wright 2006


def test_the_log_density_is_that_of_jax(seen):
    data, at = posterior.given(seen), seen.truth
    value, slope = posterior.with_slope(at, *data)
    assert value == pytest.approx(log_density(at, *data), rel=1e-11)
    with jax.enable_x64(True):
        for density in (by_hand.log_density, posterior.compiled):
            other, expected = jax.jit(jax.value_and_grad(lambda s, f=density: f(s, *data)))(jnp.asarray(at))
            assert value == pytest.approx(float(other), rel=1e-11)
            np.testing.assert_allclose(slope, expected, rtol=1e-8, atol=1e-8 * np.abs(slope).max())


@pytest.mark.slow
def test_the_posterior_is_around_the_truth(seen, tmp_path):
    start = posterior.best(seen)
    assert log_density(start, *posterior.given(seen)) > log_density(seen.truth, *posterior.given(seen)) - 5.0
    found = posterior.draw(posterior.of_catalogue(posterior.compiled, seen), start, 150, 100)
    away = (seen.truth - found.states.mean(axis=0)) / found.states.std(axis=0)
    assert np.sqrt(np.mean(split(away)[0] ** 2)) < 3.0 and found.divergent < 20
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.galaxies.picture import draw

    draw(seen, found.states, tmp_path / "galaxies.png")
    assert (tmp_path / "galaxies.png").stat().st_size > 5000


def test_verify(seen):
    assert reactant.verify(log_density, seen.truth, *posterior.given(seen))
