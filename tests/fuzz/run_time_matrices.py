"""Random programs over parts of matrices whose size only run-time values decide: blocks, rows and columns that masks
select, reductions along each axis, products, and writes into all of them."""
from __future__ import annotations

import numpy as np

BOUNDS = (":n", "1:n", "n:", "n - 2:n", "m:n", "n:m", "1:", ":-1", ":n:2", "::-1", ":", ":m", "m:", "-n:", ":-m",
          "n - 3:n + 1", "n::-1", ":m:-1", "0:0", "1:n:2")
SCALARS = ("2.5", "-1.0", "s", "n")
ELEMENTWISE = ("np.abs({})", "np.sqrt(np.abs({}))", "-{}", "({} * 2)", "np.maximum({}, 0.5)", "np.clip({}, -1, 1)",
               "np.where({0} > 1, {0}, 1.0)", "{}.copy()", "(1 / {})")
WHOLE = ("{}.sum()", "np.sum({} > 0)", "{}.size", "np.any({} > 3)", "np.linalg.norm({})", "{}.max(initial=-9.0)",
         "np.prod({})", "{}.shape[0]", "{}.mean()", "{}.min()", "{}.std()", "np.nansum({})", "len({})", "np.median({})",
         "np.argmax({})")
ALONG = ("{}.sum(axis={a})", "{}.mean(axis={a})", "{}.max(axis={a})", "np.cumsum({}, axis={a})", "{}.std(axis={a})",
         "np.any({} > 1, axis={a})", "{}.prod(axis={a})", "np.linalg.norm({}, axis={a})", "np.argmax({}, axis={a})",
         "np.sort({}, axis={a})", "{}.sum(axis={a}, keepdims=True)", "np.median({}, axis={a})",
         "np.diff({}, axis={a})", "np.flip({}, axis={a})", "np.nanmax({}, axis={a})", "np.add.reduce({}, axis={a})",
         "np.ptp({}, axis={a})", "np.average({}, axis={a})", "np.argsort({}, axis={a})", "np.argmin({}, axis={a})")


class Program:
    """The text of a function of two float matrices of 5 x 5, a vector of 5, two run-time counts and a scalar."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.matrices, self.vectors, self.number = ["x", "y"], ["v"], 0

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def matrix(self) -> str:
        return self.pick(self.matrices + self.matrices[2:] * 4)

    def bounds(self) -> str:
        return self.pick(BOUNDS)

    def named(self, kind: list[str], text: str) -> str:
        self.number += 1
        kind.append(f"{'v' if kind is self.vectors else 'a'}{self.number}")
        return f"{kind[-1]} = {text}"

    def statement(self) -> str:
        of = self.matrix()
        kind = self.pick((self.part, self.part, self.line, self.computed, self.reduced, self.total, self.total,
                          self.written, self.written, self.masked, self.masked, self.product))
        return kind(of)

    def part(self, of: str) -> str:
        key = self.pick((f"{self.bounds()}, {self.bounds()}", self.bounds(), f"{of}[:, {self.pick('01')}] > 0"))
        return self.named(self.matrices, f"{of}[{key}]")

    def line(self, of: str) -> str:
        at = self.pick(("0", "-1", "1", "m", "n - 1"))
        return self.named(self.vectors, f"{of}[{self.pick((f'{self.bounds()}, {at}', f'{at}, {self.bounds()}'))}]")

    def computed(self, of: str) -> str:
        along = self.pick(("mean", "sum", "max"))
        return self.named(self.matrices, self.pick((
            *ELEMENTWISE, "{}.T", f"{{0}} - {{0}}.{along}(axis={self.pick('01')}, keepdims=True)")).format(of))

    def reduced(self, of: str) -> str:
        return self.named(self.vectors, self.pick(ALONG).format(of, a=self.pick(("0", "1", "-1"))))

    def total(self, of: str) -> str:
        return f"total = total + {self.pick(WHOLE).format(self.pick((of, *self.vectors)))}"

    def written(self, of: str) -> str:
        one, two = self.bounds(), self.bounds()
        key = self.pick((one, f"{one}, {two}", f"{one}, 1", f"0, {one}", f"..., {one}", "0", "-1", "m"))
        return f"{of}[{key}] {self.pick(('=', '+=', '*='))} {self.pick((*SCALARS, f'{of}[{key}] * 0.5'))}"

    def masked(self, of: str) -> str:
        column = f"{of}[:, {self.pick('01')}]"
        mask = self.pick((f"{of} > 0", f"{of} < 1", f"np.abs({of}) > s", f"{column} > s", f"{column} > 0, 1"))
        return f"{of}[{mask}] {self.pick(('=', '+=', '*='))} {self.pick((*SCALARS, f'{of}[{mask}] * 2'))}"

    def product(self, of: str) -> str:
        inner = self.bounds()
        return self.pick((lambda: self.named(self.matrices, f"{of}[:, {inner}] @ {self.matrix()}[{inner}]"),
                          lambda: self.named(self.matrices, f"{of} @ {of}.T"),
                          lambda: self.named(self.vectors, f"{of}[{inner}] @ v"),
                          lambda: self.named(self.vectors, f"{of} @ v[:{of}.shape[1]]")))()

    def source(self) -> str:
        lines = []
        for _ in range(int(self.rng.integers(3, 8))):
            line = self.statement()
            if self.rng.random() < 0.1 and line[0] not in "av":
                line = f"if s > {self.pick('01')}:\n        {line}"
            lines.append(line)
        seen = ", ".join(f"seen({name})" for name in (*self.matrices, *self.vectors))
        body = "\n    ".join(["total = 0.0", *lines, f"return total, {seen}"])
        return ("import numpy as np\n\n\ndef seen(a):\n    return np.stack([np.sum(a) * 1.0, np.sum(np.abs(a)) * 1.0])"
                f"\n\n\ndef f(x, y, v, n, m, s):\n    {body}\n")
