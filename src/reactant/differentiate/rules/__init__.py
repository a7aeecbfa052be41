"""The derivatives of all ops, one file per family. Importing this registers them."""
from reactant.differentiate.rules import (  # noqa: F401 - declares the rules
    contraction,
    decompositions,
    elementwise,
    indexing,
    reduction,
    shape,
    slicing,
)
