"""What failed checks tell: the values in the exceptions of `raise` and `assert`.

Control flow carries such values outwards beside the outcomes of their checks; those of the first failure count. What
cannot carry them (derivatives, batches, handlers) drops them: then the text says which kind of value stood there.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.frontends.arrays.tensor import is_tensor
from reactant.frontends.session.trace import Failure, current_trace
from reactant.frontends.texts.printing import filled, with_holes
from reactant.ir.types import shape_of

MOST_TOLD = 1024
"""Elements of the arrays that an exception tells."""


def failure(error: Any) -> Callable[..., BaseException]:
    """What makes the exception of a `raise`, where the program comes there."""
    if isinstance(error, type):
        return error
    values: list[ir.Value] = []
    try:
        arguments = [_template(x, values) for x in error.args]
        attributes = {name: _template(x, values) for name, x in vars(error).items()}
    except ReactantError:       # a text whose marks were cut
        return lambda: error
    if not values or sum(math.prod(shape_of(v)) for v in values) > MOST_TOLD:
        return lambda: error

    def made(*found: Any) -> BaseException:
        if not found:
            return error
        told = error.__new__(type(error), *filled(arguments, found))
        told.args = tuple(filled(arguments, found))
        vars(told).update(filled(attributes, found))
        told.__cause__, told.__suppress_context__ = error.__cause__, error.__suppress_context__
        return told

    return Failure(made, tuple(values))


def _template(x: Any, values: list[ir.Value]) -> Any:
    told = is_tensor(x) or isinstance(x, (str, list, tuple, dict))
    return with_holes(x, current_trace(), values) if told else x
