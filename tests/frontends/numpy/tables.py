"""Many small functions checked in one compilation, so that tables of hundreds of cases stay cheap."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.oracle import check


def _own(x: Any) -> Any:
    return np.copy(x, order="K") if isinstance(x, np.ndarray) else x


def _one(f: Callable, given: Sequence) -> Any:
    own = [_own(g) for g in given]
    return f(*own), own


def check_table(functions: Sequence[Callable], *args: Any, rtol: float = 1e-10, atol: float = 1e-12) -> None:
    """Every function gives NumPy's results, writes what NumPy writes into its arguments, or raises what NumPy raises.
    Those that raise run alone; when the common program disagrees, each runs alone so that the failure names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")      # NumPy warns of empty means and of casts that lose something
        _check_table(functions, args, rtol, atol)


def _check_table(functions: Sequence[Callable], args: Sequence, rtol: float, atol: float) -> None:
    good, raising = [], []
    for f in functions:
        try:
            with np.errstate(all="ignore"):
                f(*copy.deepcopy(args))
            good.append(f)
        except Exception:
            raising.append(f)

    def all_of_them(*given: Any) -> list:
        return [_one(f, given) for f in good]
    try:
        check(all_of_them, *args, rtol=rtol, atol=atol)
    except Exception:
        for f in good:
            check(f, *args, rtol=rtol, atol=atol)
        raise
    for f in raising:
        check(f, *args, rtol=rtol, atol=atol)
