"""examples/hydro: the exact solution, conservation, and the same steps as in C++. The blast itself is slow:

    python -m pytest tests/programs/test_hydro.py -m slow
"""
import shutil

import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang")
from examples import _beside  # noqa: E402
from examples.hydro import exact, measure  # noqa: E402
from examples.hydro.model import Blast, kernels, run  # noqa: E402

KEPT = ("x", "y", "z", "vx", "vy", "vz", "energy", "volume")


def test_the_similarity_solution_is_the_published_one():
    """Kamm and Timmes 2007: energy 0.851072 puts the shock at 1 m after 1 s; what it swept up is the gas's mass."""
    assert exact.shock_radius(0.851072, 1.0, 1.0) == pytest.approx(1.0, abs=2e-6)
    radius = np.linspace(0.0, 1.0, 400_001)[1:]
    assert 3.0 * np.trapezoid(exact.density_at(radius, 1.0) * radius**2, radius) == pytest.approx(1.0, abs=1e-4)


def test_distorted_elements_fill_the_cube():
    blast = Blast(5, size=2.0, amplitude=0.3)
    assert blast.volume.sum() == pytest.approx(8.0, rel=1e-14) and np.ptp(blast.volume) > 0.1 * blast.volume.mean()


def test_a_kernel_measures_elements_and_takes_their_work():
    blast = Blast(4, amplitude=0.3)
    expected, before = blast.volume.copy(), blast.energy.copy()
    blast.mx[:], blast.volume[:], blast.clock["step"] = 1.0, 0.0, 0.1
    blast.fx[3 * blast.elements + 7] = -2.0
    kernels("native").update_energy[1, 64](
        blast.elements, blast.clock, blast.corner_nodes, blast.x, blast.y, blast.z, blast.mx, blast.my, blast.mz,
        blast.fx, blast.fy, blast.fz, blast.mass, blast.energy, blast.volume)
    np.testing.assert_allclose(blast.volume, expected, rtol=1e-13)
    assert (blast.energy - before)[7] == pytest.approx(0.1 * 2.0 / blast.mass[7], rel=1e-12)
    assert np.array_equal(np.delete(blast.energy, 7), np.delete(before, 7))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_kernels_do_what_the_loops_in_cpp_do():
    by_kernels, by_hand = (Blast(4, cold=1e-3, amplitude=0.2) for _ in range(2))
    before = sum(by_kernels.energies())
    library, _ = _beside.library(measure.YARDSTICK, "-O1")
    steps = run(by_kernels, kernels("native"), 0.01)
    assert steps == measure.by_hand(library, by_hand, 0.01) > 10
    for name in KEPT:
        np.testing.assert_allclose(getattr(by_kernels, name), getattr(by_hand, name), rtol=1e-11, atol=1e-13)
    assert sum(by_kernels.energies()) == pytest.approx(before, rel=1e-14)
    assert by_kernels.energies()[1] > 5e-4 * before


@pytest.mark.slow
def test_the_shock_is_where_it_should_be():
    blast, other = Blast(24), Blast(24)
    before = sum(blast.energies())
    assert reactant.jit(run)(blast, kernels(), 0.3) == run(other, kernels("native"), 0.3)
    for name in KEPT:
        np.testing.assert_allclose(getattr(blast, name), getattr(other, name), rtol=1e-8, atol=1e-10)
    assert sum(blast.energies()) == pytest.approx(before, rel=1e-13)
    at = exact.shock_radius(0.851072, 1.0, float(blast.clock["time"][0]))
    assert measure.shock_seen(blast) == pytest.approx(at, rel=0.05)


@pytest.mark.slow
def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.hydro.picture import draw

    draw(Blast(6), tmp_path / "hydro.png")
    assert (tmp_path / "hydro.png").stat().st_size > 5000
