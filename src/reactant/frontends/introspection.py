"""What a value says of itself: `isinstance`, `type`, `hasattr`, `callable` answer for what it stands for.

A traced number has no length and is no iterable, though the class that stands for it has the methods of all arrays;
what may be None, as the run decides, is of either type.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from reactant.frontends import calls
from reactant.frontends.alternatives import Alternative
from reactant.frontends.decisions import if_exp
from reactant.frontends.optional import MaybeNone


def example(x: Any) -> Any:
    """Something of the type that a value stands for."""
    kind = calls.stood_for(x)
    if kind is None:
        return x
    return _example(kind, x.dtype, x.ndim) if issubclass(kind, (np.ndarray, np.generic)) else kind()


@lru_cache(maxsize=1024)
def _example(kind: type, dtype: np.dtype, ndim: int) -> Any:
    made = np.zeros((0,) * ndim, dtype)
    return made if kind is np.ndarray else made[()]


def _answering(question: Callable) -> Callable:
    @calls.replace(question)
    def answer(x: Any, /, *about: Any, **keywords: Any) -> Any:
        if type(x) is MaybeNone:
            return if_exp(x.ag__defined, lambda: answer(x.ag__value, *about), lambda: question(None, *about))
        if type(x) is Alternative:
            each = x.ag__each if question is type else x.ag__is_one
            return each(lambda one: answer(one, *about))
        return question(example(x), *about, **keywords)
    return answer


type_of = _answering(type)
for _question in (isinstance, hasattr, callable):
    _answering(_question)
