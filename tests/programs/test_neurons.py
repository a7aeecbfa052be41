"""examples/neurons: jaxley's own simulation and its gradient, compiled, beside the same by plain JAX."""
import jax
import numpy as np
import pytest

import reactant

pytest.importorskip("jaxley", reason="the neuron is jaxley's: pip install '.[gallery]'")
from examples.neurons import neuron as model  # noqa: E402
from examples.neurons.fitting import START, compiled, deviations, fit, flat  # noqa: E402
from examples.neurons.neuron import ELECTRODES, TRUTH, bounded, currents, misfit, record, simulator, values  # noqa: E402

# jaxley 0.14 uses of pandas 3 what pandas 4 will not have
pytestmark = pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")


@pytest.fixture(scope="module")
def branched():
    """Three branches of one compartment: building a neuron takes jaxley most of the time."""
    with pytest.MonkeyPatch.context() as patch, jax.enable_x64(True):
        patch.setattr(model, "PARENTS", [-1, 0, 0])
        patch.setattr(model, "PARTS", {"soma": [0], "apical": [1], "basal": [2]})
        patch.setattr(model, "ELECTRODES", [(0, 0.5), (2, 0.5)])
        cell = model.neuron(1)
        return cell, record(cell, sweeps=2, milliseconds=4.0)


def test_currents_begin_after_rest():
    current = currents(3, 200.0)
    assert current.shape == (3, 8000) and not current[:, :80].any() and current[:, 80:].all(axis=1).all()
    assert np.all(np.diff(current.mean(axis=1)) > 0.0)


def test_the_gradient_is_that_of_differences(branched):
    cell, seen = branched
    with jax.enable_x64(True):
        at, plain = flat(bounded().inverse(values(START))), jax.jit(misfit(cell))
        value, slopes = compiled(cell)(values(at), seen.current, seen.voltage)
        assert float(value) == pytest.approx(float(plain(values(at), seen.current, seen.voltage)), rel=1e-9)
        direction, step = np.random.default_rng(0).standard_normal(at.shape), 1e-6
        above, below = (float(plain(values(at + s * direction), seen.current, seen.voltage)) for s in (step, -step))
        assert np.sum(flat(slopes) * direction) == pytest.approx((above - below) / (2.0 * step), rel=1e-6)
        assert float(value) > 1.0


@pytest.mark.slow
def test_the_gradient_is_that_of_jax(branched):
    cell, seen = branched
    with jax.enable_x64(True):
        at = bounded().inverse(values(START))
        slopes = flat(compiled(cell)(at, seen.current, seen.voltage)[1])
        other = flat(jax.jit(jax.value_and_grad(misfit(cell)))(at, seen.current, seen.voltage)[1])
        np.testing.assert_allclose(slopes, other, rtol=1e-7, atol=1e-9 * np.abs(other).max())


@pytest.mark.slow
def test_the_simulation_is_that_of_jaxley(branched):
    cell, seen = branched
    with jax.enable_x64(True):
        assert reactant.verify(simulator(cell), values(TRUTH), seen.current, rtol=1e-9)


@pytest.mark.slow
def test_a_fit_finds_the_truth(tmp_path):
    """Within what the noise allows, of a whole neuron."""
    with jax.enable_x64(True):
        cell = model.neuron(1)
        seen = record(cell)
        assert seen.voltage.shape == (4, len(ELECTRODES), 1001) and (seen.voltage.max(axis=2) > 0.0).all()   # spikes
        found = fit(compiled(cell), seen)
        errors = deviations(cell, seen, found.numbers)
        assert found.misfits[0] > 50.0 and found.misfits[-1] < 0.26 and len(found.misfits) < 150
        assert np.abs((found.numbers - TRUTH) / errors).max() < 4.0 and np.all(errors < 0.02 * np.array(TRUTH))
        pytest.importorskip("matplotlib", reason="the picture")
        from examples.neurons.picture import draw

        draw(cell, seen, found, errors, tmp_path / "neurons.png")
        assert (tmp_path / "neurons.png").stat().st_size > 5000
