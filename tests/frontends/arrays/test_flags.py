"""`ndarray.flags` of traced arrays is what NumPy's is, attribute by attribute."""
import numpy as np
import pytest

import reactant

NAMES = ("c_contiguous", "f_contiguous", "writeable", "aligned", "writebackifcopy", "behaved", "carray", "farray",
         "fnc", "forc", "fortran", "contiguous")
ARRAYS = {
    "matrix": lambda x: x, "transposed": lambda x: x.T, "row": lambda x: x[0], "column": lambda x: x[:, 0],
    "one column": lambda x: x[:, :1], "some rows": lambda x: x[::2], "no rows": lambda x: x[:0],
    "repeated": lambda x: np.broadcast_to(x[0], (5, 4)), "by columns": lambda x: x.copy("F"),
    "diagonal": lambda x: np.diagonal(x), "raveled": lambda x: x.ravel(), "0-d": lambda x: np.array(3.0),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_attributes(name):
    def look(x):
        made = ARRAYS[name](x)
        found.update((n, getattr(made.flags, n)) for n in NAMES)
        return x.sum()

    found: dict[str, bool] = {}
    x = np.arange(12.0).reshape(3, 4)
    look(x)
    expected = dict(found)
    found.clear()
    reactant.jit(look)(x)
    assert found == expected
