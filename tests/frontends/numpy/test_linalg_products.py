"""Products and views by numpy.linalg's names, against NumPy's."""
import numpy as np
import pytest

from tests.oracle import check

RANDOM = np.random.default_rng(5)
SQUARE, STACK = RANDOM.normal(size=(4, 4)), RANDOM.normal(size=(2, 3, 3, 3))
TALL, WIDE = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(3, 5))
COMPLEX = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))
INTEGER = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]])


@pytest.mark.parametrize("shapes", [[(3, 4), (4, 2)], [(10, 30), (30, 5), (5, 60)], [(3,), (3, 4), (4,)],
                                    [(3,), (3, 4), (4, 2), (2, 5)], [(2, 3), (3, 4), (4, 5), (5, 2), (2,)],
                                    [(3,)], [(2, 3), (3, 4, 2), (2, 2)]])
def test_multi_dot(shapes):
    check(lambda arrays: np.linalg.multi_dot(arrays), [RANDOM.normal(size=s) for s in shapes], rtol=1e-10)


def test_multi_dot_into_an_array():
    def f(a, b, c, out):
        np.linalg.multi_dot([a, b, c], out=out)
    check(f, SQUARE, SQUARE, SQUARE, np.zeros((4, 4)), rtol=1e-10)


@pytest.mark.parametrize("f, args", [
    (lambda x, y: np.linalg.outer(x, y), (np.arange(3.0), np.arange(4))),
    (lambda x, y: np.linalg.outer(x, y), (SQUARE, np.arange(4))),
    (lambda x, y: np.linalg.cross(x, y), (TALL, TALL[::-1])), (lambda x, y: np.linalg.cross(x, y), (TALL, TALL[0])),
    (lambda x, y: np.linalg.cross(x, y, axis=0), (WIDE, WIDE[:, ::-1])),
    (lambda x, y: np.linalg.cross(x, y), (SQUARE, SQUARE)),
    (lambda x, y: np.linalg.vecdot(x, y), (TALL, TALL[0])), (lambda x, y: np.linalg.vecdot(x, y, axis=0), (TALL, TALL)),
    (lambda x, y: np.linalg.vecdot(x, y), (COMPLEX, COMPLEX[0])),
    (lambda x, y: np.linalg.matmul(x, y), (STACK, STACK[0])),
    (lambda x, y: np.linalg.tensordot(x, y, axes=1), (STACK, TALL.T)),
    (lambda x: np.linalg.diagonal(x), (STACK,)), (lambda x: np.linalg.diagonal(x, offset=1), (STACK,)),
    (lambda x: np.linalg.trace(x), (STACK,)), (lambda x: np.linalg.trace(x, offset=-1), (STACK,)),
    (lambda x: np.linalg.trace(x, dtype=np.float32), (INTEGER,)),
    (lambda x: np.linalg.matrix_transpose(x), (STACK,)), (lambda x: np.matrix_transpose(x), (STACK,)),
    (lambda x: np.linalg.matrix_transpose(x), (np.arange(3.0),)),
])
def test_products_and_views(f, args):
    check(f, *args, rtol=1e-9, atol=1e-11)


def test_matrix_transpose_is_a_view():
    def f(a):
        np.linalg.matrix_transpose(a)[0, 1] = 7.0
    check(f, SQUARE)
