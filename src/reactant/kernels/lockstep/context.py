"""Which lanes do something."""
from __future__ import annotations

from reactant.kernels.lockstep.conditions import TRUE, Condition
from reactant.kernels.lockstep.forms import (
    Domain,
)
from reactant.records import dataclass


@dataclass(frozen=True)
class Context:
    """Which lanes run: those of a domain for which the mask holds. `certain`: at least one of them surely does."""

    domain: Domain
    mask: Condition = TRUE
    certain: bool = True
