"""examples/discontinuous_galerkin: exact derivatives, kernels beside C++; orders of convergence are slow:

    python -m pytest tests/programs/test_discontinuous_galerkin.py -m slow
"""
import shutil

import numpy as np
import pytest

import reactant

pytest.importorskip("numba.cuda")
pytest.importorskip("ziglang")
from examples import _beside  # noqa: E402
from examples.discontinuous_galerkin import kernels, measure  # noqa: E402
from examples.discontinuous_galerkin.cases import Cavity  # noqa: E402
from examples.discontinuous_galerkin.mesh import differentiation, lobatto, ring, wavy  # noqa: E402
from examples.discontinuous_galerkin.model import propagate  # noqa: E402


@pytest.mark.parametrize("order", [1, 2, 5])
def test_polynomials_are_integrated_and_differentiated_exactly(order):
    nodes, weights = lobatto(order)
    assert weights @ nodes ** (2 * order - 2) == pytest.approx(2.0 / (2 * order - 1), rel=1e-13)
    np.testing.assert_allclose(differentiation(nodes) @ nodes**order, order * nodes ** (order - 1), atol=1e-12)


def test_metric_terms_are_those_of_a_ring():
    mesh = ring(3, 4)
    assert mesh.norm(np.ones_like(mesh.x)) ** 2 == pytest.approx(3.0 * np.pi, rel=1e-6)
    flat = wavy(4, 3)
    for a, b in ((flat.ax, flat.bx), (flat.ay, flat.by)):       # a field that is constant stays so
        divergence = np.einsum("ik,ejk->eji", flat.D, a) + np.einsum("jk,eki->eji", flat.D, b)
        np.testing.assert_allclose(divergence, 0.0, atol=1e-13)


def test_sides_meet():
    for mesh in (wavy(3, 2), ring(3, 2)):
        length = np.hypot(mesh.normal_x, mesh.normal_y)
        at = mesh.x.reshape(-1), mesh.y.reshape(-1)
        apart = np.hypot(*(c[mesh.outside] - c[mesh.own] for c in at))
        assert np.all((apart < 1e-12) | (np.abs(apart - np.round(apart)) < 1e-12)) and length.min() > 0
        assert mesh.wall.sum() == (0 if mesh.elements == 9 else 2 * 12 * 3)


def test_the_mode_has_no_field_along_walls():
    mesh = ring(2, 3)
    ez = Cavity().fields(mesh, 0.3)[2].reshape(-1)
    assert np.abs(ez[mesh.own[mesh.wall > 0]]).max() < 1e-12 < 1e-2 < np.abs(ez).max()


def test_what_is_continuous_has_no_change_at_sides():
    mesh = ring(2, 2)
    _, _, ez = Cavity().fields(mesh, 0.0)
    still, changes = np.zeros(ez.size), [np.ones(mesh.own.size) for _ in range(3)]
    nodes = mesh.own.reshape(-1), mesh.outside.reshape(-1), mesh.wall.reshape(-1)
    normals = mesh.normal_x.reshape(-1), mesh.normal_y.reshape(-1)

    def at_sides():
        own, outside, wall = nodes
        reactant.kernel(kernels.maxwell_at_sides)[-(-own.size // 128), 128](
            still, still, ez.reshape(-1), outside, own, wall, *normals, *changes)
        return changes
    for change in at_sides():
        np.testing.assert_allclose(change, 0.0, atol=1e-12)
    ez[5] += 1.0                                                  # one element: it and its neighbours see a jump
    seen = np.abs(at_sides()[2]).reshape(mesh.elements, -1).max(axis=1) > 1e-3
    assert 3 <= seen.sum() <= 5 and seen[5]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_kernels_do_what_the_loops_in_cpp_do():
    mesh, dt = ring(2, 3), 2e-3
    ours, theirs = (Cavity().fields(mesh, 0.1) for _ in range(2))
    propagate(mesh, *ours, dt, 3, measure.natively)
    measure.by_hand(_beside.library(measure.YARDSTICK, "-O1")[0], mesh, theirs, dt, 3)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-13)
    assert np.abs(ours[2] - Cavity().fields(mesh, 0.1)[2]).max() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("error, order, least", [(measure.error_of_advection, 2, 2.5),
                                                 (measure.error_of_cavity, 3, 3.4)])
def test_errors_fall_as_the_order_says(error, order, least):
    coarse, fine = (error(size, order, reactant.jit) for size in (4, 8))
    assert np.log2(coarse / fine) > least and fine < 0.01


@pytest.mark.slow
def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.discontinuous_galerkin.picture import draw

    mesh = ring(2, 3)
    draw(mesh, Cavity().fields(mesh, 0.0)[2], {2: {2: 0.1, 4: 0.01}}, tmp_path / "cavity.png")
    assert (tmp_path / "cavity.png").stat().st_size > 5000
