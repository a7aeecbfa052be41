"""Random kernels whose loops change a small array of each thread: local, shared or global; and the same in Python."""
from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

PLACES, ROWS, ITERATIONS = 8, 20, 7
DECLARED = {
    "local": "int s[8] = {{{start}}};",
    "shared": "__shared__ int all[32][8]; int *s = all[threadIdx.x]; const int start[8] = {{{start}}};"
              " for (int p = 0; p < 8; ++p) s[p] = start[p];",
    "global": "int *s = y + i * 8;",
}
SOURCE = """extern "C" __global__ void k(const int *x, int *y, int n, int m) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {declared}
    for (int j = 0; j < m; ++j) {{
        int v = x[i * m + j];
        {body}
    }}
    {copied}
}}"""
COPIED = "for (int p = 0; p < 8; ++p) y[i * 8 + p] = s[p];"


@dataclass
class Updates:
    """A kernel of a seed. statements: those of an iteration, each as (C++, Python)."""

    seed: int

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.memory = self.random.choice(["local", "local", "shared", "global"])
        self.start = [self.random.randrange(10) * self.random.randrange(2) for _ in range(PLACES)]
        statements = [self._loop() if self.random.random() < 0.65 else self._statement(False, 2)
                      for _ in range(self.random.randrange(1, 4))]
        self.source = SOURCE.format(declared=DECLARED[self.memory].format(start=", ".join(map(str, self.start))),
                                    body="\n        ".join(c for c, _ in statements),
                                    copied="" if self.memory == "global" else COPIED)
        self.python = "def iteration(s, j, v):\n" + "".join(p for _, p in statements) + "  return s\n"

    def _place(self, inner: bool) -> str:
        counted = ["p", "p", "p + 1", "p + 2", "7 - p", "p * 3 % 8", "(p + j) % 8"] if inner else []
        return self.random.choice([*counted, "j % 8", "(j + 3) % 8", str(self.random.randrange(8))])

    def _number(self, inner: bool, deep: bool = False) -> str:
        found = self.random.choice(["v", "j", str(self.random.randrange(-3, 9)), f"s[{self._place(inner)}]", "v * 2",
                                    *(["p", "v * p"] if inner else [])])
        return f"{found} + {self._number(inner, True)}" if not deep and self.random.random() < 0.3 else found

    def _condition(self, inner: bool) -> str:
        counted = ["p < j", "v > p", "(p + j) % 3 == 1", "p % 2 == 0"] if inner else []
        return self.random.choice(["v > 3", "j > 2", "j % 2 == 0", "v < j", f"s[{self._place(inner)}] > 10", *counted])

    def _statement(self, inner: bool, indent: int) -> tuple[str, str]:
        space = " " * indent
        if self.random.random() < 0.25:
            condition, (c, python) = self._condition(inner), self._statement(inner, indent + 1)
            return f"if ({condition}) {{ {c} }}", f"{space}if {condition}:\n{python}"
        kind = self.random.choices(["+=", "-=", "*=", "max", "=", "v"], [50, 15, 7, 8, 10, 10])[0]
        target, number = f"s[{self._place(inner)}]", self._number(inner)
        if kind == "*=":
            number = self.random.choice(["2", "3", "v"])
        if kind == "v":
            text = f"v = {number}"
        else:
            text = f"{target} = max({target}, {number})" if kind == "max" else f"{target} {kind} {number}"
        return f"{text};", f"{space}{text}\n"

    def _loop(self) -> tuple[str, str]:
        low, high = self.random.choice([("0", "6"), ("0", "5"), ("1", "6"), ("0", "min(6, j + 1)"), ("min(j, 6)", "6")])
        inside = [self._statement(True, 3) for _ in range(self.random.randrange(1, 3))]
        kept = "#pragma unroll 1\n        " if self.random.random() < 0.7 else ""
        return (f"\n        {kept}for (int p = {low}; p < {high}; ++p) {{ {' '.join(c for c, _ in inside)} }}",
                f"  for p in range({low}, {high}):\n" + "".join(p for _, p in inside))

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """What the threads read in their iterations, and what they write."""
        rng = np.random.default_rng(self.seed)
        x, y = rng.integers(-9, 20, (ROWS, ITERATIONS)), rng.integers(0, 9, (ROWS, PLACES))
        return x.astype(np.int32), y.astype(np.int32)

    def expected(self) -> np.ndarray | None:
        """What the kernel leaves; None where numbers leave 32 bits, by which comparisons would differ."""
        (x, y), scope = self.arrays(), dict[str, Any]()
        exec(self.python, scope)        # noqa: S102 (written above)
        for row, found in zip(x.tolist(), y, strict=True):
            s = found.tolist() if self.memory == "global" else list(self.start)
            for j, v in enumerate(row):
                s = scope["iteration"](s, j, v)
            if max(map(abs, s)) > 1 << 24:
                return None
            found[:] = s
        return y
