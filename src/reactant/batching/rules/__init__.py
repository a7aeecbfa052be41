"""The batched forms of ops, one module a family; importing this package declares them all."""
from reactant.batching.rules import (  # noqa: F401
    communication,
    contraction,
    decompositions,
    elementwise,
    indexing,
    reduction,
    shape,
    slicing,
)
