"""What is kept of the turns of a loop for the reverse sweep: the policies, and the loops they make."""
from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of(budget: str | int) -> int:
    """"256MB" (10^6), "1GiB" (2^30) or a number, in bytes. Raises `ValueError`."""
    if isinstance(budget, int) and not isinstance(budget, bool) and budget > 0:
        return budget
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", budget) if isinstance(budget, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"memory_budget is bytes as an int or a text like '256MB', not {budget!r}.")
    return int(float(found[1]) * _UNITS[found[2].upper()])


@dataclass(frozen=True)
class Policy:
    """kind: "" (nothing said), "all", "every", "sqrt", "binomial"; `every`: turns between kept states; `budget`: bytes,
    0 for any."""

    kind: str = ""
    every: int = 0
    budget: int = 0

    @staticmethod
    def of(checkpoint: str | int | None, memory_budget: str | int | None = None) -> Policy:
        """From what the user says. Raises `ValueError`."""
        budget = 0 if memory_budget is None else bytes_of(memory_budget)
        if checkpoint is None:
            return Policy("", 0, budget)
        if isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint > 0:
            return Policy("every", checkpoint, budget)
        if checkpoint in ("all", "sqrt", "binomial"):
            return Policy(str(checkpoint), 0, budget)
        raise ValueError(f"checkpoint is 'all', 'sqrt', 'binomial' or a positive number of turns, not {checkpoint!r}.")

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.every}:{self.budget}"

    @staticmethod
    def parse(text: str) -> Policy:
        if not text:
            return Policy()
        kind, every, budget = text.split(":")
        return Policy(kind, int(every), int(budget))
