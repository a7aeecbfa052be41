"""Short random programs of what scientists write: a list that grows, a dict and an object that hold state, an array
and its views, functions that change their arguments, in loops and branches."""
from __future__ import annotations

import random

HEAD = """import numpy as np


class State:
    def __init__(self, t):
        self.t, self.log, self.a, self.best = t, [], np.array([t, 1.0]), None

    def step(self, x):
        self.t = self.t * 0.5 + x
        if self.t > 0.6:
            self.log.append(self.t)
        if self.best is None or x < self.best:
            self.best = x
        return self.t


def add(items, x):
    items.append(x)
    return len(items)


def scaled(a, by):
    a *= by
    return a.sum()


def f(u, n):
    t, k, i = 0.25, 0, 0
"""


class Kind:
    """Elements of a list: how one is made, read and changed."""

    def __init__(self, values: list[str], reads: list[str], writes: list[str]):
        self.values, self.reads, self.writes = values, reads, writes


KINDS = {
    "number": Kind(["t", "u[k % 5]", "0.5", "t * 0.5"], ["{}"], ["{} = t", "{} += 0.5"]),
    "array": Kind(["np.array([t, 1.0])", "u[:2] * 0.5", "u[1:3].copy()", "np.ones(2) * t", "u[k % 3:k % 3 + 2] + 0.0"],
                  ["{}[0]", "{}.sum()", "{}[-1]"], ["{}[0] += t", "{}[:] = 0.5", "{} *= 0.5"]),
    "tuple": Kind(["(t, k)", "(u[k % 5], 1)", "(0.5, 2)"], ["{}[0]", "{}[1]"], ["{} = (t, 3)"]),
    "list": Kind(["[t, 1.0]", "[u[0], 0.5]"], ["{}[0]", "{}[1]", "sum({})"], ["{}[0] += t", "{}[1] = 0.5"]),
    "dict": Kind(["{'a': t, 'n': k}", "{'a': 0.5, 'n': 1}"], ["{}['a']", "{}['n']"], ["{}['a'] += t", "{}['n'] = 7"]),
    "view": Kind(["u[:2]", "u[1:3]", "u[-2:]"], ["{}[0]", "{}.sum()"], ["{}[0] += t", "{} *= 0.5"]),
}
TOPICS = ("list", "list", "list", "array", "dict", "object", "helper", "leave", "search")


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines, self.depth, self.loops = [], 1, []
        self.kind = KINDS[self.any("number", "number", "array", "tuple", "list", "dict", "view")]
        self.topics = {"list", *(self.any(*TOPICS) for _ in range(2))}

    def any(self, *choices):
        return self.random.choice(choices)

    def chance(self, p):
        return self.random.random() < p

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def value(self):
        return self.any(*self.kind.values)

    def read(self, what):
        return self.any(*self.kind.reads).format(what)

    def write(self, what):
        return self.any(*self.kind.writes).format(what)

    def place(self):
        return self.any("0", "-1", "-1", "k % len(out)")

    def test(self):
        return self.any("u[k % 5] > 0.5", "t > 0.4", "u[k % 5] > t", "k % 3 == 0", "len(out) < 6", "u[i % 5] < 0.7")

    def about_list(self):
        guard, one, taken = self.any("if out: ", "if len(out) > 0: ", "if len(out) > 1: "), self.value(), self.read("e")
        place = f"out[{self.place()}]"
        return self.any(
            *[f"out.append({one})"] * 4, f"if {self.test()}: out.append({one})", f"{guard}{self.write(place)}",
            f"{guard}t = t * 0.5 + {self.read(place)} * 0.1", "t = t * 0.5 + len(out) * 0.01",
            f"for e in out: t = t * 0.9 + {taken} * 0.05", f"for e in out[-2:]: t = t * 0.9 + {taken} * 0.05",
            f"for j, e in enumerate(out): t = t * 0.9 + {taken} * 0.05 * (j + 1)",
            f"t = t * 0.5 + 0.1 * sum([{taken} for e in out])",
            f"w = [{taken} for e in out if {self.read('e')} > 0.3]; t = t * 0.5 + len(w) * 0.01",
            f"if len(out) > 2: e = out.pop({self.any('', '0')}); t = t * 0.5 + {taken} * 0.1",
            f"out = out[{self.any('1:', '-3:', ':3')}]", f"out.insert(0, {one})", f"out += [{one}]",
            f"other = out; other.append({one})", f"other = list(out); other.append({one}); t += len(other) * 0.01",
            f"{guard}e = {place}; {self.write('e')}; t = t * 0.5 + {taken} * 0.1", f"for e in out: {self.write('e')}",
            f"{guard}out[0], out[-1] = out[-1], out[0]", "out.reverse()")

    def about_array(self):
        return self.any(
            "u[1:3] += t * 0.1", "u[k % 5] = t", "v = u[1:]; v[0] = t", "u = u * 0.9 + 0.01", "u += 0.01",
            "v = u; v *= 0.9", "v = u[::-1]; v[1] = t; u[0] = v[2]", "u[u > 0.8] = 0.5", "u = u.copy(); u[0] = t",
            "t = t * 0.5 + u.sum() * 0.05", "u[:2], u[2:4] = u[2:4] * 1.0, u[:2] * 1.0", "u[[0, 1]] += 0.1",
            "w = u[1:4]; w += w[::-1]; t = t * 0.5 + w[0] * 0.1", "row = u[k % 4:k % 4 + 2]; row[0] += 0.1")

    def about_dict(self):
        last = self.read("d['last']")
        return self.any(
            "d['n'] += 1", f"d['last'] = {self.value()}", "d['xs'].append(t)", f"t = t * 0.5 + {last} * 0.1",
            "if d['n'] > 2: t = t * 0.5 + d['n'] * 0.01", "d['u'][0] += t * 0.1", "d['u'] = d['u'] * 0.9",
            "t = t * 0.5 + d['u'].sum() * 0.1", "d = {**d, 'n': d['n'] + 2}", "t += len(d['xs']) * 0.01")

    def about_object(self):
        return self.any(
            "t = s.step(u[k % 5])", "s.t += t * 0.1", "s.a[0] += t * 0.1", "s.a = s.a * 0.9", "s.log.append(t)",
            "t = t * 0.5 + s.t * 0.1", "if s.best is not None: t = t * 0.5 + s.best * 0.1",
            "t += len(s.log) * 0.01", "if s.log: t = t * 0.5 + s.log[-1] * 0.1", "s = State(t)",
            "other = s; other.t += 0.1")

    def about_helper(self):
        return self.any(
            f"k = k + add(out, {self.value()}) * 0 + 1", "t = t * 0.5 + scaled(u[1:3], 0.9) * 0.1",
            "t = t * 0.5 + scaled(u, 0.95) * 0.01", f"if {self.test()}: add(out, {self.value()})",
            "t = (lambda z: z * 0.5 + u[0] * 0.1)(t)")

    def about_leave(self):
        if not self.loops:
            return f"if {self.test()}: t = t * 0.5"
        return self.any(f"if {self.test()}: break", f"if {self.test()}: continue", "if t > 0.9: break",
                        "if t > 1.5: return [t, float(len(out)), k * 1.0]")

    def about_search(self):
        return self.any(
            "if best is None or t < best: best = t", "if best is not None: t = t * 0.5 + best * 0.1",
            "best = u[k % 5] if best is None else min(best, t)", "found = k if u[k % 5] > 0.6 else found",
            "if u[k % 5] > 0.6: found = k; best = t", "if found >= 0: t = t * 0.5 + found * 0.01", "best = None")

    def simple(self):
        text = getattr(self, f"about_{self.any(*sorted(self.topics), 'list')}")()
        if text.startswith(("if ", "for ")):
            head, _, rest = text.partition(": ")
            self.line(head + ":")
            self.depth += 1
            for part in rest.split("; "):
                self.line(part)
            self.depth -= 1
        else:
            for part in text.split("; "):
                self.line(part)

    def block(self):
        self.depth += 1
        for _ in range(self.any(1, 2, 2, 3)):
            self.statement()
        self.depth -= 1

    def statement(self):
        kind = self.random.random()
        if kind < 0.6 or self.depth > 3:
            self.simple()
        elif kind < 0.75 or len(self.loops) > 1:
            self.line(f"if {self.test()}:")
            self.block()
            if self.chance(0.4):
                self.line("else:")
                self.block()
        else:
            self.loop()

    def loop(self):
        if self.chance(0.75):
            self.line(f"for i in range({self.any('3', '7', '20', 'n')}):")
        else:
            self.line(f"while k < {self.any('6', '12')} and t < 5:")
        self.line("    k += 1")
        self.loops.append("i")
        self.block()
        self.loops.pop()

    def program(self):
        start = [self.value() for _ in range(self.any(0, 0, 1, 2))]
        self.line(f"d = {{'n': 0, 'last': {self.value()}, 'xs': [], 'u': u[:3] * 1.0}}")
        self.line(f"out, s, best, found = [{', '.join(start)}], State(t), None, -1")
        for _ in range(self.any(0, 1, 1, 2)):
            self.statement()
        self.loop()
        for _ in range(self.any(0, 1, 1)):
            self.statement()
        if self.chance(0.5):
            self.loop()
        parts = [f"sum([{read.format('e')} for e in out], 0.0)" for read in self.kind.reads]
        ends = [f"({read.format(f'out[{at}]')}) if out else -1.0" for read in self.kind.reads for at in (0, -1)]
        self.line(f"parts = [{', '.join(parts)}, {', '.join(ends)}]")
        self.line("parts += [d['n'], len(d['xs']), sum(d['xs'], 0.0), *d['u'], s.t, *s.a, float(len(s.log))]")
        self.line("parts += [sum(s.log, 0.0), -1.0 if s.best is None else s.best, found]")
        self.line("parts += [-1.0 if best is None else best]")
        self.line("return [t, k, float(len(out)), *parts, *u]")
        return HEAD + "\n".join(self.lines) + "\n"
