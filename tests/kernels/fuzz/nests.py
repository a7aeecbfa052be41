"""Random nests of loops and branches in which each thread reduces integers."""
from __future__ import annotations

import random

import numpy as np

SIZE = 512
UPDATES = ["{a} += {e};", "{a} += {e};", "{a} = {e} > {a} ? {e} : {a};", "{a} = {e} < {a} ? {e} : {a};", "{a} ^= {e};",
           "{a} *= {e} | 1;", "++{a};", "{a} = {a} * 3 + {e};", "{a} = {e};", "{a} -= {b};"]


class Nest:
    """Writes one kernel of `name`: `x` and `bounds` are read, `out` gets four numbers of each thread."""

    def __init__(self, seed: int):
        self.r, self.name, self.loops = random.Random(seed), f"k{seed}", 0
        self.open: list[str] = []
        self.pure = self.r.random() < 0.6
        """Each number is reduced in one way, and nothing else is changed."""
        self.update = {name: self.r.choice(UPDATES[:7]) for name in "abc"}

    def source(self) -> str:
        body = self.statements(3, 3)
        parameters = "const int *x, const int *bounds, long long *out, int n, int m"
        return f"""extern "C" __global__ void {self.name}({parameters}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 8;
    if (i >= m) return;
    long long a = 0, b = 1, c = -5, t = i;
    long long own[4] = {{0, 1, 2, 3}};
{body}
    out[4 * i] = a; out[4 * i + 1] = b; out[4 * i + 2] = c; out[4 * i + 3] = t + own[1] + own[i & 3];
}}
"""

    def statements(self, depth: int, most: int) -> str:
        return "\n".join(self.statement(depth) for _ in range(self.r.randint(1, most)))

    def statement(self, depth: int) -> str:
        kind = self.r.random()
        if depth and kind < 0.35:
            return self.loop(depth)
        if depth and kind < 0.6:
            other = f" else {{ {self.statements(depth - 1, 2)} }}" if self.r.random() < 0.3 else ""
            return f"if ({self.condition()}) {{ {self.statements(depth - 1, 2)} }}{other}"
        if self.open and kind < 0.66 - 0.04 * self.pure:
            return f"if ({self.condition()}) {self.r.choice(['continue', 'continue', 'break'])};"
        if self.pure:
            name = self.r.choice("abc")
            return self.update[name].format(a=name, e=self.element())
        if kind < 0.70:
            return f"own[{self.r.choice(['1', 'i & 3', *(f'{v} & 3' for v in self.open)])}] += {self.element()};"
        if kind < 0.76:
            return f"t = {self.element()};"
        if kind < 0.79:
            return f"out[4 * m + i] += {self.element()};"
        names = self.r.sample("abc", 2)
        return self.r.choice(UPDATES).format(a=names[0], b=names[1], e=self.element())

    def loop(self, depth: int) -> str:
        v = "jkpq"[len(self.open)]
        start = self.r.choice(["0", "0", "0", "1", "lane", *self.open[-1:]])
        end = self.r.choice(["n", "3", "5", "bounds[i & 7]", "lane + 2", *(f"{o} + 1" for o in self.open[-1:])])
        self.open.append(v)
        body = self.statements(depth - 1, 3)
        self.open.pop()
        step = self.r.choice([1, 1, 1, 2, 3])
        return f"for (int {v} = {start}; {v} < {end}; {v} += {step}) {{ {body} }}"

    def place(self) -> str:
        terms = [self.r.choice(["i", "lane", "3 * i", "0"])] + [f"{self.r.choice([1, 1, 2, 7, 16])} * {v}"
                                                              for v in self.open if self.r.random() < 0.7]
        return " + ".join(terms) + f" + {self.r.randrange(4)}"

    def element(self) -> str:
        found = [f"x[{self.place()}]", f"x[{self.place()}]", f"x[({self.place()}) & 63]", f"x[x[{self.place()}] & 31]",
                 f"({self.place()})", f"x[{self.place()}] * x[{self.place()}]"]
        return self.r.choice(found if self.pure else [*found, "t", "own[2]"])

    def condition(self) -> str:
        found = [f"x[{self.place()}]", f"x[{self.place()}]", f"({self.place()})", "i", "lane"]
        left = self.r.choice(found if self.pure else [*found, "t", self.r.choice("abc")])
        right = self.r.choice(["4", "0", "n", f"x[{self.place()}]", "i"])
        return f"{left} {self.r.choice(['<', '>', '==', '!='])} {right}"


def arguments(seed: int) -> tuple:
    """Those of a launch of 3 blocks of 12 threads, of which 33 do something."""
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 9, SIZE).astype(np.int32), rng.integers(0, 6, 8).astype(np.int32),
            np.zeros(5 * 33, np.int64), 6, 33)
