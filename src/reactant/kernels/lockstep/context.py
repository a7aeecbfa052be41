"""Which lanes do something."""
from __future__ import annotations

from reactant.kernels.lockstep.conditions import TRUE, Compare, terms_of
from reactant.kernels.lockstep.data import Condition, Domain, Lanes
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Context:
    """Which lanes run: those of a domain for which the mask holds. `certain`: at least one of them surely does."""

    domain: Domain
    mask: Condition = TRUE
    certain: bool = True


def zero_outside(x: Lanes, arm: Context, context: Context) -> bool:
    """Whether x is zero anyway for the lanes of a context that are not in a part of it, within the part's domain: they
    read beyond an array, both factors of a product and all products of a sum do."""
    if x.product is not None:
        return all(zero_outside(factor, arm, context) for factor in x.product)
    if x.summands:
        return all(zero_outside(product, arm, context) for product in x.summands)
    if not x.zero_unless:
        return False
    here = set(terms_of(context.mask.at_domain(arm.domain)))
    return all(isinstance(part, Compare) and part.kind == "GE" and part.form in x.zero_unless
               for part in terms_of(arm.mask) if part not in here)
