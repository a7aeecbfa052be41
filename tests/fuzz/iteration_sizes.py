"""Random programs whose loops make vectors shorter or longer by as much in each iteration, read and write them."""
from __future__ import annotations

import numpy as np

SHRINKS = ("{0} = {0}[1:] * 0.5 - {0}[:-1]", "{0} = {0}[1:-1]", "{0} = np.diff({0})", "{0} = {0}[2:] + 0.25 * {0}[:-2]",
           "{0} = {0}[:-1] * 0.9", "{0} = {0}[1:].copy()", "{0} = np.maximum({0}[:-2], {0}[1:-1]) - {0}[2:]",
           "{0} = ({0}[1:] - s)[::-1]", "{0} = {0}[:len({0}) - 1] + i", "{0} = np.delete({0}, 0)",
           "{0} = x[i + 1:] * 0.5", "{0} = x[:n - i]")
GROWS = ("{0} = np.append({0}, s)", "{0} = np.concatenate([{0}[:1], {0}, [i * 0.5]])", "{0} = np.r_[0.5, {0}]",
         "{0} = np.hstack([{0}, {0}[-2:]])", "{0} = np.pad({0}, (1, 0))", "{0} = np.insert({0}, 2, s)")
KEEPS = ("{0}[0] = s", "{0} *= 0.75", "{0}[1:] += 0.5", "{0}[-1] = {0}[0] * 0.5", "{0} = {0} + 1", "{0}[::2] = 0.25",
         "{0} = np.where({0} > 0, {0}, -{0})", "{0} = {0}[::-1]", "{0} = np.sort({0})", "{0} = np.cumsum({0}) * 0.25",
         "{0}[:2] = {0}[-2:]", "{0}[i % 3] -= 0.5")
READS = ("s = s * 0.5 + {0}.sum()", "s += {0}[-1]", "s -= {0}[0] * len({0})", "s = np.tanh(s) + {0}.max()",
         "s += {0}.mean() * i", "s += {0} @ {0}", "s = s * 0.5 + ({0} * np.arange({0}.size)).sum()",
         "s += {0}[{0}.size // 2]", "w[i % 4] = {0}[1]", "w[:2] += {0}[:2]", "if s > 1:\n    s = s * 0.5 - {0}[0]",
         "y = {0}", "y = {0} * 2", "s += y.sum()", "y[0] = s", "x[i] = s", "s = s + np.argmin({0})")


class Program:
    """`source()` is the text of `f(x, w, n, c)`: x and w vectors."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def pick(self, texts: tuple[str, ...]) -> str:
        return texts[self.rng.integers(len(texts))]

    def source(self) -> str:
        lines = [self.pick(SHRINKS if self.rng.random() < .6 else GROWS)]
        lines += [self.pick(KEEPS if self.rng.random() < .4 else READS) for _ in range(self.rng.integers(1, 5))]
        if self.rng.random() < .25:
            lines.append(self.pick(SHRINKS + GROWS))
        self.rng.shuffle(lines)
        names = ("v", "u") if self.rng.random() < .3 else ("v",)
        body = [line for text in lines for line in text.format(names[self.rng.integers(len(names))]).split("\n")]
        begin = self.pick(("v = x", "v = x.copy()", "v = x * 2", "v = np.arange(20.0)", "v = x[2:]"))
        end = self.pick(("", "v[0] = 9", "v += 1", "x[0] = 7", "y[1] = 3"))
        step = self.pick(("range(n)", "range(n)", "range(n - 1, -1, -1)", "range(1, n)"))
        return "\n".join(["import numpy as np", "", "", "def f(x, w, n, s):", f"    {begin}", "    u = v * 0.5",
                          "    y = x + 1", f"    for i in {step}:", *("        " + line for line in body),
                          *([f"    {end}"] if end else []), "    return v, u, y, s", ""])
