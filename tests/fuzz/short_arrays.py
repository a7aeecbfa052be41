"""Short random programs about arrays: views under names and in containers, masks, integer indices, run-time bounds,
mixed dtypes, helpers that change what they are given, in branches and loops. Of two or three ingredients each, so that
most programs do not need the most general way of being compiled."""
from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.short_writing import ShortWriter

HEAD = """import numpy as np


class Box:
    def __init__(self, a):
        self.a, self.n = a, 0


def bump(a):
    a += 1
    return a[::-1]


def either(a, b, c):
    if c:
        return a
    return b


def first(a, c):
    if c:
        return a[1:]
    a[0] = 3
    return a[:-1]


def until(a, limit):
    for j in range(len(a)):
        if a[j] > limit:
            return a[j:]
        a[j] += 1
    return a[:0]


"""
KINDS = ("float64", "float64", "float64", "int64", "int64", "float32", "int8", "uint8", "int32", "uint64", "uint16",
         "float16", "complex128", "complex64", "bool")
VIEWS = ("[1:]", "[::-1]", "[::2]", "[-3:]", "[1:4]", "[4:1:-1]", ".reshape(2, 3)", ".reshape(3, 2).T", "[:, None]",
         "[None]", ".real", ".imag", "[...]", "[2:2]", "[:3]", ".ravel()", ".view()", "[:-1]", "[::-2]", ".T", "[0]",
         "[:, 1]", "[:, ::-2]", ".reshape(-1)", ".diagonal()", ".T.ravel()", "[1:, :2]", "[[0, 2]]", "[p[0]:]",
         "[:p[1]]", "[p[0]:p[0] + 2]", "[p[0]]", "[:, p[0]]", "[..., 0]", ".swapaxes(0, -1)", ".squeeze()", "[-1:]",
         "[i % 2:]", "[i % 3]", ".copy()", "[p]", "[::p[1]]", "[p[1]::-1]", ".T[::-1]", "[-p[0]:]")
WRITES = ("{t}[0] = {s}", "{t}[-1] += 1", "{t}[:] = {s}", "{t} *= 2", "{t} += {s}", "{t}[{t} > 1] = 0",
          "{t}[{t} > 1] += 1", "{t}[[0, 0, 1]] += 1", "np.add.at({t}, [0, 0, 1], 1)", "np.add.at({t}, p, {s})",
          "{t}[p] = {s}", "{t}[p] += 1", "{t}.flat[1] = {s}", "{t}[...] = {t}[::-1]", "np.multiply({t}, 2, out={t})",
          "np.add({t}, {t}[::-1], out={t})", "{t}.fill({s})", "{t}.sort()", "np.copyto({t}, 2, where={t} > 1)",
          "np.putmask({t}, {t} > 1, [5, 7])", "{t}[:].put([0, -1], 7)", "{t}[p[0]] += 1", "{t}[p[0]:] = {s}",
          "{t}[p[0]:p[1] + 1] *= 2", "{t} += {t}[::-1]", "{t}[1:] = {t}[:-1]", "{t}[1:] += {t}[:-1]", "{t} |= 1",
          "{t} //= 2", "{t} <<= 1", "{t} -= {t}[0]", "{t}[np.where({t} > 1)] = 0", "{t}[np.nonzero({t})] += 1",
          "{t} /= 2", "{t}[::2] = {u}[0]", "{t} += {u}", "{t}[:] = {u}", "{t}[{u} > 1] = 4", "{t}[i % 3] = {s}",
          "{t}[i % 2:] += 1", "{t}[:, 0] = {s}", "{t}[0] += {t}[1]", "{t}.T[0] = {s}",
          "{t}[0], {t}[1] = {t}[1], {t}[0]", "{t}[::-1] += {t}", "{t} = {t} + 1", "{t} = {t}[1:]", "{t} = {t}[::-1]",
          "{t} = {u}", "{t}, {u} = {u}, {t}", "{t} = {t} * {s}", "{t}, {u} = {u}[::-1], {t}", "{t} = {t}.copy()",
          "{t} **= 2", "{t} %= 3", "{t} = {u}[1:]", "np.negative({t}, out={u})",
          "np.add({t}, 1, out={u}, where={t} > 1)", "{t} = bump({t})", "bump({u})", "{t} = either({t}, {u}, {c})",
          "either({t}, {u}, {c})[0] = {s}", "{t} = first({t}, {c})", "first({u}, {c})", "{t} = until({t}, 2)",
          "{t}[{t} == {t}.max()] = {s}", "{t} ^= 1", "{t} = -{t}", "{t} = ~{t}", "{t} >>= 1",
          "{t} = np.where({t} > 1, {t}, {s})", "{t} = {t} > 1", "{t}[()] = {s}", "{t}[..., 0] += {s}",
          "{t}.real += 1", "{t}.imag = 2", "{t} @= {t}", "np.cumsum({t}, out={t})", "{t} = {t}.astype('int32')",
          "np.clip({t}, 0, 2, out={t})", "np.fill_diagonal({t}, 3)", "{t}[{t}.argmax()] = 0", "{t} &= 3",
          "np.maximum.at({t}, p, 2)", "{t}[-p[0]] = {s}", "{t}[:p[0]] = {t}[p[0]]", "{t}[p[0]:][0] = {s}",
          "{t}[[p[0], -1]] = {u}[:2]", "{t}[{t} > 1] = {t}[{t} > 1][::-1]", "{t} += True", "{t} = {t} + np.int8(1)",
          "{t} = {t} * 0.5", "{t} = np.add({t}, {u})", "{t} += np.float32(1)", "{t}[0] = 300", "{t}[0] = -1",
          "{t} = {t}.astype(bool)", "{t} = {u}.T", "{t} -= {u}", "{t}[{t} > {t}[p[0]]] -= 1",
          "{t}[:2][::-1][0] = {s}")
