"""`scipy.fft`: the discrete Fourier transforms, as those of NumPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import wrap

NAMES = """fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn""".split()


def _transform(numpys: Callable) -> Callable:
    """`overwrite_x` and `workers` say how, not what; a `plan` is not known to SciPy's own backend either."""
    def transform(x: Any, n: Any = None, axis: Any = None, norm: str | None = None, overwrite_x: bool = False,
                  workers: int | None = None, *, plan: object = None, s: Any = None, axes: Any = None) -> Any:
        if plan is not None:
            raise UnsupportedError("scipy.fft with a `plan` is not supported in compiled code.", hint="Leave it out.",
                                   code="argument-not-supported")
        where = axis if axes is None else axes
        given = {} if where is None else {"axes" if numpys.__name__.endswith(("2", "n")) else "axis": where}
        return numpys(wrap(x), s if n is None else n, norm=norm, **given)
    return transform


FUNCTIONS: dict[str, Callable] = {name: _transform(getattr(np.fft, name)) for name in NAMES}
