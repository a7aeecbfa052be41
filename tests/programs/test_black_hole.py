"""examples/black_hole: ehtim's functions compiled, their gradient beside the one by hand, an image that is a ring."""
import warnings

import numpy as np
import pytest

pytest.importorskip("ehtim", reason='pip install -e ".[gallery]" brings it', exc_type=ImportError)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from examples.black_hole import imaging, telescopes
    from examples.black_hole.measure import somewhere


@pytest.fixture(scope="module")
def seen():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return telescopes.observe(24)


def test_stations_see_what_the_array_of_2017_saw(seen):
    """Baselines of up to 8e9 wavelengths, flux on the shortest; the south pole sees nothing of M87."""
    length = np.hypot(*seen.uv.T)
    assert 7e9 < length.max() < 9e9 and length.min() < 1e6
    assert seen.amplitudes[0][np.argmin(length)] == pytest.approx(telescopes.FLUX, rel=0.05)
    assert len(seen.uv) < 28 * 15 * 6 // 8


def test_the_gradient_is_that_of_ehtim(seen):
    data, at = imaging.arguments(seen), somewhere(seen)
    value, slope = imaging.compiled(at, *imaging.arguments(imaging.on_device(seen)))
    expected = imaging.gradient(at, *data)
    assert value == pytest.approx(imaging.objective(at, *data), rel=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.slow
def test_the_image_is_the_ring(seen, tmp_path):
    """From the prior, which is no ring."""
    told = []
    found = imaging.reconstruct(imaging.on_device(seen), imaging.compiled, progress=told.append)
    true = telescopes.ring(24)
    assert imaging.likeness(seen.prior.reshape(24, 24), true) < 0.7
    assert imaging.likeness(found, true) > 0.9 and min(told) < 0.01 * told[0]
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.black_hole.picture import draw

    draw(seen, found, tmp_path / "ring.png")
    assert (tmp_path / "ring.png").stat().st_size > 5000