MASKS = ("h = {t} > 1", "h = {t} != {u}", "h = ~h", "h &= {t} < 3", "h[0] = False", "{t}[h] = {s}", "{t}[h] += 1",
         "{t}[~h] = {t}[h].sum()", "r = {t}[h].size", "r = {t}[h].sum()", "g = {t}[h]; g *= 2; {t}[h] = g",
         "q = np.where(h)[0]; {t}[q] = {s}", "q = np.nonzero(h)[0]; r = q.sum()",
         "q = np.flatnonzero(h); {t}[q] += 1", "g = {t}[h]; r = g[g > 1].size",
         "q = np.flatnonzero(h); {u}[q] = {t}[q]", "h = h[::-1]", "h[h] = False",
         "g = {t}[h]; r = g.max() if g.size else 0", "{t}[h] = {u}[h]", "for e in {t}[h]: r = r + e", "h |= {t} == 0",
         "{t}[h] = {t}[h][::-1]", "h = np.logical_not(h)", "np.copyto({t}, 2, where=h)",
         "g = {t}[h]; g[0] = 7; r = g.sum()", "{t}[:][h] *= 2", "{t}[h & ({u} > 0)] = {s}", "r = np.count_nonzero(h)",
         "{t} = {t}[h]", "g = np.extract(h, {t})", "q = np.where(h)[0]; r = q[-1] if len(q) else -1",
         "{t}[1:][h[1:]] = {s}", "np.place({t}, h, [1, 2])", "g = {t}[h][:2]", "q = np.argwhere(h); r = len(q)",
         "g = {t}[h].copy(); {t}[h] = 0", "{t}[h], {u}[h] = {u}[h], {t}[h]")
BOXES = ("box = [{t}, {u}]", "box = [{t}[1:], {u}]", "box = {{0: {t}, 1: {u}}}", "box = ({t}, {t}[::-1])",
         "box[0][0] = {s}", "box[i % 2][0] = {s}", "box[p[0] % 2][0] = {s}", "box[0] = {u}", "box[0] = box[0] + 1",
         "box[1] += 1", "for q in box: q *= 2", "for q in ({t}, {u}): q[0] += 1", "o.a = {t}", "o.a[0] = {s}",
         "o.a += 1", "o.a = o.a[::-1]", "o.a = o.a * 2", "o.n += 1", "{t} = o.a", "{t} = box[0]",
         "{t} = box[p[0] % 2]", "box[0], box[1] = box[1], box[0]", "o.a, {t} = {t}, o.a", "o = Box({t})",
         "o.a = o.a[:]", "box[-1][:] = {t}", "{t}, {u} = box", "box = [box[1], box[0]]", "box[0][h] = {s}",
         "o.a[o.a > 1] = 0", "box = list(box)")
