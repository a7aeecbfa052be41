"""scipy.spatial.distance: every metric of two sets and of one, with weights, NaN, rows of zeros and no rows."""
from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, cosine, pdist, squareform

import reactant
from tests.oracle import check

RANDOM = np.random.default_rng(0)
A, B = RANDOM.standard_normal((5, 3)), RANDOM.standard_normal((4, 3))
A[0, 0], A[1], B[0], A[4, 2] = B[1, 0], 0.0, 0.0, np.nan
WEIGHTS = np.array([0.5, 0.0, 2.0])
WEIGHTED = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "canberra", "braycurtis", "hamming",
            "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [*WEIGHTED, "cosine", "correlation", "jensenshannon", "seuclidean", "mahalanobis"])
def test_metrics(name):
    positive = name == "jensenshannon"

    def both(x, y):
        if name == "mahalanobis":
            return cdist(x, y, name, VI=np.eye(3) + 0.1), pdist(x, name, VI=np.eye(3) - 0.2)
        return cdist(x, y, name), cdist(y[:0], x, name) if name in WEIGHTED else 0, pdist(x, name)

    x, y = (np.abs(A), np.abs(B)) if positive else (A, B)
    check(both, x, y, rtol=1e-10, atol=1e-13)
    if name in WEIGHTED:
        check(lambda x, y: (cdist(x, y, name, w=WEIGHTS), pdist(x, name, w=WEIGHTS)), x, y, rtol=1e-10, atol=1e-13)
        check(lambda x, y: cdist(x, y, name), np.array([[1, 0, 2], [0, 0, 3]]), x.astype(np.float32), rtol=1e-10)


@pytest.mark.slow
def test_square_forms_and_callables():
    x = A[:4]
    check(lambda x: squareform(pdist(x)), x, rtol=1e-12)
    check(lambda x: squareform(squareform(pdist(x))), x, rtol=1e-12)
    check(lambda x: cdist(x, x[:2], lambda a, b: np.abs(a - b).max()), x)
    check(lambda x: (cdist(x, x, "minkowski", p=3), cosine(x[0], x[2])), x, rtol=1e-10)
    check(lambda x: (cdist(x > 0, x < 1, "dice"), pdist(x > 0, "dice")), x[:, :2])
    with pytest.raises(reactant.UnsupportedError, match="Dice"):
        reactant.jit(lambda x: pdist(x, "dice"))(x)


def test_code_in_c_is_named():
    from scipy.spatial import cKDTree
    with pytest.raises(reactant.ConcreteValueNeeded, match="scipy.spatial._ckdtree.cKDTree"):
        reactant.jit(lambda x: cKDTree(x).query(x))(A[:4])
