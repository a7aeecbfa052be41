"""examples/lattice_boltzmann: known drags, and the same steps as in C++. The adjoint is slow:

    python -m pytest tests/programs/test_lattice_boltzmann.py -m slow
"""
import shutil

import numpy as np
import pytest
from scipy.special import eval_legendre

import reactant

pytest.importorskip("ziglang")
from examples import _beside  # noqa: E402
from examples.lattice_boltzmann import measure  # noqa: E402
from examples.lattice_boltzmann.flow import Lattice, along, at_start, drag_of, kernels, run  # noqa: E402
from examples.lattice_boltzmann.shape import drag_of_shape, optimise, settled, standard  # noqa: E402

SPHERE = np.zeros(3)


@pytest.fixture(scope="module")
def library():
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    return _beside.library(measure.YARDSTICK, "-O1")[0]


def test_shapes_are_sums_of_legendre_polynomials():
    cosine, shape = np.linspace(-1.0, 1.0, 7), np.array([0.3, -0.2, 0.1])
    expected = sum(c * eval_legendre(degree + 2, cosine) for degree, c in enumerate(shape))
    np.testing.assert_allclose(along(cosine, shape), expected, atol=1e-15)


def test_bodies_have_the_volume_asked_for():
    channel = standard(20)
    for shape in (SPHERE, np.array([0.5, 0.2, 0.1, -0.1])):
        assert channel.solid(shape).sum() == pytest.approx(channel.volume, rel=0.05)


@pytest.mark.parametrize("lattice", [
    pytest.param(standard(8).lattice, id="inflow"),
    pytest.param(Lattice((14, 8, 8), 0.8, force=1e-3), id="force", marks=pytest.mark.slow)])
def test_kernels_do_what_the_loops_in_cpp_do(library, lattice):
    solid = standard(8).solid(SPHERE)
    ours = np.tile(np.repeat([1 / 3, 1 / 18, 1 / 36], [1, 6, 12])[:, None], lattice.cells)
    theirs = ours.copy()
    run(lattice, kernels("native"), solid, ours, 6)
    measure.by_hand(library, lattice, solid, theirs, 6)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    if lattice.force:
        assert ours.sum() == pytest.approx(lattice.cells, rel=1e-13)


@pytest.mark.slow
def test_drag_is_that_of_zick_and_homsy(library):
    """Slow flow through a simple cubic array of spheres that fill an eighth of space: 4.292 times Stokes'."""
    lattice, solid, radius = measure.array_of_spheres(14, 0.125)
    native = kernels("native")
    f = at_start(lattice, native)
    measure.by_hand(library, lattice, solid, f, 1200)
    assert measure.over_stokes(lattice, radius, f, native) == pytest.approx(4.292, rel=0.06)
    assert drag_of(lattice, native, solid, f) == pytest.approx(lattice.force * lattice.cells, rel=1e-3)


@pytest.mark.slow
def test_the_adjoint_is_the_derivative():
    channel, at = standard(8), np.array([0.1, 0.05, 0.02])
    before = settled(channel, SPHERE, 20)
    value, slope = reactant.value_and_grad(drag_of_shape, argnums=0, checkpoint="sqrt")(
        at, channel, kernels(), before, 20)
    one = reactant.jit(drag_of_shape)
    assert one(at, channel, kernels(), before, 20) == pytest.approx(value, rel=1e-12)
    for index, of in enumerate(slope):
        moved = np.eye(3)[index] * 1e-5
        ends = [one(at + sign * moved, channel, kernels(), before, 20) for sign in (1, -1)]
        assert of == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


@pytest.mark.slow
def test_drag_becomes_less_and_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.lattice_boltzmann.picture import draw

    channel = standard(10)
    found, drags, around = optimise(channel, steps=40, rounds=3)
    assert min(drags) < 0.97 * drags[0]
    bodies = [channel.solid(SPHERE), channel.solid(found)]
    draw(channel, bodies, [around, around], drags, tmp_path / "flow.png")
    assert (tmp_path / "flow.png").stat().st_size > 5000