NUMBERS = ("c = 0", "c = c + 1", "c += 1", "c = c / 2", "c = c * {s}", "c += x[i % 2]", "c = c + True", "c = x[0]",
           "c = int({s})", "c = float(c)", "c = p[0]", "c = {t}[0]", "c = {t}.sum()", "c = len({t})", "c += p[0]",
           "c = c > 1", "c = -c", "c = c // 2", "c = c % 3", "c = np.float32(c)", "c = abs(c)", "c = None",
           "c = c if {c} else 0", "c = max(c, {s})", "c, r = r, c", "r = c", "c = {t}[0] * 2", "{t}[0] = c",
           "c = c ** 2", "c = np.int8(3)", "c = c * 1.0", "c = i", "{t} = {t} * c", "{t} += c", "c = np.sum({t} > 1)",
           "c = bool({s})", "c = round({s})", "c = {t}.argmax()", "c = {t}.max() - 1", "r = c + r", "c = {t}.size",
           "c = 1 if {c} else 0.5", "c = {t}.item(0)", "c = divmod(int(p[0]), 2)[1]", "c = {t}.mean()",
           "c = ({t} > 1).any()")
TESTS = ("{s} > 0.5", "x[0] > 1", "p[0] > 1", "{t}[0] > {s}", "{t}[-1] > 1", "b[i % 3]", "b[0]", "i % 2",
         "{t}.sum() > 3", "p[0] < p[1]", "({t} > 1).any()", "n > 2", "b[1] and {t}[0] > 0", "not b[2]", "i == 1",
         "{t}.size", "p[i % 2] == 1", "i > p[0]", "{t} is x", "len({t}) > 2", "o.n > 1", "r > 2")
FAMILIES = {"writes": WRITES, "masks": MASKS, "boxes": BOXES, "numbers": NUMBERS}
NAMES = ("x", "y", "m", "v", "w", "x", "v")
STARTS = ("x", "x", "y", "m", "x[1:]", "x[::-1]", "m.T", "m[0]", "x[:3]", "y[:3]", "x.reshape(2, 3)", "m.ravel()",
          "m[:, ::2]", "x.copy()", "x * 2", "np.zeros(3)", "np.arange(6)", "np.ones(3, 'int8')", "z", "m[1]",
          "m[:, 1]", "x[::2]", "y[::-1]", "m[::-1]", "np.array([x[0], 1])", "np.zeros_like(x)", "x.real",
          "m.diagonal()", "x[p[0]:]", "x[x > 1]", "np.broadcast_to(x, (2, 6))", "np.empty((0, 3))", "x[2]", "m[p[0]]")


