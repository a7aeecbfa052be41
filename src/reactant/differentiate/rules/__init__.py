"""The derivatives of all ops, one file per family. Importing this registers them."""
from reactant.differentiate.rules import (  # noqa: F401 - declares the rules
    communication,
    contraction,
    convolution,
    decompositions,
    elementwise,
    indexing,
    normalisation,
    orthogonal,
    reduction,
    refusals,
    shape,
    slicing,
    special,
    spectra,
    windows,
)
