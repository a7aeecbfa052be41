"""Forms that are found, with their errors on samples."""
import numpy as np
import pytest

from reactant.precision.improvement.candidates import candidates, measured
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.truth import in_reals

F64 = np.dtype(np.float64)
FAR, SMALL = np.geomspace(1e3, 1e15, 40), np.geomspace(1e-12, 1e-2, 40)


@pytest.mark.parametrize("text, given, before, form", [
    ("sqrt(x + 1) - sqrt(x)", FAR, 20, "1 / (sqrt(x0 + 1) + sqrt(x0))"),
    ("log(1 - x)", SMALL, 18, "log1p(-x0)"),
])
def test_found(text, given, before, form):
    root = parsed(text, "x")
    found = candidates(root, [given], F64)
    real = in_reals(root, [given], F64)[0][root]
    assert measured(root, [given], real, F64).errors.mean() > before
    assert str(found[0].expression) == form and found[0].errors.mean() < 1