class Writer(ShortWriter):
    """One program, by its seed: statements are kept where plain NumPy runs them, most of the time."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.indices = 0
        self.families = [self.any("writes", "writes", "masks", "boxes", "numbers") for _ in range(self.any(1, 1, 2))]
        self.kinds = [self.any(*KINDS), self.any(*KINDS)]
        if self.chance(0.5):
            self.kinds[1] = self.kinds[0]
        self.names = [self.any(*NAMES) for _ in range(self.any(1, 2, 2, 3))]
        self.scalar = self.any("1", "2", "s", "s", "0.5", "x[0]", "p[0]", "r")

    def arguments(self, number: int = 0) -> dict[str, Any]:
        rng = np.random.default_rng(number)

        def array(shape, kind):
            made = rng.integers(0, 4, shape).astype(kind)
            return made * made.dtype.type(1 + 0.5j) if made.dtype.kind == "c" else made

        x, y = (array(6, kind) for kind in self.kinds)
        m = array((3, 4), self.kinds[1])
        return {"x": x, "y": y, "m": m, "z": array((), self.kinds[0]), "e": array(0, self.kinds[1]),
                "p": rng.integers(0, 3, 2), "b": rng.integers(0, 2, 3).astype(bool), "s": float(rng.integers(0, 3)),
                "n": 4}

    def fill(self, template: str) -> str:
        test = self.any(*TESTS).format(t=self.any(*self.names), s=self.scalar)
        return template.format(t=self.any(*self.names), u=self.any(*self.names, "y"), s=self.scalar, c=test)

    def simple(self) -> list[str]:
        if self.chance(0.25):
            return [f"{self.any('v', 'w')} = {self.any(*self.names)}{self.any(*VIEWS)}"]
        text = self.fill(self.any(*FAMILIES[self.any(*self.families)]))
        if text.startswith("for ") and ": " in text:
            head, _, rest = text.partition(": ")
            return [head + ":", "    " + rest]
        return text.split("; ")

    def leave(self, loop: bool) -> list[str]:
        ways = ["return v", f"return {self.any(*self.names)}", f"return {self.any(*self.names)}[::-1]"]
        return [self.any(*(["break", "continue", "break", "continue"] if loop else []), *ways)]

    def test(self) -> str:
        return self.fill(self.any(*TESTS))

    def loop(self, depth: int) -> list[str]:
        body = self.block(depth + 1, True)
        ends = ["else:", *self.block(depth + 1, False)] if self.chance(0.15) else []
        index = "i" if depth == 0 else "j"
        if self.chance(0.7):
            over = self.any("range(3)", "range(3)", "range(n)", "range(200)", "range(p[1])", "range(len(x))",
                            "range(2, -1, -1)", "x[:3]", "m")
            index = index if over.startswith("range") else "row"
            return [f"for {index} in {over}:", *body, *ends]
        return [f"k{depth} = 0", f"while k{depth} < {self.any('3', '5', '100', 'p[1] + 1')}"
                f"{self.any('', '', ' and ' + self.test())}:", f"    k{depth} += 1", *body, *ends]

    def program(self) -> str:
        """The text of a module with the function `f`."""
        start = [f"v, w = {self.any(*STARTS)}, {self.any(*STARTS)}", "h, r, c, i = x > 1, 1, 0, 0",
                 "o, box = Box(v), [v, w]"]
        lines, wanted = [], self.any(1, 2, 2, 3, 3, 4)
        for _ in range(40):
            more = lines + self.statement(0, False)
            if wanted == 1 and self.chance(0.03) or self.runs(text_of([*start, *more], "x")):
                lines, wanted = more, wanted - 1
            if wanted == 0:
                break
        results = [n for n in ("v", "w", "h", "r", "c", "x", "y", "i", "q", "g", "box[0]", "box", "o.a", "o.n")
                   if uses(lines, n[:3].partition(".")[0]) and self.chance(0.6)]
        results = results[:1] if uses(lines, "return") else results
        result = ", ".join(results) if self.runs(text_of([*start, *lines], ", ".join(results))) else "v"
        if not uses([*lines, result], "o", "box"):
            start = [line for line in start[:2] if uses([*lines, result], *line.partition(" = ")[0].split(", "))]
        return text_of([*start, *lines], result)

    def runs(self, text: str) -> bool:
        space: dict[str, Any] = {}
        exec(compile(text, "<short>", "exec"), space)
        return not isinstance(outcome(space["f"], self.arguments()), Exception)


def uses(lines: list[str], *names: str) -> bool:
    return re.search(rf"\b({'|'.join(names)})\b", "\n".join(lines)) is not None


def text_of(lines: list[str], result: str) -> str:
    body = "\n".join("    " + line for line in [*lines, f"return {result}"])
    return f"{HEAD}def f(x, y, m, z, e, p, b, s, n):\n{body}\n"


def outcome(f: Callable, arguments: dict[str, Any]) -> Any:
    """What `f` gives, or the exception that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*arguments.values())
        except Exception as error:  # compared with that of the other
            return error
