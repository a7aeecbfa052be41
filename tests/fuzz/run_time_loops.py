"""Random programs whose loops and branches bind names to parts of arrays of run-time size: shrinking, swapped, copied,
and written into."""
from __future__ import annotations

from tests.fuzz import run_time_sizes

REBOUND = ("{0} = {0}[{mask}]", "{0} = {0}[{mask}]", "{0} = {0}[1:]", "{0} = {0}[{bounds}]", "{0}, {1} = {1}, {0}",
           "{0} = {1}", "{0} = {1}.copy()", "{0} = {0} * 0.5 + s", "{0} = np.abs({1})", "{0} = {1}[{other}]",
           "{0} = np.where({0} > 0, {0}, 0.5)", "{0}, {1} = {0}[{mask}], {1}[{other}]",
           "m = {mask}\n{0} = {0}[m] + i", "m = {mask}\n{0}, {1} = {0}[m], {0}[~m]")
CONDITIONS = ("s > 1", "n > 4", "i % 2 == 0", "total > {t}", "{0}.size > {t}", "{0}.sum() > {t}", "len({0}) < {t}")
LOOPS = ("for i in range({most}):", "for i in range(n):", "for i in range(2):",
         "{iterations} = 0\nwhile {0}.size > {t} and {iterations} < 9:\n    {iterations} += 1",
         "for i in range({most}):\n    if not len({0}):\n        break")


class Program(run_time_sizes.Program):
    """As there, with control flow around the statements."""

    def condition(self) -> str:
        return self.pick(CONDITIONS).format(self.pick(self.parts), t=self.pick((0, 1, 2, 3)))

    def rebinding(self) -> str:
        name, other = self.pick(self.parts), self.pick(self.parts)
        return self.pick(REBOUND).format(name, other, mask=self.mask(name), other=self.mask(other),
                                         bounds=self.bounds())

    def inside(self) -> str:
        """A statement that makes no new name."""
        if self.rng.random() < .6:
            return self.rebinding()
        while True:
            parts, number = list(self.parts), self.number
            text = self.statement()
            if self.parts == parts:
                return text
            self.parts, self.number = parts, number

    def block(self, depth: int, in_loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(int(self.rng.integers(1, 4))):
            chance = self.rng.random()
            if depth and chance < .25:
                body = self.block(depth - 1, in_loop)
                lines += [f"if {self.condition()}:", *indented(body)]
                if self.rng.random() < .5:
                    lines += ["else:", *indented(self.block(depth - 1, in_loop))]
            elif depth and chance < .35:
                lines += self.loop(depth - 1)
            elif in_loop and chance < .42:
                lines += [f"if {self.condition()}:", f"    {self.pick(('break', 'continue'))}"]
            else:
                lines += self.inside().split("\n")
        return lines

    def loop(self, depth: int) -> list[str]:
        self.number += 1
        head = self.pick(LOOPS).format(self.pick(self.parts), most=self.pick((5, 8, 30)), t=self.pick((0, 1, 3)),
                                       iterations=f"w{self.number}")
        return [*head.split("\n"), *indented(self.block(depth, True))]

    def source(self) -> str:
        lines = ["total, i = 0.0, 0"]
        for name, of in (("v1", "x"), ("v2", "y"), ("v3", "x")):
            self.parts.append(name)
            lines.append(f"{name} = {of}{self.pick(('', f'[{self.mask(of)}]', '[1:]', '[:n]', '.copy()'))}")
        self.number = 3
        for _ in range(int(self.rng.integers(1, 3))):
            lines += self.loop(1) if self.rng.random() < .7 else self.block(2, False)
        seen = [self.pick(run_time_sizes.REDUCED[:4]).format(v) for v in (*self.parts, *run_time_sizes.WHOLE)]
        body = "\n".join(indented([*lines, f"return total, {', '.join(seen)}"]))
        return f"import numpy as np\n\n\ndef f(x, y, n, s):\n{body}\n"


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
