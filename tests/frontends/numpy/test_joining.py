"""Joining, splitting and repeating compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

RANDOM = np.random.default_rng(1)
TABLE = [
    lambda a, b: np.concatenate([a, b]), lambda a, b: np.concatenate((a, b), 1),
    lambda a, b: np.concatenate((a, b), axis=None),
    lambda a, b: np.concatenate((a, b), axis=2), lambda a, b: np.concatenate((a.T, b)), lambda a, b: np.concatenate(a),
    lambda a, b: np.concatenate((a, b[0])), lambda a, b: np.concatenate([]),
    lambda a, b: np.concatenate([a, b], dtype="f4"),
    lambda a, b: np.concatenate([a[0], [1, 2]]), lambda a, b: np.concatenate([a, b], dtype="u1", casting="unsafe"),
    lambda a, b: np.concatenate([a, b], out=np.zeros_like(np.vstack([a, b]))),
    lambda a, b: np.concatenate([a[0, 0], b[0]]), lambda a, b: np.concatenate(([a[0, 0]], [])),
    lambda a, b: np.concatenate([[v for v in a[0]], [b[0, 0], 2], (1,)]),
    lambda a, b: np.concatenate([[a[0]], [b[0]] * 2]),
    lambda a, b: np.hstack(([a[0, 0]], [b[0, 1], 3])), lambda a, b: np.stack([[a[0, 0], 1], [b[0, 0], 2]]),
    lambda a, b: np.vstack([[[a[0, 0], 1]], [2, b[0, 0]]]),
    lambda a, b: np.column_stack(([a[0, 0], b[0, 0]], [[b[0, 1], 1], [2, 3]])),
    lambda a, b: np.linalg.multi_dot([[[a[0, 0], 1], [2, b[0, 0]]], [[1], [b[0, 1]]]]),
    lambda a, b: np.stack([a, b]), lambda a, b: np.stack([a, b], -1), lambda a, b: np.stack([a, b[:1]]),
    lambda a, b: np.stack(a, 1),
    lambda a, b: np.stack([a[0, 0], 2.0]), lambda a, b: np.stack([a, b], 5), lambda a, b: np.vstack([a, b]),
    lambda a, b: np.vstack([a[0], b]), lambda a, b: np.vstack([1, a[0, 0]]), lambda a, b: np.hstack([a, b]),
    lambda a, b: np.hstack([a[0], b[1]]), lambda a, b: np.hstack([a[0, 0], b[0, 1], 3]), lambda a, b: np.dstack([a, b]),
    lambda a, b: np.dstack([a[0], b[0]]), lambda a, b: np.column_stack([a, b]),
    lambda a, b: np.column_stack([a[0], b[0]]),
    lambda a, b: np.block([[a, b], [b, a]]), lambda a, b: np.block([a, b]), lambda a, b: np.block([[a[0]], [b]]),
    lambda a, b: np.block([[a], b]), lambda a, b: np.block(a), lambda a, b: np.append(a, b),
    lambda a, b: np.append(a, b, 0),
    lambda a, b: np.append(a, 7), lambda a, b: np.append(a, b, 5), lambda a, b: np.tile(a, 2),
    lambda a, b: np.tile(a, (2, 1, 3)),
    lambda a, b: np.tile(a[0], (2, 2)), lambda a, b: np.tile(a, 0), lambda a, b: np.repeat(a, 3),
    lambda a, b: np.repeat(a, 2, 1),
    lambda a, b: np.repeat(a, [1, 2], 0), lambda a, b: a.repeat([0, 2, 1], axis=1),
    lambda a, b: np.repeat(a, [1, 2], 1),
    lambda a, b: np.repeat(a, -1), lambda a, b: np.roll(a, 1), lambda a, b: np.roll(a, -1, 0),
    lambda a, b: np.roll(a, (1, 2), (0, 1)),
    lambda a, b: np.roll(a, 1, (0, 1)), lambda a, b: np.roll(a, (1, 1), 1), lambda a, b: np.roll(a, 7, 1),
    lambda a, b: np.roll(a, np.array([1, 2]), (0, 1)), lambda a, b: np.flip(a), lambda a, b: np.flip(a, 0),
    lambda a, b: np.flip(a, (0, 1)), lambda a, b: np.flip(a, 2), lambda a, b: np.fliplr(a), lambda a, b: np.flipud(a),
    lambda a, b: np.fliplr(a[0]), lambda a, b: [np.rot90(a, k) for k in range(-1, 5)],
    lambda a, b: np.rot90(a, 1, (1, 0)),
    lambda a, b: np.rot90(a, 1, (1, 1)), lambda a, b: np.delete(a, 1, 1), lambda a, b: np.delete(a, [0, 2], 1),
    lambda a, b: np.delete(a, slice(None, None, 2)), lambda a, b: np.delete(a, 5, 0), lambda a, b: np.delete(a, -1, 1),
    lambda a, b: np.delete(a, np.array([True, False]), 0), lambda a, b: np.insert(a, 1, b[0], 0),
    lambda a, b: np.insert(a, 1, 5, 1),
    lambda a, b: np.insert(a, [1], b[:, :1], 1), lambda a, b: np.insert(a, [1, 2], b[:, :2], 1),
    lambda a, b: np.insert(a, 1, [1, 2], 1),
    lambda a, b: np.insert(a, [0, 3], 9), lambda a, b: np.insert(a, 1, b, 1),
    lambda a, b: np.insert(a, slice(0, 2), b[0, 0], 1),
    lambda a, b: np.insert(a, 9, 5, 1), lambda a, b: np.resize(a, (3, 4)), lambda a, b: np.resize(a, 2),
    lambda a, b: np.resize(a, (0, 3)), lambda a, b: np.split(a, 3, 1), lambda a, b: np.split(a, 2, 1),
    lambda a, b: np.array_split(a, 2, 1), lambda a, b: np.split(a, [1, 2], 1), lambda a, b: np.split(a, [1, 5, 2], 1),
    lambda a, b: np.hsplit(a, 3), lambda a, b: np.vsplit(a, 2), lambda a, b: np.dsplit(a[..., None], 1),
    lambda a, b: np.dsplit(a, 1),
    lambda a, b: np.atleast_1d(a[0, 0], b), lambda a, b: np.atleast_2d(a[0]),
    lambda a, b: np.atleast_3d(a, a[0], a[0, 0])]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f8", "i1", "c8", "?"])
def test_table(dtype):
    a, b = ((RANDOM.normal(size=(2, 3)) * 10).astype(dtype) for _ in range(2))
    check_table(TABLE, a, b)


@pytest.mark.slow
def test_layout_of_inputs_does_not_matter():
    a = RANDOM.normal(size=(3, 2)).T
    check_table(TABLE, a, np.asfortranarray(a + 1))


def test_pieces_are_views():
    def write(a, b):
        first, *_ = np.split(a, 3, 1)
        first[:] = 7
        np.flip(b)[0] = 5
        np.rot90(b)[0] = 6
        np.array_split(a, 2)[1][0, 1] = 9
        np.atleast_3d(a)[0, 2] = -1
        return first
    check(write, RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(2, 3)))


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
def test_unstack():
    def write(a):
        rows = np.unstack(a, axis=1)
        rows[0][1] = 9
        return rows
    check(write, RANDOM.normal(size=(2, 3)))


@pytest.mark.parametrize("shift", [0, 1, -1, 4, -13, 100])
def test_roll_by_a_run_time_number(shift):
    check(lambda a, k: (np.roll(a, k), np.roll(a, -k * 3), np.roll(a.reshape(2, 3), k, 1), np.roll(a[:0], k)),
          RANDOM.normal(size=6), np.int64(shift))


def test_sizes_that_depend_on_values_are_refused():
    a = np.arange(4)
    with pytest.raises(UnsupportedError, match="np.repeat: the counts decide the size of the result"):
        reactant.jit(lambda a: np.repeat(a, a))(a)
    with pytest.raises(UnsupportedError, match="np.delete: the positions decide the size"):
        reactant.jit(lambda a: np.delete(a, a[:2]))(a)
    with pytest.raises(UnsupportedError, match="np.trim_zeros: the size of the result depends on run-time values"):
        reactant.jit(lambda a: np.trim_zeros(a))(a)
