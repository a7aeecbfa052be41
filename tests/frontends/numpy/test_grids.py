"""linspace, grids, triangles and diagonals compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(3)
A, SQUARE, V = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 4)), RANDOM.normal(size=4)
TABLE = [
    lambda a, b, v: np.linspace(v[0], v[1], 5), lambda a, b, v: np.linspace(v[0], 5, 5, endpoint=False),
    lambda a, b, v: np.linspace(v[0], v[1], 1), lambda a, b, v: np.linspace(v[0], v[1], 0),
    lambda a, b, v: np.linspace(v[:2], v[2:], 4), lambda a, b, v: np.linspace(v[:2], v[2:], 4, axis=1),
    lambda a, b, v: np.linspace(v[0], v[1] * 10, 5, dtype=int),
    lambda a, b, v: np.linspace(v[0], v[1], 5, retstep=True),
    lambda a, b, v: np.linspace(v[0], v[0], 5), lambda a, b, v: np.linspace(v, v + 1, 2, endpoint=False),
    lambda a, b, v: np.linspace(v[0], v[1], -1), lambda a, b, v: np.logspace(v[0], v[1], 5),
    lambda a, b, v: np.logspace(v[0], 2, 5, base=2.0), lambda a, b, v: np.geomspace(abs(v[0]), abs(v[1]) + 3, 5),
    lambda a, b, v: np.geomspace(abs(v[0]) * 0, abs(v[1]) + 3, 5), lambda a, b, v: np.meshgrid(v, a[0]),
    lambda a, b, v: np.meshgrid(v, a[0, :2], indexing="ij"), lambda a, b, v: np.meshgrid(v, a[0, :2], sparse=True),
    lambda a, b, v: np.meshgrid(v, a[0, :2], v[:3]), lambda a, b, v: np.meshgrid(v),
    lambda a, b, v: np.meshgrid(v, indexing="x"),
    lambda a, b, v: a[np.ix_([0, 2], [1, 3])], lambda a, b, v: a[np.ix_((v[:2] > 0).astype(int), [1, 3])],
    lambda a, b, v: np.ix_([True, False], [1, 3]), lambda a, b, v: np.broadcast_arrays(a, v[:1]),
    lambda a, b, v: np.broadcast_arrays(a, v[:2]), lambda a, b, v: np.fromfunction(lambda i, j: i + j * v[0], (2, 3)),
    lambda a, b, v: np.tril(a), lambda a, b, v: np.tril(a, 1), lambda a, b, v: np.triu(a, -1),
    lambda a, b, v: np.triu(v),
    lambda a, b, v: np.tril(np.stack([a, a])), lambda a, b, v: np.triu(b, 10), lambda a, b, v: np.diag(v),
    lambda a, b, v: np.diag(v, 2), lambda a, b, v: np.diag(v, -1), lambda a, b, v: np.diag(a),
    lambda a, b, v: np.diag(a, 1),
    lambda a, b, v: np.diagflat(a, 1), lambda a, b, v: np.diag(v[:0]), lambda a, b, v: np.diag(v[:0], 1),
    lambda a, b, v: np.diag(np.stack([a, a])), lambda a, b, v: a[np.triu_indices_from(a)],
    lambda a, b, v: b[np.diag_indices_from(b)], lambda a, b, v: b[np.tril_indices(4, -1)],
    lambda a, b, v: np.diag_indices_from(a), lambda a, b, v: np.vander(v), lambda a, b, v: np.vander(v, 3, True),
    lambda a, b, v: np.vander(v, 0), lambda a, b, v: np.vander(a), lambda a, b, v: np.hanning(5) * v[0],
    lambda a, b, v: np.mgrid[0:3, 0:4][0] * a, lambda a, b, v: np.ogrid[0:3, 0:4][0] * a,
    lambda a, b, v: np.tri(3, 4) * a]


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", [("f8", "f8", "f8"), ("f4", "f8", "i4"), ("c8", "i1", "f4")], ids=str)
def test_table(dtypes):
    check_table(TABLE, *((x * 9).astype(d) for x, d in zip((A, SQUARE, V), dtypes, strict=True)), rtol=1e-5)


def fill(a, b, v):
    np.fill_diagonal(a, 5)
    np.fill_diagonal(b, v)
    np.fill_diagonal(b[:3], v[:2])
    np.fill_diagonal(a.T, 7, wrap=True)


def fill_cube(a, b, v):
    cube = np.stack([b[:3, :3]] * 3)
    np.fill_diagonal(cube, 1)
    return cube


def fill_vector(a, b, v):
    np.fill_diagonal(v, 5)


def fill_uneven(a, b, v):
    np.fill_diagonal(np.stack([a, a]), 5)


def test_fill_diagonal():
    check_table([fill, fill_cube, fill_vector, fill_uneven], A, SQUARE, V)


def test_made_arrays_can_be_written():
    def write(x):
        line = np.linspace(0, 1, 5)
        line[0] = x
        triangle = np.tri(3)
        triangle[0] = x
        return line, triangle, np.meshgrid(np.arange(2), np.arange(3))[0]
    check(write, 2.5)


def test_sizes_must_be_known():
    with pytest.raises(UnsupportedError, match="numpy.indices: its arguments must be known while tracing"):
        reactant.jit(lambda n: np.indices((n,)))(np.int64(3))
