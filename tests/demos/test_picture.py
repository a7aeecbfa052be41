import numpy as np
import pytest

from reactant.demos import picture


def test_panels_side_by_side(tmp_path):
    image = pytest.importorskip("PIL.Image")
    red, grey = np.zeros((4, 6, 3)), np.full((4, 6, 3), 0.5)
    red[..., 0] = 2.0  # out of range: clipped, not wrapped around
    picture.write(tmp_path / "panels.png", {"red": red, "grey": grey}, scale=3)
    pixels = np.asarray(image.open(tmp_path / "panels.png"))
    assert pixels.shape == (12 + 22 + 8, 2 * (18 + 8) + 8, 3)
    assert pixels[22, 8].tolist() == [255, 0, 0]
    assert pixels[33, 25].tolist() == [255, 0, 0]
    assert pixels[22, 8 + 18 + 8].tolist() == [128, 128, 128]
    assert pixels[-1, -1].tolist() == [255, 255, 255]


def test_heat_colours_grow_brighter():
    colours = picture.heat_colours(np.array([[-5.0, 0.0, 50.0, 100.0, 200.0]]), 0.0, 100.0)
    assert colours.shape == (1, 5, 3)
    assert 0.0 <= colours.min() and colours.max() <= 1.0
    np.testing.assert_array_equal(colours[0, 0], colours[0, 1])
    np.testing.assert_array_equal(colours[0, 3], colours[0, 4])
    brightness = colours[0].sum(axis=-1)
    assert brightness[1] < brightness[2] < brightness[3]
