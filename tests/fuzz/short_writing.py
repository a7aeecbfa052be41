"""What the writers of short random programs share: choices, and statements in branches and loops."""
from __future__ import annotations

import random
from typing import Any


class ShortWriter:
    """Writes by a seed. A writer says what its `simple` statements, `leave`, `test` and `loop` are."""

    SHARES = (0.5, 0.58, 0.8)
    """Up to where a random number is a simple statement, one that leaves under a condition, a branch."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def any(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def block(self, depth: int, loop: bool) -> list[str]:
        lines = []
        for _ in range(self.any(1, 1, 2)):
            lines += self.statement(depth, loop)
        return ["    " + line for line in lines]

    def statement(self, depth: int, loop: bool) -> list[str]:
        kind, (simple, leaving, branch) = self.random.random(), self.SHARES
        if kind < simple or depth == 2:
            return self.simple()
        if kind < leaving:
            return [f"if {self.test()}:", *["    " + line for line in self.leave(loop)]]
        if kind < branch:
            other = ["else:", *self.block(depth + 1, loop)] if self.chance(0.4) else []
            return [f"if {self.test()}:", *self.block(depth + 1, loop), *other]
        return self.loop(depth)
