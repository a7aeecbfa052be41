"""Random programs over parts of arrays whose size only run-time values decide: masks, slices with run-time bounds,
parts of parts, copies, and writes into all of them."""
from __future__ import annotations

import numpy as np

WHOLE = ("x", "y")
SCALARS = ("2.5", "-1.0", "s", "n")
UFUNCS = ("np.abs({})", "np.sqrt(np.abs({}))", "-{}", "({} * 2)", "np.maximum({}, 0.5)", "np.where({0} > 1, {0}, 1.0)")
REDUCED = ("{}.sum()", "np.sum({} > 0)", "{}.size", "np.abs({}).sum()", "np.any({} > 3)", "np.count_nonzero({})")


class Program:
    """The text of a function of two float arrays of eight elements, a run-time count and a scalar."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.number = 0

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def any(self) -> str:
        return self.pick((*self.parts, *self.parts, *WHOLE))

    def mask(self, of: str) -> str:
        return self.pick((f"{of} > {{}}", f"{of} < {{}}", f"np.abs({of}) > {{}}", f"~({of} > {{}})")).format(
            self.pick(("0", "1", "-1.5", "s")))

    def bounds(self) -> str:
        return self.pick((":n", "1:n", "n:", "n - 2:n", "n - 3:n + 1", "1:", ":-1", ":n:2", "::-1", ":"))

    def expression(self, like: str) -> str:
        """Something of the size of another part."""
        return self.pick((*SCALARS, f"{like} * 1.5", f"{like} + s", self.pick(UFUNCS).format(like), f"{like}[::-1]"))

    def statement(self) -> str:
        of = self.any()
        kind = self.pick(("part", "part", "masked", "masked", "copy", "computed", "write", "write", "masked write",
                          "masked write", "part write", "in place", "again", "total", "out"))
        if kind in ("part", "masked", "copy", "computed"):
            self.number += 1
            new = f"v{self.number}"
            text = {"part": f"{of}[{self.bounds()}]", "masked": f"{of}[{self.mask(of)}]", "copy": f"{of}.copy()",
                    "computed": self.pick(UFUNCS).format(of)}[kind]
            self.parts.append(new)
            return f"{new} = {text}"
        if kind == "write":
            return f"{of}[:] = {self.expression(of)}"
        if kind == "masked write":
            mask = self.mask(of)
            return self.pick((f"{of}[{mask}] = {self.pick(SCALARS)}", f"{of}[{mask}] = {of}[{mask}] * 0.5",
                              f"{of}[{mask}] += {self.pick(SCALARS)}", f"{of}[{mask}] *= 0.5"))
        if kind == "part write":
            bounds = self.bounds()
            return self.pick((f"{of}[{bounds}] = {self.pick(SCALARS)}", f"{of}[{bounds}] += {self.pick(SCALARS)}",
                              f"{of}[{bounds}] = {of}[{bounds}] * 0.5", f"{of}[0] = s", f"{of}[-1] += 1.0"))
        if kind == "in place":
            return f"{of} {self.pick(('+=', '*=', '-='))} {self.expression(of)}"
        if kind == "again" and self.parts:
            return f"{self.pick(self.parts)} = {of}"
        if kind == "out":
            return self.pick((f"np.maximum({of}, 0.25, out={of})", f"np.clip({of}, -1, 2, out={of})",
                              f"np.multiply({of}, s, out={of})"))
        return f"total = total + {self.pick(REDUCED).format(of)}"

    def source(self) -> str:
        for _ in range(int(self.rng.integers(4, 11))):
            line = self.statement()
            if self.rng.random() < 0.1 and "=" in line and not line.startswith("v"):
                line = f"if s > {self.pick(('0', '1'))}:\n        {line}"
            self.lines.append(line)
        seen = [self.pick(REDUCED[:4]).format(v) for v in (*self.parts, *WHOLE)]
        body = "\n    ".join(["total = 0.0", *self.lines, f"return total, {', '.join(seen)}"])
        return f"import numpy as np\n\n\ndef f(x, y, n, s):\n    {body}\n"
