"""`order=` in all its spellings: how new arrays lie (seen by `ravel("K")`), in which order elements are read."""
import numpy as np
import pytest

from tests.oracle import check

READING = [
    lambda x, o: x.ravel(o), lambda x, o: x.T.ravel(order=o), lambda x, o: x.flatten(o), lambda x, o: x.T.flatten(o),
    lambda x, o: np.ravel(x, o), lambda x, o: x.reshape(3, 2, order=o), lambda x, o: np.reshape(x.T, (2, 3), order=o),
    lambda x, o: np.unravel_index(x.astype(int), (2, 3), o),
    lambda x, o: np.ravel_multi_index((x.astype(int) % 2, x.astype(int) % 3), (2, 3), order=o),
    lambda x, o: x[x[:, 0] >= 0].ravel(o).sum(), lambda x, o: np.reshape(x[x[:, 0] >= 0], (3, 2), order=o)]
MAKING = [
    lambda x, o: x.copy(o), lambda x, o: x.T.copy(order=o), lambda x, o: np.copy(x.T, order=o),
    lambda x, o: np.array(x, order=o), lambda x, o: np.array(x.T, order=o), lambda x, o: np.asarray(x, order=o),
    lambda x, o: x.astype(np.float32, order=o), lambda x, o: x.T.astype(int, order=o),
    lambda x, o: np.zeros((2, 3), order=o) + x, lambda x, o: np.full((2, 3), x[0, 1], order=o),
    lambda x, o: np.ones_like(x.T, order=o) * x[0, 1], lambda x, o: np.eye(2, 3, order=o) + x * 0,
    lambda x, o: np.add(x, 1, order=o), lambda x, o: np.add(x.T, x.T, order=o), lambda x, o: np.modf(x, order=o)[1],
    lambda x, o: np.add(x, x, order=o, out=x), lambda x, o: np.matmul(x, x.T, order=o),
    lambda x, o: np.einsum("ij,jk->ik", x, x.T, order=o) if o != "A" else x]


@pytest.mark.parametrize("order", ["C", "F", "A", "K", "c", "f", "a", "k", b"F", None, "Z", "", "Fortran", 1])
def test_spellings(order):
    x = np.arange(6.0).reshape(2, 3)
    for f in READING:
        check(lambda x, f=f: f(x, order), x)
    for f in MAKING:
        check(lambda x, f=f: f(x, order).ravel("K"), x)
