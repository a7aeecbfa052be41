"""matmul and relatives compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.numpy.tables import check_table
from tests.oracle import check

DTYPES = ["f8", "f4", "f2", "c16", "c8", "i1", "u1", "i4", "u8", "?"]


def array(*shape, dtype="f8", seed=0):
    random = np.random.default_rng(seed + sum(shape))
    a = random.integers(-4, 5, shape) if np.dtype(dtype).kind in "iub" else random.normal(size=shape)
    return (a + 1j * random.normal(size=shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
          ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (7, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)), ((0, 3), (3, 2)),
          ((2, 0), (0, 3)), ((2, 3), (2, 3)), ((), (3,)), ((2, 2, 3), (3, 3, 2)), ((3,), (4,))]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_products_by_shape(shapes, dtype):
    if dtype not in ("f8", "i1", "?") and shapes not in SHAPES[:7]:
        pytest.skip("every dtype on the common shapes, three dtypes on all")
    a, b = (array(*s, dtype=dtype, seed=n) for n, s in enumerate(shapes))
    tolerance = {"f4": 1e-5, "c8": 1e-5, "f2": 5e-3}.get(dtype, 1e-12)
    check_table([lambda a, b: a @ b, np.dot, np.inner, np.vdot], a, b, rtol=tolerance, atol=tolerance)


def test_mixed_dtypes_and_numbers():
    check_table([lambda a, b: a @ b, lambda a, b: b.T @ a.T, lambda a, b: np.dot(a, 2.0), lambda a, b: np.dot(3, b),
                 lambda a, b: np.inner(a, 2), lambda a, b: np.outer(a, b), lambda a, b: np.kron(a, 2.0)],
                array(2, 3, dtype="i1"), array(3, 2, dtype="f4"))


def test_layouts():
    a = array(4, 3).T
    check_table([lambda a: a @ a.T, lambda a: a[::-1] @ a[:, ::-1].T, lambda a: np.dot(a[:, ::2], a[:, 1::2].T)], a)


TWO = [np.outer, np.kron, lambda a, b: np.tensordot(a, b, axes=0), lambda a, b: np.tensordot(a, b, axes=1),
       lambda a, b: np.tensordot(a, b.T, axes=([0, 1], [1, 0])), lambda a, b: np.tensordot(a, b, axes=(0, 0)),
       lambda a, b: np.tensordot(a, b, axes=2), lambda a, b: np.tensordot(a, b.T), lambda a, b: a.dot(b.T),
       lambda a, b: np.vecdot(a, b), lambda a, b: np.vecdot(a, b, axis=0), lambda a, b: np.matvec(a, b[0]),
       lambda a, b: np.vecmat(a[:, 0], b), lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 0), (0, 1)]),
       lambda a, b: np.trace(a), lambda a, b: np.trace(a, 1), lambda a, b: a.trace(-1, 1, 0),
       lambda a, b: np.trace(np.stack([a, b]), 1, 2, 0), lambda a, b: np.trace(a, 5),
       lambda a, b: np.cross(a, b), lambda a, b: np.cross(a, b[0]), lambda a, b: np.cross(a[:, :2], b),
       lambda a, b: np.cross(a.T, b.T, axis=0), lambda a, b: np.cross(a, b.T, axisb=0, axisc=0),
       lambda a, b: np.cross(a[0, 0], b), lambda a, b: np.cross(np.c_[a, a] if False else np.hstack([a, a]), b)]


@pytest.mark.parametrize("dtype", ["f8", "i1", "c16", "?"])
def test_other_products(dtype):
    functions = [f for f in TWO if dtype != "?" or f not in TWO[19:]]
    if not hasattr(np, "vecmat"):
        functions = [f for f in functions if f not in TWO[9:13]]
    check_table(functions, array(4, 3, dtype=dtype), array(4, 3, dtype=dtype, seed=1))


def test_types_that_are_asked_for():
    """The product was made in the type of the operands, and stored in any."""
    small, floats = np.full((3, 3), 100, np.int8), np.eye(3)
    check_table([lambda a, b: np.matmul(a, a, dtype=np.int32), lambda a, b: np.matmul(a, b, dtype=complex),
                 lambda a, b: np.matmul(b, b, dtype=np.int8), lambda a, b: np.matmul(a, b, out=a.copy()),
                 lambda a, b: np.matmul(a, b, out=a.copy(), casting="unsafe"),
                 lambda a, b: np.matmul(a, b, casting="no"),
                 lambda a, b: np.matmul(a, a, out=np.zeros((3, 3), np.float32))], small, floats)


def test_out():
    def matmul(a, b, c):
        assert np.matmul(a, b, out=c) is c
        return np.dot(b, a)

    def dot(a, b, c):
        return np.dot(a, b, out=c)
    check_table([matmul, dot, lambda a, b, c: np.dot(a, b, out=c[0]),
    lambda a, b, c: np.outer(a[0], b[:2, 0], out=c[:, :2])],
                array(2, 3), array(3, 2), array(2, 2))


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((3, 3), (3,)), ((3, 3), (3, 3)), ((3,), (3, 3))])
def test_products_in_place(shapes):
    """A vector times a vector overwrote the first with their product."""
    def multiply(a, b):
        a @= b
    check(multiply, *map(np.ones, shapes))
